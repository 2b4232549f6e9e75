// SPDX-License-Identifier: MIT
// The rules for sizes, strides and dim order, as pure functions, and Layout, which make_layout()
// checks and computes. All sizes and strides are in elements. Products and offsets are computed in
// ptrdiff_t, which holds the bytes of every valid shape: 64-bit arithmetic costs code on 32-bit
// processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE

/// The offsets, relative to element 0, of the lowest and highest elements that a shape reaches.
/// Both are inclusive; a shape without elements has min 0 and max -1.
struct Extent {
  ptrdiff_t min = 0;
  ptrdiff_t max = -1;
};

namespace detail {

/// a * b into `product`; false when it does not fit.
template <class T>
bool multiply(T a, T b, T& product) noexcept {
  return !__builtin_mul_overflow(a, b, &product);
}
template <class T>
bool add(T a, T b, T& sum) noexcept {
  return !__builtin_add_overflow(a, b, &sum);
}
/// The same in ptrdiff_t, times a size or stride. `b` is const, like others that are cast so: where
/// both types are one, GCC's -Wuseless-cast warns of the rest.
inline bool multiply_offset(ptrdiff_t a, const int64_t b, ptrdiff_t& product) noexcept {
  const auto factor = static_cast<ptrdiff_t>(b);
  return factor == b && multiply(a, factor, product);
}

inline int64_t magnitude(int64_t stride) noexcept {
  // The most negative value has no counterpart; compute_extent() rejects it before it matters.
  return stride < 0 ? (stride == INT64_MIN ? INT64_MAX : -stride) : stride;
}

/// `what` is the list's name in the message: "sizes", "strides", "dim_order".
inline Error check_dims(const char* what, const Dims& dims) noexcept {
  switch (dims.error()) {
    case Error::Ok: return Error::Ok;
    case Error::InvalidArgument:
      return fail(Error::InvalidArgument, what, " has more than ", kMaxDims, " entries");
    case Error::OutOfBounds:
      return fail(Error::InvalidArgument, what, " has a value above int64_t's range");
    default: return fail_no_memory(what);
  }
}

TENON_COLD inline Error fail_shape_memory() noexcept {
  return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for a shape");
}

/// One pass over a shape, without a branch per dimension: the product of the sizes, those of 0
/// counted as 1, and what may be wrong with it.
struct DensePass {
  ptrdiff_t product = 1;
  ptrdiff_t signs = 0;  // negative when a size is
  bool empty = false;
  bool overflow = false;

  TENON_ALWAYS_INLINE void take(const int64_t given) noexcept {
    const auto size = static_cast<ptrdiff_t>(given);
    signs |= size;
    empty |= size == 0;
    overflow |= size != given;
    overflow |= !multiply(product, size == 0 ? 1 : size, product);
  }
  /// Whether the shape is one, of elements that fit the address space.
  bool valid(size_t element_size) noexcept {
    ptrdiff_t nbytes = 0;
    overflow |= !multiply(product, static_cast<ptrdiff_t>(element_size), nbytes);
    return !overflow && signs >= 0;
  }
  ptrdiff_t numel() const noexcept { return empty ? 0 : product; }
};

inline Error fail_nbytes(int64_t count, size_t element_size) noexcept {
  return fail(Error::InvalidArgument, count, " elements of ", element_size,
              " bytes overflow the address space");
}
/// Says what is wrong with a shape that is not valid.
TENON_COLD inline Error fail_shape(ArrayRef<int64_t> sizes, size_t element_size) noexcept {
  ptrdiff_t product = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) {
      return fail(Error::InvalidArgument, "size ", sizes[d], " of dimension ", d,
                  " is negative in sizes ", sizes);
    }
    if (sizes[d] != 0 && !multiply_offset(product, sizes[d], product)) {
      return fail(Error::InvalidArgument, "the element count of sizes ", sizes,
                  " overflows the address space");
    }
  }
  return fail_nbytes(product, element_size);
}

}  // namespace detail

