// SPDX-License-Identifier: MIT
// Random elements: what docs/random.md defines, version 1.
//
// Element e of a seed has the words word(e, draw), draw = 0, 1, …: word e % 4 of Philox block e / 4
// of that draw. Nothing else decides its value: memory may be filled in any pieces and any order.
//
// A plan (random_plan.h) names the function that fills, so that a program links only the
// distributions it asks for. The functions make words in chunks and turn those into elements by
// plain loops; loops that take longer than the words have a form for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/small_float.h"
#include "tenon/kernels/box_muller.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/philox.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class Distribution : uint8_t { Uniform, Normal, Integers };

/// The values of a real type.
struct NumberFormat {
  double lowest = 0;
  double largest = 0;    // finite
  int digits = 0;        // bits of precision; of integers, those besides the sign
  int min_exponent = 0;  // as std::numeric_limits has it
  // The codes of floating types of 8 and 16 bits; 0 for others.
  uint32_t sign = 0;
  uint32_t overflow = 0;  // what stands for values above the largest
  uint32_t nan = 0;
  bool signed_zero = false;
};

struct RandomPlan;
/// Makes elements [first, first + count) of a real type: at most plan.chunk, from first % 4 on.
using RandomFill = void (*)(const RandomPlan& plan, const WordStream& stream, uint64_t first,
                            int64_t count, void* out) noexcept;

/// A distribution over the elements of a type, checked and reduced to constants.
struct RandomPlan {
  RandomFill fill = nullptr;
  int64_t chunk = 0;
  Distribution distribution = Distribution::Uniform;
  ScalarType type = ScalarType::Undefined;
  /// Of a part of a complex element, else the element's.
  ScalarType part_type = ScalarType::Undefined;
  NumberFormat format;  // of the part
  /// Whether values are computed in double, else in float: where float holds all of the type.
  bool is_double = false;
  /// What was asked for: the bounds, or the mean and the standard deviation.
  double arguments[2] = {};
  /// Uniform: offset + u * scale, at most `limit`. For types shorter than float (`rounds_down`),
  /// then at least `smallest` and rounded down.
  /// Normal: the mean and the standard deviation.
  double offset = 0;
  double scale = 1;
  double limit = 0;
  double smallest = 0;
  /// Integers: `range` of them from `low` on; those that a floating type does not hold are first
  /// limited to the ends that it does, and then rounded.
  int64_t low = 0;
  uint64_t range = 0;
  int64_t first = 0;
  int64_t last = 0;
};

/// Elements are made in chunks: long ones of what takes one word, which keep small what a chunk
/// costs, short ones of what takes more memory.
inline constexpr int64_t kRandomChunk = 768;
inline constexpr int64_t kShortChunk = 192;
static_assert(kShortChunk % (4 * kPhiloxBlocks) == 0 && kRandomChunk % (4 * kPhiloxBlocks) == 0);

/// Makes the words of a chunk and those of whole blocks around it. Where the chunk's begin.
TENON_LAZY uint32_t* make_words(const WordStream& stream, uint64_t first, int64_t count,
                                uint32_t* buffer) noexcept {
  const uint64_t head = first % 4;
  make_blocks(stream, first / 4, (head + static_cast<uint64_t>(count) + 3) / 4, buffer);
  return buffer + head;
}

/// A kernel whose loops the compiler vectorises, which it does not for small code.
template <class Kernel, class... Args>
void dispatch_loop(Args... args) noexcept {
#if defined(__OPTIMIZE_SIZE__)
  Kernel::run(Baseline(), args...);
  clear_after_baseline();
#else
  dispatch<Kernel>(args...);
#endif
}

/// offset + u * scale, at most limit, where u is the upper 24 bits of the word over 2^24; `unit` is
/// the scale over 2^24.
struct UniformKernel : ForEachSet<UniformKernel> {
  template <class>
  static TENON_ALWAYS_INLINE void body(const uint32_t* TENON_RESTRICT words, int64_t count,
                                       float offset, float unit, float limit,
                                       void* TENON_RESTRICT out) noexcept {
    TENON_NO_CONTRACTION
    for (int64_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(static_cast<int32_t>(words[i] >> 8)) * unit + offset;
      store_element(out, i, value < limit ? value : limit);
    }
  }
};

