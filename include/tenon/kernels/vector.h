// SPDX-License-Identifier: MIT
// Short vectors: the compilers' vector extensions under a few names.
//
// Vectors go by reference, never by value: how a 32-byte vector is passed depends on the
// instruction set, and GCC warns wherever one is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tenon/config.h"

// Of the loop behind it, four rounds become one. nvcc warns of this pragma.
#if defined(__CUDACC__) || TENON_PORTABLE
#define TENON_UNROLL
#else
#define TENON_UNROLL _Pragma("GCC unroll 4")
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

#if TENON_PORTABLE
/// One lane.
template <class E, size_t kBytes>
using Vector = std::enable_if_t<sizeof(E) == kBytes, E>;
#else
template <class E, size_t kBytes>
struct VectorType {
  typedef E type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
};
/// kBytes / sizeof(E) lanes of E.
template <class E, size_t kBytes>
using Vector = typename VectorType<E, kBytes>::type;
#endif

template <class V>
TENON_ALWAYS_INLINE void load(V& v, const void* from) noexcept {
  std::memcpy(&v, from, sizeof v);
}
template <class V>
TENON_ALWAYS_INLINE void store(void* to, const V& v) noexcept {
  std::memcpy(to, &v, sizeof v);
}

template <size_t kSize>
TENON_NOINLINE void copy_each(char* dst, int64_t dst_stride, const char* src, int64_t src_stride,
                              int64_t count) noexcept {
#if !defined(__OPTIMIZE_SIZE__)
  // Four at a time: else each address waits for the one before.
  for (; count >= 4; count -= 4, dst += 4 * dst_stride, src += 4 * src_stride) {
    std::memcpy(dst, src, kSize);
    std::memcpy(dst + dst_stride, src + src_stride, kSize);
    std::memcpy(dst + 2 * dst_stride, src + 2 * src_stride, kSize);
    std::memcpy(dst + 3 * dst_stride, src + 3 * src_stride, kSize);
  }
#endif
  for (; count > 0; --count, dst += dst_stride, src += src_stride) std::memcpy(dst, src, kSize);
}
/// Copies `count` elements of 1 to 16 bytes; strides in bytes.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_strided(char* dst, int64_t dst_stride,
                                                       const char* src, int64_t src_stride,
                                                       int64_t count, size_t size) noexcept {
  switch (size) {
    case 1: return copy_each<1>(dst, dst_stride, src, src_stride, count);
    case 2: return copy_each<2>(dst, dst_stride, src, src_stride, count);
    case 4: return copy_each<4>(dst, dst_stride, src, src_stride, count);
    case 8: return copy_each<8>(dst, dst_stride, src, src_stride, count);
    case 16: return copy_each<16>(dst, dst_stride, src, src_stride, count);
    default: break;
  }
  // Their first bytes, and their last.
  const size_t part = size == 3 ? 2 : size < 8 ? 4 : 8;
  const size_t rest = size - part;
  copy_strided(dst, dst_stride, src, src_stride, count, part);
  copy_strided(dst + rest, dst_stride, src + rest, src_stride, count, part);
}

#if !TENON_PORTABLE
/// out[i] = concatenation of a and b at kIndex[i].
template <class V, size_t... kIndex>
TENON_ALWAYS_INLINE void shuffle(V& out, const V& a, const V& b,
                                 std::index_sequence<kIndex...>) noexcept {
#if TENON_HAS_SHUFFLEVECTOR
  out = __builtin_shufflevector(a, b, static_cast<int>(kIndex)...);
#elif defined(__clang__)  // behind nvcc
  constexpr size_t n = sizeof...(kIndex);
  V result;
  size_t i = 0;
  ((result[i++] = kIndex < n ? a[kIndex % n] : b[kIndex % n]), ...);
  out = result;
#else
  using Index = decltype(a < b);  // signed integers of the lanes' size
  out = __builtin_shuffle(a, b, Index{static_cast<std::decay_t<decltype(Index{}[0])>>(kIndex)...});
#endif
}

/// The indices with which shuffle() gives, within every 16 bytes, the low halves of a and b, or the
/// high ones, lane by lane in turn.
template <bool kHigh, size_t kBlock, size_t... kLane>
constexpr auto zip_indices(std::index_sequence<kLane...>) noexcept {
  constexpr size_t first = kHigh ? kBlock / 2 : 0;
  return std::index_sequence<kLane / kBlock * kBlock + first + kLane % kBlock / 2 +
                             kLane % 2 * sizeof...(kLane)...>();
}
template <bool kHigh, class E, size_t kLanes>
inline constexpr auto kZip = zip_indices<kHigh, 16 / sizeof(E)>(std::make_index_sequence<kLanes>());

#if TENON_HAS_WIDE_PRODUCTS
/// The products of the low halves of 64-bit lanes.
template <class V>
TENON_INLINE_IN_TARGET void multiply_low(V& out, const V& a, const V& b) noexcept {
#if defined(__clang__)
  out = (a & 0xffffffffu) * (b & 0xffffffffu);
#else
  if constexpr (sizeof(V) == 16) {
    using Ints = Vector<int, sizeof(V)>;
    out = __builtin_bit_cast(
        V, __builtin_ia32_pmuludq128(reinterpret_cast<Ints>(a), reinterpret_cast<Ints>(b)));
  } else {
    // Not by a builtin: GCC takes one that returns a wide vector for a call in which that is passed
    // by value, and warns. A pragma against the warning is lost in a precompiled header.
    asm("vpmuludq {%2, %1, %0|%0, %1, %2}" : "=v"(out) : "%v"(a), "vm"(b));
  }
#endif
}
#endif

/// Stores past the caches: for memory that does not fit them, a store that first reads the line
/// wastes a third of the bandwidth. end_streaming() orders them before what follows.
template <class E>
TENON_ALWAYS_INLINE void stream(void* aligned, const Vector<E, 16>& v) noexcept {
#if defined(__clang__)
  __builtin_nontemporal_store(v, static_cast<Vector<E, 16>*>(aligned));
#elif defined(__SSE2__)
  __builtin_ia32_movntps(static_cast<float*>(aligned), __builtin_bit_cast(Vector<float, 16>, v));
#else
  store(aligned, v);
#endif
}
inline void end_streaming() noexcept {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
#endif  // !TENON_PORTABLE

}  // namespace detail
TENON_END_NAMESPACE
