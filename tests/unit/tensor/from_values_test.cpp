// SPDX-License-Identifier: MIT
// Where the elements of values go; tensor_ptr_values_test.cpp has the overloads.
#include "tenon/tensor/from_values.h"

#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace from_values_test {

using namespace tenon;
using namespace tests;

TEST_CASE("from_values: a moved vector is adopted on the heap, and copied to a backend's memory") {
  MinimalBackend backend;
  std::vector<float> heap{1, 2}, other{3, 4};
  const float* const elements = heap.data();
  CHECK(const_data_ptr<float>(make_tensor_ptr({2}, std::move(heap))) == elements);
  const TensorPtr t = make_tensor_ptr({2}, std::move(other), backend);
  CHECK(&backend_of(t) == &backend);
  CHECK(backend.live_blocks() == 1);
}

TEST_CASE("from_values: a vector of bytes is adopted as elements, one that is cast is copied") {
  std::vector<uint8_t> bytes(16);
  const void* const data = bytes.data();
  CHECK(const_data_ptr<float>(from_bytes({4}, std::move(bytes), ScalarType::Float)) == data);
  std::vector<int32_t> integers{1, 2};
  const void* const of_integers = integers.data();
  const TensorPtr t = make_tensor_ptr({2}, std::move(integers), ScalarType::Float);
  CHECK(t->const_data_ptr() != of_integers);
  CHECK(values<float>(t) == Floats{1, 2});
}

TEST_CASE("from_values: a tensor of one value is STATIC and has room for that value") {
  const TensorPtr t = make_tensor_ptr(1.5, TensorShapeDynamism::DYNAMIC);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::STATIC);
  CHECK(detail::fields(t).capacity == 1);
  CHECK(item<double>(t) == 1.5);
}

}  // namespace from_values_test
