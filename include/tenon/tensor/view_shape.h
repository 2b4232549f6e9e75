// SPDX-License-Identifier: MIT
// ViewShape: computes a view's sizes, strides and offset.
#pragma once

#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A view's shape, computed from the source's. Each member function edits it as view.h's function
/// of that name does; call view(), flatten() and as_strided() last. Unusable after an error.
///
/// The source's extent is checked, so offsets between its elements do not overflow. Strides of
/// dimensions of size <= 1 are unspecified: they may have wrapped around; the offset of a view
/// without elements is 0.
class ViewShape {
 public:
  using List = DimArray<int64_t>;
  List sizes;
  List strides;        // in elements of `type`; empty for row-major ones
  List order;          // the dim order; empty for the one that the strides imply
  int64_t offset = 0;  // from the source's element 0; in elements of `type`
  ScalarType type = ScalarType::Undefined;
  Error error = Error::Ok;  // the first one

  explicit ViewShape(const TensorArg& source) noexcept
      : error(check_defined(source, "the source tensor")) {
    if (error == Error::Ok) describe(fields(source));
  }
  explicit ViewShape(const TensorFields& source) noexcept { describe(source); }

  size_t rank() const noexcept { return sizes.size(); }

  Error select(int64_t dim, int64_t index) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank(), d));
    const int64_t size = sizes[d];
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
    TENON_TRY(wrap_dim(dim, rank(), d));
    if (step < 1) {
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
    // This may overflow only if at most one element is left.
    int64_t stride = 0;
    if (multiply(strides[d], step, stride)) strides[d] = stride;
    return Error::Ok;
  }

  Error narrow(int64_t dim, int64_t start, int64_t length) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank(), d));
    if (length < 0) {
      return fail(Error::InvalidArgument, "length ", length, " is negative");
    }
    const int64_t size = sizes[d];
    const int64_t first = start < 0 ? start + size : start;
    if (first < 0 || first > size || length > size - first) {
      return fail(Error::OutOfBounds, length, " elements from ", start,
                  " are out of range for dimension ", dim, " of size ", size);
    }
    take(d, first, length);
    return Error::Ok;
  }

  Error transpose() noexcept {
    if (rank() < 2) return Error::Ok;
    if (rank() == 2) return transpose(0, 1);
    return fail(Error::InvalidArgument, "the tensor has ", rank(),
                " dimensions; two have to be named: transpose(t, dim0, dim1)");
  }
  Error transpose(int64_t dim0, int64_t dim1) noexcept {
    size_t a = 0;
    size_t b = 0;
    TENON_TRY(wrap_dim_or_scalar(dim0, rank(), a));
    TENON_TRY(wrap_dim_or_scalar(dim1, rank(), b));
    if (a == b) return Error::Ok;
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    for (int64_t& d : order) {
      const auto old = static_cast<size_t>(d);
      d = static_cast<int64_t>(old == a ? b : old == b ? a : old);
    }
    return Error::Ok;
  }

  Error permute(const Dims& dims) noexcept {
    TENON_TRY(check_dims("dims", dims));
    if (dims.size() != rank()) {
      return fail(Error::InvalidArgument, "dims ", dims, " is not a permutation of the ", rank(),
                  " dimensions");
    }
    const List old_sizes = sizes;
    const List old_strides = strides;
    List places;  // the view's dimension for each of the source's dimensions
    if (old_sizes.size() != rank() || old_strides.size() != rank() ||
        !places.resize_for_overwrite(rank())) {
      return fail_shape_memory();
    }
    uint64_t seen = 0;
    for (size_t i = 0; i < rank(); ++i) {
      size_t d = 0;
      TENON_TRY(wrap_once("dims", dims, i, seen, d));
      sizes[i] = old_sizes[d];
      strides[i] = old_strides[d];
      places[d] = static_cast<int64_t>(i);
    }
    for (int64_t& d : order) d = places[static_cast<size_t>(d)];
    return Error::Ok;
  }

  Error movedim(const Dims& source, const Dims& destination) noexcept {
    TENON_TRY(check_dims("source", source));
    TENON_TRY(check_dims("destination", destination));
    if (source.size() != destination.size()) {
      return fail(Error::InvalidArgument, "source ", source, " and destination ", destination,
                  " differ in length");
    }
    Dims dims;
    if (!dims.resize_for_overwrite(rank())) return fail_shape_memory();
    uint64_t moved = 0;
    uint64_t taken = 0;  // bit d is set if the view's dimension d is taken
    for (size_t i = 0; i < source.size(); ++i) {
      size_t from = 0;
      size_t to = 0;
      TENON_TRY(wrap_once("source", source, i, moved, from));
      TENON_TRY(wrap_once("destination", destination, i, taken, to));
      if (rank() != 0) dims[to] = static_cast<int64_t>(from);
    }
    size_t next = 0;  // the next dimension of those that keep their order
    for (size_t d = 0; d < rank(); ++d) {
      if ((taken >> d & 1) != 0) continue;
      while ((moved >> next & 1) != 0) ++next;
      dims[d] = static_cast<int64_t>(next++);
    }
    return permute(dims);
  }

  Error diagonal(int64_t shift, int64_t dim1, int64_t dim2) noexcept {
    size_t row = 0;
    size_t column = 0;
    TENON_TRY(wrap_dim_or_scalar(dim1, rank(), row));
    TENON_TRY(wrap_dim_or_scalar(dim2, rank(), column));
    if (row == column) {
      return fail(Error::InvalidArgument, "dim1 ", dim1, " and dim2 ", dim2,
                  " are the same dimension; a diagonal needs two");
    }
    const bool is_above = shift >= 0;
    const int64_t height = is_above ? sizes[row] : sizes[row] + shift;
    const int64_t width = is_above ? sizes[column] - shift : sizes[column];
    const int64_t shorter = height < width ? height : width;
    const int64_t length = shorter < 0 ? 0 : shorter;
    if (length != 0 && numel_ != 0) {
      offset += is_above ? shift * strides[column] : -shift * strides[row];
    }
    int64_t stride = 0;
    static_cast<void>(add(strides[row], strides[column], stride));
    remove(row < column ? column : row);
    remove(row < column ? row : column);
    const bool is_made = sizes.insert(rank(), length) && strides.insert(strides.size(), stride) &&
                         order.resize_for_overwrite(0);
    return is_made ? Error::Ok : fail_shape_memory();
  }

  Error squeeze() noexcept {
    for (size_t d = rank(); d-- > 0;) {
      if (sizes[d] == 1) remove(d);
    }
    return Error::Ok;
  }
  Error squeeze(int64_t dim) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim_or_scalar(dim, rank(), d));
    if (d < rank() && sizes[d] == 1) remove(d);
    return Error::Ok;
  }

  Error unsqueeze(int64_t dim) noexcept {
    size_t d = 0;
    TENON_TRY(wrap_dim(dim, rank() + 1, d, "view"));
    return insert(d);
  }

  Error expand(const Dims& wanted) noexcept {
    TENON_TRY(check_dims("sizes", wanted));
    if (wanted.size() < rank()) {
      return fail(Error::InvalidArgument, "sizes ", wanted, " have fewer dimensions than the ",
                  rank(), " of the tensor");
    }
    const size_t added = wanted.size() - rank();
    while (rank() < wanted.size()) TENON_TRY(insert(0));
    for (size_t d = 0; d < rank(); ++d) {
      if (wanted[d] == sizes[d] || (wanted[d] == -1 && d >= added)) continue;
      if (wanted[d] < 0) {
        return fail(Error::InvalidArgument, "size ", wanted[d], " of dimension ", d,
                    " is negative in sizes ", wanted,
                    d < added && wanted[d] == -1 ? ", and there is no old size to keep" : "");
      }
      if (sizes[d] != 1) {
        return fail(Error::InvalidArgument, "dimension ", d, " of size ", sizes[d],
                    " cannot become ", wanted[d], "; only size 1 can");
      }
      sizes[d] = wanted[d];
      strides[d] = 0;
    }
    return Error::Ok;
  }

  Error flip(const Dims& flipped) noexcept {
    TENON_TRY(check_dims("dims", flipped));
    uint64_t seen = 0;
    for (size_t i = 0; i < flipped.size(); ++i) {
      size_t d = 0;
      TENON_TRY(wrap_once("dims", flipped, i, seen, d));
      if (numel_ == 0 || rank() == 0 || sizes[d] == 1) continue;
      offset += (sizes[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
    return Error::Ok;
  }

  Error view() const noexcept { return error; }
  /// If no view can have the sizes and `needs_copy` is null, fails. If it is not null, sets
  /// `*needs_copy`, and the sizes of a row-major copy, instead.
  Error view(const Dims& wanted, bool* needs_copy = nullptr) noexcept {
    Dims made = wanted;
    TENON_TRY(check_dims("sizes", made));
    TENON_TRY(infer_size(made, numel_, elementSize(type)));
    if (ArrayRef<int64_t>(made) == ArrayRef<int64_t>(sizes)) return Error::Ok;
    List steps;
    const Error found = numel_ == 0 ? Error::Ok : restride(made, steps);
    if (found != Error::NotSupported) return found == Error::Ok ? set(made, steps) : found;
    if (needs_copy == nullptr) {
      return fail(Error::NotSupported, "sizes ", made, " of a tensor of sizes ", sizes,
                  " and strides ", strides, " need a copy; reshape() makes one");
    }
    *needs_copy = true;
    return set(made, {});
  }

  Error flatten(int64_t start_dim, int64_t end_dim, bool* needs_copy) noexcept {
    size_t first = 0;
    size_t last = 0;
    TENON_TRY(wrap_dim_or_scalar(start_dim, rank(), first));
    TENON_TRY(wrap_dim_or_scalar(end_dim, rank(), last));
    if (first > last) {
      return fail(Error::InvalidArgument, "start_dim ", start_dim, " comes after end_dim ", end_dim,
                  " in a tensor of ", rank(), " dimensions");
    }
    if (rank() == 0) return insert(0);
    Dims flat;
    if (!flat.resize_for_overwrite(rank() - (last - first))) return fail_shape_memory();
    for (size_t d = 0; d < rank(); ++d) {
      if (d > first && d <= last) {
        flat[first] *= sizes[d];
      } else {
        flat[d <= first ? d : d - (last - first)] = sizes[d];
      }
    }
    return view(flat, needs_copy);
  }

  Error as_strided(const Dims& new_sizes, const Dims& new_strides,
                   int64_t storage_offset) noexcept {
    TENON_TRY(check_dims("sizes", new_sizes));
    TENON_TRY(check_dims("strides", new_strides));
    if (new_sizes.size() != new_strides.size()) {
      return fail(Error::InvalidArgument, "strides ", new_strides, " and sizes ", new_sizes,
                  " differ in length");
    }
    offset = storage_offset;
    return set(new_sizes, new_strides);
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
  void describe(const TensorFields& source) noexcept {
    const Layout& layout = source.layout;
    type = source.type;
    data_ = source.data;
    numel_ = layout.numel;
    error = set(layout.sizes(), layout.strides());
    for (const DimOrderType d : layout.dim_order()) order.push_back(d);
    if (error == Error::Ok && order.error() != Error::Ok) error = fail_shape_memory();
  }

  /// Sets other dimensions, without a dim order.
  Error set(ArrayRef<int64_t> new_sizes, ArrayRef<int64_t> new_strides) noexcept {
    const bool is_made =
        sizes.assign(new_sizes) && strides.assign(new_strides) && order.resize_for_overwrite(0);
    return is_made ? Error::Ok : fail_shape_memory();
  }

  /// Keeps `count` elements of dimension d, from `start` on.
  void take(size_t d, int64_t start, int64_t count) noexcept {
    if (count != 0 && numel_ != 0) offset += start * strides[d];
    sizes[d] = count;
  }

  void remove(size_t removed) noexcept {
    const auto number = static_cast<int64_t>(removed);
    sizes.erase(removed);
    strides.erase(removed);
    size_t place = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] == number) place = i;
      if (order[i] > number) --order[i];
    }
    order.erase(place);
  }

  /// Inserts a dimension of size 1. Its stride is the extent of the following dimensions, as in
  /// ATen; dim_order_from_strides() defines its place in the dim order.
  Error insert(size_t at) noexcept {
    if (rank() == kMaxDims) {
      return fail(Error::InvalidArgument, "sizes has more than ", kMaxDims, " entries");
    }
    int64_t stride = 1;
    if (at < rank()) {
      static_cast<void>(multiply(strides[at], sizes[at] == 0 ? 1 : sizes[at], stride));
    }
    const auto number = static_cast<int64_t>(at);
    size_t place = order.size();
    for (size_t i = order.size(); i-- > 0;) {
      if (order[i] < number) continue;
      ++order[i];
      place = i;
    }
    const bool is_made =
        sizes.insert(at, 1) && strides.insert(at, stride) && order.insert(place, number);
    return is_made ? Error::Ok : fail_shape_memory();
  }

  /// list[i] as an index that must not occur twice; `seen` starts as 0.
  Error wrap_once(const char* name, const Dims& list, size_t i, uint64_t& seen,
                  size_t& d) const noexcept {
    TENON_TRY(wrap_dim_or_scalar(list[i], rank(), d));
    if ((seen >> d & 1) != 0) {
      return fail(Error::InvalidArgument, "dimension ", list[i], " is twice in ", name, ' ', list);
    }
    seen |= uint64_t{1} << d;
    return Error::Ok;
  }

  /// Computes strides for the sizes `wanted`, with the same nonzero element count and order.
  ///
  /// Consecutive dimensions that step through memory evenly, as a single one would, make a run. A
  /// wanted dimension may be a part of a run, but must not span two runs. So, with the longest
  /// possible runs, there are such strides exactly if each wanted dimension, from the innermost on,
  /// divides what is left of its run.
  /// Errors: NotSupported, without a text, if there are no such strides.
  /// Source: at::detail::computeStride.
  Error restride(const Dims& wanted, List& made) const noexcept {
    if (!made.resize_for_overwrite(wanted.size())) return fail_shape_memory();
    size_t left = rank();  // dimensions not in a run yet
    int64_t room = 1;      // elements of the run not covered by wanted dimensions
    int64_t stride = 1;    // the stride of these elements
    const auto next_run = [&] {
      while (left > 0 && sizes[left - 1] == 1) --left;
      if (left == 0) return;
      --left;
      room = sizes[left];
      stride = strides[left];
      int64_t span = 0;
      while (left > 0 && (sizes[left - 1] == 1 ||
                          (multiply(room, stride, span) && strides[left - 1] == span))) {
        room *= sizes[--left];
      }
    };
    next_run();
    for (size_t d = wanted.size(); d-- > 0;) {
      if (room == 1 && wanted[d] != 1) next_run();
      if (room % wanted[d] != 0) return Error::NotSupported;
      made[d] = stride;
      room /= wanted[d];
      // This may overflow once the run is used up; then only dimensions of size 1 have this stride.
      static_cast<void>(multiply(stride, wanted[d], stride));
    }
    return Error::Ok;
  }

  /// Converts sizes and strides to elements of `new_size` bytes.
  Error rescale(int64_t old_size, int64_t new_size) noexcept {
    if (rank() == 0) {
      return fail(Error::InvalidArgument, "an element of ", old_size,
                  " bytes cannot be viewed as elements of ", new_size,
                  " bytes; a tensor of rank 0 has just one element");
    }
    const size_t last = rank() - 1;
    // An unused stride is unspecified.
    const auto matters = [&](size_t d) { return numel_ != 0 && sizes[d] != 1; };
    if (matters(last) && strides[last] != 1) {
      return fail(Error::InvalidArgument, "elements of ", old_size,
                  " bytes cannot be viewed as elements of ", new_size,
                  " bytes: the last dimension has stride ", strides[last], ", expected 1");
    }
    if (sizes[last] * old_size % new_size != 0) {
      return fail(Error::InvalidArgument, "the last dimension, ", sizes[last], " elements of ",
                  old_size, " bytes, is not a multiple of ", new_size, " bytes");
    }
    for (size_t d = 0; d < last; ++d) {
      int64_t& stride = strides[d];
      if (new_size < old_size) {
        static_cast<void>(multiply(stride, old_size / new_size, stride));
        continue;
      }
      if (matters(d) && stride % (new_size / old_size) != 0) {
        return fail(Error::InvalidArgument, "stride ", stride, " of dimension ", d,
                    ", in elements of ", old_size, " bytes, is not a multiple of ", new_size,
                    " bytes");
      }
      stride /= new_size / old_size;
    }
    sizes[last] = sizes[last] * old_size / new_size;
    strides[last] = 1;
    return Error::Ok;
  }

  const void* data_ = nullptr;  // the source's data
  int64_t numel_ = 0;
};

}  // namespace detail
TENON_END_NAMESPACE
