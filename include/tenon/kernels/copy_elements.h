// SPDX-License-Identifier: MIT
// Copies and casts the elements of strided memory, by an ElementPlan.
//
// Strided elements are cast in blocks: some thousand bytes are gathered, converted at once, and
// scattered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/element_plan.h"
#include "tenon/kernels/fill.h"
#include "tenon/kernels/transpose.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Iterates over the blocks of a plan, which span its `inner` innermost dimensions and `chunk` of
/// the next one, fewer at its end. `plane.out` and `plane.in` are the block's start; if `inner` is
/// 2, the plane is the block.
class BlockWalk {
 public:
  template <class = void>
  TENON_NOINLINE BlockWalk(const ElementPlan& plan, size_t inner, ptrdiff_t chunk = 1) noexcept
      : dims_(plan.dims), outer_(plan.rank < inner ? 0 : plan.rank - inner), chunk_(chunk) {
    ElementPlan::Dim row{1, static_cast<ptrdiff_t>(plan.unit), source_unit(plan)};
    ElementPlan::Dim other{1, 0, 0};
    if (plan.rank >= 1) row = plan.dims[plan.rank - 1];
    if (plan.rank >= 2) other = plan.dims[plan.rank - 2];
    plane.out = static_cast<char*>(plan.dst);
    plane.in = static_cast<const char*>(plan.src);
    plane.count_j = other.size;
    plane.out_step_j = other.dst_stride;
    plane.in_step_j = other.src_stride;
    plane.count_i = row.size;
    plane.out_step_i = row.dst_stride;
    plane.in_step_i = row.src_stride;
    for (size_t d = 0; d < outer_; ++d) index_[d] = 0;
  }
  /// Moves to the next block. Returns false at the end.
  template <class = void>
  TENON_NOINLINE bool next() noexcept {
    ptrdiff_t step = chunk_;
    for (size_t d = outer_; d-- > 0; step = 1) {
      const ElementPlan::Dim& dim = dims_[d];
      if (dim.size - index_[d] > step) {
        move(d, step);
        return true;
      }
      move(d, -index_[d]);
    }
    return false;
  }
  /// Moves from the first block to block `index`, where blocks have a chunk of 1.
  void move_to(ptrdiff_t index) noexcept {
    for (size_t d = outer_; d-- > 0;) {
      move(d, index % dims_[d].size);
      index /= dims_[d].size;
    }
  }
  /// How many indices of the chunked dimension the block spans.
  ptrdiff_t chunk() const noexcept {
    if (outer_ == 0) return 1;
    const ptrdiff_t rest = dims_[outer_ - 1].size - index_[outer_ - 1];
    return rest < chunk_ ? rest : chunk_;
  }

  Plane plane;

 private:
  void move(size_t d, ptrdiff_t steps) noexcept {
    index_[d] += steps;
    plane.out += steps * dims_[d].dst_stride;
    plane.in += steps * dims_[d].src_stride;
  }

  const ElementPlan::Dim* dims_;
  size_t outer_;
  ptrdiff_t chunk_;
  ptrdiff_t index_[kMaxLongDims];
};

/// Splits a plan among threads along a dimension.
template <class Run>
void share_dim(const ElementPlan& plan, size_t along, int64_t grain, const Run& run) noexcept {
  const ElementPlan::Dim& dim = plan.dims[along];
  parallel_for(dim.size, grain, plan.nbytes, [&](int64_t begin, int64_t end) {
    ElementPlan piece = plan;
    piece.dst = static_cast<char*>(plan.dst) + begin * dim.dst_stride;
    piece.src = static_cast<const char*>(plan.src) + begin * dim.src_stride;
    const int64_t size = end - begin;
    piece.dims[along].size = static_cast<ptrdiff_t>(size);
    run(piece);
  });
}

/// Splits a plan among threads along the outermost dimension that is long enough, else the one that
/// gives the most pieces, but never along dimension `apart`. Keeps rows and planes long. `run`
/// executes a piece.
template <class Run>
void share_plan(const ElementPlan& plan, size_t apart, const Run& run) noexcept {
  if (!is_parallel(plan.nbytes)) return run(plan);
  const size_t inner = plan.is_plane ? 2 : 1;
  size_t along = plan.rank;
  int64_t grain = 1;
  int64_t most = -1;
  for (size_t d = 0; d < plan.rank && most < 64; ++d) {
    const int64_t least = d + inner < plan.rank ? 1 : plan.is_plane ? 64 : 4096;
    if (d == apart || plan.dims[d].size / least <= most) continue;
    most = plan.dims[d].size / least;
    grain = least;
    along = d;
  }
  if (along == plan.rank) return run(plan);
  share_dim(plan, along, grain, run);
}