/// The same with the upper 53 bits of two words, over 2^53, for u.
struct UniformDoubleKernel : ForEachSet<UniformDoubleKernel> {
  template <class>
  static TENON_ALWAYS_INLINE void body(const uint32_t* TENON_RESTRICT upper_words,
                                       const uint32_t* TENON_RESTRICT lower_words, int64_t count,
                                       double offset, double scale, double limit,
                                       double* TENON_RESTRICT out) noexcept {
    TENON_NO_CONTRACTION
    for (int64_t i = 0; i < count; ++i) {
      // Integers below 2^52 become doubles by way of their bits, which any processor can.
      constexpr uint64_t kInteger = 0x4330000000000000u;
      constexpr double kTwo52 = 4503599627370496;
      const double upper = double_from_bits(kInteger | upper_words[i]);
      const double lower = double_from_bits(kInteger | lower_words[i] >> 11);
      const double u = (upper - kTwo52) * (1 / 4294967296.0) + (lower - kTwo52) * (0.5 / kTwo52);
      const double value = u * scale + offset;
      out[i] = value < limit ? value : limit;
    }
  }
};

/// Normal numbers of an even number of words. They come in pairs: elements 2 k and 2 k + 1 are
/// those that Box and Muller's method makes of the words of the first, its radius, and of the
/// second, its angle.
struct NormalKernel : ForEachSet<NormalKernel> {
  template <class Level>
  static TENON_ALWAYS_INLINE void body(const uint32_t* words, int64_t count, float mean,
                                       float stddev, char* out) noexcept {
    constexpr size_t kBytes = Level::vector_bytes;
    constexpr auto kLanes = static_cast<int64_t>(kBytes / sizeof(float));
    constexpr auto lanes = std::make_index_sequence<kBytes / sizeof(float)>();
    int64_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
      Vector<uint32_t, kBytes> low;
      Vector<uint32_t, kBytes> high;
      load(low, words + i);
      load(high, words + i + kLanes);
      Vector<uint32_t, kBytes> radius;
      Vector<uint32_t, kBytes> angle;
      unzip<uint32_t, kBytes>(radius, angle, low, high, lanes);
      Vector<float, kBytes> first;
      Vector<float, kBytes> second;
      box_muller<Several<kBytes>>(first, second, radius, angle, mean, stddev);
      Vector<float, kBytes> values;
      zip_low<float, kBytes>(values, first, second, lanes);
      store(out + i * 4, values);
      zip_high<float, kBytes>(values, first, second, lanes);
      store(out + (i + kLanes) * 4, values);
    }
    for (; i < count; i += 2) {
      float values[2];
      box_muller<Single<float>>(values[0], values[1], words[i], words[i + 1], mean, stddev);
      std::memcpy(out + i * 4, values, sizeof values);
    }
  }
};

/// The same of two words each; kShortChunk at most. In steps, each of which is a loop for vectors.
struct NormalDoubleKernel : ForEachSet<NormalDoubleKernel> {
  template <class>
  static TENON_ALWAYS_INLINE void body(const uint32_t* upper, const uint32_t* lower, int64_t count,
                                       double mean, double stddev,
                                       double* TENON_RESTRICT out) noexcept {
    TENON_NO_CONTRACTION
    using L = Single<double>;
    constexpr int64_t kPairs = kShortChunk / 2;
    uint64_t radius[kPairs];
    uint64_t angle[kPairs];
    double r[kPairs];
    double cosine[kPairs];
    double sine[kPairs];
    const int64_t pairs = count / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      radius[i] = uint64_t{upper[2 * i]} << 32 | lower[2 * i];
      angle[i] = uint64_t{upper[2 * i + 1]} << 32 | lower[2 * i + 1];
    }
    for (int64_t i = 0; i < pairs; ++i) minus_two_log<L>(r[i], radius[i]);
    for (int64_t i = 0; i < pairs; ++i) L::square_root(r[i], r[i]);
    for (int64_t i = 0; i < pairs; ++i) cos_sin<L>(cosine[i], sine[i], angle[i]);
    for (int64_t i = 0; i < pairs; ++i) {
      out[2 * i] = r[i] * stddev * cosine[i] + mean;
      out[2 * i + 1] = r[i] * stddev * sine[i] + mean;
    }
  }
};

