// SPDX-License-Identifier: MIT
// Fills rows with one element each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/units.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Fills of at least this many bytes bypass the caches.
inline constexpr size_t kStreamingBytes = size_t{32} << 20;

/// Rows of `nbytes` bytes. Row r repeats the element at in + r * in_stride, whose `size` is 1, 2,
/// 4, 8 or 16 bytes. No alignment is needed.
struct FilledRows {
  void* out;
  const void* in;
  size_t nbytes;
  size_t size;
  int64_t rows = 1;
  int64_t out_stride = 0;
  int64_t in_stride = 0;
};

/// The bytes of the shortest row that is filled by vectors: those of the widest vector.
inline constexpr size_t kLeastFill = 32;

#if !TENON_PORTABLE
/// 8 bytes that repeat an element of 1, 2, 4 or 8 bytes.
TENON_TEMPLATE_INLINE TENON_NOINLINE uint64_t repeat_element(const char* element,
                                                             size_t size) noexcept {
  const uint64_t word = load_word(element, size);
  return size == 1   ? word * 0x0101010101010101u
         : size == 2 ? word * 0x0001000100010001u
         : size == 4 ? word * 0x0000000100000001u
                     : word;
}

struct FillKernel : ForEachIsa<FillKernel> {
  template <class Level>
  static TENON_INLINE_IN_TARGET void body(const FilledRows* given, char* out,
                                          size_t nbytes) noexcept {
    constexpr size_t kBytes = Level::vector_bytes;
    const FilledRows f = *given;  // a local copy, which written bytes cannot alias
    const bool past_caches = f.nbytes >= kStreamingBytes;
    const auto* in = static_cast<const char*>(f.in);
    Vector<uint64_t, 16> half{};
    Vector<uint64_t, kBytes> v{};
    for (int64_t r = 0; r < f.rows; ++r, out += f.out_stride, in += f.in_stride) {
      if (r == 0 || f.in_stride != 0) {
        const uint64_t first = repeat_element(in, f.size == 16 ? 8 : f.size);
        const uint64_t second = f.size == 16 ? repeat_element(in + 8, 8) : first;
        half = Vector<uint64_t, 16>{first, second};
        if constexpr (kBytes == 16) v = half;
        if constexpr (kBytes == 32) v = Vector<uint64_t, 32>{first, second, first, second};
      }
      size_t i = 0;
      const size_t last = nbytes - kBytes;  // whole elements precede it
      if (past_caches && reinterpret_cast<uintptr_t>(out) % 16 == 0) {
        for (; i < last; i += 16) stream<uint64_t>(out + i, half);
        end_streaming();
      } else {
        do store(out + i, v);
        while ((i += kBytes) < last);
      }
      store(out + last, v);
    }
  }
};
#endif

/// Fills rows. Several threads may share a single row.
TENON_COMPILED_ONCE void fill_rows(const FilledRows& rows) noexcept {
  if (rows.nbytes == 0) return;
  const auto* const in = static_cast<const char*>(rows.in);
  const bool is_one_byte = rows.rows == 1 && std::memcmp(in, in + 1, rows.size - 1) == 0;
  const size_t shared = rows.rows == 1 ? rows.nbytes : 0;
  parallel_for(static_cast<int64_t>(rows.nbytes), 4096, shared, [&](int64_t begin, int64_t end) {
    char* const out = static_cast<char*>(rows.out) + begin;
    const auto nbytes = static_cast<size_t>(end - begin);
    if (is_one_byte) {  // memset() is optimised for zeros
      std::memset(out, *in, nbytes);
      return;
    }
#if !TENON_PORTABLE
    if (nbytes >= kLeastFill) return dispatch<FillKernel, kHasVariants>(&rows, out, nbytes);
#endif
    const auto size = static_cast<ptrdiff_t>(rows.size);
    const ptrdiff_t count = static_cast<ptrdiff_t>(nbytes) / size;
    for (int64_t r = 0; r < rows.rows; ++r) {
      copy_strided(out + r * rows.out_stride, size, in + r * rows.in_stride, 0, count, rows.size);
    }
  });
}

}  // namespace detail
TENON_END_NAMESPACE
