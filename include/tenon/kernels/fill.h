// SPDX-License-Identifier: MIT
// Fills consecutive elements with one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Larger memory is written past the caches, which it would only flush.
inline constexpr size_t kStreamingBytes = size_t{32} << 20;

/// Repeats 16 bytes.
TENON_LAZY void repeat(char* out, size_t nbytes, const unsigned char* pattern,
                       bool past_caches) noexcept {
  Vector<uint8_t, 16> v;
  load(v, pattern);
  size_t i = 0;
  if (past_caches && reinterpret_cast<uintptr_t>(out) % 16 == 0) {
    for (; i + 16 <= nbytes; i += 16) stream<uint8_t>(out + i, v);
    end_streaming();
  }
  for (; i + 16 <= nbytes; i += 16) store(out + i, v);
  std::memcpy(out + i, pattern, nbytes - i);
  clear_after_baseline();
}

/// Writes `count` copies of the element at `value`, of 1, 2, 4, 8 or 16 bytes, to `data`, which
/// needs no alignment.
TENON_COMPILED_ONCE void fill_elements(void* data, int64_t count, const void* value,
                                       size_t element_size) noexcept {
  if (count == 0) return;
  const auto* element = static_cast<const unsigned char*>(value);
  auto* out = static_cast<char*>(data);
  const size_t nbytes = static_cast<size_t>(count) * element_size;
  unsigned char pattern[16];
  for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = element[i & (element_size - 1)];
  // Equal bytes are left to memset(), which may use zero pages.
  const bool uniform = std::memcmp(pattern, pattern + 1, sizeof pattern - 1) == 0;
  parallel_for(static_cast<int64_t>(nbytes), 4096, nbytes, [&](int64_t begin, int64_t end) {
    const auto n = static_cast<size_t>(end - begin);
    if (uniform) {
      std::memset(out + begin, pattern[0], n);
    } else {
      repeat(out + begin, n, pattern, nbytes >= kStreamingBytes);
    }
  });
}

}  // namespace detail
TENON_END_NAMESPACE
