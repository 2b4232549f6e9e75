// SPDX-License-Identifier: MIT
// ViewShape: what a view's sizes, strides and offset are, as arithmetic without memory.
#pragma once

#include "tenon/tensor/accessor.h"
#include "tenon/tensor/restride.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// `dim` as an index, a negative one counted from the end. `owner` is what has `rank` dimensions.
inline Error wrap_dim(int64_t dim, size_t rank, size_t& d, const char* owner = "tensor") noexcept {
  const auto n = static_cast<int64_t>(rank);
  if (TENON_UNLIKELY(dim < -n || dim >= n)) {
    return fail(Error::OutOfBounds, "dimension ", dim, " is out of range for a ", owner, " of ",
                rank, " dimensions");
  }
  d = static_cast<size_t>(dim < 0 ? dim + n : dim);
  return Error::Ok;
}

/// The same where, as in ATen, a tensor of rank 0 may pass for one of rank 1.
inline Error wrap_dim_or_scalar(int64_t dim, size_t rank, size_t& d) noexcept {
  if (rank == 0 && (dim == 0 || dim == -1)) {
    d = 0;
    return Error::Ok;
  }
  return wrap_dim(dim, rank, d);
}

/// A view's shape in the making: the source's at first, which each member function edits as the
/// function of the same name in view.h does. After an error it is half edited and of no use.
///
/// The source's extent has been checked, so nothing overflows that leads from one of its elements
/// to another. A stride that leads to no element may have any value, and does get one when it
/// overflows; the offset of a view without elements is 0.
class ViewShape {
 public:
  Dims sizes;
  /// In elements of `type`. None with some sizes stand for row-major ones.
  Dims strides;
  /// For the view where it nests the strides, which otherwise imply one.
  DimOrder dim_order;
  /// From the source's element 0, in elements of `type`.
  int64_t offset = 0;
  ScalarType type;

  explicit ViewShape(const TensorFields& source) noexcept
      : sizes(source.layout.sizes),
        strides(source.layout.strides),
        dim_order(source.layout.dim_order),
        type(source.type),
        data_(source.data),
        numel_(source.layout.numel) {}

  /// Whether the lists are there.
  /// Errors: OutOfMemory (of more than 6 dimensions), InvalidArgument (more than kMaxDims).
  Error check() const noexcept {
    TENON_TRY(check_dims("sizes", sizes));
    TENON_TRY(check_dims("strides", strides));
    if (TENON_UNLIKELY(dim_order.error() != Error::Ok)) {
      return fail(dim_order.error(), "out of memory for dim_order");
    }
    return Error::Ok;
  }

