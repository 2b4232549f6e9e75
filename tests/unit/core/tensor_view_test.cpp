// SPDX-License-Identifier: MIT
#include "tenon/core/tensor_view.h"

#include <type_traits>
#include <vector>

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
  const std::vector<int64_t> sizes{2, 3};
  const Dims strides{3, 1};
  const TensorView view{data, ScalarType::Float, "cuda:1", sizes, strides};
  CHECK(view.data == data);
  CHECK(view.type == ScalarType::Float);
  CHECK(view.device.index() == 1);
  CHECK(view.sizes == sizes);
  CHECK(view.strides == strides);
  STATIC_REQUIRE(std::is_aggregate_v<TensorView>);
}

TEST_CASE("tensor_view: it refers to lists, and copies none") {
  Dims sizes{2, 3};
  const Dims strides{3, 1};
  const TensorView view{nullptr, ScalarType::Float, Device(), sizes, strides};
  CHECK(view.sizes.data() == sizes.data());
  CHECK(view.strides.data() == strides.data());
  STATIC_REQUIRE(std::is_trivially_copyable_v<TensorView>);
  // Lists in braces would be gone at the end of the line.
  STATIC_REQUIRE(!std::is_constructible_v<ArrayRef<int64_t>, std::initializer_list<int64_t>>);
}

TEST_CASE(
    "tensor_view: a ViewWithLists passes for a view of its own lists, unless it is temporary") {
  float data[6] = {};
  const ViewWithLists owner{data, ScalarType::Float, "cuda:1", {2, 3}, {3, 1}};
  const TensorView view = owner;
  CHECK(view.data == data);
  CHECK(view.type == ScalarType::Float);
  CHECK(view.device.index() == 1);
  CHECK(view.sizes.data() == owner.sizes.data());
  CHECK(view.strides.data() == owner.strides.data());
  STATIC_REQUIRE(std::is_convertible_v<const ViewWithLists&, TensorView>);
  STATIC_REQUIRE(!std::is_convertible_v<ViewWithLists, TensorView>);
}

TEST_CASE("tensor_view: copied lists stay as they were") {
  Dims sizes{2, 3};
  Dims strides{3, 1};
  float data[6] = {};
  TensorView view{data, ScalarType::Float, Device(), sizes, strides};
  ViewWithLists lists;
  REQUIRE(detail::copy_lists(view, lists) == Error::Ok);
  sizes[0] = strides[0] = 7;
  CHECK(view.data == data);
  CHECK(view.type == ScalarType::Float);
  CHECK(view.sizes == Dims{2, 3});
  CHECK(view.strides == Dims{3, 1});
  CHECK(view.sizes.data() == lists.sizes.data());
}

}  // namespace tensor_view_test