/// The offsets of a block's units from the first.
struct BlockTable {
  ptrdiff_t out[kBlockUnits];
  ptrdiff_t in[kBlockUnits];
  int64_t row = 1;        ///< elements of a unit
  int64_t count = 1;      ///< units for each index of the chunked dimension
  bool out_dense = true;  ///< whether units follow each other
  bool in_dense = true;

  template <class = void>
  TENON_NOINLINE explicit BlockTable(const ElementPlan& plan) noexcept {
    size_t last = plan.rank;
    if (plan.kind == CopyKind::Rows || (plan.kind == CopyKind::Cast && !plan.is_plane)) {
      row = plan.dims[--last].size;
    }
    const size_t first = plan.rank - plan.block_rank;
    ptrdiff_t n = 1;
    out[0] = in[0] = 0;
    for (size_t d = last; d-- > 0 && d + 1 >= first;) {
      const ElementPlan::Dim& dim = plan.dims[d];
      const ptrdiff_t size = d < first ? plan.block_chunk : dim.size;
      if (size > 1) {
        out_dense = out_dense && dim.dst_stride == n * row * static_cast<ptrdiff_t>(plan.unit);
        in_dense = in_dense && dim.src_stride == n * row * source_unit(plan);
      }
      for (ptrdiff_t k = n; k < n * size; ++k) {  // repeats the offsets so far for each index
        out[k] = out[k - n] + dim.dst_stride;
        in[k] = in[k - n] + dim.src_stride;
      }
      if (d >= first) n *= size;
    }
    count = n;
  }
};

/// Executes a piece of a plan that does not convert.
TENON_TEMPLATE_INLINE void copy_planes(const ElementPlan& piece) noexcept {
  if constexpr (kHasBlocks) {
    if (piece.block_rank != 0) {
      const BlockTable table(piece);
      const size_t unit = static_cast<size_t>(table.row) * piece.unit;
      BlockWalk at(piece, piece.block_rank, piece.block_chunk);
      do {
        const int64_t n = table.count * at.chunk();
        copy_at(at.plane.out, table.out_dense ? nullptr : table.out, at.plane.in, table.in, n,
                unit);
      } while (at.next());
      return clear_after_baseline();
    }
  }
  PixelShuffle shuffle(piece.nbytes >= 256);
  BlockWalk at(piece, 2);
  const bool are_pixels = copy_plane(at.plane, piece.unit, shuffle);
  while (at.next()) {
    if (are_pixels) {
      shuffle.copy_next(at.plane.out, at.plane.in);
    } else {
      copy_plane(at.plane, piece.unit, shuffle);
    }
  }
}

/// Executes a plan of plan_elements(). `cast` may be null if the types are equal.
TENON_COMPILED_ONCE TENON_NOINLINE void run_plan(const ElementPlan& plan,
                                                 CastFunction cast) noexcept {
  if (plan.kind == CopyKind::Alias) return;
  const CastFunction run = plan.converts ? cast : &copy_planes<>;
  share_plan(plan, SIZE_MAX, run);
  clear_after_baseline();  // GCC omits it at -Og after copying planes
}

/// Executes a piece of a plan with `is_shift`, as memmove does: in the order of addresses, from the
/// end towards which the elements move. Changes the plan.
TENON_TEMPLATE_INLINE void shift_piece(ElementPlan& plan) noexcept {
  const bool is_up = plan.dst > plan.src;
  bool has_rows = plan.rank != 0 && both_consecutive(plan, plan.dims[plan.rank - 1]);
  if (has_rows) {
    const size_t row = static_cast<size_t>(plan.dims[plan.rank - 1].size) * plan.unit;
    const auto distance = reinterpret_cast<uintptr_t>(is_up ? plan.dst : plan.src) -
                          reinterpret_cast<uintptr_t>(is_up ? plan.src : plan.dst);
    if (row <= distance) {  // rows do not overlap themselves
      plan.unit = row;
      --plan.rank;
      has_rows = false;
    }
  }
  for (size_t d = 0; is_up && d + (has_rows ? 1 : 0) < plan.rank; ++d) {
    ElementPlan::Dim& dim = plan.dims[d];
    plan.dst = static_cast<char*>(plan.dst) + (dim.size - 1) * dim.dst_stride;
    plan.src = static_cast<const char*>(plan.src) + (dim.size - 1) * dim.src_stride;
    dim = {dim.size, -dim.dst_stride, -dim.src_stride};
  }
  BlockWalk at(plan, 1);
  const Plane& row = at.plane;
  do {
    if (has_rows) {
      std::memmove(row.out, row.in, static_cast<size_t>(row.count_i) * plan.unit);
    } else {
      copy_strided(row.out, row.out_step_i, row.in, row.in_step_i, row.count_i, plan.unit);
    }
  } while (at.next());
}
/// Executes a plan with `is_shift`. Several threads share the outermost dimension if the memory
/// that one index reads and writes does not overlap the next index's.
TENON_TEMPLATE_INLINE void shift_elements(ElementPlan& plan) noexcept {
  ptrdiff_t reach = static_cast<char*>(plan.dst) - static_cast<const char*>(plan.src);
  if (reach < 0) reach = -reach;  // abs() may be a macro
  for (size_t d = 1; d < plan.rank; ++d) reach += (plan.dims[d].size - 1) * plan.dims[d].dst_stride;
  reach += static_cast<ptrdiff_t>(plan.unit);
  if (plan.rank < 2 || reach > plan.dims[0].dst_stride) return shift_piece(plan);
  share_dim(plan, 0, 1, [](ElementPlan piece) noexcept { shift_piece(piece); });
}

