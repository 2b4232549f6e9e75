// SPDX-License-Identifier: MIT
// Finds the location of a tensor's elements, and fills them.
#pragma once

#include "tenon/backend/copy_between.h"
#include "tenon/backend/registry.h"
#include "tenon/tensor/handle.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The backend that allocated a tensor's memory; null for heap memory and foreign pointers.
/// Errors: InvalidState if that backend was destroyed.
TENON_TEMPLATE_INLINE Error find_data_backend(const TensorFields& tensor, const char* role,
                                              Backend*& backend) noexcept {
  backend = tensor.data_backend == nullptr ? nullptr : tensor.data_backend->backend;
  return check_data_backend(tensor, role);
}

/// Finds the backend that is registered for `device`, whose memory the host cannot access.
TENON_TEMPLATE_INLINE Error find_memory_backend(Device device, const char* role,
                                                Backend*& backend) noexcept {
  backend = find_backend(device);
  if (backend == nullptr) {
    return fail_reach(role, device, "; no backend is registered for it");
  }
  return Error::Ok;
}
/// Checks that a backend is registered for `device`, whose memory the host cannot access.
TENON_TEMPLATE_INLINE Error check_registered(Device device, const char* role) noexcept {
  Backend* backend = nullptr;
  return find_memory_backend(device, role, backend);
}
/// The state of the backend registered for a device, or null.
inline BackendState* registered_state(Device device) noexcept {
  Backend* const backend = find_backend(device);
  return backend == nullptr ? nullptr : state_of(*backend);
}
/// Sets the backend of a location that the host cannot access: the memory's backend, else the one
/// that is registered for the device.
TENON_TEMPLATE_INLINE Error set_location_backend(Device device, const char* role,
                                                 MemoryLocation& location) noexcept {
  if (location.state == nullptr) location.state = registered_state(device);
  if (location.state == nullptr || !location.state->is_alive()) {  // or wraps a dead one
    return fail_reach(role, device, "; no backend is registered for it");
  }
  location.backend = location.state->base;
  return Error::Ok;
}

/// Sets `to` to a tensor's memory; refers to the tensor's lists.
/// Errors: InvalidState for a deallocated tensor, a placeholder, and if the backend was destroyed;
/// NotSupported for a meta tensor, and for a device without a registered backend.
TENON_TEMPLATE_INLINE Error find_location(const TensorFields& tensor, const char* role,
                                          MemoryLocation& location) noexcept {
  TENON_TRY(check_not_deallocated(tensor, role));
  if (tensor.is_meta()) return fail_meta(tensor, role);
  TENON_TRY(check_data_backend(tensor, role));
  location.state = tensor.data_backend;
  if (!tensor.is_host_accessible()) TENON_TRY(set_location_backend(tensor.device, role, location));
  if (!tensor.has_data()) {
    return fail(Error::InvalidState, role, " is a placeholder without data");
  }
  location.view = view_of(tensor);
  return Error::Ok;
}

/// Finds the location of elements to read.
TENON_TEMPLATE_INLINE Error find_source(const TensorArg& tensor, const char* role,
                                        MemoryLocation& location) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  return find_location(fields(tensor), role, location);
}

/// Refuses a layout whose elements may share memory.
TENON_TEMPLATE_INLINE Error check_distinct(const Layout& layout, const char* role) noexcept {
  if (layout.row_major || !layout.may_overlap()) return Error::Ok;
  return fail(Error::InvalidArgument, role, " has strides ", layout.strides(), " for sizes ",
              layout.sizes(), ", at which elements may share memory");
}

/// Finds the location of elements to write. Refuses read-only memory and elements that share
/// memory.
TENON_TEMPLATE_INLINE Error find_destination(const TensorArg& tensor, const char* role,
                                             MemoryLocation& location) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  const TensorFields& to = fields(tensor);
  if (to.readonly) return fail(Error::InvalidState, role, " is read-only");
  TENON_TRY(find_location(to, role, location));
  return check_distinct(to.layout, role);
}

/// Whether a backend's code may run while a tensor is in use: the code of the tensor's backend or,
/// if `asks_other`, that of another backend.
inline bool is_backend_asked(const TensorFields& tensor, bool asks_other) noexcept {
  return tensor.data_backend != nullptr || asks_other || !tensor.is_host_accessible();
}

/// A location whose lists do not change when a backend's code resizes the tensor.
struct LocationWithLists : MemoryLocation {
  ViewWithLists lists;  // copies of the tensor's lists

  /// Errors: OutOfMemory.
  Error keep_lists() noexcept { return copy_lists(view, lists); }
};

/// A location that stays valid while a backend's code runs. That code may drop the tensor's handle
/// and resize the tensor.
struct HeldLocation : LocationWithLists {
  MemoryHold hold;

  /// Copies the lists, and holds the memory.
  /// Errors: OutOfMemory.
  TENON_TEMPLATE_INLINE Error keep(const TensorArg& tensor) noexcept {
    TENON_TRY(keep_lists());
    return hold.hold(tensor);
  }
  /// Calls keep() if is_backend_asked().
  TENON_TEMPLATE_INLINE Error keep_while_asking(const TensorArg& tensor, bool asks_other) noexcept {
    return is_backend_asked(fields(tensor), asks_other) ? keep(tensor) : Error::Ok;
  }
};

/// Asks the backend that is registered for a device to check a foreign pointer. If none is
/// registered, the pointer is not checked.
TENON_TEMPLATE_INLINE Error check_device_pointer(Device device, const void* data, ScalarType type,
                                                 const Layout& layout) noexcept {
  BackendState* const state = registered_state(device);
  return state == nullptr ? Error::Ok : state->check_pointer(data, type, layout);
}

/// The location of a new tensor.
TENON_TEMPLATE_INLINE MemoryLocation locate_new(const TensorFields& made) noexcept {
  MemoryLocation location;
  location.view = view_of(made);
  location.state = made.data_backend;
  if (!made.is_host_accessible()) location.backend = made.data_backend->base;
  return location;
}

/// Fills a tensor in a backend's memory by `by_backend(backend, view)`. If there is no backend, or
/// that returns NotSupported, fills it by `by_host(view)` in host memory.
template <class ByHost>
Error fill_location(const TensorFields& tensor, const MemoryLocation& out, const char* operation,
                    const FillByBackend& by_backend, const ByHost& by_host) noexcept {
  if (out.state == nullptr || !out.state->may_fill) return by_host(out.view);
  return out.state->fill(tensor.data, tensor.type, tensor.layout, tensor.layout.numel, operation,
                         by_backend, by_host);
}
/// Fills `count` consecutive elements of a new tensor as fill_location() does, but by
/// `by_host(data)`, which writes in memory order if `by_backend` is null.
template <class ByHost>
Error fill_new(const TensorFields& made, int64_t count, const char* operation,
               const FillByBackend& by_backend, const ByHost& by_host) noexcept {
  if (count == 0) return Error::Ok;  // the data may be null
  if (made.data_backend == nullptr || !made.data_backend->may_fill) return by_host(made.data);
  return made.data_backend->fill(made.data, made.type, made.layout, count, operation, by_backend,
                                 [&](const TensorView& out) noexcept { return by_host(out.data); });
}

}  // namespace detail
TENON_END_NAMESPACE
