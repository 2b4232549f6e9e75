// SPDX-License-Identifier: MIT
// In one pass over elements, counts NaN and infinities, and computes the other values' range, sum
// and squared deviations.
//
// The order of additions is fixed: sixteen interleaved sums in each block of kSummaryBlock
// elements, then blocks pairwise. So results depend neither on the processor nor on compiler
// options, and errors grow with the logarithm of the count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/scalar.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/range.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline constexpr int64_t kSummaryBlock = 1024;

/// Count, sum, and sum of squared deviations from the mean.
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;

  /// The population's standard deviation; NaN if empty.
  TENON_VECTORIZE_EXACT double mean() const noexcept {
    TENON_NO_CONTRACTION
    return count == 0 ? kNan : sum / count;
  }
  TENON_VECTORIZE_EXACT double deviation() const noexcept {
    TENON_NO_CONTRACTION
    return count == 0 ? kNan : square_root(squares / count);
  }
};

/// The moments of two groups together.
TENON_VECTORIZE_EXACT inline Moments join(const Moments& a, const Moments& b) noexcept {
  TENON_NO_CONTRACTION
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count;
  const double distance = b.sum / b.count - a.sum / a.count;
  const double weight = a.count * b.count / count;
  return {count, a.sum + b.sum, a.squares + b.squares + distance * distance * weight};
}

struct BlockSummary {
  double sum;
  double squares;
  double least;
  double largest;
};

/// Summarizes 1 to kSummaryBlock doubles. If one is not finite, neither is the sum, and the rest is
/// unusable.
struct SummaryKernel : ForEachIsa<SummaryKernel> {
  static constexpr int64_t kLanes = 16;

  /// Adds the lanes pairwise, in a fixed order.
  static TENON_ALWAYS_INLINE double add_lanes(double* lanes) noexcept {
    TENON_NO_CONTRACTION
    for (int64_t half = kLanes / 2; half != 0; half /= 2) {
      for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    return lanes[0];
  }

  template <class Level>
  static TENON_INLINE_IN_TARGET void body(const char* x, int64_t count,
                                          BlockSummary* out) noexcept {
    TENON_NO_CONTRACTION
    constexpr size_t kBytes = Level::vector_bytes;
    using V = Vector<double, kBytes>;
    constexpr size_t kVectors = static_cast<size_t>(kLanes) * 8 / kBytes;
    const int64_t whole = count & -kLanes;
    const auto first = load_element<double>(x, 0);
    V sums[kVectors] = {};
    V least[kVectors];
    V largest[kVectors];
    for (size_t v = 0; v < kVectors; ++v) least[v] = largest[v] = V{} + first;
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (size_t v = 0; v < kVectors; ++v) {
        V value;
        load(value, x + i * 8 + v * kBytes);
        sums[v] += value;
        least[v] = value < least[v] ? value : least[v];
        largest[v] = value > largest[v] ? value : largest[v];
      }
    }
    double lanes[3][kLanes];
    std::memcpy(lanes[0], sums, sizeof sums);
    std::memcpy(lanes[1], least, sizeof least);
    std::memcpy(lanes[2], largest, sizeof largest);
    for (int64_t k = 0; k < count - whole; ++k) {
      const auto value = load_element<double>(x, whole + k);
      lanes[0][k] += value;
      if (value < lanes[1][k]) lanes[1][k] = value;
      if (value > lanes[2][k]) lanes[2][k] = value;
    }
    out->sum = add_lanes(lanes[0]);
    out->least = lanes[1][0];
    out->largest = lanes[2][0];
    for (int64_t k = 1; k < kLanes; ++k) {
      if (lanes[1][k] < out->least) out->least = lanes[1][k];
      if (lanes[2][k] > out->largest) out->largest = lanes[2][k];
    }

    const double mean = out->sum / static_cast<double>(count);
    for (V& square : sums) square = V{};
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (size_t v = 0; v < kVectors; ++v) {
        V value;
        load(value, x + i * 8 + v * kBytes);
        value -= mean;
        sums[v] += value * value;
      }
    }
    std::memcpy(lanes[0], sums, sizeof sums);
    for (int64_t k = 0; k < count - whole; ++k) {
      const double distance = load_element<double>(x, whole + k) - mean;
      lanes[0][k] += distance * distance;
    }
    out->squares = add_lanes(lanes[0]);
  }
};

