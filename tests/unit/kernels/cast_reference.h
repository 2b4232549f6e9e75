// SPDX-License-Identifier: MIT
// What casts must give, worked out with whole numbers alone: a value is ±significand * 2^exponent,
// and rounding it to a format is a search among the values of all of the format's codes.
#pragma once

#include <cfloat>
#include <cstdint>
#include <cstring>
#include <string>

#include "support/shapes.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/kernels/cast.h"

namespace tests {

using namespace tenon;

/// The value of a number of any type.
struct Exact {
  enum class Kind { Finite, Infinite, NaN };
  Kind kind = Kind::Finite;
  bool negative = false;
  uint64_t significand = 0;  ///< with its highest bit set, or 0
  int exponent = 0;
  uint64_t payload = 0;  ///< a NaN's mantissa from the highest bit on

  bool is_zero() const { return kind == Kind::Finite && significand == 0; }
};

/// ±magnitude * 2^exponent.
inline Exact exact(bool negative, uint64_t magnitude, int exponent) {
  Exact value;
  value.negative = negative;
  if (magnitude == 0) return value;
  for (int shift = 32; shift > 0; shift /= 2) {
    if ((magnitude >> (64 - shift)) != 0) continue;
    magnitude <<= shift;
    exponent -= shift;
  }
  value.significand = magnitude;
  value.exponent = exponent;
  return value;
}

/// Whether the absolute value of a is smaller; both are finite.
inline bool is_smaller(const Exact& a, const Exact& b) {
  if (a.significand == 0 || b.significand == 0) return a.significand < b.significand;
  return a.exponent != b.exponent ? a.exponent < b.exponent : a.significand < b.significand;
}

/// A floating format as its specification gives it.
struct FloatFormat {
  enum class Specials { Ieee, FiniteOnly, UnsignedZero };
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  uint64_t sign_bit() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  uint64_t quiet_bit() const { return uint64_t{1} << (mantissa_bits - 1); }
  /// The first code, signs aside, that is no number: infinity, or where there is none NaN.
  uint64_t end() const {
    return specials == Specials::Ieee         ? sign_bit() - 2 * quiet_bit()
           : specials == Specials::FiniteOnly ? sign_bit() - 1
                                              : sign_bit();
  }
  /// The value of a code without a sign, that of end() as if the format went on.
  Exact magnitude(uint64_t code) const {
    const uint64_t one = uint64_t{1} << mantissa_bits;
    const auto field = static_cast<int>(code >> mantissa_bits);
    const uint64_t mantissa = code & (one - 1);
    return field == 0 ? exact(false, mantissa, 1 - bias - mantissa_bits)
                      : exact(false, one + mantissa, field - bias - mantissa_bits);
  }
  Exact decode(uint64_t bits) const {
    const uint64_t code = bits & (sign_bit() - 1);
    const bool unsigned_nan = specials == Specials::UnsignedZero && bits == sign_bit();
    Exact value = unsigned_nan || code >= end() ? Exact() : magnitude(code);
    value.negative = (bits & sign_bit()) != 0;
    if (unsigned_nan || code >= end()) {
      const bool infinite = specials == Specials::Ieee && code == end();
      value.kind = infinite ? Exact::Kind::Infinite : Exact::Kind::NaN;
      if (specials == Specials::Ieee) value.payload = code << (64 - mantissa_bits);
    }
    return value;
  }
  /// The code of the nearest value, of two the even one; end() if that is beyond the format.
  uint64_t nearest(const Exact& value) const {
    if (value.is_zero()) return 0;
    if (!is_smaller(value, magnitude(end()))) return end();
    // The code whose value is not greater, but the next one's is: a guess, and a search from there.
    const int least = 1 - bias - mantissa_bits;
    const int normal = value.exponent + 63 - mantissa_bits;
    const int unit = normal < least ? least : normal;
    const int shift = unit - value.exponent;
    uint64_t low = static_cast<uint64_t>(unit - least) << mantissa_bits;
    if (shift < 64) low += value.significand >> shift;
    while (is_smaller(value, magnitude(low))) --low;
    while (!is_smaller(value, magnitude(low + 1))) ++low;
    // Half way between two codes is a code of the format with one more bit.
    FloatFormat finer = *this;
    ++finer.mantissa_bits;
    const Exact tie = finer.magnitude(2 * low + 1);
    const bool up = is_smaller(tie, value) || (!is_smaller(value, tie) && low % 2 != 0);
    return up ? low + 1 : low;
  }
  uint64_t encode(const Exact& value, bool saturate) const {
    const uint64_t sign = value.negative ? sign_bit() : 0;
    if (value.kind == Exact::Kind::NaN) {
      if (specials == Specials::UnsignedZero) return sign_bit();
      if (specials == Specials::FiniteOnly) return sign | end();
      return sign | end() | quiet_bit() | (value.payload >> (64 - mantissa_bits));
    }
    uint64_t code = value.kind == Exact::Kind::Infinite ? end() : nearest(value);
    if (saturate && code == end()) --code;
    if (specials == Specials::UnsignedZero && (code == 0 || code == end())) return code;
    return sign | code;
  }
};

/// Of a floating type, or of a complex one's parts.
inline FloatFormat float_format(ScalarType type) {
  using Specials = FloatFormat::Specials;
  switch (type) {
    case ScalarType::Half:
    case ScalarType::ComplexHalf: return {5, 10, 15, Specials::Ieee};
    case ScalarType::BFloat16: return {8, 7, 127, Specials::Ieee};
    case ScalarType::Float:
    case ScalarType::ComplexFloat: return {8, 23, 127, Specials::Ieee};
    case ScalarType::Float8_e5m2: return {5, 2, 15, Specials::Ieee};
    case ScalarType::Float8_e4m3fn: return {4, 3, 7, Specials::FiniteOnly};
    case ScalarType::Float8_e5m2fnuz: return {5, 2, 16, Specials::UnsignedZero};
    case ScalarType::Float8_e4m3fnuz: return {4, 3, 8, Specials::UnsignedZero};
    default: return {11, 52, 1023, Specials::Ieee};
  }
}

inline bool is_signed_integer(ScalarType type) {
  return type == ScalarType::Char || type == ScalarType::Short || type == ScalarType::Int ||
         type == ScalarType::Long;
}

/// The `size` bytes of a number, 8 at most, as an unsigned one.
inline uint64_t read_bits(const unsigned char* in, size_t size) {
  uint64_t bits = 0;
  const size_t unused = tenon::detail::host_is_big_endian() ? 8 - size : 0;
  std::memcpy(reinterpret_cast<unsigned char*>(&bits) + unused, in, size);
  return bits;
}
inline void write_bits(unsigned char* out, size_t size, uint64_t bits) {
  const size_t unused = tenon::detail::host_is_big_endian() ? 8 - size : 0;
  std::memcpy(out, reinterpret_cast<const unsigned char*>(&bits) + unused, size);
}

/// The value of a number, or of a part of a complex one.
inline Exact read_value(ScalarType type, const unsigned char* in) {
  const size_t size = elementSize(type) / (isComplexType(type) ? 2 : 1);
  uint64_t bits = read_bits(in, size);
  if (type == ScalarType::Bool) return exact(false, bits != 0 ? 1 : 0, 0);
  if (!isIntegralType(type, false)) return float_format(type).decode(bits);
  const uint64_t sign = uint64_t{1} << (8 * size - 1);
  const bool negative = is_signed_integer(type) && (bits & sign) != 0;
  if (negative) bits = sign - (bits - sign);  // two's complement
  return exact(negative, bits, 0);
}

/// The whole number next to a finite value towards 0, or nearest to it, signs aside; at most
/// `limit`.
inline uint64_t whole_number(const Exact& value, bool round, uint64_t limit) {
  uint64_t whole = 0;
  uint64_t rest = 0;  // in 2^-64
  if (value.exponent > 0) return limit;
  if (value.exponent == 0) {
    whole = value.significand;
  } else if (value.exponent > -64) {
    whole = value.significand >> -value.exponent;
    rest = value.significand << (64 + value.exponent);
  } else if (value.exponent == -64) {
    rest = value.significand;
  }
  const uint64_t half = uint64_t{1} << 63;
  if (round && (rest > half || (rest == half && whole % 2 != 0))) ++whole;
  return whole < limit ? whole : limit;
}

/// An integer type's bits for a value.
inline uint64_t integer_bits(ScalarType to, const Exact& value, bool wrap, bool round) {
  if (value.kind == Exact::Kind::NaN) return 0;
  const uint64_t sign = uint64_t{1} << (8 * elementSize(to) - 1);
  uint64_t limit = value.negative ? 0 : sign + (sign - 1);
  if (is_signed_integer(to)) limit = value.negative ? sign : sign - 1;
  if (wrap) limit = UINT64_MAX;
  const uint64_t magnitude =
      value.kind == Exact::Kind::Infinite ? limit : whole_number(value, round, limit);
  return value.negative ? uint64_t{0} - magnitude : magnitude;
}

/// Writes a number of a floating type, or a part of a complex one. Floats and doubles that stay what
/// they are are not converted, which would make a NaN quiet.
inline void write_float(ScalarType to, unsigned char* out, const Exact& value, ScalarType from,
                        const unsigned char* in, bool saturate) {
  const size_t size = elementSize(to) / (isComplexType(to) ? 2 : 1);
  const size_t from_size = elementSize(from) / (isComplexType(from) ? 2 : 1);
  const bool copied = value.kind == Exact::Kind::NaN && size == from_size && size >= 4;
  write_bits(out, size, copied ? read_bits(in, size) : float_format(to).encode(value, saturate));
}

/// Converts one element.
inline void cast_by_hand(ScalarType to, unsigned char* out, ScalarType from,
                         const unsigned char* in, CastMode mode) {
  const size_t to_size = elementSize(to);
  if (to == from) {
    std::memcpy(out, in, to_size);
    return;
  }
  const bool saturate = mode == CastMode::Saturate;
  const Exact real = read_value(from, in);
  Exact imaginary;
  if (isComplexType(from)) imaginary = read_value(from, in + elementSize(from) / 2);
  if (to == ScalarType::Bool) {
    *out = real.is_zero() && imaginary.is_zero() ? 0 : 1;
  } else if (isIntegralType(to, false)) {
    const bool wrap = isIntegralType(from, true) && !saturate;
    write_bits(out, to_size, integer_bits(to, real, wrap, saturate));
  } else if (isComplexType(to)) {
    write_float(to, out, real, from, in, saturate);
    write_float(to, out + to_size / 2, imaginary, from, in + elementSize(from) / 2, saturate);
  } else {
    write_float(to, out, real, from, in, saturate);
  }
}

/// Whether doubles are the compiler's support library's, as on a Cortex-M4.
#if defined(__arm__) && (!defined(__ARM_FP) || (__ARM_FP & 8) == 0)
inline constexpr bool kSoftDoubles = true;
#else
inline constexpr bool kSoftDoubles = false;
#endif

/// Changes NaNs among doubles where these come out different: the x87 makes signalling ones quiet,
/// also of some doubles that it only moves; libgcc's __aeabi_d2f forgets sign and payload.
inline void settle_doubles(ScalarType type, Bytes& elements) {
  const size_t part = elementSize(type) / (isComplexType(type) ? 2 : 1);
  const bool is_x87 = FLT_EVAL_METHOD == 2;
  if ((!is_x87 && !kSoftDoubles) || part != 8 || isIntegralType(type, false)) return;
  const uint64_t quiet_bit = float_format(type).quiet_bit();
  for (size_t i = 0; i < elements.size(); i += 8) {
    const uint64_t bits = read_bits(elements.data() + i, 8);
    const bool is_nan = float_format(type).decode(bits).kind == Exact::Kind::NaN;
    const uint64_t settled = kSoftDoubles ? float_format(type).end() | quiet_bit : bits | quiet_bit;
    if (is_nan) write_bits(elements.data() + i, 8, settled);
  }
}

/// Elements of a type: any bits, and small whole numbers in turn.
inline Bytes random_elements(Rng& random, ScalarType type, size_t count) {
  const size_t size = elementSize(type);
  Bytes bytes(count * size);
  fill_with_noise(random, bytes);
  for (size_t i = 0; i < count; i += 2) {
    unsigned char number[8];
    write_bits(number, 8, static_cast<uint64_t>(random.between(-300, 300)));
    cast_by_hand(type, bytes.data() + i * size, ScalarType::Long, number, CastMode::Truncate);
  }
  settle_doubles(type, bytes);
  return bytes;
}

}  // namespace tests
