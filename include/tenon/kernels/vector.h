// SPDX-License-Identifier: MIT
// Short vectors: the compilers' vector extensions under a few names.
//
// Vectors go by reference, never by value: how a 32-byte vector is passed depends on the
// instruction set, and GCC warns wherever one is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

template <class E, size_t kBytes>
struct VectorType {
  typedef E type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
};
/// kBytes / sizeof(E) lanes of E.
template <class E, size_t kBytes>
using Vector = typename VectorType<E, kBytes>::type;

/// The unsigned integer of kSize bytes: what a kernel that only moves bytes takes elements for.
template <size_t kSize>
struct UnsignedType;
template <>
struct UnsignedType<1> {
  using type = uint8_t;
};
template <>
struct UnsignedType<2> {
  using type = uint16_t;
};
template <>
struct UnsignedType<4> {
  using type = uint32_t;
};
template <>
struct UnsignedType<8> {
  using type = uint64_t;
};

template <class V>
TENON_ALWAYS_INLINE void load(V& v, const void* from) noexcept {
  std::memcpy(&v, from, sizeof v);
}
template <class V>
TENON_ALWAYS_INLINE void store(void* to, const V& v) noexcept {
  std::memcpy(to, &v, sizeof v);
}

template <size_t kSize>
void copy_each(char* dst, int64_t dst_stride, const char* src, int64_t src_stride,
               int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(dst + i * dst_stride, src + i * src_stride, kSize);
}
/// Copies `count` elements of 1, 2, 4, 8 or 16 bytes; strides in bytes.
TENON_LAZY void copy_strided(char* dst, int64_t dst_stride, const char* src, int64_t src_stride,
                             int64_t count, size_t size) noexcept {
  switch (size) {
    case 1: return copy_each<1>(dst, dst_stride, src, src_stride, count);
    case 2: return copy_each<2>(dst, dst_stride, src, src_stride, count);
    case 4: return copy_each<4>(dst, dst_stride, src, src_stride, count);
    case 8: return copy_each<8>(dst, dst_stride, src, src_stride, count);
    default: return copy_each<16>(dst, dst_stride, src, src_stride, count);
  }
}

/// out[i] = concatenation of a and b at kIndex[i].
template <class E, size_t kIn, size_t kOut, size_t... kIndex>
TENON_ALWAYS_INLINE void shuffle(Vector<E, kOut>& out, const Vector<E, kIn>& a,
                                 const Vector<E, kIn>& b, std::index_sequence<kIndex...>) noexcept {
#if TENON_HAS_SHUFFLEVECTOR
  out = __builtin_shufflevector(a, b, static_cast<int>(kIndex)...);
#else
  static_assert(kIn == kOut);
  using Index = Vector<typename UnsignedType<sizeof(E)>::type, kOut>;
  out = __builtin_shuffle(a, b,
                          Index{static_cast<typename UnsignedType<sizeof(E)>::type>(kIndex)...});
#endif
}

/// The lanes of `v` from kFirst on.
template <class E, size_t kBytes, size_t kFirst, size_t... kLane>
TENON_ALWAYS_INLINE void take(Vector<E, sizeof...(kLane) * sizeof(E)>& out,
                              const Vector<E, kBytes>& v, std::index_sequence<kLane...>) noexcept {
  shuffle<E, kBytes, sizeof...(kLane) * sizeof(E)>(out, v, v,
                                                   std::index_sequence<kFirst + kLane...>());
}

/// Within every 16 bytes: the low halves of a and b, lane by lane in turn.
template <class E, size_t kBytes, size_t... kLane>
TENON_ALWAYS_INLINE void zip_low(Vector<E, kBytes>& out, const Vector<E, kBytes>& a,
                                 const Vector<E, kBytes>& b,
                                 std::index_sequence<kLane...>) noexcept {
  constexpr size_t n = kBytes / sizeof(E);
  constexpr size_t block = 16 / sizeof(E);
  shuffle<E, kBytes, kBytes>(
      out, a, b,
      std::index_sequence<kLane / block * block + kLane % block / 2 + kLane % 2 * n...>());
}
/// The same of the high halves.
template <class E, size_t kBytes, size_t... kLane>
TENON_ALWAYS_INLINE void zip_high(Vector<E, kBytes>& out, const Vector<E, kBytes>& a,
                                  const Vector<E, kBytes>& b,
                                  std::index_sequence<kLane...>) noexcept {
  constexpr size_t n = kBytes / sizeof(E);
  constexpr size_t block = 16 / sizeof(E);
  shuffle<E, kBytes, kBytes>(out, a, b,
                             std::index_sequence<kLane / block * block + block / 2 +
                                                 kLane % block / 2 + kLane % 2 * n...>());
}