/// The number of elements; 1 for no sizes.
/// Errors: InvalidArgument when a size is negative, or when the product of the nonzero sizes, in
/// elements or bytes, overflows: strides are such products in shapes without elements too.
/// Source: c10::multiply_integers, with the checks.
inline Error compute_numel(ArrayRef<int64_t> sizes, size_t element_size, int64_t& numel) noexcept {
  detail::DensePass pass;
  for (int64_t size : sizes) pass.take(size);
  if (TENON_UNLIKELY(!pass.valid(element_size))) return detail::fail_shape(sizes, element_size);
  numel = pass.numel();
  return Error::Ok;
}

/// `count` elements in bytes.
/// Errors: InvalidArgument when that exceeds PTRDIFF_MAX.
inline Error compute_nbytes(int64_t count, size_t element_size, size_t& nbytes) noexcept {
  ptrdiff_t product = 0;
  if (TENON_UNLIKELY(
          !detail::multiply_offset(static_cast<ptrdiff_t>(element_size), count, product) ||
          product < -PTRDIFF_MAX)) {
    return detail::fail_nbytes(count, element_size);
  }
  nbytes = static_cast<size_t>(product);
  return Error::Ok;
}

/// Which offsets the shape reaches, for strides of any sign.
/// Errors: InvalidArgument when an offset overflows.
inline Error compute_extent(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                            Extent& extent) noexcept {
  Extent reached{0, 0};
  bool overflow = false;  // without a branch per dimension, as in a DensePass
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) {
      extent = Extent{};
      return Error::Ok;
    }
    const int64_t steps = sizes[d] - 1;
    const auto last = static_cast<ptrdiff_t>(steps);
    const auto stride = static_cast<ptrdiff_t>(strides[d]);
    ptrdiff_t span = 0;
    overflow |= last != steps;
    overflow |= stride != strides[d] && last != 0;
    overflow |= !detail::multiply(last, stride, span);
    overflow |= !detail::add(reached.min, span < 0 ? span : 0, reached.min);
    overflow |= !detail::add(reached.max, span < 0 ? 0 : span, reached.max);
  }
  // max + 1, the number of elements up to the highest one, has to fit as well.
  if (TENON_UNLIKELY(overflow || reached.max == PTRDIFF_MAX)) {
    return detail::fail(Error::InvalidArgument, "strides ", strides, " with sizes ", sizes,
                        " overflow the address space");
  }
  extent = reached;
  return Error::Ok;
}

/// The dim order that strides imply: descending by magnitude. The sort is stable, so equal strides
/// keep their logical order. The stride of a size-1 dimension means nothing: such a dimension goes
/// right before the first one in memory that logically follows it.
/// Source: executorch::runtime::stride_to_dim_order, whose sort is neither stable nor aware of
/// size 1.
inline void dim_order_from_strides(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                   Span<DimOrderType> order) noexcept {
  size_t n = 0;
  const auto insert = [&](size_t at, size_t d) {
    for (size_t i = n; i > at; --i) order[i] = order[i - 1];
    order[at] = static_cast<DimOrderType>(d);
    ++n;
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    size_t at = n;
    while (at > 0 && detail::magnitude(strides[order[at - 1]]) < detail::magnitude(strides[d]))
      --at;
    insert(at, d);
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) continue;
    size_t at = 0;
    while (at < n && order[at] < d) ++at;
    insert(at, d);
  }
}

/// Whether the strides nest the dimensions in `order`: along it their magnitudes do not increase.
/// Dimensions of size 1 may have any stride, and so may all in a shape without elements.
inline bool strides_agree_with(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                               ArrayRef<DimOrderType> order) noexcept {
  int64_t previous = INT64_MAX;
  bool agree = true;
  for (DimOrderType d : order) {
    if (sizes[d] == 0) return true;
    if (sizes[d] == 1) continue;
    if (detail::magnitude(strides[d]) > previous) agree = false;
    previous = detail::magnitude(strides[d]);
  }
  return agree;
}

