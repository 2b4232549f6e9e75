// SPDX-License-Identifier: MIT
// How a tensor is made.
//
// A creator's overload reads its options into CreateOptions, and what it is given of a shape into a
// ShapeArg. One plain function then makes a NewTensor:
//
// - borrow() over memory that exists: it makes the impl, lays the shape out in it, and moves the
//   data and the deleter there.
// - make_of_values(), make_zeros(), clone() and others with new memory: check_shape() says how many
//   elements there are, make_owned() allocates them with the impl, and they are written.
//
// return_to_user() makes the handle of it, or throws or returns the error. A NewTensor that does
// not come so far is dropped like any other tensor.
#pragma once

#include "tenon/core/result.h"
#include "tenon/tensor/create_options.h"
#include "tenon/tensor/handle.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- The shape ----------------------------------------------------------------------------------

/// How the elements lie where that is not row-major. lay_out() makes the layout of it. That is a
/// pointer, so that a program that gives sizes alone does not link it. Refers to the creator's
/// arguments, as a ShapeArg does.
struct StridesArg {
  using LayOut = Error (*)(const Dims* sizes, const StridesArg& strides, size_t element_size,
                           Layout& made) noexcept;
  LayOut lay_out;
  const Dims* dim_order = nullptr;
  const Dims* strides = nullptr;
  const Layout* source = nullptr;  // of the tensor that the new one is to be like
  Layout* checked = nullptr;       // where check_shape() leaves the layout
};

/// The shape that a creator is asked for.
struct ShapeArg {
  const Dims* sizes = nullptr;          // null where the strides are like another tensor's
  const StridesArg* strides = nullptr;  // null for row-major ones

  ShapeArg(const Dims& s) noexcept : sizes(&s) {}
  ShapeArg(const Dims& s, const StridesArg& other) noexcept : sizes(&s), strides(&other) {}
  explicit ShapeArg(const StridesArg& like) noexcept : strides(&like) {}
};

TENON_TEMPLATE_INLINE Error lay_out_strided(const Dims* sizes, const StridesArg& strides,
                                            size_t element_size, Layout& made) noexcept {
  const Dims none;
  return make_layout(*sizes, strides.dim_order != nullptr ? *strides.dim_order : none,
                     strides.strides != nullptr ? *strides.strides : none, element_size, made);
}
TENON_TEMPLATE_INLINE Error lay_out_distinct(const Dims* sizes, const StridesArg& strides,
                                             size_t element_size, Layout& made) noexcept {
  TENON_TRY(lay_out_strided(sizes, strides, element_size, made));
  if (made.row_major || (made.offsets.min >= 0 && !made.may_overlap())) return Error::Ok;
  return fail(Error::InvalidArgument, "strides ", made.strides(), " for sizes ", made.sizes(),
              made.offsets.min < 0 ? " are negative" : " may overlap",
              "; a tensor that owns its memory needs distinct elements at positive strides");
}
TENON_TEMPLATE_INLINE Error lay_out_like(const Dims*, const StridesArg& strides,
                                         size_t element_size, Layout& made) noexcept {
  const Layout& source = *strides.source;
  size_t nbytes = 0;  // more than the source has, where strides are 0
  TENON_TRY(compute_nbytes(source.numel, element_size, nbytes));
  ::new (static_cast<void*>(&made)) Layout(source);  // not assigned: `made` is new
  TENON_TRY(made.check());
  return source.is_dense() ? Error::Ok : made.resize(source.sizes(), source.numel);
}

/// Any strides, over the caller's memory. Null lists are not given.
TENON_TEMPLATE_INLINE StridesArg any_strides(const Dims* dim_order, const Dims* strides) noexcept {
  return {&lay_out_strided<>, dim_order, strides};
}
/// Strides for new memory: neither negative nor overlapping.
TENON_TEMPLATE_INLINE StridesArg distinct_strides(const Dims* dim_order, const Dims* strides,
                                                  Layout& checked) noexcept {
  return {&lay_out_distinct<>, dim_order, strides, nullptr, &checked};
}
/// The strides of a source, or where they are not dense, dense ones in its dim order.
TENON_TEMPLATE_INLINE StridesArg strides_like(const Layout& source, Layout& checked) noexcept {
  return {&lay_out_like<>, nullptr, nullptr, &source, &checked};
}

/// Checks a shape for new memory, and tells the options how many elements to allocate.
inline Error check_shape(ShapeArg shape, CreateOptions& opts) noexcept {
  const size_t element_size = elementSize(opts.type);
  if (shape.strides == nullptr) {
    TENON_TRY(check_dims("sizes", *shape.sizes));
    return compute_numel(*shape.sizes, element_size, opts.count);
  }
  Layout& layout = *shape.strides->checked;
  TENON_TRY(shape.strides->lay_out(shape.sizes, *shape.strides, element_size, layout));
  opts.count = layout.required_span_size();
  return Error::Ok;
}
/// Gives a tensor with memory the type, and the shape that was checked.
inline Error set_shape(ShapeArg shape, const CreateOptions& opts, ImplFields& made) noexcept {
  if (shape.strides == nullptr) {
    TENON_TRY(made.layout.set_sizes(*shape.sizes, opts.count));
  } else {
    made.set_layout(std::move(*shape.strides->checked));
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
Out return_to_user(const char* function, Error error, NewTensor& tensor,
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
