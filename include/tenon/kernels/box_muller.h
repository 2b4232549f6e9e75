// SPDX-License-Identifier: MIT
// Pairs of independent normal numbers from pairs of random words, by Box and Muller's method:
// sqrt(-2 ln u) times the cosine and the sine of a uniform angle.
//
// The functions are ours, not the C library's, whose last bits differ from one to the next. They
// have no branches, so that loops over them are vectorised. Each result is within 4 ulp of the
// exact function of its floating-point argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/rounded.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A polynomial's coefficients, that of x^i at i; returned by functions, as device code cannot
/// index a host's constexpr array.
template <class Real, size_t kCount>
struct Coefficients {
  Real c[kCount];
};

/// A format's parts, and the polynomials that are exact to its precision: minimax fits (Remez) of
/// the relative error, in powers of the argument's square. The bits are those of `Word`.
template <class Real>
struct NormalMath;
template <>
struct NormalMath<float> {
  using Word = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Word kOne = 0x3f800000u;
  static constexpr Word kSqrtHalf = 0x3f3504f3u;
  static constexpr Word kInteger = 0x4b000000u;  // 2^23: its last bit counts ones
  static constexpr float kIntegerValue = 8388608;
  static constexpr int kBias = 127;
  static constexpr int kUniformBits = 31;  // of a word, which become u
  static constexpr float kHalf = 0.5f;
  static constexpr float kMinusTwoLn2 = -1.3862944f;
  static constexpr float kAngle = 1.5707964f / 4294967296.0f;  // pi / 2 by a word's range
  /// -2 ln((1 + s) / (1 - s)) / s for s^2 in [0, 0.0295].
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr Coefficients<float, 4> log() noexcept {
    return {{-4, -1.3333355f, -0.79955083f, -0.59743455f}};
  }
  /// sin a / a and cos a for a^2 in [0, (pi / 4)^2].
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr Coefficients<float, 4> sin() noexcept {
    return {{1, -0.16666655f, 0.008332178f, -0.00019517299f}};
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr Coefficients<float, 5> cos() noexcept {
    return {{1, -0.5f, 0.041666647f, -0.0013887368f, 0.000024438452f}};
  }
};
template <>
struct NormalMath<double> {
  using Word = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Word kOne = 0x3ff0000000000000u;
  static constexpr Word kSqrtHalf = 0x3fe6a09e667f3bcdu;
  static constexpr Word kInteger = 0x4330000000000000u;
  static constexpr double kIntegerValue = 4503599627370496;
  static constexpr int kBias = 1023;
  static constexpr int kUniformBits = 52;
  static constexpr double kHalf = 0.5;
  static constexpr double kMinusTwoLn2 = -1.3862943611198906;
  static constexpr double kAngle = 1.5707963267948966 / 4503599627370496;
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr Coefficients<double, 8> log() noexcept {
    return {{-4, -1.3333333333333468844, -0.799999999988293085, -0.57142857484783689938,
             -0.44444397145630743276, -0.36367128686678291944, -0.30628100283957153228,
             -0.2959190724182642711}};
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr Coefficients<double, 7> sin() noexcept {
    return {{1, -0.16666666666666632063, 0.0083333333333224236302, -0.0001984126982981637812,
             2.7557313695058868286e-6, -2.505075863029574084e-8, 1.5896826733649667521e-10}};
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr Coefficients<double, 8> cos() noexcept {
    return {{1, -0.5, 0.041666666666666599555, -0.0013888888888874138502,
             0.000024801587289491762969, -2.7557314355226859593e-7, 2.0875723682733632841e-9,
             -1.135966979215866411e-11}};
  }
};

/// The word's upper kUniformBits bits as an integer.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float from_upper(uint32_t word) noexcept {
  return static_cast<float>(static_cast<int32_t>(word >> 1));
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double from_upper(uint64_t word) noexcept {
  using Math = NormalMath<double>;
  return double_from_bits(word >> 12 | Math::kInteger) - Math::kIntegerValue;
}
/// The word as a signed integer; of a long word, its upper 52 bits.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float from_signed(uint32_t word) noexcept {
  return static_cast<float>(static_cast<int32_t>(word));
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double from_signed(uint64_t word) noexcept {
  return from_upper(word ^ uint64_t{1} << 63) - NormalMath<double>::kIntegerValue / 2;
}

/// c[0] + c[1] x + c[2] x^2 + …
template <class Real, size_t kCount>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE Real polynomial(Coefficients<Real, kCount> of,
                                                      Real x) noexcept {
  TENON_NO_CONTRACTION
  Real sum = multiply(x, of.c[kCount - 1]) + of.c[kCount - 2];
  for (size_t i = kCount - 2; i-- > 0;) sum = multiply(sum, x) + of.c[i];
  return sum;
}

/// -2 ln u, where u is the upper bits of the word and a half, in (0, 1].
template <class Real, class Word = typename NormalMath<Real>::Word>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE Real minus_two_log(Word word) noexcept {
  TENON_NO_CONTRACTION
  using Math = NormalMath<Real>;
  const Real x = from_upper(word) + Math::kHalf;
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  Word bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits += Math::kOne - Math::kSqrtHalf;
  const Word exponent = bits >> Math::kMantissa | Math::kInteger;
  bits = (bits & ((Word{1} << Math::kMantissa) - 1)) + Math::kSqrtHalf;
  Real e;
  Real m;
  std::memcpy(&e, &exponent, sizeof e);
  std::memcpy(&m, &bits, sizeof m);
  e -= Math::kIntegerValue + static_cast<Real>(Math::kBias + Math::kUniformBits);
  // ln m = ln((1 + s) / (1 - s))
  const Real f = m - 1;
  const Real s = divide(f, f + 2);
  return multiply(e, Math::kMinusTwoLn2) + multiply(s, polynomial(Math::log(), multiply(s, s)));
}

/// The cosine and the sine of 2 pi times the word divided by its range.
template <class Real, class Word = typename NormalMath<Real>::Word>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE void cos_sin(Real& cosine, Real& sine, Word word) noexcept {
  TENON_NO_CONTRACTION
  using Math = NormalMath<Real>;
  constexpr int kBits = 8 * static_cast<int>(sizeof(Word));
  constexpr Word kSign = Word{1} << (kBits - 1);
  // From the nearest quarter of the circle.
  const Real a = multiply(from_signed(word << 2), Math::kAngle);
  const Real s = multiply(polynomial(Math::sin(), multiply(a, a)), a);
  const Real c = polynomial(Math::cos(), multiply(a, a));
  // Odd quarters swap the two; the signs are those of the quarter.
  const Word quarter = word + (kSign >> 2);
  const Word odd = Word{0} - (quarter << 1 >> (kBits - 1));
  Word s_bits;
  Word c_bits;
  std::memcpy(&s_bits, &s, sizeof s_bits);
  std::memcpy(&c_bits, &c, sizeof c_bits);
  const Word differing = (s_bits ^ c_bits) & odd;
  s_bits ^= differing ^ (quarter & kSign);
  c_bits ^= differing ^ ((quarter + (kSign >> 1)) & kSign);
  std::memcpy(&sine, &s_bits, sizeof sine);
  std::memcpy(&cosine, &c_bits, sizeof cosine);
}

}  // namespace detail
TENON_END_NAMESPACE
