// SPDX-License-Identifier: MIT
// How a tensor is made. The public overload reads its options into CreateOptions. Then one function
// makes a NewTensor, an unshared impl:
//
// - over memory that exists: borrow(). It makes the impl, writes the layout there, and moves the
//   deleter there.
// - with new memory: make_zeros(), make_clone() and others. Each calls make_owned(), which checks
//   the shape, allocates the impl and its elements, and sets the shape. Then it writes the
//   elements. make_of_values() may adopt memory instead, so it takes these steps itself.
//
// return_to_user() makes the handle, or throws or returns the error. A NewTensor that is not
// returned is dropped like any tensor, which runs its deleter.
#pragma once

#include "tenon/core/result.h"
#include "tenon/tensor/create_options.h"
#include "tenon/tensor/handle.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- The shape ----------------------------------------------------------------------------------

/// Makes the layout of sizes with strides.
TENON_TEMPLATE_INLINE Error lay_out(const Dims& sizes, OrderAndStrides given, size_t element_size,
                                    Layout& layout) noexcept {
  const Dims none;
  DimOrderArg order;
  if (given.order != nullptr) order = DimOrderArg(*given.order);
  return make_layout(sizes, given.dim_order != nullptr ? *given.dim_order : order,
                     given.strides != nullptr ? *given.strides : none, element_size, layout);
}
/// Does what lay_out() does, for new memory: refuses negative and overlapping strides. Does not
/// check the type.
TENON_TEMPLATE_INLINE Error lay_out_new(const Dims& sizes, OrderAndStrides given, ScalarType type,
                                        Layout& layout) noexcept {
  TENON_TRY(lay_out(sizes, given, elementSize(type), layout));
  if (layout.row_major || (layout.offsets.min >= 0 && !layout.may_overlap())) return Error::Ok;
  return fail(Error::InvalidArgument, "strides ", layout.strides(), " for sizes ", layout.sizes(),
              layout.offsets.min < 0 ? " are negative" : " may overlap",
              "; a tensor that owns its memory needs distinct elements at positive strides");
}
/// Makes the layout for a copy of a tensor: the source's layout if that is dense, else the dense
/// layout in the source's dim order.
TENON_TEMPLATE_INLINE Error lay_out_like(const Layout& source, Layout& layout) noexcept {
  ::new (static_cast<void*>(&layout)) Layout(source);  // constructed, not assigned: `layout` is new
  TENON_TRY(layout.check());
  return source.is_dense() ? Error::Ok : layout.resize(source.sizes(), source.numel);
}

/// Checks a shape for new memory, and sets the options' element count. The shape is given as sizes
/// (row-major) or as a Layout: two overloads, so that programs that only pass sizes do not link the
/// code that copies layouts.
///
/// Not inlined: on a Cortex-M4 zeros() then needs 80 bytes less stack, and a tensor of a list 48
/// bytes less.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error count_elements(const Dims& sizes,
                                                          CreateOptions& opts) noexcept {
  TENON_TRY(check_dims("sizes", sizes));
  return compute_numel(sizes, elementSize(opts.type), opts.count);
}
inline Error count_elements(const Layout& layout, CreateOptions& opts) noexcept {
  opts.count = layout.required_span_size();
  size_t nbytes = 0;
  return compute_nbytes(opts.count, elementSize(opts.type), nbytes);
}
inline ArrayRef<int64_t> sizes_of(const Dims& sizes) noexcept { return sizes; }
inline ArrayRef<int64_t> sizes_of(const Layout& layout) noexcept { return layout.sizes(); }
/// Sets the checked shape of a tensor with memory.
inline Error set_shape(const Dims& sizes, const CreateOptions& opts, ImplFields& made) noexcept {
  TENON_TRY(made.layout.set_sizes(sizes, opts.count));
  made.finalize(opts.dynamism);
  return Error::Ok;
}
inline Error set_shape(const Layout& layout, const CreateOptions& opts, ImplFields& made) noexcept {
  ::new (static_cast<void*>(&made.layout)) Layout(layout);  // smaller than assigning
  TENON_TRY(made.layout.check());
  made.finalize(opts.dynamism);
  return Error::Ok;
}

// --- Memory -------------------------------------------------------------------------------------

