// SPDX-License-Identifier: MIT
// How every tensor is made. An overload reads its options into CreateOptions. After that two calls,
// say, go this way:
//
//   from_blob(data, {2, 3})                    make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6})
//
//   make_over                                  of_values
//     create_options_of  the options            create_options_of   the options
//     borrow                                     RowMajor::check     the sizes: 6 elements
//       make_impl      metadata                  check_values        as many values?
//       lay_out        the sizes, in place       adopt_or_copy
//       set_memory     data, deleter               make_memory       metadata and elements
//     attach_backend,  if one is given             fill_new          the values
//     check_borrowed   if a device is            write_shape         the sizes, in place
//     finish           handle or error           finish_new          handle or error
//
// In between the tensor is a NewTensor. One that is not finished is dropped like any other tensor.
// The deleter runs once: by the overload until set_memory() took it, then by the draft.
#pragma once

#include "tenon/core/result.h"
#include "tenon/tensor/create_options.h"
#include "tenon/tensor/handle.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- The shape ----------------------------------------------------------------------------------
//
// Each kind of shape is a type, so that a call with sizes alone links nothing of strides. lay_out()
// is for memory that exists. Other memory is allocated between check() and write(): moving a layout
// there that was just made costs more than a second pass over the sizes.

/// Sizes without strides.
struct RowMajor {
  const Dims& sizes;

  /// Checks the shape; tells the options how many elements to allocate.
  Error check(CreateOptions& opts) const noexcept {
    TENON_TRY(check_dims("sizes", sizes));
    return compute_numel(sizes, elementSize(opts.type), opts.count);
  }
  Error write(const CreateOptions& opts, Layout& layout) const noexcept {
    return layout.set_sizes(sizes, opts.count);
  }
  Error lay_out(size_t element_size, Layout& layout) const noexcept {
    TENON_TRY(check_dims("sizes", sizes));
    return make_layout({sizes}, element_size, layout);
  }
};

/// Sizes with a dim order, strides or both; each of those may be empty.
struct Strided {
  const Dims& sizes;
  const Dims& dim_order;
  const Dims& strides;

  /// Refuses negative and overlapping strides.
  TENON_TEMPLATE_INLINE Error check(CreateOptions& opts) const noexcept {
    Layout layout;
    TENON_TRY(lay_out(elementSize(opts.type), layout));
    if (!layout.row_major && (layout.offsets.min < 0 || layout.may_overlap())) {
      return fail(Error::InvalidArgument, "strides ", layout.strides(), " for sizes ",
                  layout.sizes(), layout.offsets.min < 0 ? " are negative" : " may overlap",
                  "; a tensor that owns its memory needs distinct elements at positive strides");
    }
    opts.count = layout.required_span_size();
    return Error::Ok;
  }
  Error write(const CreateOptions& opts, Layout& layout) const noexcept {
    return lay_out(elementSize(opts.type), layout);
  }
  Error lay_out(size_t element_size, Layout& layout) const noexcept {
    return make_layout(sizes, dim_order, strides, element_size, layout);
  }
};

/// The layout of another tensor, or where that is not dense, a dense one in its dim order.
struct Like {
  const Layout& source;

  TENON_TEMPLATE_INLINE Error check(CreateOptions& opts) const noexcept {
    TENON_TRY(source.check());
    opts.count = source.numel;
    size_t nbytes = 0;  // more than the source has, where strides are 0
    return compute_nbytes(source.numel, elementSize(opts.type), nbytes);
  }
  TENON_TEMPLATE_INLINE Error write(const CreateOptions&, Layout& layout) const noexcept {
    ::new (static_cast<void*>(&layout)) Layout(source);  // not assigned: `layout` is new
    TENON_TRY(layout.check());
    return source.is_dense() ? Error::Ok : layout.resize(source.sizes(), source.numel);
  }
};

