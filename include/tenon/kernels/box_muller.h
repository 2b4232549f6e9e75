// SPDX-License-Identifier: MIT
// Pairs of independent normal numbers from pairs of random words, by Box and Muller's method:
// sqrt(-2 ln u) times the cosine and the sine of a uniform angle.
//
// The functions are ours, not the C library's, whose last bits differ from one to the next. They
// are written once for numbers and for vectors of them, with results by reference, and without a
// branch. Each result is within 4 ulp of the exact function of its floating-point argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

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
  static constexpr float kLog[] = {-4, -1.3333355f, -0.79955083f, -0.59743455f};
  /// sin a / a and cos a for a^2 in [0, (pi / 4)^2].
  static constexpr float kSin[] = {1, -0.16666655f, 0.008332178f, -0.00019517299f};
  static constexpr float kCos[] = {1, -0.5f, 0.041666647f, -0.0013887368f, 0.000024438452f};
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
  static constexpr double kLog[] = {-4,
                                    -1.3333333333333468844,
                                    -0.799999999988293085,
                                    -0.57142857484783689938,
                                    -0.44444397145630743276,
                                    -0.36367128686678291944,
                                    -0.30628100283957153228,
                                    -0.2959190724182642711};
  static constexpr double kSin[] = {1,
                                    -0.16666666666666632063,
                                    0.0083333333333224236302,
                                    -0.0001984126982981637812,
                                    2.7557313695058868286e-6,
                                    -2.505075863029574084e-8,
                                    1.5896826733649667521e-10};
  static constexpr double kCos[] = {1,
                                    -0.5,
                                    0.041666666666666599555,
                                    -0.0013888888888874138502,
                                    0.000024801587289491762969,
                                    -2.7557314355226859593e-7,
                                    2.0875723682733632841e-9,
                                    -1.135966979215866411e-11};
};

/// One number: its type R, the words W it is made of and what differs from vectors.
template <class Number>
struct Single {
  using Real = Number;
  using R = Number;
  using W = typename NormalMath<Number>::Word;
  using Math = NormalMath<Number>;

  /// The upper kUniformBits bits as an integer.
  static TENON_ALWAYS_INLINE void from_upper(float& out, uint32_t word) noexcept {
    out = static_cast<float>(static_cast<int32_t>(word >> 1));
  }
  static TENON_ALWAYS_INLINE void from_upper(double& out, uint64_t word) noexcept {
    word = word >> 12 | Math::kInteger;
    std::memcpy(&out, &word, sizeof out);
    out -= 4503599627370496.0;  // 2^52, which kInteger stands for
  }
  /// The word as a signed integer; of a long word, its upper 52 bits.
  static TENON_ALWAYS_INLINE void from_signed(float& out, uint32_t word) noexcept {
    out = static_cast<float>(static_cast<int32_t>(word));
  }
  static TENON_ALWAYS_INLINE void from_signed(double& out, uint64_t word) noexcept {
    from_upper(out, word ^ 0x8000000000000000u);
    out -= 2251799813685248.0;
  }
  static TENON_ALWAYS_INLINE void square_root(R& out, R x) noexcept {
    out = static_cast<R>(sizeof(R) == sizeof(float) ? __builtin_sqrtf(static_cast<float>(x))
                                                    : __builtin_sqrt(static_cast<double>(x)));
  }
};

/// A vector of floats.
template <size_t kBytes>
struct Several {
  using Real = float;
  using R = Vector<float, kBytes>;
  using W = Vector<uint32_t, kBytes>;
  using Ints = Vector<int32_t, kBytes>;
  using Math = NormalMath<float>;

  static TENON_ALWAYS_INLINE void from_upper(R& out, const W& words) noexcept {
    const W upper = words >> 1;
    out = __builtin_convertvector(reinterpret_cast<const Ints&>(upper), R);
  }
  static TENON_ALWAYS_INLINE void from_signed(R& out, const W& words) noexcept {
    out = __builtin_convertvector(reinterpret_cast<const Ints&>(words), R);
  }
  static TENON_ALWAYS_INLINE void square_root(R& out, const R& x) noexcept {
    detail::square_root<kBytes>(out, x);
  }
};

