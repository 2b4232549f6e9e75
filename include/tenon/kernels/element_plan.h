// SPDX-License-Identifier: MIT
// ElementPlan: how to copy between two strided memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

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
  Transpose,  ///< in blocks: each side is consecutive along another dimension
  Cast,       ///< a conversion, vectorised, in rows or blocks
  General,    ///< element by element
  Staged,     ///< through a temporary, since the memories overlap
};

/// The name, such as "Rows".
constexpr const char* toString(CopyKind kind) noexcept {
  constexpr const char* kNames[] = {"alias", "memcpy",  "rows",  "transpose",
                                    "cast",  "general", "staged"};
  return kind <= CopyKind::Staged ? kNames[static_cast<size_t>(kind)] : "unknown";
}

/// The most dimensions longer than 1 that a tensor can have, since its bytes fit ptrdiff_t.
inline constexpr size_t kMaxLongDims = 8 * sizeof(ptrdiff_t) - 2;

namespace detail {
inline void append(Message& out, CopyKind kind) noexcept { out.put(toString(kind)); }

struct Conversion;

/// A copy's dimensions, simplified: sizes of 1 are dropped, dimensions with negative destination
/// strides are reversed, the rest is sorted by the destination's strides, and adjacent dimensions
/// are merged where both sides allow it.
struct ElementPlan {
  /// Strides in bytes.
  struct Dim {
    ptrdiff_t size;
    ptrdiff_t dst_stride;
    ptrdiff_t src_stride;
  };

  CopyKind kind = CopyKind::Alias;
  tenon::ScalarType dst_type = tenon::ScalarType::Undefined;  // the public type, as in views
  tenon::ScalarType src_type = tenon::ScalarType::Undefined;
  CastMode mode = CastMode::Checked;
  /// Whether elements are converted, to another type or by a Normalize.
  bool converts = false;
  /// Whether the last two dimensions are a plane to transpose, also while casting.
  bool is_plane = false;
  /// Whether the memories overlap but every element moves by the same distance, which needs no
  /// temporary. Set by plan_locations().
  bool is_shift = false;
  /// Where planes are small, a table of offsets copies a block at once: the `block_rank` innermost
  /// dimensions, and `block_chunk` indices of the next one. Otherwise 0.
  uint8_t block_rank = 0;
  ptrdiff_t block_chunk = 1;
  /// Bytes copied at once: an element, or several if the types are equal.
  size_t unit = 0;
  /// Bytes of an element of the source.
  size_t src_size = 0;
  /// Bytes written to the destination.
  size_t nbytes = 0;
  /// Bytes of the temporary of a Staged copy.
  size_t temporary_nbytes = 0;
  /// The first element, in the order of the dimensions below.
  void* dst = nullptr;
  const void* src = nullptr;
  /// The conversion of the types, made beforehand; null if cast_elements() is to make the
  /// conversion.
  const Conversion* conversion = nullptr;
  size_t rank = 0;
  Dim dims[kMaxLongDims];  // the first `rank` are set

