// SPDX-License-Identifier: MIT
#include "tenon/core/tensor_view.h"

#include "support/catch.h"

using namespace tenon;

TEST_CASE("tensor_view: a view without arguments describes nothing") {
  const TensorView view;
  CHECK(view.data == nullptr);
  CHECK(view.type == ScalarType::Undefined);
  CHECK(view.device == Device(DeviceType::CPU));
  CHECK(view.sizes.empty());
  CHECK(view.strides.empty());
}

TEST_CASE("tensor_view: it is an aggregate in the order data, type, device, sizes, strides") {
  float data[6] = {};
  const TensorView view{data, ScalarType::Float, "cuda:1", {2, 3}, {3, 1}};
  CHECK(view.data == data);
  CHECK(view.type == ScalarType::Float);
  CHECK(view.device.index() == 1);
  CHECK(view.sizes == Dims{2, 3});
  CHECK(view.strides == Dims{3, 1});
  STATIC_REQUIRE(std::is_aggregate_v<TensorView>);
}

TEST_CASE("tensor_view: a copy describes the same memory with its own sizes") {
  int data[4] = {1, 2, 3, 4};
  TensorView view{data, ScalarType::Int, {}, {2, 2}, {2, 1}};
  TensorView copy = view;
  copy.sizes[0] = 1;
  static_cast<int*>(copy.data)[3] = 40;
  CHECK(view.sizes == Dims{2, 2});
  CHECK(data[3] == 40);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<TensorView>);
}