/// low + the upper half of word * range; the least of the products' lower halves is kept, since
/// where one is below 2^32 mod range the word is to be drawn again, so that all integers are
/// equally probable. Source: Lemire, "Fast Random Integer Generation in an Interval" (2019).
struct IntegerKernel : ForEachSet<IntegerKernel> {
  template <class Level>
  static TENON_ALWAYS_INLINE void body(const uint32_t* words, int64_t count, uint32_t low,
                                       uint32_t range, char* out, uint32_t* least) noexcept {
    int64_t i = 0;
    uint32_t smallest = UINT32_MAX;
#if TENON_HAS_WIDE_PRODUCTS
    constexpr size_t kBytes = Level::vector_bytes;
    constexpr auto kLanes = static_cast<int64_t>(kBytes / sizeof(uint32_t));
    using Longs = Vector<uint64_t, kBytes>;
    using Words = Vector<uint32_t, kBytes>;
    Words leasts = ~Words{};
    for (; i + kLanes <= count; i += kLanes) {
      Longs pairs;
      load(pairs, words + i);
      Longs even;
      Longs odd;
      multiply_low<kBytes>(even, pairs, Longs{} + range);
      multiply_low<kBytes>(odd, pairs >> 32, Longs{} + range);
      const Words even_words = reinterpret_cast<Words>(even);
      const Words odd_words = reinterpret_cast<Words>(odd);
      leasts = even_words < leasts ? even_words : leasts;  // in the even lanes
      leasts = odd_words < leasts ? odd_words : leasts;
      const Longs upper = (even >> 32) | (odd & 0xffffffff00000000u);
      store(out + i * 4, reinterpret_cast<Words>(upper) + low);
    }
    for (int64_t k = 0; k < kLanes; k += 2) smallest = leasts[k] < smallest ? leasts[k] : smallest;
#endif
    for (; i < count; ++i) {
      const uint64_t product = uint64_t{words[i]} * range;
      const auto lower = static_cast<uint32_t>(product);
      const uint32_t value = low + static_cast<uint32_t>(product >> 32);
      std::memcpy(out + i * 4, &value, sizeof value);
      smallest = lower < smallest ? lower : smallest;
    }
    *least = smallest;
  }
};

