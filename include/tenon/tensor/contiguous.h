// SPDX-License-Identifier: MIT
// Functions that copy only where they have to: contiguous, to, reshape, flatten.
//
// If no copy is needed, contiguous() and to() return another handle to the tensor, reshape() and
// flatten() a view. A copy owns its memory, is never read-only, and has the source's dynamism. It
// has the source's dtype, unless a dtype is given. Each function has a try_ form, which returns a
// Result.
#pragma once

#include "tenon/kernels/copy_elements.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/location.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes a row-major copy by the source's backend, whose code may drop the handle or change the
/// tensor. A meta tensor has no elements to copy.
TENON_TEMPLATE_INLINE Error copy_row_major(const TensorArg& source, const CreateOptions& opts,
                                           NewTensor& new_tensor) noexcept {
  if (fields(source).is_meta()) {
    return make_owned_row_major(fields(source).layout.sizes(), opts, false, new_tensor);
  }
  HeldLocation from;
  TENON_TRY(find_location(fields(source), "the source tensor", from));
  TENON_TRY(from.keep(source));
  TENON_TRY(make_owned_row_major(from.lists.sizes, opts, false, new_tensor));
  return copy(locate_new(fields(new_tensor)), from);
}

/// Makes a row-major copy. Its sizes are `sizes`, which must have the same element count, or the
/// source's if that is null.
TENON_TEMPLATE_INLINE Error make_contiguous(const TensorArg& source, const DimArray<int64_t>* sizes,
                                            CreateOptions& opts, NewTensor& new_tensor) noexcept {
  bool is_placeholder = false;
  TENON_TRY(complete_like(source, opts, is_placeholder));
  opts.dynamism = fields(source).dynamism;
  TENON_TRY(is_placeholder ? make_placeholder(fields(source), opts, new_tensor)
                           : copy_row_major(source, opts, new_tensor));
  if (sizes == nullptr) return Error::Ok;
  ImplFields& made = fields(new_tensor);
  TENON_TRY(made.layout.set_sizes(*sizes, made.layout.numel));
  made.finalize(opts.dynamism);
  return Error::Ok;
}

/// Makes and returns the row-major copy.
template <class Out>
Out return_contiguous(const char* function, const TensorArg& source,
                      const DimArray<int64_t>* sizes) {
  // Holds a handle, since a backend's code may drop the caller's.
  const Tensor handle = source.defined() ? source.tensor() : Tensor();
  CreateOptions opts(ScalarType::Undefined);
  NewTensor new_tensor;
  const Error error = make_contiguous(ConstTensorArg(handle), sizes, opts, new_tensor);
  return return_to_user<Out>(function, error, new_tensor, opts.backend);
}

template <class Out>
Out contiguous(const char* function, const TensorArg& tensor) {
  if (check_defined(tensor, "the tensor") == Error::Ok && fields(tensor).layout.is_contiguous()) {
    return tensor.tensor();
  }
  return return_contiguous<Out>(function, tensor, nullptr);
}

template <class Out>
Out to_type(const char* function, const TensorArg& tensor, TypeArg type, CastMode mode) {
  if (check_defined(tensor, "the tensor") == Error::Ok &&
      fields(tensor).type == type.value_or(ScalarType::Undefined)) {
    return tensor.tensor();
  }
  return clone<Out>(function, tensor, create_options_of(ScalarType::Undefined, type), mode,
                    {&cast_elements<>, &check_cast<>});
}

/// Returns the tensor itself if it is on the device and has the given type, if any; else a copy.
template <class Out>
Out to_device(const char* function, const TensorArg& tensor, Device device,
              TypeArg type = TypeArg::deduced(), CastMode mode = CastMode::Checked,
              const Casting& casting = {}) {
  Error error = check_defined(tensor, "the source tensor");
  if (error != Error::Ok) return return_to_user<Out>(function, error);
  const TensorFields& from = fields(tensor);
  const bool is_there = from.device == device;
  if (is_there && from.type == type.value_or(from.type)) return tensor.tensor();
  CreateOptions opts = create_options_of(ScalarType::Undefined, type);
  if (!is_there) {
    error = find_registered(device, opts.requested);
    if (error != Error::Ok) return return_to_user<Out>(function, error);
  }
  return clone<Out>(function, tensor, opts, mode, casting, true);
}

