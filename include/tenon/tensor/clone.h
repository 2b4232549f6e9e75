// SPDX-License-Identifier: MIT
// Copies that own their memory: clone, clone_tensor_ptr, and backend_copy to another backend;
// backend_transfer, which moves a tensor; backend_deallocate, which releases its memory.
#pragma once

#include "tenon/kernels/copy_elements.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Copies the elements of `from` to a new tensor like it.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error copy_to_new(const TensorFields& made,
                                                       const TensorFields& from, CastMode mode,
                                                       CastFunction cast) noexcept {
  if (made.is_meta()) return Error::Ok;
  MemoryLocation source;
  TENON_TRY(find_location(from, "the source tensor", source));
  const MemoryLocation out = locate_new(made);
  if (source.view.sizes != out.view.sizes) {
    return fail(Error::InvalidState, "the source tensor was changed meanwhile");
  }
  return copy(out, source, mode, cast);
}

/// Makes a clone to or from a backend's memory. The backend's code may resize or deallocate the
/// source while it allocates, not while it copies.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error clone_with_backend(const TensorArg& source,
                                                              CreateOptions& opts, CastMode mode,
                                                              CastFunction cast,
                                                              NewTensor& tensor) noexcept {
  // Holds a handle: the backend's code may drop the caller's handle.
  const Tensor kept = source.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
  Layout layout;
  TENON_TRY(lay_out_like(fields(source).layout, layout));
  TENON_TRY(make_owned(layout, opts, false, tensor));
  const ConstTensorArg from(kept);  // with its current shape
  MemoryHold hold;
  TENON_TRY(hold.hold(from));
  return copy_to_new(fields(tensor), fields(from), mode, cast);
}

/// Finds the clone's backend, if the source or the options involve a backend.
TENON_TEMPLATE_INLINE TENON_COLD Error find_clone_backend(const TensorFields& from,
                                                          Backend* requested, bool same_device,
                                                          Backend*& backend) noexcept {
  if (same_device && requested == nullptr && from.data_backend == nullptr &&
      from.is_host_accessible() && find_backend(from.device) == nullptr) {
    return fail(Error::NotSupported, "the source tensor is on ", from.device,
                ", which has no backend; host_backend() clones to cpu");
  }
  TENON_TRY(find_backend_like(from, requested, backend));
  const bool has_nothing = from.is_meta() || !from.has_data();
  if (has_nothing && (backend == nullptr || backend->device().type() != DeviceType::Meta)) {
    MemoryLocation nowhere;
    return find_location(from, "the source tensor", nowhere);  // for this function's error text
  }
  return Error::Ok;
}

/// The options of a clone in `backend`, which stands for the heap if it is the host's.
inline CreateOptions options_in(Backend& backend) noexcept {
  return create_options_of(ScalarType::Undefined, backend);
}

/// The functions that convert elements. They are null in clones that keep the type, so that such
/// clones do not link them.
struct Casting {
  CastFunction cast = nullptr;
  Error (*check)(ScalarType from, ScalarType to, CastMode mode) noexcept = nullptr;
};

/// Completes the options of a clone; sets `is_placeholder` if the source is one.
TENON_TEMPLATE_INLINE Error complete_clone(const TensorArg& source, CastMode mode,
                                           const Casting& casting, bool same_device,
                                           CreateOptions& opts, bool& is_placeholder) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  if (!opts.has_type) opts.type = from.type;
  opts.dynamism = from.dynamism;
  opts.backend = nullptr;  // ignores the BackendScope
  if (casting.check != nullptr) TENON_TRY(casting.check(from.type, opts.type, mode));
  const bool has_nothing = from.is_meta() || !from.has_data();
  if (opts.requested != nullptr || from.data_backend != nullptr ||
      !(from.device.is_cpu() || has_nothing)) {
    return find_clone_backend(from, opts.requested, same_device, opts.backend);
  }
  is_placeholder = has_nothing;
  return Error::Ok;
}

