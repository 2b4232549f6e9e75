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

#if TENON_HAS_VECTORS
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
#endif
