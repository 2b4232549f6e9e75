// SPDX-License-Identifier: MIT
// The operations of kernels: function objects that a thread calls with an element's number. Random
// numbers are in random_blocks.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/backend/cuda/elements.cuh"
#include "tenon/backend/cuda/offsets.cuh"
#include "tenon/backend/strided_copy.h"
#include "tenon/config.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Base of operations that write.
struct Written {
  Offsets<1> at;
  char* dst;

  Written(const Offsets<1>& offsets, void* out) noexcept
      : at(offsets), dst(static_cast<char*>(out)) {}
  explicit Written(const TensorView& out) noexcept : Written(offsets_of(out), out.data) {}
};
/// Base of operations that read and write.
struct Copied {
  Offsets<2> at;
  char* dst;
  const char* src;

  explicit Copied(const StridedCopy& copy) noexcept
      : dst(static_cast<char*>(copy.dst)), src(static_cast<const char*>(copy.src)) {
    for (size_t d = 0; d < copy.rank; ++d) {
      const StridedCopy::Dim& dim = copy.dims[d];
      at.add(dim.size, {dim.dst_stride, dim.src_stride});
    }
  }
};

/// The type as which units of kBytes bytes are copied.
template <int kBytes>
using Unit = std::conditional_t<
    kBytes == 16, Packed<uint64_t>,
    std::conditional_t<kBytes == 8, uint64_t,
                       std::conditional_t<kBytes == 4, uint32_t,
                                          std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>>;

/// The bitwise or of addresses, strides and nbytes, for widest_unit().
inline uint64_t alignment_bits(const StridedCopy& copy, bool with_src) noexcept {
  uint64_t bits = reinterpret_cast<uintptr_t>(copy.dst) | copy.nbytes;
  if (with_src) bits |= reinterpret_cast<uintptr_t>(copy.src);
  for (size_t d = 0; d < copy.rank; ++d) {
    bits |= static_cast<uint64_t>(copy.dims[d].dst_stride);
    if (with_src) bits |= static_cast<uint64_t>(copy.dims[d].src_stride);
  }
  return bits;
}

/// Copies units of memory.
template <int kBytes>
struct CopyUnits : Copied {
  explicit CopyUnits(const StridedCopy& copy) noexcept : Copied(copy) {
    at.add(static_cast<int64_t>(copy.nbytes) / kBytes, {kBytes, kBytes});
  }
  TENON_HOST_DEVICE void operator()(int64_t number) const noexcept {
    int64_t offsets[2];
    at.find(number, offsets);
    store_aligned(dst + offsets[0], load_aligned<Unit<kBytes>>(src + offsets[1]));
  }
};

/// Copies elements and converts them.
struct CastElements : Copied {
  CastTarget as;
  ScalarType from;
  int from_size;
  int parts;    ///< how many are converted: 2 for both of a complex element, else 1
  bool joins;   ///< complex to Bool: whether any part is not 0
  bool widens;  ///< real to complex: the imaginary part is 0

  CastElements(const StridedCopy& copy, ScalarType to, ScalarType type, CastMode mode) noexcept
      : Copied(copy),
        as(part_type_of(to), part_type_of(type), mode),
        from(part_type_of(type)),
        from_size(static_cast<int>(elementSize(from))),
        parts(isComplexType(type) && (isComplexType(to) || to == ScalarType::Bool) ? 2 : 1),
        joins(parts == 2 && to == ScalarType::Bool),
        widens(parts == 1 && isComplexType(to)) {}
  TENON_HOST_DEVICE void operator()(int64_t number) const noexcept {
    int64_t offsets[2];
    at.find(number, offsets);
    char* to = dst + offsets[0];
    const char* in = src + offsets[1];
    for (int part = 0; part < parts; ++part) {
      if (joins && part == 1 && load_aligned<uint8_t>(to) != 0) return;
      cast_number(as, to, from, in);
      if (!joins) to += as.size;
      in += from_size;
    }
    if (widens) store_bits(as.size, to, 0);
  }
};

/// Writes an element, or sixteen bytes of elements, in units of memory.
template <int kBytes>
struct FillUnits : Written {
  int64_t nbytes;  ///< how many one thread writes
  alignas(16) unsigned char pattern[16];

  FillUnits(const Offsets<1>& offsets, void* out, int64_t place, const void* element,
            size_t size) noexcept
      : Written(offsets, out), nbytes(place) {
    for (size_t i = 0; i < sizeof pattern; ++i) {
      pattern[i] = static_cast<const unsigned char*>(element)[i & (size - 1)];
    }
  }
  TENON_HOST_DEVICE void operator()(int64_t number) const noexcept {
    int64_t offsets[1];
    at.find(number, offsets);
    for (int64_t i = 0; i < nbytes; i += kBytes) {
      Unit<kBytes> unit;
      std::memcpy(&unit, pattern + i, kBytes);
      store_aligned(dst + offsets[0] + i, unit);
    }
  }
};

/// Base of operations that write an integer computed from the element's number.
struct Numbers : Written {
  CastTarget as;
  bool widens;

  explicit Numbers(const TensorView& out) noexcept
      : Written(out),
        as(part_type_of(own_type(out.type)), ScalarType::Long, CastMode::Truncate),
        widens(isComplexType(own_type(out.type))) {}
  TENON_HOST_DEVICE void write(int64_t number, int64_t value) const noexcept {
    int64_t offsets[1];
    at.find(number, offsets);
    char* const to = dst + offsets[0];
    store_integer(as, to, value);
    if (widens) store_bits(as.size, to + as.size, 0);
  }
};
/// Writes each element's index along an axis, or its number.
struct IotaElements : Numbers {
  int64_t length;     ///< after so many values they repeat
  int64_t inner = 1;  ///< so many adjacent elements have the same value

  IotaElements(const TensorView& out, OptionalIndex axis) noexcept
      : Numbers(out), length(at.count) {
    if (!axis.has_value()) return;
    auto d = static_cast<size_t>(axis.value_or(0));
    length = out.sizes[d];
    while (++d < out.sizes.size()) inner *= out.sizes[d];
  }
  TENON_HOST_DEVICE void operator()(int64_t number) const noexcept {
    write(number, number / inner % length);
  }
};
/// Writes ones on the main diagonal of a matrix, zeros elsewhere.
struct EyeElements : Numbers {
  int64_t columns;

  explicit EyeElements(const TensorView& out) noexcept : Numbers(out), columns(out.sizes[1]) {}
  TENON_HOST_DEVICE void operator()(int64_t number) const noexcept {
    const int64_t row = number / columns;
    write(number, number - row * columns == row ? 1 : 0);
  }
};

}  // namespace detail
TENON_END_NAMESPACE
