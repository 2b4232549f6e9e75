// SPDX-License-Identifier: MIT
// What npy_test.cpp cannot see: a header alone, and which elements may be used where they are.
#include "tenon/interop/files/npy_reader.h"

#include "support/catch.h"
#include "tenon/interop/npy.h"
#include "tenon/tenon.h"

namespace npy_reader_test {

using namespace tenon;
using tenon::detail::NpyArray;
using tenon::detail::NpyBytesSource;

namespace {

NpyArray header_of(const std::vector<uint8_t>& bytes, size_t begin = 0) {
  NpyArray array;
  NpyBytesSource source(bytes.data(), bytes.size(), begin);
  REQUIRE(detail::read_npy_header(source, own::ScalarType::Undefined, array) == Error::Ok);
  return array;
}

}  // namespace

TEST_CASE("npy reader: elements at odd offsets, in the other byte order or none are not used") {
  std::vector<uint8_t> bytes = to_npy(make_tensor_ptr({2}, {1, 2}));
  bytes.insert(bytes.begin(), 2, 0);
  CHECK_FALSE(header_of(bytes, 2).is_usable());
  bytes.insert(bytes.begin(), 2, 0);
  CHECK(header_of(bytes, 4).is_usable());
  CHECK(header_of(bytes, 4).begin == 132);
  const auto sign = std::find(bytes.begin(), bytes.end(), detail::host_is_big_endian() ? '>' : '<');
  *sign = detail::host_is_big_endian() ? '<' : '>';
  CHECK_FALSE(header_of(bytes, 4).is_usable());
  CHECK_FALSE(header_of(to_npy(zeros({0}))).is_usable());
}

TEST_CASE("npy reader: memory is not lent where its owner is not known") {
  const std::vector<uint8_t> bytes = to_npy(ones({4}));
  NpyBytesSource source(bytes.data(), bytes.size(), 0);
  detail::NewTensor draft;
  size_t end = 0;
  REQUIRE(detail::read_npy(source, NpyMemory::Map, own::ScalarType::Undefined, end, draft) ==
          Error::Ok);
  CHECK(end == bytes.size());
  CHECK(detail::fields(draft).ownership == Ownership::Owned);
}

}  // namespace npy_reader_test
