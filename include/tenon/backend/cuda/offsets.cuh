// SPDX-License-Identifier: MIT
// Offsets: computes an element's byte offsets from its number in row-major order, in kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/strided_copy.h"
#include "tenon/config.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Divides numbers below 2^31 by a fixed number, with a product and a shift: devices have no
/// instruction that divides integers.
/// Source: Granlund, Montgomery, "Division by Invariant Integers using Multiplication" (1994).
struct ShortDivisor {
  uint32_t multiplier = 0;
  uint32_t shift = 0;

  ShortDivisor() = default;
  explicit ShortDivisor(uint32_t divisor) noexcept {
    while (uint32_t{1} << shift < divisor) ++shift;
    const uint64_t excess = (uint64_t{1} << shift) - divisor;
    multiplier = static_cast<uint32_t>((excess << 32) / divisor + 1);
  }
  TENON_HOST_DEVICE uint32_t quotient(uint32_t number) const noexcept {
    const auto upper = static_cast<uint32_t>(uint64_t{number} * multiplier >> 32);
    return (upper + number) >> shift;
  }
};

/// Dimensions and, for each of kSides memories, their strides in bytes: an argument of a kernel.
template <int kSides>
struct Offsets {
  struct Dim {
    int64_t size;
    int64_t strides[kSides];
    ShortDivisor divisor;
  };

  int64_t count = 1;  ///< of elements
  int rank = 0;
  bool is_short = true;  ///< whether numbers and sizes are below 2^31
  Dim dims[kMaxLongDims];

  Offsets() noexcept {}  // NOLINT: dims stay unset

  /// Adds a dimension inside the others. All are added before the first find(). Adjacent dimensions
  /// that can be walked as one are merged.
  void add(int64_t size, const int64_t (&strides)[kSides]) noexcept {
    count *= size;
    is_short = count <= INT32_MAX;
    if (size == 1) return;
    bool joins = rank > 0;
    for (int s = 0; joins && s < kSides; ++s)
      joins = dims[rank - 1].strides[s] == strides[s] * size;
    Dim& dim = joins ? dims[rank - 1] : dims[rank++];
    dim.size = joins ? dim.size * size : size;
    for (int s = 0; s < kSides; ++s) dim.strides[s] = strides[s];
    if (dim.size <= INT32_MAX) dim.divisor = ShortDivisor(static_cast<uint32_t>(dim.size));
  }

  /// Whether elements of `unit` bytes lie one after the other.
  bool is_row(int64_t unit) const noexcept {
    return rank == 0 || (rank == 1 && dims[0].strides[0] == unit);
  }
  /// The offsets of an element in bytes.
  TENON_HOST_DEVICE void find(int64_t number, int64_t (&offsets)[kSides]) const noexcept {
    for (int s = 0; s < kSides; ++s) offsets[s] = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const Dim& dim = dims[d];
      int64_t index = number;
      if (d > 0) {
        number = is_short ? dim.divisor.quotient(static_cast<uint32_t>(index)) : index / dim.size;
        index -= number * dim.size;
      }
      for (int s = 0; s < kSides; ++s) offsets[s] += index * dim.strides[s];
    }
  }
};

/// The offsets of a view's elements.
inline Offsets<1> offsets_of(const TensorView& view) noexcept {
  Offsets<1> offsets;
  const auto unit = static_cast<int64_t>(elementSize(own_type(view.type)));
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d] == 0) {
      offsets.count = 0;
      return offsets;
    }
  }
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d] != 1) offsets.add(view.sizes[d], {view.strides[d] * unit});
  }
  return offsets;
}

/// The widest unit, from 1 to 16 bytes, that divides all addresses and lengths; `bits` is their
/// bitwise or.
constexpr int64_t widest_unit(uint64_t bits) noexcept {
  int64_t unit = 1;
  while (unit < 16 && (bits & static_cast<uint64_t>(unit)) == 0) unit *= 2;
  return unit;
}
inline bool is_aligned(const void* p, size_t alignment) noexcept {
  return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

}  // namespace detail
TENON_END_NAMESPACE
