// SPDX-License-Identifier: MIT
// Computes random words from a counter, by Philox4x32-10, and pairs of independent normal numbers
// from pairs of words, by Box and Muller's method: sqrt(-2 ln u) times the cosine and the sine of a
// uniform angle.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11). Block b
// of a seed is the cipher of the counter {b, b >> 32, draw, 0} under the key {seed, seed >> 32}.
// cuRAND's Philox and at::Philox4_32 give the same words for this seed and subsequence `draw`.
//
// The normal numbers do not use the C library's functions, whose last bits differ between
// libraries. They have no branches, so that loops over them are vectorised. Each result is within 4
// ulp of the exact function of its floating-point argument.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/kernels/dispatch.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline constexpr uint32_t kPhiloxMultipliers[2] = {0xd2511f53u, 0xcd9e8d57u};
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9e3779b9u, 0xbb67ae85u};  // added to the key
inline constexpr int kPhiloxRounds = 10;

/// Encrypts four words.
TENON_HOST_DEVICE inline void philox(const uint32_t (&counter)[4], const uint32_t (&key)[2],
                                     uint32_t* words) noexcept {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
  uint32_t k[2] = {key[0], key[1]};
  constexpr uint32_t kSteps[] = {kPhiloxWeyl[0], kPhiloxWeyl[1]};  // device code cannot index it
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{kPhiloxMultipliers[0]} * c[0];
    const uint64_t p1 = uint64_t{kPhiloxMultipliers[1]} * c[2];
    c[0] = static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0];
    c[1] = static_cast<uint32_t>(p1);
    c[2] = static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1];
    c[3] = static_cast<uint32_t>(p0);
    k[0] += kSteps[0];
    k[1] += kSteps[1];
  }
  for (int i = 0; i < 4; ++i) words[i] = c[i];
}

/// The upper half of a block's number, which wraps at 2^62: element numbers have 64 bits.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE uint32_t upper_half(uint64_t block) noexcept {
  return static_cast<uint32_t>(block >> 32) & 0x3fffffffu;
}

/// A sequence of words: word i is word i % 4 of block i / 4.
struct WordStream {
  uint64_t seed;
  uint32_t draw;

  /// The stream of the next draw.
  TENON_HOST_DEVICE WordStream next() const noexcept { return {seed, draw + 1}; }
  TENON_HOST_DEVICE void block(uint64_t index, uint32_t* words) const noexcept {
    philox({static_cast<uint32_t>(index), upper_half(index), draw, 0},
           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, words);
  }
};

#if TENON_HAS_WIDE_PRODUCTS
/// Encrypts several blocks at a time: the low half of a 64-bit lane is a word of one block; the
/// high half, left from a product, is ignored by multiplications. Three vectors a word keep the
/// multipliers busy and fit sixteen registers.
template <size_t kBytes>
class PhiloxLanes {
 public:
  using V = Vector<uint64_t, kBytes>;
  static constexpr size_t kLanes = kBytes / sizeof(uint64_t);
  static constexpr size_t kSets = 3;
  static constexpr size_t kBlocks = kSets * kLanes;

  TENON_INLINE_IN_TARGET PhiloxLanes(const WordStream& stream, uint64_t first) noexcept {
    keys_[0] = static_cast<uint32_t>(stream.seed);
    keys_[1] = stream.seed >> 32;
    for (int k = 2; k < 2 * kPhiloxRounds; ++k) {
      keys_[k] = static_cast<uint32_t>(keys_[k - 2] + kPhiloxWeyl[k % 2]);
    }
    const uint64_t q = uint64_t{kPhiloxMultipliers[1]} * stream.draw;
    start_[0] = V{} + ((q >> 32) ^ upper_half(first) ^ keys_[0]);
    start_[1] = V{} + q;
    // The blocks are in such an order that kZip, which interleaves lanes, makes the words
    // consecutive.
    const auto number = static_cast<uint32_t>(first);
    for (size_t i = 0; i < kLanes; ++i) numbers_[i] = number + i / 2 + i % 2 * kLanes / 2;
  }

