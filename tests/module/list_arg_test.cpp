// SPDX-License-Identifier: MIT
#include "tenon/module/list_arg.h"

#include <array>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"

using namespace tenon;

namespace {

size_t count(const EValues& values) { return values.size(); }
const EValue* first(const EValues& values) { return values.data(); }
tenon::ValueKind kind(const EValues& values) { return values[0].kind(); }

}  // namespace

TEST_CASE("EValues: one value, braces, containers and nothing at all are all arguments") {
  TensorPtr x = tenon::make_tensor_ptr({1.0f});
  CHECK(count({}) == 0);
  CHECK(count(x) == 1);
  CHECK(count(*x) == 1);
  CHECK(count({x}) == 1);
  CHECK(count({x, 5, 0.5, "text", tenon::none}) == 5);
  const std::vector<EValue> vector{1, 2, 3};
  CHECK(count(vector) == 3);
  CHECK(count({vector[0], vector[1]}) == 2);
  CHECK(count(std::array<EValue, 2>{1, 2}) == 2);
  CHECK(count(Span<const EValue>(vector.data(), 2)) == 2);
  CHECK(count(5) == 1);
  CHECK(count(EValue()) == 1);
}

TEST_CASE("EValues: a list of tensors or numbers is one value") {
  CHECK(count(std::vector<int>{1, 2}) == 1);
  CHECK(kind(std::vector<int>{1, 2}) == tenon::ValueKind::IntList);
  const std::vector<tenon::Tensor> tensors(2);
  CHECK(kind(tensors) == tenon::ValueKind::TensorList);
}

TEST_CASE("EValues: EValues are referred to, not copied") {
  const std::vector<EValue> vector{1, 2};
  CHECK(first(vector) == vector.data());
  CHECK(first(vector[1]) == &vector[1]);
  EValue value(3);
  CHECK(first(value) == &value);
}

TEST_CASE("EValues: a moved TensorPtr is taken") {
  TensorPtr x = tenon::make_tensor_ptr({1.0f});
  CHECK(kind(std::move(x)) == tenon::ValueKind::Tensor);
  CHECK(x == nullptr);
}
