// SPDX-License-Identifier: MIT
// Plans of random elements: a distribution's parameters, checked for a type.
#pragma once

#include <cstdint>
#include <limits>

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/random_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Sets the fields that depend only on the distribution and the type.
/// Errors: InvalidType.
TENON_TEMPLATE_INLINE Error start_plan(RandomPlan& plan, Distribution distribution,
                                       ScalarType type) noexcept {
  if (!isValidType(type)) {
    return fail(Error::InvalidType, "the type is ", type);
  }
  plan.distribution = distribution;
  plan.type = type;
  plan.part_type = part_type_of(type);
  plan.format = number_format(plan.part_type);
  plan.computed = plan.format.digits > 24 ? ScalarType::Double : ScalarType::Float;
  return Error::Ok;
}

/// Sets the fields that depend on plan.computed.
TENON_TEMPLATE_INLINE void choose_functions(RandomPlan& plan, RandomFill fill,
                                            RandomStore store) noexcept {
  const bool takes_one_word = elementSize(plan.computed) == 4 && plan.type == plan.part_type;
  plan.fill = fill;
  plan.store = plan.computed == plan.part_type ? nullptr : store;
  plan.chunk = takes_one_word ? kRandomChunk : kShortChunk;
}

/// The largest value of a floating format that is at most `value`, which must be in its range.
inline double round_down(const NumberFormat& format, double value) noexcept {
  if (format.digits >= 53) return value;
  const int given = static_cast<int>(double_bits(value) >> 52 & 0x7ff) - 1023;
  const int exponent = given < format.min_exponent ? format.min_exponent - 1 : given;
  const double unit =  // the distance between the format's values there
      double_from_bits(static_cast<uint64_t>(exponent - format.digits + 1024) << 52);
  auto units = static_cast<int64_t>(value / unit);
  if (static_cast<double>(units) * unit > value) --units;
  return static_cast<double>(units) * unit;
}
/// The smallest value of the format that is at least `value`.
inline double round_up(const NumberFormat& format, double value) noexcept {
  return 0 - round_down(format, -value);  // 0, not -0
}

/// The next smaller double.
inline double next_below(double value) noexcept {
  if (value == 0) return -std::numeric_limits<double>::denorm_min();
  const uint64_t bits = double_bits(value);
  return double_from_bits(value > 0 ? bits - 1 : bits + 1);
}

/// Plans uniform floats in [0, 1).
TENON_TEMPLATE_INLINE void plan_unit_floats(RandomPlan& plan) noexcept {
  plan.fill = &fill_reals<UniformKernel<float>>;
  plan.chunk = kRandomChunk;
  plan.type = plan.part_type = plan.computed = ScalarType::Float;
  plan.arguments[1] = 1;
  plan.limit = 1 - 1 / 16777216.0;
}

TENON_TEMPLATE_INLINE TENON_COLD Error fail_bounds(const char* start, double low, double high,
                                                   const char* why, const char* what) noexcept {
  return fail(Error::InvalidArgument, start, low, ", ", high, why, what);
}

/// Plans uniform numbers in [low, high), truncated to integers if the type is integral.
TENON_TEMPLATE_INLINE Error plan_uniform(RandomPlan& plan, ScalarType type, double low,
                                         double high) noexcept {
  TENON_TRY(start_plan(plan, Distribution::Uniform, type));
  plan.arguments[0] = low;
  plan.arguments[1] = high;
  // Checks the bits first: -ffast-math drops comparisons with NaN, which also set FE_INVALID.
  if (!is_finite(low) || !is_finite(high) || low >= high) {
    return fail_bounds("[", low, high, ") holds no ", "numbers");
  }
  const NumberFormat& format = plan.format;
  const bool is_integral = isIntegralType(type, true);
  // Since values are truncated, they may lie up to 1 beyond the type's range; Bool accepts any
  // number.
  const bool fits = is_integral ? type == ScalarType::Bool ||
                                      ((low > format.lowest - 1 || low >= format.lowest) &&
                                       high <= format.largest + 1)
                                : low >= format.lowest && high <= format.largest;
  if (!fits) {
    return fail_bounds("[", low, high, ") is beyond the range of ", toString(type));
  }
  NumberFormat held = number_format(plan.computed);
  const double width = high - low;
  if (low < held.lowest || high > held.largest || !is_finite(width) || width > held.largest) {
    return fail_bounds("the width of [", low, high, ") is beyond the range of ",
                       toString(plan.computed));
  }
  // If width / 2^24 underflows float, compute in double, with ends that the type represents, so
  // that rounding stays between them.
  constexpr double kSmall = 1.9721522630525295e-31;  // 2^-102
  if (plan.computed == ScalarType::Float && width < kSmall) {
    plan.computed = ScalarType::Double;
    if (!is_integral) held = format;
  }
  const bool is_double = plan.computed == ScalarType::Double;
  plan.offset = round_up(held, low);
  plan.scale = is_double ? width : static_cast<double>(static_cast<float>(width));
  plan.limit = round_down(held, next_below(high));
  plan.smallest = is_integral ? plan.offset : round_up(format, low);
  choose_functions(
      plan, is_double ? &fill_reals<UniformKernel<double>> : &fill_reals<UniformKernel<float>>,
      is_double || is_integral ? &store_rounded<> : &store_rounded_down<>);
  if (plan.offset > plan.limit || plan.smallest >= high) {
    return fail_bounds("[", low, high, ") holds no ", toString(plan.part_type));
  }
  return Error::Ok;
}