inline void summarize(const char* x, int64_t count, BlockSummary& out) noexcept {
  dispatch<SummaryKernel, kHasVariants>(x, count, &out);
}

/// The summary so far. Infinities and NaN are counted separately from the finite values.
struct RunningSummary {
  ScalarType type = ScalarType::Undefined;
  int64_t numel = 0;
  int64_t nans = 0;
  int64_t positive_infinities = 0;
  int64_t negative_infinities = 0;
  double least = double_from_bits(kDoubleInfinity);
  double largest = -double_from_bits(kDoubleInfinity);
  ValueRange integers{ScalarType::Long};  // the range of integers, exactly
  uint64_t blocks = 0;
  Moments levels[56];  // levels[i]: of 2^i blocks, if bit i of `blocks` is set

  int64_t finite() const noexcept {
    return numel - nans - positive_infinities - negative_infinities;
  }

  /// Adds blocks of kSummaryBlock elements; only the very last block may have fewer. `type` is not
  /// complex; `conversion` converts it to double.
  void add(const char* elements, int64_t count, Conversion& conversion) noexcept {
    alignas(64) double room[kSummaryBlock];
    auto* const converted = reinterpret_cast<char*>(room);
    for (int64_t n = 0; count != 0; count -= n, elements += n * conversion.from_size) {
      n = count < kSummaryBlock ? count : kSummaryBlock;
      if (type == ScalarType::Double) {
        add_doubles(elements, n, room);
      } else {
        conversion.run(converted, elements, n);
        clear_after_variants();
        add_doubles(converted, n, room);
      }
      if (numel == 0) integers = ValueRange(type);
      if (isIntegralType(type, true)) integers.add(elements, n);
      numel += n;
    }
  }

  /// The least of the finite values; NaN if there are none.
  Scalar least_value() const noexcept {
    return isIntegralType(type, true) ? integers.least_value() : value_of(least);
  }
  Scalar largest_value() const noexcept {
    return isIntegralType(type, true) ? integers.largest_value() : value_of(largest);
  }
  Moments moments() const noexcept {
    Moments all;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i) {
      if ((blocks >> i & 1u) != 0) all = join(levels[i], all);
    }
    return all;
  }

 private:
  Scalar value_of(double value) const noexcept {
    if (finite() == 0) return kNan;
    if (double_bits(value) << 1 == 0) return 0.0;  // the sign of zero would depend on the order
    return value;
  }

  /// `room` has space for `count` values, and may be equal to `values`.
  void add_doubles(const char* values, int64_t count, double* room) noexcept {
    BlockSummary found;
    summarize(values, count, found);
    if (!is_finite(found.sum)) {
      count = take_finite(values, count, room);
      if (count != 0) summarize(reinterpret_cast<const char*>(room), count, found);
    }
    Moments added;
    if (count != 0) {
      if (found.least < least) least = found.least;
      if (found.largest > largest) largest = found.largest;
      added = {static_cast<double>(count), found.sum, found.squares};
    }
    size_t i = 0;
    for (; (blocks >> i & 1u) != 0; ++i) added = join(levels[i], added);
    levels[i] = added;
    ++blocks;
  }

  /// Counts the values that are not finite, and compacts the others.
  int64_t take_finite(const char* values, int64_t count, double* finite) noexcept {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = load_element<double>(values, i);
      if (is_finite(value)) {
        finite[kept++] = value;
      } else if (is_nan(value)) {
        ++nans;
      } else {
        ++(double_bits(value) >> 63 == 0 ? positive_infinities : negative_infinities);
      }
    }
    return kept;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
