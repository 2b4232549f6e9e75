// SPDX-License-Identifier: MIT
// The conversions of single elements that convert.h runs in loops: without branches, so that the
// compiler vectorises the loops, and without comparing NaN, so that it stays one with -ffast-math.
#pragma once

#include <cfloat>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/bfloat16.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/half.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/small_float.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What the loops for all four Float8 formats are told about one.
struct Float8Limits {
  uint32_t shift;        ///< from a float's mantissa to its own
  uint32_t rebias;       ///< between the exponents
  uint32_t unit;         ///< the smallest subnormal's exponent
  uint32_t infinity;     ///< its code, or above all codes
  uint32_t overflow;     ///< the code after the largest number
  uint32_t nan;          ///< the code of NaN, the first one where there are several
  uint32_t code;         ///< of a code: what tells whether it is that
  uint32_t payload;      ///< of a float's NaN: what stays
  uint32_t signed_zero;  ///< 1, or 0
};

TENON_LAZY Float8Limits float8_limits(ScalarType type) noexcept {
  Float8Limits limits{};
  visit(
      type,
      [&](auto tag) {
        if constexpr (IsSmallFloat<typename decltype(tag)::type>::value) {
          using Format = typename decltype(tag)::type::format;
          constexpr bool kHasInfinity = Format::has_infinity;
          constexpr bool kHasSignedZero = Format::specials != Specials::UnsignedZero;
          limits.shift = static_cast<uint32_t>(23 - Format::mantissa_bits);
          limits.rebias = static_cast<uint32_t>(127 - Format::bias) << 23;
          limits.unit = static_cast<uint32_t>(128 - Format::bias - Format::mantissa_bits) << 23;
          limits.infinity = kHasInfinity ? Format::top_exponent : 0x100;
          limits.overflow = Format::overflow;
          limits.nan = Format::nan;
          limits.code = kHasSignedZero ? 0x7f : 0xff;
          limits.payload = kHasInfinity ? 0x7fffff : 0;
          limits.signed_zero = kHasSignedZero ? 1 : 0;
        }
      },
      [] {});
  return limits;
}

/// What the steps of a cast are told about its types.
struct CastLimits {
  int64_t lowest;    ///< of a target that is an integer type
  uint64_t highest;  ///< the same
  double lowest_number;
  double highest_number;
  double largest;    ///< that a floating target is to have
  uint64_t nonzero;  ///< the bits of a source's element of which one is set unless it is 0
  bool rounding;     ///< of floating values to integers; else they are cut off
  Float8Limits in;
  Float8Limits out;
};

/// a > b ? yes : no, for values below 2^31: without a branch, which would keep the loop from being
/// vectorised, and signed, since x86 compares vectors of signed integers only.
TENON_ALWAYS_INLINE uint32_t if_greater(uint32_t a, uint32_t b, uint32_t yes,
                                        uint32_t no) noexcept {
  const auto mask =
      uint32_t{0} - static_cast<uint32_t>(static_cast<int32_t>(a) > static_cast<int32_t>(b));
  return (yes & mask) | (no & ~mask);
}

/// a > b ? yes : no, for values below 2^63: by the sign of a difference, which SSE2 has for 64 bits
/// too.
TENON_ALWAYS_INLINE uint64_t if_greater(uint64_t a, uint64_t b, uint64_t yes,
                                        uint64_t no) noexcept {
  const uint64_t mask = uint64_t{0} - ((b - a) >> 63);
  return (yes & mask) | (no & ~mask);
}

/// To the nearest integer, of two to the even one; for magnitudes up to 2^51.
TENON_ALWAYS_INLINE int64_t round_to_even(double value) noexcept {
  if constexpr (FLT_EVAL_METHOD == 2) {  // the x87 rounds sums twice
    const auto whole = static_cast<int64_t>(value);
    const double rest = value - static_cast<double>(whole);
    const bool is_odd = whole % 2 != 0;
    if (rest > 0.5 || (rest == 0.5 && is_odd)) return whole + 1;
    return rest < -0.5 || (rest == -0.5 && is_odd) ? whole - 1 : whole;
  }
  // The sum's last bit is worth 1: the addition rounds.
  constexpr double kUnit = 6755399441055744.0;  // 3 * 2^51
  return static_cast<int64_t>(double_bits(value + kUnit) - double_bits(kUnit));
}

// Steps: structs with the types To and From and a convert().

