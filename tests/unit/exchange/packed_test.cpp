// SPDX-License-Identifier: MIT
// Against ml_dtypes and PyTorch: interop/python/test_ml_dtypes.py and test_torch.py.
#include "tenon/exchange/packed.h"

#include <cmath>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace packed_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr PackedType kTypes[] = {
    PackedType::Float4_e2m1fn,  PackedType::Float6_e2m3fn, PackedType::Float6_e3m2fn,
    PackedType::Float8_e8m0fnu, PackedType::Int4,          PackedType::UInt4,
    PackedType::Int2,           PackedType::UInt2,         PackedType::Int1,
    PackedType::UInt1,
};

// What the bits of a number stand for, by its type's definition.
double number_of(PackedType type, unsigned code) {
  const int bits = packed_bits(type);
  const auto floating = [&](int mantissa, int bias) {
    const auto rest = static_cast<int>(code) & ((1 << (bits - 1)) - 1);
    const int exponent = rest >> mantissa;
    const double digits = (rest & ((1 << mantissa) - 1)) / std::exp2(mantissa);
    const double size =
        exponent == 0 ? digits * std::exp2(1 - bias) : (1 + digits) * std::exp2(exponent - bias);
    return code >> (bits - 1) != 0 ? -size : size;
  };
  switch (type) {
    case PackedType::Float4_e2m1fn: return floating(1, 1);
    case PackedType::Float6_e2m3fn: return floating(3, 1);
    case PackedType::Float6_e3m2fn: return floating(2, 3);
    case PackedType::Float8_e8m0fnu:
      return code == 255 ? std::nan("") : std::exp2(static_cast<int>(code) - 127);
    case PackedType::UInt4:
    case PackedType::UInt2:
    case PackedType::UInt1: return code;
    default: return static_cast<int>(code) - (code >> (bits - 1) != 0 ? 1 << bits : 0);
  }
}

// Number i of bytes: its lowest bit is bit i * bits of all of them.
unsigned code_at(const Bytes& bytes, size_t i, size_t bits) {
  unsigned code = 0;
  for (size_t k = 0; k < bits; ++k) {
    const size_t at = i * bits + k;
    code |= (unsigned{bytes[at / 8]} >> (at % 8) & 1u) << k;
  }
  return code;
}

void check_numbers(const TensorPtr& found, const Bytes& bytes, PackedType type) {
  const auto bits = static_cast<size_t>(packed_bits(type));
  const Floats numbers = values<float>(found);
  REQUIRE(numbers.size() == bytes.size() * 8 / bits);
  CHECK(found->scalar_type() == ScalarType::Float);
  CHECK(found->is_contiguous());
  size_t wrong = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double expected = number_of(type, code_at(bytes, i, bits));
    const bool is_same = std::isnan(expected)
                             ? std::isnan(numbers[i])
                             : static_cast<double>(numbers[i]) == expected &&
                                   std::signbit(numbers[i]) == std::signbit(expected);
    wrong += is_same ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("unpack: every type, as its definition says, in any number of bytes") {
  Rng random{1};
  for (const PackedType type : kTypes) {
    CAPTURE(toString(type));
    for (const size_t count : {0u, 1u, 2u, 5u, 85u, 170u, 171u, 1000u}) {
      Bytes bytes(packed_bits(type) == 6 ? 3 * count : count);
      for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = i < 256 ? static_cast<uint8_t>(i) : static_cast<uint8_t>(random.between(0, 255));
      }
      check_numbers(
          unpack(from_binary(bytes, {static_cast<int64_t>(bytes.size())}, ScalarType::Byte), type),
          bytes, type);
    }
  }
}

TEST_CASE("unpack: the last size is that of the numbers, and the first has the low bits") {
  const TensorPtr t = from_binary(Bytes{0x21, 0xf3, 0x87, 0x65}, {2, 1, 2}, ScalarType::Byte);
  check_texts({{to_string(*unpack(t, PackedType::Int4)),
                "[[[ 1.  2.  3. -1.]]\n\n [[ 7. -8.  5.  6.]]]\nFloat {2, 1, 4}"},
               {to_string(*unpack(t, PackedType::Float4_e2m1fn)),
                "[[[ 0.5  1.   1.5 -6. ]]\n\n [[ 6.  -0.   3.   4. ]]]\nFloat {2, 1, 4}"}});
  CHECK(sizes(unpack(zeros({2, 6}, ScalarType::Byte), PackedType::Float6_e3m2fn)) == Vector{2, 8});
  CHECK(sizes(unpack(zeros({2, 0}, ScalarType::Byte), PackedType::Float6_e3m2fn)) == Vector{2, 0});
  CHECK(item<float>(unpack(full({}, 128, ScalarType::Byte), PackedType::Float8_e8m0fnu)) == 2);
}