  /// The words of the next kBlocks blocks.
  TENON_INLINE_IN_TARGET void run(uint32_t* out) noexcept {
    V c[kSets][4];
    for (size_t s = 0; s < kSets; ++s) {
      // The first round: two words are the same in all blocks, and one is 0.
      c[s][0] = start_[0];
      c[s][1] = start_[1];
      multiply_low(c[s][3], numbers_, V{} + kPhiloxMultipliers[0]);
      c[s][2] = (c[s][3] >> 32) ^ keys_[1];
      numbers_ += kLanes;
    }
    V p;
    V q;
    for (size_t round = 1; round < kPhiloxRounds - 1; ++round) {
      for (size_t s = 0; s < kSets; ++s) {
        multiply_low(p, c[s][0], V{} + kPhiloxMultipliers[0]);
        multiply_low(q, c[s][2], V{} + kPhiloxMultipliers[1]);
        c[s][0] = (q >> 32) ^ c[s][1] ^ keys_[2 * round];
        c[s][1] = q;
        c[s][2] = (p >> 32) ^ c[s][3] ^ keys_[2 * round + 1];
        c[s][3] = p;
      }
    }
    // The last round puts c0 and c1 in one lane, and c2 and c3 in another.
    for (size_t s = 0; s < kSets; ++s) {
      multiply_low(p, c[s][0], V{} + kPhiloxMultipliers[0]);
      multiply_low(q, c[s][2], V{} + kPhiloxMultipliers[1]);
      q = (q >> 32) ^ (q << 32) ^ ((c[s][1] ^ keys_[2 * kPhiloxRounds - 2]) & 0xffffffffu);
      p = (p >> 32) ^ (p << 32) ^ ((c[s][3] ^ keys_[2 * kPhiloxRounds - 1]) & 0xffffffffu);
      V words;
      shuffle(words, q, p, kZip<false, uint64_t, kLanes>);
      store(out + 4 * s * kLanes, words);
      shuffle(words, q, p, kZip<true, uint64_t, kLanes>);
      store(out + 4 * s * kLanes + 2 * kLanes, words);
    }
  }

 private:
  uint64_t keys_[2 * kPhiloxRounds];
  V start_[2];  // c0 and c1 after the first round
  V numbers_;
};

/// The words of blocks from number `first` on, kBlocks at a time. The upper half of the number must
/// be the same for all of them.
struct PhiloxKernel : ForEachIsa<PhiloxKernel, true> {
  template <class Level>
  static TENON_INLINE_IN_TARGET void body(const WordStream* stream, uint64_t first, uint64_t blocks,
                                          uint32_t* out) noexcept {
    using Lanes = PhiloxLanes<Level::vector_bytes>;
    Lanes lanes(*stream, first);
    for (uint64_t done = 0; done < blocks; done += Lanes::kBlocks) lanes.run(out + 4 * done);
  }
};
#endif

/// The length of a buffer of words is a multiple of this many blocks. All of the buffer may be
/// overwritten.
inline constexpr uint64_t kPhiloxBlocks = 24;

/// The words of `blocks` blocks of a stream, from number `first` on.
TENON_TEMPLATE_INLINE void make_blocks(const WordStream& stream, uint64_t first, uint64_t blocks,
                                       uint32_t* out) noexcept {
#if TENON_HAS_WIDE_PRODUCTS
  // Only if the lower 32 bits of the blocks' numbers do not wrap.
  if (blocks > 2 && blocks <= uint64_t{0x100000000u} - static_cast<uint32_t>(first)) {
    return dispatch<PhiloxKernel>(&stream, first, blocks, out);
  }
#endif
  for (uint64_t i = 0; i < blocks; ++i) stream.block(first + i, out + 4 * i);
}

/// c + more[0] x + more[1] x^2 + …
template <class Real>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE Real polynomial(Real, Real c) noexcept {
  return c;
}
template <class Real, class... More>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE Real polynomial(Real x, Real c, More... more) noexcept {
  TENON_NO_CONTRACTION
  return multiply(polynomial(x, more...), x) + c;
}