/// Makes a clone, by default on the source's device. For pinned or managed memory without a
/// backend, that is an error with `same_device`; without `same_device`, the clone is on cpu.
TENON_TEMPLATE_INLINE Error make_clone(const TensorArg& source, CreateOptions& opts, CastMode mode,
                                       const Casting& casting, bool same_device,
                                       NewTensor& tensor) noexcept {
  bool is_placeholder = false;
  TENON_TRY(complete_clone(source, mode, casting, same_device, opts, is_placeholder));
  const TensorFields& from = fields(source);
  if (is_placeholder) return make_placeholder(from, opts, tensor);
  if (opts.backend != nullptr || from.data_backend != nullptr || !from.device.is_cpu()) {
    return clone_with_backend(source, opts, mode, casting.cast, tensor);
  }
  Layout nested;  // dense layout of a source that is not dense
  const bool is_dense = from.layout.is_dense();
  if (!is_dense) TENON_TRY(lay_out_like(from.layout, nested));
  Error error = make_owned(is_dense ? from.layout : nested, opts, false, tensor);
  if (error == Error::Ok && is_dense && opts.type == from.type && from.layout.numel != 0) {
    move_dense(fields(tensor).data, from.data, from.nbytes());  // same layout as the source
  } else if (error == Error::Ok) {
    error = copy_to_new(fields(tensor), from, mode, casting.cast);
  }
  clear_after_baseline();  // GCC omits it at -Og after copying the layout
  return error;
}
/// make_clone() for the public `function`.
template <class Out>
Out clone(const char* function, const TensorArg& source,
          CreateOptions opts = CreateOptions(ScalarType::Undefined),
          CastMode mode = CastMode::Checked, const Casting& casting = {},
          bool same_device = false) {
  NewTensor tensor;
  const Error error = make_clone(source, opts, mode, casting, same_device, tensor);
  return return_to_user<Out>(function, error, tensor, opts.backend);
}

/// The conversion functions for a clone with these options.
template <class... Options>
constexpr Casting casting_for() noexcept {
  static_assert((... && !std::is_same_v<std::decay_t<Options>, TensorShapeDynamism>),
                "a clone has its source's dynamism");
  if constexpr (has_type_v<Options...>) {
    return {&cast_elements<>, &check_cast<>};
  } else {
    return {};
  }
}

}  // namespace detail

