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
#include "tenon/kernels/box_muller.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/philox.h"
#include "tenon/kernels/random_plan.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Sinks: see PhiloxKernel. The words as they are.
struct WordSink {
  using Value = uint32_t;

  TENON_ALWAYS_INLINE void block(const uint32_t (&words)[4], uint32_t (&values)[4],
                                 uint32_t&) const noexcept {
    std::memcpy(values, words, sizeof values);
  }
#if TENON_HAS_VECTORS
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put(char* out, const Vector<uint32_t, kBytes>& low,
                               const Vector<uint32_t, kBytes>& high,
                               Vector<uint32_t, kBytes>&) const noexcept {
    store(out, low);
    store(out + kBytes, high);
  }
#endif
};

/// offset + u * scale, at most limit, where u is the upper 24 bits of the word over 2^24; `unit` is
/// the scale over 2^24.
struct UniformSink {
  using Value = float;
  float offset;
  float unit;
  float limit;

  TENON_ALWAYS_INLINE void block(const uint32_t (&words)[4], float (&values)[4],
                                 uint32_t&) const noexcept {
    TENON_NO_CONTRACTION
    for (int i = 0; i < 4; ++i) {
      const float value = static_cast<float>(static_cast<int32_t>(words[i] >> 8)) * unit + offset;
      values[i] = value < limit ? value : limit;
    }
  }
#if TENON_HAS_VECTORS
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put_one(char* out,
                                   const Vector<uint32_t, kBytes>& words) const noexcept {
    TENON_NO_CONTRACTION
    using Floats = Vector<float, kBytes>;
    const auto upper = reinterpret_cast<Vector<int32_t, kBytes>>(words >> 8);
    const Floats value = __builtin_convertvector(upper, Floats) * unit + offset;
    const Floats most = Floats{} + limit;
    store(out, value < most ? value : most);
  }
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put(char* out, const Vector<uint32_t, kBytes>& low,
                               const Vector<uint32_t, kBytes>& high,
                               Vector<uint32_t, kBytes>&) const noexcept {
    put_one<kBytes>(out, low);
    put_one<kBytes>(out + kBytes, high);
  }
#endif
};

/// low + the upper half of word * range; the least of the products' lower halves is kept, since
/// where one is below 2^32 mod range the word is to be drawn again, for each integer to have the same
/// probability. Source: Lemire, "Fast Random Integer Generation in an Interval" (2019).
struct IntegerSink {
  using Value = uint32_t;
  uint32_t low;
  uint32_t range;

  TENON_ALWAYS_INLINE void block(const uint32_t (&words)[4], uint32_t (&values)[4],
                                 uint32_t& least) const noexcept {
    for (int i = 0; i < 4; ++i) {
      const uint64_t product = uint64_t{words[i]} * range;
      const auto lower = static_cast<uint32_t>(product);
      values[i] = low + static_cast<uint32_t>(product >> 32);
      least = lower < least ? lower : least;
    }
  }
#if TENON_HAS_WIDE_PRODUCTS
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put_one(char* out, const Vector<uint32_t, kBytes>& words,
                                   Vector<uint32_t, kBytes>& least) const noexcept {
    using Lanes = Vector<uint64_t, kBytes>;
    using Words = Vector<uint32_t, kBytes>;
    const Lanes pairs = reinterpret_cast<Lanes>(words);
    const Lanes ranges = Lanes{} + range;
    Lanes even;
    Lanes odd;
    multiply_low<kBytes>(even, pairs, ranges);
    multiply_low<kBytes>(odd, pairs >> 32, ranges);
    const Words even_words = reinterpret_cast<Words>(even);
    const Words odd_words = reinterpret_cast<Words>(odd);
    least = even_words < least ? even_words : least;
    least = odd_words < least ? odd_words : least;
    const Lanes upper = (even >> 32) | (odd & 0xffffffff00000000u);
    store(out, reinterpret_cast<Words>(upper) + low);
  }
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put(char* out, const Vector<uint32_t, kBytes>& low_words,
                               const Vector<uint32_t, kBytes>& high_words,
                               Vector<uint32_t, kBytes>& least) const noexcept {
    put_one<kBytes>(out, low_words, least);
    put_one<kBytes>(out + kBytes, high_words, least);
  }
#endif
};

/// The values of words [first, first + count); what the sink kept the least of.
template <class Sink>
uint32_t run_philox(const WordStream& stream, uint64_t first, int64_t count, void* out,
                    const Sink& sink) noexcept {
  uint32_t least = UINT32_MAX;
  dispatch<PhiloxKernel<Sink>>(&stream, first, static_cast<uint64_t>(count), out, &sink, &least);
  return least;
}