/// Floats as codes of a type of 8 or 16 bits: those below `smallest` as that, rounded down where
/// `down` is all ones, else to nearest. Not for -0 where they are rounded down.
struct EncodeKernel : ForEachSet<EncodeKernel> {
  template <class>
  static TENON_ALWAYS_INLINE void body(const float* TENON_RESTRICT values, int64_t count,
                                       float smallest, uint32_t down, const NumberFormat* format,
                                       uint32_t* TENON_RESTRICT codes) noexcept {
    const auto shift = static_cast<uint32_t>(24 - format->digits);
    const uint32_t dropped = (1u << shift) - 1;
    const uint32_t rebias = static_cast<uint32_t>(125 + format->min_exponent) << 23;
    // Below this only multiples of a step are held. With float's own exponents (bfloat16) the
    // subnormal ones lose the same bits as all others.
    const bool has_steps = rebias != 0;
    const int32_t normal = has_steps ? static_cast<int32_t>(rebias + (1u << 23)) : 0;
    const float step = has_steps ? float_from_bits(rebias + (1u << 23) - ((23 - shift) << 23)) : 0;
    const float aligned = step * 12582912.0f;  // 3 * 2^22: a sum with it is rounded to steps
    const auto overflow = static_cast<int32_t>(format->overflow);
    const uint32_t nan = format->nan;
    const uint32_t sign = format->sign;
    const uint32_t signed_zero = format->signed_zero ? UINT32_MAX : 0;
    for (int64_t i = 0; i < count; ++i) {
      const float value = values[i] < smallest ? smallest : values[i];
      const uint32_t bits = float_bits(value);
      const uint32_t negative = uint32_t{0} - (bits >> 31);
      const uint32_t magnitude = bits & 0x7fffffffu;
      const uint32_t up =
          (down & negative & dropped) | (~down & ((dropped >> 1) + (magnitude >> shift & 1)));
      const uint32_t whole = (magnitude - rebias + up) >> shift;
      // The sum's last bit is worth a step. The difference as integers, which -ffast-math keeps.
      const uint32_t nearest = float_bits(value + aligned) - float_bits(aligned);
      const float rest = value - static_cast<float>(static_cast<int32_t>(nearest)) * step;
      const uint32_t steps = nearest - (float_bits(rest) >> 31 & down);
      // Masks: with branches GCC does not vectorise the loop.
      const uint32_t tiny = mask_of(static_cast<int32_t>(magnitude) < normal);
      const uint32_t is_nan = mask_of(static_cast<int32_t>(magnitude) > 0x7f800000);
      const uint32_t finite = (((steps ^ negative) - negative) & tiny) | (whole & ~tiny);
      const uint32_t above = mask_of(static_cast<int32_t>(finite) > overflow);
      const uint32_t number = (finite & ~above) | (static_cast<uint32_t>(overflow) & above);
      const uint32_t code = (number & ~is_nan) | (nan & is_nan);
      codes[i] = code | (sign & negative & (signed_zero | mask_of(code != 0)));
    }
  }
  static TENON_ALWAYS_INLINE uint32_t mask_of(bool condition) noexcept {
    return uint32_t{0} - static_cast<uint32_t>(condition);
  }
};

/// Stores the low `size` bytes of each, 1, 2 or 4.
template <class = void>
TENON_VECTORIZE void store_codes(const uint32_t* TENON_RESTRICT codes, int64_t count, size_t size,
                                 void* TENON_RESTRICT out) noexcept {
  if (size == 4) std::memcpy(out, codes, static_cast<size_t>(count) * 4);
  for (int64_t i = 0; size == 2 && i < count; ++i) {
    const auto code = static_cast<uint16_t>(codes[i]);
    std::memcpy(static_cast<char*>(out) + 2 * i, &code, sizeof code);
  }
  for (int64_t i = 0; size == 1 && i < count; ++i) {
    static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(codes[i]);
  }
}