  ElementPlan() noexcept {}  // NOLINT: dims stays unset, which {} would zero
};

/// How many of the source's bytes are copied at once.
inline ptrdiff_t source_unit(const ElementPlan& plan) noexcept {
  return static_cast<ptrdiff_t>(plan.converts ? plan.src_size : plan.unit);
}

/// The bytes between neighbours in a dimension of this stride.
constexpr ptrdiff_t stride_length(ptrdiff_t stride) noexcept {
  return stride < 0 ? -stride : stride;
}

/// Whether both sides are consecutive along a dimension.
inline bool both_consecutive(const ElementPlan& plan, const ElementPlan::Dim& dim) noexcept {
  return dim.dst_stride == static_cast<ptrdiff_t>(plan.unit) && dim.src_stride == source_unit(plan);
}

/// Chooses the plane to transpose: the destination is consecutive along the last dimension, and the
/// dimension along which the source is (perhaps reversed) becomes the last but one. Returns false
/// if there is no such dimension, or if both are short and another dimension is longer; the longer
/// one then becomes the last but one. A cast's blocks are made of these two dimensions. The longer
/// one must fit the cache, since it is walked for each index of the shorter one.
inline bool make_plane(ElementPlan& plan) noexcept {
  if (plan.rank < 2 || plan.dims[plan.rank - 1].dst_stride != static_cast<ptrdiff_t>(plan.unit)) {
    return false;
  }
  constexpr ptrdiff_t kCache = ptrdiff_t{256} * 1024;
  const ptrdiff_t row = plan.dims[plan.rank - 1].size;
  const ptrdiff_t unit = source_unit(plan);
  const ptrdiff_t least = plan.converts ? 512 : 128;
  size_t best = plan.rank - 2;
  bool is_plane = false;
  for (size_t i = plan.rank - 1; i-- > 0 && !is_plane;) {
    const ElementPlan::Dim& dim = plan.dims[i];
    const ptrdiff_t step = stride_length(dim.src_stride);
    const bool is_consecutive = step == unit;
    is_plane = is_consecutive && (plan.rank == 2 || dim.size * row >= (plan.converts ? 128 : 64));
    // Short rows with gaps between them would write the destination's lines in parts.
    const ptrdiff_t row_nbytes = row * static_cast<ptrdiff_t>(plan.unit);
    const bool is_near = dim.size * (step < 128 ? step : 128) <= kCache &&
                         (dim.dst_stride <= 2 * row_nbytes ||
                          (row_nbytes >= 64 && (!plan.converts || row % 16 == 0)));
    const bool is_longer = plan.dims[best].size * row < least && dim.size > plan.dims[best].size;
    if (is_plane || (is_longer && is_near)) best = i;
  }
  for (; best + 2 < plan.rank; ++best) std::swap(plan.dims[best], plan.dims[best + 1]);
  return is_plane;
}

/// The most units of a block that is copied by a table of offsets.
inline constexpr ptrdiff_t kBlockUnits = 256;
/// The bytes of each side of a block that is converted, which has to fit a buffer.
inline constexpr ptrdiff_t kBlockBytes = 4096;
static_assert(kBlockUnits * 16 <= kBlockBytes, "a block of the largest elements fits");
/// There are no tables of offsets where code, or the stack, is to be small.
#if defined(__OPTIMIZE_SIZE__)
inline constexpr bool kHasBlocks = false;
#else
inline constexpr bool kHasBlocks = !TENON_BARE_METAL;
#endif

/// Chooses a block where a call for each plane would cost too much. Its units are elements, or rows
/// if both sides are consecutive along the last dimension. Its dimensions, which become the last
/// ones, have the smallest strides on either side, so that the block touches few cache lines of
/// both.
inline void choose_block(ElementPlan& plan, bool is_row) noexcept {
  if (plan.rank < 3) return;
  const ElementPlan::Dim& row = plan.dims[plan.rank - 1];
  const ptrdiff_t other = plan.dims[plan.rank - 2].size;
  if (other * (is_row && !plan.converts ? 4 : row.size) >= 128) return;
  // Pixels of few channels are copied by vectors instead.
  const ptrdiff_t longer = other < row.size ? row.size : other;
  const ptrdiff_t channels = other + row.size - longer;
  if (plan.is_plane && !plan.converts && TENON_HAS_VARIANTS && row.src_stride != 0 &&
      channels <= (plan.unit <= 4 ? 4 : 3) && longer * row.dst_stride >= 16) {
    return;
  }
  size_t first = plan.rank - (is_row ? 1 : 0);  // where the block's dimensions begin
  const size_t last = first;
  ptrdiff_t most = kBlockUnits;
  if (is_row) {
    if (plan.converts && row.size >= 32 && row.size % 16 == 0)
      return;  // a row is converted at once
    const ptrdiff_t size = source_unit(plan);
    const ptrdiff_t larger = row.size * (size < row.dst_stride ? row.dst_stride : size);
    if (larger > kBlockBytes / 4) return;
    if (plan.converts && most > kBlockBytes / larger) most = kBlockBytes / larger;
  }
  ptrdiff_t count = 1;
  while (first > 0 && plan.block_chunk == 1) {
    const auto nearness = [&](size_t d) noexcept {
      const ElementPlan::Dim& dim = plan.dims[d];
      const ptrdiff_t step = stride_length(dim.src_stride);
      return step < dim.dst_stride ? step : dim.dst_stride;
    };
    size_t nearest = first - 1;
    for (size_t d = first - 1; d-- > 0;) {
      if (nearness(d) < nearness(nearest)) nearest = d;
    }
    for (; nearest + 1 < first; ++nearest) std::swap(plan.dims[nearest], plan.dims[nearest + 1]);
    const ptrdiff_t size = plan.dims[first - 1].size;
    if (count * size > most) {
      plan.block_chunk = most / count;
      break;
    }
    count *= size;
    --first;
    for (size_t d = first; d + 1 < last; ++d) {  // sorted by the destination's strides
      if (plan.dims[d].dst_stride < plan.dims[d + 1].dst_stride) {
        std::swap(plan.dims[d], plan.dims[d + 1]);
      }
    }
  }
  plan.block_rank = static_cast<uint8_t>(plan.rank - first);
}

// The functions below are inlined: in small copies a call takes measurable time.

/// Sorts a plan's dimensions by the destination's strides, which are positive.
template <class = void>
TENON_ALWAYS_INLINE void sort_dims(ElementPlan& plan) noexcept {
  for (size_t i = 1; i < plan.rank; ++i) {
    for (size_t at = i; at > 0 && plan.dims[at - 1].dst_stride < plan.dims[at].dst_stride; --at) {
      std::swap(plan.dims[at - 1], plan.dims[at]);
    }
  }
}

/// Sorts a plan's dimensions, and merges adjacent ones where both sides allow it, except the one
/// with the stride `apart`.
template <class = void>
TENON_ALWAYS_INLINE void merge_dims(ElementPlan& plan, ptrdiff_t apart) noexcept {
  sort_dims(plan);
  size_t kept = 0;
  for (size_t i = 1; i < plan.rank; ++i) {
    ElementPlan::Dim& outer = plan.dims[kept];
    const ElementPlan::Dim& inner = plan.dims[i];
    if (outer.dst_stride == int64_t{inner.dst_stride} * inner.size &&
        outer.src_stride == int64_t{inner.src_stride} * inner.size && outer.dst_stride != apart &&
        inner.dst_stride != apart) {
      outer = {outer.size * inner.size, inner.dst_stride, inner.src_stride};
    } else {
      plan.dims[++kept] = inner;
    }
  }
  if (plan.rank != 0) plan.rank = kept + 1;
}

/// Chooses the kind for sorted and merged dimensions. A short consecutive run, such as a pixel,
/// becomes one element.
template <class = void>
TENON_ALWAYS_INLINE void choose_kind(ElementPlan& plan) noexcept {
  plan.block_rank = 0;
  plan.block_chunk = 1;
  if (!plan.converts && plan.rank >= 2) {
    const ElementPlan::Dim& inner = plan.dims[plan.rank - 1];
    if (both_consecutive(plan, inner) && inner.size * static_cast<ptrdiff_t>(plan.unit) <= 16) {
      plan.unit *= static_cast<size_t>(inner.size);
      --plan.rank;
    }
  }
  const ElementPlan::Dim* inner = plan.rank == 0 ? nullptr : &plan.dims[plan.rank - 1];
  const bool is_row = inner == nullptr || both_consecutive(plan, *inner);
  // Rows that repeat one value are fills.
  const bool is_fill =
      !is_row && inner->src_stride == 0 &&
      (inner->size >= (plan.converts ? 256 : 16) ||
       (!plan.converts && plan.rank == 2 && inner->size * inner->dst_stride >= 32));
  plan.is_plane = !is_fill && (plan.converts || !is_row) && make_plane(plan) && !is_row;
  plan.kind = plan.converts && (is_row || plan.is_plane) ? CopyKind::Cast
              : plan.is_plane                            ? CopyKind::Transpose
              : !is_row                                  ? CopyKind::General
              : plan.rank < 2                            ? CopyKind::Memcpy
                                                         : CopyKind::Rows;
  if (kHasBlocks && plan.rank > 2 && !is_fill) choose_block(plan, is_row);
}

/// Completes a plan. By default (`apart`) all dimensions may be merged.
TENON_TEMPLATE_INLINE void finish_plan(ElementPlan& plan, ptrdiff_t apart = 0) noexcept {
  merge_dims(plan, apart);
  choose_kind(plan);
}

/// Sets a plan's dimensions to those of `dst` longer than 1, in order, and the other fields that
/// finish_plan() needs. Returns false if there are no elements.
template <class = void>
TENON_ALWAYS_INLINE bool begin_plan(ElementPlan& plan, const TensorView& dst, const TensorView& src,
                                    CastMode mode) noexcept {
  plan.mode = mode;
  plan.dst_type = dst.type;
  plan.src_type = src.type;
  plan.converts = dst.type != src.type;
  const size_t rank = dst.sizes.size();
  const size_t leading = rank - src.sizes.size();  // dimensions that only the destination has
  const int64_t* const sizes = dst.sizes.data();
  const int64_t* const dst_strides = dst.strides.data();
  const int64_t* const src_sizes = src.sizes.data();
  const int64_t* const src_strides = src.strides.data();
  // Checked first: without elements, strides may be too large to multiply, and data may be null.
  for (size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0) return false;
  }
  const auto dst_size = static_cast<ptrdiff_t>(elementSize(own_type(dst.type)));
  const auto src_size =
      plan.converts ? static_cast<ptrdiff_t>(elementSize(own_type(src.type))) : dst_size;
  ptrdiff_t dst_begin = 0;  // byte offset of the first element
  ptrdiff_t src_begin = 0;
  ptrdiff_t nbytes = dst_size;
  for (size_t d = 0; d < rank; ++d) {
    const auto n = static_cast<ptrdiff_t>(sizes[d]);
    if (n == 1) continue;
    const bool repeats = d < leading || src_sizes[d - leading] == 1;
    ElementPlan::Dim dim{n, static_cast<ptrdiff_t>(dst_strides[d]) * dst_size,
                         repeats ? 0 : static_cast<ptrdiff_t>(src_strides[d - leading]) * src_size};
    if (dim.dst_stride < 0) {  // reversed
      dst_begin += (n - 1) * dim.dst_stride;
      src_begin += (n - 1) * dim.src_stride;
      dim.dst_stride = -dim.dst_stride;
      dim.src_stride = -dim.src_stride;
    }
    plan.dims[plan.rank++] = dim;
    nbytes *= n;
  }
  // A plan may be made before memory is allocated.
  if (dst.data != nullptr) plan.dst = static_cast<char*>(dst.data) + dst_begin;
  if (src.data != nullptr) plan.src = static_cast<const char*>(src.data) + src_begin;
  plan.unit = static_cast<size_t>(dst_size);
  plan.src_size = static_cast<size_t>(src_size);
  plan.nbytes = static_cast<size_t>(nbytes);
  return true;
}