/// Whether the elements fill their memory without gaps or overlap, nested in `order`, or row-major
/// without one. Strides of size-1 dimensions are ignored. True for every shape without elements.
/// Source: c10 is_non_overlapping_and_dense.
inline bool is_dense(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                     ArrayRef<DimOrderType> order) noexcept {
  int64_t expected = 1;
  bool dense = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    const size_t d = order.empty() ? i : order[i];
    if (sizes[d] == 0) return true;
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) dense = false;
    if (dense) expected *= sizes[d];
  }
  return dense;
}

/// Whether the elements are in row-major order without gaps.
/// Source: c10 is_contiguous.
inline bool is_contiguous(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) noexcept {
  return is_dense(sizes, strides, {});
}

/// Whether two index tuples may address one element. Never false when they do. Exact if all
/// dimensions except the two innermost nest; otherwise it may be true for strides that do not
/// collide, since the exact question is NP-hard. Precondition: compute_extent() succeeded, so the
/// extent's length fits size_t.
/// Source: at::has_internal_overlap, which answers "too hard" for those.
inline bool may_overlap(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                        ArrayRef<DimOrderType> order) noexcept {
  size_t reach = 0;  // of the dimensions inside the current one, in both directions
  size_t count = 0;  // of those
  size_t inner = 0;  // the last of them
  bool overlap = false;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    if (sizes[d] == 0) return false;
    if (sizes[d] == 1) continue;
    const auto stride = static_cast<size_t>(detail::magnitude(strides[d]));
    if (stride <= reach && !overlap) {
      overlap = true;
      if (count == 1) {
        // Two indices meet where i steps of the one are j of the other: first at i = other / gcd.
        const size_t other = reach / static_cast<size_t>(sizes[inner] - 1);
        size_t gcd = other;
        for (size_t rest = stride; rest != 0;) gcd = std::exchange(rest, gcd % rest);
        overlap = other / gcd < static_cast<size_t>(sizes[d]) &&
                  stride / gcd < static_cast<size_t>(sizes[inner]);
      }
    }
    reach += static_cast<size_t>(sizes[d] - 1) * stride;
    inner = d;
    ++count;
  }
  return overlap;
}

namespace detail {
/// Whether the bytes of an extent fit the address space, in both directions.
inline Error check_nbytes(const Extent& extent, size_t element_size) noexcept {
  size_t nbytes = 0;
  TENON_TRY(compute_nbytes(extent.min, element_size, nbytes));
  return compute_nbytes(extent.max + 1, element_size, nbytes);
}
}  // namespace detail

/// Checked sizes, strides and dim order, and what is computed from them.
struct Layout {
  Dims sizes;
  // The next member starts in their tail padding: a TensorImpl takes 160 bytes on bare metal.
  [[no_unique_address]] Dims strides;
  [[no_unique_address]] DimOrder dim_order;
  /// Whether strides and dim order are those that the sizes alone imply.
  bool row_major = true;
  ptrdiff_t numel = 1;
  Extent extent{0, 0};

  bool is_contiguous() const noexcept { return row_major || tenon::is_contiguous(sizes, strides); }
  bool is_dense() const noexcept { return row_major || tenon::is_dense(sizes, strides, dim_order); }
  bool may_overlap() const noexcept { return tenon::may_overlap(sizes, strides, dim_order); }
  /// Whether a copy has its lists, and its elements, of `element_size`, the room.
  /// Errors: OutOfMemory, InvalidArgument.
  Error check(size_t element_size) const noexcept {
    TENON_TRY(detail::check_dims("sizes", sizes));
    TENON_TRY(detail::check_dims("strides", strides));
    if (TENON_UNLIKELY(dim_order.error() != Error::Ok)) {
      return detail::fail_no_memory("a shape");
    }
    return detail::check_nbytes(extent, element_size);
  }
  /// Elements from element 0 to the end of the highest one: what an owner of the memory allocates,
  /// and what a shape laid from element 0 upward may use.
  ptrdiff_t reach() const noexcept { return extent.max + 1; }
};