/// c[0] + c[1] x + c[2] x^2 + …
template <class R, class Real, size_t kCount>
TENON_ALWAYS_INLINE void polynomial(R& out, const Real (&c)[kCount], const R& x) noexcept {
  TENON_NO_CONTRACTION
  R sum = x * c[kCount - 1] + c[kCount - 2];
  for (size_t i = kCount - 2; i-- > 0;) sum = sum * x + c[i];
  out = sum;
}

/// -2 ln u, where u is the upper bits of the word and a half, in (0, 1].
template <class L>
TENON_ALWAYS_INLINE void minus_two_log(typename L::R& out, const typename L::W& word) noexcept {
  TENON_NO_CONTRACTION
  using Math = typename L::Math;
  using Word = typename Math::Word;
  using R = typename L::R;
  using W = typename L::W;
  R x;
  L::from_upper(x, word);
  x += Math::kHalf;
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  W bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits += Math::kOne - Math::kSqrtHalf;
  W exponent = bits >> Math::kMantissa | Math::kInteger;
  bits = (bits & ((Word{1} << Math::kMantissa) - 1)) + Math::kSqrtHalf;
  R e;
  R m;
  std::memcpy(&e, &exponent, sizeof e);
  std::memcpy(&m, &bits, sizeof m);
  e -= Math::kIntegerValue + static_cast<typename L::Real>(Math::kBias + Math::kUniformBits);
  // ln m = ln((1 + s) / (1 - s))
  const R f = m - 1;
  const R s = f / (f + 2);
  const R z = s * s;
  R p;
  polynomial(p, Math::kLog, z);
  out = e * Math::kMinusTwoLn2 + s * p;
}

/// The cosine and the sine of 2 pi times the word divided by its range.
template <class L>
TENON_ALWAYS_INLINE void cos_sin(typename L::R& cosine, typename L::R& sine,
                                 const typename L::W& word) noexcept {
  TENON_NO_CONTRACTION
  using Math = typename L::Math;
  using Word = typename Math::Word;
  using R = typename L::R;
  using W = typename L::W;
  constexpr int kBits = 8 * static_cast<int>(sizeof(Word));
  constexpr Word kSign = Word{1} << (kBits - 1);
  R a;  // from the nearest quarter of the circle
  L::from_signed(a, word << 2);
  a *= Math::kAngle;
  const R z = a * a;
  R s;
  R c;
  polynomial(s, Math::kSin, z);
  polynomial(c, Math::kCos, z);
  s *= a;
  // Odd quarters swap the two; the signs are those of the quarter.
  const W quarter = word + (kSign >> 2);
  const W odd = W{} - (quarter << 1 >> (kBits - 1));
  W s_bits;
  W c_bits;
  std::memcpy(&s_bits, &s, sizeof s_bits);
  std::memcpy(&c_bits, &c, sizeof c_bits);
  const W differing = (s_bits ^ c_bits) & odd;
  s_bits ^= differing ^ (quarter & kSign);
  c_bits ^= differing ^ ((quarter + (kSign >> 1)) & kSign);
  std::memcpy(&sine, &s_bits, sizeof sine);
  std::memcpy(&cosine, &c_bits, sizeof cosine);
}

/// mean + stddev times two independent standard normal numbers.
template <class L>
TENON_ALWAYS_INLINE void box_muller(typename L::R& first, typename L::R& second,
                                    const typename L::W& radius, const typename L::W& angle,
                                    const typename L::Real& mean,
                                    const typename L::Real& stddev) noexcept {
  TENON_NO_CONTRACTION
  typename L::R r;
  minus_two_log<L>(r, radius);
  L::square_root(r, r);
  r *= stddev;
  cos_sin<L>(first, second, angle);
  first = r * first + mean;
  second = r * second + mean;
}

}  // namespace detail
TENON_END_NAMESPACE
