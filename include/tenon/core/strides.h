// SPDX-License-Identifier: MIT
// The rules for sizes, strides and dim order, as pure functions. All sizes and strides are in
// elements. Products and offsets are computed in ptrdiff_t, which holds the bytes of every valid
// shape; 64-bit arithmetic would be more code on 32-bit processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "tenon/core/dims.h"

TENON_BEGIN_NAMESPACE

/// The offsets, relative to element 0, of the lowest and highest elements that a shape reaches.
/// Both are inclusive; a shape without elements has min 0 and max -1.
struct OffsetRange {
  ptrdiff_t min = 0;   ///< offset of the lowest element
  ptrdiff_t max = -1;  ///< offset of the highest element
};

namespace detail {

/// Writes a * b to `product`; returns false if the result does not fit.
template <class T>
TENON_ALWAYS_INLINE bool multiply(T a, T b, T& product) noexcept {
#if TENON_PORTABLE
  constexpr T kLeast = (std::numeric_limits<T>::min)();
  constexpr T kMost = (std::numeric_limits<T>::max)();
  if (a > 0 && b > 0 && a > kMost / b) return false;
  if (a > 0 && b < 0 && b < kLeast / a) return false;
  if (a < 0 && b > 0 && a < kLeast / b) return false;
  if (a < 0 && b < 0 && a < kMost / b) return false;
  product = static_cast<T>(a * b);
  return true;
#else
  return !__builtin_mul_overflow(a, b, &product);
#endif
}
template <class T>
TENON_ALWAYS_INLINE bool add(T a, T b, T& sum) noexcept {
#if TENON_PORTABLE
  constexpr T kLeast = (std::numeric_limits<T>::min)();
  constexpr T kMost = (std::numeric_limits<T>::max)();
  if (b < 0 ? a < kLeast - b : a > kMost - b) return false;
  sum = static_cast<T>(a + b);
  return true;
#else
  return !__builtin_add_overflow(a, b, &sum);
#endif
}
/// Multiplies an offset by a size or stride. `b` is const, because GCC's -Wuseless-cast warns about
/// the cast of a variable if both types are equal.
inline bool multiply_offset(ptrdiff_t a, const int64_t b, ptrdiff_t& product) noexcept {
  const auto factor = static_cast<ptrdiff_t>(b);
  return factor == b && multiply(a, factor, product);
}

inline int64_t magnitude(int64_t stride) noexcept {
  // -INT64_MIN overflows; compute_offset_range() rejects INT64_MIN later, if it matters.
  return stride < 0 ? (stride == INT64_MIN ? INT64_MAX : -stride) : stride;
}

TENON_COLD inline Error fail_shape_memory() noexcept {
  return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for a shape");
}

/// One pass over a shape, without a branch per dimension: the product of the nonzero sizes, and
/// whether a size is 0, negative or too large.
struct ShapeProduct {
  ptrdiff_t product = 1;  // of the nonzero sizes
  size_t count = 1;
  ptrdiff_t signs = 0;  // negative if any size is
  bool overflow = false;

  TENON_ALWAYS_INLINE void multiply_by(const int64_t value) noexcept {
    const auto size = static_cast<ptrdiff_t>(value);
    signs |= size;
    count *= static_cast<size_t>(size);
    overflow |= size != value;
    overflow |= !multiply(product, size == 0 ? 1 : size, product);
  }
  /// Whether no size is negative and the bytes fit the address space.
  bool valid(size_t element_size) noexcept {
    ptrdiff_t nbytes = 0;
    overflow |= !multiply(product, static_cast<ptrdiff_t>(element_size), nbytes);
    return !overflow && signs >= 0;
  }
  ptrdiff_t numel() const noexcept { return static_cast<ptrdiff_t>(count); }
};

inline Error fail_nbytes(int64_t count, size_t element_size) noexcept {
  return fail(Error::InvalidArgument, count, " elements of ", element_size,
              " bytes overflow the address space");
}
/// The error of an invalid shape.
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

/// The number of elements; 1 if there are no sizes.
/// Errors: InvalidArgument when a size is negative, or when the product of the nonzero sizes, in
/// elements or bytes, overflows: the strides are such products, even if the shape has no elements.
/// Source: c10::multiply_integers, with the checks.
inline Error compute_numel(ArrayRef<int64_t> sizes, size_t element_size,
                           ptrdiff_t& numel) noexcept {
  detail::ShapeProduct pass;
  for (int64_t size : sizes) pass.multiply_by(size);
  if (!pass.valid(element_size)) return detail::fail_shape(sizes, element_size);
  numel = pass.numel();
  return Error::Ok;
}

/// The bytes of `count` elements; `count` may be negative.
/// Errors: InvalidArgument when the bytes are beyond PTRDIFF_MAX in either direction.
inline Error compute_nbytes(int64_t count, size_t element_size, size_t& nbytes) noexcept {
  ptrdiff_t product = 0;
  if (!detail::multiply_offset(static_cast<ptrdiff_t>(element_size), count, product) ||
      product < -PTRDIFF_MAX) {
    return detail::fail_nbytes(count, element_size);
  }
  nbytes = static_cast<size_t>(product);
  return Error::Ok;
}

/// The offsets that a shape reaches, for strides of any sign.
/// Errors: InvalidArgument when an offset overflows.
inline Error compute_offset_range(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                  OffsetRange& offsets) noexcept {
  OffsetRange reached{0, 0};
  bool overflow = false;  // branchless, as in ShapeProduct
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) {
      offsets = OffsetRange{};
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
  if (overflow || reached.max == PTRDIFF_MAX) {
    return detail::fail(Error::InvalidArgument, "strides ", strides, " with sizes ", sizes,
                        " overflow the address space");
  }
  offsets = reached;
  return Error::Ok;
}

/// The dim order that strides imply: descending by magnitude. The sort is stable, so equal strides
/// keep their logical order. The stride of a size-1 dimension is ignored: the dimension goes right
/// before the first dimension in memory that logically follows it.
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

/// Whether the elements fill their memory without gaps or overlap, nested in `order`, which is
/// row-major if empty. Strides of size-1 dimensions are ignored. True for every shape without
/// elements.
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
    // Unsigned, which may wrap: the sizes may not have been checked yet.
    if (dense) {
      expected =
          static_cast<int64_t>(static_cast<uint64_t>(expected) * static_cast<uint64_t>(sizes[d]));
    }
  }
  return dense;
}

