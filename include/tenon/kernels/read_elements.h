// SPDX-License-Identifier: MIT
// Walks and reads strided host memory: in row-major order, or two memories side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/function_ref.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Sets a plan's source to a view, in row-major order, and merges dimensions where the strides
/// allow it. Returns numel.
TENON_TEMPLATE_INLINE int64_t plan_row_major(ElementPlan& plan, const TensorView& view) noexcept {
  int64_t numel = 1;
  for (const int64_t size : view.sizes) numel *= size;
  if (numel == 0) return 0;  // strides may be too large to multiply
  plan.src = view.data;
  plan.unit = elementSize(own_type(view.type));
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    const auto size = static_cast<ptrdiff_t>(view.sizes[d]);
    if (size == 1) continue;
    const ptrdiff_t stride = static_cast<ptrdiff_t>(view.strides[d]) * source_unit(plan);
    plan.dims[plan.rank++] = {size, 0, stride};
  }
  merge_dims(plan, -1);  // the order stays: destination strides are 0
  return numel;
}

/// Visits the elements of host memory in row-major order, in runs along the innermost dimension.
class RowMajorWalk {
 public:
  /// Begins at element `first`, which is at most numel.
  explicit RowMajorWalk(const TensorView& view, int64_t first = 0) noexcept
      : left_(plan_row_major(plan_, view)), row_(plan_, 1) {
    left_ -= first;
    if (left_ == 0 || first == 0) return;
    // Divides as ptrdiff_t: some processors have no 64-bit division.
    const int64_t at = first;
    const int64_t length = row_.plane.count_i;
    row_.move_to(static_cast<ptrdiff_t>(at) / static_cast<ptrdiff_t>(length));
    index_ = static_cast<ptrdiff_t>(at) % static_cast<ptrdiff_t>(length);
  }

  /// The number of elements not visited yet.
  int64_t left() const noexcept { return left_; }

  struct Run {
    char* data;
    int64_t count;
    int64_t stride;  ///< in bytes
  };
  /// The next run, of at most `most` <= left() elements.
  Run next(int64_t most) noexcept {
    const Plane& row = row_.plane;
    const int64_t rest = row.count_i - index_;
    const Run run{const_cast<char*>(row.in) + index_ * row.in_step_i, most < rest ? most : rest,
                  row.in_step_i};
    index_ += run.count;
    left_ -= run.count;
    if (index_ == row.count_i) {
      index_ = 0;
      row_.next();
    }
    return run;
  }

 private:
  ElementPlan plan_;
  int64_t left_;
  BlockWalk row_;
  int64_t index_ = 0;  // in the row
};

/// Reads one side of a plan's pieces: in place if the elements of a piece are consecutive, else
/// gathers them.
class PieceSide {
 public:
  /// Pieces span the plan's `inner` innermost dimensions and `chunk` of the next one. They are
  /// gathered in `room`.
  TENON_TEMPLATE_INLINE void set(const ElementPlan& plan, bool is_source, size_t inner,
                                 ptrdiff_t chunk, char* room) noexcept {
    const auto stride = is_source ? &ElementPlan::Dim::src_stride : &ElementPlan::Dim::dst_stride;
    ptrdiff_t dense = is_source ? source_unit(plan) : static_cast<ptrdiff_t>(plan.unit);
    part_.unit = static_cast<size_t>(dense);
    part_.rank = inner + (chunk == 1 ? 0 : 1);
    for (size_t k = 0; k < part_.rank; ++k) {
      const ElementPlan::Dim& dim = plan.dims[plan.rank - 1 - k];
      const ptrdiff_t n = k == inner ? chunk : dim.size;
      part_.dims[part_.rank - 1 - k] = {n, dense, dim.*stride};
      dense *= n;
    }
    part_.nbytes = static_cast<size_t>(dense);
    part_.dst = room;
    finish_plan(part_);
  }
  /// The elements of the piece that begins at `from`.
  const char* read(const char* from) noexcept {
    if (part_.kind == CopyKind::Memcpy) return from;
    part_.src = from;
    run_plan(part_, nullptr);
    return static_cast<const char*>(part_.dst);
  }

 private:
  ElementPlan part_;  // gathers a piece
};

/// A function that uses the elements of a piece; the last of `sides` is the source's. It returns
/// false to stop.
using PieceUse = FunctionRef<bool(const char* const* sides, int64_t count)>;

