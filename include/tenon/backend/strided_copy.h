// SPDX-License-Identifier: MIT
// StridedCopy: a copy between two views in the fewest dimensions, for a device's own copies.
#pragma once

#include "tenon/kernels/element_plan.h"

TENON_BEGIN_NAMESPACE

/// Copies `count` runs of `nbytes` bytes from `src` to `dst`, repeated over the `rank` outer
/// dimensions. Rank 0 is one run; rank 1 or 2 is a rectangle or a box, which most devices copy in
/// one call.
struct StridedCopy {
  /// Strides in bytes. Those of `dst` are positive and descending; those of `src` may be 0
  /// (repeated) or negative (reversed).
  using Dim = detail::ElementPlan::Dim;

  Dim dims[kMaxLongDims];     ///< the first `rank` are set, the outermost first
  size_t rank = 0;            ///< dimensions around a run
  int64_t count = 0;          ///< the number of runs; 0 if there are no elements
  size_t nbytes = 0;          ///< bytes of a run; if the types differ, of an element of dst
  void* dst = nullptr;        ///< where the first run goes
  const void* src = nullptr;  ///< where the first run is

  /// A copy of nothing, to be filled in.
  StridedCopy() noexcept {}  // NOLINT: dims stay unset
};

/// Describes a copy of `src` to `dst`, views of the same sizes whose elements do not overlap.
/// Dimensions of size 1 are dropped, dimensions with negative destination strides are reversed, the
/// others are sorted by the destination's strides, and adjacent dimensions are merged where both
/// sides allow it. This changes the order of copying, not the values. A fill is a copy whose source
/// strides are 0.
/// Threads: any. O(rank²).
inline StridedCopy strided_copy(const TensorView& dst, const TensorView& src) noexcept {
  StridedCopy copy;
  detail::ElementPlan plan;
  if (!detail::begin_plan(plan, dst, src, CastMode::Checked)) return copy;
  detail::merge_dims(plan, 0);
  const bool has_inner = !plan.converts && plan.rank != 0;
  if (has_inner && detail::both_consecutive(plan, plan.dims[plan.rank - 1])) {
    plan.unit *= static_cast<size_t>(plan.dims[--plan.rank].size);
  }
  copy.rank = plan.rank;
  copy.count = 1;
  for (size_t d = 0; d < plan.rank; ++d) {
    copy.dims[d] = plan.dims[d];
    copy.count *= plan.dims[d].size;
  }
  copy.nbytes = plan.unit;
  copy.dst = plan.dst;
  copy.src = plan.src;
  return copy;
}

TENON_END_NAMESPACE
