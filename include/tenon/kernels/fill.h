// SPDX-License-Identifier: MIT
// Fills rows of elements with one value each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/units.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Fills of this size or more bypass the caches.
inline constexpr size_t kStreamingBytes = size_t{32} << 20;

/// 8-byte word i of memory that repeats a value of 1, 2, 4, 8 or 16 bytes.
TENON_TEMPLATE_INLINE TENON_NOINLINE uint64_t repeat_value(const char* value, size_t size,
                                                           size_t i) noexcept {
  const auto load_as = [&](auto number) noexcept {
    std::memcpy(&number, value, sizeof number);
    return uint64_t{number};
  };
  if (size == 1) return load_as(uint8_t()) * 0x0101010101010101u;
  if (size == 2) return load_as(uint16_t()) * 0x0001000100010001u;
  if (size == 4) return load_as(uint32_t()) * 0x0000000100000001u;
  if (size == 16) value += 8 * i;
  return load_as(uint64_t());
}

/// The shortest row that fill_rows() fills: its widest vector.
inline constexpr size_t kLeastFill = 32;

/// Rows of `nbytes` >= kLeastFill bytes: row r repeats the element of `size` bytes at in + r *
/// in_stride.
struct FilledRows {
  char* out;
  const char* in;
  int64_t out_stride;
  int64_t in_stride;
  int64_t rows;
  size_t nbytes;
  size_t size;
  bool past_caches;
};

#if TENON_PORTABLE
TENON_TEMPLATE_INLINE void fill_rows(const FilledRows& f) noexcept {
  const auto size = static_cast<int64_t>(f.size);
  for (int64_t r = 0; r < f.rows; ++r) {
    copy_strided(f.out + r * f.out_stride, size, f.in + r * f.in_stride, 0,
                 static_cast<int64_t>(f.nbytes) / size, f.size);
  }
}
#else
struct FillKernel {
  template <size_t kBytes>
  static TENON_INLINE_IN_TARGET void body(const FilledRows& given) noexcept {
    const FilledRows f = given;  // a local copy, which written bytes cannot alias
    char* out = f.out;
    const char* in = f.in;
    Vector<uint64_t, 16> half{};
    Vector<uint64_t, kBytes> v{};
    for (int64_t r = 0; r < f.rows; ++r, out += f.out_stride, in += f.in_stride) {
      if (r == 0 || f.in_stride != 0) {
        const uint64_t first = repeat_value(in, f.size, 0);
        const uint64_t second = f.size == 16 ? repeat_value(in, 16, 1) : first;
        half = Vector<uint64_t, 16>{first, second};
        if constexpr (kBytes == 16) v = half;
        if constexpr (kBytes == 32) v = Vector<uint64_t, 32>{first, second, first, second};
      }
      size_t i = 0;
      const size_t last = f.nbytes - kBytes;  // whole elements precede it
      if (f.past_caches && reinterpret_cast<uintptr_t>(out) % 16 == 0) {
        for (; i < last; i += 16) stream<uint64_t>(out + i, half);
        end_streaming();
      } else {
        do store(out + i, v);
        while ((i += kBytes) < last);
      }
      store(out + last, v);
    }
  }
  // Templates, so that including this compiles no loop.
  template <class = void>
  static void run(Baseline, const FilledRows* rows) noexcept {
    body<16>(*rows);
  }
#if TENON_HAS_VARIANTS
  template <class = void>
  TENON_TARGET_AVX2 static void run(Avx2, const FilledRows* rows) noexcept {
    body<32>(*rows);
  }
#endif
};

TENON_TEMPLATE_INLINE void fill_rows(const FilledRows& rows) noexcept {
  dispatch<FillKernel, kHasVariants>(&rows);
}
#endif

/// Writes `count` copies of the element at `value`, of 1, 2, 4, 8 or 16 bytes, to `data`, which
/// needs no alignment.
TENON_COMPILED_ONCE void fill_elements(void* data, int64_t count, const void* value,
                                       size_t element_size) noexcept {
  if (count == 0) return;
  const size_t nbytes = static_cast<size_t>(count) * element_size;
  const auto* const in = static_cast<const char*>(value);
  const bool is_one_byte = std::memcmp(in, in + 1, element_size - 1) == 0;
  parallel_for(static_cast<int64_t>(nbytes), 4096, nbytes, [&](int64_t begin, int64_t end) {
    char* const out = static_cast<char*>(data) + begin;
    const auto n = static_cast<size_t>(end - begin);
    if (is_one_byte) {  // memset() is optimised for zeros
      std::memset(out, *in, n);
    } else if (n < kLeastFill) {
      copy_strided(out, static_cast<int64_t>(element_size), in, 0, count, element_size);
    } else {
      fill_rows({out, in, 0, 0, 1, n, element_size, nbytes >= kStreamingBytes});
    }
  });
}

}  // namespace detail
TENON_END_NAMESPACE
