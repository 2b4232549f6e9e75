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

/// Element by element along the longer side, in runs that stay in the cache.
TENON_LAZY void transpose_by_element(const Plane& p, size_t size) noexcept {
  constexpr int64_t kRun = 32;
  const auto element = static_cast<int64_t>(size);
  const bool along_in = p.in_rows >= p.out_rows;
  const int64_t line_count = along_in ? p.out_rows : p.in_rows;
  const int64_t length = along_in ? p.in_rows : p.out_rows;
  const int64_t out_step = along_in ? element : p.out_stride;
  const int64_t in_step = along_in ? p.in_stride : element;
  for (int64_t i = 0; i < length; i += kRun) {
    const int64_t n = length - i < kRun ? length - i : kRun;
    for (int64_t line = 0; line < line_count; ++line) {
      copy_strided(p.out + line * (along_in ? p.out_stride : element) + i * out_step, out_step,
                   p.in + line * (along_in ? element : p.in_stride) + i * in_step, in_step, n,
                   size);
    }
  }
}

#if !defined(__OPTIMIZE_SIZE__)
/// A square of 16 bytes a side. log2(lanes) perfect shuffles of the rows, taken as one array, bring
/// element lanes * p + q of it to where lanes * q + p was.
template <class E>
TENON_ALWAYS_INLINE void transpose_tile(char* out, int64_t out_stride, const char* in,
                                        int64_t in_stride) noexcept {
  constexpr size_t kLanes = 16 / sizeof(E);
  constexpr auto lanes = std::make_index_sequence<kLanes>();
  Vector<E, 16> v[kLanes];
  for (size_t i = 0; i < kLanes; ++i) load(v[i], in + static_cast<int64_t>(i) * in_stride);
  for (size_t step = 1; step < kLanes; step *= 2) {
    Vector<E, 16> w[kLanes];
    for (size_t i = 0; i < kLanes / 2; ++i) {
      zip<false>(w[2 * i], v[i], v[i + kLanes / 2], lanes);
      zip<true>(w[2 * i + 1], v[i], v[i + kLanes / 2], lanes);
    }
    for (size_t i = 0; i < kLanes; ++i) v[i] = w[i];
  }
  for (size_t i = 0; i < kLanes; ++i) store(out + static_cast<int64_t>(i) * out_stride, v[i]);
}

/// A plane of at least one tile, of elements of 1 to 4 bytes, in blocks of 64 rows of one cache
/// line. The rows are first copied together: with a stride that is a power of two they would evict
/// each other before all of their line is used. What does not fill a block is copied by blocks that
/// overlap their neighbours.
template <class E>
TENON_VECTORIZE void transpose_blocks(const Plane& p) noexcept {
  constexpr int64_t kSize = sizeof(E);
  constexpr int64_t kTile = 16 / kSize;
  constexpr int64_t kRows = 64;
  constexpr int64_t kColumns = 64 / kSize;
  constexpr int64_t kPitch = 64;
  alignas(64) char block[kRows * kPitch];
  const int64_t rows = p.in_rows < kRows ? p.in_rows : kRows;
  const int64_t width = p.out_rows < kColumns ? p.out_rows : kColumns;
  for (int64_t r0 = 0; r0 < p.in_rows; r0 += rows) {
    const int64_t r = r0 + rows <= p.in_rows ? r0 : p.in_rows - rows;
    for (int64_t c0 = 0; c0 < p.out_rows; c0 += width) {
      const int64_t c = c0 + width <= p.out_rows ? c0 : p.out_rows - width;
      const char* const in = p.in + r * p.in_stride + c * kSize;
      char* const out = p.out + c * p.out_stride + r * kSize;
      for (int64_t i = 0; i < rows; ++i) {
        char* const row = block + i * kPitch;
        if (width == kColumns) {
          std::memcpy(row, in + i * p.in_stride, 64);  // of known length, which is not a call
        } else {
          std::memcpy(row, in + i * p.in_stride, static_cast<size_t>(width * kSize));
        }
      }
      for (int64_t y0 = 0; y0 < width; y0 += kTile) {
        const int64_t y = y0 + kTile <= width ? y0 : width - kTile;
        for (int64_t x0 = 0; x0 < rows; x0 += kTile) {
          const int64_t x = x0 + kTile <= rows ? x0 : rows - kTile;
          transpose_tile<E>(out + y * p.out_stride + x * kSize, p.out_stride,
                            block + x * kPitch + y * kSize, kPitch);
        }
      }
    }
  }
}
#endif

#if TENON_HAS_VARIANTS
/// Pixels of two to four channels to channels, or back: arrays of as many vectors as channels, in
/// which every byte gets another place.
struct ChannelShuffle {
  char* out;
  const char* in;
  int64_t out_step;  // between the vectors of an array, in bytes
  int64_t in_step;
  int64_t out_next;  // between arrays
  int64_t in_next;
  int64_t arrays;
  size_t wanted;                 // of an array's vectors in `out`
  Vector<char, 16> masks[4][4];  // [to][from]: the byte of `from`, or 0x80 for none

