// SPDX-License-Identifier: MIT
#include "tenon/kernels/random_plan.h"

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/helpers.h"
#include "kernels/random_reference.h"

using namespace tenon::detail;
using tenon::BFloat16;
using tenon::Error;
using tenon::Half;
using tests::kAllTypes;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RandomPlan uniform(ScalarType type, double low, double high) {
  return tests::plan_of(tests::uniform_request(low, high), type);
}
RandomPlan integers(ScalarType type, int64_t low, int64_t high) {
  return tests::plan_of(tests::integers_request(low, high), type);
}
Error try_uniform(ScalarType type, double low, double high) {
  RandomPlan plan;
  return plan_uniform(plan, type, low, high);
}
Error try_normal(ScalarType type, double mean, double stddev) {
  RandomPlan plan;
  return plan_normal(plan, type, mean, stddev);
}
Error try_integers(ScalarType type, int64_t low, int64_t high) {
  RandomPlan plan;
  return plan_integers_below(plan, type, low, high);
}

NumberFormat format_of(ScalarType type) {
  RandomPlan plan;
  REQUIRE(start_plan(plan, Distribution::Uniform, type, nullptr) == Error::Ok);
  return plan.format;
}
double down(ScalarType type, double value) { return round_down(format_of(type), value); }
double up(ScalarType type, double value) { return round_up(format_of(type), value); }

