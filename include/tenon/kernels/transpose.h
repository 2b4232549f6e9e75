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
#include "tenon/kernels/units.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A plane to copy. Element (i, j) goes from in + i * in_step_i + j * in_step_j to out + i *
/// out_step_i + j * out_step_j, for i < count_i and j < count_j. Steps are in bytes and may be
/// negative; no two elements overlap.
struct Plane {
  char* out;
  const char* in;
  int64_t count_i;
  int64_t count_j;
  int64_t out_step_i;
  int64_t out_step_j;
  int64_t in_step_i;
  int64_t in_step_j;

  /// The plane with i and j exchanged.
  Plane exchanged() const noexcept {
    return {out, in, count_j, count_i, out_step_j, out_step_i, in_step_j, in_step_i};
  }
};

/// Copies element by element along the longer side, in runs that stay in the cache.
TENON_TEMPLATE_INLINE void copy_by_element(const Plane& plane, size_t size) noexcept {
  const Plane p = plane.count_i >= plane.count_j ? plane : plane.exchanged();
  const bool is_near = p.count_j < 8 && p.in_step_i < 1024 && p.out_step_i < 1024;
  const int64_t run = p.count_j == 1 ? p.count_i : is_near ? 256 : 32;
  for (int64_t i = 0; i < p.count_i; i += run) {
    const int64_t n = p.count_i - i < run ? p.count_i - i : run;
    for (int64_t j = 0; j < p.count_j; ++j) {
      copy_strided(p.out + i * p.out_step_i + j * p.out_step_j, p.out_step_i,
                   p.in + i * p.in_step_i + j * p.in_step_j, p.in_step_i, n, size);
    }
  }
}

#if !defined(__OPTIMIZE_SIZE__)
/// Transposes a column of squares of 16 bytes a side: `rows` rows of 16 bytes, `pitch` apart, at
/// least one square. The last square may overlap its neighbour. log2(lanes) perfect shuffles of a
/// square's rows, taken as one array, move element lanes * p + q to lanes * q + p.
template <class E>
TENON_VECTORIZE void transpose_strip(char* out, int64_t out_stride, const char* in, int64_t pitch,
                                     int64_t rows) noexcept {
  constexpr size_t kLanes = 16 / sizeof(E);
#if TENON_PORTABLE
  for (size_t lane = 0; lane < kLanes; ++lane, out += out_stride, in += sizeof(E)) {
    copy_strided(out, int64_t{sizeof(E)}, in, pitch, rows, sizeof(E));
  }
#else
  constexpr auto kTile = static_cast<int64_t>(kLanes);
  for (int64_t x0 = 0; x0 < rows; x0 += kTile) {
    const int64_t x = x0 + kTile <= rows ? x0 : rows - kTile;
    char* const to = out + x * static_cast<int64_t>(sizeof(E));
    Vector<E, 16> v[kLanes];
    for (int64_t i = 0; i < kTile; ++i) load(v[i], in + (x + i) * pitch);
    for (size_t step = 1; step < kLanes; step *= 2) {
      Vector<E, 16> w[kLanes];
      for (size_t i = 0; i < kLanes / 2; ++i) {
        shuffle(w[2 * i], v[i], v[i + kLanes / 2], kZip<false, E, kLanes>);
        shuffle(w[2 * i + 1], v[i], v[i + kLanes / 2], kZip<true, E, kLanes>);
      }
      for (size_t i = 0; i < kLanes; ++i) v[i] = w[i];
    }
    for (int64_t i = 0; i < kTile; ++i) store(to + i * out_stride, v[i]);
  }
#endif
}

