// SPDX-License-Identifier: MIT
// CopyPlan: what a copy between two strided memories will do, decided before it is done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/message.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE

/// The ways of copying, cheapest first.
enum class CopyKind : uint8_t {
  Alias,      ///< nothing to do: both are the same elements, or there are none
  Memcpy,     ///< one block
  Rows,       ///< one block per row
  Transpose,  ///< in blocks: consecutive along one dimension here, along another there
  Cast,       ///< a conversion, vectorised, in rows or blocks
  General,    ///< element by element
  Staged,     ///< the memories overlap: by way of a temporary
};

constexpr const char* toString(CopyKind kind) noexcept {
  switch (kind) {
    case CopyKind::Alias: return "alias";
    case CopyKind::Memcpy: return "memcpy";
    case CopyKind::Rows: return "rows";
    case CopyKind::Transpose: return "transpose";
    case CopyKind::Cast: return "cast";
    case CopyKind::General: return "general";
    case CopyKind::Staged: return "staged";
  }
  return "unknown";
}

namespace detail {
inline void append(Message& out, CopyKind kind) noexcept { out.put(toString(kind)); }
}  // namespace detail

/// What a copy does. The dimensions are those left when sizes of 1 are dropped, reversed ones
/// turned, all sorted by the destination's strides and those that lie like one merged into one.
struct CopyPlan {
  /// Strides in bytes.
  struct Dim {
    int64_t size;
    int64_t dst_stride;
    int64_t src_stride;
  };

  CopyKind kind = CopyKind::Alias;
  ScalarType dst_type = ScalarType::Undefined;
  ScalarType src_type = ScalarType::Undefined;
  CastMode mode = CastMode::Checked;
  /// Whether the last two dimensions are a plane to transpose, also while casting.
  bool is_plane = false;
  /// Bytes that are copied as one: an element, or where types are equal several.
  size_t unit = 0;
  /// Bytes written to the destination.
  size_t nbytes = 0;
  /// Bytes of the temporary of a Staged copy.
  size_t temporary_nbytes = 0;
  /// The first element in the order of the dimensions below.
  void* dst = nullptr;
  const void* src = nullptr;
  size_t rank = 0;
  Dim dims[kMaxDims];  // the first `rank` are set

  CopyPlan() noexcept {}  // NOLINT: dims stays unset, which {} would zero
};

