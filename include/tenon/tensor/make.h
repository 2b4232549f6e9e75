// SPDX-License-Identifier: MIT
// How a tensor is made. The overload that the user calls reads its options into CreateOptions. Then
// one function makes a NewTensor, an impl that nobody else has:
//
// - over memory that exists: borrow(). It makes the impl, and moves sizes, data and deleter there.
// - with new memory: make_of_values(), make_zeros(), make_clone(), …. Each calls check_shape(),
//   which says how many elements there are, and make_owned(), which allocates them together with
//   the impl. Then it writes the elements.
//
// return_to_user() makes the handle, or throws or returns the error. A NewTensor that was not
// returned is dropped like any other tensor: that runs the deleter, once it is there.
#pragma once

#include "tenon/core/result.h"
#include "tenon/tensor/create_options.h"
#include "tenon/tensor/handle.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- The shape ----------------------------------------------------------------------------------

/// The dim order and the strides that a creator was given; null for none. Both are null in calls of
/// sizes alone, which link nothing that reads strides.
struct StridesArg {
  const Dims* dim_order = nullptr;
  const Dims* strides = nullptr;
};

/// The shape of new memory: row-major sizes, or a layout, of which the tensor gets a copy.
struct ShapeArg {
  const Dims* sizes = nullptr;
  const Layout* layout = nullptr;

  ShapeArg(const Dims& row_major) noexcept : sizes(&row_major) {}
  ShapeArg(const Layout& any) noexcept : layout(&any) {}

  ArrayRef<int64_t> list() const noexcept {
    return layout != nullptr ? layout->sizes() : ArrayRef<int64_t>(*sizes);
  }
};

/// Makes the layout of sizes with strides.
TENON_TEMPLATE_INLINE Error lay_out(const Dims& sizes, StridesArg given, size_t element_size,
                                    Layout& layout) noexcept {
  const Dims none;
  return make_layout(sizes, given.dim_order != nullptr ? *given.dim_order : none,
                     given.strides != nullptr ? *given.strides : none, element_size, layout);
}
/// lay_out() for new memory: refuses negative and overlapping strides. Does not check the type.
TENON_TEMPLATE_INLINE Error lay_out_new(const Dims& sizes, StridesArg given, ScalarType type,
                                        Layout& layout) noexcept {
  TENON_TRY(lay_out(sizes, given, elementSize(type), layout));
  if (layout.row_major || (layout.offsets.min >= 0 && !layout.may_overlap())) return Error::Ok;
  return fail(Error::InvalidArgument, "strides ", layout.strides(), " for sizes ", layout.sizes(),
              layout.offsets.min < 0 ? " are negative" : " may overlap",
              "; a tensor that owns its memory needs distinct elements at positive strides");
}
/// Makes the layout of a tensor like another: a copy, or where the other is not dense, a dense one
/// in its dim order.
TENON_TEMPLATE_INLINE Error lay_out_like(const Layout& source, Layout& layout) noexcept {
  ::new (static_cast<void*>(&layout)) Layout(source);  // not assigned: `layout` is new
  TENON_TRY(layout.check());
  return source.is_dense() ? Error::Ok : layout.resize(source.sizes(), source.numel);
}

/// Checks a shape for new memory, and tells the options how many elements to allocate.
inline Error check_shape(ShapeArg shape, CreateOptions& opts) noexcept {
  const size_t element_size = elementSize(opts.type);
  if (shape.layout == nullptr) {
    TENON_TRY(check_dims("sizes", *shape.sizes));
    return compute_numel(*shape.sizes, element_size, opts.count);
  }
  opts.count = shape.layout->required_span_size();
  size_t nbytes = 0;
  return compute_nbytes(opts.count, element_size, nbytes);
}
/// Gives a tensor with memory the type, and the shape that was checked.
inline Error set_shape(ShapeArg shape, const CreateOptions& opts, ImplFields& made) noexcept {
  if (shape.layout == nullptr) {
    TENON_TRY(made.layout.set_sizes(*shape.sizes, opts.count));
  } else {
    ::new (static_cast<void*>(&made.layout)) Layout(*shape.layout);  // smaller than assigning
    TENON_TRY(made.layout.check());
  }
  made.type = opts.type;
  made.finalize(opts.dynamism);
  return Error::Ok;
}

// --- Memory -------------------------------------------------------------------------------------

/// Says that memory is a backend's.
inline void set_data_backend(BackendState& state, TensorFields& made) noexcept {
  made.data_backend = &state;
  made.device = state.device;
  made.opaque = state.opaque;
}

