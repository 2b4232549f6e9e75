// SPDX-License-Identifier: MIT
// The least and the largest of consecutive elements.
//
// Compares bits: elements become signed integers in the same order. So each size has one loop, and
// NaN is found although compilers may assume that there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/scalar.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The largest magnitude of a floating type that is not NaN, as bits: infinity, if it has one.
constexpr uint64_t last_number(ScalarType type) noexcept {
  return type == ScalarType::Double          ? kDoubleInfinity
         : type == ScalarType::Float         ? 0x7f800000u
         : type == ScalarType::Half          ? 0x7c00u
         : type == ScalarType::BFloat16      ? 0x7f80u
         : type == ScalarType::Float8_e5m2   ? 0x7cu
         : type == ScalarType::Float8_e4m3fn ? 0x7eu
                                             : 0x7fu;
}
/// Widens a range to the keys of elements: `flip` makes unsigned integers signed, `fold` reverses
/// the order of negative floating values.
template <class T>
struct RangeKernel : ForEachIsa<RangeKernel<T>, sizeof(T) == 8> {
  template <class>
  static TENON_INLINE_IN_TARGET void body(const char* x, int64_t count, T flip, T fold, T* range) {
    constexpr int kSign = 8 * sizeof(T) - 1;
    T least = range[0];
    T largest = range[1];
    for (int64_t i = 0; i < count; ++i) {
      auto key = static_cast<T>(load_element<T>(x, i) ^ flip);
      key = static_cast<T>(key ^ ((key >> kSign) & fold));
      least = key < least ? key : least;
      largest = key > largest ? key : largest;
    }
    range[0] = least;
    range[1] = largest;
  }
};

/// The range of the elements of a real type that were added.
class ValueRange {
 public:
  explicit ValueRange(ScalarType type) noexcept : type_(type) {
    const int sign = 8 * static_cast<int>(elementSize(type)) - 1;
    const bool is_floating = isFloatingType(type);
    const bool is_signed = type == ScalarType::Char || type == ScalarType::Short ||
                           type == ScalarType::Int || type == ScalarType::Long;
    flip_ = is_floating || is_signed ? 0 : INT64_MIN >> (63 - sign);
    fold_ = is_floating ? INT64_MAX >> (63 - sign) : 0;
  }

  TENON_TEMPLATE_INLINE void add(const char* elements, int64_t count) noexcept {
    switch (elementSize(type_)) {
      case 1: widen_bytes(elements, count); break;
      case 2: widen<int16_t>(elements, count); break;
      case 4: widen<int32_t>(elements, count); break;
      default: widen<int64_t>(elements, count); break;
    }
  }

  /// The least value, NaN if there was a NaN. A zero is never negative.
  Scalar least_value() const noexcept { return value_of(range_[0]); }
  Scalar largest_value() const noexcept { return value_of(range_[1]); }

 private:
  void widen_bytes(const char* elements, int64_t count) noexcept {
    if (!has_unsigned_zero(type_)) return widen<int8_t>(elements, count);
    constexpr int64_t kBlock = 4096;  // both passes over a block find it in the cache
    for (int64_t n = 0; count != 0; count -= n, elements += n) {
      n = count < kBlock ? count : kBlock;
      widen<int8_t>(elements, n);
      has_nan_ = has_nan_ || std::memchr(elements, 0x80, static_cast<size_t>(n)) != nullptr;
    }
  }

  template <class T>
  void widen(const char* elements, int64_t count) noexcept {
    T range[] = {(std::numeric_limits<T>::max)(), (std::numeric_limits<T>::min)()};
    dispatch<RangeKernel<T>, kHasVariants>(elements, count, static_cast<T>(flip_),
                                           static_cast<T>(fold_), range);
    if (range[0] < range_[0]) range_[0] = range[0];
    if (range[1] > range_[1]) range_[1] = range[1];
  }

  Scalar value_of(int64_t key) const noexcept {
    const bool is_floating = isFloatingType(type_);
    const auto last = static_cast<int64_t>(last_number(type_));
    if (is_floating && (has_nan_ || range_[1] > last || range_[0] < ~last)) return kNan;
    const int64_t bits = (key ^ (key < 0 ? fold_ : 0)) ^ flip_;
    alignas(16) unsigned char element[16];  // with 8, GCC warns of load_scalar()'s widest case
    switch (elementSize(type_)) {
      case 1: store_element(element, 0, static_cast<int8_t>(bits)); break;
      case 2: store_element(element, 0, static_cast<int16_t>(bits)); break;
      case 4: store_element(element, 0, static_cast<int32_t>(bits)); break;
      default: store_element(element, 0, bits); break;
    }
    const Scalar value = load_scalar(type_, element);
    // A zero, or a number that the processor takes for zero with -ffast-math.
    return is_floating && double_bits(value.to<double>()) << 1 == 0 ? Scalar(0.0) : value;
  }

  ScalarType type_;
  bool has_nan_ = false;
  int64_t flip_;
  int64_t fold_;
  int64_t range_[2] = {INT64_MAX, INT64_MIN};
};

}  // namespace detail
TENON_END_NAMESPACE
