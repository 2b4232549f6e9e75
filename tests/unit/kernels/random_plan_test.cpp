// SPDX-License-Identifier: MIT
#include "tenon/kernels/random_plan.h"

#include <cfloat>
#include <cmath>

#include "kernels/random_reference.h"

namespace random_plan_test {

using namespace tenon::detail;
using tenon::BFloat16;
using tenon::Error;
using tenon::Half;
using tests::kAllTypes;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RandomPlan uniform(ScalarType type, double low, double high) {
  return tests::plan_of(tests::uniform_request(low, high), type);
}
RandomPlan integers(ScalarType type, int64_t low, int64_t high) {
  return tests::plan_of(tests::integers_request(low, high), type);
}
double down(ScalarType type, double value) { return round_down(number_format(type), value); }
double up(ScalarType type, double value) { return round_up(number_format(type), value); }

// Each finite value is kept; between two neighbours, the lower one is taken.
template <class T>
int count_wrongly_rounded() {
  const std::vector<float>& all = tests::finite_values<T>();
  int wrong = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto floor = [](float value) {
      return static_cast<float>(round_down(number_format(tenon::CppTypeToScalarType<T>::value),
                                           static_cast<double>(value)));
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
  CHECK(number_format(ScalarType::Half).lowest == -65504);
  CHECK(number_format(ScalarType::Float8_e4m3fn).largest == 448);
  CHECK(number_format(ScalarType::Float8_e4m3fnuz).largest == 240);
  CHECK(number_format(ScalarType::Float8_e5m2).largest == 57344);
  CHECK(number_format(ScalarType::Bool).largest == 1);
  CHECK(number_format(ScalarType::Char).lowest == -128);
  CHECK(number_format(ScalarType::UInt16).largest == 65535);
  CHECK(number_format(ScalarType::Long).lowest == -0x1p63);
  CHECK(number_format(ScalarType::Half).digits == 11);
  CHECK(number_format(ScalarType::Float8_e5m2fnuz).min_exponent == -14);
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
    CHECK((uniform(type, 0, 1).computed == ScalarType::Double) == expected);
  }
}

TEST_CASE("random_plan: a uniform plan's constants") {
  RandomPlan floats;
  plan_unit_floats(floats);
  const RandomPlan unit = uniform(ScalarType::Float, 0, 1);
  for (const RandomPlan* plan : {&unit, static_cast<const RandomPlan*>(&floats)}) {
    CHECK(plan->distribution == Distribution::Uniform);
    CHECK(plan->type == ScalarType::Float);
    CHECK(plan->part_type == ScalarType::Float);
    CHECK(plan->chunk == kRandomChunk);
    CHECK(plan->offset == 0);
    CHECK(plan->scale == 1);
    CHECK(plan->limit == static_cast<double>(0x1.fffffep-1f));
    CHECK(plan->arguments[1] == 1);
  }
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

// tests/unit/tensor/random_errors_test.cpp has the others.
TEST_CASE("random_plan: bounds at the ends of what a type holds, and just beyond") {
  struct Row {
    ScalarType type;
    double low;
    double high;
    const char* words = nullptr;  // of the error
  };
  using T = ScalarType;
  const Row rows[] = {
      {T::Half, 0, 65505, "[0, 65505) is beyond the range of Half"},
      {T::Float8_e4m3fn, 0, 449, "beyond the range of Float8_e4m3fn"},
      {T::Byte, 0, 256.5, "[0, 256.5) is beyond the range of Byte"},
      {T::Long, 0, 0x1.0000000000001p63, "beyond the range of Long"},
      {T::Long, -0x1.0000000000001p63, 0, "beyond the range of Long"},
      {T::Half, -65504, 65504},
      {T::Float8_e4m3fn, -448, 448},
      {T::Byte, -0.99, 256},
      {T::UInt64, -0.5, 0x1p64},
      {T::Bool, -1e30, 1e30},  // any number is a Bool
      // Of which the width is one of what computes.
      {T::BFloat16, -3e38, 3e38, "is beyond the range of Float"},
      {T::Bool, -1e39, 1, "is beyond the range of Float"},
      {T::Float, -1.7e38, 1.7e38},
      {T::Double, 0, DBL_MAX},
      // With a value of the type between them.
      {T::Float8_e4m3fn, 17, 18, "[17, 18) holds no Float8_e4m3fn"},
      {T::Float, 1 + 1e-9, 1 + 2e-9, "holds no Float"},
      {T::Half, -1e-10, -1e-11, "holds no Half"},
      {T::Half, -1e-10, 0, "holds no Half"},
      {T::Half, -1e-10, 1e-10},  // 0
      {T::Float8_e4m3fn, 16, 18},
      {T::Double, 1, 1 + DBL_EPSILON},
  };
  for (const Row& row : rows) {
    CAPTURE(toString(row.type), row.low, row.high);
    RandomPlan plan;
    const Error error = plan_uniform(plan, row.type, row.low, row.high);
    if (row.words == nullptr) {
      CHECK(error == Error::Ok);
    } else {
      RETURNS(InvalidArgument, row.words, error);
    }
  }
  RandomPlan plan;
  RETURNS(InvalidArgument, "17 to 17 are not integers of Float8_e4m3fn",
          plan_integers_below(plan, T::Float8_e4m3fn, 17, 18));
  CHECK(plan_integers_below(plan, T::Float, INT64_MIN, INT64_MAX) == Error::Ok);
}

TEST_CASE("random_plan: a normal plan's constants") {
  const RandomPlan real = tests::plan_of(tests::normal_request(2, 3), ScalarType::Half);
  CHECK(real.distribution == Distribution::Normal);
  CHECK(real.offset == 2);
  CHECK(real.scale == 3);
  const RandomPlan complex = tests::plan_of(tests::normal_request(2, 3), ScalarType::ComplexDouble);
  CHECK(complex.offset == 2);
  CHECK(std::fabs(complex.scale * complex.scale - 4.5) < 1e-14);
}

TEST_CASE("random_plan: round_integer keeps the leading digits") {
  const struct {
    int64_t value;
    int digits;
    int64_t towards_zero;
    int64_t away;
  } rows[] = {{17, 4, 16, 18},
              {-17, 4, -16, -18},
              {16, 4, 16, 16},
              {15, 4, 15, 15},
              {31, 4, 30, 32},
              {0, 11, 0, 0},
              {2049, 11, 2048, 2050},
              {(int64_t{1} << 53) + 1, 53, int64_t{1} << 53, (int64_t{1} << 53) + 2},
              {INT64_MAX, 53, INT64_MAX - 1023, INT64_MAX},  // 2^63 is none
              {INT64_MIN, 3, INT64_MIN, INT64_MIN},
              {INT64_MIN + 1, 3, -(int64_t{7} << 60), INT64_MIN}};
  for (const auto& row : rows) {
    CAPTURE(row.value, row.digits);
    CHECK(round_integer(row.value, row.digits, row.value < 0) == row.towards_zero);
    CHECK(round_integer(row.value, row.digits, row.value >= 0) == row.away);
  }
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

TEST_CASE("random_plan: all integers of a type are those that it and int64_t hold without gaps") {
  const std::pair<ScalarType, int64_t> rows[] = {{ScalarType::Bool, 1},
                                                 {ScalarType::Byte, 255},
                                                 {ScalarType::Char, 127},
                                                 {ScalarType::Short, 32767},
                                                 {ScalarType::Int, INT32_MAX},
                                                 {ScalarType::Long, INT64_MAX},
                                                 {ScalarType::UInt16, 65535},
                                                 {ScalarType::UInt32, UINT32_MAX},
                                                 {ScalarType::UInt64, INT64_MAX},
                                                 {ScalarType::Half, 2048},
                                                 {ScalarType::ComplexHalf, 2048},
                                                 {ScalarType::BFloat16, 256},
                                                 {ScalarType::Float, 1 << 24},
                                                 {ScalarType::ComplexFloat, 1 << 24},
                                                 {ScalarType::Double, int64_t{1} << 53},
                                                 {ScalarType::ComplexDouble, int64_t{1} << 53},
                                                 {ScalarType::Float8_e5m2, 8},
                                                 {ScalarType::Float8_e5m2fnuz, 8},
                                                 {ScalarType::Float8_e4m3fn, 16},
                                                 {ScalarType::Float8_e4m3fnuz, 16}};
  for (const auto& [type, last] : rows) {
    INFO(toString(type));
    RandomPlan plan;
    REQUIRE(plan_all_integers(plan, type) == Error::Ok);
    CHECK(plan.low == 0);
    CHECK(plan.last == last);
    CHECK(plan.range == static_cast<uint64_t>(last) + 1);
  }
}

}  // namespace random_plan_test
