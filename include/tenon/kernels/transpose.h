// SPDX-License-Identifier: MIT
// Copies a plane of elements whose rows are consecutive on one side and whose columns are on the
// other: matrix transposes, and pixels to channels (NHWC to NCHW) and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/fill.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A plane to copy: element (i, j) goes from `in + i * in_stride + j * size` to
/// `out + j * out_stride + i * size`, for i < in_rows and j < out_rows. Strides in bytes, of any
/// sign; no two elements overlap.
struct Plane {
  char* out;
  const char* in;
  int64_t out_stride;
  int64_t in_stride;
  int64_t out_rows;
  int64_t in_rows;
};

/// Element by element, in blocks that stay in the cache on both sides.
template <size_t kSize>
void transpose_by_element(const Plane& p) noexcept {
  constexpr int64_t kBlock = 16;
  constexpr int64_t kElement = kSize;
  for (int64_t j0 = 0; j0 < p.out_rows; j0 += kBlock) {
    const int64_t j1 = p.out_rows - j0 < kBlock ? p.out_rows : j0 + kBlock;
    for (int64_t i0 = 0; i0 < p.in_rows; i0 += kBlock) {
      const int64_t i1 = p.in_rows - i0 < kBlock ? p.in_rows : i0 + kBlock;
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) {
          std::memcpy(p.out + j * p.out_stride + i * kElement,
                      p.in + i * p.in_stride + j * kElement, kSize);
        }
      }
    }
  }
}

/// Perfect shuffles of kCount vectors, taken as one array: log2(lanes) of them bring element
/// lanes * p + q of the array to where kCount * q + p was, which both transposes a square of
/// elements and parts pixels into channels. For an odd count the array's halves meet within a
/// vector, hence the swaps. Lanes are those of 16 bytes; wider vectors do several arrays at once.
template <class E, size_t kBytes, size_t kCount>
TENON_ALWAYS_INLINE void deinterleave(Vector<E, kBytes>* v) noexcept {
  constexpr auto lanes = std::make_index_sequence<kBytes / sizeof(E)>();
  for (size_t step = 1; step < 16 / sizeof(E); step *= 2) {
    Vector<E, kBytes> w[kCount];
    if constexpr (kCount % 2 == 0) {
      for (size_t i = 0; i < kCount / 2; ++i) {
        zip_low<E, kBytes>(w[2 * i], v[i], v[i + kCount / 2], lanes);
        zip_high<E, kBytes>(w[2 * i + 1], v[i], v[i + kCount / 2], lanes);
      }
    } else {
      static_assert(kBytes == 16);
      using Halves = Vector<uint64_t, 16>;
      Vector<E, kBytes> swapped[kCount];
      for (size_t i = 0; i < kCount; ++i) {
        Halves halves = reinterpret_cast<Halves>(v[i]);
        shuffle<uint64_t, 16, 16>(halves, halves, halves, std::index_sequence<1, 0>());
        swapped[i] = reinterpret_cast<Vector<E, kBytes>>(halves);
      }
      // Half i of the array's low part with half i of its high part.
      for (size_t i = 0; i < kCount; ++i) {
        const size_t j = i + kCount;
        zip_low<E, kBytes>(w[i], i % 2 == 0 ? v[i / 2] : swapped[i / 2],
                           j % 2 == 0 ? v[j / 2] : swapped[j / 2], lanes);
      }
    }
    for (size_t i = 0; i < kCount; ++i) v[i] = w[i];
  }
}

/// A square of 16 bytes a side, or with wider vectors several, one below the other on the `in`
/// side.
template <class E, size_t kBytes>
TENON_ALWAYS_INLINE void transpose_tile(char* out, int64_t out_stride, const char* in,
                                        int64_t in_stride) noexcept {
  constexpr size_t kLanes = 16 / sizeof(E);
  Vector<E, kBytes> v[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    const char* const row = in + static_cast<int64_t>(i) * in_stride;
    if constexpr (kBytes == 16) {
      load(v[i], row);
    } else {
      Vector<E, 16> low;
      Vector<E, 16> high;
      load(low, row);
      load(high, row + static_cast<int64_t>(kLanes) * in_stride);
      shuffle<E, 16, kBytes>(v[i], low, high, std::make_index_sequence<2 * kLanes>());
    }
  }
  deinterleave<E, kBytes, kLanes>(v);
  for (size_t i = 0; i < kLanes; ++i) store(out + static_cast<int64_t>(i) * out_stride, v[i]);
}