/// Makes words normal numbers, in place. They come in pairs: elements 2 k and 2 k + 1 are those that
/// Box and Muller's method makes of the words of the first, its radius, and of the second, its
/// angle. A loop of its own, because what it does takes longer to finish than Philox to go on.
template <class = void>
struct NormalKernel {
#if TENON_HAS_VECTORS
  template <size_t kBytes>
  static TENON_ALWAYS_INLINE void pairs(char* data, float mean, float stddev) noexcept {
    constexpr auto lanes = std::make_index_sequence<kBytes / sizeof(float)>();
    Vector<uint32_t, kBytes> low;
    Vector<uint32_t, kBytes> high;
    load(low, data);
    load(high, data + kBytes);
    Vector<uint32_t, kBytes> radius;
    Vector<uint32_t, kBytes> angle;
    unzip<uint32_t, kBytes>(radius, angle, low, high, lanes);
    Vector<float, kBytes> first;
    Vector<float, kBytes> second;
    box_muller<Several<kBytes>>(first, second, radius, angle, mean, stddev);
    Vector<float, kBytes> values;
    zip_low<float, kBytes>(values, first, second, lanes);
    store(data, values);
    zip_high<float, kBytes>(values, first, second, lanes);
    store(data + kBytes, values);
  }
#endif
  /// `count` words, an even number.
  template <class Level>
  static TENON_ALWAYS_INLINE void body(char* data, int64_t count, float mean,
                                       float stddev) noexcept {
    int64_t i = 0;
#if TENON_HAS_VECTORS
    constexpr auto kStep = static_cast<int64_t>(2 * Level::vector_bytes / sizeof(float));
    for (; i + kStep <= count; i += kStep) {
      pairs<Level::vector_bytes>(data + i * 4, mean, stddev);
    }
#endif
    for (; i < count; i += 2) {
      uint32_t words[2];
      float values[2];
      std::memcpy(words, data + i * 4, sizeof words);
      box_muller<Single<float>>(values[0], values[1], words[0], words[1], mean, stddev);
      std::memcpy(data + i * 4, values, sizeof values);
    }
  }
  TENON_VECTORIZE_EXACT static void run(Baseline, char* data, int64_t count, float mean,
                                        float stddev) noexcept {
    body<Baseline>(data, count, mean, stddev);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, char* data, int64_t count,
                                                          float mean, float stddev) noexcept {
    body<Avx2>(data, count, mean, stddev);
  }
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX512 static void run(Avx512, char* data, int64_t count,
                                                            float mean, float stddev) noexcept {
    body<Avx512>(data, count, mean, stddev);
  }
#endif
};

