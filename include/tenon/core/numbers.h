// SPDX-License-Identifier: MIT
// The types of numbers that C++ lacks: Half, BFloat16, the Float8 types and complex.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/core/float_bits.h"
#include "tenon/core/mode.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// How a format encodes infinity and NaN.
enum class Specials {
  Ieee,         ///< the highest exponent holds infinity and NaN
  FiniteOnly,   ///< no infinity; NaN is all ones below the sign ("fn")
  UnsignedZero  ///< no infinity, no negative zero; NaN is the sign bit alone ("fnuz")
};

/// Rounds `value` to a float by rounding to odd (cut-off bits set the last bit), which avoids
/// double rounding to the small formats.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float round_to_odd(double value) noexcept {
  const uint64_t bits = double_bits(value);
  // Float has 29 mantissa bits less than double. Subnormal floats have fewer bits: for these 44
  // bits are cut off, which leaves enough for BFloat16.
  const uint64_t cut =
      if_greater(0x3810000000000000u, bits & INT64_MAX, 0xfffffffffffu, uint64_t{0x1fffffff});
  const uint64_t rest = bits & cut;
  return narrow(double_from_bits((bits - rest) | ((rest + cut) & (cut + 1))));
}

/// As above, for integers. An integer that may not fit a double's 53 bits is first rounded to odd,
/// without its last eleven bits.
template <class Integer>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double round_to_odd_double(Integer value) noexcept {
  if constexpr (sizeof(Integer) == sizeof(uint64_t)) {
    const auto bits = static_cast<uint64_t>(value);
    const uint64_t above =
        std::is_signed_v<Integer> ? (bits + (uint64_t{1} << 53)) >> 54 : bits >> 53;
    if (above != 0) {
      const uint64_t dropped = bits & 0x7ff;
      value = static_cast<Integer>((bits - dropped) | ((dropped + 0x7ff) & 0x800u));
    }
  }
  return static_cast<double>(value);
}

/// The constants that encode() and decode() need for a format.
struct SmallFloatCode {
  int shift;  ///< from a code's bits to a float's
  int sign_shift;
  uint32_t sign_bit;
  uint32_t rebias;     ///< 127 - bias, shifted to a float's exponent
  uint32_t unit;       ///< the smallest subnormal, 2^(1 - bias - mantissa_bits), as a float's bits
  uint32_t overflow;   ///< the code after the largest finite value: infinity, if the format has one
  uint32_t nan;        ///< the code of values that the format cannot hold
  uint32_t only_nan;   ///< for decode(): the code of the only NaN; 0x10000 if there are several
  uint32_t infinity;   ///< the code of infinity; INT32_MAX if there is none
  uint32_t payload;    ///< the bits of a float's NaN that the format keeps
  uint32_t zero_sign;  ///< all bits set if zeros have signs, else 0
};

