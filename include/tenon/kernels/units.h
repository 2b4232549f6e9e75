// SPDX-License-Identifier: MIT
// Copies units, which are elements, short runs of elements, or rows: at strides, or at offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/kernels/dispatch.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads a whole unit before it writes any of it, since a unit may overlap the place it moves to.
template <size_t kSize>
struct FixedUnit {
  static constexpr bool kUnrolls = true;
  static constexpr size_t size = kSize;
  TENON_ALWAYS_INLINE void copy(char* dst, const char* src) const noexcept {
    char unit[kSize];
    std::memcpy(unit, src, kSize);
    std::memcpy(dst, unit, kSize);
  }
};
/// A unit of 3 to 15 bytes: copies its first and its last bytes, which may overlap. Reads both
/// before it writes, since a unit may overlap the place it moves to.
template <class Word>
struct OddUnit {
  static constexpr bool kUnrolls = false;
  size_t size;
  TENON_ALWAYS_INLINE void copy(char* dst, const char* src) const noexcept {
    const size_t rest = size - sizeof(Word);
    Word first;
    Word last;
    std::memcpy(&first, src, sizeof first);
    std::memcpy(&last, src + rest, sizeof last);
    std::memcpy(dst, &first, sizeof first);
    std::memcpy(dst + rest, &last, sizeof last);
  }
};
/// A unit of more than 16 bytes, which does not overlap the place it moves to. memcpy() would be a
/// call, and slower for up to 128 bytes.
struct LongUnit {
  static constexpr bool kUnrolls = false;
  size_t size;
  TENON_ALWAYS_INLINE void copy(char* dst, const char* src) const noexcept {
    if (size > 128) {
      std::memcpy(dst, src, size);
      return;
    }
    for (size_t i = 0; i + 16 < size; i += 16) std::memcpy(dst + i, src + i, 16);
    std::memcpy(dst + size - 16, src + size - 16, 16);
  }
};

/// Calls `use` with the unit of a size, at least 1.
template <class Use>
TENON_ALWAYS_INLINE void with_unit(size_t size, const Use& use) noexcept {
  switch (size) {
    case 1: return use(FixedUnit<1>());
    case 2: return use(FixedUnit<2>());
    case 3: return use(OddUnit<uint16_t>{size});
    case 4: return use(FixedUnit<4>());
    case 8: return use(FixedUnit<8>());
    case 16: return use(FixedUnit<16>());
    default: break;
  }
  if (size > 16) return use(LongUnit{size});
  size < 8 ? use(OddUnit<uint32_t>{size}) : use(OddUnit<uint64_t>{size});
}

template <class Unit>
TENON_NOINLINE void copy_strided(Unit unit, char* dst, int64_t dst_stride, const char* src,
                                 int64_t src_stride, int64_t count) noexcept {
#if !defined(__OPTIMIZE_SIZE__)
  if constexpr (Unit::kUnrolls) {
    // Four at a time: otherwise each address depends on the previous one.
    for (; count >= 4; count -= 4, dst += 4 * dst_stride, src += 4 * src_stride) {
      unit.copy(dst, src);
      unit.copy(dst + dst_stride, src + src_stride);
      unit.copy(dst + 2 * dst_stride, src + 2 * src_stride);
      unit.copy(dst + 3 * dst_stride, src + 3 * src_stride);
    }
  }
#endif
  for (; count > 0; --count, dst += dst_stride, src += src_stride) unit.copy(dst, src);
}
/// Copies `count` units of `size` bytes, in order; strides in bytes. Units of up to 16 bytes may
/// overlap.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_strided(char* dst, int64_t dst_stride,
                                                       const char* src, int64_t src_stride,
                                                       int64_t count, size_t size) noexcept {
  with_unit(size, [&](auto unit) noexcept {
    copy_strided(unit, dst, dst_stride, src, src_stride, count);
  });
}

template <bool kDenseDst, bool kDenseSrc, class Unit>
TENON_NOINLINE void copy_at(Unit unit, char* dst, const ptrdiff_t* dst_offsets, const char* src,
                            const ptrdiff_t* src_offsets, int64_t count) noexcept {
  const auto copy = [&](ptrdiff_t k) noexcept {
    const ptrdiff_t dense = k * static_cast<ptrdiff_t>(unit.size);
    unit.copy(dst + (kDenseDst ? dense : dst_offsets[k]),
              src + (kDenseSrc ? dense : src_offsets[k]));
  };
  ptrdiff_t k = 0;
  if constexpr (Unit::kUnrolls && kDenseDst) {  // takes two thirds of the time
    for (; k + 4 <= count; k += 4) {
      TENON_UNROLL
      for (ptrdiff_t i = k; i < k + 4; ++i) copy(i);
    }
  }
  for (; k < count; ++k) copy(k);
}
/// Copies `count` units of `size` bytes, in order: unit k from src + src_offsets[k] to dst +
/// dst_offsets[k]; offsets in bytes. Null offsets: units follow each other, which takes three
/// quarters of the time.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_at(char* dst, const ptrdiff_t* dst_offsets,
                                                  const char* src, const ptrdiff_t* src_offsets,
                                                  int64_t count, size_t size) noexcept {
  with_unit(size, [&](auto unit) noexcept {
    if (dst_offsets == nullptr) {
      copy_at<true, false>(unit, dst, dst_offsets, src, src_offsets, count);
    } else if (src_offsets == nullptr) {
      copy_at<false, true>(unit, dst, dst_offsets, src, src_offsets, count);
    } else {
      copy_at<false, false>(unit, dst, dst_offsets, src, src_offsets, count);
    }
  });
}

}  // namespace detail
TENON_END_NAMESPACE
