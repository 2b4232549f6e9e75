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

/// The plane that a plan's last two dimensions are.
inline Plane innermost_plane(const CopyPlan& plan, char* dst, const char* src) noexcept {
  CopyPlan::Dim row{1, static_cast<ptrdiff_t>(plan.unit), source_unit(plan)};
  CopyPlan::Dim other{1, 0, 0};
  if (plan.rank >= 1) row = plan.dims[plan.rank - 1];
  if (plan.rank >= 2) other = plan.dims[plan.rank - 2];
  return {dst,        src,      other.dst_stride, row.src_stride,
          other.size, row.size, row.dst_stride,   other.src_stride};
}

/// Copies rows of `nbytes` bytes that are consecutive on both sides.
inline void copy_rows(const Plane& p, size_t nbytes) noexcept {
  for (int64_t j = 0; j < p.out_rows; ++j) {
    char* const out = p.out + j * p.out_stride;
    const char* const in = p.in + j * p.in_step;
    if (nbytes < 16 || nbytes > 256) {
      std::memcpy(out, in, nbytes);
      continue;
    }
    for (size_t i = 0; i + 16 < nbytes; i += 16) std::memcpy(out + i, in + i, 16);
    std::memcpy(out + nbytes - 16, in + nbytes - 16, 16);
  }
}

/// Copies a plane whose rows, along i, may be consecutive on both sides, short ones as elements, or
/// have one value each.
TENON_TEMPLATE_INLINE TENON_NOINLINE void copy_block(const Plane& plane, size_t size,
                                                     PixelShuffle& shuffle) noexcept {
  const auto element = static_cast<int64_t>(size);
  const size_t nbytes = static_cast<size_t>(plane.in_rows) * size;
  if (plane.in_stride == 0 && plane.out_step == element && nbytes >= kLeastFill &&
      16 % element == 0) {
    return fill_rows({plane.out, plane.in, plane.out_stride, plane.in_step, plane.out_rows, nbytes,
                      size, nbytes >= kStreamingBytes});
  }
  Plane p = plane.out_stride == element ? plane.exchanged() : plane;
  if (p.in_stride == element && p.out_step == element) {
    size *= static_cast<size_t>(p.in_rows);
    if (size > 16) return copy_rows(p, size);
    p.in_rows = 1;
  }
  copy_plane(p, size, shuffle);
}

/// Walks a plan's outer dimensions in the caller's thread; copy(dst, src) copies what the innermost
/// `inner` of them hold.
template <class Copy>
void for_each_block(const CopyPlan& plan, size_t inner, const Copy& copy) noexcept {
  const size_t outer = plan.rank < inner ? 0 : plan.rank - inner;
  auto* dst = static_cast<char*>(plan.dst);
  auto* src = static_cast<const char*>(plan.src);
  // An odometer over the outer dimensions.
  ptrdiff_t index[kMaxLongDims];
  for (size_t d = 0; d < outer; ++d) index[d] = 0;
  for (;;) {
    copy(dst, src);
    size_t d = outer;
    for (; d-- > 0;) {
      const CopyPlan::Dim& dim = plan.dims[d];
      if (++index[d] < dim.size) {
        dst += dim.dst_stride;
        src += dim.src_stride;
        break;
      }
      dst -= dim.dst_stride * (dim.size - 1);
      src -= dim.src_stride * (dim.size - 1);
      index[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

/// Shares a plan among threads: along the outermost dimension that is long enough for many, else
/// the one that gives most of them a piece, but not along `apart`. Rows and planes are not cut
/// small. `run` does what a piece of the plan says.
template <class Run>
void parallel_chunks(const CopyPlan& plan, size_t apart, const Run& run) noexcept {
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

/// Does what a plan of plan_elements() says. `cast` may be null where the types are equal.
TENON_COMPILED_ONCE TENON_NOINLINE void run_plan(const CopyPlan& plan, CastFunction cast) noexcept {
  if (plan.kind == CopyKind::Alias) return;
  parallel_chunks(plan, SIZE_MAX, [&](const CopyPlan& piece) {
    if (piece.converts) return cast(piece);
    PixelShuffle shuffle(piece.nbytes >= 256);
    for_each_block(piece, 2, [&](char* dst, const char* src) {
      copy_block(innermost_plane(piece, dst, src), piece.unit, shuffle);
    });
  });
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
  const size_t nbytes = has_rows ? static_cast<size_t>(plan.dims[plan.rank - 1].size) : 1;
  for_each_block(plan, has_rows ? 1 : 0,
                 [&](char* dst, const char* src) { std::memmove(dst, src, nbytes * plan.unit); });
}

/// Copies a block of memory, at least one byte. Source and destination may overlap.
TENON_TEMPLATE_INLINE void move_block(void* dst, const void* src, size_t nbytes) noexcept {
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