/// Blocks of 64 rows of one cache line. The rows are first copied together: with a stride that is a
/// power of two they would evict each other before all of their line is used. What does not fill
/// a block is copied by blocks that overlap their neighbours.
template <class E>
struct TransposeKernel {
  static constexpr int64_t kSize = sizeof(E);
  static constexpr int64_t kRows = 64;
  static constexpr int64_t kColumns = 64 / kSize;

  /// Whether the plane is large enough for it.
  static bool takes(const Plane& p) noexcept {
    return p.in_rows >= 32 / kSize && p.out_rows >= 16 / kSize;
  }

  template <class Level>
  static TENON_ALWAYS_INLINE void body(const Plane& p) noexcept {
    constexpr int64_t kPitch = 64 + 16;
    // GCC 11 cannot put two vectors together but through memory.
    constexpr size_t kBytes = TENON_HAS_SHUFFLEVECTOR ? Level::vector_bytes : 16;
    constexpr int64_t kTileRows = static_cast<int64_t>(kBytes) / kSize;
    constexpr int64_t kTileColumns = 16 / kSize;
    alignas(64) char block[kRows * kPitch];
    const int64_t rows = p.in_rows < kRows ? p.in_rows : kRows;
    const int64_t columns = p.out_rows < kColumns ? p.out_rows : kColumns;
    for (int64_t r0 = 0; r0 < p.in_rows; r0 += rows) {
      const int64_t r = r0 + rows <= p.in_rows ? r0 : p.in_rows - rows;
      for (int64_t c0 = 0; c0 < p.out_rows; c0 += columns) {
        const int64_t c = c0 + columns <= p.out_rows ? c0 : p.out_rows - columns;
        const char* const in = p.in + r * p.in_stride + c * kSize;
        char* const out = p.out + c * p.out_stride + r * kSize;
        if (columns == kColumns) {
          for (int64_t i = 0; i < rows; ++i) {
            std::memcpy(block + i * kPitch, in + i * p.in_stride, 64);
          }
        } else {
          for (int64_t i = 0; i < rows; ++i) {
            std::memcpy(block + i * kPitch, in + i * p.in_stride,
                        static_cast<size_t>(columns * kSize));
          }
        }
        for (int64_t y0 = 0; y0 < columns; y0 += kTileColumns) {
          const int64_t y = y0 + kTileColumns <= columns ? y0 : columns - kTileColumns;
          for (int64_t x0 = 0; x0 < rows; x0 += kTileRows) {
            const int64_t x = x0 + kTileRows <= rows ? x0 : rows - kTileRows;
            transpose_tile<E, kBytes>(out + y * p.out_stride + x * kSize, p.out_stride,
                                      block + x * kPitch + y * kSize, kPitch);
          }
        }
      }
    }
  }
  TENON_VECTORIZE static void run(Baseline, const Plane* p) noexcept { body<Baseline>(*p); }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, const Plane* p) noexcept {
    body<Avx2>(*p);
  }
#endif
};

