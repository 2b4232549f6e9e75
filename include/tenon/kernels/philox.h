// SPDX-License-Identifier: MIT
// Philox4x32-10: random words by counter.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11). Block b
// of a seed is the cipher of the counter {b, b >> 32, draw, 0} under the key {seed, seed >> 32}.
// cuRAND's Philox has the same words for that seed and the subsequence `draw`, and so has
// at::Philox4_32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/config.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Base of a kernel whose body<Level>() is compiled for each instruction set. Being templates, the
/// forms are compiled only where they are used.
template <class Kernel>
struct ForEachSet {
  template <class... Args>
  TENON_VECTORIZE_EXACT static void run(Baseline, Args... args) noexcept {
    Kernel::template body<Baseline>(args...);
  }
#if TENON_HAS_AVX2
  template <class... Args>
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, Args... args) noexcept {
    Kernel::template body<Avx2>(args...);
  }
  template <class... Args>
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX512 static void run(Avx512, Args... args) noexcept {
    Kernel::template body<Avx512>(args...);
  }
#endif
};

inline constexpr uint32_t kPhiloxMultipliers[2] = {0xd2511f53u, 0xcd9e8d57u};
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9e3779b9u, 0xbb67ae85u};  // added to the key
inline constexpr int kPhiloxRounds = 10;

/// Enciphers four words.
inline void philox(const uint32_t (&counter)[4], const uint32_t (&key)[2],
                   uint32_t* words) noexcept {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
  uint32_t k[2] = {key[0], key[1]};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{kPhiloxMultipliers[0]} * c[0];
    const uint64_t p1 = uint64_t{kPhiloxMultipliers[1]} * c[2];
    c[0] = static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0];
    c[1] = static_cast<uint32_t>(p1);
    c[2] = static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1];
    c[3] = static_cast<uint32_t>(p0);
    k[0] += kPhiloxWeyl[0];
    k[1] += kPhiloxWeyl[1];
  }
  for (int i = 0; i < 4; ++i) words[i] = c[i];
}

/// The upper half of a block's number. There are 2^62 blocks: element numbers have 64 bits, and
/// after the last comes the first again.
TENON_ALWAYS_INLINE uint32_t upper_half(uint64_t block) noexcept {
  return static_cast<uint32_t>(block >> 32) & 0x3fffffffu;
}

/// A sequence of words: word i is word i % 4 of block i / 4.
struct WordStream {
  uint64_t seed;
  uint32_t draw;

  void block(uint64_t index, uint32_t* words) const noexcept {
    philox({static_cast<uint32_t>(index), upper_half(index), draw, 0},
           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, words);
  }
};

#if defined(__clang__)
#define TENON_DETAIL_KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define TENON_DETAIL_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

#if TENON_HAS_WIDE_PRODUCTS
/// What all blocks of a stream have in common whose numbers have the same upper half.
struct PhiloxKeys {
  uint64_t rounds[2 * kPhiloxRounds];  // two a round
  // In the first rounds some words are the same in all blocks: c1, c2 and c3 in the first, c0 and
  // c1 in the second, c3 in the third. These are combined with the keys here.
  uint64_t second[2];
  uint64_t third;

  PhiloxKeys(uint64_t seed, uint32_t draw, uint64_t block) noexcept {
    rounds[0] = static_cast<uint32_t>(seed);
    rounds[1] = seed >> 32;
    for (int k = 2; k < 2 * kPhiloxRounds; ++k) {
      rounds[k] = static_cast<uint32_t>(rounds[k - 2] + kPhiloxWeyl[k % 2]);
    }
    const uint64_t p1 = uint64_t{kPhiloxMultipliers[1]} * draw;
    const uint64_t c0 = (p1 >> 32) ^ upper_half(block) ^ rounds[0];
    const uint64_t p0 = kPhiloxMultipliers[0] * c0;
    second[0] = static_cast<uint32_t>(p1) ^ rounds[2];
    second[1] = (p0 >> 32) ^ rounds[3];
    third = static_cast<uint32_t>(p0) ^ rounds[5];
  }
};

/// Enciphers several blocks at a time: a 64-bit lane holds a word of one block in its low half,
/// and what is left of a product in its high half, which no multiplication reads. Three vectors a
/// word keep the multipliers busy and fit sixteen registers.
template <size_t kBytes>
class PhiloxLanes {
 public:
  using V = Vector<uint64_t, kBytes>;
  static constexpr size_t kLanes = kBytes / sizeof(uint64_t);
  static constexpr size_t kSets = 3;
  static constexpr size_t kBlocks = kSets * kLanes;

  TENON_ALWAYS_INLINE PhiloxLanes(const PhiloxKeys& keys, uint32_t number) noexcept
      : second_{V{} + keys.second[0], V{} + keys.second[1]}, third_(V{} + keys.third) {
    // In a loop: g++ 12 gives some vectors another one's value where it is unrolled.
    TENON_DETAIL_KEEP_LOOP
    for (int k = 0; k < 2 * kPhiloxRounds; ++k) keys_[k] = V{} + keys.rounds[k];
    // In the order in which zip_low() and zip_high(), which take even and odd lanes, make the
    // words consecutive.
    for (size_t i = 0; i < kLanes; ++i) numbers_[i] = number + i / 2 + i % 2 * kLanes / 2;
  }