  Error select(int64_t dim, int64_t index) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank(), d));
    const int64_t size = sizes[d];
    if (TENON_UNLIKELY(index < -size || index >= size)) {
      return fail(Error::OutOfBounds, "index ", index, " is out of range for dimension ", dim,
                  " of size ", size);
    }
    advance(d, index < 0 ? index + size : index);
    remove_dim(d);
    return Error::Ok;
  }

  Error slice(int64_t dim, int64_t start, int64_t end, int64_t step) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank(), d));
    if (TENON_UNLIKELY(step < 1)) {
      return fail(Error::InvalidArgument, "step ", step,
                  " is not positive; flip() reverses a dimension");
    }
    const auto clamp = [size = sizes[d]](int64_t i) {
      if (i < 0) i += size;
      return i < 0 ? 0 : i > size ? size : i;
    };
    start = clamp(start);
    end = clamp(end);
    take(d, start, end > start ? (end - start - 1) / step + 1 : 0);
    // A step that overflows leads nowhere: one element at most is left.
    int64_t stride = 0;
    if (multiply(strides[d], step, stride)) strides[d] = stride;
    return Error::Ok;
  }

  Error narrow(int64_t dim, int64_t start, int64_t length) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank(), d));
    if (TENON_UNLIKELY(length < 0)) {
      return fail(Error::InvalidArgument, "length ", length, " is negative");
    }
    const int64_t size = sizes[d];
    const int64_t first = start < 0 ? start + size : start;
    if (TENON_UNLIKELY(first < 0 || first > size || length > size - first)) {
      return fail(Error::OutOfBounds, length, " elements from ", start,
                  " are out of range for dimension ", dim, " of size ", size);
    }
    take(d, first, length);
    return Error::Ok;
  }

  Error transpose(int64_t dim0, int64_t dim1) noexcept {
    size_t a = 0;
    size_t b = 0;
    TENON_TRY(wrap_dim_or_scalar(dim0, rank(), a));
    TENON_TRY(wrap_dim_or_scalar(dim1, rank(), b));
    if (a == b) return Error::Ok;
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    for (DimOrderType& d : dim_order) {
      d = static_cast<DimOrderType>(d == a ? b : d == b ? a : d);
    }
    return Error::Ok;
  }

  Error permute(const Dims& dims) noexcept {
    TENON_TRY(check_dims("dims", dims));
    if (TENON_UNLIKELY(dims.size() != rank())) {
      return fail(Error::InvalidArgument, "dims ", dims, " are not the ", rank(),
                  " dimensions of the tensor");
    }
    Dims new_sizes;
    Dims new_strides;
    DimOrderType new_place[kMaxDims];
    uint64_t seen = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t d = 0;
      TENON_TRY(wrap_once(dims, i, seen, d));
      new_sizes.push_back(sizes[d]);
      new_strides.push_back(strides[d]);
      new_place[d] = static_cast<DimOrderType>(i);
    }
    for (DimOrderType& d : dim_order) d = new_place[d];
    sizes = std::move(new_sizes);
    strides = std::move(new_strides);
    return check();
  }

  Error squeeze() noexcept {
    for (size_t d = rank(); d-- > 0;) {
      if (sizes[d] == 1) remove_dim(d);
    }
    return Error::Ok;
  }
  Error squeeze(int64_t dim) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim_or_scalar(dim, rank(), d));
    if (d < rank() && sizes[d] == 1) remove_dim(d);
    return Error::Ok;
  }

  Error unsqueeze(int64_t dim) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank() + 1, d, "view"));
    return insert_dim(d);
  }

  Error expand(const Dims& wanted) noexcept {
    TENON_TRY(check_dims("sizes", wanted));
    if (TENON_UNLIKELY(wanted.size() < rank())) {
      return fail(Error::InvalidArgument, "sizes ", wanted, " have fewer dimensions than the ",
                  rank(), " of the tensor");
    }
    const size_t added = wanted.size() - rank();
    for (size_t i = 0; i < added; ++i) TENON_TRY(insert_dim(0));
    for (size_t d = 0; d < wanted.size(); ++d) {
      if (wanted[d] == sizes[d] || (wanted[d] == -1 && d >= added)) continue;
      if (TENON_UNLIKELY(wanted[d] < 0)) {
        return fail(Error::InvalidArgument, "size ", wanted[d], " of dimension ", d,
                    " is negative in sizes ", wanted,
                    d < added && wanted[d] == -1 ? ", and there is no old size to keep" : "");
      }
      if (TENON_UNLIKELY(sizes[d] != 1)) {
        return fail(Error::InvalidArgument, "dimension ", d, " of size ", sizes[d],
                    " cannot become ", wanted[d], "; only size 1 can");
      }
      sizes[d] = wanted[d];
      strides[d] = 0;
    }
    return Error::Ok;
  }

  Error flip(const Dims& dims) noexcept {
    TENON_TRY(check_dims("dims", dims));
    uint64_t seen = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t d = 0;
      TENON_TRY(wrap_once(dims, i, seen, d));
      if (numel_ == 0 || rank() == 0 || sizes[d] == 1) continue;
      advance(d, sizes[d] - 1);
      strides[d] = -strides[d];
    }
    return Error::Ok;
  }

  Error view(const Dims& wanted) noexcept {
    TENON_TRY(check_dims("sizes", wanted));
    Dims complete = wanted;
    TENON_TRY(check_dims("sizes", complete));
    TENON_TRY(infer_size(complete, numel_, elementSize(type)));
    if (complete == sizes) return Error::Ok;
    Dims new_strides;
    if (numel_ != 0) TENON_TRY(restride(sizes, strides, complete, new_strides));
    sizes = std::move(complete);
    strides = std::move(new_strides);
    dim_order = {};
    return Error::Ok;
  }

  Error flatten(int64_t start_dim, int64_t end_dim) noexcept {
    size_t first = 0;
    size_t last = 0;
    TENON_TRY(wrap_dim_or_scalar(start_dim, rank(), first));
    TENON_TRY(wrap_dim_or_scalar(end_dim, rank(), last));
    if (TENON_UNLIKELY(first > last)) {
      return fail(Error::InvalidArgument, "start_dim ", start_dim, " comes after end_dim ", end_dim,
                  " in a tensor of ", rank(), " dimensions");
    }
    if (rank() == 0) return insert_dim(0);
    Dims flat;
    for (size_t d = 0; d < rank(); ++d) {
      if (d > first && d <= last) {
        flat[first] *= sizes[d];
      } else {
        flat.push_back(sizes[d]);
      }
    }
    return view(flat);
  }

  Error as_strided(const Dims& new_sizes, const Dims& new_strides,
                   int64_t storage_offset) noexcept {
    TENON_TRY(check_dims("sizes", new_sizes));
    TENON_TRY(check_dims("strides", new_strides));
    // Here rather than in make_layout(), for which strides may be left out.
    if (TENON_UNLIKELY(new_sizes.size() != new_strides.size())) {
      return fail(Error::InvalidArgument, "strides ", new_strides, " and sizes ", new_sizes,
                  " differ in length");
    }
    sizes = new_sizes;
    strides = new_strides;
    dim_order = {};
    offset = storage_offset;
    return check();
  }

  Error view_as_type(ScalarType new_type) noexcept {
    if (TENON_UNLIKELY(!isValidType(new_type))) {
      return fail(Error::InvalidType, new_type, " is not an element type");
    }
    const auto old_size = static_cast<int64_t>(elementSize(type));
    const auto new_size = static_cast<int64_t>(elementSize(new_type));
    if (old_size != new_size) TENON_TRY(rescale(old_size, new_size));
    if (numel_ != 0) TENON_TRY(check_aligned(data_, new_type));
    type = new_type;
    return Error::Ok;
  }

 private:
  size_t rank() const noexcept { return sizes.size(); }

  /// Lets the view start n elements further along dimension d.
  void advance(size_t d, int64_t n) noexcept {
    if (numel_ != 0) offset += n * strides[d];
  }
  /// Leaves `count` elements of dimension d, from `start` on.
  void take(size_t d, int64_t start, int64_t count) noexcept {
    sizes[d] = count;
    if (count != 0) advance(d, start);
  }

  void remove_dim(size_t removed) noexcept {
    const size_t n = rank() - 1;
    for (size_t d = removed; d < n; ++d) {
      sizes[d] = sizes[d + 1];
      strides[d] = strides[d + 1];
    }
    size_t kept = 0;
    for (DimOrderType d : dim_order) {
      if (d != removed) dim_order[kept++] = static_cast<DimOrderType>(d < removed ? d : d - 1);
    }
    shorten(sizes, n);
    shorten(strides, n);
    shorten(dim_order, n);
  }
  template <class List>
  static void shorten(List& list, size_t n) noexcept {
    static_cast<void>(list.resize_for_overwrite(n));  // cannot fail for fewer
  }

  /// Inserts a dimension of size 1. Its stride is ATen's, that of a dimension which steps over all
  /// that follow; its place in dim_order is the one that dim_order_from_strides() gives it.
  Error insert_dim(size_t at) noexcept {
    const size_t n = rank();
    int64_t stride = 1;
    if (at < n) static_cast<void>(multiply(strides[at], sizes[at] == 0 ? 1 : sizes[at], stride));
    sizes.push_back(1);
    strides.push_back(stride);
    dim_order.push_back(static_cast<DimOrderType>(at));
    TENON_TRY(check());
    for (size_t d = n; d > at; --d) {
      std::swap(sizes[d], sizes[d - 1]);
      std::swap(strides[d], strides[d - 1]);
    }
    size_t place = n;
    for (size_t i = n; i-- > 0;) {
      if (dim_order[i] < at) continue;
      ++dim_order[i];
      place = i;
    }
    for (size_t i = n; i > place; --i) std::swap(dim_order[i], dim_order[i - 1]);
    return Error::Ok;
  }

  /// The index that dims[i] is, none twice; `seen` starts as 0.
  Error wrap_once(const Dims& dims, size_t i, uint64_t& seen, size_t& d) const noexcept {
    TENON_TRY(wrap_dim_or_scalar(dims[i], rank(), d));
    if (TENON_UNLIKELY((seen >> d & 1) != 0)) {
      return fail(Error::InvalidArgument, "dimension ", dims[i], " is twice in dims ", dims);
    }
    seen |= uint64_t{1} << d;
    return Error::Ok;
  }

  /// Counts in elements of another size.
  Error rescale(int64_t old_size, int64_t new_size) noexcept {
    if (TENON_UNLIKELY(rank() == 0)) {
      return fail(Error::InvalidArgument, "an element of ", old_size, " bytes does not become ",
                  new_size, " bytes; a tensor of rank 0 has just one");
    }
    const size_t last = rank() - 1;
    // A stride that no step is taken with is free.
    const auto matters = [&](size_t d) { return numel_ != 0 && sizes[d] != 1; };
    if (TENON_UNLIKELY(matters(last) && strides[last] != 1)) {
      return fail(Error::InvalidArgument, "elements of ", old_size, " bytes do not become ",
                  new_size, " bytes: the last dimension has stride ", strides[last],
                  ", expected 1");
    }
    if (TENON_UNLIKELY(sizes[last] * old_size % new_size != 0)) {
      return fail(Error::InvalidArgument, "the last dimension, ", sizes[last], " elements of ",
                  old_size, " bytes, is no multiple of ", new_size, " bytes");
    }
    for (size_t d = 0; d < last; ++d) {
      if (new_size < old_size) {
        static_cast<void>(multiply(strides[d], old_size / new_size, strides[d]));
        continue;
      }
      if (TENON_UNLIKELY(matters(d) && strides[d] % (new_size / old_size) != 0)) {
        return fail(Error::InvalidArgument, "stride ", strides[d], " of dimension ", d,
                    ", in elements of ", old_size, " bytes, is no multiple of ", new_size,
                    " bytes");
      }
      strides[d] /= new_size / old_size;
    }
    sizes[last] = sizes[last] * old_size / new_size;
    strides[last] = 1;
    return Error::Ok;
  }

  const void* data_;
  int64_t numel_;  // the source's
};

}  // namespace detail
TENON_END_NAMESPACE
