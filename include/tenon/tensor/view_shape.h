// SPDX-License-Identifier: MIT
// ViewShape: computes a view's sizes, strides and offset.
#pragma once

#include "tenon/tensor/accessor.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// `dim` as an index, a negative one counted from the end. `kind` is what has `rank` dimensions.
inline Error wrap_dim(int64_t dim, size_t rank, size_t& d, const char* kind = "tensor") noexcept {
  const auto n = static_cast<int64_t>(rank);
  if (dim < -n || dim >= n) {
    return fail(Error::OutOfBounds, "dimension ", dim, " is out of range for a ", kind, " of ",
                rank, " dimensions");
  }
  d = static_cast<size_t>(dim < 0 ? dim + n : dim);
  return Error::Ok;
}

/// wrap_dim() where, as in ATen, a tensor of rank 0 may pass for one of rank 1.
inline Error wrap_dim_or_scalar(int64_t dim, size_t rank, size_t& d) noexcept {
  const bool is_scalar = rank == 0 && (dim == 0 || dim == -1);
  return wrap_dim(dim, is_scalar ? 1 : rank, d);
}

/// Replaces the -1 in `sizes`, if there is one, by the size that makes them hold `numel` elements.
/// Errors: InvalidArgument when they cannot or could in several ways, or hold another number.
inline Error infer_size(Dims& sizes, int64_t numel, size_t element_size) noexcept {
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
    return fail(Error::InvalidArgument, "sizes ", sizes,
                " have more than one dimension to be inferred");
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

/// A view's shape in the making: the source's at first, which each member function edits as the
/// function of the same name in view.h does. After an error it must not be used.
///
/// The source's extent has been checked, so nothing overflows that leads from one of its elements
/// to another. A stride that leads to no element may have any value, and does get one when it
/// overflows; the offset of a view without elements is 0.
class ViewShape {
 public:
  struct Dim {
    int64_t size;
    int64_t stride;  // in elements of `type`
    size_t order;    // its place in the dim order
  };
  DimArray<Dim> dims;
  size_t rank;
  bool has_strides = true;  // else they are row-major
  bool has_order = true;    // else the strides imply it, as they do where it does not nest them
  int64_t offset = 0;       // from the source's element 0, in elements of `type`
  ScalarType type;

  explicit ViewShape(const TensorFields& source) noexcept
      : rank(source.layout.rank()),
        type(source.type),
        data_(source.data),
        numel_(source.layout.numel) {
    const Layout& layout = source.layout;
    if (!dims.resize_for_overwrite(rank)) return;
    for (size_t d = 0; d < rank; ++d) {
      dims[d].size = layout.sizes()[d];
      dims[d].stride = layout.strides()[d];
      dims[layout.dim_order()[d]].order = d;
    }
  }

  /// OutOfMemory if the dimensions could not be stored.
  Error check() const noexcept {
    return dims.error() == Error::Ok ? Error::Ok : fail_shape_memory();
  }

  /// All sizes, or all strides.
  Dims list(int64_t Dim::*member) const noexcept {
    Dims out;
    for (size_t d = 0; d < rank; ++d) out.push_back(dims[d].*member);
    return out;
  }

  Error select(int64_t dim, int64_t index) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank, d));
    const int64_t size = dims[d].size;
    if (index < -size || index >= size) {
      return fail(Error::OutOfBounds, "index ", index, " is out of range for dimension ", dim,
                  " of size ", size);
    }
    take(d, index < 0 ? index + size : index, 1);
    remove(d);
    return Error::Ok;
  }

  Error slice(int64_t dim, int64_t start, int64_t end, int64_t step) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank, d));
    if (step < 1) {
      return fail(Error::InvalidArgument, "step ", step,
                  " is not positive; flip() reverses a dimension");
    }
    const auto clamp = [size = dims[d].size](int64_t i) {
      if (i < 0) i += size;
      return i < 0 ? 0 : i > size ? size : i;
    };
    start = clamp(start);
    end = clamp(end);
    take(d, start, end > start ? (end - start - 1) / step + 1 : 0);
    // A step that overflows leads nowhere: one element at most is left.
    int64_t stride = 0;
    if (multiply(dims[d].stride, step, stride)) dims[d].stride = stride;
    return Error::Ok;
  }

  Error narrow(int64_t dim, int64_t start, int64_t length) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank, d));
    if (length < 0) {
      return fail(Error::InvalidArgument, "length ", length, " is negative");
    }
    const int64_t size = dims[d].size;
    const int64_t first = start < 0 ? start + size : start;
    if (first < 0 || first > size || length > size - first) {
      return fail(Error::OutOfBounds, length, " elements from ", start,
                  " are out of range for dimension ", dim, " of size ", size);
    }
    take(d, first, length);
    return Error::Ok;
  }

  Error transpose(int64_t dim0, int64_t dim1) noexcept {
    size_t a = 0;
    size_t b = 0;
    TENON_TRY(wrap_dim_or_scalar(dim0, rank, a));
    TENON_TRY(wrap_dim_or_scalar(dim1, rank, b));
    if (a != b) std::swap(dims[a], dims[b]);
    return Error::Ok;
  }

  Error permute(const Dims& order) noexcept {
    TENON_TRY(check_dims("dims", order));
    if (order.size() != rank) {
      return fail(Error::InvalidArgument, "dims ", order, " are not the ", rank,
                  " dimensions of the tensor");
    }
    DimArray<Dim> old;
    if (!old.resize_for_overwrite(rank)) return fail_shape_memory();
    for (size_t d = 0; d < rank; ++d) old[d] = dims[d];
    uint64_t seen = 0;
    for (size_t i = 0; i < rank; ++i) {
      size_t d = 0;
      TENON_TRY(wrap_once(order, i, seen, d));
      dims[i] = old[d];
    }
    return Error::Ok;
  }

  Error squeeze() noexcept {
    for (size_t d = rank; d-- > 0;) {
      if (dims[d].size == 1) remove(d);
    }
    return Error::Ok;
  }
  Error squeeze(int64_t dim) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim_or_scalar(dim, rank, d));
    if (d < rank && dims[d].size == 1) remove(d);
    return Error::Ok;
  }

  Error unsqueeze(int64_t dim) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank + 1, d, "view"));
    return insert(d);
  }

  Error expand(const Dims& wanted) noexcept {
    TENON_TRY(check_dims("sizes", wanted));
    if (wanted.size() < rank) {
      return fail(Error::InvalidArgument, "sizes ", wanted, " have fewer dimensions than the ",
                  rank, " of the tensor");
    }
    const size_t added = wanted.size() - rank;
    while (rank < wanted.size()) TENON_TRY(insert(0));
    for (size_t d = 0; d < rank; ++d) {
      Dim& dim = dims[d];
      if (wanted[d] == dim.size || (wanted[d] == -1 && d >= added)) continue;
      if (wanted[d] < 0) {
        return fail(Error::InvalidArgument, "size ", wanted[d], " of dimension ", d,
                    " is negative in sizes ", wanted,
                    d < added && wanted[d] == -1 ? ", and there is no old size to keep" : "");
      }
      if (dim.size != 1) {
        return fail(Error::InvalidArgument, "dimension ", d, " of size ", dim.size,
                    " cannot become ", wanted[d], "; only size 1 can");
      }
      dim.size = wanted[d];
      dim.stride = 0;
    }
    return Error::Ok;
  }

  Error flip(const Dims& flipped) noexcept {
    TENON_TRY(check_dims("dims", flipped));
    uint64_t seen = 0;
    for (size_t i = 0; i < flipped.size(); ++i) {
      size_t d = 0;
      TENON_TRY(wrap_once(flipped, i, seen, d));
      if (numel_ == 0 || rank == 0 || dims[d].size == 1) continue;
      offset += (dims[d].size - 1) * dims[d].stride;
      dims[d].stride = -dims[d].stride;
    }
    return Error::Ok;
  }

  Error view(const Dims& wanted) noexcept {
    Dims sizes = wanted;
    TENON_TRY(check_dims("sizes", sizes));
    TENON_TRY(infer_size(sizes, numel_, elementSize(type)));
    bool is_same = sizes.size() == rank;
    for (size_t d = 0; is_same && d < rank; ++d) is_same = sizes[d] == dims[d].size;
    if (is_same) return Error::Ok;
    DimArray<int64_t> strides;
    if (!strides.resize_for_overwrite(sizes.size())) return fail_shape_memory();
    has_strides = numel_ != 0;
    if (has_strides) TENON_TRY(restride(sizes, strides.data()));
    return set(sizes, has_strides ? strides.data() : sizes.data());
  }

  Error flatten(int64_t start_dim, int64_t end_dim) noexcept {
    size_t first = 0;
    size_t last = 0;
    TENON_TRY(wrap_dim_or_scalar(start_dim, rank, first));
    TENON_TRY(wrap_dim_or_scalar(end_dim, rank, last));
    if (first > last) {
      return fail(Error::InvalidArgument, "start_dim ", start_dim, " comes after end_dim ", end_dim,
                  " in a tensor of ", rank, " dimensions");
    }
    if (rank == 0) return insert(0);
    DimArray<int64_t> flat;
    if (!flat.resize_for_overwrite(rank)) return fail_shape_memory();
    size_t n = 0;
    for (size_t d = 0; d < rank; ++d) {
      if (d > first && d <= last) {
        flat[first] *= dims[d].size;
      } else {
        flat[n++] = dims[d].size;
      }
    }
    return view(Dims(flat.data(), flat.data() + n));
  }

  Error as_strided(const Dims& sizes, const Dims& strides, int64_t storage_offset) noexcept {
    TENON_TRY(check_dims("sizes", sizes));
    TENON_TRY(check_dims("strides", strides));
    if (sizes.size() != strides.size()) {
      return fail(Error::InvalidArgument, "strides ", strides, " and sizes ", sizes,
                  " differ in length");
    }
    offset = storage_offset;
    return set(sizes, strides.data());
  }

  Error view_as_type(ScalarType new_type) noexcept {
    TENON_TRY(check_type(new_type));
    const auto old_size = static_cast<int64_t>(elementSize(type));
    const auto new_size = static_cast<int64_t>(elementSize(new_type));
    if (old_size != new_size) TENON_TRY(rescale(old_size, new_size));
    if (numel_ != 0) TENON_TRY(check_aligned(data_, new_type));
    type = new_type;
    return Error::Ok;
  }

 private:
  /// Other dimensions, without a dim order.
  Error set(const Dims& sizes, const int64_t* strides) noexcept {
    rank = sizes.size();
    if (!dims.resize_for_overwrite(rank)) return fail_shape_memory();
    for (size_t d = 0; d < rank; ++d) dims[d] = {sizes[d], strides[d], d};
    has_order = false;
    return Error::Ok;
  }

  /// Leaves `count` elements of dimension d, from `start` on.
  void take(size_t d, int64_t start, int64_t count) noexcept {
    if (count != 0 && numel_ != 0) offset += start * dims[d].stride;
    dims[d].size = count;
  }

  void remove(size_t removed) noexcept {
    const size_t order = dims[removed].order;
    --rank;
    for (size_t d = removed; d < rank; ++d) dims[d] = dims[d + 1];
    for (size_t d = 0; d < rank; ++d) dims[d].order -= dims[d].order > order ? 1u : 0u;
  }

  /// Inserts a dimension of size 1. Its stride is ATen's, that of a dimension which steps over all
  /// that follow; its place in the dim order is the one that dim_order_from_strides() gives it.
  Error insert(size_t at) noexcept {
    if (rank == kMaxDims) {
      return fail(Error::InvalidArgument, "sizes has more than ", kMaxDims, " entries");
    }
    if (!dims.resize_for_overwrite(rank + 1)) return fail_shape_memory();
    Dim made{1, 1, rank};
    if (at < rank) {
      const Dim& next = dims[at];
      static_cast<void>(multiply(next.stride, next.size == 0 ? 1 : next.size, made.stride));
    }
    for (size_t d = at; d < rank; ++d) {
      if (dims[d].order < made.order) made.order = dims[d].order;
    }
    for (size_t d = 0; d < rank; ++d) dims[d].order += dims[d].order >= made.order ? 1u : 0u;
    for (size_t d = rank; d > at; --d) dims[d] = dims[d - 1];
    dims[at] = made;
    ++rank;
    return Error::Ok;
  }

  /// list[i] as an index, which must not occur twice; `seen` starts as 0.
  Error wrap_once(const Dims& list, size_t i, uint64_t& seen, size_t& d) const noexcept {
    TENON_TRY(wrap_dim_or_scalar(list[i], rank, d));
    if ((seen >> d & 1) != 0) {
      return fail(Error::InvalidArgument, "dimension ", list[i], " is twice in dims ", list);
    }
    seen |= uint64_t{1} << d;
    return Error::Ok;
  }

  /// Finds strides with which `wanted`, of as many elements, not 0, has them in the same order.
  ///
  /// Consecutive dimensions that step through memory evenly, as a single one would, make a run. A
  /// wanted dimension may divide a run but not span two, so with the longest possible runs there
  /// are such strides exactly when each wanted dimension, from the innermost on, divides what is
  /// left.
  /// Errors: NotSupported when there are none.
  /// Source: at::detail::computeStride.
  Error restride(const Dims& wanted, int64_t* strides) const noexcept {
    size_t left = rank;  // dimensions that are in no run yet
    int64_t room = 1;    // elements of the run that the wanted dimensions do not count yet
    int64_t stride = 1;  // between those
    const auto next_run = [&] {
      while (left > 0 && dims[left - 1].size == 1) --left;
      if (left == 0) return;
      --left;
      room = dims[left].size;
      stride = dims[left].stride;
      int64_t span = 0;
      while (left > 0 && (dims[left - 1].size == 1 ||
                          (multiply(room, stride, span) && dims[left - 1].stride == span))) {
        room *= dims[--left].size;
      }
    };
    next_run();
    for (size_t d = wanted.size(); d-- > 0;) {
      if (room == 1 && wanted[d] != 1) next_run();
      if (room % wanted[d] != 0) {
        return fail(Error::NotSupported, "sizes ", wanted, " of a tensor of sizes ",
                    list(&Dim::size), " and strides ", list(&Dim::stride),
                    " need a copy; contiguous() makes one");
      }
      strides[d] = stride;
      room /= wanted[d];
      // May overflow once the run is used up: then only dimensions of size 1 have this stride.
      static_cast<void>(multiply(stride, wanted[d], stride));
    }
    return Error::Ok;
  }

  /// Counts in elements of another size.
  Error rescale(int64_t old_size, int64_t new_size) noexcept {
    if (rank == 0) {
      return fail(Error::InvalidArgument, "an element of ", old_size, " bytes does not become ",
                  new_size, " bytes; a tensor of rank 0 has just one");
    }
    Dim& last = dims[rank - 1];
    // A stride that no step is taken with is free.
    const auto matters = [&](const Dim& dim) { return numel_ != 0 && dim.size != 1; };
    if (matters(last) && last.stride != 1) {
      return fail(Error::InvalidArgument, "elements of ", old_size, " bytes do not become ",
                  new_size, " bytes: the last dimension has stride ", last.stride, ", expected 1");
    }
    if (last.size * old_size % new_size != 0) {
      return fail(Error::InvalidArgument, "the last dimension, ", last.size, " elements of ",
                  old_size, " bytes, is no multiple of ", new_size, " bytes");
    }
    for (size_t d = 0; d + 1 < rank; ++d) {
      int64_t& stride = dims[d].stride;
      if (new_size < old_size) {
        static_cast<void>(multiply(stride, old_size / new_size, stride));
        continue;
      }
      if (matters(dims[d]) && stride % (new_size / old_size) != 0) {
        return fail(Error::InvalidArgument, "stride ", stride, " of dimension ", d,
                    ", in elements of ", old_size, " bytes, is no multiple of ", new_size,
                    " bytes");
      }
      stride /= new_size / old_size;
    }
    last.size = last.size * old_size / new_size;
    last.stride = 1;
    return Error::Ok;
  }

  const void* data_;
  int64_t numel_;  // the source's
};

}  // namespace detail
TENON_END_NAMESPACE