// A clone and its try_ form, which returns a Result. Functions, not function objects, so that the
// arguments choose between these and other overloads: Linux declares clone() too, ExecuTorch
// clone_tensor_ptr().
#define TENON_CLONE_FORM(Out, name)                                                        \
  template <class... Options, detail::IfOptions<Options...> = 0>                           \
  inline Out name(ConstTensorArg source, Options&&... options) {                           \
    constexpr detail::Casting kCasting = detail::casting_for<Options...>();                \
    detail::CreateOptions opts =                                                           \
        detail::create_options_of(own::ScalarType::Undefined, options...);                 \
    detail::NewTensor tensor;                                                              \
    Error error = opts.error;                                                              \
    if (error == Error::Ok) {                                                              \
      error = detail::make_clone(source, opts, CastMode::Checked, kCasting, true, tensor); \
    }                                                                                      \
    return detail::return_to_user<Out>(#name, error, tensor, opts.backend);                \
  }
#define TENON_CLONE(name)           \
  TENON_CLONE_FORM(TensorPtr, name) \
  TENON_CLONE_FORM(Result<TensorPtr>, try_##name)

/// A copy with the source's dynamism and dim order, and with its dtype or the one given. Dense
/// strides are kept, others become dense in the same dim order. The copy is made by the given
/// backend, else the source's backend, else the backend registered for the source's device. The
/// clone of a placeholder is a placeholder.
///
/// Options: a type, a backend.
/// Ownership: owns its memory, and is never read-only.
/// Errors: InvalidType if canCast refuses; InvalidState for an undefined or deallocated source;
/// NotSupported for memory of any device but cpu (pinned and managed too) without a backend;
/// OutOfMemory. Integers that are out of the target type's range wrap, as in C++.
/// Source: executorch::extension::clone_tensor_ptr; at::Tensor::clone and to.
TENON_CLONE(clone_tensor_ptr)
/// clone_tensor_ptr() by ATen's name.
TENON_CLONE(clone)

#undef TENON_CLONE_FORM
#undef TENON_CLONE

/// The outcome of backend_deallocate().
enum class Deallocation : uint8_t {
  Ok,                  ///< the memory is released
  AlreadyDeallocated,  ///< the memory was released before
  InUse,               ///< a view, a Blob or an export is alive: the memory is kept
};

/// The name, such as "InUse".
constexpr const char* toString(Deallocation outcome) noexcept {
  return outcome == Deallocation::Ok                   ? "Ok"
         : outcome == Deallocation::AlreadyDeallocated ? "AlreadyDeallocated"
                                                       : "InUse";
}

namespace detail {

/// Finds the backend of a tensor's memory. For the heap and for memory that the host can access,
/// this is the host's backend.
TENON_TEMPLATE_INLINE Error find_memory_backend(const TensorArg& tensor,
                                                Backend*& backend) noexcept {
  TENON_TRY(check_metadata(tensor, "the tensor"));
  const TensorFields& t = fields(tensor);
  TENON_TRY(check_not_deallocated(t, "the tensor"));
  TENON_TRY(find_data_backend(t, "the tensor", backend));
  if (backend != nullptr) return Error::Ok;
  if (t.is_host_accessible()) {
    backend = &host_backend();
    return Error::Ok;
  }
  return find_registered(t.device, backend);
}

/// Whether a tensor lives in `backend`'s memory.
TENON_TEMPLATE_INLINE bool lives_in(const TensorFields& tensor, Backend& backend) noexcept {
  if (tensor.data_backend != nullptr) return tensor.data_backend->backend == &backend;
  return tensor.device.is_cpu()
             ? BackendAccess::is_host_heap(backend)
             : tensor.device == backend.device() && find_backend(tensor.device) == &backend;
}

}  // namespace detail

/// The backend of a tensor's memory: the one that allocated it, else the one registered for its
/// device, which is the host's heap for the CPU. The try_ form returns a Result of a pointer, never
/// null.
/// Errors: InvalidState for an undefined or deallocated tensor, and if the backend was destroyed;
/// NotFound if no backend is registered for the device.
TENON_TEMPLATE_INLINE Backend& backend_of(TensorArg t) {
  Backend* backend = nullptr;
  detail::raise_if("backend_of", detail::find_memory_backend(t, backend));
  return *backend;
}
TENON_TEMPLATE_INLINE Result<Backend*> try_backend_of(TensorArg t) noexcept {
  Backend* backend = nullptr;
  TENON_TRY(detail::add_context_if("try_backend_of", detail::find_memory_backend(t, backend)));
  return backend;
}

namespace detail {

/// clone_tensor_ptr_to().
template <class Out>
Out clone_to(const char* function, const TensorArg& source, Device target) {
  Backend* backend = nullptr;
  const Error error = find_registered(target, backend);
  if (error != Error::Ok) return return_to_user<Out>(function, error);
  return clone<Out>(function, source, options_in(*backend));
}

/// backend_transfer().
template <class Out>
Out transfer(const char* function, const TensorArg& t, Backend& backend) {
  const auto check_unshared = [](const TensorArg& source) noexcept {
    return is_shared_memory(source)
               ? fail(Error::InUse,
                      "views or exports of the source tensor are alive, which cannot "
                      "move along; backend_copy() copies")
               : Error::Ok;
  };
  Error error = check_defined(t, "the source tensor");
  if (error != Error::Ok) return return_to_user<Out>(function, error);
  // The backends' code may drop the caller's handle, or make a view.
  const Tensor held = t.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
  const TensorArg source(held);
  typename IsResult<Out>::Value handle;
  if (lives_in(fields(source), backend)) {
    error = make_handle(Tensor(held), handle, metadata_backend_like(source));
    return return_to_user<Out>(function, error, std::move(handle));
  }
  CreateOptions opts = options_in(backend);
  NewTensor tensor;
  error = check_unshared(source);
  if (error == Error::Ok) {
    error = make_clone(source, opts, CastMode::Checked, {}, false, tensor);
  }
  if (error != Error::Ok) return return_to_user<Out>(function, error);
  const TensorFields& made = fields(tensor);  // the handle keeps it
  error = make_first_handle(tensor, handle);
  // The last check: nothing can fail after it.
  if (error == Error::Ok) error = check_unshared(source);
  if (error == Error::Ok) error = drop_memory(source);
  if (error == Error::Ok && opts.backend != nullptr) {
    notify_created(*opts.backend, made, function);
  }
  return return_to_user<Out>(function, error, std::move(handle));
}

}  // namespace detail

/// A copy in a backend's memory, with the source's dtype, sizes, dynamism and dim order; dense
/// strides are kept. The source stays as it is. Between two backends the bytes go through the host,
/// unless one of the backends can copy to or from the other.
/// Ownership: owns its memory.
/// Errors: InvalidState (an undefined or deallocated source, a placeholder, a backend that was
/// destroyed), NotSupported (a meta tensor, which has nothing to copy; memory of a device for which
/// no backend is registered), OutOfMemory, and what the backends report.
/// Source: Nx.backend_copy; at::Tensor::to(device, /*copy=*/true).
TENON_TEMPLATE_INLINE TensorPtr backend_copy(ConstTensorArg t, Backend& backend) {
  return detail::clone<TensorPtr>("backend_copy", t, detail::options_in(backend));
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_backend_copy(ConstTensorArg t, Backend& backend) {
  return detail::clone<Result<TensorPtr>>("try_backend_copy", t, detail::options_in(backend));
}

/// ExecuTorch's name for backend_copy() to the backend that is registered for a device, or to the
/// host's heap for the CPU. On the source's own device this is a plain copy.
/// Errors: NotFound if no backend is registered for the device, and backend_copy()'s.
/// Source: executorch::extension::clone_tensor_ptr_to, which only copies from or to the CPU.
TENON_TEMPLATE_INLINE TensorPtr clone_tensor_ptr_to(ConstTensorArg source, Device target) {
  return detail::clone_to<TensorPtr>("clone_tensor_ptr_to", source, target);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_clone_tensor_ptr_to(ConstTensorArg source,
                                                                Device target) {
  return detail::clone_to<Result<TensorPtr>>("try_clone_tensor_ptr_to", source, target);
}

/// Moves a tensor to a backend's memory: copies it there and deallocates the source, for all its
/// handles. If the tensor is already there, nothing is copied, and another handle to it is
/// returned.
/// Errors: those of backend_copy(), and InUse while views, Blobs or exports of the source are
/// alive: they cannot move along. Nothing is changed then.
/// Source: Nx.backend_transfer.
TENON_TEMPLATE_INLINE TensorPtr backend_transfer(TensorArg t, Backend& backend) {
  return detail::transfer<TensorPtr>("backend_transfer", t, backend);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_backend_transfer(TensorArg t, Backend& backend) {
  return detail::transfer<Result<TensorPtr>>("try_backend_transfer", t, backend);
}

namespace detail {

TENON_TEMPLATE_INLINE Error deallocate(const TensorArg& t, Deallocation& done) noexcept {
  TENON_TRY(check_metadata(t, "the tensor"));
  done = fields(t).deallocated ? Deallocation::AlreadyDeallocated
         : is_shared_memory(t) ? Deallocation::InUse
                               : Deallocation::Ok;
  return done == Deallocation::Ok ? drop_memory(t) : Error::Ok;
}

}  // namespace detail

/// Releases a tensor's memory now, in all its handles. Its metadata stays; every later access to
/// its elements is an error that says so. The try_ form returns a Result.
///
/// Returns an outcome, as in Nx, not an Error. While views, Blobs or exports use the memory, or a
/// view's source does, the outcome is InUse and nothing has changed. Runs the deleter. Memory
/// borrowed by a raw pointer is not released. Data of up to 1 KiB on the host's heap, or in a
/// backend that keeps metadata, shares a block with the metadata and is freed with it.
/// Errors: InvalidState for an undefined tensor.
/// Threads: the caller locks out all other users of the tensor.
/// Source: Nx.backend_deallocate.
template <class = void>
[[nodiscard]] Deallocation backend_deallocate(TensorArg t) {
  auto done = Deallocation::Ok;
  detail::raise_if("backend_deallocate", detail::deallocate(t, done));
  return done;
}
template <class = void>
Result<Deallocation> try_backend_deallocate(TensorArg t) noexcept {
  auto done = Deallocation::Ok;
  TENON_TRY(detail::add_context_if("try_backend_deallocate", detail::deallocate(t, done)));
  return done;
}

/// Waits for a backend's work.
/// Errors: the backend's.
template <class = void>
[[nodiscard]] Error synchronize(Backend& backend) noexcept {
  const Error error =
      detail::call_backend(backend, "synchronize", [&] { return backend.synchronize(); });
  return detail::add_context_if("synchronize", error);
}

TENON_END_NAMESPACE
