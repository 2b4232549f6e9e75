// SPDX-License-Identifier: MIT
// Values at the edges of single conversions; convert_values_test.cpp has all pairs of types.
#include "tenon/kernels/conversions.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.h"

namespace d = tenon::detail;
using namespace tenon;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

d::CastLimits integer_limits(int64_t lowest, uint64_t highest, bool rounding) {
  d::CastLimits limits{};
  limits.lowest = lowest;
  limits.highest = highest;
  limits.lowest_number = static_cast<double>(lowest);
  limits.highest_number = static_cast<double>(highest);
  limits.rounding = rounding;
  return limits;
}

}  // namespace

TEST_CASE("conversions: doubles around 2^51, 2^52 and 2^63 become integers of 64 bits") {
  for (bool rounding : {false, true}) {
    const auto to_long = [&](double value) {
      return static_cast<int64_t>(
          d::DoubleToLong::convert(value, integer_limits(INT64_MIN, INT64_MAX, rounding)));
    };
    const auto to_unsigned = [&](double value) {
      return d::DoubleToLong::convert(value, integer_limits(0, UINT64_MAX, rounding));
    };
    INFO("rounding " << rounding);
    CHECK(to_long(0x1p51 - 0.75) == (int64_t{1} << 51) - 1);
    CHECK(to_long(0x1p51 + 0.5) == int64_t{1} << 51);
    CHECK(to_long(0x1p51 + 1.5) == (int64_t{1} << 51) + (rounding ? 2 : 1));
    CHECK(to_long(-0x1p51 - 1.5) == -(int64_t{1} << 51) - (rounding ? 2 : 1));
    CHECK(to_long(0x1p52 - 0.5) == (int64_t{1} << 52) - (rounding ? 0 : 1));
    CHECK(to_long(0x1p52 + 1) == (int64_t{1} << 52) + 1);
    CHECK(to_long(-0x1p63) == INT64_MIN);
    CHECK(to_long(0x1p63) == INT64_MAX);
    CHECK(to_long(-kInfinity) == INT64_MIN);
    CHECK(to_long(kNan) == 0);
    CHECK(to_unsigned(0x1p63 + 2048) == (uint64_t{1} << 63) + 2048);
    CHECK(to_unsigned(0x1p64) == UINT64_MAX);
    CHECK(to_unsigned(-0.75) == 0);
    CHECK(to_unsigned(-1e300) == 0);
  }
}

TEST_CASE("conversions: doubles are rounded to even, or cut off, within an int's limits") {
  const d::CastLimits limits = integer_limits(-100, 100, false);
  CHECK(d::DoubleToInt<true>::convert(2.5, limits) == 2);
  CHECK(d::DoubleToInt<true>::convert(-3.5, limits) == -4);
  CHECK(d::DoubleToInt<true>::convert(0.49999999999999994, limits) == 0);
  CHECK(d::DoubleToInt<false>::convert(-3.9, limits) == -3);
  CHECK(d::DoubleToInt<false>::convert(1e10, limits) == 100);
  CHECK(d::DoubleToInt<true>::convert(-kInfinity, limits) == -100);
  CHECK(d::DoubleToInt<false>::convert(kNan, limits) == 0);
}

TEST_CASE("conversions: a double next to a tie keeps its side of it on the way through float") {
  const auto to_bfloat16 = [](double value) {
    const float odd = d::DoubleToOddFloat::convert(value, {});
    return d::FloatToBFloat16::convert(odd, {}).x;
  };
  CHECK(to_bfloat16(1 + 0x1p-8) == 0x3f80);            // to even
  CHECK(to_bfloat16(1 + 0x1p-8 + 0x1p-50) == 0x3f81);  // float alone would lose the difference
  CHECK(to_bfloat16(-1 - 0x1p-8 - 0x1p-50) == 0xbf81);
  CHECK(to_bfloat16(0x1p-134) == 0);  // half of the smallest
  CHECK(to_bfloat16(0x1p-134 + 0x1p-180) == 1);
  CHECK(to_bfloat16(0x3p-134 - 0x1p-180) == 1);
  CHECK(to_bfloat16(1e-300) == 0);
  CHECK(to_bfloat16(1e300) == 0x7f80);
  CHECK(to_bfloat16(kNan) == 0x7fc0);
}

TEST_CASE("conversions: what is beyond the largest value gives that, with its sign; NaN stays") {
  d::CastLimits limits{};
  limits.largest = 100;
  CHECK(d::ClampFloat::convert(-101, limits) == -100);
  CHECK(d::ClampFloat::convert(99.5f, limits) == 99.5f);
  CHECK(std::isnan(d::ClampFloat::convert(static_cast<float>(kNan), limits)));
  CHECK(d::ClampDouble::convert(-kInfinity, limits) == -100);
  CHECK(d::ClampDouble::convert(-99.5, limits) == -99.5);
  CHECK(std::isnan(d::ClampDouble::convert(kNan, limits)));
}

TEST_CASE("conversions: codes of Float8 become floats, and those the codes again") {
  for (ScalarType type : {ScalarType::Float8_e5m2, ScalarType::Float8_e4m3fn,
                          ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz}) {
    d::CastLimits limits{};
    limits.in = limits.out = d::float8_limits(type);
    int wrong = 0;
    for (uint32_t code = 0; code < 256; ++code) {
      const float value = d::Float8ToFloat::convert(code, limits);
      const bool is_quiet_nan = type != ScalarType::Float8_e5m2 || (code & 0x7f) != 0x7d;
      if (is_quiet_nan && d::FloatToFloat8::convert(value, limits) != code) ++wrong;
    }
    INFO(toString(type));
    CHECK(wrong == 0);
  }
}
