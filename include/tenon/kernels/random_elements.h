// SPDX-License-Identifier: MIT
// Random elements: what docs/random.md defines, version 1.
//
// Element e of a seed is computed from word(e, draw), draw = 0, 1, …: word e % 4 of Philox block e
// / 4 of that draw. It depends on nothing else, so memory may be filled in any pieces and order.
//
// A plan (random_plan.h) points to the fill function, so that a program links only the
// distributions it uses. Fill functions generate words in chunks and transform them to elements by
// plain loops; loops slower than the generator have a form for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/random_numbers.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class Distribution : uint8_t { Uniform, Normal, Integers };

struct RandomPlan;
/// Computes elements [first, first + count) as values of plan.computed. first % 4 + count must be
/// at most plan.chunk.
using RandomFill = void (*)(const RandomPlan& plan, const WordStream& stream, uint64_t first,
                            int64_t count, void* out) noexcept;
/// Stores computed values as elements of plan.part_type. May change the values.
using RandomStore = void (*)(const RandomPlan& plan, void* values, int64_t count,
                             void* out) noexcept;

/// A distribution for an element type, checked and reduced to constants.
struct RandomPlan {
  RandomFill fill = nullptr;
  RandomStore store = nullptr;  // null if values are elements: casts are not linked
  int64_t chunk = 0;
  Distribution distribution = Distribution::Uniform;
  ScalarType type = ScalarType::Undefined;
  /// The type of a complex element's parts, else the element type.
  ScalarType part_type = ScalarType::Undefined;
  /// The type that values are computed in. Float if it can hold all values of the type, else
  /// Double; for integers Long, or the type itself if it has 4 bytes and the range is small.
  ScalarType computed = ScalarType::Undefined;
  NumberFormat format;  // of the part
  /// The arguments: the bounds, or the mean and the standard deviation.
  double arguments[2] = {};
  /// Uniform: offset + u * scale, at most `limit`. For types shorter than float the result is then
  /// made at least `smallest`, and rounded down. Normal: the mean and the standard deviation.
  double offset = 0;
  double scale = 1;
  double limit = 0;
  double smallest = 0;
  /// Integers: `range` values from `low` on. For floating types they are clamped to representable
  /// ends, then rounded.
  int64_t low = 0;
  uint64_t range = 0;
  int64_t first = 0;
  int64_t last = 0;
};

/// Elements per chunk: long chunks for one-word elements amortise the cost of a chunk, short chunks
/// for others save memory. On bare metal, where a stack may have 2 KB, chunks have the least
/// length.
inline constexpr int64_t kShortChunk = !TENON_BARE_METAL ? 192 : TENON_HAS_WIDE_PRODUCTS ? 96 : 8;
inline constexpr int64_t kRandomChunk = 4 * kShortChunk;
static_assert(!TENON_HAS_WIDE_PRODUCTS ||
              (kShortChunk % (4 * kPhiloxBlocks) == 0 && kRandomChunk % (4 * kPhiloxBlocks) == 0));

/// Generates the words of the blocks that contain a chunk. Returns the chunk's first word.
TENON_TEMPLATE_INLINE uint32_t* make_words(const WordStream& stream, uint64_t first, int64_t count,
                                           uint32_t* buffer) noexcept {
  const uint64_t head = first % 4;
  make_blocks(stream, first / 4, (head + static_cast<uint64_t>(count) + 3) / 4, buffer);
  return buffer + head;
}

/// offset + u * scale, at most limit, where u is the word's upper 24 bits / 2^24.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float uniform_value(uint32_t word, uint32_t /*lower_word*/,
                                                          float offset, float scale,
                                                          float limit) noexcept {
  TENON_NO_CONTRACTION
  const float unit = multiply(scale, 1 / 16777216.0f);
  const float value = multiply(static_cast<float>(static_cast<int32_t>(word >> 8)), unit) + offset;
  return value < limit ? value : limit;
}
/// The same for double, where u is the upper 53 bits of two words / 2^53.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double uniform_value(uint32_t upper_word, uint32_t lower_word,
                                                           double offset, double scale,
                                                           double limit) noexcept {
  TENON_NO_CONTRACTION
  // Converts integers below 2^52 to double by their bits, which every processor vectorises.
  constexpr uint64_t kInteger = 0x4330000000000000u;
  constexpr double kTwo52 = 4503599627370496;
  const double upper = double_from_bits(kInteger | upper_word) - kTwo52;
  const double lower = double_from_bits(kInteger | lower_word >> 11) - kTwo52;
  const double u = multiply(upper, 1 / 4294967296.0) + multiply(lower, 0.5 / kTwo52);
  const double value = multiply(u, scale) + offset;
  return value < limit ? value : limit;
}