/// Plans normal numbers. Both parts of complex elements have this mean and half the variance.
TENON_TEMPLATE_INLINE Error plan_normal(RandomPlan& plan, ScalarType type, double mean,
                                        double stddev) noexcept {
  TENON_TRY(start_plan(plan, Distribution::Normal, type));
  plan.arguments[0] = mean;
  plan.arguments[1] = stddev;
  const double largest = number_format(plan.computed).largest;
  if (!is_finite(mean) || mean < -largest || mean > largest) {
    return fail(Error::InvalidArgument, "the mean ", mean, " is not a finite ",
                toString(plan.computed));
  }
  if (!is_finite(stddev) || stddev < 0 || stddev > largest) {
    return fail(Error::InvalidArgument, "the standard deviation ", stddev, " is not a finite ",
                toString(plan.computed), " of at least 0");
  }
  plan.offset = mean;
  plan.scale = isComplexType(type) ? stddev * 0.70710678118654752 : stddev;
  choose_functions(plan,
                   plan.computed == ScalarType::Double ? &fill_reals<NormalKernel<double>>
                                                       : &fill_reals<NormalKernel<float>>,
                   &store_rounded<>);
  return Error::Ok;
}

/// Rounds an integer to its leading `digits` bits: down, or with `up` upwards.
inline int64_t round_integer(int64_t value, int digits, bool up) noexcept {
  const auto bits = static_cast<uint64_t>(value);
  const uint64_t magnitude = value < 0 ? uint64_t{0} - bits : bits;
  uint64_t dropped = 0;
  while (magnitude >> digits > dropped) dropped = 2 * dropped + 1;
  const auto mask = static_cast<int64_t>(dropped);
  if (up && value > INT64_MAX - mask) return INT64_MAX;
  return (up ? value + mask : value) & ~mask;
}

/// Plans integers of [low, last] with equal probability; the range has fewer than 2^64 integers.
/// The plan must be started.
TENON_TEMPLATE_INLINE Error finish_integers(RandomPlan& plan, int64_t low, int64_t last) noexcept {
  const NumberFormat& format = plan.format;
  const int digits = format.digits;
  plan.low = low;
  plan.range = static_cast<uint64_t>(last) - static_cast<uint64_t>(low) + 1;
  plan.first = low;
  plan.last = last;
  const bool is_integral = isIntegralType(plan.type, true);
  bool fits;
  if (is_integral) {
    fits = (low >= 0 || (format.lowest < 0 && low >> digits >= -1)) &&
           (digits >= 63 || last < int64_t{1} << digits);
  } else {
    plan.first = round_integer(low, digits, true);
    plan.last = round_integer(last, digits, false);
    fits = static_cast<double>(low) >= format.lowest &&
           static_cast<double>(last) <= format.largest && plan.first <= plan.last;
  }
  if (!fits) {
    return fail(Error::InvalidArgument, "integers from ", low, " to ", last, " do not fit ",
                plan.part_type);
  }
  const bool is_word = is_integral && elementSize(plan.type) == 4 && plan.range <= kOneWordRange;
  plan.computed = is_word ? plan.type : ScalarType::Long;
  choose_functions(plan, is_word ? &fill_small_integers<> : &fill_integers<>, &store_rounded<>);
  if (!is_word) plan.store = &store_rounded<>;  // stores Long too: elements may be misaligned
  return Error::Ok;
}
/// Plans integers of [low, high).
TENON_TEMPLATE_INLINE Error plan_integers_below(RandomPlan& plan, ScalarType type, int64_t low,
                                                int64_t high) noexcept {
  if (low >= high) {
    return fail(Error::InvalidArgument, "[", low, ", ", high, ") holds no integers");
  }
  TENON_TRY(start_plan(plan, Distribution::Integers, type));
  return finish_integers(plan, low, high - 1);
}

/// Plans integers from 0 to the largest that the type and int64_t hold; for floating types up to
/// 2^digits, the largest integer below which all are representable.
TENON_TEMPLATE_INLINE Error plan_all_integers(RandomPlan& plan, ScalarType type) noexcept {
  TENON_TRY(start_plan(plan, Distribution::Integers, type));
  const int digits = plan.format.digits;
  int64_t last = INT64_MAX;
  if (digits < 63) last = (int64_t{1} << digits) - (isIntegralType(type, true) ? 1 : 0);
  return finish_integers(plan, 0, last);
}

}  // namespace detail
TENON_END_NAMESPACE