#if TENON_HAS_AVX2
/// out |= those bytes of `in`, vector kIn of an array, that belong into vector kOut of the array
/// after kCount channels were parted (or, kJoin, joined).
template <size_t kSize, size_t kCount, bool kJoin, size_t kOut, size_t kIn, size_t... kByte>
TENON_TARGET_AVX2 TENON_ALWAYS_INLINE void pick_bytes(Vector<char, 16>& out,
                                                      const Vector<char, 16>& in,
                                                      std::index_sequence<kByte...>) noexcept {
  constexpr auto source = [](size_t byte) {  // where in the array the byte comes from
    const size_t lanes = 16 / kSize;
    const size_t element = (kOut * 16 + byte) / kSize;
    const size_t from = kJoin ? element % kCount * lanes + element / kCount
                              : element % lanes * kCount + element / lanes;
    return from * kSize + byte % kSize;
  };
  const Vector<char, 16> index = {static_cast<char>(
      source(kByte) / 16 == kIn ? source(kByte) % 16 : 0x80)...};  // 0x80 gives a zero
  out |= __builtin_ia32_pshufb128(in, index);
}
template <size_t kSize, size_t kCount, bool kJoin, size_t kOut, size_t... kIn>
TENON_TARGET_AVX2 TENON_ALWAYS_INLINE void pick_vector(Vector<char, 16>& out,
                                                       const Vector<char, 16>* in,
                                                       std::index_sequence<kIn...>) noexcept {
  out = Vector<char, 16>{};
  (pick_bytes<kSize, kCount, kJoin, kOut, kIn>(out, in[kIn], std::make_index_sequence<16>()), ...);
}
/// Parts kCount vectors of pixels into channels, or joins channels into pixels.
template <size_t kSize, size_t kCount, bool kJoin, size_t... kOut>
TENON_TARGET_AVX2 TENON_ALWAYS_INLINE void permute(Vector<char, 16>* out,
                                                   const Vector<char, 16>* in,
                                                   std::index_sequence<kOut...>) noexcept {
  (pick_vector<kSize, kCount, kJoin, kOut>(out[kOut], in, std::make_index_sequence<kCount>()), ...);
}
#endif

/// Pixels of kCount channels, `count` of them, into channels `channel_stride` bytes apart; the
/// first `channels` of them are wanted.
template <class E, size_t kCount>
struct PartKernel {
  static constexpr size_t kLanes = 16 / sizeof(E);

  static TENON_ALWAYS_INLINE void finish(char* out, int64_t channel_stride, int64_t channels,
                                         const char* in, int64_t from, int64_t count) noexcept {
    for (int64_t i = from; i < count; ++i) {
      for (int64_t k = 0; k < channels; ++k) {
        std::memcpy(out + k * channel_stride + i * int64_t{sizeof(E)},
                    in + (i * int64_t{kCount} + k) * int64_t{sizeof(E)}, sizeof(E));
      }
    }
  }
  /// The pixels that may be read whole: a last one without its last channels may end the memory.
  static TENON_ALWAYS_INLINE int64_t whole(int64_t channels, int64_t count) noexcept {
    const int64_t readable = channels == int64_t{kCount} ? count : count - 1;
    return readable - readable % int64_t{kLanes};
  }
  TENON_VECTORIZE static void run(Baseline, char* out, int64_t channel_stride, int64_t channels,
                                  const char* in, int64_t count) noexcept {
    const int64_t end = whole(channels, count);
    for (int64_t i = 0; i < end; i += int64_t{kLanes}) {
      Vector<E, 16> v[kCount];
      for (size_t k = 0; k < kCount; ++k) {
        load(v[k], in + i * int64_t{kCount * sizeof(E)} + static_cast<int64_t>(16 * k));
      }
      deinterleave<E, 16, kCount>(v);
      // Not as many times as `channels` says: then the vectors would live in memory.
      for (size_t k = 0; k < kCount; ++k) {
        if (static_cast<int64_t>(k) == channels) break;
        store(out + static_cast<int64_t>(k) * channel_stride + i * int64_t{sizeof(E)}, v[k]);
      }
    }
    finish(out, channel_stride, channels, in, end, count);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, char* out, int64_t channel_stride,
                                                    int64_t channels, const char* in,
                                                    int64_t count) noexcept {
    const int64_t end = whole(channels, count);
    for (int64_t i = 0; i < end; i += int64_t{kLanes}) {
      Vector<char, 16> v[kCount];
      Vector<char, 16> w[kCount];
      for (size_t k = 0; k < kCount; ++k) {
        load(v[k], in + i * int64_t{kCount * sizeof(E)} + static_cast<int64_t>(16 * k));
      }
      permute<sizeof(E), kCount, false>(w, v, std::make_index_sequence<kCount>());
      // Not as many times as `channels` says: then the vectors would live in memory.
      for (size_t k = 0; k < kCount; ++k) {
        if (static_cast<int64_t>(k) == channels) break;
        store(out + static_cast<int64_t>(k) * channel_stride + i * int64_t{sizeof(E)}, w[k]);
      }
    }
    finish(out, channel_stride, channels, in, end, count);
  }
#endif
};

