// SPDX-License-Identifier: MIT
// Converts two dimensions of elements: gathers some thousand bytes that lie apart to a dense block,
// converts that at once, and scatters what it becomes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// How a Normalize's channels lie in the rows that are converted.
enum class Channels : uint8_t { Same, AlongRow, AlongRows };

/// For conversions that need nothing before a step.
struct NoPreparation {
  void operator()(int64_t, int64_t, int64_t, int64_t) const noexcept {}
};

/// Converts planes that lie alike: what the innermost dimensions of a plan's piece hold.
struct BlockConversion : Conversion {
  static constexpr int64_t kBytes = TENON_BARE_METAL ? 80 : 4096;  // small frames there
  static constexpr size_t kAlignment = TENON_BARE_METAL ? 8 : 64;

  PixelShuffle gathering;
  PixelShuffle scattering;
  /// Whether rows are along the last dimension but one: where the source is consecutive along it,
  /// the smaller elements are transposed.
  bool exchanges;
  Channels channels = Channels::Same;

  TENON_TEMPLATE_INLINE explicit BlockConversion(const CopyPlan& piece) noexcept
      : gathering(piece.nbytes >= 256), scattering(piece.nbytes >= 256) {
    exchanges = piece.unit < piece.src_size && piece.rank >= 2 &&
                piece.dims[piece.rank - 2].src_stride == source_unit(piece) &&
                piece.dims[piece.rank - 1].src_stride != 0;
  }

  /// `prepare(row, rows, i, length)` is told which rows come next and which elements of them: of at
  /// most `most_listed` elements where channels differ.
  template <class Prepare = NoPreparation>
  TENON_NOINLINE void convert(const Plane& plane, int64_t most_listed = 0,
                              const Prepare& prepare = {}) noexcept {
    alignas(kAlignment) char gathered[kBytes];
    alignas(kAlignment) char made[kBytes];
    const Plane p = exchanges ? plane.exchanged() : plane;
    const int64_t rows = p.out_rows;
    const int64_t length = p.in_rows;
    const int64_t larger = from_size < to_size ? to_size : from_size;
    const int64_t smaller = from_size < to_size ? from_size : to_size;
    const bool is_in_row = p.in_stride == from_size;
    const bool is_out_row = p.out_step == to_size;
    const bool is_in_dense = is_in_row && p.in_step == length * from_size;
    const bool is_out_dense = is_out_row && p.out_stride == length * to_size;
    const bool is_cheap = count == 1 && length % kStepElements == 0;
    const bool by_row =
        rows == 1 || length * larger >= kBytes / 4 ||
        (length >= 64 && (is_cheap || !is_out_dense || channels == Channels::AlongRows));
    const bool gathers = p.in == p.out || !(by_row ? is_in_row : is_in_dense);
    const bool scatters = !(by_row ? is_out_row : is_out_dense);
    const bool lists = channels == Channels::AlongRow || (channels != Channels::Same && !by_row);
    int64_t most = lists ? most_listed : INT64_MAX;
    if (gathers && most > kBytes / from_size) most = kBytes / from_size;
    if (scatters && most > kBytes / to_size) most = kBytes / to_size;
    int64_t width = length < most ? length : most;
    const auto distance = [](int64_t stride) { return stride < 0 ? -stride : stride; };
    if (by_row && (distance(p.in_step) < distance(p.in_stride) || p.out_stride < p.out_step)) {
      // As many rows as a cache line has of the smaller elements, which may lie along them.
      int64_t least = most / (rows < 64 / smaller ? rows : 64 / smaller);
      if (least < 1) least = 1;  // where the blocks are small
      if (least < width) width = least < kStepElements ? least : least & -kStepElements;
    }
    int64_t height = most / width;
    if (height > kStepElements) height -= height % kStepElements;
    for (int64_t r = 0; r < rows; r += height) {
      const int64_t n = rows - r < height ? rows - r : height;
      for (int64_t i = 0; i < length; i += width) {
        const int64_t m = length - i < width ? length - i : width;
        const char* in = p.in + r * p.in_step + i * p.in_stride;
        char* const target = p.out + r * p.out_stride + i * p.out_step;
        char* const out = scatters ? made : target;
        if (gathers) {
          copy_plane({gathered, in, m * from_size, p.in_stride, n, m, from_size, p.in_step},
                     static_cast<size_t>(from_size), gathering);
          in = gathered;
        }
        const int64_t together = by_row ? 1 : n;
        for (int64_t k = 0; k < n; k += together) {
          prepare(r + k, together, i, m);
          run(out + k * (scatters ? m * to_size : p.out_stride),
              in + k * (gathers ? m * from_size : p.in_step), together * m);
        }
        if (scatters) {
          copy_plane({target, made, p.out_stride, to_size, n, m, p.out_step, m * to_size},
                     static_cast<size_t>(to_size), scattering);
        }
      }
    }
  }
};

/// Casts a plane whose source is the same along i: once, and copies it to all. A function of its
/// own, so that its buffer is not in the frame of convert()'s caller.
TENON_TEMPLATE_INLINE TENON_NOINLINE void cast_repeated(BlockConversion& c,
                                                        const Plane& p) noexcept {
  alignas(BlockConversion::kAlignment) char made[BlockConversion::kBytes];
  const int64_t most = BlockConversion::kBytes / c.to_size;
  for (int64_t j = 0; j < p.out_rows; j += most) {
    const int64_t n = p.out_rows - j < most ? p.out_rows - j : most;
    c.convert({made, p.in + j * p.in_step, 0, p.in_step, 1, n, c.to_size, 0});
    copy_plane(
        {p.out + j * p.out_stride, made, p.out_stride, 0, n, p.in_rows, p.out_step, c.to_size},
        static_cast<size_t>(c.to_size), c.scattering);
  }
}

/// Casts what a piece of a plan says: a CastFunction for all pairs of types.
TENON_COMPILED_ONCE void cast_elements(const CopyPlan& piece) noexcept {
  BlockConversion conversion(piece);
  make_conversion(conversion, own_type(piece.dst_type), own_type(piece.src_type), piece.mode);
  BlockWalk at(piece, 2);
  const Plane& plane = at.plane;
  const bool repeats_rows = plane.in_step == 0 && plane.out_rows > 1 &&
                            plane.in_rows * conversion.to_size <= BlockConversion::kBytes;
  const bool repeats = repeats_rows || (plane.in_stride == 0 && plane.in_rows != 1);
  do {
    if (repeats) {
      cast_repeated(conversion, repeats_rows ? plane.exchanged() : plane);
    } else {
      conversion.convert(plane);
    }
  } while (at.next());
  clear_after_variants();
}

}  // namespace detail
TENON_END_NAMESPACE