// Kernels compute Float values from the words of a draw, and Double values from the words of a draw
// and of the next one. They compute whole groups of elements.

template <class Number>
struct UniformKernel : ForEachIsa<UniformKernel<Number>, true> {
  using Real = Number;
  static constexpr uint64_t group = 1;

  template <class>
  static TENON_ALWAYS_INLINE void body(const uint32_t* TENON_RESTRICT upper,
                                       const uint32_t* TENON_RESTRICT lower, int64_t count,
                                       Real offset, Real scale, Real limit,
                                       void* TENON_RESTRICT out) noexcept {
    for (int64_t i = 0; i < count; ++i) {
      store_element(out, i, uniform_value(upper[i], lower[i], offset, scale, limit));
    }
  }
};

/// Box and Muller's method computes elements 2k and 2k + 1 from a radius and an angle. The radius
/// comes from the words of 2k, the angle from those of 2k + 1. Each step is a vectorised loop.
template <class Number>
struct NormalKernel : ForEachIsa<NormalKernel<Number>, true> {
  using Real = Number;
  static constexpr uint64_t group = 2;

  template <class>
  static TENON_ALWAYS_INLINE void body(const uint32_t* TENON_RESTRICT upper,
                                       const uint32_t* TENON_RESTRICT lower, int64_t count,
                                       Real mean, Real stddev, Real /*limit*/,
                                       void* TENON_RESTRICT out) noexcept {
    TENON_NO_CONTRACTION
    constexpr int64_t kPairs = kShortChunk / 2;
    using Word = typename NormalMath<Real>::Word;
    Word radius[kPairs];
    Word angle[kPairs];
    Real r[kPairs];
    Real cosine[kPairs];
    Real sine[kPairs];
    for (int64_t begin = 0; begin < count; begin += 2 * kPairs) {
      const int64_t pairs = (count - begin) / 2 < kPairs ? (count - begin) / 2 : kPairs;
      for (int64_t i = 0; i < pairs; ++i) {
        radius[i] = upper[begin + 2 * i];
        angle[i] = upper[begin + 2 * i + 1];
        if constexpr (sizeof(Real) == sizeof(double)) {
          radius[i] = radius[i] << 32 | lower[begin + 2 * i];
          angle[i] = angle[i] << 32 | lower[begin + 2 * i + 1];
        }
      }
      for (int64_t i = 0; i < pairs; ++i) r[i] = minus_two_log<Real>(radius[i]);
      square_roots(r, pairs);
      for (int64_t i = 0; i < pairs; ++i) cos_sin(cosine[i], sine[i], angle[i]);
      for (int64_t i = 0; i < pairs; ++i) {
        store_element(out, begin + 2 * i, multiply(multiply(r[i], stddev), cosine[i]) + mean);
        store_element(out, begin + 2 * i + 1, multiply(multiply(r[i], stddev), sine[i]) + mean);
      }
    }
  }
  /// By vector instructions: GCC does not vectorise the C library's sqrt(), which sets errno. The
  /// roots are exact even with -ffast-math, which would use estimates.
  static TENON_ALWAYS_INLINE void square_roots(Real* values, int64_t count) noexcept {
    TENON_NO_CONTRACTION
    int64_t i = 0;
#if !TENON_PORTABLE
#if __has_builtin(__builtin_elementwise_sqrt) || defined(__SSE2__)
    constexpr auto kLanes = static_cast<int64_t>(16 / sizeof(Real));
    for (; i + kLanes <= count; i += kLanes) {
      Vector<Real, 16> v;
      load(v, values + i);
#if __has_builtin(__builtin_elementwise_sqrt)  // later Clangs have only this
      v = __builtin_elementwise_sqrt(v);
#else
      if constexpr (sizeof(Real) == sizeof(float)) {
        v = __builtin_ia32_sqrtps(v);
      } else {
        v = __builtin_ia32_sqrtpd(v);
      }
#endif
      store(values + i, v);
    }
#endif
#endif
    for (; i < count; ++i) values[i] = square_root(values[i]);
  }
};

/// low + the upper half of word * range. Keeps the least of the products' lower halves: a word
/// whose lower half is below 2^32 mod range is drawn again, so that all integers are equally
/// probable. Source: Lemire, "Fast Random Integer Generation in an Interval" (2019).
struct IntegerKernel : ForEachIsa<IntegerKernel, true> {
  template <class>
  static TENON_ALWAYS_INLINE void body(const uint32_t* TENON_RESTRICT words, int64_t count,
                                       uint32_t low, uint32_t range, void* TENON_RESTRICT out,
                                       uint32_t* least) noexcept {
    uint32_t smallest = UINT32_MAX;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t lower = words[i] * range;
      store_element(out, i, low + static_cast<uint32_t>(uint64_t{words[i]} * range >> 32));
      smallest = lower < smallest ? lower : smallest;
    }
    *least = smallest;
  }
};