/// Transposes a plane of at least one square, of elements of 1, 2, 4 or 8 bytes, in blocks of 64
/// rows of one cache line. The rows are first gathered: with a power-of-two stride they would evict
/// each other before their lines are used up. Prefetches, since rows are too far apart for the
/// processor's prefetcher.
TENON_TEMPLATE_INLINE void transpose_blocks(const Plane& p, size_t size) noexcept {
  const auto strip = size == 1   ? &transpose_strip<uint8_t>
                     : size == 2 ? &transpose_strip<uint16_t>
                     : size == 4 ? &transpose_strip<uint32_t>
                                 : &transpose_strip<uint64_t>;
  const auto element = static_cast<int64_t>(size);
  const int64_t tile = 16 / element;
  constexpr int64_t kRows = 64;
  constexpr int64_t kLine = 64;
  alignas(64) char block[kRows * kLine];
  const int64_t rows = p.count_i < kRows ? p.count_i : kRows;
  const bool are_lines = p.count_j >= kLine / element;
  const int64_t width = are_lines ? kLine / element : p.count_j;
  for (int64_t r0 = 0; r0 < p.count_i; r0 += rows) {
    const int64_t r = r0 + rows <= p.count_i ? r0 : p.count_i - rows;
    for (int64_t c0 = 0; c0 < p.count_j; c0 += width) {
      const int64_t c = c0 + width <= p.count_j ? c0 : p.count_j - width;
      const char* in = p.in + r * p.in_step_i + c * element;
      char* const out = p.out + c * p.out_step_j + r * element;
      if (are_lines) {
        for (int64_t i = 0; i < rows; ++i) {
          const char* const line = in + i * p.in_step_i;
          std::memcpy(block + i * kLine, line, 64);  // constant length: no call
#if !TENON_PORTABLE
          __builtin_prefetch(line + kLine);
#endif
        }
        in = block;
      }
      for (int64_t y0 = 0; y0 < width; y0 += tile) {
        const int64_t y = y0 + tile <= width ? y0 : width - tile;
        strip(out + y * p.out_step_j, p.out_step_j, in + y * element,
              are_lines ? kLine : p.in_step_i, rows);
      }
    }
  }
}
#endif

/// Copies pixels of one to four channels from planar to interleaved memory, back, or from
/// interleaved to interleaved in another channel order: loads vectors of pixels and shuffles their
/// bytes. Set up for the strides of the first plane; other planes' addresses, lengths and channel
/// distances may differ. Leaves planes of other strides to the caller.
#if !TENON_HAS_VARIANTS
struct PixelShuffle {  // does nothing
  explicit PixelShuffle(bool) noexcept {}
  bool copy(Plane&, size_t) const noexcept { return false; }
  void copy_next(char*, const char*) const noexcept {}
};
#else
class PixelShuffle {
 public:
  /// Does nothing unless `is_worthwhile`: setting up takes as long as copying some hundred bytes.
  explicit PixelShuffle(bool is_worthwhile) noexcept : is_planned_(!is_worthwhile) {}

  /// Copies what it can of a plane, and sets the plane to the rest. Returns whether nothing is
  /// left.
  template <class = void>
  bool copy(Plane& p, size_t size) noexcept {
    if (!is_planned_) plan(p, static_cast<int64_t>(size));
    if (run_ == nullptr) return false;
    const int64_t across = along_j_ ? p.count_i : p.count_j;
    const int64_t pixels = along_j_ ? p.count_j : p.count_i;
    const int64_t last = pixels - rest_;  // last pixel where a group may begin
    const int64_t count = are_lines_ ? across : 1;
    const Strides s = strides(p);
    const bool is_alike = size == size_ && across == count * channels_ &&
                          s.in_pixel == planned_.in_pixel && s.out_pixel == planned_.out_pixel;
    if (last < 0 || !is_alike) return false;
    lines_ = count;
    last_ = last;
    strides_ = s;
    copy_next(p.out, p.in);
    const int64_t left = rest_ - group_;
    p.in += (pixels - left) * s.in_pixel;
    p.out += (pixels - left) * s.out_pixel;
    (along_j_ ? p.count_j : p.count_i) = left;
    return left == 0;
  }
  /// Copies a plane like the previous one, which copy() copied entirely.
  void copy_next(char* out, const char* in) const noexcept {
    in += low_;
    for (int64_t line = 0; line < lines_; ++line) {
      run_(*this, out, in, last_, strides_);
      out += strides_.out_channel;
      in += strides_.in_channel;
    }
    clear_upper_halves();
  }

 private:
  struct Strides {
    int64_t out_pixel, out_channel, in_pixel, in_channel;
  };
  Strides strides(const Plane& p) const noexcept {
    if (along_j_) return {p.out_step_j, p.out_step_i, p.in_step_j, p.in_step_i};
    return {p.out_step_i, p.out_step_j, p.in_step_i, p.in_step_j};
  }

  template <class = void>
  void plan(const Plane& p, int64_t size) noexcept {
    is_planned_ = true;
    if (isa() < Isa::Avx2) return;
    along_j_ = p.count_i < p.count_j;
    const int64_t channels = along_j_ ? p.count_i : p.count_j;
    if (channels <= 4) plan_pixels(strides(p), channels, size);
    if (run_ != nullptr) return;
    along_j_ = p.out_step_i != size;
    if ((along_j_ ? p.count_j : p.count_i) < 8) return;  // too few: the calls would take longer
    are_lines_ = true;                                   // lines of pixels of one channel
    plan_pixels(strides(p), 1, size);
  }

