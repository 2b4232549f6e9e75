// SPDX-License-Identifier: MIT
// RandomPlan: a distribution over the elements of a type, checked and reduced to constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/convert.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class Distribution : uint8_t { Uniform, Normal, Integers };

/// What of a float a shorter floating type keeps.
struct Rounding {
  uint32_t dropped = 0;  // the bits of the mantissa that it lacks; none: all is kept
  float normal = 0;      // below this magnitude only multiples of `step` are kept
  float step = 0;
};

struct RandomPlan {
  Distribution distribution = Distribution::Uniform;
  ScalarType type = ScalarType::Undefined;
  /// Of a part of a complex element, else the element's.
  ScalarType part_type = ScalarType::Undefined;
  /// Whether values are computed in double, else in float: where float holds all of the type.
  bool is_double = false;
  /// What was asked for: the bounds, or the mean and the standard deviation.
  double arguments[2] = {};
  /// Uniform: offset + u * scale, at most `limit`; for types shorter than float then at least
  /// `smallest` and rounded down.
  /// Normal: the mean and the standard deviation.
  double offset = 0;
  double scale = 1;
  double limit = 0;
  double smallest = 0;
  Rounding rounding;
  /// Integers: `range` of them (0: 2^64) from `low` on; those that a floating type does not hold are
  /// first limited to the ends that it does, and then rounded.
  int64_t low = 0;
  uint64_t range = 0;
  int64_t first = 0;
  int64_t last = 0;
};

/// The value next to a finite one, below it.
inline double next_below(double value) noexcept {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value == 0) return -std::numeric_limits<double>::denorm_min();
  bits += value > 0 ? -1 : 1;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline float next_below(float value) noexcept {
  if (value == 0) return -std::numeric_limits<float>::denorm_min();
  const uint32_t bits = float_bits(value);
  return float_from_bits(value > 0 ? bits - 1 : bits + 1);
}
template <class Format>
SmallFloat<Format> next_below(SmallFloat<Format> value) noexcept {
  const auto number = static_cast<float>(value);
  if (number == 0) return -std::numeric_limits<SmallFloat<Format>>::denorm_min();
  return SmallFloat<Format>(
      static_cast<typename Format::Bits>(number > 0 ? value.x - 1 : value.x + 1),
      SmallFloat<Format>::from_bits());
}

/// The largest value of a floating type that is at most `value`, which is within its range.
template <class T, class Real>
T round_down(Real value) noexcept {
  const auto nearest = static_cast<T>(value);
  return static_cast<Real>(nearest) > value ? next_below(nearest) : nearest;
}
TENON_LAZY double round_down(ScalarType type, double value) noexcept {
  double result = value;
  visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_floating_point_v<T> || IsSmallFloat<T>::value) {
          result = static_cast<double>(round_down<T>(value));
        }
      },
      [] {});
  return result;
}
/// The smallest value of it that is at least `value`.
TENON_LAZY double round_up(ScalarType type, double value) noexcept {
  return 0 - round_down(type, -value);  // 0, not -0
}

TENON_LAZY Rounding rounding_of(ScalarType type) noexcept {
  Rounding rounding;
  visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (IsSmallFloat<T>::value) {
          using NumericLimits = std::numeric_limits<T>;
          rounding.dropped = (1u << (24 - NumericLimits::digits)) - 1;
          // With float's own exponents its subnormals lose the same bits as all others.
          if (NumericLimits::min_exponent > std::numeric_limits<float>::min_exponent) {
            rounding.normal = NumericLimits::min();
            rounding.step = NumericLimits::denorm_min();
          }
        }
      },
      [] {});
  return rounding;
}

/// The least and the largest finite value of a real type; of Bool, of its numbers.
struct Limits {
  double lowest;
  double largest;
};
TENON_LAZY Limits limits_of(ScalarType type) noexcept {
  Limits limits{0, 0};
  visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!IsComplexLike<T>::value) {
          limits = {static_cast<double>(std::numeric_limits<T>::lowest()),
                    static_cast<double>(std::numeric_limits<T>::max())};
        }
      },
      [] {});
  return limits;
}

TENON_LAZY Error start_plan(RandomPlan& plan, Distribution distribution, ScalarType type) noexcept {
  if (TENON_UNLIKELY(!isValidType(type))) {
    return fail(Error::InvalidType, {"the type is ", type});
  }
  plan.distribution = distribution;
  plan.type = type;
  plan.part_type = part_type_of(type);
  plan.is_double = !is_exact_in_float(plan.part_type);
  return Error::Ok;
}