/// Records the memory's backend.
inline void set_data_backend(BackendState& state, TensorFields& made) noexcept {
  made.data_backend = &state;
  made.device = state.device;
  made.opaque = state.opaque;
}

/// Makes the impl, and asks a backend to allocate the options' elements.
TENON_COMPILED_ONCE TENON_NOINLINE Error allocate_in_backend(const CreateOptions& opts,
                                                             NewTensor& tensor) noexcept {
  TENON_TRY(opts.error);
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

/// Makes the impl, and allocates the options' elements. Small data is in one block with the
/// metadata. Only heap memory can be `zeroed`.
TENON_COMPILED_ONCE TENON_NOINLINE Error allocate_owned(const CreateOptions& opts, bool zeroed,
                                                        NewTensor& tensor) noexcept {
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
    if (memory.base == nullptr) return fail_no_memory(nbytes);
    const Error error = make_impl(tensor);
    if (error != Error::Ok) return heap_release(memory.base), error;
    own_block(memory, fields(tensor));
  }
  fields(tensor).type = opts.type;
  return Error::Ok;
}
/// Makes a tensor that owns its memory. `shape` is any that count_elements() takes.
template <class Shape>
Error make_owned(const Shape& shape, CreateOptions& opts, bool zeroed, NewTensor& tensor) noexcept {
  TENON_TRY(count_elements(shape, opts));
  TENON_TRY(allocate_owned(opts, zeroed, tensor));
  return set_shape(shape, opts, fields(tensor));
}
/// Calls make_owned() for sizes and for options whose type is not checked yet.
TENON_TEMPLATE_INLINE Error make_owned_row_major(const Dims& sizes, CreateOptions opts, bool zeroed,
                                                 NewTensor& tensor) noexcept {
  TENON_TRY(check_type(opts.type));
  return make_owned(sizes, opts, zeroed, tensor);
}

// --- What is returned ---------------------------------------------------------------------------

TENON_TEMPLATE_INLINE TENON_NOINLINE void notify_created(Backend& backend, const TensorFields& made,
                                                         const char* function) noexcept {
  backend.on_made(
      {made.data, public_type(made.type), made.layout.sizes(), made.layout.strides(), function});
}

/// Returns the value of `function`, or the error under the function's name, thrown or in a Result.
template <class Out>
Out return_to_user(const char* function, Error error, typename IsResult<Out>::Value&& value) {
  if constexpr (IsResult<Out>::value) {
    if (error != Error::Ok) return add_context(function, error);
  } else {
    raise_if(function, error);
  }
  return Out(std::move(value));
}
/// Returns a new tensor's handle from a creator. Notifies `backend`, unless null, that the tensor
/// is in its memory.
template <class Out>
TENON_NOINLINE Out return_to_user(const char* function, Error error, NewTensor& tensor,
                                  Backend* backend = nullptr) {
  typename IsResult<Out>::Value handle;
  if (error == Error::Ok) {
    const TensorFields& made = fields(tensor);  // stays valid, since the handle keeps the impl
    error = make_first_handle(tensor, handle);
    if (backend != nullptr && error == Error::Ok) notify_created(*backend, made, function);
  }
  return return_to_user<Out>(function, error, std::move(handle));
}
/// Returns an error before there is a tensor.
template <class Out>
Out return_to_user(const char* function, Error error) {
  return return_to_user<Out>(function, error, typename IsResult<Out>::Value());
}

/// Checks that a pointer's type allows elements of the type given.
TENON_TEMPLATE_INLINE Error check_pointer_type(const DataPtr& data, ScalarType type) noexcept {
  TENON_TRY(check_type(type));
  return check_pointer_type(data, type, "the type given");
}

/// Makes a tensor whose layout is set refer to the caller's memory. On success takes `release`,
/// which may be null.
TENON_TEMPLATE_INLINE Error set_memory(const DataPtr& data, const CreateOptions& opts,
                                       Deleter* release, ImplFields& made) noexcept {
  made.data = data.get();
  if (made.data == nullptr && made.layout.numel != 0 && !data.is_placeholder() &&
      opts.device.type() != DeviceType::Meta) {
    return fail(Error::InvalidArgument, "the data is null, but sizes ", made.layout.sizes(),
                " hold ", made.layout.numel, " elements; a literal nullptr makes a placeholder");
  }
  made.type = opts.type;
  made.device = opts.device;
  made.readonly = data.is_readonly();
  made.finalize(opts.dynamism);
  if (release != nullptr && *release) {
    made.ownership = Ownership::Adopted;
    made.deleter.take(std::move(*release));
  }
  return Error::Ok;
}

