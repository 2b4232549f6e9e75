// SPDX-License-Identifier: MIT
#include "tenon/tensor/resize.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace resize_suite {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC_UNBOUND;

}  // namespace

TEST_CASE("resize: STATIC never") {
  TensorPtr t = zeros({2}, ScalarType::Int, TensorShapeDynamism::STATIC);
  CHECK(resize_tensor_ptr(t, {2}) == Error::NotSupported);
  check_tensor(*t, {2}, {1}, {0, 0});
}

TEST_CASE("resize: DYNAMIC_BOUND within the room at creation, in place") {
  TensorPtr t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5});
  const void* const data = t->const_data_ptr();
  CHECK(resize_tensor_ptr(t, {3, 1}) == Error::Ok);
  check_tensor(*t, {3, 1}, {1, 1}, {0, 1, 2});
  CHECK(resize_tensor_ptr(t, {1, 2, 3, 1, 1, 1, 1}) == Error::Ok);
  CHECK(t->dim() == 7 && t->numel() == 6);
  RETURNS(InvalidArgument, "hold 7 elements", resize_tensor_ptr(t, {7}));
  CHECK(resize_tensor_ptr(t, {6}) == Error::Ok);
  check_tensor(*t, {6}, {1}, {0, 1, 2, 3, 4, 5});
  CHECK(t->const_data_ptr() == data);
}

TEST_CASE("resize: DYNAMIC_UNBOUND grows and keeps the elements") {
  TensorPtr t = make_tensor_ptr({1, 2, 3}, ScalarType::Int, kDynamic);
  for (int64_t n = 4; n <= 4000; n = n * 3 / 2 + 1) {
    const int64_t before = t->numel();
    CHECK(resize_tensor_ptr(t, {n}) == Error::Ok);
    int32_t* const data = t->mutable_data_ptr<int32_t>();
    CHECK((before == 3 ? data[2] == 3 : data[before - 1] == before));
    data[n - 1] = static_cast<int32_t>(n);
    CHECK(t->is_aligned(TENON_DATA_ALIGNMENT));
  }
  CHECK(t->const_data_ptr<int32_t>()[0] == 1);
}

TEST_CASE("resize: no growth of memory that a view shares, or of the caller's") {
  TensorPtr t = make_tensor_ptr({1, 2, 3}, ScalarType::Int, kDynamic);
  {
    const Tensor view = slice(t, 0, 1, 3);
    CHECK(resize_tensor_ptr(t, {4000}) == Error::InUse);
    check_tensor(*t, {3}, {1}, {1, 2, 3});
    check_tensor(view, {2}, {1}, {2, 3});
  }
  CHECK(resize_tensor_ptr(t, {4000}) == Error::Ok);
  int32_t data[2] = {};
  TensorPtr borrowed = from_blob(data, {2}, ScalarType::Int, kDynamic);
  CHECK(resize_tensor_ptr(borrowed, {3}) == Error::NotSupported);
  check_tensor(*borrowed, {2}, {1}, {0, 0});
}

TEST_CASE("resize: sizes beyond the address space change nothing") {
  TensorPtr t = make_tensor_ptr({1, 2, 3}, ScalarType::Int, kDynamic);
  const Vector shapes[] = {{INT64_MAX}, {int64_t{1} << 62}, {int64_t{1} << 32, int64_t{1} << 32},
                           {-1},        {INT64_MIN},        {3, int64_t{1} << 61}};
  for (const Vector& shape : shapes) {
    CHECK(resize_tensor_ptr(t, shape) != Error::Ok);
    check_tensor(*t, {3}, {1}, {1, 2, 3});
  }
  CHECK(reserve_tensor_ptr(t, SIZE_MAX) != Error::Ok);
  CHECK(reserve_tensor_ptr(t, SIZE_MAX - 63) != Error::Ok);
  check_tensor(*t, {3}, {1}, {1, 2, 3});
}

TEST_CASE("resize: handles of one impl see it") {
  TensorPtr t = make_tensor_ptr({1, 2, 3, 4});
  const TensorPtr other = make_tensor_ptr(t);
  CHECK(resize_tensor_ptr(t, {2, 2}) == Error::Ok);
  check_tensor(*other, {2, 2}, {2, 1}, {1, 2, 3, 4});
}

}  // namespace resize_suite
