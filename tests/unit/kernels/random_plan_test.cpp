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

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RandomPlan uniform(ScalarType type, double low, double high) {
  return tests::plan_of(tests::uniform_request(low, high), type);
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
  CHECK(up(ScalarType::Half, 1e-30) == 0x1p-24);
  CHECK(up(ScalarType::Float8_e4m3fn, 17.0) == 18.0);
}

TEST_CASE("random_plan: what is rounded up to zero is no negative zero") {
  for (ScalarType type : {ScalarType::Half, ScalarType::Float8_e5m2fnuz, ScalarType::Float}) {
    CHECK_FALSE(std::signbit(up(type, -0.0)));
    CHECK_FALSE(std::signbit(up(type, -1e-60)));
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
  const RandomPlan tenths = uniform(ScalarType::Float, 0.1, 0.2);
  CHECK(tenths.offset == static_cast<double>(0x1.99999ap-4f));  // the next float above 0.1
  CHECK(tenths.scale == static_cast<double>(0x1.99999ap-4f));   // the nearest
  CHECK(tenths.limit == static_cast<double>(0x1.999998p-3f));   // the next below 0.2
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
  RETURNS(InvalidArgument, "integers from 17 to 17 do not fit Float8_e4m3fn",
          plan_integers_below(plan, T::Float8_e4m3fn, 17, 18));
  CHECK(plan_integers_below(plan, T::Float, INT64_MIN, INT64_MAX) == Error::Ok);
}

}  // namespace random_plan_test