/// Plans a copy of `src`, broadcast to the sizes of `dst`, to `dst`. Both are host memory and do
/// not overlap; the destination's elements are distinct.
TENON_COMPILED_ONCE void plan_elements(ElementPlan& plan, const TensorView& dst,
                                       const TensorView& src, CastMode mode) noexcept {
  if (begin_plan(plan, dst, src, mode)) finish_plan(plan);
}

/// Whether source and destination may share memory, by their address ranges. Both must be in one
/// address space.
inline bool sides_may_overlap(const ElementPlan& plan) noexcept {
  if (plan.nbytes == 0) return false;
  ptrdiff_t dst_reach = 0;  // byte offset of the last element
  ptrdiff_t src_low = 0;
  ptrdiff_t src_high = 0;
  for (size_t d = 0; d < plan.rank; ++d) {
    const ElementPlan::Dim& dim = plan.dims[d];
    dst_reach += (dim.size - 1) * dim.dst_stride;
    (dim.src_stride < 0 ? src_low : src_high) += (dim.size - 1) * dim.src_stride;
  }
  const auto dst = reinterpret_cast<uintptr_t>(plan.dst);
  const auto src = reinterpret_cast<uintptr_t>(plan.src);
  return dst < src + static_cast<uintptr_t>(src_high + source_unit(plan)) &&
         src + static_cast<uintptr_t>(src_low) <
             dst + static_cast<uintptr_t>(dst_reach) + plan.unit;
}

