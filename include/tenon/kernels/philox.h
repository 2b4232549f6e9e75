// SPDX-License-Identifier: MIT
// Philox4x32-10: random words by counter.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11). Block b
// of a seed is the cipher of the counter {b, b >> 32, draw, 0} under the key {seed, seed >> 32}: the
// words of cuRAND's Philox for that seed with the subsequence `draw`, and of at::Philox4_32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline constexpr uint32_t kPhiloxMultipliers[2] = {0xd2511f53u, 0xcd9e8d57u};
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9e3779b9u, 0xbb67ae85u};  // added to the key
inline constexpr int kPhiloxRounds = 10;

/// Enciphers four words.
inline void philox(const uint32_t (&counter)[4], const uint32_t (&key)[2],
                   uint32_t (&words)[4]) noexcept {
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

/// The upper half of a block's number. There are 2^62 of them: the words of a stream have 64 bits of
/// number, and after the last comes the first again.
TENON_ALWAYS_INLINE uint32_t upper_half(uint64_t block) noexcept {
  return static_cast<uint32_t>(block >> 32) & 0x3fffffffu;
}

/// A sequence of words: word i is word i % 4 of block i / 4.
struct WordStream {
  uint64_t seed;
  uint32_t draw;

  void block(uint64_t index, uint32_t (&words)[4]) const noexcept {
    philox({static_cast<uint32_t>(index), upper_half(index), draw, 0},
           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, words);
  }
};

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
  static constexpr uint64_t kBlocks = kSets * kLanes;

  /// For blocks whose numbers have the upper half of `block`.
  TENON_ALWAYS_INLINE PhiloxLanes(const WordStream& stream, uint64_t block) noexcept {
    auto k0 = static_cast<uint32_t>(stream.seed);
    auto k1 = static_cast<uint32_t>(stream.seed >> 32);
    uint32_t keys[kPhiloxRounds][2];
    for (int round = 0; round < kPhiloxRounds; ++round) {
      keys[round][0] = k0;
      keys[round][1] = k1;
      keys_[round][0] = V{} + k0;
      keys_[round][1] = V{} + k1;
      k0 += kPhiloxWeyl[0];
      k1 += kPhiloxWeyl[1];
    }
    // In the first rounds some words are the same in all blocks: c1, c2 and c3 in the first, c0
    // and c1 in the second, c3 in the third. What they are combined with is known here.
    const uint64_t p1 = uint64_t{kPhiloxMultipliers[1]} * stream.draw;
    const uint64_t c0 = (p1 >> 32) ^ upper_half(block) ^ keys[0][0];
    const uint64_t p0 = kPhiloxMultipliers[0] * c0;
    second_[0] = V{} + (static_cast<uint32_t>(p1) ^ keys[1][0]);
    second_[1] = V{} + ((p0 >> 32) ^ keys[1][1]);
    third_ = V{} + (static_cast<uint32_t>(p0) ^ keys[2][1]);
  }

  /// The lower halves of the numbers from that of `block` on, for run(), in the order in which
  /// zip_low() and zip_high(), which take even and odd lanes, make its results consecutive.
  static TENON_ALWAYS_INLINE void count_from(V& numbers, uint64_t block) noexcept {
    for (size_t i = 0; i < kLanes; ++i) {
      numbers[i] = static_cast<uint32_t>(block) + i / 2 + i % 2 * kLanes / 2;
    }
  }

  /// Gives the words of the next kBlocks blocks to the sink, a vector at a time, in the order of the
  /// stream.
  template <class Sink>
  TENON_ALWAYS_INLINE void run(V& numbers, char* out, const Sink& sink,
                               Vector<uint32_t, kBytes>& least) const noexcept {
    constexpr auto lanes = std::make_index_sequence<kLanes>();
    const V m0 = V{} + kPhiloxMultipliers[0];
    const V m1 = V{} + kPhiloxMultipliers[1];
    V c[kSets][4];
    for (size_t s = 0; s < kSets; ++s) {
      V p;
      V q;
      multiply_low<kBytes>(p, numbers, m0);
      numbers += kLanes;
      multiply_low<kBytes>(q, (p >> 32) ^ keys_[0][1], m1);
      c[s][0] = (q >> 32) ^ second_[0];
      c[s][1] = q;
      c[s][2] = p ^ second_[1];
      multiply_low<kBytes>(p, c[s][0], m0);
      multiply_low<kBytes>(q, c[s][2], m1);
      c[s][0] = (q >> 32) ^ c[s][1] ^ keys_[2][0];
      c[s][1] = q;
      c[s][2] = (p >> 32) ^ third_;
      c[s][3] = p;
    }
    for (int round = 3; round < kPhiloxRounds - 1; ++round) {
      for (size_t s = 0; s < kSets; ++s) {
        V p;
        V q;
        multiply_low<kBytes>(p, c[s][0], m0);
        multiply_low<kBytes>(q, c[s][2], m1);
        c[s][0] = (q >> 32) ^ c[s][1] ^ keys_[round][0];
        c[s][1] = q;
        c[s][2] = (p >> 32) ^ c[s][3] ^ keys_[round][1];
        c[s][3] = p;
      }
    }
    // The last round leaves c0 and c1 in one lane, and c2 and c3.
    for (size_t s = 0; s < kSets; ++s) {
      V p;
      V q;
      multiply_low<kBytes>(p, c[s][0], m0);
      multiply_low<kBytes>(q, c[s][2], m1);
      swap_halves(p, std::make_index_sequence<2 * kLanes>());
      swap_halves(q, std::make_index_sequence<2 * kLanes>());
      q ^= (c[s][1] ^ keys_[kPhiloxRounds - 1][0]) & 0xffffffffu;
      p ^= (c[s][3] ^ keys_[kPhiloxRounds - 1][1]) & 0xffffffffu;
      V low;
      V high;
      zip_low<uint64_t, kBytes>(low, q, p, lanes);
      zip_high<uint64_t, kBytes>(high, q, p, lanes);
      char* const to = out + 2 * s * kBytes;
      sink.template put<kBytes>(to, reinterpret_cast<Vector<uint32_t, kBytes>>(low), least);
      sink.template put<kBytes>(to + kBytes, reinterpret_cast<Vector<uint32_t, kBytes>>(high),
                                least);
    }
  }

 private:
  template <size_t... kIndex>
  static TENON_ALWAYS_INLINE void swap_halves(V& v, std::index_sequence<kIndex...>) noexcept {
    using Words = Vector<uint32_t, kBytes>;
    Words words = reinterpret_cast<Words>(v);
    shuffle<uint32_t, kBytes, kBytes>(words, words, words, std::index_sequence<(kIndex ^ 1)...>());
    v = reinterpret_cast<V>(words);
  }

  V keys_[kPhiloxRounds][2];
  V second_[2];
  V third_;
};
#endif

