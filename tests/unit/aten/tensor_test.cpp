// SPDX-License-Identifier: MIT
// ATen mode: what a tensor is, and what tenon knows of it.
#include "tenon/aten/tensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_test {

using namespace tenon;
using tenon::detail::describe;
using tenon::detail::TensorFields;
using namespace tests;

static_assert(std::is_same_v<tenon::Tensor, at::Tensor>);
static_assert(std::is_same_v<tenon::TensorPtr, std::unique_ptr<at::Tensor>>);
static_assert(std::is_same_v<tenon::TensorImplPtr, c10::intrusive_ptr<at::TensorImpl>>);

namespace {

constexpr auto STATIC = TensorShapeDynamism::STATIC;
constexpr auto BOUND = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

float memory[24] = {};

TensorFields described(const at::Tensor& t) {
  TensorFields fields;
  REQUIRE(describe(t, true, fields).error == Error::Ok);
  return fields;
}

}  // namespace

TEST_CASE("ATen tensor: ownership of what tenon made, and of what it did not") {
  CHECK(tenon::ownership(tenon::zeros({2})) == Ownership::Owned);
  CHECK(tenon::ownership(tenon::make_tensor_ptr(Floats{1, 2})) == Ownership::Adopted);
  CHECK(tenon::ownership(tenon::from_blob(memory, {2})) == Ownership::Borrowed);
  CHECK(tenon::ownership(tenon::from_blob(memory, {2}, ScalarType::Float, [](void*) {})) ==
        Ownership::Adopted);
  const TensorPtr t = tenon::zeros({2});
  CHECK(tenon::ownership(tenon::view(t, {1, 2})) == Ownership::View);
  CHECK(tenon::ownership(tenon::make_tensor_ptr(*t)) == Ownership::View);
  CHECK(tenon::ownership(tenon::make_tensor_ptr(t)) == Ownership::Owned);  // shares the impl
  CHECK(tenon::ownership(t->view({1, 2})) == Ownership::Adopted);
  CHECK(tenon::ownership(at::zeros({2})) == Ownership::Adopted);
}

TEST_CASE("ATen tensor: dynamism of what tenon made, and of what it did not") {
  CHECK(tenon::shape_dynamism(tenon::zeros({2})) == BOUND);
  CHECK(tenon::shape_dynamism(tenon::zeros({2}, ScalarType::Float, STATIC)) == STATIC);
  CHECK(tenon::shape_dynamism(tenon::zeros({2}, ScalarType::Float, DYNAMIC)) == DYNAMIC);
  CHECK(tenon::shape_dynamism(tenon::zeros({}, ScalarType::Float, DYNAMIC)) == STATIC);
  CHECK(tenon::shape_dynamism(at::zeros({2})) == DYNAMIC);
  CHECK(tenon::shape_dynamism(at::zeros({})) == STATIC);
  const TensorPtr borrowed = tenon::from_blob(memory, {2}, ScalarType::Float, DYNAMIC);
  CHECK(tenon::shape_dynamism(borrowed) == DYNAMIC);
  CHECK(tenon::shape_dynamism(borrowed->view({1, 2})) == BOUND);  // its storage cannot grow
}

TEST_CASE("ATen tensor: the room is tenon's, or what is left of the storage") {
  CHECK(described(*tenon::zeros({2, 3})).capacity == 6);
  CHECK(described(at::zeros({2, 3})).capacity == 6);
  CHECK(described(at::zeros({2, 3}).select(0, 1)).capacity == 3);
  CHECK(described(at::zeros({2, 3}).slice(1, 0, 1)).capacity == 6);
  CHECK(described(at::zeros({10}).resize_({2})).capacity == 10);
  CHECK(described(at::zeros({})).capacity == 1);
}

TEST_CASE("ATen tensor: layout, dtype, device and element 0 of a foreign tensor") {
  const at::Tensor base = at::zeros({2, 3, 4}, at::kHalf);
  const at::Tensor t = base.permute({2, 0, 1}).select(1, 1);
  const TensorFields fields = described(t);
  CHECK(fields.layout.sizes() == tenon::Dims{4, 3});
  CHECK(fields.layout.strides() == tenon::Dims{1, 4});
  CHECK(fields.layout.numel == 12);
  CHECK(tests::dim_order(t) == Vector{1, 0});
  CHECK(fields.type == tenon::own::ScalarType::Half);
  CHECK(fields.device == tenon::Device());
  CHECK(fields.data == static_cast<char*>(base.data_ptr()) + 12 * 2);
  CHECK_FALSE(fields.readonly);
}

}  // namespace tensor_test