/// Stores floats as elements of plan.part_type, which float holds. To integers they are truncated.
template <class = void>
TENON_VECTORIZE void store_floats(const RandomPlan& plan, const float* values, int64_t count,
                                  bool down, void* out) noexcept {
  const size_t size = elementSize(plan.part_type);
  uint32_t codes[kRandomChunk];
  if (plan.part_type == ScalarType::Float) {
    std::memcpy(out, values, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  if (plan.part_type == ScalarType::Bool) {
    for (int64_t i = 0; i < count; ++i) codes[i] = float_bits(values[i]) << 1 != 0 ? 1 : 0;
  } else if (isIntegralType(plan.part_type, false)) {
    const auto lowest = static_cast<float>(plan.format.lowest);
    const auto largest = static_cast<float>(plan.format.largest);
    for (int64_t i = 0; i < count; ++i) {
      const float value = values[i] > lowest ? values[i] : lowest;
      codes[i] = static_cast<uint32_t>(static_cast<int32_t>(value < largest ? value : largest));
    }
  } else {
    const auto smallest = static_cast<float>(down ? plan.smallest : -3.4028234663852886e38);
    const uint32_t mask = down ? UINT32_MAX : 0;
    dispatch_loop<EncodeKernel>(values, count, smallest, mask, &plan.format,
                                static_cast<uint32_t*>(codes));
  }
  store_codes(static_cast<const uint32_t*>(codes), count, size, out);
}

/// The same of doubles, for all types; kShortChunk at most.
TENON_LAZY void store_doubles(const RandomPlan& plan, const double* values, int64_t count,
                              void* out) noexcept {
  if (plan.part_type == ScalarType::Double) {
    std::memcpy(out, values, static_cast<size_t>(count) * sizeof(double));
    return;
  }
  if (plan.format.digits <= 24) {
    float floats[kShortChunk];
    const bool is_float = plan.part_type == ScalarType::Float;
    for (int64_t i = 0; i < count; ++i) {
      floats[i] = is_float ? static_cast<float>(values[i]) : round_to_odd(values[i]);
    }
    return store_floats(plan, floats, count, false, out);
  }
  const double lowest = plan.format.lowest;
  const uint64_t largest = UINT64_MAX >> (64 - plan.format.digits);
  const uint64_t least = lowest < 0 ? ~largest : 0;
  const bool is_long = elementSize(plan.part_type) == 8;
  for (int64_t i = 0; i < count; ++i) {
    const double value = values[i];
    const uint64_t integer = !(value > lowest)              ? least
                             : value >= plan.format.largest ? largest
                             : value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                         : static_cast<uint64_t>(value);
    if (is_long) {
      store_element<uint64_t>(out, i, integer);
    } else {
      store_element<uint32_t>(out, i, static_cast<uint32_t>(integer));
    }
  }
}

TENON_COMPILED_ONCE void fill_uniform(const RandomPlan& plan, const WordStream& stream,
                                      uint64_t first, int64_t count, void* out) noexcept {
  const auto offset = static_cast<float>(plan.offset);
  const float unit = static_cast<float>(plan.scale) * (1 / 16777216.0f);
  const auto limit = static_cast<float>(plan.limit);
  uint32_t words[kRandomChunk];
  const uint32_t* const from = make_words(stream, first, count, words);
  if (plan.is_double) {
    uint32_t more[kShortChunk];
    double values[kShortChunk];
    const uint32_t* const lower = make_words({stream.seed, stream.draw + 1}, first, count, more);
    dispatch_loop<UniformDoubleKernel>(from, lower, count, plan.offset, plan.scale, plan.limit,
                                       static_cast<double*>(values));
    return store_doubles(plan, values, count, out);
  }
  if (plan.part_type == ScalarType::Float) {
    return dispatch_loop<UniformKernel>(from, count, offset, unit, limit, out);
  }
  float values[kRandomChunk];
  dispatch_loop<UniformKernel>(from, count, offset, unit, limit, static_cast<void*>(values));
  store_floats(plan, values, count, true, out);
}

TENON_COMPILED_ONCE void fill_normal(const RandomPlan& plan, const WordStream& stream,
                                     uint64_t first, int64_t count, void* out) noexcept {
  // Whole pairs, of which the first and the last value may not be asked for.
  const auto skipped = static_cast<int64_t>(first % 2);
  const int64_t made = (skipped + count + 1) / 2 * 2;
  const uint64_t even = first - static_cast<uint64_t>(skipped);
  uint32_t words[kRandomChunk];
  const uint32_t* const from = make_words(stream, even, made, words);
  if (plan.is_double) {
    uint32_t more[kShortChunk];
    double values[kShortChunk];
    const uint32_t* const lower = make_words({stream.seed, stream.draw + 1}, even, made, more);
    dispatch_loop<NormalDoubleKernel>(from, lower, made, plan.offset, plan.scale,
                                      static_cast<double*>(values));
    return store_doubles(plan, values + skipped, count, out);
  }
  const auto mean = static_cast<float>(plan.offset);
  const auto stddev = static_cast<float>(plan.scale);
  if (plan.part_type == ScalarType::Float && made == count) {
    return dispatch<NormalKernel>(from, made, mean, stddev, static_cast<char*>(out));
  }
  float values[kRandomChunk];
  dispatch<NormalKernel>(from, made, mean, stddev, reinterpret_cast<char*>(values));
  store_floats(plan, values + skipped, count, false, out);
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

/// Stores integers of at most kOneWordRange numbers, each plus the low half of `low`, as uint32_t.
TENON_LAZY void fill_small_integers(const RandomPlan& plan, uint64_t seed, uint64_t first,
                                    int64_t count, uint32_t low, void* out) noexcept {
  uint32_t buffer[kRandomChunk];
  const uint32_t* const words = make_words({seed, 0}, first, count, buffer);
  const auto range = static_cast<uint32_t>(plan.range);
  const auto excess = static_cast<uint32_t>((uint64_t{1} << 32) % range);
  uint32_t least;
  dispatch<IntegerKernel>(words, count, low, range, static_cast<char*>(out), &least);
  for (int64_t i = 0; least < excess && i < count; ++i) {
    if (words[i] * range >= excess) continue;
    const uint64_t integer = random_integer(seed, first + static_cast<uint64_t>(i), range, 1);
    store_element<uint32_t>(out, i, low + static_cast<uint32_t>(integer));
  }
}

TENON_COMPILED_ONCE void fill_integers(const RandomPlan& plan, const WordStream& stream,
                                       uint64_t first, int64_t count, void* out) noexcept {
  const auto low = static_cast<uint64_t>(plan.low);
  const bool is_small = plan.range <= kOneWordRange;
  const size_t size = elementSize(plan.part_type);
  const bool is_integral = isIntegralType(plan.part_type, true);
  if (is_small && is_integral && size == 4) {
    return fill_small_integers(plan, stream.seed, first, count, static_cast<uint32_t>(low), out);
  }
  uint32_t integers[kShortChunk];
  int64_t values[kShortChunk];
  if (is_small) {
    fill_small_integers(plan, stream.seed, first, count, 0, integers);
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>(low + integers[i]);
  } else {
    uint32_t more[kShortChunk];
    const uint32_t* const upper = make_words(stream, first, count, integers);
    const uint32_t* const lower = make_words({stream.seed, stream.draw + 1}, first, count, more);
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
  if (size == 8 && is_integral) {
    std::memcpy(out, values, static_cast<size_t>(count) * size);
    return;
  }
  if (is_integral) {
    for (int64_t i = 0; i < count; ++i) integers[i] = static_cast<uint32_t>(values[i]);
    return store_codes(static_cast<const uint32_t*>(integers), count, size, out);
  }
  float floats[kShortChunk];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = values[i] < plan.first  ? plan.first
                          : values[i] > plan.last ? plan.last
                                                  : values[i];
    if (size == 8) {
      store_element<double>(out, i, static_cast<double>(value));
    } else {
      floats[i] = size == 4 ? static_cast<float>(value) : round_to_odd(round_to_odd_double(value));
    }
  }
  if (size != 8) store_floats(plan, floats, count, false, out);
}

/// Elements [first, first + count) of a plan; plan.chunk at most, from first % 4 on.
TENON_LAZY void fill_chunk(const RandomPlan& plan, uint64_t seed, uint64_t first, int64_t count,
                           char* out) noexcept {
  if (plan.type == plan.part_type) return plan.fill(plan, {seed, 0}, first, count, out);
  // The parts of complex elements have draws of their own; integers have no imaginary part.
  const size_t size = elementSize(plan.part_type);
  alignas(8) char values[kShortChunk * 8] = {};
  for (uint32_t part = 0; part < 2; ++part) {
    if (part == 0 || plan.distribution != Distribution::Integers) {
      plan.fill(plan, {seed, 2 * part}, first, count, values);
    } else {
      std::memset(values, 0, sizeof values);
    }
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      std::memcpy(out + (2 * i + part) * size, values + i * size, size);
    }
  }
}

/// Elements [first, first + count) of a plan to consecutive memory, which needs no alignment.
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