namespace detail {

/// The dense Layout of the sizes, nested in `order`, or row-major without one.
inline Error lay_out_dense(ArrayRef<int64_t> sizes, const DimOrderType* order, size_t element_size,
                           Layout& layout) noexcept {
  const size_t rank = sizes.size();
  if (TENON_UNLIKELY(!layout.sizes.resize_for_overwrite(rank) ||
                     !layout.strides.resize_for_overwrite(rank) ||
                     !layout.dim_order.resize_for_overwrite(rank))) {
    TENON_TRY(check_dims("sizes", layout.sizes));
    return fail_no_memory("a shape");
  }
  int64_t* const size = layout.sizes.data();
  int64_t* const stride = layout.strides.data();
  DimOrderType* const dim_order = layout.dim_order.data();
  DensePass pass;
  for (size_t i = rank; i-- > 0;) {
    const size_t d = order == nullptr ? i : order[i];
    dim_order[i] = static_cast<DimOrderType>(d);
    stride[d] = pass.product;
    size[d] = sizes[d];
    pass.take(sizes[d]);
  }
  if (TENON_UNLIKELY(!pass.valid(element_size))) return fail_shape(sizes, element_size);
  layout.numel = pass.numel();
  layout.extent = Extent{0, layout.numel - 1};
  layout.row_major = order == nullptr;
  return Error::Ok;
}

}  // namespace detail

/// Makes the dense Layout of the sizes, nested in `order`, or row-major without one.
/// Errors: as make_layout().
inline Error make_dense_layout(const Dims& sizes, const DimOrder* order, size_t element_size,
                               Layout& layout) noexcept {
  if (TENON_UNLIKELY(sizes.error() != Error::Ok)) return detail::check_dims("sizes", sizes);
  return detail::lay_out_dense(sizes, order == nullptr ? nullptr : order->data(), element_size,
                               layout);
}

namespace detail {

/// Sets strides that nest in the layout's dim order.
TENON_NOINLINE inline Error store_strides(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                          size_t element_size, Layout& layout) noexcept {
  const volatile int64_t* const given = strides.data();  // one by one, as InlineArray's copies
  for (size_t d = 0; d < sizes.size(); ++d) layout.strides[d] = given[d];
  layout.row_major = false;
  TENON_TRY(compute_extent(sizes, strides, layout.extent));
  return check_nbytes(layout.extent, element_size);
}

/// Whether the strides imply the dim order 0, 1, 2…, as in a slice of a row-major tensor.
TENON_NOINLINE inline bool strides_descend(ArrayRef<int64_t> sizes,
                                           ArrayRef<int64_t> strides) noexcept {
  int64_t previous = INT64_MAX;
  bool in_order = sizes.size() == strides.size();
  for (size_t d = 0; in_order && d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    in_order = magnitude(strides[d]) <= previous;
    previous = magnitude(strides[d]);
  }
  return in_order;
}

TENON_NOINLINE inline Error lay_out_strided(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dim_order,
                                            ArrayRef<int64_t> strides, size_t element_size,
                                            Layout& layout) noexcept {
  const size_t rank = sizes.size();
  if (TENON_UNLIKELY(!strides.empty() && strides.size() != rank)) {
    return fail(Error::InvalidArgument, "strides ", strides, " and sizes ", sizes,
                " differ in length");
  }
  if (TENON_UNLIKELY(!dim_order.empty() && dim_order.size() != rank)) {
    return fail(Error::InvalidArgument, "dim_order ", dim_order, " and sizes ", sizes,
                " differ in length");
  }
  DimArray<DimOrderType> numbers;
  const bool has_room = numbers.resize_for_overwrite(rank);
  const Span<DimOrderType> order(numbers.data(), rank);
  if (TENON_UNLIKELY(rank > kMaxDims)) return lay_out_dense(sizes, nullptr, element_size, layout);
  if (!has_room) return fail_shape_memory();
  if (dim_order.empty()) {
    dim_order_from_strides(sizes, strides, order);
  } else {
    uint64_t seen = 0;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t d = dim_order[i];
      if (TENON_UNLIKELY(d < 0 || d >= static_cast<int64_t>(rank) || (seen >> d & 1) != 0)) {
        return fail(Error::InvalidArgument, "dim_order ", dim_order,
                    " is not a permutation of the ", rank, " dimensions");
      }
      seen |= uint64_t{1} << d;
      order[i] = static_cast<DimOrderType>(d);
    }
  }
  TENON_TRY(lay_out_dense(sizes, order.data(), element_size, layout));
  if (strides.empty()) return Error::Ok;

