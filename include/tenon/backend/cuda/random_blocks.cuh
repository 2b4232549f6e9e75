// SPDX-License-Identifier: MIT
// Random elements on a device: the elements of docs/random.md, made in Philox blocks of four.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/backend/cuda/elements.cuh"
#include "tenon/backend/cuda/operations.cuh"
#include "tenon/config.h"
#include "tenon/core/generator.h"
#include "tenon/kernels/random_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Writes the elements of a plan. Values are made as float, double or, if they are integers,
/// int64_t.
template <Distribution kDistribution, class Value>
struct RandomBlocks : Written {
  using Number = std::conditional_t<std::is_integral_v<Value>, double, Value>;

  uint64_t seed;
  uint64_t first;  ///< number of the first element
  CastTarget as;
  int parts;         ///< of an element: 2 if it is complex
  bool rounds_down;  ///< because the format is shorter than Value
  bool is_packed;    ///< whether a block's values are adjacent, aligned and stored without a cast
  float smallest;
  Number offset;
  Number scale;
  Number limit;
  int64_t low;
  uint64_t range;
  uint64_t excess;  ///< products below it are drawn again
  bool is_clamped;
  int64_t lowest;
  int64_t highest;

  RandomBlocks(const TensorView& out, const RandomPlan& plan,
               const Generator::State& start) noexcept
      : Written(out),
        seed(start.seed),
        first(start.offset),
        as(plan.part_type, std::is_integral_v<Value> ? ScalarType::Long : plan.computed,
           CastMode::Truncate),
        parts(plan.type == plan.part_type ? 1 : 2),
        rounds_down(kDistribution == Distribution::Uniform && sizeof(Value) == sizeof(float) &&
                    isFloatingType(plan.part_type) && plan.part_type != ScalarType::Float),
        smallest(static_cast<float>(plan.smallest)),
        offset(static_cast<Number>(plan.offset)),
        scale(static_cast<Number>(plan.scale)),
        limit(static_cast<Number>(plan.limit)),
        low(plan.low),
        range(plan.range),
        excess(range == 0               ? 0
               : range <= kOneWordRange ? (uint64_t{1} << 32) % range
                                        : (uint64_t{0} - range) % range),
        is_clamped(!isIntegralType(plan.part_type, true)),
        lowest(plan.first),
        highest(plan.last) {
    const bool is_value =
        std::is_integral_v<Value> ? as.is_integer && as.size == 4 : plan.part_type == plan.computed;
    is_packed = is_value && parts == 1 && at.is_row(as.size) &&
                is_aligned(dst + (4 - first % 4) % 4 * static_cast<uint64_t>(as.size), 16);
  }

  /// How many blocks there are.
  int64_t blocks() const noexcept {
    return static_cast<int64_t>((first % 4 + static_cast<uint64_t>(at.count) + 3) / 4);
  }

  TENON_HOST_DEVICE void operator()(int64_t number) const noexcept {
    const uint64_t block = first / 4 + static_cast<uint64_t>(number);
    Value values[4];
    for (int part = 0; part < parts; ++part) {
      make({seed, 2 * static_cast<uint32_t>(part)}, block, values);
      if (kDistribution == Distribution::Integers && part == 1) {
        for (Value& value : values) value = 0;  // random integers have no imaginary part
      }
      // For elements before the first the index wraps and is huge.
      const uint64_t index = 4 * block - first;
      const auto count = static_cast<uint64_t>(at.count);
      if (is_packed && index < count && count - index >= 4) {
        store_packed(dst + static_cast<int64_t>(index) * as.size, values);
      } else {
        for (uint64_t k = 0; k < 4; ++k) {
          if (index + k >= count) continue;
          int64_t bytes[1];
          at.find(static_cast<int64_t>(index + k), bytes);
          // Not values[k], which would keep the array in memory instead of registers.
          const Value value = k < 2    ? k == 0 ? values[0] : values[1]
                                 : k == 2 ? values[2]
                                       : values[3];
          store(dst + bytes[0] + part * as.size, value);
        }
      }
    }
  }

