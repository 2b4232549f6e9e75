// SPDX-License-Identifier: MIT
// The arithmetic of the 8- and 16-bit floating formats: one encoder and one decoder for all six.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Where a format has its infinity and NaNs.
enum class Specials {
  Ieee,         ///< the highest exponent holds infinity and NaN
  FiniteOnly,   ///< no infinity; NaN is all ones below the sign ("fn")
  UnsignedZero  ///< no infinity, no negative zero; NaN is the sign bit alone ("fnuz")
};

/// The float nearest to `value` towards zero, its last bit set when the result is inexact. Rounding
/// this once more to a format at least two bits shorter gives what rounding `value` directly gives,
/// so double and 64-bit integers reach the small formats with a single rounding error.
inline float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || is_nan(value)) return nearest;
  uint32_t bits = float_bits(nearest);
  if ((back > value) == (value > 0)) --bits;  // it had been rounded away from zero: step back
  return float_from_bits(bits | 1u);
}

/// The same among integers: of those that a double may not hold, the nearest with eleven bits less.
template <class I>
TENON_ALWAYS_INLINE I round_long_to_odd(I value) noexcept {
  const auto bits = static_cast<uint64_t>(value);
  const uint64_t above = std::is_signed_v<I> ? (bits + (uint64_t{1} << 53)) >> 54 : bits >> 53;
  const uint64_t dropped = bits & 0x7ff;
  const uint64_t odd = (bits - dropped) | ((dropped + 0x7ff) & 0x800u);
  const uint64_t mask = uint64_t{0} - ((above | (uint64_t{0} - above)) >> 63);
  return static_cast<I>((odd & mask) | (bits & ~mask));
}
template <class I>
double round_to_odd_double(I value) noexcept {
  if constexpr (sizeof(I) < sizeof(uint64_t)) return static_cast<double>(value);
  return static_cast<double>(round_long_to_odd(value));
}

template <class Storage, int kExponentBits, int kMantissaBits, int kBias, Specials kSpecials>
struct SmallFloatFormat {
  using Bits = Storage;
  static constexpr int mantissa_bits = kMantissaBits;
  static constexpr int bias = kBias;
  static constexpr Specials specials = kSpecials;
  static constexpr uint32_t sign_bit = 1u << (kExponentBits + kMantissaBits);
  static constexpr uint32_t top_exponent = ((1u << kExponentBits) - 1) << kMantissaBits;
  static constexpr bool has_infinity = kSpecials == Specials::Ieee;
  /// The code after the largest finite one: infinity where there is one.
  static constexpr uint32_t overflow = kSpecials == Specials::Ieee         ? top_exponent
                                       : kSpecials == Specials::FiniteOnly ? sign_bit - 1
                                                                           : sign_bit;
  static constexpr uint32_t nan =
      kSpecials == Specials::Ieee ? top_exponent | (1u << (kMantissaBits - 1)) : overflow;

