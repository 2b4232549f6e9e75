// SPDX-License-Identifier: MIT
// Moves rows of host memory by their indices: the loops of index_select and index_copy_.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/kernels/units.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checked indices in host memory.
struct Indices {
  const char* data = nullptr;
  ptrdiff_t stride = 0;  // in bytes
  int64_t count = 0;
  bool is_int = false;  // else Long

  int64_t operator[](int64_t k) const noexcept {
    const char* const at = data + k * stride;
    return is_int ? load_element<int32_t>(at, 0) : load_element<int64_t>(at, 0);
  }
  /// Calls use(i, index) for the `n` indices from `first` on.
  template <class Use>
  void for_each(int64_t first, int64_t n, const Use& use) const noexcept {
    const char* at = data + first * stride;
    if (is_int) {
      for (int64_t i = 0; i < n; ++i, at += stride) use(i, int64_t{load_element<int32_t>(at, 0)});
    } else {
      for (int64_t i = 0; i < n; ++i, at += stride) use(i, load_element<int64_t>(at, 0));
    }
  }
};

/// Moves rows between host memories that do not overlap. One side is "listed", the other "indexed":
/// row k of the listed side is moved to or from row indices[k] of the indexed side.
struct RowMove {
  /// How many indices are read at once, and how many bytes the buffer for converted rows has.
  static constexpr int64_t kIndices = TENON_BARE_METAL ? 16 : 256;
  static constexpr int64_t kBuffer = TENON_BARE_METAL ? 160 : 8192;

  Indices indices;
  bool scatters = false;  // whether the indices number the destination's rows
  CastFunction cast = nullptr;
  ptrdiff_t dst_step = 0;  // bytes from one row to the next
  ptrdiff_t src_step = 0;
  ElementPlan plan;  // of row 0, dimensions sorted and merged; the caller sets `conversion`

  int64_t dst_row(int64_t k) const noexcept { return (scatters ? indices[k] : k) * dst_step; }
  int64_t src_row(int64_t k) const noexcept { return (scatters ? k : indices[k]) * src_step; }
};

/// Copies `count` units, in order: unit k to position indices[k] if `scatters`, else from that
/// position. Steps are in bytes.
template <class Unit>
TENON_NOINLINE void copy_indexed(Unit unit, bool scatters, char* dst, ptrdiff_t dst_step,
                                 const char* src, ptrdiff_t src_step, const char* indices,
                                 int64_t count) noexcept {
  if constexpr (!Unit::kUnrolls) {
    for (int64_t k = 0; k < count; ++k) {
      const auto index = load_element<int64_t>(indices, k);
      unit.copy(dst + (scatters ? index : k) * dst_step, src + (scatters ? k : index) * src_step);
    }
  } else if (scatters) {
    TENON_UNROLL
    for (int64_t k = 0; k < count; ++k, src += src_step) {
      unit.copy(dst + load_element<int64_t>(indices, k) * dst_step, src);
    }
  } else {
    TENON_UNROLL
    for (int64_t k = 0; k < count; ++k, dst += dst_step) {
      unit.copy(dst, src + load_element<int64_t>(indices, k) * src_step);
    }
  }
}

/// Copies rows [begin, end), at most `most` at a time. The plan has only the dimensions outside its
/// unit; on the listed side it points to row `begin`.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_rows(const RowMove& move, const ElementPlan& plan,
                                                    ptrdiff_t dst_step, ptrdiff_t src_step,
                                                    int64_t begin, int64_t end,
                                                    int64_t most) noexcept {
  int64_t read[RowMove::kIndices];
  const Indices& indices = move.indices;
  const bool is_dense = !indices.is_int && indices.stride == sizeof(int64_t);
  if (!is_dense && most > RowMove::kIndices) most = RowMove::kIndices;
  ElementPlan::Dim dim{1, 0, 0};
  if (plan.rank != 0) dim = plan.dims[plan.rank - 1];
  for (int64_t first = begin, n = 0; first < end; first += n) {
    n = end - first < most ? end - first : most;
    const char* list = reinterpret_cast<const char*>(read);
    if (is_dense) {
      list = indices.data + first * indices.stride;
    } else {
      indices.for_each(first, n, [&](int64_t k, int64_t index) noexcept { read[k] = index; });
    }
    char* dst = static_cast<char*>(plan.dst);
    const auto* src = static_cast<const char*>(plan.src);
    (move.scatters ? src += (first - begin)* src_step : dst += (first - begin) * dst_step);
    // A few rows are copied one by one, along the innermost dimension, in pieces that stay in the
    // cache.
    const int64_t chunk = n > 16 || n >= dim.size ? 1 : RowMove::kIndices / n;
    BlockWalk at(plan, 0, chunk);
    const ptrdiff_t to = dst - static_cast<char*>(plan.dst);
    const ptrdiff_t from = src - static_cast<const char*>(plan.src);
    do {
      dst = at.plane.out + to;
      src = at.plane.in + from;
      if (chunk == 1) {
        with_unit(plan.unit, [&](auto unit) noexcept {
          copy_indexed(unit, move.scatters, dst, dst_step, src, src_step, list, n);
        });
        continue;
      }
      for (int64_t k = 0; k < n; ++k) {
        const auto index = load_element<int64_t>(list, k);
        copy_strided(dst + (move.scatters ? index : k) * dst_step, dim.dst_stride,
                     src + (move.scatters ? k : index) * src_step, dim.src_stride, at.chunk(),
                     plan.unit);
      }
    } while (at.next());
  }
}

