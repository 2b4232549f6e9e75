// SPDX-License-Identifier: MIT
// Views: other sizes, strides and types over the memory of a tensor; split, chunk and unbind.
//
// For all of them:
//
// Nothing is copied. One allocation holds the metadata: in the memory of the backend that keeps the
// source's metadata, else of the thread's default backend if that keeps metadata, as an arena does,
// else on the heap. More dimensions than TENON_INLINE_DIMS take another heap block. A view keeps
// the source's memory alive, but not the views between itself and the tensor that owns the memory.
// It counts as a borrow: while it lives, the source cannot grow. A view of a handle over a raw
// TensorImpl* keeps nothing alive. A view has the source's device, read-only flag and dynamism, but
// never grows, and rank 0 is STATIC. The view of a placeholder is a placeholder. A negative
// dimension counts from the end. The dim order is the source's, renumbered, if the strides still
// nest in it, else the one that the strides imply. Each function has a try_ form, which returns a
// Result.
// Errors: InvalidState for an undefined tensor, OutOfBounds for a dimension that the tensor does
// not have, InvalidArgument for a list or a view of more than 64 dimensions, OutOfMemory.
#pragma once

#include <utility>
#include <vector>

#include "tenon/tensor/make.h"
#include "tenon/tensor/view_shape.h"

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_TEMPLATE_INLINE Error make_shaped_view(const TensorArg& source, const ViewShape& shape,
                                             NewView& new_tensor) noexcept {
  const SourceGuard kept(source, asks_for_metadata(source));
  TENON_TRY(make_impl(new_tensor, metadata_backend_like(kept.arg)));
  ImplFields& made = fields(new_tensor);
  TENON_TRY(make_layout({shape.sizes, shape.strides, shape.order, true}, elementSize(shape.type),
                        made.layout));
  return attach_view(kept.arg, shape.type, shape.offset, made);
}

/// Returns the view of `source` with the shape, or the shape's error.
template <class Out>
Out view_of_shape(const char* function, const TensorArg& source, const ViewShape& shape) {
  NewView new_tensor;
  Error error = shape.error;
  if (error == Error::Ok) error = make_shaped_view(source, shape, new_tensor);
  return return_to_user<Out>(function, error, new_tensor);
}

}  // namespace detail

