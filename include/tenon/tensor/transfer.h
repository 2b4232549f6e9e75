// SPDX-License-Identifier: MIT
// Tensors and backends: copying to one, moving to one, letting memory go.
#pragma once

#include "tenon/tensor/borrow.h"
#include "tenon/tensor/clone.h"

TENON_BEGIN_NAMESPACE

/// The outcome of backend_deallocate().
enum class Deallocation : uint8_t {
  Ok,                  ///< the memory is released
  AlreadyDeallocated,  ///< it was before
  InUse,               ///< a view, a Blob or an export of it is alive: the memory stays
};

constexpr const char* toString(Deallocation outcome) noexcept {
  return outcome == Deallocation::Ok                   ? "Ok"
         : outcome == Deallocation::AlreadyDeallocated ? "AlreadyDeallocated"
                                                       : "InUse";
}

namespace detail {

/// The backend of a tensor's memory: the host's for the heap and for memory that the host reaches.
TENON_TEMPLATE_INLINE Error find_backend_of(const TensorArg& tensor, Backend*& backend) noexcept {
  TENON_TRY(check_metadata(tensor, "the tensor"));
  const TensorFields& t = fields(tensor);
  TENON_TRY(check_not_deallocated(t, "the tensor"));
  TENON_TRY(find_data_backend(t, "the tensor", backend));
  if (backend != nullptr) return Error::Ok;
  if (t.is_host_accessible()) {
    backend = &host_backend();
    return Error::Ok;
  }
  backend = find_backend(t.device);
  if (backend == nullptr) {
    return fail(Error::NotFound, "no backend is registered for ", t.device);
  }
  return Error::Ok;
}

/// Whether a tensor lives in `backend`'s memory.
TENON_TEMPLATE_INLINE bool lives_in(const TensorFields& tensor, Backend& backend) noexcept {
  if (tensor.data_backend != nullptr) return tensor.data_backend->backend == &backend;
  return tensor.device.is_cpu()
             ? BackendAccess::is_host_heap(backend)
             : tensor.device == backend.device() && find_backend(tensor.device) == &backend;
}

}  // namespace detail

/// The backend whose memory a tensor has: the one that gave it, else the one registered for its
/// device, for the CPU always the one of the host's heap.
/// Errors: InvalidState for an undefined or deallocated tensor, and when the backend is gone;
/// NotFound when none is registered.
TENON_TEMPLATE_INLINE Backend& backend_of(TensorArg t) {
  Backend* backend = nullptr;
  detail::raise_if("backend_of", detail::find_backend_of(t, backend));
  return *backend;
}

template <class Out>
struct BackendCopy {
  const char* function;

  /// A copy in a backend's memory, with the source's dtype, sizes, dynamism and dim order; dense
  /// strides are kept. The source stays as it is. Between two backends the bytes go through the
  /// host unless one of them knows the other.
  /// Ownership: owns its memory.
  /// Errors: InvalidState (an undefined or deallocated source, a placeholder, a backend that is
  /// gone), NotSupported (a meta tensor, which has nothing to copy; memory of a device for which no
  /// backend is registered), OutOfMemory, and what the backends report.
  /// Source: Nx.backend_copy; at::Tensor::to(device, /*copy=*/true).
  Out operator()(detail::ConstTensorArg t, Backend& backend) const {
    return detail::clone<Out>(function, t, detail::options_in(backend));
  }
};

template <class Out>
struct CloneTensorTo {
  const char* function;

  /// backend_copy() to the backend that is registered for a device, for the CPU to the host's heap.
  /// On the source's own device it is a plain copy.
  /// Errors: NotFound when none is registered for the device, and backend_copy()'s.
  /// Source: executorch::extension::clone_tensor_ptr_to, which goes from the CPU or to it alone.
  Out operator()(detail::ConstTensorArg source, Device target) const {
    Backend* const backend = target.is_cpu() ? &host_backend() : detail::find_backend(target);
    if (backend == nullptr) {
      return detail::return_to_user<Out>(
          function, detail::fail(Error::NotFound, "no backend is registered for ", target));
    }
    return detail::clone<Out>(function, source, detail::options_in(*backend));
  }
};