/// Whether both sides are the same elements.
inline bool is_in_place(const ElementPlan& plan) noexcept {
  bool same = plan.dst_type == plan.src_type && plan.dst == plan.src;
  for (size_t d = 0; d < plan.rank; ++d) {
    same = same && plan.dims[d].dst_stride == plan.dims[d].src_stride;
  }
  return same;
}

/// Whether all elements move by the same distance, in dimensions that nest: then their order is the
/// order of addresses. Sorts the dimensions.
TENON_TEMPLATE_INLINE bool is_shift(ElementPlan& plan) noexcept {
  if (plan.converts) return false;
  sort_dims(plan);
  auto reach = static_cast<ptrdiff_t>(plan.unit);
  for (size_t d = plan.rank; d-- > 0;) {
    const ElementPlan::Dim& dim = plan.dims[d];
    if (dim.dst_stride != dim.src_stride || dim.dst_stride < reach) return false;
    reach += (dim.size - 1) * dim.dst_stride;
  }
  return true;
}

/// Stages one side of a plan: replaces its source or destination by memory at `here`, dense in the
/// plan's order. Sets `part` to the unfinished plan that copies between the replaced memory (as
/// `src`) and `here` (as `dst`), in the same order.
TENON_TEMPLATE_INLINE void stage_side(ElementPlan& plan, bool is_source, char* here,
                                      ElementPlan& part) noexcept {
  const auto stride = is_source ? &ElementPlan::Dim::src_stride : &ElementPlan::Dim::dst_stride;
  ptrdiff_t dense = is_source ? source_unit(plan) : static_cast<ptrdiff_t>(plan.unit);
  part.dst_type = part.src_type = is_source ? plan.src_type : plan.dst_type;
  part.unit = static_cast<size_t>(dense);
  part.dst = here;
  part.src = is_source ? plan.src : plan.dst;
  for (size_t d = 0; d < plan.rank; ++d) part.rank += plan.dims[d].*stride != 0;
  size_t at = part.rank;
  for (size_t d = plan.rank; d-- > 0;) {
    ElementPlan::Dim& dim = plan.dims[d];
    if (dim.*stride == 0) continue;  // a repeated element
    part.dims[--at] = {dim.size, dense, dim.*stride};
    dim.*stride = dense;
    dense *= dim.size;
  }
  part.nbytes = static_cast<size_t>(dense);
  if (is_source) {
    plan.src = here;
  } else {
    plan.dst = here;
  }
}

/// The bytes that a view with elements spans.
struct ByteRange {
  uintptr_t begin;
  uintptr_t end;
};
inline ByteRange byte_range(const TensorView& view) noexcept {
  const auto size = static_cast<int64_t>(elementSize(own_type(view.type)));
  int64_t low = 0;
  int64_t high = 0;
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    const int64_t reach = view.sizes[d] == 1 ? 0 : (view.sizes[d] - 1) * view.strides[d] * size;
    (reach < 0 ? low : high) += reach;
  }
  const auto data = reinterpret_cast<uintptr_t>(view.data);
  return {data + static_cast<uintptr_t>(low), data + static_cast<uintptr_t>(high + size)};
}

inline bool overlap(const ByteRange& a, const ByteRange& b) noexcept {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace detail
TENON_END_NAMESPACE