/// Makes the impl, and memory for the options' elements, in a backend's memory.
TENON_COMPILED_ONCE TENON_NOINLINE Error allocate_in_backend(const CreateOptions& opts,
                                                             NewTensor& tensor) noexcept {
  Backend& backend = *opts.backend;
  const size_t nbytes = opts.nbytes();
  BackendState* const state = state_of(backend);
  if (state == nullptr) return fail_stateless(backend, nbytes);
  BackendState* const metadata_backend = state->is_alive() ? state->metadata_backend : nullptr;
  const bool is_small = kHasOwnTensors && metadata_backend == state && is_inline_size(nbytes);
  TENON_TRY(make_impl(tensor, metadata_backend, is_small ? inline_room(nbytes) : 0));
  ImplFields& made = fields(tensor);
  if (is_small) {
    made.data = inline_data(tensor);
  } else {
    const size_t taken = state->device.type() == DeviceType::Meta ? 0 : nbytes;
    TENON_TRY(state->allocate(taken, kDataAlignment, made.data));
    made.deleter.own_block(made.data, *state, taken);
  }
  made.ownership = Ownership::Owned;
  set_data_backend(*state, made);
  return Error::Ok;
}

/// A tensor of a shape that was checked, which owns its memory. Few bytes lie in one block with the
/// metadata. Only the heap's memory can be `zeroed`.
TENON_COMPILED_ONCE TENON_NOINLINE Error make_owned(ShapeArg shape, const CreateOptions& opts,
                                                    bool zeroed, NewTensor& tensor) noexcept {
  const size_t nbytes = opts.nbytes();
  if (opts.backend != nullptr) {
    TENON_TRY(allocate_in_backend(opts, tensor));
  } else if (is_inline_size(nbytes)) {
    TENON_TRY(make_impl(tensor, nullptr, inline_room(nbytes)));
    ImplFields& made = fields(tensor);
    made.data = inline_data(tensor);
    made.ownership = Ownership::Owned;
    if (zeroed) std::memset(made.data, 0, nbytes);
  } else {
    const Allocation memory = zeroed ? allocate_zeroed(nbytes) : allocate(nbytes);
    if (memory.base == nullptr) return fail_memory(nbytes);
    const Error error = make_impl(tensor);
    if (error != Error::Ok) return heap_release(memory.base), error;
    own_block(memory, fields(tensor));
  }
  return set_shape(shape, opts, fields(tensor));
}
/// make_owned() of sizes, for options whose type is not checked yet.
TENON_TEMPLATE_INLINE Error make_row_major(const Dims& sizes, CreateOptions opts, bool zeroed,
                                           NewTensor& tensor) noexcept {
  const ShapeArg shape(sizes);
  TENON_TRY(check_type(opts.type));
  TENON_TRY(check_shape(shape, opts));
  return make_owned(shape, opts, zeroed, tensor);
}

// --- What is returned ---------------------------------------------------------------------------

TENON_TEMPLATE_INLINE TENON_NOINLINE void notify_created(Backend& backend, const TensorFields& made,
                                                         const char* function) noexcept {
  backend.on_made(
      {made.data, public_type(made.type), made.layout.sizes(), made.layout.strides(), function});
}

/// What `function` returns: the value, or the error under its name, thrown or in a Result.
template <class Out, class T>
Out return_to_user(const char* function, Error error, T&& value) {
  if constexpr (IsResult<Out>::value) {
    if (error != Error::Ok) return add_context(function, error);
  } else {
    raise_if(function, error);
  }
  return Out(std::forward<T>(value));
}
/// What a creator returns: the handle of a new tensor. Tells `backend`, unless that is null, that
/// the tensor is in its memory.
template <class Out>
TENON_NOINLINE Out return_to_user(const char* function, Error error, NewTensor& tensor,
                                  Backend* backend = nullptr) {
  typename IsResult<Out>::Value handle;
  if (error == Error::Ok) {
    const TensorFields& made = fields(tensor);  // is there afterwards too: the handle keeps it
    error = make_first_handle(tensor, handle);
    if (backend != nullptr && error == Error::Ok) notify_created(*backend, made, function);
  }
  return return_to_user<Out>(function, error, std::move(handle));
}
/// An error before there is a tensor.
template <class Out>
Out return_to_user(const char* function, Error error) {
  return return_to_user<Out>(function, error, typename IsResult<Out>::Value());
}

}  // namespace detail
TENON_END_NAMESPACE