/// A float format's constants, and polynomials of its precision: minimax fits (Remez) of the
/// relative error, in powers of the squared argument. Bit patterns are of type `Word`.
template <class Real>
struct NormalMath;
template <>
struct NormalMath<float> {
  using Word = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Word kOne = 0x3f800000u;
  static constexpr Word kSqrtHalf = 0x3f3504f3u;
  static constexpr Word kInteger = 0x4b000000u;  // 2^23, whose last bit is worth 1
  static constexpr float kIntegerValue = 8388608;
  static constexpr int kBias = 127;
  static constexpr int kUniformBits = 31;  // how many bits of a word make u
  static constexpr float kMinusTwoLn2 = -1.3862944f;
  static constexpr float kAngle = 1.5707964f / 4294967296.0f;  // pi / 2 divided by a word's range
  /// -2 ln((1 + s) / (1 - s)) / s for s^2 in [0, 0.0295].
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE float log(float x) noexcept {
    return polynomial(x, -4.0f, -1.3333355f, -0.79955083f, -0.59743455f);
  }
  /// sin a / a and cos a for a^2 in [0, (pi / 4)^2].
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE float sin(float x) noexcept {
    return polynomial(x, 1.0f, -0.16666655f, 0.008332178f, -0.00019517299f);
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE float cos(float x) noexcept {
    return polynomial(x, 1.0f, -0.5f, 0.041666647f, -0.0013887368f, 0.000024438452f);
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
  static constexpr double kMinusTwoLn2 = -1.3862943611198906;
  static constexpr double kAngle = 1.5707963267948966 / 4503599627370496;
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE double log(double x) noexcept {
    return polynomial(x, -4.0, -1.3333333333333468844, -0.799999999988293085,
                      -0.57142857484783689938, -0.44444397145630743276, -0.36367128686678291944,
                      -0.30628100283957153228, -0.2959190724182642711);
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE double sin(double x) noexcept {
    return polynomial(x, 1.0, -0.16666666666666632063, 0.0083333333333224236302,
                      -0.0001984126982981637812, 2.7557313695058868286e-6, -2.505075863029574084e-8,
                      1.5896826733649667521e-10);
  }
  static TENON_HOST_DEVICE TENON_ALWAYS_INLINE double cos(double x) noexcept {
    return polynomial(x, 1.0, -0.5, 0.041666666666666599555, -0.0013888888888874138502,
                      0.000024801587289491762969, -2.7557314355226859593e-7,
                      2.0875723682733632841e-9, -1.135966979215866411e-11);
  }
};

/// The upper kUniformBits bits of the word, as an integer.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float from_upper(uint32_t word) noexcept {
  return static_cast<float>(static_cast<int32_t>(word >> 1));
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double from_upper(uint64_t word) noexcept {
  using Math = NormalMath<double>;
  return double_from_bits(word >> 12 | Math::kInteger) - Math::kIntegerValue;
}
/// The word, or the upper 52 bits of a 64-bit word, as a signed integer.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float from_signed(uint32_t word) noexcept {
  return static_cast<float>(static_cast<int32_t>(word));
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double from_signed(uint64_t word) noexcept {
  return from_upper(word ^ uint64_t{1} << 63) - NormalMath<double>::kIntegerValue / 2;
}

/// Returns -2 ln u. To get u, in (0, 1], one half is added to the word's upper bits, and the sum is
/// scaled.
template <class Real, class Word = typename NormalMath<Real>::Word>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE Real minus_two_log(Word word) noexcept {
  TENON_NO_CONTRACTION
  using Math = NormalMath<Real>;
  const Real x = from_upper(word) + Real(0.5);
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  Word bits = cast_bits<Word>(x) + Math::kOne - Math::kSqrtHalf;
  const Word exponent = bits >> Math::kMantissa | Math::kInteger;
  bits = (bits & ((Word{1} << Math::kMantissa) - 1)) + Math::kSqrtHalf;
  const Real e = cast_bits<Real>(exponent) -
                 (Math::kIntegerValue + static_cast<Real>(Math::kBias + Math::kUniformBits));
  // ln m = ln((1 + s) / (1 - s))
  const Real f = cast_bits<Real>(bits) - 1;
  const Real s = divide(f, f + 2);
  return multiply(e, Math::kMinusTwoLn2) + multiply(s, Math::log(multiply(s, s)));
}

/// The cosine and the sine of 2 pi times the word divided by its range.
template <class Real, class Word = typename NormalMath<Real>::Word>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE void cos_sin(Real& cosine, Real& sine, Word word) noexcept {
  TENON_NO_CONTRACTION
  using Math = NormalMath<Real>;
  constexpr int kBits = 8 * static_cast<int>(sizeof(Word));
  constexpr Word kSign = Word{1} << (kBits - 1);
  // The angle from the nearest multiple of pi / 2.
  const Real a = multiply(from_signed(word << 2), Math::kAngle);
  const Real s = multiply(Math::sin(multiply(a, a)), a);
  const Real c = Math::cos(multiply(a, a));
  // Odd quarters swap sine and cosine; the quarter gives the signs.
  const Word quarter = word + (kSign >> 2);
  const Word odd = Word{0} - (quarter << 1 >> (kBits - 1));
  const auto s_bits = cast_bits<Word>(s);
  const auto c_bits = cast_bits<Word>(c);
  const Word differing = (s_bits ^ c_bits) & odd;
  sine = cast_bits<Real>(s_bits ^ differing ^ (quarter & kSign));
  cosine = cast_bits<Real>(c_bits ^ differing ^ ((quarter + (kSign >> 1)) & kSign));
}

}  // namespace detail
TENON_END_NAMESPACE