TEST_CASE("unpack: strides of any kind, and what is read-only") {
  Bytes bytes(24);
  std::iota(bytes.begin(), bytes.end(), uint8_t{100});
  const TensorPtr t = from_binary(bytes, {4, 6}, ScalarType::Byte);
  const TensorPtr row = from_binary(Bytes{1, 2, 3}, {1, 3}, ScalarType::Byte);
  const uint8_t constant[] = {0x10, 0x32, 0x54};
  for (const PackedType type : kTypes) {
    CAPTURE(toString(type));
    for (const Tensor& strided :
         {narrow(t, 1, 1, 3), narrow(t, 0, 1, 2), slice(t, 1, 0, 6, 2), expand(row, {5, 3}),
          transpose(narrow(t, 0, 0, 3), 0, 1) ATEN_LACKS(, flip(t, {0, 1}))}) {
      check_numbers(unpack(strided, type), to_binary(strided), type);
    }
    check_numbers(unpack(from_blob(constant, {3}), type), {0x10, 0x32, 0x54}, type);
  }
}

TEST_CASE("unpack: in the memory of the tensor's backend") {
  MinimalBackend b;
  const TensorPtr t = make_tensor_ptr({2, 2}, Bytes{0x10, 0x32, 0x54, 0x76}, b);
  const TensorPtr found = unpack(t, PackedType::UInt4);
  CHECK(&backend_of(found) == &b);
  CHECK(values<float>(backend_copy(found, host_backend())) == Floats{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(b.faults == 0);
}

TEST_CASE("unpack: errors") {
  const TensorPtr nothing;
  RAISES(InvalidState, "unpack: the tensor is undefined", unpack(nothing, PackedType::Int4));
  RAISES(InvalidState, "unpack: the tensor is a placeholder",
         unpack(make_tensor_ptr({2}, nullptr, ScalarType::Byte), PackedType::Int4));
  const TensorPtr t = zeros({2, 4}, ScalarType::Byte);
  RAISES(InvalidArgument, "unpack: the packed type is Undefined (0)",
         unpack(t, PackedType::Undefined));
  RAISES(InvalidArgument, "the packed type is Undefined (11)",
         unpack(t, static_cast<PackedType>(11)));
  RAISES(InvalidType, "dtype is Char, expected Byte, with packed numbers; view_as_type(",
         unpack(zeros({2}, ScalarType::Char), PackedType::Int4));
  RAISES(InvalidArgument, "no last dimension, along which Int4 are unpacked; reshape(t, {1}) has",
         unpack(zeros({}, ScalarType::Byte), PackedType::Int4));
  RAISES(InvalidArgument,
         "the last of sizes {2, 4} is not a multiple of the 3 bytes that hold four Float6_e2m3fn",
         unpack(t, PackedType::Float6_e2m3fn));
  const TensorPtr large =
      from_blob(mutable_data_ptr(t), {int64_t{1} << 62}, Strides{0}, ScalarType::Byte);
  RAISES(InvalidArgument, "the last of sizes {4611686018427387904} is too large",
         unpack(large, PackedType::Int2));
  RAISES(InvalidArgument, "overflow",
         unpack(narrow(large, 0, 0, int64_t{1} << 60), PackedType::Int2));
  CHECK(try_unpack(t, PackedType::Int4).ok());
  CHECK(try_unpack(nothing, PackedType::Int4).message() ==
        std::string("try_unpack: the tensor is undefined"));
}

// The code of docs/packed.md.
TEST_CASE("unpack: MXFP4 and NVFP4 blocks with their scales") {
  Rng random{2};
  const auto random_bytes = [&](int64_t count) {
    Bytes bytes(static_cast<size_t>(count));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.between(0, 255));
    return bytes;
  };
  const Bytes codes = random_bytes(2 * 32);
  const Bytes exponents = {127, 130, 120, 0};
  const TensorPtr packed = from_binary(codes, {2, 32}, ScalarType::Byte);  // 64 numbers in a row
  const TensorPtr scales = from_binary(exponents, {2, 2}, ScalarType::Byte);
  {
    const TensorPtr weight = unpack(packed, PackedType::Float4_e2m1fn);
    const TensorPtr scale = unpack(scales, PackedType::Float8_e8m0fnu);
    const Span<float> numbers = data<float>(weight);
    const Span<const float> factors = data<const float>(scale);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= factors[i / 32];
    for (size_t i = 0; i < 128; ++i) {
      const double expected = number_of(PackedType::Float4_e2m1fn, code_at(codes, i, 4)) *
                              std::exp2(exponents[i / 32] - 127);
      REQUIRE(static_cast<double>(numbers[i]) == expected);
    }
  }
}

}  // namespace packed_test