// Each finite value is kept; between two neighbours, the lower one is taken.
template <class T>
int count_wrongly_rounded() {
  const std::vector<float>& all = tests::finite_values<T>();
  int wrong = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto floor = [](float value) {
      return static_cast<float>(round_down(number_format<T>(), static_cast<double>(value)));
    };
    if (floor(all[i]) != all[i]) ++wrong;
    if (i + 1 == all.size() || all[i] == all[i + 1]) continue;  // -0 and 0
    const float above = std::nextafter(all[i], FLT_MAX);
    const float below = std::nextafter(all[i + 1], -FLT_MAX);
    const float middle = all[i] + (all[i + 1] - all[i]) / 2;
    for (float value : {above, middle, below}) {
      if (value == all[i + 1]) continue;
      if (floor(value) != all[i]) ++wrong;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("random_plan: next_below gives the neighbour, over zero and powers of two too") {
  for (double value : {1.0, -1.0, 0.5, 1e300, -1e300, DBL_MIN, -DBL_MIN, 4.9e-324, -4.9e-324, 3.0,
                       DBL_MAX, 0.0, -0.0, -0x1.fffffffffffffp5}) {
    INFO(value);
    CHECK(next_below(value) == std::nextafter(value, -kInfinity));
  }
}

TEST_CASE("random_plan: round_down takes the lower neighbour of what a short type does not hold") {
  CHECK(count_wrongly_rounded<Half>() == 0);
  CHECK(count_wrongly_rounded<BFloat16>() == 0);
  CHECK(count_wrongly_rounded<tenon::Float8_e5m2>() == 0);
  CHECK(count_wrongly_rounded<tenon::Float8_e4m3fn>() == 0);
  CHECK(count_wrongly_rounded<tenon::Float8_e5m2fnuz>() == 0);
  CHECK(count_wrongly_rounded<tenon::Float8_e4m3fnuz>() == 0);
}

TEST_CASE("random_plan: round_down and round_up by type") {
  CHECK(down(ScalarType::Float, 0.1) == static_cast<double>(0x1.999998p-4f));
  CHECK(up(ScalarType::Float, 0.1) == static_cast<double>(0x1.99999ap-4f));
  CHECK(down(ScalarType::Float, -0.1) == static_cast<double>(-0x1.99999ap-4f));
  CHECK(up(ScalarType::Float, -0.1) == static_cast<double>(-0x1.999998p-4f));
  CHECK(down(ScalarType::Double, 0.1) == 0.1);
  CHECK(up(ScalarType::Double, 0.1) == 0.1);
  CHECK(down(ScalarType::Half, 2049.0) == 2048.0);
  CHECK(up(ScalarType::Half, 2049.0) == 2050.0);
  CHECK(up(ScalarType::Half, 1e-30) == 0x1p-24);
  CHECK(down(ScalarType::Half, 1e-30) == 0.0);
  CHECK(up(ScalarType::Float8_e4m3fn, 17.0) == 18.0);
}

TEST_CASE("random_plan: what is rounded up to zero is no negative zero") {
  for (ScalarType type : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float8_e5m2,
                          ScalarType::Float8_e4m3fn, ScalarType::Float8_e5m2fnuz,
                          ScalarType::Float8_e4m3fnuz, ScalarType::Float, ScalarType::Double}) {
    INFO(toString(type));
    CHECK_FALSE(std::signbit(up(type, 0.0)));
    CHECK_FALSE(std::signbit(up(type, -0.0)));
    if (type == ScalarType::Double) continue;
    CHECK(up(type, -1e-60) == 0);
    CHECK_FALSE(std::signbit(up(type, -1e-60)));
  }
}

TEST_CASE("random_plan: formats and parts of types") {
  CHECK(format_of(ScalarType::Half).lowest == -65504);
  CHECK(format_of(ScalarType::Float8_e4m3fn).largest == 448);
  CHECK(format_of(ScalarType::Float8_e4m3fnuz).largest == 240);
  CHECK(format_of(ScalarType::Float8_e5m2).largest == 57344);
  CHECK(format_of(ScalarType::Bool).largest == 1);
  CHECK(format_of(ScalarType::Char).lowest == -128);
  CHECK(format_of(ScalarType::UInt16).largest == 65535);
  CHECK(format_of(ScalarType::Long).lowest == -0x1p63);
  CHECK(format_of(ScalarType::Half).digits == 11);
  CHECK(format_of(ScalarType::Float8_e5m2fnuz).min_exponent == -14);
  CHECK(uniform(ScalarType::ComplexHalf, 0, 1).part_type == ScalarType::Half);
  CHECK(uniform(ScalarType::ComplexFloat, 0, 1).part_type == ScalarType::Float);
  CHECK(uniform(ScalarType::ComplexDouble, 0, 1).part_type == ScalarType::Double);
  CHECK(uniform(ScalarType::UInt64, 0, 1).part_type == ScalarType::UInt64);
}

TEST_CASE("random_plan: doubles are computed with for types that float does not hold") {
  for (ScalarType type : kAllTypes) {
    INFO(toString(type));
    const bool expected = type == ScalarType::Int || type == ScalarType::UInt32 ||
                          type == ScalarType::Long || type == ScalarType::UInt64 ||
                          type == ScalarType::Double || type == ScalarType::ComplexDouble;
    CHECK(uniform(type, 0, 1).is_double == expected);
  }
}

TEST_CASE("random_plan: a uniform plan's constants") {
  const RandomPlan unit = uniform(ScalarType::Float, 0, 1);
  CHECK(unit.distribution == Distribution::Uniform);
  CHECK(unit.type == ScalarType::Float);
  CHECK(unit.part_type == ScalarType::Float);
  CHECK(unit.offset == 0);
  CHECK(unit.scale == 1);
  CHECK(unit.limit == static_cast<double>(0x1.fffffep-1f));
  CHECK(uniform(ScalarType::Double, 0, 1).limit == 0x1.fffffffffffffp-1);

  const RandomPlan tenths = uniform(ScalarType::Float, 0.1, 0.2);
  CHECK(tenths.offset == static_cast<double>(0x1.99999ap-4f));  // the next float above 0.1
  CHECK(tenths.scale == static_cast<double>(0x1.99999ap-4f));   // the nearest
  CHECK(tenths.limit == static_cast<double>(0x1.999998p-3f));   // the next below 0.2

  const RandomPlan half = uniform(ScalarType::ComplexHalf, 1e-9, 2);
  CHECK(half.part_type == ScalarType::Half);
  CHECK(half.smallest == 0x1p-24);
  CHECK(half.limit == static_cast<double>(0x1.fffffep0f));

  const RandomPlan byte = uniform(ScalarType::Byte, -0.5, 255.5);
  CHECK(byte.offset == -0.5);
  CHECK(byte.smallest == -0.5);
  CHECK(uniform(ScalarType::Long, -0x1p63, 0x1p63).limit == 0x1.fffffffffffffp62);
}

TEST_CASE("random_plan: bounds without a number between them are refused") {
  for (ScalarType type : kAllTypes) {
    INFO(toString(type));
    CHECK_RETURNS(Error::InvalidArgument, "[1, 1) holds no numbers", try_uniform(type, 1, 1));
    CHECK_RETURNS(Error::InvalidArgument, "[1, 0) holds no numbers", try_uniform(type, 1, 0));
    CHECK_RETURNS(Error::InvalidArgument, "[0, 0) holds no numbers", try_uniform(type, 0.0, -0.0));
    CHECK_RETURNS(Error::InvalidArgument, "[nan, 1) holds no numbers", try_uniform(type, kNan, 1));
    CHECK_RETURNS(Error::InvalidArgument, "[0, nan) holds no numbers", try_uniform(type, 0, kNan));
    CHECK_RETURNS(Error::InvalidArgument, "[0, inf) holds no numbers",
                  try_uniform(type, 0, kInfinity));
    CHECK_RETURNS(Error::InvalidArgument, "[-inf, 0) holds no numbers",
                  try_uniform(type, -kInfinity, 0));
  }
}

TEST_CASE("random_plan: bounds beyond the type are refused, and those at its ends are not") {
  CHECK_RETURNS(Error::InvalidArgument, "[0, 65505) is beyond the range of Half",
                try_uniform(ScalarType::Half, 0, 65505));
  CHECK_RETURNS(Error::InvalidArgument, "beyond the range of ComplexHalf",
                try_uniform(ScalarType::ComplexHalf, -65505, 0));
  CHECK_RETURNS(Error::InvalidArgument, "beyond the range of Float8_e4m3fn",
                try_uniform(ScalarType::Float8_e4m3fn, 0, 449));
  CHECK_RETURNS(Error::InvalidArgument, "beyond the range of Float",
                try_uniform(ScalarType::Float, -1e39, 0));
  CHECK_RETURNS(Error::InvalidArgument, "[0, 256.5) is beyond the range of Byte",
                try_uniform(ScalarType::Byte, 0, 256.5));
  CHECK_RETURNS(Error::InvalidArgument, "[-1, 256) is beyond the range of Byte",
                try_uniform(ScalarType::Byte, -1, 256));
  CHECK_RETURNS(Error::InvalidArgument, "beyond the range of Char",
                try_uniform(ScalarType::Char, -129, 0));
  CHECK_RETURNS(Error::InvalidArgument, "beyond the range of Long",
                try_uniform(ScalarType::Long, 0, 0x1.0000000000001p63));
  CHECK_RETURNS(Error::InvalidArgument, "beyond the range of Long",
                try_uniform(ScalarType::Long, -0x1.0000000000001p63, 0));
  CHECK(try_uniform(ScalarType::Half, -65504, 65504) == Error::Ok);
  CHECK(try_uniform(ScalarType::Float8_e4m3fn, -448, 448) == Error::Ok);
  CHECK(try_uniform(ScalarType::Byte, -0.99, 256) == Error::Ok);
  CHECK(try_uniform(ScalarType::Char, -128.99, 128) == Error::Ok);
  CHECK(try_uniform(ScalarType::UInt64, -0.5, 0x1p64) == Error::Ok);
  CHECK(try_uniform(ScalarType::Bool, -1e30, 1e30) == Error::Ok);  // any number is a Bool
}

TEST_CASE("random_plan: a width that the computing type does not hold is refused") {
  CHECK_RETURNS(Error::InvalidArgument, "the width of [-3e38, 3e38) is beyond the range of Float",
                try_uniform(ScalarType::Float, -3e38, 3e38));
  CHECK_RETURNS(Error::InvalidArgument, "is beyond the range of Float",
                try_uniform(ScalarType::BFloat16, -3e38, 3e38));
  CHECK_RETURNS(Error::InvalidArgument, "is beyond the range of Double",
                try_uniform(ScalarType::Double, -1e308, 1e308));
  CHECK_RETURNS(Error::InvalidArgument, "is beyond the range of Float",
                try_uniform(ScalarType::Bool, -1e39, 1));
  CHECK(try_uniform(ScalarType::Float, -1.7e38, 1.7e38) == Error::Ok);
  CHECK(try_uniform(ScalarType::Double, 0, DBL_MAX) == Error::Ok);
}

TEST_CASE("random_plan: bounds between two values of the type are refused") {
  CHECK_RETURNS(Error::InvalidArgument, "[1.0001, 1.0002) holds no Half",
                try_uniform(ScalarType::Half, 1.0001, 1.0002));
  CHECK_RETURNS(Error::InvalidArgument, "holds no Half",
                try_uniform(ScalarType::ComplexHalf, 1e-10, 2e-10));
  CHECK_RETURNS(Error::InvalidArgument, "[17, 18) holds no Float8_e4m3fn",
                try_uniform(ScalarType::Float8_e4m3fn, 17, 18));
  CHECK_RETURNS(Error::InvalidArgument, "holds no Float",
                try_uniform(ScalarType::Float, 1 + 1e-9, 1 + 2e-9));
  CHECK_RETURNS(Error::InvalidArgument, "holds no Half",
                try_uniform(ScalarType::Half, -1e-10, -1e-11));
  CHECK_RETURNS(Error::InvalidArgument, "holds no Half", try_uniform(ScalarType::Half, -1e-10, 0));
  CHECK(try_uniform(ScalarType::Half, -1e-10, 1e-10) == Error::Ok);  // 0
  CHECK(try_uniform(ScalarType::Float8_e4m3fn, 16, 18) == Error::Ok);
  CHECK(try_uniform(ScalarType::Double, 1, 1 + DBL_EPSILON) == Error::Ok);
}

TEST_CASE("random_plan: a normal plan's constants and errors") {
  const RandomPlan real = tests::plan_of(tests::normal_request(2, 3), ScalarType::Half);
  CHECK(real.distribution == Distribution::Normal);
  CHECK(real.offset == 2);
  CHECK(real.scale == 3);
  const RandomPlan complex = tests::plan_of(tests::normal_request(2, 3), ScalarType::ComplexDouble);
  CHECK(complex.offset == 2);
  CHECK(std::fabs(complex.scale * complex.scale - 4.5) < 1e-14);
  CHECK(try_normal(ScalarType::Float, 5, 0) == Error::Ok);
  CHECK(try_normal(ScalarType::Half, 1e30, 1e30) == Error::Ok);
  CHECK(try_normal(ScalarType::Double, -DBL_MAX, DBL_MAX) == Error::Ok);

  CHECK_RETURNS(Error::InvalidArgument, "standard deviation -1 is no finite Float of at least 0",
                try_normal(ScalarType::Float, 0, -1));
  CHECK_RETURNS(Error::InvalidArgument, "standard deviation -1 is no finite Double",
                try_normal(ScalarType::Int, 0, -1));
  CHECK_RETURNS(Error::InvalidArgument, "standard deviation nan",
                try_normal(ScalarType::Float, 0, kNan));
  CHECK_RETURNS(Error::InvalidArgument, "standard deviation inf",
                try_normal(ScalarType::Double, 0, kInfinity));
  CHECK_RETURNS(Error::InvalidArgument, "standard deviation 1e39 is no finite Float",
                try_normal(ScalarType::BFloat16, 0, 1e39));
  CHECK_RETURNS(Error::InvalidArgument, "the mean nan is no finite Float",
                try_normal(ScalarType::Float, kNan, 1));
  CHECK_RETURNS(Error::InvalidArgument, "the mean -inf is no finite Double",
                try_normal(ScalarType::ComplexDouble, -kInfinity, 1));
  CHECK_RETURNS(Error::InvalidArgument, "the mean 1e39 is no finite Float",
                try_normal(ScalarType::Half, 1e39, 1));
}

TEST_CASE("random_plan: round_integer keeps the leading digits") {
  CHECK(round_integer(17, 4, false) == 16);
  CHECK(round_integer(17, 4, true) == 18);
  CHECK(round_integer(-17, 4, false) == -16);
  CHECK(round_integer(-17, 4, true) == -18);
  CHECK(round_integer(16, 4, true) == 16);
  CHECK(round_integer(15, 4, true) == 15);
  CHECK(round_integer(31, 4, true) == 32);
  CHECK(round_integer(31, 4, false) == 30);
  CHECK(round_integer(0, 11, true) == 0);
  CHECK(round_integer(2049, 11, false) == 2048);
  CHECK(round_integer((int64_t{1} << 53) + 1, 53, true) == (int64_t{1} << 53) + 2);
  CHECK(round_integer(INT64_MAX, 53, false) == INT64_MAX - 1023);
  CHECK(round_integer(INT64_MAX, 53, true) == INT64_MAX);  // 2^63 is none
  CHECK(round_integer(INT64_MIN, 3, true) == INT64_MIN);
  CHECK(round_integer(INT64_MIN + 1, 3, true) == INT64_MIN);
  CHECK(round_integer(INT64_MIN + 1, 3, false) == -(int64_t{7} << 60));
}

TEST_CASE("random_plan: an integer plan's constants") {
  const RandomPlan plan = integers(ScalarType::Int, -5, 10);
  CHECK(plan.distribution == Distribution::Integers);
  CHECK(plan.low == -5);
  CHECK(plan.range == 15);
  CHECK(integers(ScalarType::Long, INT64_MIN, INT64_MAX).range == UINT64_MAX);
  CHECK(integers(ScalarType::Long, 7, 8).range == 1);
  const RandomPlan half = integers(ScalarType::Half, -4099, 4100);
  CHECK(half.low == -4099);
  CHECK(half.range == 8199);
  CHECK(half.first == -4096);
  CHECK(half.last == 4096);
  const RandomPlan e4m3 = integers(ScalarType::Float8_e4m3fn, 17, 32);
  CHECK(e4m3.first == 18);
  CHECK(e4m3.last == 30);
}

TEST_CASE("random_plan: integers beyond the type are refused, and empty ranges") {
  for (ScalarType type : kAllTypes) {
    INFO(toString(type));
    CHECK_RETURNS(Error::InvalidArgument, "[1, 1) holds no integers", try_integers(type, 1, 1));
    CHECK_RETURNS(Error::InvalidArgument, "[1, 0) holds no integers", try_integers(type, 1, 0));
    CHECK(try_integers(type, 0, 2) == Error::Ok);
  }
  CHECK_RETURNS(Error::InvalidArgument, "0 to 256 are not integers of Byte",
                try_integers(ScalarType::Byte, 0, 257));
  CHECK_RETURNS(Error::InvalidArgument, "-1 to 0 are not integers of UInt64",
                try_integers(ScalarType::UInt64, -1, 1));
  CHECK_RETURNS(Error::InvalidArgument, "0 to 2 are not integers of Bool",
                try_integers(ScalarType::Bool, 0, 3));
  CHECK_RETURNS(Error::InvalidArgument, "0 to 2147483648 are not integers of Int",
                try_integers(ScalarType::Int, 0, int64_t{1} << 31 | 1));
  CHECK_RETURNS(Error::InvalidArgument, "0 to 65505 are not integers of Half",
                try_integers(ScalarType::ComplexHalf, 0, 65506));
  CHECK_RETURNS(Error::InvalidArgument, "-449 to 0 are not integers of Float8_e4m3fn",
                try_integers(ScalarType::Float8_e4m3fn, -449, 1));
  CHECK_RETURNS(Error::InvalidArgument, "17 to 17 are not integers of Float8_e4m3fn",
                try_integers(ScalarType::Float8_e4m3fn, 17, 18));
  CHECK(try_integers(ScalarType::Byte, 0, 256) == Error::Ok);
  CHECK(try_integers(ScalarType::Char, -128, 128) == Error::Ok);
  CHECK(try_integers(ScalarType::Half, -65504, 65505) == Error::Ok);
  CHECK(try_integers(ScalarType::UInt64, 0, INT64_MAX) == Error::Ok);
  CHECK(try_integers(ScalarType::Float, INT64_MIN, INT64_MAX) == Error::Ok);
}

TEST_CASE("random_plan: all integers of a type are those that it and int64_t hold without gaps") {
  const auto last_of = [](ScalarType type) {
    RandomPlan plan;
    REQUIRE(plan_all_integers(plan, type) == Error::Ok);
    CHECK(plan.low == 0);
    CHECK(plan.range == static_cast<uint64_t>(plan.last) + 1);
    return plan.last;
  };
  CHECK(last_of(ScalarType::Bool) == 1);
  CHECK(last_of(ScalarType::Byte) == 255);
  CHECK(last_of(ScalarType::Char) == 127);
  CHECK(last_of(ScalarType::Short) == 32767);
  CHECK(last_of(ScalarType::Int) == INT32_MAX);
  CHECK(last_of(ScalarType::Long) == INT64_MAX);
  CHECK(last_of(ScalarType::UInt16) == 65535);
  CHECK(last_of(ScalarType::UInt32) == int64_t{UINT32_MAX});
  CHECK(last_of(ScalarType::UInt64) == INT64_MAX);
  CHECK(last_of(ScalarType::Half) == 2048);
  CHECK(last_of(ScalarType::ComplexHalf) == 2048);
  CHECK(last_of(ScalarType::BFloat16) == 256);
  CHECK(last_of(ScalarType::Float) == 1 << 24);
  CHECK(last_of(ScalarType::ComplexFloat) == 1 << 24);
  CHECK(last_of(ScalarType::Double) == int64_t{1} << 53);
  CHECK(last_of(ScalarType::ComplexDouble) == int64_t{1} << 53);
  CHECK(last_of(ScalarType::Float8_e5m2) == 8);
  CHECK(last_of(ScalarType::Float8_e5m2fnuz) == 8);
  CHECK(last_of(ScalarType::Float8_e4m3fn) == 16);
  CHECK(last_of(ScalarType::Float8_e4m3fnuz) == 16);
}

TEST_CASE("random_plan: Undefined and unknown types are refused") {
  RandomPlan plan;
  const auto unknown = static_cast<ScalarType>(99);
  CHECK_RETURNS(Error::InvalidType, "the type is Undefined",
                plan_uniform(plan, ScalarType::Undefined, 0, 1));
  CHECK_RETURNS(Error::InvalidType, "(99)", plan_uniform(plan, unknown, 0, 1));
  CHECK_RETURNS(Error::InvalidType, "the type is Undefined",
                plan_normal(plan, ScalarType::Undefined, 0, 1));
  CHECK_RETURNS(Error::InvalidType, "the type is Undefined",
                plan_integers_below(plan, ScalarType::Undefined, 0, 1));
  CHECK_RETURNS(Error::InvalidType, "the type is Undefined",
                plan_all_integers(plan, ScalarType::Undefined));
}
