// SPDX-License-Identifier: MIT
// Every part of the library on tensors over an impl that the caller keeps, on the stack.
#include "tenon/tensor/tensor_impl.h"

#include <cstdint>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

TEST_CASE("stack: assign and copy_to") {
  int32_t memory[2] = {};
  const int64_t shape[] = {2};
  TensorImpl impl(ScalarType::Int, 1, shape, memory);
  const int32_t data[2] = {1, 2};
  CHECK(assign(Tensor(&impl), data, 8) == Error::Ok);
  CHECK(memory[1] == 2);
  int32_t back[2] = {};
  CHECK(copy_to(Tensor(&impl), back, 8) == Error::Ok);
  CHECK(back[0] == 1);
}

TEST_CASE("stack: to_binary") {
  uint8_t data[2] = {7, 8};
  const int64_t shape[] = {2};
  TensorImpl impl(ScalarType::Byte, 1, shape, data);
  CHECK(tenon::to_binary(Tensor(&impl)) == std::vector<uint8_t>{7, 8});
}

TEST_CASE("stack: a blob has no owner") {
  float memory[4] = {};
  const int64_t shape[] = {4};
  TensorImpl impl(ScalarType::Float, 1, shape, memory);
  const tenon::Blob blob = tenon::to_blob(Tensor(&impl));
  CHECK(blob.data == memory);
  CHECK(blob.owner == nullptr);
  CHECK(blob.owner.use_count() == 0);
}

TEST_CASE("stack: a contiguous tensor is its own contiguous form") {
  int32_t data[2] = {1, 2};
  const int64_t shape[] = {2};
  TensorImpl impl(ScalarType::Int, 1, shape, data);
  CHECK(tenon::contiguous(Tensor(&impl)).unsafeGetTensorImpl() == &impl);
}

TEST_CASE("stack: zero_") {
  int32_t data[2] = {1, 2};
  const int64_t shape[] = {2};
  TensorImpl impl(ScalarType::Int, 1, shape, data);
  CHECK(zero_(Tensor(&impl)) == Error::Ok);
  CHECK(data[1] == 0);
}

TEST_CASE("stack: copy_ between two, at other strides") {
  int32_t from[4] = {1, 2, 3, 4};
  int32_t to[4] = {};
  const int64_t shape[] = {2, 2};
  const int64_t strides[] = {1, 2};
  TensorImpl dst(ScalarType::Int, 2, shape, to, nullptr, strides);
  TensorImpl src(ScalarType::Int, 2, shape, from);
  CHECK(copy_(Tensor(&dst), Tensor(&src)) == Error::Ok);
  CHECK(Ints(to, to + 4) == Ints{1, 3, 2, 4});
}

TEST_CASE("stack: to_string") {
  int16_t data[2] = {3, 4};
  const int64_t shape[] = {2};
  TensorImpl impl(ScalarType::Short, 1, shape, data);
  CHECK(to_string(Tensor(&impl)) == "[3 4]\nShort {2}");
}

TEST_CASE("stack: random_ at strides") {
  int32_t data[4] = {};
  const int64_t shape[] = {2, 2};
  const int64_t strides[] = {1, 2};
  TensorImpl impl(ScalarType::Int, 2, shape, data, nullptr, strides);
  tenon::Generator g(0);
  CHECK(random_(Tensor(&impl), 0, 100, g) == Error::Ok);
  CHECK(Ints(data, data + 4) == Ints{39, 73, 88, 60});
}

TEST_CASE("stack: resizes within its bound") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  const int64_t shape[] = {6};
  TensorImpl impl(ScalarType::Int, 1, shape, data, nullptr, nullptr,
                  tenon::TensorShapeDynamism::DYNAMIC_BOUND);
  Tensor t(&impl);
  REQUIRE(resize_tensor(t, {2, 3}) == Error::Ok);
  CHECK(tests::sizes(t) == Vector{2, 3});
  CHECK_RETURNS(Error::InvalidArgument, "resize_tensor: ", resize_tensor(t, {7}));
}

TEST_CASE("stack: a view is the caller's to keep") {
  float data[4] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2};
  TensorImpl impl(ScalarType::Float, 2, shape, data);
  Tensor t(&impl);
  auto view = tenon::make_tensor_ptr(t, {4});
  CHECK(view->ownership() == Ownership::View);
  CHECK_FALSE(view->is_alias_of(t));
  CHECK(values<float>(view) == Floats{1, 2, 3, 4});
  auto second = tenon::make_tensor_ptr(*view, {2}, {}, {}, 2);
  CHECK(values<float>(second) == Floats{3, 4});
  CHECK(second->is_alias_of(*view));
}

TEST_CASE("stack: a view by a function keeps nothing, a view of that one does") {
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 1, 3};
  TensorImpl impl(ScalarType::Int, 3, shape, data);
  const Tensor source(&impl);
  const Tensor view = tenon::select(source, 0, 1);
  CHECK(view.ownership() == Ownership::View);
  CHECK_FALSE(view.is_alias_of(source));
  const Tensor second = tenon::slice(view, 1, 1, 3);
  CHECK(values<int32_t>(second) == Ints{5, 6});
  CHECK(second.is_alias_of(view));
}
