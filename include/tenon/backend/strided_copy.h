// SPDX-License-Identifier: MIT
// StridedCopy: a copy between two views in the fewest dimensions, for a device's own copies.
#pragma once

#include "tenon/kernels/copy_plan.h"

TENON_BEGIN_NAMESPACE

/// Copies `count` runs of `nbytes` bytes from `src` to `dst`, repeated over the `rank` outer
/// dimensions. Rank 0 is one run; rank 1 or 2 is a rectangle or a box, which most devices copy in
/// one call.
struct StridedCopy {
  /// Strides in bytes. Those of `dst` are positive and descending; those of `src` may be 0
  /// (repeated) or negative (reversed).
  using Dim = CopyPlan::Dim;

  Dim dims[kMaxLongDims];  ///< the first `rank` are set, the outermost first
  size_t rank = 0;         ///< dimensions around a run
  int64_t count = 0;       ///< of runs; 0 without elements
  size_t nbytes = 0;       ///< of a run; where the types differ, of an element of dst
  void* dst = nullptr;     ///< of the first run
  const void* src = nullptr;

  StridedCopy() noexcept {}  // NOLINT: dims stay unset
};

/// Describes a copy of `src` to `dst`, views of the same sizes whose elements do not overlap.
/// Dimensions of size 1 are dropped, reversed dimensions turned, the others sorted by the
/// destination's strides, and adjacent dimensions merged where both sides allow it. This changes
/// the order of copying, not the values. A fill is a copy from strides of 0.
/// Threads: any. O(rank²).
inline StridedCopy strided_copy(const TensorView& dst, const TensorView& src) noexcept {
  StridedCopy copy;
  CopyPlan plan;
  detail::plan_elements(plan, dst, src, CastMode::Checked);
  if (plan.nbytes == 0) return copy;
  copy.nbytes = plan.unit;
  copy.dst = plan.dst;
  copy.src = plan.src;
  copy.count = 1;
  for (; copy.rank < plan.rank; ++copy.rank) {
    const CopyPlan::Dim& dim = plan.dims[copy.rank];
    size_t at = copy.rank;  // a plan may have put a plane's dimensions last
    for (; at > 0 && copy.dims[at - 1].dst_stride < dim.dst_stride; --at) {
      copy.dims[at] = copy.dims[at - 1];
    }
    copy.dims[at] = dim;
    copy.count *= dim.size;
  }
  if (dst.type != src.type || copy.rank == 0) return copy;
  const StridedCopy::Dim& inner = copy.dims[copy.rank - 1];
  const auto size = static_cast<int64_t>(copy.nbytes);
  if (inner.dst_stride != size || inner.src_stride != size) return copy;
  --copy.rank;
  copy.count /= inner.size;
  copy.nbytes *= static_cast<size_t>(inner.size);
  return copy;
}

TENON_END_NAMESPACE