/// Whether the elements are in row-major order without gaps.
/// Source: c10 is_contiguous.
inline bool is_contiguous(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) noexcept {
  return is_dense(sizes, strides, {});
}

/// Whether two index tuples may address the same element. Never false if two do. Exact if all
/// dimensions except the two innermost nest; otherwise it may be true for strides that do not
/// collide, since the exact problem is NP-hard. Precondition: compute_offset_range() succeeded, so
/// that the range's length fits size_t.
/// Source: at::has_internal_overlap, which answers "too hard" for those.
inline bool may_overlap(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                        ArrayRef<DimOrderType> order) noexcept {
  for (const int64_t size : sizes) {
    if (size == 0) return false;  // checked first: the strides may then be anything
  }
  size_t reach = 0;  // the largest distance between elements of the inner dimensions
  size_t count = 0;  // how many inner dimensions there are, not counting those of size 1
  size_t inner = 0;  // the dimension just inside the current one
  bool overlap = false;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    if (sizes[d] == 1) continue;
    const auto stride = static_cast<size_t>(detail::magnitude(strides[d]));
    if (stride <= reach && !overlap) {
      overlap = true;
      if (count == 1) {
        // With one inner dimension: i steps of the current dimension equal j steps of the inner one
        // first at i = other / gcd.
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

/// Whether the bytes that a shape reaches fit the address space, in both directions.
inline Error check_nbytes(const OffsetRange& offsets, size_t element_size) noexcept {
  size_t nbytes = 0;
  TENON_TRY(compute_nbytes(offsets.min, element_size, nbytes));
  return compute_nbytes(offsets.max + 1, element_size, nbytes);
}

/// Converts `dim` to an index; a negative `dim` counts from the end. In the error text, `kind`
/// names the object with `rank` dimensions.
TENON_TEMPLATE_INLINE Error wrap_dim(int64_t dim, size_t rank, size_t& d,
                                     const char* kind = "tensor") noexcept {
  const auto n = static_cast<int64_t>(rank);
  if (dim < -n || dim >= n) {
    return fail(Error::OutOfBounds, "dimension ", dim, " is out of range for a ", kind, " of ",
                rank, " dimensions");
  }
  d = static_cast<size_t>(dim < 0 ? dim + n : dim);
  return Error::Ok;
}

/// Does the same as wrap_dim(), but takes rank 0 as rank 1, as ATen does.
TENON_TEMPLATE_INLINE Error wrap_dim_or_scalar(int64_t dim, size_t rank, size_t& d) noexcept {
  const bool is_scalar = rank == 0 && (dim == 0 || dim == -1);
  return wrap_dim(dim, is_scalar ? 1 : rank, d);
}

/// Replaces a -1 in `sizes` by the size for `numel` elements in total.
/// Errors: InvalidArgument if no size or several sizes fit, or if the element counts differ.
TENON_TEMPLATE_INLINE Error infer_size(Dims& sizes, int64_t numel, size_t element_size) noexcept {
  int64_t* inferred = nullptr;
  bool is_unclear = false;
  for (int64_t& size : sizes) {
    if (size != -1) continue;
    is_unclear = inferred != nullptr;
    inferred = &size;
  }
  ptrdiff_t count = 0;
  if (inferred == nullptr) {
    TENON_TRY(compute_numel(sizes, element_size, count));
    if (count != numel) {
      return fail(Error::InvalidArgument, "sizes ", sizes, " hold ", count,
                  " elements, the tensor has ", numel);
    }
    return Error::Ok;
  }
  if (is_unclear) {
    return fail(Error::InvalidArgument, "sizes ", sizes, " have more than one -1");
  }
  *inferred = 1;
  TENON_TRY(compute_numel(sizes, element_size, count));
  if (count == 0 || numel % count != 0) {
    *inferred = -1;
    return fail(Error::InvalidArgument, count == 0 && numel == 0 ? "any size" : "no size",
                " for the -1 in sizes ", sizes, " makes them hold the ", numel,
                " elements of the tensor");
  }
  *inferred = numel / count;
  return Error::Ok;
}

}  // namespace detail

TENON_END_NAMESPACE