/// Gives a draft with memory its shape.
template <class Shape>
Error write_shape(const Shape& shape, const CreateOptions& opts, NewTensor& draft) noexcept {
  ImplFields& made = fields(draft);
  TENON_TRY(shape.write(opts, made.layout));
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

/// make_memory() of a backend.
TENON_COMPILED_ONCE TENON_NOINLINE Error make_memory_in_backend(const CreateOptions& opts,
                                                                NewTensor& draft) noexcept {
  Backend& backend = *opts.backend;
  const size_t nbytes = opts.nbytes();
  BackendState* const state = state_of(backend);
  if (state == nullptr) return fail_stateless(backend, nbytes);
  BackendState* const metadata_backend = state->is_alive() ? state->metadata_backend : nullptr;
  const bool is_small = kHasOwnTensors && metadata_backend == state && is_inline_size(nbytes);
  TENON_TRY(make_impl(draft, metadata_backend, is_small ? inline_room(nbytes) : 0));
  ImplFields& made = fields(draft);
  made.type = opts.type;
  if (is_small) {
    made.data = inline_data(draft);
  } else {
    const size_t taken = state->device.type() == DeviceType::Meta ? 0 : nbytes;
    TENON_TRY(state->allocate(taken, kDataAlignment, made.data));
    made.deleter.own_block(made.data, *state, taken);
  }
  made.ownership = Ownership::Owned;
  set_data_backend(*state, made);
  return Error::Ok;
}

/// A draft with memory for the options' elements, without a shape. Few bytes lie in one block with
/// the metadata. Only the heap's memory can be `zeroed`.
TENON_COMPILED_ONCE TENON_NOINLINE Error make_memory(const CreateOptions& opts, bool zeroed,
                                                     NewTensor& draft) noexcept {
  if (opts.backend != nullptr) return make_memory_in_backend(opts, draft);
  const size_t nbytes = opts.nbytes();
  const bool is_small = is_inline_size(nbytes);
  Allocation memory{nullptr, nullptr};
  if (!is_small) {
    memory = zeroed ? allocate_zeroed(nbytes) : allocate(nbytes);
    if (memory.base == nullptr) return fail_memory(nbytes);
  }
  const Error error = make_impl(draft, nullptr, is_small ? inline_room(nbytes) : 0);
  if (error != Error::Ok) {
    heap_release(memory.base);
    return error;
  }
  ImplFields& made = fields(draft);
  made.type = opts.type;
  if (is_small) {
    made.data = inline_data(draft);
    made.ownership = Ownership::Owned;
    if (zeroed) std::memset(made.data, 0, nbytes);
  } else {
    own_block(memory, made);
  }
  return Error::Ok;
}

/// A tensor that owns its memory, uninitialised or `zeroed` as make_memory()'s.
template <class Shape>
Error make_owned(const Shape& shape, CreateOptions& opts, bool zeroed, NewTensor& draft) noexcept {
  TENON_TRY(shape.check(opts));
  TENON_TRY(make_memory(opts, zeroed, draft));
  return write_shape(shape, opts, draft);
}
/// make_owned() of sizes alone, for options whose type is not checked yet.
TENON_TEMPLATE_INLINE Error make_row_major(const Dims& sizes, CreateOptions opts, bool zeroed,
                                           NewTensor& draft) noexcept {
  TENON_TRY(check_type(opts.type));
  return make_owned(RowMajor{sizes}, opts, zeroed, draft);
}
/// A copy of a tensor's layout where a backend gives the memory for one like it: the backend's code
/// may change or drop that tensor. Else none is needed.
inline Layout keep_layout(const TensorFields& source, const CreateOptions& opts) noexcept {
  return opts.backend != nullptr ? source.layout : Layout();
}
/// A new tensor like `source`, uninitialised: of its layout, or where that is not dense, of a dense
/// one in its dim order; of the options' type, dynamism and backend.
TENON_TEMPLATE_INLINE Error make_like(const TensorFields& source, CreateOptions& opts,
                                      NewTensor& draft) noexcept {
  const Layout kept = keep_layout(source, opts);
  return make_owned(Like{opts.backend != nullptr ? kept : source.layout}, opts, false, draft);
}

// --- What is returned ---------------------------------------------------------------------------

template <class Out>
struct ReturnedValue {
  using type = Out;
};
template <class T>
struct ReturnedValue<Result<T>> {
  using type = T;
};

/// The value, or the error under the name of `function`, thrown or as a Result.
template <class Out, class T>
Out finish_value(const char* function, Error error, T&& value) {
  if constexpr (IsResult<Out>::value) {
    if (error != Error::Ok) return add_context(function, error);
  } else {
    raise_if(function, error);
  }
  return Out(std::forward<T>(value));
}

/// Turns a draft over existing memory into what a creator returns.
template <class Out>
TENON_NOINLINE Out finish(const char* function, Error error, NewTensor& draft) {
  typename ReturnedValue<Out>::type value;
  if (error == Error::Ok) error = make_first_handle(draft, value);
  return finish_value<Out>(function, error, std::move(value));
}
/// finish() of a draft that may be the impl of an existing tensor. See make_handle() for where the
/// handle lies.
template <class Out>
Out finish_shared(const char* function, Error error, NewTensor& draft,
                  BackendState* metadata_backend) {
  typename ReturnedValue<Out>::type value;
  if (error == Error::Ok) error = make_handle(draft, value, metadata_backend);
  return finish_value<Out>(function, error, std::move(value));
}
/// finish_shared() of another handle to a tensor.
template <class Out>
Out finish_shared(const char* function, Error error, Tensor&& shared,
                  BackendState* metadata_backend) {
  typename ReturnedValue<Out>::type value;
  if (error == Error::Ok) error = make_handle(std::move(shared), value, metadata_backend);
  return finish_value<Out>(function, error, std::move(value));
}

TENON_TEMPLATE_INLINE TENON_NOINLINE void notify_created(Backend& backend, const TensorFields& made,
                                                         const char* function) noexcept {
  backend.on_made(
      {made.data, public_type(made.type), made.layout.sizes(), made.layout.strides(), function});
}
struct Nothing {
  template <class T>
  Error operator()(const T&) const noexcept {
    return Error::Ok;
  }
};
/// finish() of a draft that owns its memory. Tells `backend`, unless that is null, of the tensor.
/// `afterwards(value)` is done once all memory is there.
template <class Out, class Afterwards = Nothing>
TENON_NOINLINE Out finish_new(const char* function, Error error, NewTensor& draft, Backend* backend,
                              const Afterwards& afterwards = {}) {
  typename ReturnedValue<Out>::type value;
  if (error == Error::Ok) {
    const TensorFields& made = fields(draft);  // is there afterwards too: `value` keeps the impl
    error = make_first_handle(draft, value);
    if (error == Error::Ok) error = afterwards(value);
    if (backend != nullptr && error == Error::Ok) {
      notify_created(*backend, made, function);
    }
  }
  return finish_value<Out>(function, error, std::move(value));
}
/// An error, where nothing was made yet.
template <class Out>
Out finish_failed(const char* function, Error error) {
  return finish_value<Out>(function, error, typename ReturnedValue<Out>::type());
}

}  // namespace detail
TENON_END_NAMESPACE