/// Normal floats of the words from `first` on.
TENON_LAZY void random_normals(const WordStream& stream, uint64_t first, int64_t count, float mean,
                               float stddev, char* out) noexcept {
  constexpr int64_t kSize = sizeof(float);
  constexpr int64_t kInCache = 1536;
  const auto one_of_a_pair = [&](uint64_t element) {
    alignas(4) char pair[2 * kSize];
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

/// Elements that are not made in place are made in pieces that end at multiples of this: whole
/// blocks, and runs of them on every instruction set.
inline constexpr int64_t kRandomPiece = 192;

/// How many of `count` elements from `first` on come before the next multiple of `piece`.
inline int64_t count_in_piece(uint64_t first, int64_t count, int64_t piece) noexcept {
  const int64_t left = piece - static_cast<int64_t>(first % static_cast<uint64_t>(piece));
  return count < left ? count : left;
}

/// Two words an element, of draws d and d + 1.
struct LongWords {
  uint32_t upper[kRandomPiece];
  uint32_t lower[kRandomPiece];

  template <class = void>
  void fill(uint64_t seed, uint32_t draw, uint64_t first, int64_t count) noexcept {
    run_philox({seed, draw}, first, count, upper, WordSink());
    run_philox({seed, draw + 1}, first, count, lower, WordSink());
  }
  TENON_ALWAYS_INLINE uint64_t operator[](int64_t i) const noexcept {
    return uint64_t{upper[i]} << 32 | lower[i];
  }
};

/// UniformSink's values with the upper 53 bits of two words, over 2^53, for u.
template <class = void>
struct UniformDoubleKernel {
  static TENON_ALWAYS_INLINE void body(const LongWords& words, int64_t count, double offset,
                                       double scale, double limit, double* out) noexcept {
    TENON_NO_CONTRACTION
    for (int64_t i = 0; i < count; ++i) {
      // Integers below 2^52 become doubles by way of their bits, which any processor can.
      constexpr uint64_t kInteger = 0x4330000000000000u;
      constexpr double kTwo52 = 4503599627370496;
      const uint64_t upper_bits = kInteger | words.upper[i];
      const uint64_t lower_bits = kInteger | words.lower[i] >> 11;
      double upper;
      double lower;
      std::memcpy(&upper, &upper_bits, sizeof upper);
      std::memcpy(&lower, &lower_bits, sizeof lower);
      const double u = (upper - kTwo52) * (1 / 4294967296.0) + (lower - kTwo52) * (0.5 / kTwo52);
      const double value = u * scale + offset;
      out[i] = value < limit ? value : limit;
    }
  }
  TENON_VECTORIZE_EXACT static void run(Baseline, const LongWords* words, int64_t count,
                                        double offset, double scale, double limit,
                                        double* out) noexcept {
    body(*words, count, offset, scale, limit, out);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, const LongWords* words,
                                                          int64_t count, double offset,
                                                          double scale, double limit,
                                                          double* out) noexcept {
    body(*words, count, offset, scale, limit, out);
  }
#endif
};

/// NormalKernel's values, an even number of them, of two words each. In steps, each of which is a
/// loop for vectors.
template <class = void>
struct NormalDoubleKernel {
  static TENON_ALWAYS_INLINE void body(const LongWords& words, int64_t count, double mean,
                                       double stddev, double* TENON_RESTRICT out) noexcept {
    TENON_NO_CONTRACTION
    using L = Single<double>;
    constexpr int64_t kPairs = kRandomPiece / 2;
    uint64_t radius[kPairs];
    uint64_t angle[kPairs];
    double r[kPairs];
    double cosine[kPairs];
    double sine[kPairs];
    const int64_t pairs = count / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      radius[i] = words[2 * i];
      angle[i] = words[2 * i + 1];
    }
    for (int64_t i = 0; i < pairs; ++i) minus_two_log<L>(r[i], radius[i]);
    for (int64_t i = 0; i < pairs; ++i) L::square_root(r[i], r[i]);
    for (int64_t i = 0; i < pairs; ++i) cos_sin<L>(cosine[i], sine[i], angle[i]);
    for (int64_t i = 0; i < pairs; ++i) {
      out[2 * i] = r[i] * stddev * cosine[i] + mean;
      out[2 * i + 1] = r[i] * stddev * sine[i] + mean;
    }
  }
  TENON_VECTORIZE_EXACT static void run(Baseline, const LongWords* words, int64_t count,
                                        double mean, double stddev, double* out) noexcept {
    body(*words, count, mean, stddev, out);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, const LongWords* words,
                                                          int64_t count, double mean, double stddev,
                                                          double* out) noexcept {
    body(*words, count, mean, stddev, out);
  }
#endif
};

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

/// Rounds floats down to what a shorter type keeps, after which a cast changes them no more.
template <class = void>
struct RoundDownKernel {
  static TENON_ALWAYS_INLINE void body(float* values, int64_t count, float smallest,
                                       const Rounding& rounding) noexcept {
    const uint32_t dropped = rounding.dropped;
    const float step = rounding.step;
    const float aligned = step * 12582912.0f;  // 3 * 2^22: a sum with it is rounded to steps
    const auto normal = static_cast<int32_t>(float_bits(rounding.normal));
    for (int64_t i = 0; i < count; ++i) {
      const float value = values[i] > smallest ? values[i] : smallest;
      const uint32_t bits = float_bits(value);
      const uint32_t negative = uint32_t{0} - (bits >> 31);
      const uint32_t whole = (bits + (negative & dropped)) & ~dropped;
      float steps = (value + aligned) - aligned;
      const uint32_t above = uint32_t{0} - (float_bits(value - steps) >> 31);
      steps -= float_from_bits(above & float_bits(step));
      const uint32_t tiny =
          uint32_t{0} - static_cast<uint32_t>(static_cast<int32_t>(bits & 0x7fffffffu) < normal);
      values[i] = float_from_bits((float_bits(steps) & tiny) | (whole & ~tiny));
    }
  }
  TENON_VECTORIZE static void run(Baseline, float* values, int64_t count, float smallest,
                                  const Rounding* rounding) noexcept {
    body(values, count, smallest, *rounding);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, float* values, int64_t count,
                                                    float smallest,
                                                    const Rounding* rounding) noexcept {
    body(values, count, smallest, *rounding);
  }
#endif
};

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
  const bool is_direct =
      plan.type == ScalarType::Float && plan.distribution != Distribution::Integers;
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