// Defines a view of `t` and its try_ form by a call that edits the ViewShape. These are functions,
// not objects like the creators: users' variables named `view` or `slice` would shadow objects.
#define TENON_VIEW(name, parameters, edit)                                \
  TENON_TEMPLATE_INLINE Tensor name parameters {                          \
    detail::ViewShape shape(t);                                           \
    if (shape.error == Error::Ok) shape.error = shape.edit;               \
    return detail::view_of_shape<Tensor>(#name, t, shape);                \
  }                                                                       \
  TENON_TEMPLATE_INLINE Result<Tensor> try_##name parameters {            \
    detail::ViewShape shape(t);                                           \
    if (shape.error == Error::Ok) shape.error = shape.edit;               \
    return detail::view_of_shape<Result<Tensor>>("try_" #name, t, shape); \
  }

/// A view of the elements in their order, with other sizes. One size may be -1, which is then
/// computed.
///
/// Never copies. Without sizes, makes a view of the whole tensor, which shares only the elements;
/// share() shares the shape too.
/// Errors: InvalidArgument (another element count; a -1 for which no size or several sizes fit; a
/// negative size), NotSupported if the strides do not allow a view with these sizes: reshape() then
/// copies.
/// Source: at::Tensor::view, at::alias.
TENON_VIEW(view, (ConstTensorArg t, const Dims& sizes), view(sizes))
TENON_VIEW(view, (ConstTensorArg t), view())

/// The elements at `index` of a dimension, without that dimension. A negative index counts from the
/// end.
///
/// Errors: OutOfBounds for an index that the dimension does not have.
/// Source: at::select.
TENON_VIEW(select, (ConstTensorArg t, int64_t dim, int64_t index), select(dim, index))

/// Every step-th element of a dimension in [start, end); `none` stands for the first index as
/// `start`, and for the size as `end`. Negative indices count from the end; a range beyond the size
/// is clamped.
///
/// Errors: InvalidArgument unless step >= 1.
/// Source: at::slice.
TENON_VIEW(slice,
           (ConstTensorArg t, int64_t dim, OptionalIndex start = none, OptionalIndex end = none,
            int64_t step = 1),
           slice(dim, start.value_or(0), end.value_or(INT64_MAX), step))

/// `length` elements of a dimension, from `start` on. A negative `start` counts from the end.
///
/// Errors: OutOfBounds unless the range lies within the dimension, InvalidArgument for a negative
/// length.
/// Source: at::narrow.
TENON_VIEW(narrow, (ConstTensorArg t, int64_t dim, int64_t start, int64_t length),
           narrow(dim, start, length))

/// Exchanges two dimensions. Without arguments transposes a matrix, and leaves tensors of rank 0
/// and 1 as they are. As in ATen, a tensor of rank 0 counts as rank 1 here, and in movedim(),
/// squeeze(), flatten() and flip().
///
/// Errors: InvalidArgument for a rank above 2, if no dimensions are given.
/// Source: at::transpose and at::t, whose name `t` many variables have.
TENON_VIEW(transpose, (ConstTensorArg t, int64_t dim0, int64_t dim1), transpose(dim0, dim1))
TENON_VIEW(transpose, (ConstTensorArg t), transpose())

/// Dimension i of the view is dimension dims[i] of the tensor.
///
/// Errors: InvalidArgument unless each dimension is in `dims` once.
/// Source: at::permute.
TENON_VIEW(permute, (ConstTensorArg t, const detail::DimOrderArg& dims), permute(dims))

/// Dimension source[i] of the tensor becomes dimension destination[i] of the view. The others keep
/// their order.
///
/// Errors: InvalidArgument for lists of different length, and for a dimension that occurs twice in
/// a list.
/// Source: at::movedim, numpy.moveaxis.
TENON_VIEW(movedim, (ConstTensorArg t, const Dims& source, const Dims& destination),
           movedim(source, destination))
TENON_VIEW(movedim, (ConstTensorArg t, int64_t source, int64_t destination),
           movedim({source}, {destination}))

/// The elements whose index in dim2 equals their index in dim1 plus `offset`. In the view, one
/// dimension at the end replaces these two; its size is 0 if there are no such elements.
///
/// Errors: InvalidArgument if dim1 and dim2 are the same dimension.
/// Source: at::diagonal; numpy.diagonal, whose result is read-only.
TENON_VIEW(diagonal, (ConstTensorArg t, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1),
           diagonal(offset, dim1, dim2))

/// Removes the dimensions of size 1; with `dim`, only that dimension, if its size is 1.
///
/// Source: at::squeeze.
TENON_VIEW(squeeze, (ConstTensorArg t), squeeze())
TENON_VIEW(squeeze, (ConstTensorArg t, int64_t dim), squeeze(dim))

/// Adds a dimension of size 1: the view's dimension `dim`.
///
/// Source: at::unsqueeze.
TENON_VIEW(unsqueeze, (ConstTensorArg t, int64_t dim), unsqueeze(dim))

/// Repeats dimensions of size 1 to the given sizes without copying: their stride becomes 0. A -1
/// keeps a size. New dimensions may be added on the left.
///
/// Errors: InvalidArgument (fewer dimensions; another size for a dimension that is not of size 1; a
/// negative size; -1 for a new dimension).
/// Source: at::Tensor::expand.
TENON_VIEW(expand, (ConstTensorArg t, const Dims& sizes), expand(sizes))

/// Reverses the order of the elements along the dimensions, by negative strides: the last element
/// becomes element 0.
///
/// Errors: InvalidArgument for a dimension that is given twice.
/// Source: at::flip, which copies since ATen's strides cannot be negative; numpy.flip.
TENON_VIEW(flip, (ConstTensorArg t, const Dims& dims), flip(dims))

/// A view with any sizes and strides, which may be zero or negative. Its element 0 is
/// `storage_offset` elements after the tensor's element 0. If all lists are empty, the view has
/// rank 0.
///
/// Errors: OutOfBounds if the view would reach beyond the tensor's own elements, InvalidArgument
/// (lists of different length; a negative size; an overflow).
/// Source: at::as_strided, whose offset counts from the start of the storage, and whose views may
/// reach all of the storage.
TENON_VIEW(as_strided,
           (ConstTensorArg t, const Dims& sizes, const detail::StridesArg& strides,
            int64_t storage_offset = 0),
           as_strided(sizes, strides, storage_offset))

/// A view of the elements' bytes as elements of `type`.
///
/// If elements of both types have the same size, sizes and strides stay. Otherwise the last
/// dimension must be contiguous: its size is multiplied by the ratio of the element sizes.
/// Errors: InvalidType for Undefined, InvalidArgument (element sizes that differ, if the rank is 0
/// or the last dimension's stride is not 1; a last dimension or a stride that is not a multiple of
/// the larger element; data that is not aligned for the type).
/// Source: at::Tensor::view(dtype), numpy.ndarray.view.
TENON_VIEW(view_as_type, (ConstTensorArg t, ScalarType type), view_as_type(detail::own_type(type)))

#undef TENON_VIEW

namespace detail {

/// The parts of a dimension.
struct Cut {
  int64_t count;
  int64_t length;  // of each part but the last; -1 for unbind()
};
/// Computes the cut of a dimension of `size` from the size or count that was `asked` for.
using CutFunction = Error (*)(int64_t size, int64_t asked, Cut& cut) noexcept;

TENON_TEMPLATE_INLINE Error cut_by_length(int64_t size, int64_t length, Cut& cut) noexcept {
  if (length < 0 || (length == 0 && size != 0)) {
    return fail(Error::InvalidArgument, "parts of size ", length,
                " cannot make a dimension of size ", size);
  }
  cut = {size == 0 ? 1 : (size - 1) / length + 1, length};
  return Error::Ok;
}
TENON_TEMPLATE_INLINE Error cut_by_count(int64_t size, int64_t count, Cut& cut) noexcept {
  if (count < 1) {
    return fail(Error::InvalidArgument, count, " chunks were asked for; expected at least 1");
  }
  cut = {count, 0};
  return size == 0 ? Error::Ok : cut_by_length(size, (size - 1) / count + 1, cut);
}
TENON_TEMPLATE_INLINE Error cut_by_index(int64_t size, int64_t, Cut& cut) noexcept {
  cut = {size, -1};
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error make_parts(const TensorArg& source, int64_t dim, CutFunction plan,
                                       int64_t asked, std::vector<Tensor>& parts) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const SourceGuard kept(source, asks_for_metadata(source));
  const TensorFields& from = fields(kept.arg);
  size_t d = 0;
  TENON_TRY(wrap_dim(dim, from.layout.rank(), d));
  const int64_t size = from.layout.sizes()[d];
  Cut cut{};
  TENON_TRY(plan(size, asked, cut));
  const bool is_possible = static_cast<uint64_t>(cut.count) <= parts.max_size();
  if (!is_possible || !has_memory_for([&] { parts.reserve(static_cast<size_t>(cut.count)); })) {
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for ", cut.count, " views");
  }
  for (int64_t i = 0; i < cut.count; ++i) {
    ViewShape shape(from);
    TENON_TRY(shape.error);
    const int64_t left = size - i * cut.length;
    TENON_TRY(cut.length < 0
                  ? shape.select(dim, i)
                  : shape.narrow(dim, i * cut.length, left < cut.length ? left : cut.length));
    NewView new_tensor;
    Tensor part;
    TENON_TRY(make_shaped_view(kept.arg, shape, new_tensor));
    TENON_TRY(make_first_handle(new_tensor, part));
    parts.push_back(std::move(part));
  }
  return Error::Ok;
}

template <class Out>
Out split_views(const char* function, const TensorArg& source, int64_t dim, CutFunction plan,
                int64_t asked) {
  std::vector<Tensor> parts;
  const Error error = make_parts(source, dim, plan, asked, parts);
  return return_to_user<Out>(function, error, std::move(parts));
}

}  // namespace detail

// These return a std::vector of views like those above. Each has a try_ form, which returns a
// Result.

/// Splits a dimension into parts of `size`; the last part may be smaller. A dimension of size 0 is
/// one part.
///
/// Errors: InvalidArgument for a negative size, or for 0 unless the dimension's size is 0.
/// Source: at::split.
TENON_TEMPLATE_INLINE std::vector<Tensor> split(ConstTensorArg t, int64_t size, int64_t dim = 0) {
  return detail::split_views<std::vector<Tensor>>("split", t, dim, &detail::cut_by_length<>, size);
}
TENON_TEMPLATE_INLINE Result<std::vector<Tensor>> try_split(ConstTensorArg t, int64_t size,
                                                            int64_t dim = 0) {
  return detail::split_views<Result<std::vector<Tensor>>>("try_split", t, dim,
                                                          &detail::cut_by_length<>, size);
}

/// Splits a dimension into `chunks` parts or fewer. The size of a part is rounded up: 5 rows make
/// parts of 2, 2 and 1 rows for 3 chunks, and for 4. A dimension of size 0 makes `chunks` parts
/// without elements.
///
/// Errors: InvalidArgument unless chunks >= 1.
/// Source: at::chunk.
TENON_TEMPLATE_INLINE std::vector<Tensor> chunk(ConstTensorArg t, int64_t chunks, int64_t dim = 0) {
  return detail::split_views<std::vector<Tensor>>("chunk", t, dim, &detail::cut_by_count<>, chunks);
}
TENON_TEMPLATE_INLINE Result<std::vector<Tensor>> try_chunk(ConstTensorArg t, int64_t chunks,
                                                            int64_t dim = 0) {
  return detail::split_views<Result<std::vector<Tensor>>>("try_chunk", t, dim,
                                                          &detail::cut_by_count<>, chunks);
}

/// Returns select() for each index of a dimension.
///
/// Source: at::unbind.
TENON_TEMPLATE_INLINE std::vector<Tensor> unbind(ConstTensorArg t, int64_t dim = 0) {
  return detail::split_views<std::vector<Tensor>>("unbind", t, dim, &detail::cut_by_index<>, 0);
}
TENON_TEMPLATE_INLINE Result<std::vector<Tensor>> try_unbind(ConstTensorArg t, int64_t dim = 0) {
  return detail::split_views<Result<std::vector<Tensor>>>("try_unbind", t, dim,
                                                          &detail::cut_by_index<>, 0);
}

TENON_END_NAMESPACE