/// Makes a tensor over the caller's memory. On success the tensor takes `release`, which may be
/// null.
///
/// Inlined: from_blob() then takes 350 instructions instead of 423; a program with one call is no
/// larger.
template <class = void>
TENON_ALWAYS_INLINE Error borrow(const DataPtr& data, const Dims& sizes, OrderAndStrides given,
                                 const CreateOptions& opts, Deleter* release,
                                 NewTensor& tensor) noexcept {
  if (release != nullptr && release->error() != Error::Ok) return fail_no_memory("the deleter");
  TENON_TRY(make_impl(tensor, metadata_backend_for(opts.backend)));
  ImplFields& made = fields(tensor);
  const size_t element_size = elementSize(opts.type);
  if (given.dim_order != nullptr || given.strides != nullptr || given.order != nullptr) {
    TENON_TRY(lay_out(sizes, given, element_size, made.layout));
  } else {
    TENON_TRY(check_dims("sizes", sizes));
    TENON_TRY(made.layout.make_row_major(sizes, element_size));
  }
  return set_memory(data, opts, release, made);
}
/// Does what borrow() does, for any strides, after the type was checked against the pointer's.
TENON_TEMPLATE_INLINE Error borrow_checked(const DataPtr& data, const Dims& sizes,
                                           const Dims& dim_order, const Dims& strides,
                                           const CreateOptions& opts, Deleter* release,
                                           NewTensor& tensor) noexcept {
  TENON_TRY(check_pointer_type(data, opts.type));
  return borrow(data, sizes, {&dim_order, &strides}, opts, release, tensor);
}

/// Asks the backend to check borrowed memory, and counts that memory as an allocation of the
/// backend.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error attach_backend(Backend& backend,
                                                          NewTensor& tensor) noexcept {
  if (BackendAccess::is_host_heap(backend)) return Error::Ok;
  BackendState* const state = state_of(backend);
  if (state == nullptr) return fail_stateless(backend, 0);
  ImplFields& made = fields(tensor);
  TENON_TRY(state->check_pointer(made.data, made.type, made.layout));
  // The metadata's block is already counted.
  if (made.metadata_backend == state) {
    set_data_backend(*state, made);
    return Error::Ok;
  }
  void* nothing = nullptr;
  TENON_TRY(state->allocate(0, kDataAlignment, nothing));
  Deleter release;
  release.own_block(nullptr, *state, 0);
  set_data_backend(*state, made);
  made.deleter = chain(std::move(made.deleter), std::move(release));
  return made.deleter.error() == Error::Ok ? Error::Ok : fail_no_memory("the deleter");
}

/// Asks the backend that is registered for the device to check borrowed memory.
TENON_TEMPLATE_INLINE Error check_borrowed(const TensorFields& made) noexcept {
  return check_device_pointer(made.device, made.data, made.type, made.layout);
}
/// Calls attach_backend() if a backend is given, else check_borrowed().
TENON_TEMPLATE_INLINE Error check_and_attach_backend(Backend* requested,
                                                     NewTensor& tensor) noexcept {
  return requested != nullptr ? attach_backend(*requested, tensor) : check_borrowed(fields(tensor));
}

/// All overloads that take a pointer call this. A backend option names the owner of the memory, a
/// device option the memory's device. The thread's default backend keeps at most the metadata.
/// Inlined, so that a call without strides or a deleter does not link their code.
template <class Out, class... Options>
TENON_ALWAYS_INLINE Out make_borrowed(const char* function, const DataPtr& data, const Dims& sizes,
                                      Deleter* release, Options&... options) {
  constexpr bool kHasBackend = has_backend_v<Options...>;
  CreateOptions opts = create_options_of<false>(data.type(), options...);
  OrderAndStrides given;
  if constexpr (has_layout_v<Options...>) given = order_and_strides_of(options...);
  NewTensor tensor;
  Error error = opts.error;
  if constexpr (has_type_v<Options...>) {
    if (error == Error::Ok) error = check_pointer_type(data, opts.type);
  }
  if constexpr (kHasBackend) opts.device = opts.requested->device();
  if (error == Error::Ok) error = borrow(data, sizes, given, opts, release, tensor);
  if constexpr (kHasBackend) {
    if (error == Error::Ok) error = attach_backend(*opts.requested, tensor);
  } else if constexpr (has_device_v<Options...>) {
    if (error == Error::Ok) error = check_borrowed(fields(tensor));
  }
  return return_to_user<Out>(function, error, tensor);
}

