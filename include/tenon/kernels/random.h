// SPDX-License-Identifier: MIT
// Random elements: what docs/random.md defines, version 1.
//
// Element e of a seed has the words word(e, draw), draw = 0, 1, …: word e % 4 of Philox block e / 4
// of that draw. Nothing else decides its value, so memory may be filled in any pieces and any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/philox.h"
#include "tenon/kernels/random_kernels.h"
#include "tenon/kernels/random_plan.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Normal floats of the words from `first` on.
TENON_LAZY void random_normals(const WordStream& stream, uint64_t first, int64_t count, float mean,
                               float stddev, char* out) noexcept {
  constexpr int64_t kSize = sizeof(float);
  constexpr int64_t kInCache = 1536;
  const auto one_of_a_pair = [&](uint64_t element) {
    alignas(4) char pair[2 * sizeof(float)];
    run_philox(stream, element / 2 * 2, 2, pair, WordSink());
    dispatch<NormalKernel<>>(static_cast<char*>(pair), int64_t{2}, mean, stddev);
    std::memcpy(out, pair + element % 2 * kSize, kSize);
    out += kSize;
    --count;
    ++first;
  };
  if (count > 0 && first % 2 != 0) one_of_a_pair(first);
  while (count > 1) {
    const int64_t n = count < kInCache ? count / 2 * 2 : kInCache;
    run_philox(stream, first, n, out, WordSink());
    dispatch<NormalKernel<>>(out, n, mean, stddev);
    out += n * kSize;
    count -= n;
    first += static_cast<uint64_t>(n);
  }
  if (count > 0) one_of_a_pair(first);
}

/// Uniform or normal values [first, first + count) of a plan that computes in float.
TENON_LAZY void random_floats(const RandomPlan& plan, const WordStream& stream, uint64_t first,
                              int64_t count, void* out) noexcept {
  if (plan.distribution == Distribution::Normal) {
    random_normals(stream, first, count, static_cast<float>(plan.offset),
                   static_cast<float>(plan.scale), static_cast<char*>(out));
  } else {
    const UniformSink sink{static_cast<float>(plan.offset),
                           static_cast<float>(plan.scale) * (1 / 16777216.0f),
                           static_cast<float>(plan.limit)};
    run_philox(stream, first, count, out, sink);
  }
}

/// The same of one that computes in double; within a piece.
TENON_LAZY void random_doubles(const RandomPlan& plan, const WordStream& stream, uint64_t first,
                               int64_t count, double* out) noexcept {
  LongWords words;
  if (plan.distribution == Distribution::Uniform) {
    words.fill(stream.seed, stream.draw, first, count);
    dispatch<UniformDoubleKernel<>>(&words, count, plan.offset, plan.scale, plan.limit, out);
    return;
  }
  // Whole pairs, of which the first and the last value may not be asked for.
  double values[kRandomPiece];
  const int64_t skipped = first % 2 != 0 ? 1 : 0;
  const int64_t made = (skipped + count + 1) / 2 * 2;
  words.fill(stream.seed, stream.draw, first - static_cast<uint64_t>(skipped), made);
  dispatch<NormalDoubleKernel<>>(&words, made, plan.offset, plan.scale, values);
  std::memcpy(out, values + skipped, static_cast<size_t>(count) * sizeof(double));
}

/// The 128-bit product's upper half; its lower half to `lower`.
inline uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t& lower) noexcept {
  const uint64_t a0 = static_cast<uint32_t>(a);
  const uint64_t a1 = a >> 32;
  const uint64_t b0 = static_cast<uint32_t>(b);
  const uint64_t b1 = b >> 32;
  const uint64_t low = a0 * b0;
  const uint64_t middle = a1 * b0 + (low >> 32);
  const uint64_t other = a0 * b1 + static_cast<uint32_t>(middle);
  lower = other << 32 | static_cast<uint32_t>(low);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/// Up to this range an integer takes one word a try, beyond it two, so that few are rejected.
inline constexpr uint64_t kOneWordRange = uint64_t{1} << 20;

/// The integer of element `e` less `low`, from try number `attempt` on.
TENON_LAZY uint64_t random_integer(uint64_t seed, uint64_t e, uint64_t range,
                                   uint32_t attempt) noexcept {
  for (;; ++attempt) {
    uint32_t words[4];
    if (range <= kOneWordRange) {
      WordStream{seed, attempt}.block(e / 4, words);
      const uint64_t product = uint64_t{words[e % 4]} * range;
      if (static_cast<uint32_t>(product) >= (uint64_t{1} << 32) % range) return product >> 32;
    } else {
      WordStream{seed, 2 * attempt}.block(e / 4, words);
      const uint64_t upper = words[e % 4];
      WordStream{seed, 2 * attempt + 1}.block(e / 4, words);
      uint64_t lower;
      const uint64_t integer = multiply_wide(upper << 32 | words[e % 4], range, lower);
      if (lower >= (uint64_t{0} - range) % range) return integer;
    }
  }
}

/// Integers of at most kOneWordRange numbers, each plus the low half of `low`.
TENON_LAZY void random_small_integers(uint64_t range, uint64_t seed, uint64_t first, int64_t count,
                                      uint32_t low, void* out) noexcept {
  const IntegerSink sink{low, static_cast<uint32_t>(range)};
  const auto excess = static_cast<uint32_t>((uint64_t{1} << 32) % range);
  if (run_philox({seed, 0}, first, count, out, sink) >= excess) return;
  for (int64_t done = 0, n = 0; done < count; done += n) {
    const uint64_t element = first + static_cast<uint64_t>(done);
    n = count_in_piece(element, count - done, kRandomPiece);
    uint32_t words[kRandomPiece];
    run_philox({seed, 0}, element, n, words, WordSink());
    for (int64_t i = 0; i < n; ++i) {
      if (static_cast<uint32_t>(words[i] * range) >= excess) continue;
      const uint64_t integer = random_integer(seed, element + static_cast<uint64_t>(i), range, 1);
      store_element<uint32_t>(out, done + i, low + static_cast<uint32_t>(integer));
    }
  }
}

/// Integers of any range; kRandomPiece at most.
TENON_LAZY void random_integers(const RandomPlan& plan, uint64_t seed, uint64_t first,
                                int64_t count, int64_t* out) noexcept {
  const auto low = static_cast<uint64_t>(plan.low);
  if (plan.range <= kOneWordRange) {
    uint32_t integers[kRandomPiece];
    random_small_integers(plan.range, seed, first, count, 0, integers);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(low + integers[i]);
    return;
  }
  LongWords words;
  words.fill(seed, 0, first, count);
  const uint64_t excess = (uint64_t{0} - plan.range) % plan.range;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t lower;
    uint64_t integer = multiply_wide(words[i], plan.range, lower);
    if (lower < excess) {
      integer = random_integer(seed, first + static_cast<uint64_t>(i), plan.range, 1);
    }
    out[i] = static_cast<int64_t>(low + integer);
  }
}

