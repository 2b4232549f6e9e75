// SPDX-License-Identifier: MIT
// Compares consecutive elements: whether they are equal, or within a tolerance.
//
// Compares bits: compilers may assume that there is no NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/range.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether floating values are equal, compared as words of their size: -0 equals 0, NaN equals
/// nothing.
template <class W>
struct EqualFloats : ForEachIsa<EqualFloats<W>> {
  template <class>
  static TENON_INLINE_IN_TARGET void body(const char* a, const char* b, int64_t count, W last,
                                          bool* result) {
    *result = false;
    constexpr int kSign = 8 * sizeof(W) - 1;
    constexpr W kMagnitude = static_cast<W>(-1) >> 1;
    constexpr int64_t kBlock = 4096 / sizeof(W);
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t end = count - done < kBlock ? count : done + kBlock;
      W different = 0;
      W beyond = 0;
      for (int64_t i = done; i < end; ++i) {
        const auto x = load_element<W>(a, i);
        const auto bits = static_cast<W>(x ^ load_element<W>(b, i));
        // Signs may differ if the magnitude is 0.
        different = static_cast<W>(different | bits | (static_cast<W>(0 - (bits >> kSign)) & x));
        beyond = static_cast<W>(beyond | (last - (x & kMagnitude)));
      }
      if (static_cast<W>(different << 1) != 0 || beyond >> kSign != 0) return;
    }
    *result = true;
  }
};
template <class W>
bool equal_floats(const char* a, const char* b, int64_t count, uint64_t last) noexcept {
  bool result;
  dispatch<EqualFloats<W>, kHasVariants>(a, b, count, static_cast<W>(last), &result);
  return result;
}

/// Compares Bools: any byte but 0 is true.
inline bool equal_bools(const char* a, const char* b, int64_t count) noexcept {
  constexpr int64_t kBlock = 4096;
  for (int64_t n = 0; count != 0; count -= n, a += n, b += n) {
    n = count < kBlock ? count : kBlock;
    if (std::memcmp(a, b, static_cast<size_t>(n)) == 0) continue;
    for (int64_t i = 0; i < n; ++i) {
      if ((a[i] != 0) != (b[i] != 0)) return false;
    }
  }
  return true;
}

/// Compares elements of types whose only NaN is the code of -0.
inline bool equal_unsigned_zeros(const char* a, const char* b, int64_t count) noexcept {
  constexpr int64_t kBlock = 4096;
  for (int64_t n = 0; count != 0; count -= n, a += n, b += n) {
    n = count < kBlock ? count : kBlock;
    const auto nbytes = static_cast<size_t>(n);
    if (std::memcmp(a, b, nbytes) != 0 || std::memchr(a, 0x80, nbytes) != nullptr) return false;
  }
  return true;
}

/// Whether elements of one type are equal.
TENON_TEMPLATE_INLINE bool equal_elements(ScalarType type, const char* a, const char* b,
                                          int64_t count) noexcept {
  const ScalarType part = part_type_of(type);
  if (isComplexType(type)) count *= 2;
  const size_t size = elementSize(part);
  if (has_unsigned_zero(part)) return equal_unsigned_zeros(a, b, count);
  if (isFloatingType(part)) {
    const uint64_t last = last_number(part);
    return size == 1   ? equal_floats<uint8_t>(a, b, count, last)
           : size == 2 ? equal_floats<uint16_t>(a, b, count, last)
           : size == 4 ? equal_floats<uint32_t>(a, b, count, last)
                       : equal_floats<uint64_t>(a, b, count, last);
  }
  if (part == ScalarType::Bool) return equal_bools(a, b, count);
  return std::memcmp(a, b, static_cast<size_t>(count) * size) == 0;
}

/// A number of any dtype.
struct Number {
  double real = 0;
  double imag = 0;
  bool is_integer = false;
  uint64_t bits = 0;  // the integer, which a double may not hold
};

TENON_TEMPLATE_INLINE Number load_number(ScalarType type, const void* element) noexcept {
  alignas(16) unsigned char exact[16];
  load_exact(type, element, 1, exact);
  const ScalarType kind = exact_type(type);
  if (kind == ScalarType::Long) {
    const auto value = load_element<int64_t>(exact, 0);
    return {static_cast<double>(value), 0, true, static_cast<uint64_t>(value)};
  }
  if (kind == ScalarType::UInt64) {
    const auto value = load_element<uint64_t>(exact, 0);
    return {static_cast<double>(value), 0, true, value};
  }
  if (kind == ScalarType::Double) return {load_element<double>(exact, 0), 0, false, 0};
  const auto value = load_element<complex<double>>(exact, 0);
  return {value.real(), value.imag(), false, 0};
}

/// NaN equals nothing, -0 equals 0.
inline bool is_same(double a, double b) noexcept {
  if (double_bits(a) == double_bits(b)) return !is_nan(a);
  return (double_bits(a) | double_bits(b)) << 1 == 0;
}
inline bool is_same(const Number& a, const Number& b) noexcept {
  if (a.is_integer && b.is_integer && a.bits != b.bits) return false;
  return is_same(a.real, b.real) && is_same(a.imag, b.imag);
}

