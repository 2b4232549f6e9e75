// SPDX-License-Identifier: MIT
// Checks that the values of a creator's list or container, which may be many, fit another type.
#pragma once

#include <cstdint>

#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The range of a real type, as words of another type: a word is an integer itself, or the bits of
/// a floating value's magnitude, which are largest for infinity and NaN. May refuse values near the
/// limits that do fit: check_fit() converts these. To convert all values would take 60 times as
/// long: 6 ns for an Int to Byte.
struct FitRange {
  size_t size;
  uint64_t mask;   // clears the sign of floating values
  uint64_t start;  // a word fits if (word - start) & mask is at most `span`
  uint64_t span;

  FitRange(ScalarType to, ScalarType from, bool has_infinity) noexcept
      : size(elementSize(from)), mask(UINT64_MAX), start(0) {
    const NumberFormat format = number_format(to);
    const NumberFormat given = number_format(from);
    if (isIntegralType(from, true)) {
      uint64_t most = UINT64_MAX >> (64 - given.digits);
      while (static_cast<double>(most) > format.largest) most >>= 1;
      if (given.lowest < 0 && format.lowest < 0) start = ~most;  // -1 - most
      span = most - start;
    } else {
      mask = (uint64_t{1} << (8 * size - 1)) - 1;
      // The range wraps around: from infinity or NaN past the largest code to 0, and on to the
      // largest value that fits. Infinity's magnitude is 0 for types whose one NaN is the code of
      // -0.
      const uint64_t infinite = magnitude(from, double_from_bits(kDoubleInfinity));
      if (infinite != 0) start = infinite + (has_infinity ? 0 : 1);
      const uint64_t most = magnitude(from, format.largest);
      // A type of fewer digits may have rounded the limit up.
      span = (most - (given.digits < format.digits ? 1 : 0) - start) & mask;
    }
  }
  /// Whether all of `count` words fit.
  bool all_fit(const void* words, int64_t count) const noexcept {
    return size == 1   ? all_fit<uint8_t>(words, count)
           : size == 2 ? all_fit<uint16_t>(words, count)
           : size == 4 ? all_fit<uint32_t>(words, count)
                       : all_fit<uint64_t>(words, count);
  }

 private:
  /// Compares by the sign bit, which is never set in `span`: SSE2 has no 64-bit comparison.
  template <class W>
  TENON_VECTORIZE bool all_fit(const void* words, int64_t count) const noexcept {
    const auto m = static_cast<W>(mask);
    const auto first = static_cast<W>(start);
    const auto most = static_cast<W>(span);
    W bits = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<W>((load_element<W>(words, i) - first) & m);
      bits = static_cast<W>(bits | at | (most - at));
    }
    return bits >> (8 * sizeof(W) - 1) == 0;
  }
  uint64_t magnitude(ScalarType type, double number) const noexcept {
    alignas(8) unsigned char element[8] = {};
    store_exact(type, element, 1, ScalarType::Double, &number);
    return load_word(element, size) & mask;
  }
};

/// Checks that values, for which canCast(from, to) holds, fit a type, rounding aside.
/// Errors: those of store_scalar().
TENON_COMPILED_ONCE Error check_fit(ScalarType to, ScalarType from, const void* values,
                                    int64_t count) noexcept {
  const ScalarType to_part = part_type_of(to);
  const ScalarType from_part = part_type_of(from);
  const NumberFormat format = number_format(to_part);
  const NumberFormat given = number_format(from_part);
  const bool has_infinity = elementSize(to_part) > 1 || to_part == ScalarType::Float8_e5m2;
  if (given.lowest >= format.lowest && given.largest <= format.largest &&
      (has_infinity || isIntegralType(from, true))) {
    return Error::Ok;
  }
  const FitRange range(to_part, from_part, has_infinity);
  const auto size = static_cast<int64_t>(range.size);
  const int64_t parts = isComplexType(from) ? 2 : 1;
  constexpr int64_t kChunk = 1024;
  for (int64_t i = 0; i < parts * count; i += kChunk) {
    const int64_t n = parts * count - i < kChunk ? parts * count - i : kChunk;
    const auto* const chunk = static_cast<const char*>(values) + i * size;
    if (range.all_fit(chunk, n)) continue;
    for (int64_t k = 0; k < n; ++k) {
      if (range.all_fit(chunk + k * size, 1)) continue;
      alignas(16) unsigned char element[16];
      TENON_TRY(store_scalar(to, load_scalar(from, chunk + (k - k % parts) * size), element));
    }
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