  if (TENON_UNLIKELY(!dim_order.empty() && !strides_agree_with(sizes, strides, order))) {
    return fail(Error::InvalidArgument, "strides ", strides,
                " do not nest in the order of dim_order ", dim_order, " for sizes ", sizes);
  }
  return store_strides(sizes, strides, element_size, layout);
}

/// Whether the dimensions come in order, which is what no dim order means, too.
template <class T>
bool is_in_order(const T* dim_order, size_t rank) noexcept {
  size_t i = 0;
  while (i < rank && dim_order[i] == static_cast<T>(i)) ++i;
  return i == rank;
}

/// make_layout() of lists without errors.
inline Error lay_out(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dim_order,
                     ArrayRef<int64_t> strides, size_t element_size, Layout& layout) noexcept {
  if (dim_order.empty() ||
      (dim_order.size() == sizes.size() && is_in_order(dim_order.data(), dim_order.size()))) {
    TENON_TRY(lay_out_dense(sizes, nullptr, element_size, layout));
    if (strides.empty() || strides == layout.strides) return Error::Ok;
    if (strides_descend(sizes, strides)) return store_strides(sizes, strides, element_size, layout);
  }
  return lay_out_strided(sizes, dim_order, strides, element_size, layout);
}

/// The same of arrays of `rank` entries. The last two may be null: a program that only passes null
/// does not link what they need.
inline Error lay_out(const int64_t* sizes, const DimOrderType* dim_order, const int64_t* strides,
                     size_t rank, size_t element_size, Layout& layout) noexcept {
  if (dim_order == nullptr || (rank <= kMaxDims && is_in_order(dim_order, rank))) {
    TENON_TRY(lay_out_dense({sizes, rank}, nullptr, element_size, layout));
    if (strides == nullptr || ArrayRef<int64_t>(strides, rank) == layout.strides) return Error::Ok;
  }
  const Dims order(ArrayRef<DimOrderType>(dim_order, dim_order == nullptr ? 0 : rank));
  TENON_TRY(check_dims("dim_order", order));
  return lay_out_strided({sizes, rank}, order, {strides, strides == nullptr ? 0 : rank},
                         element_size, layout);
}

/// make_layout(), where lists that are null are empty.
inline Error make_layout(const Dims& sizes, const Dims* dim_order, const Dims* strides,
                         size_t element_size, Layout& layout) noexcept {
  const auto failed = [](const Dims* list) {
    return TENON_UNLIKELY(list != nullptr && list->error() != Error::Ok);
  };
  if (failed(&sizes)) return check_dims("sizes", sizes);
  if (failed(dim_order)) return check_dims("dim_order", *dim_order);
  if (failed(strides)) return check_dims("strides", *strides);
  return lay_out(sizes, dim_order == nullptr ? ArrayRef<int64_t>() : ArrayRef<int64_t>(*dim_order),
                 strides == nullptr ? ArrayRef<int64_t>() : ArrayRef<int64_t>(*strides),
                 element_size, layout);
}

}  // namespace detail

/// Checks a shape and makes its Layout.
///
/// An empty dim_order is implied by the strides, or row-major; empty strides are the dense ones of
/// the dim order. Sizes without elements may come with any strides.
/// Errors: InvalidArgument (more than kMaxDims dimensions; a negative size; an overflowing element
/// count, extent or byte count; a dim_order that is no permutation; lengths that differ; strides
/// that do not nest in the dim order), OutOfMemory (a shape of more
/// dimensions than TENON_INLINE_DIMS).
inline Error make_layout(const Dims& sizes, const Dims& dim_order, const Dims& strides,
                         size_t element_size, Layout& layout) noexcept {
  return detail::make_layout(sizes, &dim_order, &strides, element_size, layout);
}

TENON_END_NAMESPACE
