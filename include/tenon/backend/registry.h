// SPDX-License-Identifier: MIT
// The backends registered for devices, and the thread's default backend.
#pragma once

#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/cpu.h"
#include "tenon/core/result.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The thread's default backend; null for the host's heap.
TENON_EXPORT inline Backend*& current_backend() noexcept {
  static TENON_THREAD_LOCAL Backend* backend = nullptr;
  return backend;
}

/// The backend that is registered for a device, null if there is none. The caller holds the lock.
inline Backend* find_locked(const BackendRegistry& registry, Device device) noexcept {
  Backend* at = registry.first;
  while (at != nullptr && BackendAccess::registered_device(*at) != device) {
    at = BackendAccess::next(*at);
  }
  return at;
}
inline Backend* find_backend(Device device) noexcept {
  BackendRegistry& registry = backend_registry();
  const LockGuard<SpinLock> guard(registry.lock);
  return find_locked(registry, device);
}
/// Returns false if the device already has a registered backend.
inline bool add_to_registry(Backend& backend, Device device) noexcept {
  BackendRegistry& registry = backend_registry();
  const LockGuard<SpinLock> guard(registry.lock);
  if (find_locked(registry, device) != nullptr) return false;
  BackendAccess::next(backend) = std::exchange(registry.first, &backend);
  BackendAccess::registered_device(backend) = device;
  return true;
}

TENON_TEMPLATE_INLINE Error check_and_register(Backend& backend) noexcept {
  const Device device = backend.device();
  if (!device.is_cpu() && BackendAccess::state(backend) == nullptr) {
    return fail(Error::OutOfMemory, "backend ", backend.name(), " had no memory for its state");
  }
  if (device.is_cpu() || !add_to_registry(backend, device)) {
    return fail(Error::InvalidState, "a backend is registered for ", device, " already");
  }
  return Error::Ok;
}
inline Error check_and_unregister(Backend& backend) noexcept {
  if (remove_from_registry(backend)) return Error::Ok;
  return fail(Error::NotFound, "backend ", backend.name(), " is not registered");
}
/// The backend registered for a device; the host's heap for the CPU.
inline Error find_registered(Device device, Backend*& found) noexcept {
  found = device.is_cpu() ? &host_backend() : find_backend(device);
  if (found != nullptr) return Error::Ok;
  return fail(Error::NotFound, "no backend is registered for ", device,
              "; register_backend(backend) registers one");
}

/// The backend, or null for the host's heap.
inline Backend* null_if_heap(Backend* backend) noexcept {
  return backend != nullptr && BackendAccess::is_host_heap(*backend) ? nullptr : backend;
}

}  // namespace detail

/// Registers a backend for its device. Creators that are given the device allocate with the
/// backend. The backend also copies tensors over foreign memory on the device (pointers, blobs).
/// Tensors that a backend allocated refer to it without registration.
///
/// A program and its shared libraries have one registry. The CPU's backend is always registered and
/// cannot be replaced.
/// Ownership: borrows the backend, whose destructor unregisters it.
/// Errors: InvalidState when the device already has a registered backend; OutOfMemory when the
/// backend cannot make tensors. The try_ form returns the Error.
/// Threads: any.
TENON_TEMPLATE_INLINE void register_backend(Backend& backend) {
  detail::raise_if("register_backend", detail::check_and_register(backend));
}
template <class = void>
[[nodiscard]] Error try_register_backend(Backend& backend) noexcept {
  return detail::add_context_if("try_register_backend", detail::check_and_register(backend));
}

/// Removes a backend's registration: afterwards no backend is registered for its device. The try_
/// form returns the Error.
/// Errors: NotFound when the backend is not registered.
inline void unregister_backend(Backend& backend) {
  detail::raise_if("unregister_backend", detail::check_and_unregister(backend));
}
[[nodiscard]] inline Error try_unregister_backend(Backend& backend) noexcept {
  return detail::add_context_if("try_unregister_backend", detail::check_and_unregister(backend));
}

/// The backend that is registered for a device. The try_ form returns a Result of a pointer, never
/// null.
/// Errors: NotFound when no backend is registered for the device.
inline Backend& backend_for(Device device) {
  Backend* found = nullptr;
  detail::raise_if("backend_for", detail::find_registered(device, found));
  return *found;
}
inline Result<Backend*> try_backend_for(Device device) noexcept {
  Backend* found = nullptr;
  TENON_TRY(detail::add_context_if("try_backend_for", detail::find_registered(device, found)));
  return found;
}

/// The backend that the calling thread's creators use by default: the innermost BackendScope's,
/// else the CPU's.
inline Backend& default_backend() noexcept {
  Backend* const current = detail::current_backend();
  return current != nullptr ? *current : host_backend();
}

/// While it lives, the backend is the calling thread's default. If the backend keeps metadata, as
/// an arena does, the metadata of borrowed tensors, and of views and handles of tensors on the
/// heap, is kept there too; the metadata of imports and exports never is.
/// Ownership: borrows the backend, which must outlive the scope and everything in its memory.
/// Scopes end in the reverse order of their beginnings, on the same thread.
/// Threads: tensors that are made in an arena's scope, borrowed tensors too, belong to the arena's
/// thread.
class BackendScope {
 public:
  /// Makes `backend` this thread's default.
  explicit BackendScope(Backend& backend) noexcept
      : before_(std::exchange(detail::current_backend(), &backend)) {}
  BackendScope(const BackendScope&) = delete;
  BackendScope& operator=(const BackendScope&) = delete;
  ~BackendScope() { detail::current_backend() = before_; }

 private:
  Backend* before_;
};

TENON_END_NAMESPACE