/// Reads the source of a merged plan, or both sides of it, in the plan's order and in pieces that
/// stay in the cache, until `use` returns false. Returns false if `use` ever returned false, else
/// true.
TENON_TEMPLATE_INLINE TENON_NOINLINE bool read_pieces(const ElementPlan& plan, bool both,
                                                      const PieceUse& use) noexcept {
  constexpr ptrdiff_t kLongRow = 512;  // bytes; shorter ones are gathered
  // Two sides of 8192 bytes, with the cache lines that they are gathered from, would fill the
  // smallest cache.
  constexpr ptrdiff_t kBytes = TENON_BARE_METAL ? 256 : 16384;
  const ptrdiff_t room = !both ? kBytes : TENON_BARE_METAL ? kBytes / 2 : kBytes / 4;
  alignas(TENON_BARE_METAL ? 16 : 64) char rooms[static_cast<size_t>(kBytes)];
  const auto size = static_cast<ptrdiff_t>(plan.unit);
  const ptrdiff_t larger = size < source_unit(plan) ? source_unit(plan) : size;
  const ptrdiff_t most = room / larger;
  const auto dim = [&](size_t k) -> const ElementPlan::Dim& {
    return plan.dims[plan.rank - 1 - k];
  };
  size_t inner = 0;
  ptrdiff_t count = 1;
  ptrdiff_t chunk = 1;
  const bool is_row = plan.rank != 0 && dim(0).src_stride == source_unit(plan) &&
                      (!both || dim(0).dst_stride == size);
  if (is_row && (plan.rank == 1 || dim(0).size * larger >= kLongRow)) {
    count = dim(inner++).size;
  } else {
    while (inner < plan.rank && dim(inner).size <= most / count) count *= dim(inner++).size;
    if (inner < plan.rank) chunk = most / count;
  }
  BlockWalk walk(plan, inner, chunk);
  PieceSide destination;
  PieceSide source;
  ptrdiff_t set = 0;
  do {
    if (const ptrdiff_t n = walk.chunk(); n != set) {
      if (both) destination.set(plan, false, inner, n, rooms + room);
      source.set(plan, true, inner, n, rooms);
      set = n;
    }
    const char* const in = source.read(walk.plane.in);
    const char* const sides[] = {both ? destination.read(walk.plane.out) : in, in};
    if (!use(sides, int64_t{count} * set)) return false;
  } while (walk.next());
  return true;
}

/// Does the same as read_pieces() for both sides, but in any order: if the sides are consecutive
/// along different dimensions, in tiles of these dimensions. Changes the plan.
TENON_TEMPLATE_INLINE bool read_tiles(ElementPlan& plan, const PieceUse& use) noexcept {
  constexpr ptrdiff_t kTile = 64;
  size_t nearest = plan.rank - 1;
  const auto length = [&](size_t d) { return stride_length(plan.dims[d].src_stride); };
  for (size_t d = nearest; plan.rank != 0 && d-- > 0;) {
    if (length(d) != 0 && length(d) < length(nearest)) nearest = d;
  }
  if (plan.rank == 0 || nearest + 1 == plan.rank) return read_pieces(plan, true, use);
  for (; nearest + 2 < plan.rank; ++nearest) std::swap(plan.dims[nearest], plan.dims[nearest + 1]);
  ElementPlan::Dim& row = plan.dims[plan.rank - 1];
  if (row.size <= kTile) return read_pieces(plan, true, use);
  const ptrdiff_t tail = row.size % kTile;
  ElementPlan rest = plan;
  const ElementPlan::Dim tiles{row.size / kTile, kTile * row.dst_stride, kTile * row.src_stride};
  row.size = kTile;
  if (tiles.size != 1) {
    plan.dims[plan.rank++] = row;
    plan.dims[plan.rank - 2] = std::exchange(plan.dims[plan.rank - 3], tiles);
  }
  if (!read_pieces(plan, true, use)) return false;
  if (tail == 0) return true;
  // The rest comes last: values that differ often do so among the first elements.
  ElementPlan::Dim& last = rest.dims[rest.rank - 1];
  rest.dst = static_cast<char*>(rest.dst) + (last.size - tail) * last.dst_stride;
  rest.src = static_cast<const char*>(rest.src) + (last.size - tail) * last.src_stride;
  last.size = tail;
  if (tail == 1) --rest.rank;
  return read_pieces(rest, true, use);
}

}  // namespace detail
TENON_END_NAMESPACE