  /// Leaves run_ null if the strides do not allow it. Cold: compiled for size, as it runs once for
  /// all planes.
  TENON_COLD void plan_pixels(const Strides& s, int64_t channels, int64_t size) noexcept {
    // For interleaved pixels: the distance between two pixels, and the offsets of a pixel's first
    // byte and of the end of its last one.
    const int64_t pitch = s.in_pixel < 0 ? -s.in_pixel : s.in_pixel;
    const int64_t reach = (channels - 1) * s.in_channel;
    const int64_t begin = reach < 0 ? reach : 0;
    const int64_t end = (reach < 0 ? 0 : reach) + size;
    const int64_t gap = pitch - (end - begin);
    const bool from_pixels = gap >= 0;
    const bool to_pixels =
        s.out_pixel == channels * size && (channels == 1 || s.out_channel == size);
    const int64_t widest = pitch > s.out_pixel ? pitch : s.out_pixel;
    bool from_planes = false;
    bool to_planes = false;
    low_ = begin;
    channels_ = channels;
    size_ = static_cast<size_t>(size);
    planned_ = s;
    if (from_pixels && to_pixels && 16 / widest > (channels == 1 ? 1 : 0)) {
      // A vector, including the bytes after its group of pixels, must lie in the row.
      group_ = 16 / widest;
      run_ = &run<1>;
      if (s.in_pixel < 0) low_ = end - 16;
      const int64_t in_rest = (15 + gap + pitch) / pitch;
      const int64_t out_rest = (15 + s.out_pixel) / s.out_pixel;
      rest_ = in_rest > out_rest ? in_rest : out_rest;
    } else {
      const bool has_lanes = channels > 1 && size < 16 && 16 % size == 0;
      from_planes = has_lanes && to_pixels && s.in_pixel == size;
      to_planes = has_lanes && from_pixels && s.out_pixel == size && s.in_pixel % size == 0 &&
                  s.in_pixel >= channels * size && s.in_pixel <= 4 * size;
      if (!from_planes && !to_planes) return;
      group_ = 16 / size;
      const int64_t vectors = from_planes ? channels : pitch / size;
      run_ = vectors == 2 ? &run<2> : vectors == 3 ? &run<3> : &run<4>;
      if (from_planes) low_ = 0;
      rest_ = group_ + (to_planes && gap != 0 ? 1 : 0);  // the memory may end before the last gap
    }
    in_are_planes_ = from_planes;
    out_are_planes_ = to_planes;
    std::memset(masks_, 0x80, sizeof masks_);
    for (int64_t pixel = 0; pixel < group_; ++pixel) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        const int64_t in_vectors = 16 * channel + pixel * size;  // the offset in vectors of planes
        auto from = static_cast<size_t>(
            from_planes ? in_vectors : pixel * s.in_pixel + channel * s.in_channel - low_);
        auto to = static_cast<size_t>(to_planes ? in_vectors
                                                : pixel * s.out_pixel + channel * s.out_channel);
        for (int64_t k = 0; k < size; ++k, ++from, ++to) {
          masks_[to / 16][from / 16][to % 16] = static_cast<char>(from % 16);
        }
      }
    }
  }

  /// Copies the pixels up to and including the group at `last`.
  template <size_t kCount>
  TENON_TARGET_AVX2 static void run(const PixelShuffle& shuffle, char* to, const char* from,
                                    int64_t last, const Strides& s) noexcept {
    const int64_t in_next = shuffle.in_are_planes_ ? s.in_channel : 16;
    const int64_t out_next = shuffle.out_are_planes_ ? s.out_channel : 16;
    const int64_t in_array = shuffle.group_ * s.in_pixel;
    const int64_t out_array = shuffle.group_ * s.out_pixel;
    const char* const in_last = from + last * s.in_pixel;
    char* const out_last = to + last * s.out_pixel;
    Vector<char, 16> mask[kCount][kCount];  // a local copy, which written bytes cannot alias
    // Unrolled, to keep the vectors in registers.
    TENON_UNROLL
    for (size_t k = 0; k < kCount; ++k) {
      TENON_UNROLL
      for (size_t j = 0; j < kCount; ++j) mask[k][j] = shuffle.masks_[k][j];
    }
    if constexpr (kCount == 1) {
      for (; last >= 4 * shuffle.group_; last -= 4 * shuffle.group_) {
        TENON_UNROLL
        for (int k = 0; k < 4; ++k, from += in_array, to += out_array) {
          Vector<char, 16> v;
          load(v, from);
          v = __builtin_ia32_pshufb128(v, mask[0][0]);
          store(to, v);
        }
      }
    }
    for (;;) {
      Vector<char, 16> v[kCount];
      TENON_UNROLL
      for (size_t k = 0; k < kCount; ++k) load(v[k], from + static_cast<int64_t>(k) * in_next);
      TENON_UNROLL
      for (size_t k = 0; k < kCount; ++k) {
        if (static_cast<int64_t>(k) == shuffle.channels_) break;
        Vector<char, 16> w = __builtin_ia32_pshufb128(v[0], mask[k][0]);
        TENON_UNROLL
        for (size_t j = 1; j < kCount; ++j) w |= __builtin_ia32_pshufb128(v[j], mask[k][j]);
        store(to + static_cast<int64_t>(k) * out_next, w);
      }
      if (from == in_last) return;
      from += in_array;
      to += out_array;
      last -= shuffle.group_;
      if (last < 0) {  // overlapping the previous group
        from = in_last;
        to = out_last;
      }
    }
  }

  bool along_j_ = false;
  bool are_lines_ = false;
  bool in_are_planes_ = false;
  bool out_are_planes_ = false;
  void (*run_)(const PixelShuffle& shuffle, char* to, const char* from, int64_t last,
               const Strides& s) noexcept = nullptr;  // null if the strides do not allow it
  int64_t channels_ = 0;
  size_t size_ = 0;  // bytes of an element
  Strides planned_{};
  int64_t group_ = 0;             // pixels per group
  int64_t rest_ = 0;              // pixels that must be left for a group
  int64_t lines_ = 0;             // lines of the last plane
  int64_t last_ = 0;              // pixel of that plane where the last group begins
  Strides strides_{};             // that plane's strides
  int64_t low_ = 0;               // from a group's first pixel to its first byte
  Vector<char, 16> masks_[4][4];  // [to][from]: the byte of `from`, or 0x80 for none
  bool is_planned_;
};
#endif