/// Returns a view with the shape, or a copy if the strides do not allow such a view.
template <class Out>
Out view_or_copy(const char* function, const TensorArg& source, const ViewShape& shape,
                 bool needs_copy) {
  return needs_copy && shape.error == Error::Ok
             ? return_contiguous<Out>(function, source, &shape.sizes)
             : view_of_shape<Out>(function, source, shape);
}
template <class Out>
Out reshape(const char* function, const TensorArg& source, const Dims& sizes) {
  ViewShape shape(source);
  bool needs_copy = false;
  if (shape.error == Error::Ok) shape.error = shape.view(sizes, &needs_copy);
  return view_or_copy<Out>(function, source, shape, needs_copy);
}
template <class Out>
Out flatten(const char* function, const TensorArg& source, int64_t start_dim, int64_t end_dim) {
  ViewShape shape(source);
  bool needs_copy = false;
  if (shape.error == Error::Ok) shape.error = shape.flatten(start_dim, end_dim, &needs_copy);
  return view_or_copy<Out>(function, source, shape, needs_copy);
}

}  // namespace detail

/// The tensor itself if it is contiguous, else a row-major copy in the same backend, or on the CPU
/// for pinned and managed memory without a backend.
///
/// Errors: InvalidState (an undefined tensor, a placeholder), NotSupported (memory that neither the
/// host nor a backend can reach), OutOfMemory.
/// Source: at::Tensor::contiguous.
template <class = void>
Tensor contiguous(ConstTensorArg tensor) {
  return detail::contiguous<Tensor>("contiguous", tensor);
}
template <class = void>
Result<Tensor> try_contiguous(ConstTensorArg tensor) {
  return detail::contiguous<Result<Tensor>>("try_contiguous", tensor);
}

/// The tensor itself if it has the type, else a converted copy, whose strides are those that
/// clone_tensor_ptr() chooses.
///
/// Errors: those of clone_tensor_ptr(), but pinned or managed memory without a backend is copied to
/// the CPU.
/// Source: at::Tensor::to; CastMode is tenon's.
template <class = void>
Tensor to(ConstTensorArg tensor, ScalarType type, CastMode mode = CastMode::Checked) {
  return detail::to_type<Tensor>("to", tensor, type, mode);
}
template <class = void>
Result<Tensor> try_to(ConstTensorArg tensor, ScalarType type, CastMode mode = CastMode::Checked) {
  return detail::to_type<Result<Tensor>>("try_to", tensor, type, mode);
}

/// The tensor itself if it is on the device, else a copy, made by the backend registered for the
/// device, or for the CPU on the host's heap. If a type is given, converts as to(tensor, type)
/// does.
///
/// Errors: those of clone_tensor_ptr_to(), and with a type those of to(tensor, type).
/// Source: at::Tensor::to(device), at::Tensor::to(device, dtype).
template <class = void>
Tensor to(ConstTensorArg tensor, Device device) {
  return detail::to_device<Tensor>("to", tensor, device);
}
template <class = void>
Result<Tensor> try_to(ConstTensorArg tensor, Device device) {
  return detail::to_device<Result<Tensor>>("try_to", tensor, device);
}
template <class = void>
Tensor to(ConstTensorArg tensor, Device device, ScalarType type,
          CastMode mode = CastMode::Checked) {
  return detail::to_device<Tensor>("to", tensor, device, type, mode,
                                   {&detail::cast_elements<>, &detail::check_cast<>});
}
template <class = void>
Result<Tensor> try_to(ConstTensorArg tensor, Device device, ScalarType type,
                      CastMode mode = CastMode::Checked) {
  return detail::to_device<Result<Tensor>>("try_to", tensor, device, type, mode,
                                           {&detail::cast_elements<>, &detail::check_cast<>});
}

/// A view if the strides allow one with these sizes, else a row-major copy. (view() never copies.)
/// If it is a view, its ownership() is View.
///
/// Errors: those of view() except NotSupported; when it copies, those of contiguous().
/// Source: at::reshape, numpy.reshape.
template <class = void>
Tensor reshape(ConstTensorArg t, const Dims& sizes) {
  return detail::reshape<Tensor>("reshape", t, sizes);
}
template <class = void>
Result<Tensor> try_reshape(ConstTensorArg t, const Dims& sizes) {
  return detail::reshape<Result<Tensor>>("try_reshape", t, sizes);
}

/// Joins the dimensions from start_dim to end_dim, both included, into one. Returns a view or a
/// copy, like reshape(). A tensor of rank 0 becomes one of rank 1.
///
/// Errors: OutOfBounds for a dimension that the tensor does not have, InvalidArgument when
/// start_dim comes after end_dim; reshape()'s.
/// Source: at::flatten, numpy.ravel. numpy.ndarray.flatten always copies.
template <class = void>
Tensor flatten(ConstTensorArg t, int64_t start_dim = 0, int64_t end_dim = -1) {
  return detail::flatten<Tensor>("flatten", t, start_dim, end_dim);
}
template <class = void>
Result<Tensor> try_flatten(ConstTensorArg t, int64_t start_dim = 0, int64_t end_dim = -1) {
  return detail::flatten<Result<Tensor>>("try_flatten", t, start_dim, end_dim);
}

TENON_END_NAMESPACE
