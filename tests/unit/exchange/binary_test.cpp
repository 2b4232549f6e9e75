// SPDX-License-Identifier: MIT
#include "tenon/exchange/binary.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace binary_test {

using namespace tenon;
using namespace tests;

namespace {

// The little-endian bytes of the first `count` values.
Bytes bytes_of(const Ints& numbers, size_t count) {
  Bytes bytes;
  for (size_t i = 0; i < count && i < numbers.size(); ++i) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<uint8_t>(static_cast<uint32_t>(numbers[i]) >> shift & 0xff));
    }
  }
  return bytes;
}

Ints counting(int32_t count) {
  Ints numbers;
  for (int32_t i = 0; i < count; ++i) numbers.push_back(i * 0x01020304);
  return numbers;
}

// Whatever the limit, the first elements are written in row-major order.
void check_limits(const TensorPtr& t) {
  const Ints expected = values<int32_t>(t);
  CAPTURE(sizes(t), strides(t));
  CHECK(to_binary(t) == bytes_of(expected, expected.size()));
  bool all = true;
  for (size_t n = 0; n <= expected.size() + 1; ++n) {
    all = all && to_binary(t, static_cast<int64_t>(n)) == bytes_of(expected, n);
  }
  CHECK(all);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("to_binary: numbers are little-endian, in row-major order") {
  CHECK(to_binary(make_tensor_ptr({2, 1}, {1, -2})) == Bytes{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff});
  CHECK(to_binary(make_tensor_ptr({1.0f, -2.0f})) == Bytes{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0});
  CHECK(to_binary(make_tensor_ptr(uint16_t{0x1234})) == Bytes{0x34, 0x12});
  CHECK(to_binary(make_tensor_ptr(int64_t{0x0102030405060708})) == Bytes{8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(to_binary(make_tensor_ptr(BFloat16(1.0f))) == Bytes{0x80, 0x3f});
  CHECK(to_binary(make_tensor_ptr(complex<float>(1, 2))) == Bytes{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});
}

TEST_CASE("to_binary: of any strides, every limit is a prefix of the elements in logical order") {
  Ints data = counting(120);
  const std::pair<Vector, Vector> shapes[] = {
      {{2, 3}, {1, 2}},
      {{3, 6}, {0, 1}},
      {{2, 1, 3}, {4, 1000000, 1}},
      {{1, 1, 2, 1, 2, 1, 3, 2}, {9, 9, 1, 9, 2, 9, 4, 12}},
      {{2, 3, 4, 5}, {1, 2, 6, 24}},
  };
  for (const auto& [shape, steps] : shapes) check_limits(from_blob(data.data(), shape, steps));
  // No more is made than the rows that are asked for.
  constexpr int64_t kMany = PTRDIFF_MAX / 1024;
  const TensorPtr huge = from_blob(data.data() + 1, {2, 50, kMany}, {0, 0, 0});
  CHECK(to_binary(huge, 2) == Bytes{4, 3, 2, 1, 4, 3, 2, 1});
}

TEST_CASE("to_binary: what has no elements to read, and a negative limit, are errors") {
  RAISES(InvalidState, "to_binary: the tensor is undefined", to_binary(Tensor()));
  RAISES(InvalidState, "to_binary: the tensor is undefined", to_binary(TensorPtr()));
  RAISES(InvalidState, "to_binary: the tensor is a placeholder without data",
         to_binary(make_tensor_ptr({2}, nullptr)));
  float data[2] = {};
  RAISES(NotSupported,
         "to_binary: the tensor is on cuda:0, which the host cannot reach; no backend is "
         "registered for it",
         to_binary(for_blob(data, {2}).device("cuda").make_tensor_ptr()));
  RAISES(InvalidArgument, "to_binary: the limit of -1 elements is negative",
         to_binary(make_tensor_ptr(1), -1));
  FAILS(InvalidArgument, "try_to_binary: the limit of -1 elements is negative",
        try_to_binary(make_tensor_ptr(1), -1));
  FAILS(InvalidState, "try_to_binary: the tensor is undefined", try_to_binary(TensorPtr()));
  CHECK(*try_to_binary(make_tensor_ptr(1)) == to_binary(make_tensor_ptr(1)));
}

TEST_CASE("from_binary: takes a vector, a span, an array, or a pointer with a length") {
  const Bytes vector{0, 0x3c};
  const uint8_t raw[2] = {0, 0x3c};
  const char text[3] = {'x', 0, 0x3c};
  const Dims one{1};
  const auto is_one = [](const TensorPtr& t) { return static_cast<float>(item<Half>(t)) == 1.0f; };
  CHECK(is_one(from_binary(vector, one, ScalarType::Half)));
  CHECK(is_one(from_binary(raw, one, ScalarType::Half)));
  CHECK(is_one(from_binary({raw, 2}, {1}, ScalarType::Half)));
  CHECK(is_one(from_binary(text + 1, 2, {1}, ScalarType::Half)));
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{0x3c}};
  CHECK(is_one(from_binary(bytes, {1}, ScalarType::Half)));
  // A typed pointer has the type.
  const int32_t same_backwards = 0x01020201;
  CHECK(from_binary(&same_backwards, 4, {1}, ScalarType::Int)->item<int>() == same_backwards);
  const uint16_t bits = 0x3C3C;
  CHECK(from_binary(static_cast<const void*>(&bits), 2, {1}, ScalarType::Half)->numel() == 1);
  RAISES(InvalidType, "from_binary: the data pointer is to UInt16, the type given is Half",
         from_binary(&bits, 2, {1}, ScalarType::Half));
}

TEST_CASE("from_binary: reads what to_binary wrote, in every dtype") {
  for (ScalarType type : {ScalarType::Char, ScalarType::Long, ScalarType::Half, ScalarType::Double,
                          ScalarType::ComplexHalf, ScalarType::ComplexDouble, ScalarType::UInt16}) {
    Bytes bytes;
    for (size_t i = 0; i < 6 * elementSize(type); ++i) {
      bytes.push_back(static_cast<uint8_t>(17 * i + 3));
    }
    auto t = from_binary(bytes, {2, 3}, type);
    CHECK(t->scalar_type() == type);
    CHECK(to_binary(t) == bytes);
  }
}

TEST_CASE("from_binary: Bool bytes other than 0 and 1 become 1") {
  const TensorPtr t = from_binary(Bytes{0, 1, 2, 128, 255}, {5}, ScalarType::Bool);
  CHECK(values<uint8_t>(from_blob(mutable_data_ptr(t), {5}, ScalarType::Byte)) ==
        Bytes{0, 1, 1, 1, 1});
}

// A promise of docs/guarantees.md.
TEST_CASE("from_binary: other byte counts, null pointers, bad sizes and dtypes are errors") {
  const struct {
    size_t count;
    Vector sizes;
    const char* words;
  } rows[] = {
      {23, {2, 3}, "from_binary: 23 bytes were given, sizes {2, 3} of Float need 24"},
      {25, {2, 3}, "from_binary: 25 bytes were given, sizes {2, 3} of Float need 24"},
      {4, {-1}, "from_binary: size -1 of dimension 0"},
      {4, {INT64_MAX, 2}, "overflow"},
      {4, Vector(65, 1), "from_binary: sizes has more than 64"},
  };
  for (const auto& row : rows) {
    RAISES(InvalidArgument, row.words, from_binary(Bytes(row.count), row.sizes, ScalarType::Float));
  }
  RAISES(InvalidType, "from_binary: Undefined is not an element type",
         from_binary(Bytes(4), {1}, ScalarType::Undefined));
  RAISES(InvalidArgument, "from_binary: the pointer to 4 bytes is null",
         from_binary(nullptr, 4, {1}, ScalarType::Float));
  RETURNS(InvalidArgument, "try_from_binary: 3 bytes were given",
          try_from_binary(Bytes(3), {1}, ScalarType::Float).error());
}

}  // namespace binary_test