template <class Out>
struct BackendTransfer {
  const char* function;

  /// Moves a tensor to a backend's memory: the source is deallocated, in all its handles. When it
  /// lives there already, this is another handle to it and nothing is moved.
  /// Errors: as backend_copy()'s, and InUse while views, Blobs or exports of the source are alive:
  /// they cannot move along. Nothing is changed then.
  /// Source: Nx.backend_transfer.
  Out operator()(TensorArg t, Backend& backend) const {
    const auto check_unshared = [](const TensorArg& source) noexcept {
      return detail::is_shared_memory(source)
                 ? detail::fail(Error::InUse,
                                "views or exports of the source tensor are alive, which cannot "
                                "move along; backend_copy() copies")
                 : Error::Ok;
    };
    Error error = detail::check_defined(t, "the source tensor");
    if (error != Error::Ok) return detail::return_to_user<Out>(function, error);
    // The backends' code may drop the handle, or make a view.
    const Tensor held = t.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
    const TensorArg source(held);
    typename detail::IsResult<Out>::Value handle;
    if (detail::lives_in(detail::fields(source), backend)) {
      error = detail::make_handle(Tensor(held), handle, detail::metadata_backend_like(source));
      return detail::return_to_user<Out>(function, error, std::move(handle));
    }
    detail::CreateOptions opts = detail::options_in(backend);
    detail::NewTensor tensor;
    error = check_unshared(source);
    if (error == Error::Ok) {
      error = detail::make_clone(source, opts, CastMode::Checked, {}, false, tensor);
    }
    if (error != Error::Ok) return detail::return_to_user<Out>(function, error);
    const detail::TensorFields& made = detail::fields(tensor);  // the handle keeps it
    error = detail::make_first_handle(tensor, handle);
    // Only then, since nothing else can fail.
    if (error == Error::Ok) error = check_unshared(source);
    if (error == Error::Ok) error = detail::drop_memory(source);
    if (error == Error::Ok && opts.backend != nullptr) {
      detail::notify_created(*opts.backend, made, function);
    }
    return detail::return_to_user<Out>(function, error, std::move(handle));
  }
};

inline constexpr BackendCopy<TensorPtr> backend_copy{"backend_copy"};
inline constexpr CloneTensorTo<TensorPtr> clone_tensor_ptr_to{"clone_tensor_ptr_to"};
inline constexpr BackendTransfer<TensorPtr> backend_transfer{"backend_transfer"};
inline constexpr BackendCopy<Result<TensorPtr>> try_backend_copy{"try_backend_copy"};
inline constexpr CloneTensorTo<Result<TensorPtr>> try_clone_tensor_ptr_to{
    "try_clone_tensor_ptr_to"};
inline constexpr BackendTransfer<Result<TensorPtr>> try_backend_transfer{"try_backend_transfer"};

/// Releases a tensor's memory now, in all its handles. Its metadata stays; every later access to
/// its elements is an error that names it.
///
/// InUse, with nothing changed, while others use the memory: views, Blobs and exports; of a view
/// also its source. A deleter runs; memory lent by raw pointer is let go of. Up to 1 KiB on the
/// host's heap or in a backend that keeps metadata, such as an arena, lies in one block with the
/// metadata, and is released with that.
/// Errors: InvalidState for an undefined tensor.
/// Threads: the caller locks out all who use the tensor.
/// Source: Nx.backend_deallocate.
template <class = void>
Deallocation backend_deallocate(TensorArg t) {
  const char* const function = "backend_deallocate";
  detail::raise_if(function, detail::check_metadata(t, "the tensor"));
  if (detail::fields(t).deallocated) return Deallocation::AlreadyDeallocated;
  if (detail::is_shared_memory(t)) return Deallocation::InUse;
  detail::raise_if(function, detail::drop_memory(t));
  return Deallocation::Ok;
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
