// SPDX-License-Identifier: MIT
// Owned host memory: aligned, from malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The alignment of memory that tenon allocates: a cache line, and an AVX-512 register.
inline constexpr size_t kDataAlignment = 64;

inline void* align_up(void* p) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return static_cast<char*>(p) + (uintptr_t{0} - address) % kDataAlignment;
}

/// `data` is aligned and holds the bytes asked for; free() takes `base`. Both null when memory is
/// out.
///
/// Why not std::aligned_alloc: it is missing on some C libraries, has no zeroed form, and glibc's
/// costs several times a malloc; a margin of 63 bytes costs less.
struct Allocation {
  void* base;
  void* data;
};

/// Untouched memory.
inline Allocation allocate(size_t nbytes) noexcept {
  if (nbytes > PTRDIFF_MAX - kDataAlignment) return {nullptr, nullptr};
  void* base = std::malloc(nbytes + kDataAlignment - 1);
  return {base, base == nullptr ? nullptr : align_up(base)};
}

/// Memory that reads as zero. Large blocks come from the system as untouched zero pages.
inline Allocation allocate_zeroed(size_t nbytes) noexcept {
  if (nbytes > PTRDIFF_MAX - kDataAlignment) return {nullptr, nullptr};
  void* base = std::calloc(nbytes + kDataAlignment - 1, 1);
  return {base, base == nullptr ? nullptr : align_up(base)};
}

}  // namespace detail
TENON_END_NAMESPACE
