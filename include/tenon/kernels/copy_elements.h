// SPDX-License-Identifier: MIT
// Copies elements between two strided memories, as a CopyPlan says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy_plan.h"
#include "tenon/kernels/fill.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/transpose.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A walk over the blocks of a plan, each of which is its `inner` innermost dimensions: `plane.out`
/// and `plane.in` are where a block begins, and the plane is the block if it is two dimensions.
class BlockWalk {
 public:
  BlockWalk(const CopyPlan& plan, size_t inner) noexcept
      : dims_(plan.dims), outer_(plan.rank < inner ? 0 : plan.rank - inner) {
    CopyPlan::Dim row{1, static_cast<ptrdiff_t>(plan.unit), source_unit(plan)};
    CopyPlan::Dim other{1, 0, 0};
    if (plan.rank >= 1) row = plan.dims[plan.rank - 1];
    if (plan.rank >= 2) other = plan.dims[plan.rank - 2];
    plane.out = static_cast<char*>(plan.dst);
    plane.in = static_cast<const char*>(plan.src);
    plane.out_rows = other.size;
    plane.out_stride = other.dst_stride;
    plane.in_step = other.src_stride;
    plane.in_rows = row.size;
    plane.out_step = row.dst_stride;
    plane.in_stride = row.src_stride;
    for (size_t d = 0; d < outer_; ++d) index_[d] = 0;
  }
  /// False at the end.
  bool next() noexcept {
    for (size_t d = outer_; d-- > 0;) {
      const CopyPlan::Dim& dim = dims_[d];
      if (++index_[d] < dim.size) {
        plane.out += dim.dst_stride;
        plane.in += dim.src_stride;
        return true;
      }
      plane.out -= dim.dst_stride * (dim.size - 1);
      plane.in -= dim.src_stride * (dim.size - 1);
      index_[d] = 0;
    }
    return false;
  }

  Plane plane;

 private:
  const CopyPlan::Dim* dims_;
  size_t outer_;
  ptrdiff_t index_[kMaxLongDims];
};

/// Shares a plan among threads: along the outermost dimension that is long enough for many, else
/// the one that gives most of them a piece, but not along `apart`. Rows and planes are not cut
/// small. `run` does what a piece of the plan says.
template <class Run>
void share_plan(const CopyPlan& plan, size_t apart, const Run& run) noexcept {
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
  const CopyPlan::Dim& dim = plan.dims[along];
  parallel_for(dim.size, grain, plan.nbytes, [&](int64_t begin, int64_t end) {
    CopyPlan piece = plan;
    piece.dst = static_cast<char*>(plan.dst) + begin * dim.dst_stride;
    piece.src = static_cast<const char*>(plan.src) + begin * dim.src_stride;
    const int64_t size = end - begin;
    piece.dims[along].size = static_cast<ptrdiff_t>(size);
    run(piece);
  });
}

/// Copies what a piece of a plan that does not convert says.
TENON_TEMPLATE_INLINE void copy_planes(const CopyPlan& piece) noexcept {
  PixelShuffle shuffle(piece.nbytes >= 256);
  BlockWalk at(piece, 2);
  do copy_plane(at.plane, piece.unit, shuffle);
  while (at.next());
}

/// Does what a plan of plan_elements() says. `cast` may be null where the types are equal.
TENON_COMPILED_ONCE TENON_NOINLINE void run_plan(const CopyPlan& plan, CastFunction cast) noexcept {
  if (plan.kind == CopyKind::Alias) return;
  const CastFunction run = plan.converts ? cast : &copy_planes<>;
  is_parallel(plan.nbytes) ? share_plan(plan, SIZE_MAX, run) : run(plan);
}

/// Does what a plan with `is_shift` says, and changes it: in the order of addresses, from the end
/// that the elements move towards.
TENON_TEMPLATE_INLINE void shift_elements(CopyPlan& plan) noexcept {
  const bool is_up = plan.dst > plan.src;
  const bool has_rows = plan.kind == CopyKind::Rows;
  for (size_t d = 0; is_up && d + (has_rows ? 1 : 0) < plan.rank; ++d) {
    CopyPlan::Dim& dim = plan.dims[d];
    plan.dst = static_cast<char*>(plan.dst) + (dim.size - 1) * dim.dst_stride;
    plan.src = static_cast<const char*>(plan.src) + (dim.size - 1) * dim.src_stride;
    dim = {dim.size, -dim.dst_stride, -dim.src_stride};
  }
  const size_t count = has_rows ? static_cast<size_t>(plan.dims[plan.rank - 1].size) : 1;
  BlockWalk at(plan, has_rows ? 1 : 0);
  do std::memmove(at.plane.out, at.plane.in, count * plan.unit);
  while (at.next());
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

/// Copies `src` to `dst`: host memory, same sizes, not overlapping, the destination's elements
/// distinct; with CastMode::Checked canCast(src.type, dst.type). `cast` may be null where the types
/// are equal.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_elements(const TensorView& dst,
                                                        const TensorView& src, CastMode mode,
                                                        CastFunction cast) noexcept {
  CopyPlan plan;
  plan_elements(plan, dst, src, mode);
  run_plan(plan, cast);
}

/// Copies the dimensions from `d` on, in their order.
TENON_TEMPLATE_INLINE void copy_from_dim(const TensorView& dst, const TensorView& src, size_t d,
                                         char* to, const char* from) noexcept {
  const auto unit = static_cast<ptrdiff_t>(elementSize(own_type(dst.type)));
  const size_t rank = dst.sizes.size();
  const int64_t size = d < rank ? dst.sizes[d] : 1;
  const auto count = static_cast<ptrdiff_t>(size);
  if (d == rank || (d + 1 == rank && dst.strides[d] == 1 && src.strides[d] == 1)) {
    std::memcpy(to, from, static_cast<size_t>(count * unit));
    return;
  }
  const ptrdiff_t dst_step = static_cast<ptrdiff_t>(dst.strides[d]) * unit;
  const ptrdiff_t src_step = static_cast<ptrdiff_t>(src.strides[d]) * unit;
  for (ptrdiff_t i = 0; i < count; ++i) {
    copy_from_dim(dst, src, d + 1, to + i * dst_step, from + i * src_step);
  }
}
/// copy_elements() of one type and the same rank. A plan takes 2 KB of code.
TENON_TEMPLATE_INLINE void copy_same_type(const TensorView& dst, const TensorView& src) noexcept {
  if constexpr (TENON_BARE_METAL) {
    if (dst.data == nullptr) return;  // without elements
    copy_from_dim(dst, src, 0, static_cast<char*>(dst.data), static_cast<const char*>(src.data));
  } else {
    copy_elements(dst, src, CastMode::Checked, nullptr);
  }
}

}  // namespace detail
TENON_END_NAMESPACE