// --- Views --------------------------------------------------------------------------------------

/// Makes `made`, whose layout is set, a view of `source` as elements of `type`, starting
/// `storage_offset` elements after the source's element 0. The view keeps the memory alive, and
/// counts as a borrow.
TENON_TEMPLATE_INLINE Error attach_view(const TensorArg& source, ScalarType type,
                                        int64_t storage_offset, ImplFields& made) noexcept {
  const TensorFields& from = fields(source);
  TENON_TRY(check_not_deallocated(from, "the source tensor"));  // a backend's code may have done it
  const OffsetRange& old = from.layout.offsets;
  const OffsetRange& offsets = made.layout.offsets;
  const auto old_size = static_cast<int64_t>(elementSize(from.type));
  const auto size = static_cast<int64_t>(elementSize(type));
  int64_t start = 0;  // in bytes from the source's element 0
  int64_t begin = 0;
  int64_t end = 0;  // without elements equal to `begin`, which may be the source's end
  if (!multiply(storage_offset, size, start) || !add(start, offsets.min * size, begin) ||
      !add(start, (offsets.max + 1) * size, end) || begin < old.min * old_size ||
      end > (old.max + 1) * old_size) {
    return fail(Error::OutOfBounds, "a view of sizes ", made.layout.sizes(), ", strides ",
                made.layout.strides(), " at offset ", storage_offset,
                " reaches beyond the source's elements at offsets ", old.min, " to ", old.max);
  }
  if (from.data != nullptr) made.data = static_cast<char*>(from.data) + start;
  made.type = type;
  made.device = from.device;
  made.opaque = from.opaque;
  made.data_backend = from.data_backend;
  made.ownership = Ownership::View;
  made.readonly = from.readonly;
  made.finalize(from.dynamism);
  keep_memory(source, made);
  return Error::Ok;
}

/// The backend for the metadata of a view of `source`, or of another handle to it: the backend of
/// the source's metadata, else the thread's default; null for the heap.
TENON_TEMPLATE_INLINE BackendState* metadata_backend_like(const TensorArg& source) noexcept {
  BackendState* const own = metadata_backend_of(fields(source));
  return own != nullptr ? own : metadata_backend_for(current_backend());
}
/// Whether allocating that metadata may call a backend.
inline bool asks_for_metadata(const TensorArg& source) noexcept {
  return fields(source).metadata_backend != nullptr || current_backend() != nullptr;
}

/// A view of `source` with other metadata. Empty lists stand for the source's lists.
TENON_COMPILED_ONCE Error make_view(const TensorArg& source, const Dims& sizes,
                                    const Dims& dim_order, const Dims& strides,
                                    int64_t storage_offset, NewView& tensor) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(check_dim_order(dim_order.error()));
  TENON_TRY(check_dims("strides", strides));
  const SourceGuard kept(source, asks_for_metadata(source));
  TENON_TRY(make_impl(tensor, metadata_backend_like(kept.arg)));
  const TensorFields& from = fields(kept.arg);
  const Layout& old = from.layout;
  Layout& layout = fields(tensor).layout;
  const size_t element_size = elementSize(from.type);
  const ArrayRef<int64_t> new_sizes = sizes.empty() ? old.sizes() : ArrayRef<int64_t>(sizes);
  if (!dim_order.empty() || !strides.empty() || new_sizes.size() != old.rank()) {
    TENON_TRY(make_layout({new_sizes, strides, dim_order}, element_size, layout));
  } else {
    ptrdiff_t numel = 0;
    TENON_TRY(compute_numel(new_sizes, element_size, numel));
    layout = old;
    TENON_TRY(layout.check());
    if (new_sizes != old.sizes()) TENON_TRY(layout.resize(new_sizes, numel));
  }
  return attach_view(kept.arg, from.type, storage_offset, fields(tensor));
}

}  // namespace detail
TENON_END_NAMESPACE
