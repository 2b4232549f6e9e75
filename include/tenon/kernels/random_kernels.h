// SPDX-License-Identifier: MIT
// The loops that turn random words into values: uniform, normal and integer ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/small_float.h"
#include "tenon/kernels/box_muller.h"
#include "tenon/kernels/dispatch.h"
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
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put(char* out, const Vector<uint32_t, kBytes>& words,
                               Vector<uint32_t, kBytes>&) const noexcept {
    store(out, words);
  }
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
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put(char* out, const Vector<uint32_t, kBytes>& words,
                               Vector<uint32_t, kBytes>&) const noexcept {
    TENON_NO_CONTRACTION
    using Floats = Vector<float, kBytes>;
    const auto upper = reinterpret_cast<Vector<int32_t, kBytes>>(words >> 8);
    const Floats value = __builtin_convertvector(upper, Floats) * unit + offset;
    const Floats most = Floats{} + limit;
    store(out, value < most ? value : most);
  }
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
  TENON_ALWAYS_INLINE void put(char* out, const Vector<uint32_t, kBytes>& words,
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
  /// `count` words, an even number.
  template <class Level>
  static TENON_ALWAYS_INLINE void body(char* data, int64_t count, float mean,
                                       float stddev) noexcept {
    int64_t i = 0;
    constexpr auto kStep = static_cast<int64_t>(2 * Level::vector_bytes / sizeof(float));
    for (; i + kStep <= count; i += kStep) {
      pairs<Level::vector_bytes>(data + i * 4, mean, stddev);
    }
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
      // The sum's last bit is worth a step. The difference as integers, which -ffast-math keeps.
      const auto nearest = static_cast<int32_t>(float_bits(value + aligned) - float_bits(aligned));
      float steps = static_cast<float>(nearest) * step;
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

}  // namespace detail
TENON_END_NAMESPACE