/// Copies a block of memory, at least one byte. Source and destination may overlap.
TENON_TEMPLATE_INLINE void move_dense(void* dst, const void* src, size_t nbytes) noexcept {
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src);
  const bool overlap = ahead < nbytes || uintptr_t{0} - ahead < nbytes;
  if (!is_parallel(nbytes) || overlap) {
    std::memmove(dst, src, nbytes);
    return;
  }
  auto* to = static_cast<char*>(dst);
  auto* from = static_cast<const char*>(src);
  parallel_for(static_cast<int64_t>(nbytes), 4096, nbytes, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

/// Copies `src` to `dst`: both are host memory of the same sizes, do not overlap, and the
/// destination's elements are distinct. With CastMode::Checked, canCast(src.type, dst.type) must
/// hold. `cast` may be null if the types are equal.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_elements(const TensorView& dst,
                                                        const TensorView& src, CastMode mode,
                                                        CastFunction cast) noexcept {
  ElementPlan plan;
  plan_elements(plan, dst, src, mode);
  run_plan(plan, cast);
}

/// How a Normalize's channels lie in the converted rows.
enum class Channels : uint8_t { Same, AlongRow, AlongRows };

/// For conversions that need no preparation of a step.
struct NoPreparation {
  void operator()(int64_t, int64_t, int64_t, int64_t) const noexcept {}
};

/// Converts planes of equal strides: the innermost dimensions of a piece of a plan.
struct BlockConversion : Conversion {
  static constexpr int64_t kBytes = TENON_BARE_METAL ? 80 : kBlockBytes;  // small stack frames
  static constexpr size_t kAlignment = TENON_BARE_METAL ? 8 : 64;

  PixelShuffle gathering;
  PixelShuffle scattering;
  /// Whether rows run along the last dimension but one. They do if the source is consecutive along
  /// that dimension and has the larger elements: then the destination's elements, the smaller ones,
  /// are transposed.
  bool exchanges;
  Channels channels = Channels::Same;

  TENON_TEMPLATE_INLINE explicit BlockConversion(const ElementPlan& piece) noexcept
      : gathering(piece.nbytes >= 256), scattering(piece.nbytes >= 256) {
    exchanges = piece.unit < piece.src_size && piece.rank >= 2 &&
                piece.dims[piece.rank - 2].src_stride == source_unit(piece) &&
                piece.dims[piece.rank - 1].src_stride != 0;
  }

  /// Calls `prepare(row, rows, i, length)` with the next rows and their elements: at most
  /// `most_listed` elements where channels differ.
  template <class Prepare = NoPreparation>
  TENON_NOINLINE void convert(const Plane& plane, int64_t most_listed = 0,
                              const Prepare& prepare = {}) noexcept {
    alignas(kAlignment) char gathered[kBytes];
    alignas(kAlignment) char made[kBytes];
    const Plane p = exchanges ? plane.exchanged() : plane;
    const int64_t rows = p.count_j;
    const int64_t length = p.count_i;
    const int64_t larger = from_size < to_size ? to_size : from_size;
    const int64_t smaller = from_size < to_size ? from_size : to_size;
    const bool is_in_row = p.in_step_i == from_size;
    const bool is_out_row = p.out_step_i == to_size;
    const bool is_in_dense = is_in_row && p.in_step_j == length * from_size;
    const bool is_out_dense = is_out_row && p.out_step_j == length * to_size;
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
    if (by_row && (distance(p.in_step_j) < distance(p.in_step_i) || p.out_step_j < p.out_step_i)) {
      // Takes at least as many rows as a cache line holds of the smaller elements, which may be
      // consecutive across rows.
      int64_t least = most / (rows < 64 / smaller ? rows : 64 / smaller);
      if (least < 1) least = 1;  // blocks may be smaller than a row
      if (least < width) width = least < kStepElements ? least : least & -kStepElements;
    }
    int64_t height = most / width;
    if (height > kStepElements) height -= height % kStepElements;
    for (int64_t r = 0; r < rows; r += height) {
      const int64_t n = rows - r < height ? rows - r : height;
      for (int64_t i = 0; i < length; i += width) {
        const int64_t m = length - i < width ? length - i : width;
        const char* in = p.in + r * p.in_step_j + i * p.in_step_i;
        char* const target = p.out + r * p.out_step_j + i * p.out_step_i;
        char* const out = scatters ? made : target;
        if (gathers) {
          copy_plane({gathered, in, m, n, from_size, m * from_size, p.in_step_i, p.in_step_j},
                     static_cast<size_t>(from_size), gathering);
          in = gathered;
        }
        const int64_t together = by_row ? 1 : n;
        for (int64_t k = 0; k < n; k += together) {
          prepare(r + k, together, i, m);
          run(out + k * (scatters ? m * to_size : p.out_step_j),
              in + k * (gathers ? m * from_size : p.in_step_j), together * m);
        }
        if (scatters) {
          copy_plane({target, made, m, n, p.out_step_i, p.out_step_j, to_size, m * to_size},
                     static_cast<size_t>(to_size), scattering);
        }
      }
    }
  }
};

