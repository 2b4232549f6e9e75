// SPDX-License-Identifier: MIT
// Casts by hand; those of all values are in convert_values_test.cpp, of all pairs of types in runs of
// all lengths and strides in convert_block_test.cpp.
#include "tenon/kernels/convert.h"

#include <cmath>

#include "kernels/cast_reference.h"
#include "kernels/helpers.h"

namespace convert_test {

using tenon::detail::convert_elements;
using namespace tests;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Bits of numbers, of complex ones part by part. Integers may be negative.
struct Codes {
  std::vector<uint64_t> codes;

  Codes(std::initializer_list<int64_t> integers) : codes(integers.begin(), integers.end()) {}
  explicit Codes(std::vector<uint64_t> bits) : codes(std::move(bits)) {}
};
Codes floats(std::initializer_list<float> values) {
  std::vector<uint64_t> bits;
  for (float value : values) bits.push_back(tenon::detail::float_bits(value));
  return Codes(bits);
}
Codes doubles(std::initializer_list<double> values) {
  std::vector<uint64_t> bits;
  for (double value : values) bits.push_back(tenon::detail::double_bits(value));
  return Codes(bits);
}

size_t part_size(ScalarType type) { return elementSize(tenon::detail::part_type_of(type)); }

Bytes bytes_of(ScalarType type, const Codes& codes) {
  Bytes bytes(codes.codes.size() * part_size(type));
  for (size_t i = 0; i < codes.codes.size(); ++i) {
    write_bits(&bytes[i * part_size(type)], part_size(type), codes.codes[i]);
  }
  return bytes;
}

constexpr CastMode kChecked = CastMode::Checked;
constexpr CastMode kTruncate = CastMode::Truncate;
constexpr CastMode kSaturate = CastMode::Saturate;
const std::vector<CastMode> kModes = {kChecked, kTruncate, kSaturate};
const std::vector<CastMode> kForced = {kTruncate, kSaturate};

// Repeated so often that vector kernels take part.
void check(ScalarType from, const Codes& in_codes, ScalarType to,
           const std::vector<CastMode>& modes, const Codes& out_codes) {
  const Bytes in = bytes_of(from, in_codes);
  const Bytes out = bytes_of(to, out_codes);
  Bytes source;
  Bytes expected;
  for (int i = 0; i < 40; ++i) {
    source.insert(source.end(), in.begin(), in.end());
    expected.insert(expected.end(), out.begin(), out.end());
  }
  const auto count = static_cast<int64_t>(source.size() / elementSize(from));
  for (CastMode mode : modes) {
    INFO(toString(from) << " to " << toString(to) << ", " << toString(mode));
    for_each_isa([&] {
      Bytes made(expected.size());
      convert_elements(to, made.data(), from, source.data(), count, mode);
      CHECK(made == expected);
    });
  }
}

}  // namespace

TEST_CASE("convert: values by hand") {
  using T = ScalarType;
  constexpr int64_t k51 = int64_t{1} << 51;
  // Saturate rounds to nearest even integers and clamps them.
  check(T::Float,
        floats({0.5f, 1.5f, 2.5f, 2.4999f, -0.4f, -1, 254.4f, 254.5f, 255.5f, 1e10f, kInfinity,
                -kInfinity, kNan, -0.0f, 3.5f, 0.49999997f}),
        T::Byte, {kSaturate}, {0, 2, 2, 2, 0, 0, 254, 254, 255, 255, 255, 0, 0, 0, 4, 0});
  // Truncate cuts off, and what is out of range gives the nearest end.
  check(T::Float, floats({0.9f, 1.999f, -0.9f, -5, 255.9f, 256, kInfinity, -kInfinity, kNan}),
        T::Byte, {kTruncate}, {0, 1, 0, 0, 255, 255, 255, 0, 0});
  check(T::Double,
        doubles({0x1p51 - 0.75, 0x1p51 + 0.5, 0x1p51 + 1.5, -0x1p51 - 1.5, 0x1p52 - 0.5, 0x1p52 + 1,
                 0.49999999999999994, -3.5, -0x1p63, 0x1p63, -1e300, std::nan("")}),
        T::Long, {kSaturate},
        {k51 - 1, k51, k51 + 2, -k51 - 2, 2 * k51, 2 * k51 + 1, 0, -4, INT64_MIN, INT64_MAX,
         INT64_MIN, 0});
  // Integers wrap, but for Saturate, which clamps them.
  check(T::Short, {300, -1, 256, -129, 32767}, T::Byte, {kChecked, kTruncate},
        {44, 255, 0, 127, 255});
  check(T::Short, {300, -1, 256, -129, 32767}, T::Byte, {kSaturate}, {255, 0, 255, 0, 255});
  // Saturate keeps floating values finite, and NaN one.
  check(T::Float, floats({65504, 65520, 1e30f, -1e30f, kInfinity, -kInfinity, kNan, 1}), T::Half,
        {kSaturate}, {0x7bff, 0x7bff, 0x7bff, 0xfbff, 0x7bff, 0xfbff, 0x7e00, 0x3c00});
  check(T::Float, floats({65504, 65520, 1e30f, -1e30f, kInfinity, -kInfinity, kNan, 1}), T::Half,
        {kChecked}, {0x7bff, 0x7c00, 0x7c00, 0xfc00, 0x7c00, 0xfc00, 0x7e00, 0x3c00});
  check(T::Float, floats({448, 500, -kInfinity, kNan}), T::Float8_e4m3fn, {kSaturate},
        {0x7e, 0x7e, 0xfe, 0x7f});
  // Doubles are rounded once.
  check(T::Double, doubles({1 + 0x1p-11 + 0x1p-40, -2, 1e6}), T::Half, {kChecked},
        {0x3c01, 0xc000, 0x7c00});
  // All but 0 is true, NaN and an imaginary part too; any byte of a Bool but 0 is one.
  check(T::Float, floats({0, -0.0f, 0.1f, 1e-45f, -3, kNan, kInfinity}), T::Bool, kForced,
        {0, 0, 1, 1, 1, 1, 1});
  check(T::Bool, {0, 1, 2, 128, 255}, T::Float, kModes, floats({0, 1, 1, 1, 1}));
  // An imaginary part is dropped; a real number's is 0.
  check(T::Byte, {7}, T::ComplexFloat, {kChecked}, floats({7, 0}));
  // A NaN keeps its sign and leading bits, and becomes quiet.
  check(T::Float, {0x7f800001, 0xffa00000, 0x7fffffff, 0xffc02000}, T::Half, {kChecked},
        {0x7e00, 0xff00, 0x7fff, 0xfe01});
  check(T::Half, {0x7c01, 0xfe00, 0xfd55}, T::Float, {kChecked},
        {0x7fc02000, 0xffc00000, 0xffeaa000});
  // Within one type the bits are copied.
  check(T::Bool, {0, 1, 2, 255}, T::Bool, kModes, {0, 1, 2, 255});
}

}  // namespace convert_test