  /// Rounds to nearest, ties to even. Overflow gives infinity, or NaN where there is none, as in
  /// c10. A NaN keeps its sign and leading payload bits and becomes quiet, as the processors' own
  /// conversions do.
  static Storage encode(float value) noexcept {
    const uint32_t bits = float_bits(value);
    const uint32_t sign = (bits >> 31) != 0 ? sign_bit : 0;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      if constexpr (kSpecials == Specials::UnsignedZero) return static_cast<Storage>(nan);
      if constexpr (kSpecials == Specials::FiniteOnly) return static_cast<Storage>(sign | nan);
      return static_cast<Storage>(sign | nan | ((magnitude & 0x7fffffu) >> (23 - kMantissaBits)));
    }
    // value = significand * 2^(exponent - 127 - 23); a subnormal float has exponent 1, no implicit
    // bit.
    const int field = static_cast<int>(magnitude >> 23);
    const uint32_t significand = (magnitude & 0x7fffffu) | (field != 0 ? 0x800000u : 0u);
    const int exponent = (field != 0 ? field : 1) - 127 + kBias;
    int shift = 23 - kMantissaBits;
    if (exponent < 1) shift += 1 - exponent;  // subnormal in the target format
    uint32_t code = 0;
    if (shift <= 24) {  // beyond that the value is below half of the smallest subnormal
      const uint32_t half = 1u << (shift - 1);
      const uint32_t odd = (significand >> shift) & 1u;
      code = (significand + (half - 1) + odd) >> shift;
      // The implicit bit, and a carry out of rounding, add one to the exponent field by themselves.
      if (exponent > 1) code += static_cast<uint32_t>(exponent - 1) << kMantissaBits;
    }
    if (code >= overflow) code = overflow;
    if constexpr (kSpecials == Specials::UnsignedZero) {
      return static_cast<Storage>(code == 0 || code == nan ? code : sign | code);
    }
    return static_cast<Storage>(sign | code);
  }

  /// Exact, but that a signalling NaN becomes quiet.
  static float decode(Storage stored) noexcept {
    const uint32_t sign = (stored & sign_bit) != 0 ? 0x80000000u : 0u;
    const uint32_t code = stored & (sign_bit - 1);
    if constexpr (kSpecials == Specials::Ieee) {
      if (code >= top_exponent) {
        const uint32_t payload = (code & ~top_exponent) << (23 - kMantissaBits);
        return float_from_bits(sign | 0x7f800000u | payload | (payload != 0 ? 0x400000u : 0u));
      }
    } else {
      const uint32_t whole = kSpecials == Specials::FiniteOnly ? code : stored;
      if (whole == nan) return float_from_bits(sign | 0x7fc00000u);
    }
    const uint32_t field = code >> kMantissaBits;
    if (field != 0 || kBias == 127) {  // normal; bfloat16's subnormals are also float's
      const uint32_t rebias = static_cast<uint32_t>(127 - kBias) << 23;
      return float_from_bits(sign | ((code << (23 - kMantissaBits)) + rebias));
    }
    // Subnormal: code * 2^(1 - bias - mantissa_bits), exact in float.
    const float unit =
        float_from_bits(static_cast<uint32_t>(127 + 1 - kBias - kMantissaBits) << 23);
    const float magnitude = static_cast<float>(code) * unit;
    return sign != 0 ? -magnitude : magnitude;
  }
};

/// A value stored in a small floating format. Storage only: arithmetic happens in float, to which
/// it converts implicitly, as c10::Half and its kin do.
template <class Format>
struct SmallFloat {
  using format = Format;
  using Bits = typename Format::Bits;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() noexcept { return {}; }

  SmallFloat() = default;
  constexpr SmallFloat(Bits bits, from_bits_t) noexcept : x(bits) {}
  SmallFloat(float value) noexcept : x(Format::encode(value)) {}
  SmallFloat(double value) noexcept : x(Format::encode(round_to_odd(value))) {}
  /// From any integer, rounded once.
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
  SmallFloat(I value) noexcept : x(Format::encode(round_to_odd(round_to_odd_double(value)))) {}

  operator float() const noexcept { return Format::decode(x); }

  Bits x;  ///< the stored bits; c10's name for them
};

template <class T>
struct IsSmallFloat : std::false_type {};
template <class Format>
struct IsSmallFloat<SmallFloat<Format>> : std::true_type {};

}  // namespace detail
TENON_END_NAMESPACE

/// The limits of Half, BFloat16 and the Float8 types.
template <class Format>
class std::numeric_limits<tenon::detail::SmallFloat<Format>> {
  using T = tenon::detail::SmallFloat<Format>;
  static constexpr T code(uint32_t bits) noexcept {
    return T(static_cast<typename Format::Bits>(bits), T::from_bits());
  }
  static constexpr uint32_t largest = Format::specials == tenon::detail::Specials::UnsignedZero
                                          ? Format::sign_bit - 1
                                          : Format::overflow - 1;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = Format::has_infinity;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = false;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int radix = 2;
  static constexpr int digits = Format::mantissa_bits + 1;
  static constexpr int digits10 = Format::mantissa_bits * 30103 / 100000;
  static constexpr int max_digits10 = digits * 30103 / 100000 + 2;
  static constexpr int min_exponent = 2 - Format::bias;
  static constexpr int max_exponent =
      static_cast<int>(largest >> Format::mantissa_bits) - Format::bias + 1;
  static constexpr T min() noexcept { return code(1u << Format::mantissa_bits); }
  static constexpr T max() noexcept { return code(largest); }
  static constexpr T lowest() noexcept { return code(Format::sign_bit | largest); }
  static constexpr T denorm_min() noexcept { return code(1); }
  static constexpr T epsilon() noexcept {
    return code(static_cast<uint32_t>(Format::bias - Format::mantissa_bits)
                << Format::mantissa_bits);
  }
  static constexpr T infinity() noexcept { return code(has_infinity ? Format::overflow : 0); }
  static constexpr T quiet_NaN() noexcept { return code(Format::nan); }
};