/// As in C++: between integers, from them to floating types, between float and double.
template <class T, class F>
struct Plain {
  using To = T;
  using From = F;
  static TENON_ALWAYS_INLINE T convert(F value, const CastLimits&) noexcept {
    return static_cast<T>(value);
  }
};

struct HalfToFloat {
  using To = float;
  using From = Half;
  static TENON_ALWAYS_INLINE float convert(Half value, const CastLimits&) noexcept {
    const uint32_t magnitude = value.x & 0x7fffu;
    // A subnormal is an integer times 2^-24, exactly.
    const float subnormal =
        static_cast<float>(static_cast<int32_t>(magnitude)) * 5.9604644775390625e-8f;
    uint32_t bits = (magnitude << 13) + 0x38000000u;
    bits += if_greater(magnitude, 0x7bffu, 0x38000000u, 0);
    bits |= if_greater(magnitude, 0x7c00u, 0x400000u, 0);
    bits = if_greater(0x400u, magnitude, float_bits(subnormal), bits);
    return float_from_bits(bits | (value.x & 0x8000u) << 16);
  }
};

struct FloatToHalf {
  using To = Half;
  using From = float;
  static TENON_ALWAYS_INLINE Half convert(float value, const CastLimits&) noexcept {
    const uint32_t bits = float_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Adding 0.5, whose last bit is worth the smallest subnormal, rounds to one.
    const uint32_t subnormal = float_bits(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t code = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    code = if_greater(0x38800000u, magnitude, subnormal, code);
    code = if_greater(magnitude, 0x477fefffu, 0x7c00u, code);  // from 65520 on: infinity
    code = if_greater(magnitude, 0x7f800000u, ((magnitude >> 13) & 0x3ffu) | 0x7e00u, code);
    return Half(static_cast<uint16_t>(code | (bits >> 16 & 0x8000u)), Half::from_bits());
  }
};

struct BFloat16ToFloat {
  using To = float;
  using From = BFloat16;
  static TENON_ALWAYS_INLINE float convert(BFloat16 value, const CastLimits&) noexcept {
    const uint32_t bits = static_cast<uint32_t>(value.x) << 16;
    return float_from_bits(bits | if_greater(bits & 0x7fffffffu, 0x7f800000u, 0x400000u, 0));
  }
};

struct FloatToBFloat16 {
  using To = BFloat16;
  using From = float;
  static TENON_ALWAYS_INLINE BFloat16 convert(float value, const CastLimits&) noexcept {
    uint32_t bits = float_bits(value);
    // A NaN becomes quiet and loses what rounding could carry over.
    bits = if_greater(bits & 0x7fffffffu, 0x7f800000u, (bits | 0x400000u) & 0xffff0000u, bits);
    const uint32_t code = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return BFloat16(static_cast<uint16_t>(code), BFloat16::from_bits());
  }
};

/// SmallFloatFormat::decode() and encode() of the Float8 formats, in 32-bit lanes.
struct Float8ToFloat {
  using To = float;
  using From = uint32_t;
  static TENON_ALWAYS_INLINE float convert(uint32_t code, const CastLimits& limits) noexcept {
    const Float8Limits& l = limits.in;
    const uint32_t magnitude = code & 0x7fu;
    const float subnormal =
        static_cast<float>(static_cast<int32_t>(magnitude)) * float_from_bits(l.unit);
    uint32_t bits = (magnitude << l.shift) + l.rebias;
    bits = if_greater(0x800000u >> l.shift, magnitude, float_bits(subnormal), bits);
    bits += if_greater(magnitude + 1, l.infinity, l.rebias, 0);
    bits |= if_greater(magnitude, l.infinity, 0x400000u, 0);
    const uint32_t is_nan = uint32_t{0} - static_cast<uint32_t>((code & l.code) == l.nan);
    bits = (bits & ~is_nan) | (0x7fc00000u & is_nan);
    return float_from_bits(bits | (code & 0x80u) << 24);
  }
};
struct FloatToFloat8 {
  using To = uint32_t;
  using From = float;
  static TENON_ALWAYS_INLINE uint32_t convert(float value, const CastLimits& limits) noexcept {
    const Float8Limits& l = limits.out;
    const uint32_t bits = float_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Adding 2^23 times the smallest subnormal rounds to one.
    const uint32_t unit = l.unit + (23u << 23);
    const uint32_t subnormal =
        float_bits(float_from_bits(magnitude) + float_from_bits(unit)) - unit;
    const uint32_t half = (0x400000u >> (23 - l.shift)) - 1;
    uint32_t code = (magnitude + half + ((magnitude >> l.shift) & 1u) - l.rebias) >> l.shift;
    code = if_greater(l.rebias + 0x800000u, magnitude, subnormal, code);
    code = if_greater(code, l.overflow, l.overflow, code);
    code = if_greater(magnitude, 0x7f800000u, l.nan | (magnitude & l.payload) >> l.shift, code);
    return code | if_greater(code + l.signed_zero, 0, bits >> 24 & 0x80u, 0);
  }
};

/// Float to integers of up to 16 bits, truncated or rounded, clamped.
template <bool kRound>
struct FloatToInt {
  using To = int32_t;
  using From = float;
  static TENON_ALWAYS_INLINE int32_t convert(float value, const CastLimits& limits) noexcept {
    const auto lowest = static_cast<float>(limits.lowest);
    const auto highest = static_cast<float>(limits.highest);
    uint32_t bits = float_bits(value);
    bits = if_greater(bits & 0x7fffffffu, 0x7f800000u, 0, bits);
    // Masks again, and not ?: on floats, which GCC leaves a branch.
    const auto low = uint32_t{0} - static_cast<uint32_t>(float_from_bits(bits) < lowest);
    bits = (bits & ~low) | (float_bits(lowest) & low);
    const auto high = uint32_t{0} - static_cast<uint32_t>(float_from_bits(bits) > highest);
    bits = (bits & ~high) | (float_bits(highest) & high);
    value = float_from_bits(bits);
    if (!kRound) return static_cast<int32_t>(value);
    // The sum's last bit is worth 1: the addition rounds, to nearest even.
    constexpr float kUnit = 12582912.0f;
    return static_cast<int32_t>(float_bits(value + kUnit) - 0x4b400000u);
  }
};

/// Double to integers that int32_t holds.
template <bool kRound>
struct DoubleToInt {
  using To = int32_t;
  using From = double;
  static TENON_ALWAYS_INLINE int32_t convert(double value, const CastLimits& limits) noexcept {
    uint64_t bits = double_bits(value);
    bits = if_greater(bits & INT64_MAX, kDoubleInfinity, 0, bits);
    const uint64_t low =
        uint64_t{0} - static_cast<uint64_t>(double_from_bits(bits) < limits.lowest_number);
    bits = (bits & ~low) | (double_bits(limits.lowest_number) & low);
    const uint64_t high =
        uint64_t{0} - static_cast<uint64_t>(double_from_bits(bits) > limits.highest_number);
    bits = (bits & ~high) | (double_bits(limits.highest_number) & high);
    value = double_from_bits(bits);
    return kRound ? static_cast<int32_t>(round_to_even(value)) : static_cast<int32_t>(value);
  }
};

/// Double to integers of up to 64 bits, in two's complement.
struct DoubleToLong {
  using To = uint64_t;
  using From = double;
  static TENON_ALWAYS_INLINE uint64_t convert(double value, const CastLimits& limits) noexcept {
    constexpr uint64_t kLarge = 0x4320000000000000u;  // 2^51
    if (TENON_UNLIKELY((double_bits(value) & INT64_MAX) >= kLarge)) {
      return convert_large(value, limits);
    }
    int64_t whole = limits.rounding ? round_to_even(value) : static_cast<int64_t>(value);
    whole = whole < limits.lowest ? limits.lowest : whole;
    const auto highest = static_cast<int64_t>(limits.highest & INT64_MAX);
    return static_cast<uint64_t>(whole > highest ? highest : whole);
  }
  static uint64_t convert_large(double value, const CastLimits& limits) noexcept {
    const uint64_t magnitude = double_bits(value) & INT64_MAX;
    if (magnitude > kDoubleInfinity) return 0;  // NaN
    if (value <= limits.lowest_number) return static_cast<uint64_t>(limits.lowest);
    if (value >= limits.highest_number) return limits.highest;
    if (value >= 9223372036854775808.0) return static_cast<uint64_t>(value);
    const auto whole = static_cast<int64_t>(value);
    // The fraction is one half, if any: to even.
    const bool up = limits.rounding && whole % 2 != 0 && static_cast<double>(whole) != value;
    return static_cast<uint64_t>(up ? (value < 0 ? whole - 1 : whole + 1) : whole);
  }
};

/// Double to a float that small formats round like the double itself: of what is cut off one bit
/// stays, the last one, which is set if any was.
struct DoubleToOddFloat {
  using To = float;
  using From = double;
  static TENON_ALWAYS_INLINE float convert(double value, const CastLimits&) noexcept {
    const uint64_t bits = double_bits(value);
    // Float has 29 bits less. Below 2^-126 it has less still, and BFloat16 at most 8: then 44.
    const uint64_t cut =
        if_greater(0x3810000000000000u, bits & INT64_MAX, 0xfffffffffffu, uint64_t{0x1fffffff});
    const uint64_t rest = bits & cut;
    return static_cast<float>(double_from_bits((bits - rest) | ((rest + cut) & (cut + 1))));
  }
};
template <class T>
struct LongToOddLong {
  using To = T;
  using From = T;
  static TENON_ALWAYS_INLINE T convert(T value, const CastLimits&) noexcept {
    return round_long_to_odd(value);
  }
};

/// Integers to those within the limits.
template <class T>
struct ClampLong {
  using To = T;
  using From = T;
  static TENON_ALWAYS_INLINE T convert(T value, const CastLimits& limits) noexcept {
    constexpr T kMost = std::numeric_limits<T>::max();
    const T highest = limits.highest > uint64_t{kMost} ? kMost : static_cast<T>(limits.highest);
    if (std::is_signed_v<T> && value < static_cast<T>(limits.lowest)) {
      return static_cast<T>(limits.lowest);
    }
    return value > highest ? highest : value;
  }
};

/// Whatever is beyond the largest value gives that; NaN becomes quiet.
struct ClampFloat {
  using To = float;
  using From = float;
  static TENON_ALWAYS_INLINE float convert(float value, const CastLimits& limits) noexcept {
    const uint32_t largest = float_bits(static_cast<float>(limits.largest));
    const uint32_t bits = float_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t clamped = if_greater(magnitude, largest, largest | (bits & 0x80000000u), bits);
    return float_from_bits(if_greater(magnitude, 0x7f800000u, bits | 0x400000u, clamped));
  }
};
struct ClampDouble {
  using To = double;
  using From = double;
  static TENON_ALWAYS_INLINE double convert(double value, const CastLimits& limits) noexcept {
    const uint64_t largest = double_bits(limits.largest);
    const uint64_t bits = double_bits(value);
    const uint64_t magnitude = bits & INT64_MAX;
    const uint64_t clamped = if_greater(magnitude, largest, largest | (bits - magnitude), bits);
    return double_from_bits(if_greater(magnitude, kDoubleInfinity, bits, clamped));
  }
};

/// Any element to Bool, by its bits.
template <class U>
struct IsNonzero {
  using To = bool;
  using From = U;
  static TENON_ALWAYS_INLINE bool convert(U bits, const CastLimits& limits) noexcept {
    return (bits & static_cast<U>(limits.nonzero)) != 0;
  }
};

/// The bits of a complex number of doubles.
struct DoubleParts {
  uint64_t real;
  uint64_t imaginary;
};
/// Where in an integer of twice the size the real part's bits are: it comes first in memory.
template <class U>
inline constexpr int kRealShift = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                                      ? 0
                                      : 8 * static_cast<int>(sizeof(U));
/// U: the bits of a part; Both: of the number.
template <class U, class Both>
struct TakeReal {
  using To = U;
  using From = Both;
  static TENON_ALWAYS_INLINE U convert(Both value, const CastLimits&) noexcept {
    if constexpr (std::is_same_v<Both, DoubleParts>) {
      return value.real;
    } else {
      return static_cast<U>(value >> kRealShift<U>);
    }
  }
};
template <class U, class Both>
struct AddImaginary {
  using To = Both;
  using From = U;
  static TENON_ALWAYS_INLINE Both convert(U real, const CastLimits&) noexcept {
    if constexpr (std::is_same_v<Both, DoubleParts>) {
      return {real, 0};
    } else {
      return static_cast<Both>(static_cast<Both>(real) << kRealShift<U>);
    }
  }
};
struct IsPairNonzero {
  using To = bool;
  using From = DoubleParts;
  static TENON_ALWAYS_INLINE bool convert(From value, const CastLimits& limits) noexcept {
    return ((value.real | value.imaginary) & limits.nonzero) != 0;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
