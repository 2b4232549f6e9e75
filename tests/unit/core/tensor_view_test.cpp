// SPDX-License-Identifier: MIT
#include "tenon/core/tensor_view.h"

#include <type_traits>
#include <vector>

#include "support/catch.h"

namespace tensor_view_test {

using namespace tenon;

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

}  // namespace tensor_view_test