/// Real elements of `plan.part_type`; within a piece.
TENON_LAZY void random_reals(const RandomPlan& plan, const WordStream& stream, uint64_t first,
                             int64_t count, void* out) noexcept {
  if (plan.is_double) {
    double values[kRandomPiece];
    random_doubles(plan, stream, first, count, values);
    cast_elements(plan.part_type, out, ScalarType::Double, values, count, CastMode::Truncate);
    return;
  }
  float values[kRandomPiece];
  random_floats(plan, stream, first, count, values);
  if (plan.rounding.dropped != 0) {
    const Rounding rounding = plan.rounding;
    dispatch<RoundDownKernel<>>(static_cast<float*>(values), count,
                                static_cast<float>(plan.smallest), &rounding);
  }
  cast_elements(plan.part_type, out, ScalarType::Float, values, count, CastMode::Truncate);
}

/// Elements [first, first + count) of a plan; within a piece.
TENON_LAZY void random_piece(const RandomPlan& plan, uint64_t seed, uint64_t first, int64_t count,
                             void* out) noexcept {
  if (plan.distribution == Distribution::Integers) {
    int64_t integers[kRandomPiece];
    random_integers(plan, seed, first, count, integers);
    for (int64_t i = 0; i < count; ++i) {
      integers[i] = integers[i] < plan.first  ? plan.first
                    : integers[i] > plan.last ? plan.last
                                              : integers[i];
    }
    cast_elements(plan.type, out, ScalarType::Long, integers, count, CastMode::Truncate);
    return;
  }
  if (plan.type == plan.part_type) return random_reals(plan, {seed, 0}, first, count, out);
  // The parts of complex elements have draws of their own.
  const size_t size = elementSize(plan.part_type);
  for (uint32_t part = 0; part < 2; ++part) {
    alignas(8) char values[kRandomPiece * 8];
    random_reals(plan, {seed, 2 * part}, first, count, values);
    for (int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<size_t>(i);
      std::memcpy(static_cast<char*>(out) + (2 * k + part) * size, values + k * size, size);
    }
  }
}

/// Elements [first, first + count) of a plan to consecutive memory, which needs no alignment.
TENON_LAZY_KERNEL void random_elements(const RandomPlan& plan, uint64_t seed, uint64_t first,
                                       int64_t count, void* out) noexcept {
  const auto size = static_cast<int64_t>(elementSize(plan.type));
  const bool is_direct = plan.type == ScalarType::Float && !plan.is_double &&
                         plan.distribution != Distribution::Integers;
  const bool is_small_int = plan.type == ScalarType::Int &&
                            plan.distribution == Distribution::Integers &&
                            plan.range <= kOneWordRange;
  // Of small integers, a piece with one to be drawn again is gone through once more.
  const int64_t piece = is_small_int ? 4 * kRandomPiece : kRandomPiece;
  parallel_for(count, 4 * kRandomPiece, static_cast<size_t>(count * size),
               [&](int64_t begin, int64_t end) {
                 char* to = static_cast<char*>(out) + begin * size;
                 uint64_t element = first + static_cast<uint64_t>(begin);
                 if (is_direct) return random_floats(plan, {seed, 0}, element, end - begin, to);
                 for (int64_t left = end - begin, n = 0; left > 0; left -= n) {
                   n = count_in_piece(element, left, piece);
                   if (is_small_int) {
                     const auto low = static_cast<uint32_t>(plan.low);
                     random_small_integers(plan.range, seed, element, n, low, to);
                   } else {
                     random_piece(plan, seed, element, n, to);
                   }
                   element += static_cast<uint64_t>(n);
                   to += n * size;
                 }
               });
}

}  // namespace detail
TENON_END_NAMESPACE
