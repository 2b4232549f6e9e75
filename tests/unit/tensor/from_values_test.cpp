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

}  // namespace from_values_test