/// If a row's innermost dimension is consecutive on both sides, makes it the plan's unit.
inline void join_unit(ElementPlan& plan) noexcept {
  if (plan.rank == 0 || !both_consecutive(plan, plan.dims[plan.rank - 1])) return;
  plan.unit *= static_cast<size_t>(plan.dims[--plan.rank].size);
}

/// Converts rows [begin, end) in blocks that fit a buffer. `split` is how many destination
/// dimensions are outside the row dimension. The elements at one index of the row dimension, and of
/// the dimensions outside it, take `row_nbytes` in the buffer.
TENON_TEMPLATE_INLINE TENON_NOINLINE void convert_rows(const RowMove& move, const ElementPlan& plan,
                                                       size_t split, int64_t row_nbytes,
                                                       int64_t begin, int64_t end) noexcept {
  alignas(BlockConversion::kAlignment) char buffer[RowMove::kBuffer];
  const ElementPlan::Dim none{1, 0, 0};
  const ElementPlan::Dim& outer = split == 0 ? none : plan.dims[split - 1];
  int64_t n =
      RowMove::kBuffer / row_nbytes < end - begin ? RowMove::kBuffer / row_nbytes : end - begin;
  const int64_t fits = RowMove::kBuffer / (row_nbytes * n);
  const int64_t chunk = fits < outer.size ? fits : outer.size;
  // Describes the elements of `rows` rows in the buffer; on the other side rows are `step` bytes
  // apart.
  const auto describe = [&](ElementPlan& part, bool to_buffer, int64_t m, int64_t rows,
                            ptrdiff_t step) noexcept {
    const auto add = [&](ptrdiff_t size, ptrdiff_t here, ptrdiff_t dst, ptrdiff_t src) noexcept {
      if (size == 1) return;
      part.dims[part.rank++] = {size, to_buffer ? here : dst, to_buffer ? src : here};
    };
    part.rank = 0;
    add(m, n * row_nbytes, outer.dst_stride, outer.src_stride);
    add(rows, row_nbytes, step, step);
    ptrdiff_t here = row_nbytes;
    for (size_t d = split; d < plan.rank; ++d) {
      const ElementPlan::Dim& dim = plan.dims[d];
      here /= dim.size;
      add(dim.size, here, dim.dst_stride, dim.src_stride);
    }
  };
  for (int64_t first = begin; first < end; first += n) {
    if (end - first < n) n = end - first;
    BlockWalk at(plan, plan.rank - split, chunk);
    do {
      const int64_t m = at.chunk();
      ElementPlan moved;  // moves elements by their indices, unconverted
      moved.dst_type = moved.src_type = move.scatters ? plan.dst_type : plan.src_type;
      moved.unit = moved.src_size = move.scatters ? plan.unit : plan.src_size;
      moved.dst = move.scatters ? at.plane.out : buffer;
      moved.src = move.scatters ? buffer : at.plane.in;
      describe(moved, !move.scatters, m, 1, 0);
      join_unit(moved);
      ElementPlan cast;
      cast.mode = plan.mode;
      cast.conversion = plan.conversion;
      cast.dst_type = plan.dst_type;
      cast.src_type = plan.src_type;
      cast.converts = true;
      cast.unit = plan.unit;
      cast.src_size = plan.src_size;
      const auto ahead = first * (move.scatters ? move.src_step : move.dst_step);
      cast.dst = move.scatters ? buffer : at.plane.out + ahead;
      cast.src = move.scatters ? at.plane.in + ahead : buffer;
      describe(cast, move.scatters, m, n, move.scatters ? move.src_step : move.dst_step);
      if (!move.scatters && move.dst_step < 0 && n > 1) {  // copies the rows in reverse order
        ElementPlan::Dim& rows = cast.dims[m == 1 ? 0 : 1];
        cast.dst = static_cast<char*>(cast.dst) + (n - 1) * rows.dst_stride;
        cast.src = buffer + (n - 1) * rows.src_stride;
        rows = {rows.size, -rows.dst_stride, -rows.src_stride};
      }
      cast.nbytes = plan.unit;
      for (size_t d = 0; d < cast.rank; ++d) cast.nbytes *= static_cast<size_t>(cast.dims[d].size);
      finish_plan(cast);
      if (move.scatters) {
        run_plan(cast, move.cast);
        copy_rows(move, moved, move.dst_step, row_nbytes, first, first + n, n);
      } else {
        copy_rows(move, moved, row_nbytes, move.src_step, first, first + n, n);
        run_plan(cast, move.cast);
      }
    } while (at.next());
  }
}

