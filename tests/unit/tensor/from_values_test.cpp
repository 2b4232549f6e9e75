// SPDX-License-Identifier: MIT
// Where the elements of values go; tensor_ptr_values_test.cpp has the overloads.
#include "tenon/tensor/from_values.h"

#include <list>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"
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

// A promise of docs/guarantees.md.
TEST_CASE("from_values: a value that does not fit is refused, whatever it is given in") {
  const ScalarType byte = ScalarType::Byte;
  const char* const text = "make_tensor_ptr: the value 300 does not fit Byte";
  RAISES(InvalidArgument, text, make_tensor_ptr(300, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr({1, 300}, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr({2}, {1, 300}, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr(std::vector<int>{1, 300}, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr({2}, std::vector<int>{1, 300}, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr({2}, std::vector<int>{1, 300}, {}, {1}, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr({2}, std::vector<int>{1, 300}, byte, Strides{1}));
  RAISES(InvalidArgument, text, make_tensor_ptr(std::list<int64_t>{1, 300}, byte));
  RAISES(InvalidArgument, text, make_tensor_ptr(std::vector<Ints>{{1, 300}}, byte));
  const int rows[2][1] = {{1}, {300}};
  RAISES(InvalidArgument, text, make_tensor_ptr(rows, byte));
  RAISES(InvalidArgument, "the value -1 does not fit UInt64",
         make_tensor_ptr(std::vector<int8_t>{-1}, ScalarType::UInt64));
  RAISES(InvalidArgument, "the value 200 does not fit Char",
         make_tensor_ptr(std::vector<uint8_t>{200}, ScalarType::Char));
  RAISES(InvalidArgument, "the value 70000 does not fit Half",
         make_tensor_ptr(Floats{1, 70000}, ScalarType::Half));
  MinimalBackend backend;
  RAISES(InvalidArgument, text, make_tensor_ptr(std::vector<int>{300}, byte, backend));
  CHECK(backend.live_blocks() == 0);
  CHECK(values<uint8_t>(make_tensor_ptr(Ints{0, 255}, byte)) == Bytes{0, 255});
  // Tensors are cast as in C++: CastMode says how.
  CHECK(values<uint8_t>(to(make_tensor_ptr(Ints{300}), byte)) == Bytes{44});
  CHECK(values<uint8_t>(to(make_tensor_ptr(Ints{300}), byte, CastMode::Saturate)) == Bytes{255});
}

TEST_CASE("from_values: nested values are copied to the tensor's own memory, in any form") {
  const std::vector<Floats> rows(30, Floats(40, 2.5f));
  const TensorPtr t = make_tensor_ptr(rows);
  CHECK(t->size(0) == 30);
  CHECK(t->size(1) == 40);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(reinterpret_cast<uintptr_t>(const_data_ptr<float>(t)) % detail::kDataAlignment == 0);
  CHECK(values<float>(t) == Floats(1200, 2.5f));
  CHECK(values<double>(make_tensor_ptr(rows, ScalarType::Double)) ==
        std::vector<double>(1200, 2.5));
  CHECK(values<float>(make_tensor_ptr({1200}, rows)) == Floats(1200, 2.5f));
  CHECK(
      item<float>(select(
          select(make_tensor_ptr({2, 2}, std::vector<Floats>{{1, 2}, {3, 4}}, Strides{1, 2}), 0, 0),
          0, 1)) == 3);
  // Rows that are not contiguous, of one element type or of proxies.
  const std::vector<std::list<int>> lists{{1, 2}, {3, 4}};
  CHECK(values<int>(make_tensor_ptr(lists)) == Ints{1, 2, 3, 4});
  const std::vector<std::vector<bool>> bools{{true, false}, {false, true}};
  CHECK(values<bool>(make_tensor_ptr(bools)) == std::vector<bool>{true, false, false, true});
  const std::vector<std::string> texts{"ab", "cd"};
  CHECK(values<int16_t>(make_tensor_ptr({2}, texts, ScalarType::Short)).size() == 2);
  CHECK(make_tensor_ptr(std::vector<Floats>{{}, {}})->numel() == 0);
  MinimalBackend backend;
  const TensorPtr there = make_tensor_ptr(rows, backend);
  CHECK(&backend_of(there) == &backend);
  CHECK(backend.live_blocks() == 1);
  CHECK(to_vector<float>(there) == Floats(1200, 2.5f));
  RAISES(InvalidArgument, "1200 values were given, sizes {7} need 7", make_tensor_ptr({7}, rows));
}

TEST_CASE("from_values: a tensor of one value is STATIC and has room for that value") {
  const TensorPtr t = make_tensor_ptr(1.5, TensorShapeDynamism::DYNAMIC);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::STATIC);
  CHECK(detail::fields(t).capacity == 1);
  CHECK(item<double>(t) == 1.5);
}

}  // namespace from_values_test