/// Turns the words [first, first + count) of a stream into as many values of four bytes.
///
/// A sink has a block(words, values, least) for the words of one block and, for a vector of words in
/// the order of the stream, a put<bytes>(out, words, least); both give the same bits. In `least`, of a
/// vector in its even lanes, it may keep the least of some number of each value's.
template <class Sink>
struct PhiloxKernel {
  using Value = typename Sink::Value;
  static_assert(sizeof(Value) == sizeof(uint32_t));

  /// The values of words [begin, end) of a block.
  static TENON_ALWAYS_INLINE void part_of_block(const WordStream& stream, uint64_t index,
                                                uint64_t begin, uint64_t end, char* out,
                                                const Sink& sink, uint32_t& least) noexcept {
    uint32_t words[4];
    Value values[4];
    stream.block(index, words);
    sink.block(words, values, least);
    std::memcpy(out, values + begin, static_cast<uint32_t>(end - begin) * sizeof(Value));
  }

  template <class Level>
  static TENON_ALWAYS_INLINE void body(const WordStream& stream, uint64_t first, uint64_t count,
                                       char* out, const Sink& sink, uint32_t& least) noexcept {
    uint64_t index = first / 4;
    if (first % 4 != 0) {
      const uint64_t begin = first % 4;
      const uint64_t end = count < 4 - begin ? begin + count : 4;
      part_of_block(stream, index++, begin, end, out, sink, least);
      out += (end - begin) * sizeof(Value);
      count -= end - begin;
    }
    uint64_t blocks = count / 4;
#if TENON_HAS_WIDE_PRODUCTS
    using Lanes = PhiloxLanes<Level::vector_bytes>;
    auto smallest = ~Vector<uint32_t, Level::vector_bytes>{};
    while (blocks >= Lanes::kBlocks) {
      const Lanes lanes(stream, index);
      typename Lanes::V numbers;
      Lanes::count_from(numbers, index);
      // Until the lower half of the number is about to wrap.
      const uint64_t room = uint64_t{0x100000000u} - static_cast<uint32_t>(index);
      uint64_t runs = (blocks < room ? blocks : room) / Lanes::kBlocks;
      index += runs * Lanes::kBlocks;
      blocks -= runs * Lanes::kBlocks;
      for (; runs > 0; --runs) {
        lanes.run(numbers, out, sink, smallest);
        out += Lanes::kBlocks * 4 * sizeof(Value);
      }
      for (; blocks >= Lanes::kBlocks && static_cast<uint32_t>(index) != 0; --blocks) {
        part_of_block(stream, index++, 0, 4, out, sink, least);
        out += 4 * sizeof(Value);
      }
    }
    for (size_t i = 0; i < Lanes::kLanes; ++i) {
      if (smallest[2 * i] < least) least = smallest[2 * i];
    }
#endif
    for (; blocks > 0; --blocks, out += 4 * sizeof(Value)) {
      part_of_block(stream, index++, 0, 4, out, sink, least);
    }
    if (count % 4 != 0) part_of_block(stream, index, 0, count % 4, out, sink, least);
  }

  // The sink is copied to where no value that is written can alias it.
  TENON_VECTORIZE_EXACT static void run(Baseline, const WordStream* stream, uint64_t first,
                                        uint64_t count, void* out, const Sink* sink,
                                        uint32_t* least) noexcept {
    const Sink local = *sink;
    body<Baseline>(*stream, first, count, static_cast<char*>(out), local, *least);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, const WordStream* stream,
                                                          uint64_t first, uint64_t count, void* out,
                                                          const Sink* sink,
                                                          uint32_t* least) noexcept {
    const Sink local = *sink;
    body<Avx2>(*stream, first, count, static_cast<char*>(out), local, *least);
  }
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX512 static void run(Avx512, const WordStream* stream,
                                                            uint64_t first, uint64_t count,
                                                            void* out, const Sink* sink,
                                                            uint32_t* least) noexcept {
    const Sink local = *sink;
    body<Avx512>(*stream, first, count, static_cast<char*>(out), local, *least);
  }
#endif
};

}  // namespace detail
TENON_END_NAMESPACE