/// Rounds to nearest, ties to even. Overflow gives infinity, or NaN in formats without one, as in
/// c10. A NaN keeps its sign and leading payload bits and becomes quiet, as the processors' own
/// conversions do.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE uint32_t encode(float value,
                                                      const SmallFloatCode& f) noexcept {
  const uint32_t bits = float_bits(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t odd = magnitude >> f.shift & 1u;
  // Adding 2^23 times the smallest subnormal rounds to a multiple of that subnormal.
  const uint32_t power = f.unit + (23u << 23);
  const uint32_t subnormal =
      float_bits(float_from_bits(magnitude) + float_from_bits(power)) - power;
  uint32_t code = (magnitude + ((1u << (f.shift - 1)) - 1) + odd - f.rebias) >> f.shift;
  code = if_greater(f.rebias + 0x800000u, magnitude, subnormal, code);
  code = if_greater(code, f.overflow, f.overflow, code);
  code = if_greater(magnitude, 0x7f800000u, f.nan | (magnitude & f.payload) >> f.shift, code);
  const uint32_t sign = bits >> f.sign_shift & f.sign_bit;
  return code | (sign & (f.zero_sign | if_greater(code, 0, ~0u, 0)));
}

/// Exact, except that signalling NaNs become quiet.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS float decode(
    uint32_t stored, const SmallFloatCode& f) noexcept {
  const uint32_t magnitude = stored & (f.sign_bit - 1);
  const float subnormal =
      static_cast<float>(static_cast<int32_t>(magnitude)) * float_from_bits(f.unit);
  uint32_t bits = (magnitude << f.shift) + f.rebias;
  bits += if_greater(magnitude + 1, f.infinity, f.rebias, 0);
  bits |= if_greater(magnitude, f.infinity, 0x400000u, 0);
  bits = if_greater(1u << (23 - f.shift), magnitude, float_bits(subnormal), bits);
  const uint32_t code = stored & ~(f.sign_bit & f.zero_sign);
  bits = if_greater(code, f.only_nan, bits, if_greater(f.only_nan, code, bits, 0x7fc00000u));
  return float_from_bits(bits | (stored & f.sign_bit) << f.sign_shift);
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
  /// The code after the largest finite value: infinity, if the format has one.
  static constexpr uint32_t overflow = kSpecials == Specials::Ieee         ? top_exponent
                                       : kSpecials == Specials::FiniteOnly ? sign_bit - 1
                                                                           : sign_bit;
  static constexpr uint32_t nan =
      kSpecials == Specials::Ieee ? top_exponent | (1u << (kMantissaBits - 1)) : overflow;
  static constexpr bool is_upper_half_of_float = kBias == 127;  // BFloat16: a float's upper half

  static TENON_HOST_DEVICE constexpr SmallFloatCode code() noexcept {
    return {23 - kMantissaBits,
            31 - kExponentBits - kMantissaBits,
            sign_bit,
            static_cast<uint32_t>(127 - kBias) << 23,
            static_cast<uint32_t>(128 - kBias - kMantissaBits) << 23,
            overflow,
            nan,
            has_infinity ? 0x10000u : nan,
            has_infinity ? top_exponent : 0x7fffffffu,
            has_infinity ? 0x7fffffu : 0u,
            kSpecials != Specials::UnsignedZero ? ~0u : 0u};
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE Storage encode(float value) noexcept {
    if constexpr (is_upper_half_of_float) {  // cuts off the NaN bits whose rounding could carry
      const uint32_t bits = float_bits(value);
      const uint32_t kept =
          if_greater(bits & 0x7fffffffu, 0x7f800000u, (bits | 0x400000u) & 0xffff0000u, bits);
      return static_cast<Storage>((kept + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    } else {
      return static_cast<Storage>(detail::encode(value, code()));
    }
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS float decode(
      Storage stored) noexcept {
    if constexpr (is_upper_half_of_float) {
      const uint32_t bits = uint32_t{stored} << 16;
      return float_from_bits(bits | if_greater(bits & 0x7fffffffu, 0x7f800000u, 0x400000u, 0));
    } else {
      return detail::decode(stored, code());
    }
  }
};

/// A value in a small floating format. Converts implicitly to float, and arithmetic is done in
/// float: `h + h` is a float. (The sum of two c10::Halfs is a Half.)
template <class Format>
struct SmallFloat {
  using format = Format;
  using Bits = typename Format::Bits;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() noexcept { return {}; }

  SmallFloat() = default;
  constexpr SmallFloat(Bits bits, from_bits_t) noexcept : x(bits) {}
  TENON_ALWAYS_INLINE SmallFloat(float value) noexcept : x(Format::encode(value)) {}
  TENON_ALWAYS_INLINE SmallFloat(double value) noexcept : x(Format::encode(round_to_odd(value))) {}
  /// From any integer, rounded once.
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  SmallFloat(Integer value) noexcept
      : x(Format::encode(round_to_odd(round_to_odd_double(value)))) {}

  TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS operator float() const noexcept {
    return Format::decode(x);
  }

  /// Rounds `other` to this type, then computes in float and rounds the result, as c10 does.
  TENON_ALWAYS_INLINE SmallFloat& operator+=(SmallFloat other) noexcept {
    return *this = float{*this} + float{other};
  }
  TENON_ALWAYS_INLINE SmallFloat& operator-=(SmallFloat other) noexcept {
    return *this = float{*this} - float{other};
  }
  TENON_ALWAYS_INLINE SmallFloat& operator*=(SmallFloat other) noexcept {
    return *this = float{*this} * float{other};
  }
  TENON_ALWAYS_INLINE SmallFloat& operator/=(SmallFloat other) noexcept {
    return *this = float{*this} / float{other};
  }

  Bits x;  ///< the stored bits; named as in c10
};

template <class Storage, int kExponentBits, int kMantissaBits, int kBias,
          Specials kSpecials = Specials::Ieee>
using SmallFloatOf =
    SmallFloat<SmallFloatFormat<Storage, kExponentBits, kMantissaBits, kBias, kSpecials>>;

template <class T>
struct IsSmallFloat : std::false_type {};
template <class Format>
struct IsSmallFloat<SmallFloat<Format>> : std::true_type {};

}  // namespace detail
TENON_BEGIN_OWN

/// IEEE 754 binary16: 5 exponent and 10 mantissa bits, up to 65504. Conversions of all six types
/// round to nearest even and keep NaN. Source: c10::Half, c10::BFloat16, c10::Float8_*.
using Half = detail::SmallFloatOf<uint16_t, 5, 10, 15>;
/// The upper half of a float: 8 exponent and 7 mantissa bits.
using BFloat16 = detail::SmallFloatOf<uint16_t, 8, 7, 127>;

// The OCP 8-bit formats, e<exponent bits>m<mantissa bits>. "fn": finite, no infinity; "uz":
// unsigned zero, no negative zero.

/// Up to 57344; overflow gives infinity.
using Float8_e5m2 = detail::SmallFloatOf<uint8_t, 5, 2, 15>;
/// Up to 448; overflow gives NaN.
using Float8_e4m3fn = detail::SmallFloatOf<uint8_t, 4, 3, 7, detail::Specials::FiniteOnly>;
/// Up to 57344; overflow gives NaN.
using Float8_e5m2fnuz = detail::SmallFloatOf<uint8_t, 5, 2, 16, detail::Specials::UnsignedZero>;
/// Up to 240; overflow gives NaN.
using Float8_e4m3fnuz = detail::SmallFloatOf<uint8_t, 4, 3, 8, detail::Specials::UnsignedZero>;

TENON_END_OWN
namespace detail {
using own::BFloat16, own::Half;
using own::Float8_e4m3fn, own::Float8_e4m3fnuz, own::Float8_e5m2, own::Float8_e5m2fnuz;
}  // namespace detail
TENON_END_NAMESPACE

/// The limits of Half, BFloat16 and the Float8 types. Members that are not listed here are false or
/// 0.
template <class Format>
class std::numeric_limits<tenon::detail::SmallFloat<Format>> : public std::numeric_limits<Format> {
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
  static constexpr bool has_infinity = Format::has_infinity;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool is_bounded = true;
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since C++23
#endif
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = Format::mantissa_bits + 1;
  static constexpr int digits10 = Format::mantissa_bits * 30103 / 100000;
  static constexpr int max_digits10 = digits * 30103 / 100000 + 2;
  static constexpr int min_exponent = 2 - Format::bias;
  static constexpr int max_exponent =
      static_cast<int>(largest >> Format::mantissa_bits) - Format::bias + 1;
  static constexpr T(min)() noexcept { return code(1u << Format::mantissa_bits); }
  static constexpr T(max)() noexcept { return code(largest); }
  static constexpr T lowest() noexcept { return code(Format::sign_bit | largest); }
  static constexpr T denorm_min() noexcept { return code(1); }
  static constexpr T epsilon() noexcept {
    return code(static_cast<uint32_t>(Format::bias - Format::mantissa_bits)
                << Format::mantissa_bits);
  }
  static constexpr T round_error() noexcept { return T(0.5f); }
  static constexpr T infinity() noexcept { return code(has_infinity ? Format::overflow : 0); }
  static constexpr T quiet_NaN() noexcept { return code(Format::nan); }
};

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

/// A complex number's storage: real part, imaginary part, no padding.
///
/// Has the bytes of std::complex<T> and c10::complex<T>. Converts from and to these and any class
/// with value_type, real() and imag(), without their headers: libstdc++'s <complex> includes
/// <iostream> and takes more compile time than all of tenon.
template <class T>
class complex {
 public:
  using value_type = T;

  complex() = default;
  /// From the two parts, or from an object of any class with members `real` and `imag`, such as
  /// std::complex.
  constexpr complex(T real, T imag = T()) noexcept : real_(real), imag_(imag) {}
  template <class C, class = std::enable_if_t<
                         std::is_convertible_v<decltype(std::declval<const C&>().real()), T> &&
                         std::is_convertible_v<decltype(std::declval<const C&>().imag()), T>>>
  constexpr complex(const C& other) noexcept
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}

  /// The real part.
  constexpr T real() const noexcept { return real_; }
  /// The imaginary part.
  constexpr T imag() const noexcept { return imag_; }

  /// Converts to std::complex, c10::complex, …. Conversions between tenon's types use the
  /// constructor above.
  template <
      class C, class V = typename C::value_type,
      class = decltype(std::declval<const C&>().real(), std::declval<const C&>().imag()),
      class = std::enable_if_t<std::is_constructible_v<C, V, V> && !std::is_same_v<C, complex<V>>>>
  constexpr operator C() const noexcept {
    return C(static_cast<V>(real_), static_cast<V>(imag_));
  }

  friend constexpr bool operator==(const complex& a, const complex& b) noexcept {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend constexpr bool operator!=(const complex& a, const complex& b) noexcept {
    return !(a == b);
  }

 private:
  T real_;
  T imag_;
};

TENON_END_OWN
namespace detail {
using own::complex;
}
TENON_END_NAMESPACE
