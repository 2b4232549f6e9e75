// SPDX-License-Identifier: MIT
// Casts between all types, of all elements of the small ones and of those at which the large ones
// are hard to convert.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cast_reference.h"
#include "kernels/helpers.h"
#include "tenon/kernels/convert.h"

namespace convert_values_test {

using namespace tests;

namespace {

using Codes = std::vector<uint64_t>;

uint64_t random_code(Rng& random) {
  uint64_t code = 0;
  for (int i = 0; i < 4; ++i) code = (code << 16) + static_cast<uint64_t>(random.between(0, 65535));
  return code;
}

// Powers of two, sums and differences of two of them, and their neighbours.
Codes integer_codes(size_t size) {
  Codes codes;
  const auto bits = static_cast<int>(8 * size);
  for (int i = 0; i < bits; ++i) {
    for (int j = 0; j <= i; ++j) {
      for (uint64_t near : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
        const uint64_t high = uint64_t{1} << i;
        const uint64_t low = uint64_t{1} << j;
        for (uint64_t code : {high + low + near, high - low + near}) {
          codes.push_back(code);
          codes.push_back(uint64_t{0} - code);
        }
      }
    }
  }
  for (uint64_t code = 0; code < 1000; ++code) {
    codes.push_back(code);
    codes.push_back(uint64_t{0} - code);
  }
  Rng random{7};
  for (int i = 0; i < 1000; ++i) codes.push_back(random_code(random));
  return codes;
}

// Mantissas at which rounding to fewer bits turns: `dropped` of them and more.
Codes mantissas(int mantissa_bits, int dropped) {
  Codes found;
  const uint64_t end = uint64_t{1} << mantissa_bits;
  for (int s = dropped; s <= mantissa_bits; ++s) {
    const uint64_t unit = uint64_t{1} << s;
    for (uint64_t kept : {uint64_t{0}, unit, end - unit}) {
      for (uint64_t rest : {uint64_t{0}, unit / 2 - 1, unit / 2, unit / 2 + 1, unit - 1}) {
        if (kept + rest < end) found.push_back(kept + rest);
      }
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// All exponents with the mantissas above, around each limit of an integer type, fractions, and
// random bits.
Codes floating_codes(ScalarType type) {
  const tests::FloatFormat format = tests::float_format(type);
  const bool wide = type == ScalarType::Double;
  Codes codes;
  const Codes many = mantissas(format.mantissa_bits, wide ? 29 : 13);
  const Codes few = mantissas(format.mantissa_bits, format.mantissa_bits - 1);
  for (int field = 0; field < 1 << format.exponent_bits; ++field) {
    const int power = field - format.bias;
    const bool hard = !wide || (power > -153 && power < 130);
    for (uint64_t mantissa : hard ? many : few) {
      codes.push_back((static_cast<uint64_t>(field) << format.mantissa_bits) + mantissa);
    }
  }
  const auto push_near = [&](const tests::Exact& value) {
    const uint64_t code = format.encode(value, false);
    for (uint64_t near = 0; near < 7; ++near) codes.push_back(code + near - 3);
  };
  for (uint64_t quarters = 1; quarters < 1100; ++quarters) {
    codes.push_back(format.encode(tests::exact(false, quarters, -2), false));
  }
  for (uint64_t limit : {127u, 128u, 255u, 32767u, 32768u, 65535u}) {
    for (uint64_t halves = 0; halves < 5; ++halves) {
      push_near(tests::exact(false, 2 * limit + halves - 2, -1));
    }
  }
  for (int bits : {31, 32, 53, 63, 64}) push_near(tests::exact(false, 1, bits));
  push_near(tests::exact(false, (uint64_t{1} << 32) - 1, -1));
  push_near(tests::exact(false, (uint64_t{1} << 33) - 1, -1));
  const size_t positive = codes.size();
  for (size_t i = 0; i < positive; ++i) codes.push_back(codes[i] | format.sign_bit());
  Rng random{8};
  for (int i = 0; i < 2000; ++i) codes.push_back(random_code(random));
  return codes;
}

// The elements to convert. An unoptimised build takes a part of the long lists.
Bytes elements(ScalarType type) {
  const size_t size = elementSize(type);
  const size_t part = isComplexType(type) ? size / 2 : size;
  Codes codes;
  if (part <= 2) {
    for (uint64_t code = 0; code < uint64_t{1} << (8 * part); ++code) codes.push_back(code);
  } else {
    codes = isIntegralType(type, false)
                ? integer_codes(size)
                : floating_codes(part == 4 ? ScalarType::Float : ScalarType::Double);
  }
  const size_t step = tests::kThorough || codes.size() < 2000 ? 1 : codes.size() / 3000 + 1;
  const size_t stride = isComplexType(type) ? step * 5 : step;
  Bytes bytes;
  for (size_t i = 0; i < codes.size(); i += stride) {
    const size_t at = bytes.size();
    bytes.resize(at + size);
    tests::write_bits(bytes.data() + at, part, codes[i]);
    // The other part of a complex number is one from somewhere else.
    if (size != part) {
      tests::write_bits(bytes.data() + at + part, part, codes[i * 7919 % codes.size()]);
    }
  }
  tests::settle_doubles(type, bytes);
  return bytes;
}

// Converts elements of a type to all types and in all modes.
void check_casts_from(ScalarType from, const Bytes& in) {
  const size_t in_size = elementSize(from);
  const size_t count = in.size() / in_size;
  Bytes source(1 + in.size());  // at odd addresses: they need no alignment
  std::copy(in.begin(), in.end(), source.begin() + 1);
  for (ScalarType to : tests::kAllTypes) {
    const size_t size = elementSize(to);
    Bytes expected[2];
    const CastMode modes[] = {CastMode::Truncate, CastMode::Saturate};
    for (size_t m = 0; m < 2; ++m) {
      expected[m].resize(count * size);
      for (size_t i = 0; i < count; ++i) {
        tests::cast_by_hand(to, expected[m].data() + i * size, from, in.data() + i * in_size,
                            modes[m]);
      }
    }
    Bytes out(1 + count * size);
    const auto check = [&](CastMode mode) {
      INFO(toString(from) << " to " << toString(to) << ", " << toString(mode));
      std::fill(out.begin(), out.end(), static_cast<unsigned char>(0xa5));
      tenon::detail::convert_elements(to, out.data() + 1, from, source.data() + 1,
                                      static_cast<int64_t>(count), mode);
      const Bytes& right = expected[mode == CastMode::Saturate ? 1 : 0];
      const auto wrong = std::mismatch(right.begin(), right.end(), out.begin() + 1).first;
      CHECK(wrong - right.begin() == static_cast<std::ptrdiff_t>(right.size()));
      CHECK(out[0] == 0xa5);
    };
    for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
      if (mode == CastMode::Checked && !canCast(from, to)) continue;
      tests::for_each_isa([&] { check(mode); });
    }
  }
}

}  // namespace

TEST_CASE("convert: all small numbers, and integers at the limits and ties of all types") {
  for (ScalarType from :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Bool, ScalarType::Float8_e5m2,
        ScalarType::Float8_e4m3fn, ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz,
        ScalarType::Short, ScalarType::UInt16, ScalarType::Half, ScalarType::BFloat16,
        ScalarType::Int, ScalarType::UInt32, ScalarType::Long, ScalarType::UInt64}) {
    check_casts_from(from, elements(from));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("convert: floats at the limits and ties of all types, in every type and mode") {
  check_casts_from(ScalarType::Float, elements(ScalarType::Float));
}

// A promise of docs/guarantees.md.
TEST_CASE("convert: doubles at the limits and ties of all types, in every type and mode") {
  check_casts_from(ScalarType::Double, elements(ScalarType::Double));
}

TEST_CASE("convert: complex numbers part by part, in every type and mode") {
  for (ScalarType from :
       {ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    check_casts_from(from, elements(from));
  }
}

}  // namespace convert_values_test