/// Replaces codes that were rounded up by the next lower code.
template <class Code>
TENON_VECTORIZE void lower_codes(const float* TENON_RESTRICT values,
                                 const float* TENON_RESTRICT rounded, int64_t count,
                                 void* TENON_RESTRICT codes) noexcept {
  constexpr auto kSign = static_cast<Code>(1u << (8 * sizeof(Code) - 1));
  for (int64_t i = 0; i < count; ++i) {
    const auto code = load_element<Code>(codes, i);
    const auto below = static_cast<Code>(values[i] < 0 ? (code | kSign) + 1 : code - 1);
    store_element<Code>(codes, i, rounded[i] > values[i] ? below : code);
  }
}

/// Stores values, rounded to nearest, or truncated if the elements are integers.
TENON_TEMPLATE_INLINE void store_rounded(const RandomPlan& plan, void* values, int64_t count,
                                         void* out) noexcept {
  convert_elements(plan.part_type, out, plan.computed, values, count, CastMode::Truncate);
}
/// Stores floats as a floating type of 8 or 16 bits, rounded down.
TENON_TEMPLATE_INLINE void store_rounded_down(const RandomPlan& plan, void* values, int64_t count,
                                              void* out) noexcept {
  auto* const floats = static_cast<float*>(values);
  const auto smallest = static_cast<float>(plan.smallest);
  for (int64_t i = 0; i < count; ++i) floats[i] = floats[i] < smallest ? smallest : floats[i];
  store_rounded(plan, floats, count, out);
  float rounded[kRandomChunk];
  convert_elements(ScalarType::Float, rounded, plan.part_type, out, count);
  const bool is_byte = elementSize(plan.part_type) == 1;
  (is_byte ? lower_codes<uint8_t> : lower_codes<uint16_t>)(floats, rounded, count, out);
}

/// Values of Float or Double by a kernel.
template <class Kernel>
void fill_reals(const RandomPlan& plan, const WordStream& stream, uint64_t first, int64_t count,
                void* out) noexcept {
  using Real = typename Kernel::Real;
  constexpr bool kIsFloat = sizeof(Real) == sizeof(float);
  constexpr auto kMost = static_cast<size_t>(kIsFloat ? kRandomChunk : kShortChunk);
  // Some values of the first and the last group may be unused.
  constexpr uint64_t kRest = Kernel::group - 1;  // of a power of two: no 64-bit division
  const auto skipped = static_cast<int64_t>(first & kRest);
  const auto made = static_cast<int64_t>((static_cast<uint64_t>(skipped + count) + kRest) & ~kRest);
  const uint64_t from = first & ~kRest;
  uint32_t words[kMost];
  uint32_t more[kIsFloat ? 1 : kMost];
  const uint32_t* const upper = make_words(stream, from, made, words);
  const uint32_t* const lower = kIsFloat ? upper : make_words(stream.next(), from, made, more);
  Real values[kMost];
  const bool is_whole = made == count;
  dispatch<Kernel, kHasVariants>(upper, lower, made, static_cast<Real>(plan.offset),
                                 static_cast<Real>(plan.scale), static_cast<Real>(plan.limit),
                                 is_whole ? out : static_cast<void*>(values));
  if (!is_whole) std::memcpy(out, values + skipped, static_cast<size_t>(count) * sizeof(Real));
}