/// Moves rows [begin, end) of `piece`, a part of move.plan. Changes `piece`.
TENON_TEMPLATE_INLINE TENON_NOINLINE void move_piece(const RowMove& move, ElementPlan& piece,
                                                     int64_t begin, int64_t end) noexcept {
  const ptrdiff_t step = stride_length(move.dst_step);
  size_t split = 0;  // destination dimensions outside the row dimension
  while (step != 0 && split < piece.rank && piece.dims[split].dst_stride >= step) ++split;
  int64_t count = 1;  // elements inside the row dimension
  for (size_t d = split; d < piece.rank; ++d) count *= piece.dims[d].size;
  const auto size = static_cast<int64_t>(piece.unit < piece.src_size ? piece.src_size : piece.unit);
  const bool is_run =
      !piece.converts &&
      (piece.rank == split ||
       (piece.rank == split + 1 && both_consecutive(piece, piece.dims[piece.rank - 1])));
  // Whether rows are adjacent columns of the source's memory: each cache line then has one element
  // of each row.
  const bool is_column =
      !piece.converts && piece.rank > split && move.src_step != 0 &&
      stride_length(move.src_step) < stride_length(piece.dims[piece.rank - 1].src_stride);
  const int64_t least = piece.converts ? RowMove::kBuffer / 16 : RowMove::kBuffer / 8;
  if (end - begin == 1 || (!is_run && !is_column && count * size > least)) {
    piece.nbytes = piece.unit;
    for (size_t d = 0; d < piece.rank; ++d) piece.nbytes *= static_cast<size_t>(piece.dims[d].size);
    choose_kind(piece);
    auto* const dst = static_cast<char*>(piece.dst);
    const auto* const src = static_cast<const char*>(piece.src);
    for (int64_t k = begin; k < end; ++k) {
      piece.dst = dst + move.dst_row(k);
      piece.src = src + move.src_row(k);
      run_plan(piece, move.cast);
    }
    return;
  }
  if (piece.converts) {
    const auto item = static_cast<int64_t>(move.scatters ? piece.unit : piece.src_size);
    return convert_rows(move, piece, split, count * item, begin, end);
  }
  if (move.scatters) {
    piece.src = static_cast<const char*>(piece.src) + begin * move.src_step;
  } else {
    piece.dst = static_cast<char*>(piece.dst) + begin * move.dst_step;
  }
  if (piece.rank > split) join_unit(piece);
  // Inner elements that are not one run become the outer loop. The rows are then read again for
  // each inner element, and must stay in the cache.
  const int64_t most = is_run      ? end - begin
                       : is_column ? RowMove::kIndices
                                   : 4 * RowMove::kBuffer / (count * size);
  copy_rows(move, piece, move.dst_step, move.src_step, begin, end, most);
}

/// Plans and moves all rows; threads share them. One thread moves all rows with the same index, in
/// order.
/// Errors: OutOfMemory for shapes of more dimensions than TENON_INLINE_DIMS, before anything is
/// written.
TENON_TEMPLATE_INLINE Error move_rows(RowMove& move, const TensorView& dst, const TensorView& src,
                                      size_t dim, CastMode mode) noexcept {
  ViewWithLists to{dst.data, dst.type, dst.device, dst.sizes, dst.strides};
  ViewWithLists from{src.data, src.type, src.device, src.sizes, src.strides};
  TENON_TRY(check_lists(to));
  TENON_TRY(check_lists(from));
  const auto step = [&](const TensorView& view) noexcept {  // unspecified if there is one row
    return view.sizes[dim] > 1 ? static_cast<ptrdiff_t>(view.strides[dim]) *
                                     static_cast<ptrdiff_t>(elementSize(own_type(view.type)))
                               : 0;
  };
  to.sizes[dim] = from.sizes[dim] = 1;
  if (move.indices.count == 0 || !begin_plan(move.plan, to, from, mode)) return Error::Ok;
  move.dst_step = step(dst);
  move.src_step = step(src);
  merge_dims(move.plan, 0);
  const int64_t count = move.indices.count;
  move.plan.nbytes *= static_cast<size_t>(count);
  if (!is_parallel(move.plan.nbytes)) {
    move_piece(move, move.plan, 0, count);
  } else if (!move.scatters && count >= 64) {
    parallel_for(count, 1, move.plan.nbytes, [&](int64_t begin, int64_t end) {
      ElementPlan plan = move.plan;
      move_piece(move, plan, begin, end);
    });
  } else {
    share_plan(move.plan, SIZE_MAX, [&](const ElementPlan& piece) {
      ElementPlan plan = piece;
      move_piece(move, plan, 0, count);
    });
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
