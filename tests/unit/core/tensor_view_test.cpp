// SPDX-License-Identifier: MIT
#include "tenon/core/tensor_view.h"

#include "support/catch.h"

namespace tensor_view_test {

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
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<TensorView>);
}

}  // namespace tensor_view_test