namespace detail {

/// Drops dimensions of size 1, turns those that the destination has reversed, and sorts the rest by
/// the destination's strides. False when there are no elements.
inline bool start_plan(CopyPlan& plan, const TensorView& dst, const TensorView& src) noexcept {
  const auto dst_size = static_cast<int64_t>(elementSize(dst.type));
  const auto src_size = static_cast<int64_t>(elementSize(src.type));
  plan.dst_type = public_type(dst.type);
  plan.src_type = public_type(src.type);
  // Bytes to the first elements.
  int64_t dst_begin = 0;
  int64_t src_begin = 0;
  // First of all: without elements, strides may be too large to multiply, and data may be null.
  for (int64_t n : dst.sizes) {
    if (n == 0) return false;
  }
  int64_t numel = 1;
  for (size_t d = 0; d < dst.sizes.size(); ++d) {
    const int64_t n = dst.sizes[d];
    if (n == 1) continue;
    CopyPlan::Dim dim{n, dst.strides[d] * dst_size, src.strides[d] * src_size};
    if (dim.dst_stride < 0) {
      dst_begin += (n - 1) * dim.dst_stride;
      src_begin += (n - 1) * dim.src_stride;
      dim.dst_stride = -dim.dst_stride;
      dim.src_stride = -dim.src_stride;
    }
    size_t at = plan.rank++;
    for (; at > 0 && plan.dims[at - 1].dst_stride < dim.dst_stride; --at) {
      plan.dims[at] = plan.dims[at - 1];
    }
    plan.dims[at] = dim;
    numel *= n;
  }
  // A plan may be made before there is memory.
  if (dst.data != nullptr) plan.dst = static_cast<char*>(dst.data) + dst_begin;
  if (src.data != nullptr) plan.src = static_cast<const char*>(src.data) + src_begin;
  plan.unit = static_cast<size_t>(dst_size);
  plan.nbytes = static_cast<size_t>(numel * dst_size);
  return true;
}

/// Merges neighbours that lie like one dimension on both sides.
inline void coalesce(CopyPlan& plan) noexcept {
  size_t kept = 0;
  for (size_t i = 1; i < plan.rank; ++i) {
    CopyPlan::Dim& outer = plan.dims[kept];
    const CopyPlan::Dim& inner = plan.dims[i];
    if (outer.dst_stride == inner.dst_stride * inner.size &&
        outer.src_stride == inner.src_stride * inner.size) {
      outer = {outer.size * inner.size, inner.dst_stride, inner.src_stride};
    } else {
      plan.dims[++kept] = inner;
    }
  }
  if (plan.rank != 0) plan.rank = kept + 1;
}

/// Takes short consecutive runs, a pixel say, for one element.
inline void widen(CopyPlan& plan) noexcept {
  const auto unit = static_cast<int64_t>(plan.unit);
  if (plan.rank < 2) return;
  const CopyPlan::Dim& inner = plan.dims[plan.rank - 1];
  if (inner.dst_stride != unit || inner.src_stride != unit || inner.size > 16 / unit ||
      (inner.size & (inner.size - 1)) != 0) {
    return;
  }
  plan.unit *= static_cast<size_t>(inner.size);
  --plan.rank;
}

/// Moves the dimension along which the source is consecutive next to the last one, along which the
/// destination is. False when one of them is not.
inline bool make_plane(CopyPlan& plan, int64_t dst_unit, int64_t src_unit) noexcept {
  if (plan.rank < 2 || plan.dims[plan.rank - 1].dst_stride != dst_unit) return false;
  for (size_t i = plan.rank - 1; i-- > 0;) {
    if (plan.dims[i].src_stride != src_unit) continue;
    const CopyPlan::Dim found = plan.dims[i];
    for (; i + 2 < plan.rank; ++i) plan.dims[i] = plan.dims[i + 1];
    plan.dims[i] = found;
    return true;
  }
  return false;
}

/// Plans a copy of `src` to `dst`: host memory that does not overlap, of the same sizes. The
/// destination's elements are distinct.
inline void plan_elements(CopyPlan& plan, const TensorView& dst, const TensorView& src,
                          CastMode mode) noexcept {
  plan.mode = mode;
  if (!start_plan(plan, dst, src)) return;
  coalesce(plan);
  const bool cast = dst.type != src.type;
  if (!cast) widen(plan);
  const auto dst_unit = static_cast<int64_t>(plan.unit);
  const int64_t src_unit = cast ? static_cast<int64_t>(elementSize(src.type)) : dst_unit;
  const CopyPlan::Dim* inner = plan.rank == 0 ? nullptr : &plan.dims[plan.rank - 1];
  if (inner == nullptr || (inner->dst_stride == dst_unit && inner->src_stride == src_unit)) {
    plan.kind = cast ? CopyKind::Cast : plan.rank < 2 ? CopyKind::Memcpy : CopyKind::Rows;
  } else if (inner->src_stride == 0 && inner->size >= 256) {
    plan.kind = CopyKind::General;  // long rows of one value each: fills
  } else if (make_plane(plan, dst_unit, src_unit)) {
    plan.is_plane = true;
    plan.kind = cast ? CopyKind::Cast : CopyKind::Transpose;
  } else {
    plan.kind = CopyKind::General;
  }
}

/// The bytes that a memory with elements reaches.
struct ByteRange {
  uintptr_t begin;
  uintptr_t end;
};
inline ByteRange byte_range(const TensorView& view) noexcept {
  const auto size = static_cast<int64_t>(elementSize(view.type));
  int64_t low = 0;
  int64_t high = 0;
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    const int64_t reach = view.sizes[d] == 1 ? 0 : (view.sizes[d] - 1) * view.strides[d] * size;
    (reach < 0 ? low : high) += reach;
  }
  const auto data = reinterpret_cast<uintptr_t>(view.data);
  return {data + static_cast<uintptr_t>(low), data + static_cast<uintptr_t>(high + size)};
}

}  // namespace detail
TENON_END_NAMESPACE
