// SPDX-License-Identifier: MIT
// The backends registered for devices, and the thread's default backend.
#pragma once

#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/cpu.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The thread's default backend; null for the host's heap.
TENON_EXPORT inline Backend*& current_backend() noexcept {
  static TENON_THREAD_LOCAL Backend* backend = nullptr;
  return backend;
}

/// The backend that is registered for a device, null when there is none. With the lock held.
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
/// False if the device already has a backend.
inline bool add_to_registry(Backend& backend, Device device) noexcept {
  BackendRegistry& registry = backend_registry();
  const LockGuard<SpinLock> guard(registry.lock);
  if (find_locked(registry, device) != nullptr) return false;
  BackendAccess::next(backend) = std::exchange(registry.first, &backend);
  BackendAccess::registered_device(backend) = device;
  return true;
}

/// The backend, or null for the host's heap.
inline Backend* null_if_heap(Backend* backend) noexcept {
  return backend != nullptr && BackendAccess::is_host_heap(*backend) ? nullptr : backend;
}

}  // namespace detail

/// Registers a backend for foreign memory of its device: pointers and blobs. Tensors made by a
/// backend refer to it already.
///
/// A program and its shared libraries have one registry. The CPU's backend is always registered and
/// cannot be replaced.
/// Ownership: borrows; a backend that is destroyed is unregistered.
/// Errors: InvalidState when the device already has a registered backend; OutOfMemory when the
/// backend cannot make tensors.
/// Threads: any.
TENON_TEMPLATE_INLINE void register_backend(Backend& backend) {
  const Device device = backend.device();
  TENON_CHECK(device.is_cpu() || detail::BackendAccess::state(backend) != nullptr,
              Error::OutOfMemory, "register_backend: backend ", backend.name(),
              " had no memory for its state");
  TENON_CHECK(!device.is_cpu() && detail::add_to_registry(backend, device), Error::InvalidState,
              "register_backend: a backend is registered for ", device, " already");
}

/// Errors: NotFound when the backend is not registered.
inline void unregister_backend(Backend& backend) {
  TENON_CHECK(detail::remove_from_registry(backend), Error::NotFound,
              "unregister_backend: backend ", backend.name(), " is not registered");
}

/// The backend of a device's memory.
/// Errors: NotFound when none is registered for it.
inline Backend& backend_for(Device device) {
  if (device.is_cpu()) return host_backend();
  Backend* const found = detail::find_backend(device);
  TENON_CHECK(found != nullptr, Error::NotFound, "backend_for: no backend is registered for ",
              device);
  return *found;
}

/// The backend that the calling thread's creators use by default: the innermost BackendScope's,
/// else the CPU's.
inline Backend& default_backend() noexcept {
  Backend* const current = detail::current_backend();
  return current != nullptr ? *current : host_backend();
}

/// While it lives, the backend is the calling thread's default. If the backend keeps metadata, as
/// an arena does, borrowed tensors, and views and handles of tensors on the heap, keep theirs there
/// too; imports and exports never do.
/// Ownership: borrows the backend, which must outlive the scope and everything in its memory.
/// Scopes end in the reverse order of their beginnings, on the same thread.
/// Threads: tensors made in an arena's scope, borrowed ones too, belong to the arena's thread.
class BackendScope {
 public:
  explicit BackendScope(Backend& backend) noexcept
      : before_(std::exchange(detail::current_backend(), &backend)) {}
  BackendScope(const BackendScope&) = delete;
  BackendScope& operator=(const BackendScope&) = delete;
  ~BackendScope() { detail::current_backend() = before_; }

 private:
  Backend* before_;
};

TENON_END_NAMESPACE