/// The 128-bit product: returns its upper half, writes its lower half to `lower`.
TENON_HOST_DEVICE inline uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t& lower) noexcept {
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

/// Each try for an integer takes one 32-bit word if the range is at most this, else two words, so
/// that few tries are rejected.
inline constexpr uint64_t kOneWordRange = uint64_t{1} << 20;

/// Returns the integer of element `e`, minus `low`. Begins at try `attempt`.
TENON_TEMPLATE_INLINE TENON_HOST_DEVICE uint64_t random_integer(uint64_t seed, uint64_t e,
                                                                uint64_t range,
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

/// Integers of a range up to kOneWordRange, as uint32_t.
TENON_COMPILED_ONCE void fill_small_integers(const RandomPlan& plan, const WordStream& stream,
                                             uint64_t first, int64_t count, void* out) noexcept {
  uint32_t buffer[kRandomChunk];
  // Not a pointer to const: with -pg, GCC 14 would warn that the buffer is read uninitialised.
  uint32_t* const words = make_words(stream, first, count, buffer);
  const auto low = static_cast<uint32_t>(plan.low);
  const auto range = static_cast<uint32_t>(plan.range);
  const auto excess = static_cast<uint32_t>((uint64_t{1} << 32) % range);
  uint32_t least;
  dispatch<IntegerKernel, kHasVariants>(words, count, low, range, out, &least);
  for (int64_t i = 0; least < excess && i < count; ++i) {
    if (words[i] * range >= excess) continue;
    const uint64_t e = first + static_cast<uint64_t>(i);
    store_element(out, i, low + static_cast<uint32_t>(random_integer(stream.seed, e, range, 1)));
  }
}

/// Integers of any range, as int64_t, clamped to what the type holds.
TENON_COMPILED_ONCE void fill_integers(const RandomPlan& plan, const WordStream& stream,
                                       uint64_t first, int64_t count, void* out) noexcept {
  const auto low = static_cast<uint64_t>(plan.low);
  uint32_t words[2][kShortChunk];
  auto* const values = static_cast<int64_t*>(out);
  if (plan.range <= kOneWordRange) {
    fill_small_integers(plan, stream, first, count, words[0]);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<int64_t>(low + (words[0][i] - static_cast<uint32_t>(low)));
    }
  } else {
    const uint32_t* const upper = make_words(stream, first, count, words[0]);
    const uint32_t* const lower = make_words(stream.next(), first, count, words[1]);
    const uint64_t excess = (uint64_t{0} - plan.range) % plan.range;
    for (int64_t i = 0; i < count; ++i) {
      uint64_t rest;
      uint64_t integer = multiply_wide(uint64_t{upper[i]} << 32 | lower[i], plan.range, rest);
      if (rest < excess) {
        integer = random_integer(stream.seed, first + static_cast<uint64_t>(i), plan.range, 1);
      }
      values[i] = static_cast<int64_t>(low + integer);
    }
  }
  if (isIntegralType(plan.part_type, true)) return;
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < plan.first) values[i] = plan.first;
    if (values[i] > plan.last) values[i] = plan.last;
  }
}

/// Fills real elements, or one part of complex elements, by plan.fill.
TENON_TEMPLATE_INLINE void fill_parts(const RandomPlan& plan, const WordStream& stream,
                                      uint64_t first, int64_t count, void* out) noexcept {
  if (plan.store == nullptr) return plan.fill(plan, stream, first, count, out);
  alignas(8) char values[kRandomChunk * sizeof(float)];
  static_assert(kRandomChunk * sizeof(float) >= kShortChunk * sizeof(double));
  plan.fill(plan, stream, first, count, values);
  plan.store(plan, values, count, out);
}

/// Fills elements [first, first + count) of a plan. first % 4 + count must be at most plan.chunk.
TENON_TEMPLATE_INLINE void fill_chunk(const RandomPlan& plan, uint64_t seed, uint64_t first,
                                      int64_t count, char* out) noexcept {
  if (plan.type == plan.part_type) return fill_parts(plan, {seed, 0}, first, count, out);
  // Real and imaginary parts use different draws; integers have no imaginary part.
  const auto size = static_cast<int64_t>(elementSize(plan.part_type));
  alignas(8) char values[kShortChunk * 8] = {};
  for (uint32_t part = 0; part < 2; ++part) {
    if (part == 0 || plan.distribution != Distribution::Integers) {
      fill_parts(plan, {seed, 2 * part}, first, count, values);
    } else {
      std::memset(values, 0, sizeof values);
    }
    copy_strided(out + part * size, 2 * size, values, size, count, static_cast<size_t>(size));
  }
}

/// Writes elements [first, first + count) of a plan to consecutive memory of any alignment.
TENON_COMPILED_ONCE void random_elements(const RandomPlan& plan, uint64_t seed, uint64_t first,
                                         int64_t count, void* out) noexcept {
  const auto size = static_cast<int64_t>(elementSize(plan.type));
  parallel_for(count, kRandomChunk, static_cast<size_t>(count * size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t n = 0; begin < end; begin += n) {
                   const uint64_t element = first + static_cast<uint64_t>(begin);
                   const int64_t room = plan.chunk - static_cast<int64_t>(element % 4);
                   n = end - begin < room ? end - begin : room;
                   fill_chunk(plan, seed, element, n, static_cast<char*>(out) + begin * size);
                 }
                 clear_after_baseline();
               });
}

}  // namespace detail
TENON_END_NAMESPACE