/// Uniform in [low, high); truncated to integers, where the type is integral.
TENON_LAZY Error plan_uniform(RandomPlan& plan, ScalarType type, double low, double high) noexcept {
  TENON_TRY(start_plan(plan, Distribution::Uniform, type));
  plan.arguments[0] = low;
  plan.arguments[1] = high;
  if (TENON_UNLIKELY(!(low < high) || low - low != 0 || high - high != 0)) {
    return fail(Error::InvalidArgument, {"[", low, ", ", high, ") holds no numbers"});
  }
  const Limits limits = limits_of(plan.part_type);
  const bool is_integral = isIntegralType(type, true);
  // What is truncated may come up to one beyond the ends; a Bool is any number's.
  const bool fits = is_integral ? type == ScalarType::Bool ||
                                      ((low > limits.lowest - 1 || low >= limits.lowest) &&
                                       high <= limits.largest + 1)
                                : low >= limits.lowest && high <= limits.largest;
  if (TENON_UNLIKELY(!fits)) {
    return fail(Error::InvalidArgument, {"[", low, ", ", high, ") is beyond the range of ", type});
  }
  const ScalarType computed = plan.is_double ? ScalarType::Double : ScalarType::Float;
  const double width = high - low;
  const Limits computable = limits_of(computed);
  if (TENON_UNLIKELY(low < computable.lowest || high > computable.largest ||
                     !(width <= computable.largest))) {
    return fail(Error::InvalidArgument,
                {"the width of [", low, ", ", high, ") is beyond the range of ", computed});
  }
  // Float does not hold the 2^24-th part of a very small width. Then double, from values of the
  // type to values of the type, between which rounding stays.
  constexpr double kSmall = 1.9721522630525295e-31;  // 2^-102
  const bool is_small = !plan.is_double && width < kSmall;
  const ScalarType held = is_small && !is_integral ? plan.part_type : computed;
  plan.is_double = plan.is_double || is_small;
  plan.offset = round_up(held, low);
  plan.scale = plan.is_double ? width : static_cast<double>(static_cast<float>(width));
  plan.limit = round_down(held, next_below(high));
  if (!plan.is_double) plan.rounding = rounding_of(plan.part_type);
  plan.smallest = is_integral ? plan.offset : round_up(plan.part_type, low);
  if (TENON_UNLIKELY(plan.offset > plan.limit || !(plan.smallest < high))) {
    return fail(Error::InvalidArgument, {"[", low, ", ", high, ") holds no ", plan.part_type});
  }
  return Error::Ok;
}

/// Normal; both parts of a complex element have that mean and half the variance.
TENON_LAZY Error plan_normal(RandomPlan& plan, ScalarType type, double mean,
                             double stddev) noexcept {
  TENON_TRY(start_plan(plan, Distribution::Normal, type));
  plan.arguments[0] = mean;
  plan.arguments[1] = stddev;
  const ScalarType computed = plan.is_double ? ScalarType::Double : ScalarType::Float;
  const double largest = limits_of(computed).largest;
  if (TENON_UNLIKELY(!(mean >= -largest && mean <= largest))) {
    return fail(Error::InvalidArgument, {"the mean ", mean, " is no finite ", computed});
  }
  if (TENON_UNLIKELY(!(stddev >= 0 && stddev <= largest))) {
    return fail(Error::InvalidArgument,
                {"the standard deviation ", stddev, " is no finite ", computed, " of at least 0"});
  }
  plan.offset = mean;
  plan.scale = isComplexType(type) ? stddev * 0.70710678118654752 : stddev;
  return Error::Ok;
}

/// The integer nearest to `value` towards zero, or (`away`) away from it, whose leading `digits` bits
/// are all that is not zero.
inline int64_t round_integer(int64_t value, int digits, bool away) noexcept {
  uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int dropped = 0;
  while (dropped < 64 - digits && (magnitude >> digits >> dropped) != 0) ++dropped;
  const uint64_t unit = uint64_t{1} << dropped;
  if (away && magnitude % unit != 0) magnitude += unit;
  magnitude -= magnitude % unit;
  if (value >= 0 && magnitude > static_cast<uint64_t>(INT64_MAX)) return INT64_MAX;
  return static_cast<int64_t>(value < 0 ? uint64_t{0} - magnitude : magnitude);
}

/// Each integer of [low, last] with the same probability; not all 2^64.
TENON_LAZY Error plan_integers(RandomPlan& plan, ScalarType type, int64_t low,
                               int64_t last) noexcept {
  TENON_TRY(start_plan(plan, Distribution::Integers, type));
  plan.low = low;
  plan.range = static_cast<uint64_t>(last) - static_cast<uint64_t>(low) + 1;
  plan.first = low;
  plan.last = last;
  bool fits = false;
  visit(
      plan.part_type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
          fits = Scalar(low).template fits<T>() && Scalar(last).template fits<T>();
        } else if constexpr (!IsComplexLike<T>::value) {
          constexpr int kDigits = std::numeric_limits<T>::digits;
          const Limits limits = limits_of(plan.part_type);
          plan.first = round_integer(low, kDigits, low > 0);
          plan.last = round_integer(last, kDigits, last < 0);
          fits = static_cast<double>(low) >= limits.lowest &&
                 static_cast<double>(last) <= limits.largest && plan.first <= plan.last;
        }
      },
      [] {});
  if (TENON_UNLIKELY(!fits)) {
    return fail(Error::InvalidArgument,
                {low, " to ", last, " are not integers of ", plan.part_type});
  }
  return Error::Ok;
}
TENON_LAZY Error plan_integers_below(RandomPlan& plan, ScalarType type, int64_t low,
                                     int64_t high) noexcept {
  if (TENON_UNLIKELY(low >= high)) {
    return fail(Error::InvalidArgument, {"[", low, ", ", high, ") holds no integers"});
  }
  return plan_integers(plan, type, low, high - 1);
}

/// Each integer from 0 to the largest that the type and int64_t hold; for floating types, to the
/// first beyond which some are not theirs.
TENON_LAZY Error plan_all_integers(RandomPlan& plan, ScalarType type) noexcept {
  int64_t last = 0;
  visit(
      part_type_of(type),
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
          constexpr auto largest = static_cast<uint64_t>(std::numeric_limits<T>::max());
          last = largest < uint64_t{INT64_MAX} ? static_cast<int64_t>(largest) : INT64_MAX;
        } else if constexpr (!IsComplexLike<T>::value) {
          last = int64_t{1} << std::numeric_limits<T>::digits;
        }
      },
      [] {});
  return plan_integers(plan, type, 0, last);
}

}  // namespace detail
TENON_END_NAMESPACE