/// The inverse of both: within every 16 bytes, the even and the odd lanes of a and then of b.
template <class E, size_t kBytes, size_t... kLane>
TENON_ALWAYS_INLINE void unzip(Vector<E, kBytes>& even, Vector<E, kBytes>& odd,
                               const Vector<E, kBytes>& a, const Vector<E, kBytes>& b,
                               std::index_sequence<kLane...>) noexcept {
  constexpr size_t n = kBytes / sizeof(E);
  constexpr size_t block = 16 / sizeof(E);
  shuffle<E, kBytes, kBytes>(even, a, b,
                             std::index_sequence<kLane / block * block + 2 * kLane % block +
                                                 (kLane % block < block / 2 ? 0 : n)...>());
  shuffle<E, kBytes, kBytes>(odd, a, b,
                             std::index_sequence<kLane / block * block + 2 * kLane % block + 1 +
                                                 (kLane % block < block / 2 ? 0 : n)...>());
}

// GCC takes a builtin that returns a vector for a call in which that is passed by value.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#if TENON_HAS_AVX2
// It knows an instruction set's builtins once it has seen a function for that set.
TENON_TARGET_AVX512 inline void declare_builtins() noexcept {}
#endif
#endif

#if TENON_HAS_WIDE_PRODUCTS
/// The products of the low halves of 64-bit lanes.
template <size_t kBytes>
TENON_ALWAYS_INLINE void multiply_low(Vector<uint64_t, kBytes>& out,
                                      const Vector<uint64_t, kBytes>& a,
                                      const Vector<uint64_t, kBytes>& b) noexcept {
#if defined(__clang__)
  out = (a & 0xffffffffu) * (b & 0xffffffffu);
#else
  using V = Vector<uint64_t, kBytes>;
  using Ints = Vector<int, kBytes>;
  if constexpr (kBytes == 16) {
    out = reinterpret_cast<V>(
        __builtin_ia32_pmuludq128(reinterpret_cast<Ints>(a), reinterpret_cast<Ints>(b)));
  }
#if TENON_HAS_AVX2
  if constexpr (kBytes == 32) {
    out = reinterpret_cast<V>(
        __builtin_ia32_pmuludq256(reinterpret_cast<Ints>(a), reinterpret_cast<Ints>(b)));
  } else if constexpr (kBytes == 64) {
    out = reinterpret_cast<V>(__builtin_ia32_pmuludq512_mask(
        reinterpret_cast<Ints>(a), reinterpret_cast<Ints>(b),
        reinterpret_cast<Vector<long long, kBytes>>(a), static_cast<unsigned char>(-1)));
  }
#endif
#endif
}
#endif

/// The square roots, as IEEE 754 defines them.
template <size_t kBytes>
TENON_ALWAYS_INLINE void square_root(Vector<float, kBytes>& out,
                                     const Vector<float, kBytes>& x) noexcept {
#if defined(__clang__) && defined(__SSE2__)
  // Clang lets only functions for an instruction set use its builtins, but joins these again.
  if constexpr (kBytes == 16) {
    out = __builtin_ia32_sqrtps(x);
  } else {
    constexpr size_t n = kBytes / sizeof(float) / 2;
    Vector<float, kBytes / 2> low;
    Vector<float, kBytes / 2> high;
    take<float, kBytes, 0>(low, x, std::make_index_sequence<n>());
    take<float, kBytes, n>(high, x, std::make_index_sequence<n>());
    square_root<kBytes / 2>(low, low);
    square_root<kBytes / 2>(high, high);
    shuffle<float, kBytes / 2, kBytes>(out, low, high, std::make_index_sequence<2 * n>());
  }
#elif TENON_HAS_AVX2
  if constexpr (kBytes == 16) {
    out = __builtin_ia32_sqrtps(x);
  } else if constexpr (kBytes == 32) {
    out = __builtin_ia32_sqrtps256(x);
  } else {
    out = __builtin_ia32_sqrtps512_mask(x, x, static_cast<short>(-1), 4);  // rounded as set
  }
#else
  for (size_t i = 0; i < kBytes / sizeof(float); ++i) out[i] = __builtin_sqrtf(x[i]);
#endif
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// Stores past the caches: for memory that does not fit them, a store that first reads the line
/// wastes a third of the bandwidth. end_streaming() orders them before what follows.
template <class E>
TENON_ALWAYS_INLINE void stream(void* aligned, const Vector<E, 16>& v) noexcept {
#if defined(__clang__)
  __builtin_nontemporal_store(v, static_cast<Vector<E, 16>*>(aligned));
#elif defined(__SSE2__)
  __builtin_ia32_movntps(static_cast<float*>(aligned), reinterpret_cast<Vector<float, 16>>(v));
#else
  store(aligned, v);
#endif
}
inline void end_streaming() noexcept {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace detail
TENON_END_NAMESPACE