/// The modulus. Does not use std::hypot(), which sets errno on overflow.
inline double modulus(double x, double y) noexcept {
  x = x < 0 ? -x : x;
  y = y < 0 ? -y : y;
  if (x < y) std::swap(x, y);
  return y == 0 ? x : x * square_root(1 + y / x * (y / x));
}

struct Tolerance {
  double rtol;
  double atol;
  bool equal_nan;

  TENON_VECTORIZE_EXACT bool holds(const Number& a, const Number& b) const noexcept {
    TENON_NO_CONTRACTION
    if (is_same(a, b)) return true;
    const bool a_is_nan = is_nan(a.real) || is_nan(a.imag);
    const bool b_is_nan = is_nan(b.real) || is_nan(b.imag);
    if (a_is_nan || b_is_nan) return equal_nan && a_is_nan && b_is_nan;
    double scale = 1;
    for (const double part : {a.real, a.imag, b.real, b.imag}) {
      if (!is_finite(part)) return false;
      if (part > kLarge || part < -kLarge) scale = 0.25;  // their difference might overflow
    }
    double distance = modulus(a.real * scale - b.real * scale, a.imag * scale - b.imag * scale);
    // Compares integers exactly: different integers may round to the same double.
    if (a.is_integer && b.is_integer && (a.real < 0) == (b.real < 0)) {
      distance = static_cast<double>(a.bits < b.bits ? b.bits - a.bits : a.bits - b.bits);
    }
    const double size = modulus(b.real * scale, b.imag * scale);
    return distance <= atol * scale + (size == 0 ? 0 : rtol * size);  // rtol may be infinite
  }

  static constexpr double kLarge = 1e300;
};

/// Whether all pairs of doubles are within the tolerance, and no magnitude is above `most`. May be
/// false for pairs that are within the tolerance: see CloseElements.
struct CloseKernel : ForEachIsa<CloseKernel> {
  template <class>
  static TENON_INLINE_IN_TARGET void body(const char* a, const char* b, int64_t count, double rtol,
                                          double atol, double most, bool* result) {
    TENON_NO_CONTRACTION
    uint64_t negative = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto x = load_element<double>(a, i);
      const auto y = load_element<double>(b, i);
      const uint64_t size = double_bits(y) & INT64_MAX;
      const double distance = double_from_bits(double_bits(x - y) & INT64_MAX);
      negative |= double_bits(atol + rtol * double_from_bits(size) - distance) |
                  (double_bits(most) - size) | (double_bits(most) - (double_bits(x) & INT64_MAX));
    }
    *result = negative >> 63 == 0;
  }
};

/// Whether elements of two types are within a tolerance. CloseKernel checks whole blocks; in a
/// block that it does not accept, each element is checked.
class CloseElements {
 public:
  TENON_TEMPLATE_INLINE CloseElements(ScalarType a, ScalarType b,
                                      const Tolerance& tolerance) noexcept
      : types_{a, b}, tolerance_(tolerance) {
    const bool is_complex = isComplexType(a) || isComplexType(b);
    parts_ = is_complex ? 2 : 1;
    for (int k = 0; k < 2; ++k) {
      if (elementSize(types_[k]) == 8 && isIntegralType(types_[k], false)) most_ = 0x1p52;
      make_conversion(conversions_[k], is_complex ? ScalarType::ComplexDouble : ScalarType::Double,
                      types_[k], CastMode::Truncate);
    }
  }

  TENON_TEMPLATE_INLINE bool operator()(const char* const* sides, int64_t count) noexcept {
    const char* in[] = {sides[0], sides[1]};
    for (int64_t n = 0; count != 0; count -= n) {
      n = count < kBlock / parts_ ? count : kBlock / parts_;
      bool result = is_finite(tolerance_.rtol) && is_plain(in, n);
      for (int64_t i = 0; !result && i < n; ++i) {
        const Number a = load_number(types_[0], in[0] + i * conversions_[0].from_size);
        const Number b = load_number(types_[1], in[1] + i * conversions_[1].from_size);
        if (!tolerance_.holds(a, b)) return false;
      }
      for (int k = 0; k < 2; ++k) in[k] += n * conversions_[k].from_size;
    }
    return true;
  }

 private:
  static constexpr int64_t kBlock = TENON_BARE_METAL ? 16 : 512;

  TENON_TEMPLATE_INLINE bool is_plain(const char* const* in, int64_t count) noexcept {
    alignas(TENON_BARE_METAL ? 8 : 64) char made[2][kBlock * 8];
    const char* doubles[2];
    for (int k = 0; k < 2; ++k) {
      const bool is_made = types_[k] != ScalarType::Double || parts_ == 2;
      if (is_made) conversions_[k].run(made[k], in[k], count);
      doubles[k] = is_made ? made[k] : in[k];
    }
    clear_after_variants();
    // A complex distance is at most 1.42 times the greater of its two parts.
    const double share = parts_ == 1 ? 1 : 0.5;
    bool result;
    dispatch<CloseKernel, kHasVariants>(doubles[0], doubles[1], parts_ * count,
                                        share * tolerance_.rtol, share * tolerance_.atol, most_,
                                        &result);
    return result;
  }

  ScalarType types_[2];
  Tolerance tolerance_;
  int64_t parts_;
  double most_ = Tolerance::kLarge;  // for 64-bit integers the limit up to which doubles are exact
  Conversion conversions_[2];
};

}  // namespace detail
TENON_END_NAMESPACE