  void make_masks(size_t channels, size_t size, bool to_pixels) noexcept {
    std::memset(masks, 0x80, sizeof masks);
    size_t pixels = 0;  // a byte of the pixels
    for (size_t p = 0; p < 16; p += size) {
      for (size_t channel = 0; channel < channels; ++channel) {
        for (size_t byte = p; byte < p + size; ++byte, ++pixels) {
          const size_t other = 16 * channel + byte;  // where it is among channels of 16 bytes
          const size_t to = to_pixels ? pixels : other;
          const size_t from = to_pixels ? other : pixels;
          masks[to / 16][from / 16][to % 16] = static_cast<char>(from % 16);
        }
      }
    }
  }
  template <size_t kCount>
  TENON_VECTORIZE TENON_TARGET_AVX2 void run() const noexcept {
    Vector<char, 16> mask[kCount][kCount];  // where no byte that is written can alias it
    for (size_t k = 0; k < kCount; ++k) std::memcpy(mask[k], masks[k], sizeof mask[k]);
    const char* from = in;
    char* to = out;
    for (int64_t i = 0; i < arrays; ++i, from += in_next, to += out_next) {
      Vector<char, 16> v[kCount];
      for (size_t k = 0; k < kCount; ++k) load(v[k], from + static_cast<int64_t>(k) * in_step);
      for (size_t k = 0; k < kCount; ++k) {
        // Not as many times as `wanted` says: then the vectors would live in memory.
        if (k == wanted) break;
        Vector<char, 16> w = __builtin_ia32_pshufb128(v[0], mask[k][0]);
        for (size_t j = 1; j < kCount; ++j) w |= __builtin_ia32_pshufb128(v[j], mask[k][j]);
        store(to + static_cast<int64_t>(k) * out_step, w);
      }
    }
  }
};

/// Copies what it can of a plane that is pixels on one side; `p` becomes what is left.
TENON_LAZY void shuffle_channels(Plane& p, size_t size) noexcept {
  const auto element = static_cast<int64_t>(size);
  const auto is_few = [](int64_t channels) { return channels >= 2 && channels <= 4; };
  const bool from_pixels = p.in_stride % element == 0 && is_few(p.in_stride / element) &&
                           p.out_rows <= p.in_stride / element;
  const bool to_pixels = is_few(p.in_rows) && p.out_stride == p.in_rows * element;
  if (isa() < Isa::Avx2 || size == 16 || !(from_pixels || to_pixels)) return;
  const int64_t channels = from_pixels ? p.in_stride / element : p.in_rows;
  const int64_t pixels = from_pixels ? p.in_rows : p.out_rows;
  if (pixels * channels * element < 1024) return;  // the masks would take longer
  // A last pixel without its last channels may end the memory.
  const int64_t whole = from_pixels && p.out_rows < channels ? pixels - 1 : pixels;
  const int64_t lanes = 16 / element;
  ChannelShuffle s;
  s.out = p.out;
  s.in = p.in;
  s.out_step = from_pixels ? p.out_stride : 16;
  s.in_step = from_pixels ? 16 : p.in_stride;
  s.out_next = from_pixels ? 16 : 16 * channels;
  s.in_next = from_pixels ? 16 * channels : 16;
  s.arrays = whole / lanes;
  s.wanted = static_cast<size_t>(from_pixels ? p.out_rows : channels);
  s.make_masks(static_cast<size_t>(channels), size, !from_pixels);
  if (channels == 2) s.run<2>();
  if (channels == 3) s.run<3>();
  if (channels == 4) s.run<4>();
  clear_upper_halves();
  const int64_t done = s.arrays * lanes;
  p.in += done * (from_pixels ? p.in_stride : element);
  p.out += done * (from_pixels ? element : p.out_stride);
  (from_pixels ? p.in_rows : p.out_rows) -= done;
}
#endif

/// Copies the plane; `size` is that of its elements, 1, 2, 4, 8 or 16 bytes.
TENON_COMPILED_ONCE void transpose_plane(const Plane& plane, size_t size) noexcept {
  Plane p = plane;
#if TENON_HAS_VARIANTS
  shuffle_channels(p, size);
#endif
#if !defined(__OPTIMIZE_SIZE__)
  // Larger elements are as fast one by one.
  const auto tile = static_cast<int64_t>(16 / size);
  if (size <= 4 && p.in_rows >= 2 * tile && p.out_rows >= tile) {
    size == 1   ? transpose_blocks<uint8_t>(p)
    : size == 2 ? transpose_blocks<uint16_t>(p)
                : transpose_blocks<uint32_t>(p);
    return clear_after_baseline();
  }
#endif
  transpose_by_element(p, size);
  clear_after_baseline();
}

}  // namespace detail
TENON_END_NAMESPACE
