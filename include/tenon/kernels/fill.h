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

template <size_t kSize>
struct ElementBits {
  unsigned char bytes[kSize];
};

/// Calls `body(ElementBits<size>())` for the size of an element: 1, 2, 4, 8 or 16 bytes.
template <class Body>
void with_element_size(size_t element_size, Body&& body) {
  switch (element_size) {
    case 1: return body(ElementBits<1>());
    case 2: return body(ElementBits<2>());
    case 4: return body(ElementBits<4>());
    case 8: return body(ElementBits<8>());
    default: return body(ElementBits<16>());
  }
}

/// Memory larger than this is written past the caches, which it would only flush.
inline constexpr size_t kStreamingBytes = size_t{32} << 20;

/// Repeats a pattern over memory of at least one vector. `pattern` holds 48 bytes, which repeat
/// every `period` bytes, a divisor of 16. `past_caches` says how it is written.
struct FillKernel {
  template <class Level>
  static TENON_ALWAYS_INLINE void body(unsigned char* out, size_t nbytes,
                                       const unsigned char* pattern, size_t period,
                                       bool past_caches) noexcept {
    constexpr size_t kWidth = Level::vector_bytes;
    Vector<uint8_t, kWidth> v;
    load(v, pattern);
    store(out, v);
    // From here on aligned: the pattern starts where its period has got to.
    size_t i = kWidth - reinterpret_cast<uintptr_t>(out) % kWidth;
    load(v, pattern + i % period);
    if (past_caches) {
      Vector<uint8_t, 16> narrow;
      load(narrow, pattern + i % period);
      for (; i + 16 <= nbytes; i += 16) stream<uint8_t>(out + i, narrow);
      end_streaming();
    }
    for (; i + 4 * kWidth <= nbytes; i += 4 * kWidth) {
      store(out + i, v);
      store(out + i + kWidth, v);
      store(out + i + 2 * kWidth, v);
      store(out + i + 3 * kWidth, v);
    }
    for (; i + kWidth <= nbytes; i += kWidth) store(out + i, v);
    load(v, pattern);  // the end is a whole number of periods away
    store(out + (nbytes - kWidth), v);
  }
  TENON_VECTORIZE static void run(Baseline, unsigned char* out, size_t nbytes,
                                  const unsigned char* pattern, size_t period,
                                  bool past_caches) noexcept {
    body<Baseline>(out, nbytes, pattern, period, past_caches);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, unsigned char* out, size_t nbytes,
                                                    const unsigned char* pattern, size_t period,
                                                    bool past_caches) noexcept {
    body<Avx2>(out, nbytes, pattern, period, past_caches);
  }
#endif
};

/// Fills `nbytes` of whole elements in the caller's thread.
template <class = void>
TENON_ALWAYS_INLINE void fill_piece(unsigned char* out, size_t nbytes, const unsigned char* element,
                                    size_t element_size, bool past_caches) noexcept {
  // Equal bytes, zeros above all, are the C library's: it has means that a program has not.
  bool uniform = true;
  for (size_t i = 1; i < element_size; ++i) uniform &= element[i] == element[0];
  if (uniform) {
    std::memset(out, element[0], nbytes);
    return;
  }
  if (nbytes >= 32) {
    unsigned char pattern[48];
    for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = element[i % element_size];
    return dispatch<FillKernel>(out, nbytes, static_cast<const unsigned char*>(pattern),
                                element_size, past_caches);
  }
  for (size_t i = 0; i < nbytes; i += element_size) std::memcpy(out + i, element, element_size);
}

/// Writes `count` copies of the element at `value` to `data`, which needs no alignment.
TENON_LAZY_KERNEL void fill_elements(void* data, int64_t count, const void* value,
                                     size_t element_size) noexcept {
  if (count == 0) return;
  const auto* element = static_cast<const unsigned char*>(value);
  auto* out = static_cast<unsigned char*>(data);
  const size_t nbytes = static_cast<size_t>(count) * element_size;
  const bool past_caches = nbytes >= kStreamingBytes;  // whatever the pieces
  parallel_for(static_cast<int64_t>(nbytes), 4096, nbytes, [&](int64_t begin, int64_t end) {
    fill_piece(out + begin, static_cast<size_t>(end - begin), element, element_size, past_caches);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