/// Copies a plane in the first of these ways that applies: filling rows, copying consecutive rows
/// (short rows as elements), shuffling pixels, transposing squares, copying element by element.
/// Elements have `size` bytes, 1 to 16. Returns whether shuffle.copy_next() can copy further planes
/// like this one.
TENON_COMPILED_ONCE TENON_NOINLINE bool copy_plane(const Plane& plane, size_t size,
                                                   PixelShuffle& shuffle) noexcept {
  const size_t row_nbytes = static_cast<size_t>(plane.count_i) * size;
  if (plane.in_step_i == 0 && plane.out_step_i == static_cast<int64_t>(size) &&
      row_nbytes >= kLeastFill && 16 % size == 0) {
    fill_rows(
        {plane.out, plane.in, row_nbytes, size, plane.count_j, plane.out_step_j, plane.in_step_j});
    return false;
  }
  Plane p = plane.out_step_j == static_cast<int64_t>(size) ? plane.exchanged() : plane;
  if (p.in_step_i == static_cast<int64_t>(size) && p.out_step_i == p.in_step_i) {
    size *= static_cast<size_t>(p.count_i);
    if (size > 16) {
      copy_strided(p.out, p.out_step_j, p.in, p.in_step_j, p.count_j, size);
      return false;
    }
    p.count_i = 1;
  }
  if (shuffle.copy(p, size)) return true;
#if !defined(__OPTIMIZE_SIZE__)
  if (p.in_step_j == -static_cast<int64_t>(size)) {  // reversed: start at the other end
    p.in += (p.count_j - 1) * p.in_step_j;
    p.out += (p.count_j - 1) * p.out_step_j;
    p.in_step_j = -p.in_step_j;
    p.out_step_j = -p.out_step_j;
  }
  const auto element = static_cast<int64_t>(size);
  if (p.in_step_j == element && p.out_step_i == element && p.count_i * element >= 16 &&
      p.count_j * element >= 16 && size <= 8 && (size & (size - 1)) == 0) {
    transpose_blocks(p, size);
    clear_after_baseline();
    return false;
  }
#endif
  copy_by_element(p, size);
  clear_after_baseline();
  return false;
}

}  // namespace detail
TENON_END_NAMESPACE