 private:
  TENON_HOST_DEVICE TENON_VECTORIZE_EXACT void make(const WordStream& stream, uint64_t block,
                                                    Value (&values)[4]) const noexcept {
    TENON_NO_CONTRACTION
    constexpr bool kIsFloat = std::is_same_v<Value, float>;
    constexpr bool kIsInteger = kDistribution == Distribution::Integers;
    uint32_t upper[4];
    uint32_t lower[4] = {};
    stream.block(block, upper);
    if (kIsInteger ? range > kOneWordRange : !kIsFloat) stream.next().block(block, lower);
    if constexpr (kIsInteger) {
      for (uint32_t k = 0; k < 4; ++k) values[k] = integer(4 * block + k, upper[k], lower[k]);
    } else if constexpr (kDistribution == Distribution::Uniform) {
      for (int k = 0; k < 4; ++k) {
        values[k] = uniform_value(upper[k], lower[k], offset, scale, limit);
      }
    } else {
      using Word = typename NormalMath<Value>::Word;
      for (int k = 0; k < 4; k += 2) {
        Word radius = upper[k];
        Word angle = upper[k + 1];
        if constexpr (!kIsFloat) {
          radius = radius << 32 | lower[k];
          angle = angle << 32 | lower[k + 1];
        }
        Value cosine;
        Value sine;
        cos_sin(cosine, sine, angle);
        const Value r = multiply(square_root(minus_two_log<Value>(radius)), scale);
        values[k] = multiply(r, cosine) + offset;
        values[k + 1] = multiply(r, sine) + offset;
      }
    }
  }

  TENON_HOST_DEVICE int64_t integer(uint64_t element, uint32_t upper,
                                    uint32_t lower) const noexcept {
    uint64_t made;
    uint64_t rest;
    if (range <= kOneWordRange) {
      const uint64_t product = uint64_t{upper} * range;
      made = product >> 32;
      rest = static_cast<uint32_t>(product);
    } else {
      made = multiply_wide(uint64_t{upper} << 32 | lower, range, rest);
    }
    if (rest < excess) made = random_integer(seed, element, range, 1);
    const auto value = static_cast<int64_t>(static_cast<uint64_t>(low) + made);
    if (!is_clamped) return value;
    return value < lowest ? lowest : value > highest ? highest : value;
  }

  TENON_HOST_DEVICE void store(char* to, Value value) const noexcept {
    if constexpr (std::is_integral_v<Value>) {
      store_integer(as, to, value);
    } else {
      if constexpr (std::is_same_v<Value, float>) {
        if (rounds_down) return store_rounded_down(to, value < smallest ? smallest : value);
      }
      store_number(as, to, value);
    }
  }
  /// Stores the value rounded down: if the nearest code is above the value, the next lower code.
  TENON_HOST_DEVICE void store_rounded_down(char* to, float value) const noexcept {
    const auto code = static_cast<uint32_t>(encode_small(as.type, value));
    store_bits(as.size, to, code);
    if (!(load_float(as.type, to) > value)) return;
    const uint32_t sign = 1u << (8 * as.size - 1);
    store_bits(as.size, to, value < 0 ? (code | sign) + 1 : code - 1);
  }
  TENON_HOST_DEVICE void store_packed(char* to, const Value (&values)[4]) const noexcept {
    if constexpr (std::is_integral_v<Value>) {
      Packed<uint32_t> packed;
      for (int k = 0; k < 4; ++k) packed.values[k] = static_cast<uint32_t>(values[k]);
      store_aligned(to, packed);
    } else {
      constexpr int kLanes = 16 / sizeof(Value);
      for (int k = 0; k < 4; k += kLanes) {
        Packed<Value> packed;
        for (int j = 0; j < kLanes; ++j) packed.values[j] = values[k + j];
        store_aligned(to + k * static_cast<int>(sizeof(Value)), packed);
      }
    }
  }
};

}  // namespace detail
TENON_END_NAMESPACE