/// Casts a plane whose source repeats along i: casts one row, then copies the result. A separate
/// function, so that its buffer is not in the stack frame of convert()'s caller; cold, since other
/// functions do the work.
TENON_TEMPLATE_INLINE TENON_COLD void cast_repeated(BlockConversion& c, const Plane& p) noexcept {
  alignas(BlockConversion::kAlignment) char made[BlockConversion::kBytes];
  const int64_t most = BlockConversion::kBytes / c.to_size;
  for (int64_t j = 0; j < p.count_j; j += most) {
    const int64_t n = p.count_j - j < most ? p.count_j - j : most;
    c.convert({made, p.in + j * p.in_step_j, n, 1, c.to_size, 0, p.in_step_j, 0});
    copy_plane(
        {p.out + j * p.out_step_j, made, p.count_i, n, p.out_step_i, p.out_step_j, 0, c.to_size},
        static_cast<size_t>(c.to_size), c.scattering);
  }
}

/// Casts the blocks of a piece of a plan: gathers one, converts it at once, scatters it.
TENON_TEMPLATE_INLINE TENON_NOINLINE void convert_blocks(BlockConversion& c,
                                                         const ElementPlan& piece) noexcept {
  alignas(BlockConversion::kAlignment) char gathered[BlockConversion::kBytes];
  alignas(BlockConversion::kAlignment) char made[BlockConversion::kBytes];
  const BlockTable table(piece);
  const int64_t in_unit = table.row * c.from_size;
  const int64_t out_unit = table.row * c.to_size;
  BlockWalk at(piece, piece.block_rank, piece.block_chunk);
  do {
    const int64_t n = table.count * at.chunk();
    const char* in = at.plane.in;
    if (!table.in_dense) {
      copy_at(gathered, nullptr, in, table.in, n, static_cast<size_t>(in_unit));
      in = gathered;
    }
    c.run(table.out_dense ? at.plane.out : made, in, n * table.row);
    if (!table.out_dense) {
      copy_at(at.plane.out, table.out, made, nullptr, n, static_cast<size_t>(out_unit));
    }
  } while (at.next());
}

/// Executes a piece of a converting plan: the CastFunction for all pairs of types.
TENON_COMPILED_ONCE void cast_elements(const ElementPlan& piece) noexcept {
  BlockConversion conversion(piece);
  if (piece.conversion != nullptr) {
    static_cast<Conversion&>(conversion) = *piece.conversion;
  } else {
    make_conversion(conversion, own_type(piece.dst_type), own_type(piece.src_type), piece.mode);
  }
  const bool is_row = piece.rank == 1 && both_consecutive(piece, piece.dims[0]);
  if (is_row) {  // convert() itself takes as long as 16 elements
    conversion.run(static_cast<char*>(piece.dst), static_cast<const char*>(piece.src),
                   piece.dims[0].size);
    return clear_after_variants();
  }
  if constexpr (kHasBlocks) {
    if (piece.block_rank != 0) {
      convert_blocks(conversion, piece);
      return clear_after_variants();
    }
  }
  BlockWalk at(piece, 2);
  const Plane& plane = at.plane;
  const bool repeats_rows = plane.in_step_j == 0 && plane.count_j > 1 &&
                            plane.count_i * conversion.to_size <= BlockConversion::kBytes;
  const bool repeats = repeats_rows || (plane.in_step_i == 0 && plane.count_i != 1);
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
