// SPDX-License-Identifier: MIT
// Views: other sizes, strides and types over the memory of a tensor.
//
// For all of them:
//
// Nothing is copied. One allocation holds the metadata: in the memory of the backend that keeps the
// source's metadata, else of the backend in scope if it keeps metadata, as an arena does, else on
// the heap. More dimensions than TENON_INLINE_DIMS take more of the heap. A view keeps the source's
// memory alive, not the tensors in between, and is a borrower: while it lives the source cannot
// grow. Over a TensorImpl that the caller keeps there is nothing to keep alive. Device, read-only
// flag and dynamism are the source's, though a view never grows and rank 0 is STATIC; the view of a
// placeholder is a placeholder. A negative dimension counts from the end. The dim order is the
// source's, renumbered, where it still nests the strides, else the one that the strides imply. Each
// has a try_ form, which returns a Result.
// Errors: InvalidState for an undefined tensor, OutOfBounds for a dimension that the tensor does
// not have, InvalidArgument for a list or a view of more than 64 dimensions, OutOfMemory.
#pragma once

#include "tenon/tensor/borrow.h"
#include "tenon/tensor/view_shape.h"

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_TEMPLATE_INLINE Error make_view(const TensorArg& source, const ViewShape& shape,
                                      NewView& draft) noexcept {
  const SourceGuard kept(source, asks_for_metadata(source));
  TENON_TRY(make_impl(draft, metadata_backend_like(kept.arg)));
  ImplFields& made = fields(draft);
  TENON_TRY(make_layout({shape.sizes, shape.strides, shape.order, true}, elementSize(shape.type),
                        made.layout));
  return attach_view(kept.arg, shape.type, shape.offset, made);
}

/// The view of `source` that has the shape, or the shape's error.
template <class Out>
Out view_of_shape(const char* function, const TensorArg& source, const ViewShape& shape) {
  NewView draft;
  Error error = shape.error;
  if (error == Error::Ok) error = make_view(source, shape, draft);
  return return_to_user<Out>(function, error, draft);
}

}  // namespace detail

// A view of `t` and its try_ form, by the call that edits the ViewShape. These are functions, not
// objects as the creators are: users' variables called `view` or `slice` would shadow objects.
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

/// The elements, in the same order, in other sizes; one size may be -1, which is then computed.
///
/// Errors: InvalidArgument (another element count; a -1 that has no or no single answer; a negative
/// size), NotSupported when the elements would have to be copied, because they do not lie evenly.
/// Source: at::Tensor::view.
TENON_VIEW(view, (detail::ConstTensorArg t, const Dims& sizes), view(sizes))
/// view(). It never copies.
/// Source: at::reshape, which copies where it must; here contiguous() does that, visibly.
TENON_VIEW(reshape, (detail::ConstTensorArg t, const Dims& sizes), view(sizes))

/// The dimensions from start_dim to end_dim, both included, as one. Rank 0 becomes 1.
///
/// Errors: InvalidArgument when start_dim comes after end_dim; NotSupported as in view().
/// Source: at::flatten, which copies where it must.
TENON_VIEW(flatten, (detail::ConstTensorArg t, int64_t start_dim = 0, int64_t end_dim = -1),
           flatten(start_dim, end_dim))

/// The elements at `index` of a dimension, without that dimension. A negative index counts from the
/// end.
///
/// Errors: OutOfBounds for the index too.
/// Source: at::select.
TENON_VIEW(select, (detail::ConstTensorArg t, int64_t dim, int64_t index), select(dim, index))

/// Every step-th element of a dimension, from `start` on and before `end`. Negative ones count from
/// the end; a range beyond the size is clamped, so INT64_MAX is an end for any size.
///
/// Errors: InvalidArgument unless step >= 1.
/// Source: at::slice.
TENON_VIEW(slice,
           (detail::ConstTensorArg t, int64_t dim, int64_t start, int64_t end, int64_t step = 1),
           slice(dim, start, end, step))

/// `length` elements of a dimension, from `start` on, which counts from the end when negative.
///
/// Errors: OutOfBounds unless all of them are there, InvalidArgument for a negative length.
/// Source: at::narrow.
TENON_VIEW(narrow, (detail::ConstTensorArg t, int64_t dim, int64_t start, int64_t length),
           narrow(dim, start, length))

/// Two dimensions exchanged. As in ATen, rank 0 passes for rank 1 here, in squeeze(), flatten() and
/// flip().
///
/// Source: at::transpose.
TENON_VIEW(transpose, (detail::ConstTensorArg t, int64_t dim0, int64_t dim1), transpose(dim0, dim1))

/// Dimension i of the view is dimension dims[i] of the tensor.
///
/// Errors: InvalidArgument unless each dimension is in `dims` once.
/// Source: at::permute.
TENON_VIEW(permute, (detail::ConstTensorArg t, const Dims& dims), permute(dims))

/// All dimensions but those of size 1; with `dim`, all but that one if its size is 1.
///
/// Source: at::squeeze.
TENON_VIEW(squeeze, (detail::ConstTensorArg t), squeeze())
TENON_VIEW(squeeze, (detail::ConstTensorArg t, int64_t dim), squeeze(dim))

/// One more dimension, of size 1: the view's dimension `dim`.
///
/// Source: at::unsqueeze.
TENON_VIEW(unsqueeze, (detail::ConstTensorArg t, int64_t dim), unsqueeze(dim))

/// Repeats dimensions of size 1 to the given sizes without copying: their stride becomes 0. A -1
/// keeps a size. New dimensions may be added on the left.
///
/// Errors: InvalidArgument (fewer dimensions; another size for a dimension that is not of size 1; a
/// negative size, -1 to the left included).
/// Source: at::Tensor::expand.
TENON_VIEW(expand, (detail::ConstTensorArg t, const Dims& sizes), expand(sizes))

/// The order along the dimensions reversed, by negative strides: element 0 becomes the last.
///
/// Errors: InvalidArgument for a dimension that is given twice.
/// Source: at::flip, which copies since ATen's strides cannot be negative; numpy.flip.
TENON_VIEW(flip, (detail::ConstTensorArg t, const Dims& dims), flip(dims))

/// Any sizes and strides, zero and negative ones too, from `storage_offset` elements after the
/// tensor's element 0 on. All lists empty make a view of rank 0.
///
/// Errors: OutOfBounds when it would reach beyond the tensor's own elements, InvalidArgument (lists
/// of different length; a negative size; an overflow).
/// Source: at::as_strided, whose offset counts from the start of the storage, which also bounds it.
TENON_VIEW(as_strided,
           (detail::ConstTensorArg t, const Dims& sizes, const Dims& strides,
            int64_t storage_offset = 0),
           as_strided(sizes, strides, storage_offset))

/// The bytes of the elements taken as elements of `type`.
///
/// With elements of the same size, sizes and strides stay. Otherwise the last dimension, which is
/// contiguous, has as many times more or fewer elements as they are smaller or larger.
/// Errors: InvalidType for Undefined, InvalidArgument (element sizes that differ with rank 0 or a
/// last dimension of another stride than 1; a last dimension or a stride that is not a multiple of
/// the larger element; data that is not aligned for the type).
/// Source: at::Tensor::view(dtype), numpy.ndarray.view.
TENON_VIEW(view_as_type, (detail::ConstTensorArg t, ScalarType type),
           view_as_type(detail::own_type(type)))

#undef TENON_VIEW

TENON_END_NAMESPACE