/// Channels `channel_stride` bytes apart into `count` pixels of all kCount of them.
template <class E, size_t kCount>
struct JoinKernel {
  static constexpr size_t kLanes = 16 / sizeof(E);

  static TENON_ALWAYS_INLINE void finish(char* out, const char* in, int64_t channel_stride,
                                         int64_t from, int64_t count) noexcept {
    for (int64_t i = from; i < count; ++i) {
      for (size_t k = 0; k < kCount; ++k) {
        std::memcpy(out + (i * int64_t{kCount} + static_cast<int64_t>(k)) * int64_t{sizeof(E)},
                    in + static_cast<int64_t>(k) * channel_stride + i * int64_t{sizeof(E)},
                    sizeof(E));
      }
    }
  }
  TENON_VECTORIZE static void run(Baseline, char* out, const char* in, int64_t channel_stride,
                                  int64_t count) noexcept {
    finish(out, in, channel_stride, 0, count);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, char* out, const char* in,
                                                    int64_t channel_stride,
                                                    int64_t count) noexcept {
    const int64_t end = count - count % int64_t{kLanes};
    for (int64_t i = 0; i < end; i += int64_t{kLanes}) {
      Vector<char, 16> v[kCount];
      Vector<char, 16> w[kCount];
      for (size_t k = 0; k < kCount; ++k) {
        load(v[k], in + static_cast<int64_t>(k) * channel_stride + i * int64_t{sizeof(E)});
      }
      permute<sizeof(E), kCount, true>(w, v, std::make_index_sequence<kCount>());
      for (size_t k = 0; k < kCount; ++k) {
        store(out + i * int64_t{kCount * sizeof(E)} + static_cast<int64_t>(16 * k), w[k]);
      }
    }
    finish(out, in, channel_stride, end, count);
  }
#endif
};

/// Calls `body` with 2, 3 or 4 as a constant; false for another count.
template <class Body>
bool with_channels(int64_t count, Body&& body) {
  switch (count) {
    case 2: body(std::integral_constant<size_t, 2>()); return true;
    case 3: body(std::integral_constant<size_t, 3>()); return true;
    case 4: body(std::integral_constant<size_t, 4>()); return true;
    default: return false;
  }
}

template <class E>
void transpose_elements(const Plane& p) noexcept {
  constexpr int64_t kSize = sizeof(E);
  const bool pixels_in = p.in_stride % kSize == 0 && p.out_rows <= p.in_stride / kSize;
  const bool pixels_out = p.out_stride == p.in_rows * kSize;
  if (pixels_in && with_channels(p.in_stride / kSize, [&](auto count) {
        dispatch<PartKernel<E, count()>>(p.out, p.out_stride, p.out_rows, p.in, p.in_rows);
      })) {
    return;
  }
  if (pixels_out && with_channels(p.in_rows, [&](auto count) {
        dispatch<JoinKernel<E, count()>>(p.out, p.in, p.in_stride, p.out_rows);
      })) {
    return;
  }
  if (TransposeKernel<E>::takes(p)) return dispatch<TransposeKernel<E>>(&p);
  transpose_by_element<sizeof(E)>(p);
}

/// Copies the plane; `size` is that of its elements, 1, 2, 4, 8 or 16 bytes.
TENON_LAZY_KERNEL void transpose_plane(const Plane& p, size_t size) noexcept {
  switch (size) {
    case 1: return transpose_elements<uint8_t>(p);
    case 2: return transpose_elements<uint16_t>(p);
    case 4: return transpose_elements<uint32_t>(p);
    case 8: return transpose_elements<uint64_t>(p);
    default: return transpose_by_element<16>(p);
  }
}

}  // namespace detail
TENON_END_NAMESPACE