  /// The words of the next kBlocks blocks.
  TENON_ALWAYS_INLINE void run(uint32_t* out) noexcept {
    constexpr auto lanes = std::make_index_sequence<kLanes>();
    V c[kSets][4];
    for (size_t s = 0; s < kSets; ++s) {
      V p;
      V q;
      multiply(p, numbers_, 0);
      numbers_ += kLanes;
      multiply(q, (p >> 32) ^ keys_[1], 1);
      c[s][0] = (q >> 32) ^ second_[0];
      c[s][1] = q;
      c[s][2] = p ^ second_[1];
      multiply(p, c[s][0], 0);
      multiply(q, c[s][2], 1);
      c[s][0] = (q >> 32) ^ c[s][1] ^ keys_[4];
      c[s][1] = q;
      c[s][2] = (p >> 32) ^ third_;
      c[s][3] = p;
    }
    for (int round = 3; round < kPhiloxRounds - 1; ++round) {
      for (size_t s = 0; s < kSets; ++s) {
        V p;
        V q;
        multiply(p, c[s][0], 0);
        multiply(q, c[s][2], 1);
        c[s][0] = (q >> 32) ^ c[s][1] ^ keys_[2 * round];
        c[s][1] = q;
        c[s][2] = (p >> 32) ^ c[s][3] ^ keys_[2 * round + 1];
        c[s][3] = p;
      }
    }
    // The last round leaves c0 and c1 in one lane, and c2 and c3.
    for (size_t s = 0; s < kSets; ++s) {
      V p;
      V q;
      multiply(p, c[s][0], 0);
      multiply(q, c[s][2], 1);
      swap_halves(p, std::make_index_sequence<2 * kLanes>());
      swap_halves(q, std::make_index_sequence<2 * kLanes>());
      q ^= (c[s][1] ^ keys_[2 * kPhiloxRounds - 2]) & 0xffffffffu;
      p ^= (c[s][3] ^ keys_[2 * kPhiloxRounds - 1]) & 0xffffffffu;
      V low;
      V high;
      zip_low<uint64_t, kBytes>(low, q, p, lanes);
      zip_high<uint64_t, kBytes>(high, q, p, lanes);
      store(out + 4 * s * kLanes, low);
      store(out + 4 * s * kLanes + 2 * kLanes, high);
    }
  }

 private:
  static TENON_ALWAYS_INLINE void multiply(V& product, const V& words, int which) noexcept {
    multiply_low<kBytes>(product, words, V{} + kPhiloxMultipliers[which]);
  }
  template <size_t... kIndex>
  static TENON_ALWAYS_INLINE void swap_halves(V& v, std::index_sequence<kIndex...>) noexcept {
    using Words = Vector<uint32_t, kBytes>;
    Words words = reinterpret_cast<Words>(v);
    shuffle<uint32_t, kBytes, kBytes>(words, words, words, std::index_sequence<(kIndex ^ 1)...>());
    v = reinterpret_cast<V>(words);
  }

  V keys_[2 * kPhiloxRounds];
  V second_[2];
  V third_;
  V numbers_;
};

/// The words of blocks whose lower halves of numbers begin at `number`, in steps of kBlocks blocks.
struct PhiloxKernel : ForEachSet<PhiloxKernel> {
  template <class Level>
  static TENON_ALWAYS_INLINE void body(const PhiloxKeys* keys, uint32_t number, uint64_t blocks,
                                       uint32_t* out) noexcept {
    using Lanes = PhiloxLanes<Level::vector_bytes>;
    Lanes lanes(*keys, number);
    for (uint64_t done = 0; done < blocks; done += Lanes::kBlocks) lanes.run(out + 4 * done);
  }
};
#endif

/// Room for words is a multiple of this many blocks: what is behind the last one may be
/// overwritten.
inline constexpr uint64_t kPhiloxBlocks = 24;

/// The words of `blocks` blocks of a stream from number `first` on.
TENON_LAZY void make_blocks(const WordStream& stream, uint64_t first, uint64_t blocks,
                            uint32_t* out) noexcept {
#if TENON_HAS_WIDE_PRODUCTS
  // Not where the lower half of the number wraps.
  if (blocks > 2 && blocks <= uint64_t{0x100000000u} - static_cast<uint32_t>(first)) {
    const PhiloxKeys keys(stream.seed, stream.draw, first);
    return dispatch<PhiloxKernel>(&keys, static_cast<uint32_t>(first), blocks, out);
  }
#endif
  for (uint64_t i = 0; i < blocks; ++i) stream.block(first + i, out + 4 * i);
}

#undef TENON_DETAIL_KEEP_LOOP

}  // namespace detail
TENON_END_NAMESPACE
