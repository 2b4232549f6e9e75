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
TENON_HOST_DEVICE inline void philox(const uint32_t (&counter)[4], const uint32_t (&key)[2],
                                     uint32_t* words) noexcept {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
  uint32_t k[2] = {key[0], key[1]};
  constexpr uint32_t kSteps[] = {kPhiloxWeyl[0], kPhiloxWeyl[1]};  // a device has no such array
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

/// The upper half of a block's number. There are 2^62 blocks: element numbers have 64 bits, and
/// after the last comes the first again.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE uint32_t upper_half(uint64_t block) noexcept {
  return static_cast<uint32_t>(block >> 32) & 0x3fffffffu;
}

/// A sequence of words: word i is word i % 4 of block i / 4.
struct WordStream {
  uint64_t seed;
  uint32_t draw;

  /// Of the draw after this one.
  TENON_HOST_DEVICE WordStream next() const noexcept { return {seed, draw + 1}; }
  TENON_HOST_DEVICE void block(uint64_t index, uint32_t* words) const noexcept {
    philox({static_cast<uint32_t>(index), upper_half(index), draw, 0},
           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, words);
  }
};

#if defined(__clang__)
#define TENON_DETAIL_KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#if defined(__NVCC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675  // nvcc hands the pragma on to GCC, but does not know it
#endif
#define TENON_DETAIL_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

#if TENON_HAS_WIDE_PRODUCTS
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

  TENON_INLINE_IN_TARGET PhiloxLanes(const WordStream& stream, uint64_t first) noexcept {
    uint64_t keys[2 * kPhiloxRounds] = {static_cast<uint32_t>(stream.seed), stream.seed >> 32};
    // In loops: g++ 12 gives some vectors another one's value where they are unrolled.
    TENON_DETAIL_KEEP_LOOP
    for (int k = 2; k < 2 * kPhiloxRounds; ++k) {
      keys[k] = static_cast<uint32_t>(keys[k - 2] + kPhiloxWeyl[k % 2]);
    }
    TENON_DETAIL_KEEP_LOOP
    for (int k = 0; k < 2 * kPhiloxRounds; ++k) keys_[k] = V{} + keys[k];
    const uint64_t q = uint64_t{kPhiloxMultipliers[1]} * stream.draw;
    start_[0] = V{} + ((q >> 32) ^ upper_half(first) ^ keys[0]);
    start_[1] = V{} + q;
    // In the order in which kZip, which takes even and odd lanes, makes the words consecutive.
    const auto number = static_cast<uint32_t>(first);
    for (size_t i = 0; i < kLanes; ++i) numbers_[i] = number + i / 2 + i % 2 * kLanes / 2;
  }

  /// The words of the next kBlocks blocks.
  TENON_INLINE_IN_TARGET void run(uint32_t* out) noexcept {
    V c[kSets][4];
    for (size_t s = 0; s < kSets; ++s) {
      // The first round, where two of the words are the same in all blocks and one is 0.
      c[s][0] = start_[0];
      c[s][1] = start_[1];
      multiply_low(c[s][3], numbers_, V{} + kPhiloxMultipliers[0]);
      c[s][2] = (c[s][3] >> 32) ^ keys_[1];
      numbers_ += kLanes;
    }
    V p;
    V q;
    for (int round = 1; round < kPhiloxRounds - 1; ++round) {
      for (size_t s = 0; s < kSets; ++s) {
        multiply_low(p, c[s][0], V{} + kPhiloxMultipliers[0]);
        multiply_low(q, c[s][2], V{} + kPhiloxMultipliers[1]);
        c[s][0] = (q >> 32) ^ c[s][1] ^ keys_[2 * round];
        c[s][1] = q;
        c[s][2] = (p >> 32) ^ c[s][3] ^ keys_[2 * round + 1];
        c[s][3] = p;
      }
    }
    // The last round leaves c0 and c1 in one lane, and c2 and c3.
    for (size_t s = 0; s < kSets; ++s) {
      multiply_low(p, c[s][0], V{} + kPhiloxMultipliers[0]);
      multiply_low(q, c[s][2], V{} + kPhiloxMultipliers[1]);
      swap_halves(p, std::make_index_sequence<2 * kLanes>());
      swap_halves(q, std::make_index_sequence<2 * kLanes>());
      q ^= (c[s][1] ^ keys_[2 * kPhiloxRounds - 2]) & 0xffffffffu;
      p ^= (c[s][3] ^ keys_[2 * kPhiloxRounds - 1]) & 0xffffffffu;
      V words;
      shuffle(words, q, p, kZip<false, uint64_t, kLanes>);
      store(out + 4 * s * kLanes, words);
      shuffle(words, q, p, kZip<true, uint64_t, kLanes>);
      store(out + 4 * s * kLanes + 2 * kLanes, words);
    }
  }

 private:
  template <size_t... kIndex>
  static TENON_ALWAYS_INLINE void swap_halves(V& v, std::index_sequence<kIndex...>) noexcept {
    auto words = reinterpret_cast<Vector<uint32_t, kBytes>>(v);
    shuffle(words, words, words, std::index_sequence<(kIndex ^ 1)...>());
    v = reinterpret_cast<V>(words);
  }

  V keys_[2 * kPhiloxRounds];
  V start_[2];  // c0 and c1 after the first round
  V numbers_;
};

/// The words of blocks from number `first` on, in steps of kBlocks blocks. The upper half of the
/// number is the same for all.
struct PhiloxKernel : ForEachSet<PhiloxKernel> {
  template <class Level>
  static TENON_INLINE_IN_TARGET void body(const WordStream* stream, uint64_t first, uint64_t blocks,
                                          uint32_t* out) noexcept {
    using Lanes = PhiloxLanes<Level::vector_bytes>;
    Lanes lanes(*stream, first);
    for (uint64_t done = 0; done < blocks; done += Lanes::kBlocks) lanes.run(out + 4 * done);
  }
};
#endif

/// Room for words is a multiple of this many blocks: what is behind the last one may be
/// overwritten.
inline constexpr uint64_t kPhiloxBlocks = 24;

/// The words of `blocks` blocks of a stream from number `first` on.
TENON_TEMPLATE_INLINE void make_blocks(const WordStream& stream, uint64_t first, uint64_t blocks,
                                       uint32_t* out) noexcept {
#if TENON_HAS_WIDE_PRODUCTS
  // Not where the lower half of the number wraps.
  if (blocks > 2 && blocks <= uint64_t{0x100000000u} - static_cast<uint32_t>(first)) {
    return dispatch<PhiloxKernel>(&stream, first, blocks, out);
  }
#endif
  for (uint64_t i = 0; i < blocks; ++i) stream.block(first + i, out + 4 * i);
}

#undef TENON_DETAIL_KEEP_LOOP
#if defined(__NVCC__) && !defined(__clang__)
#pragma nv_diagnostic pop
#endif

}  // namespace detail
TENON_END_NAMESPACE
