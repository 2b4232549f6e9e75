// SPDX-License-Identifier: MIT
// Finds the location of a tensor's elements; gives a new tensor its values.
#pragma once

#include "tenon/backend/copy_between.h"
#include "tenon/backend/registry.h"
#include "tenon/tensor/handle.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The backend that gave a tensor its memory; null for heap memory and memory that came as a
/// pointer.
/// Errors: InvalidState when it is gone.
inline Error find_owner(const TensorFields& tensor, const char* role, Backend*& backend) noexcept {
  backend = tensor.owner == nullptr ? nullptr : tensor.owner->find();
  return check_owner(tensor, role);
}

/// The backend that is registered for a device which the host does not reach.
inline Error find_registered(Device device, const char* role, Backend*& backend) noexcept {
  backend = find_backend(device);
  if (backend == nullptr) {
    return fail_reach(role, device, "; no backend is registered for it");
  }
  return Error::Ok;
}
/// Sets the backend that copies the elements; learn() was called for it.
inline void set_transfer_backend(BackendState& state, MemoryLocation& location) noexcept {
  location.backend = state.base;
  location.state = &state;
}
/// The backend that copies elements on that device.
inline Error find_transfer_backend(Device device, const char* role,
                                   MemoryLocation& location) noexcept {
  Backend* const backend = find_backend(device);
  BackendState* const state = backend == nullptr ? nullptr : known_state(*backend);
  if (state == nullptr || state->find() == nullptr) {  // or what it wraps is gone
    return fail_reach(role, device, "; no backend is registered for it");
  }
  set_transfer_backend(*state, location);
  return Error::Ok;
}

/// view_of() in place.
/// Errors: OutOfMemory.
inline Error set_view(const TensorFields& tensor, TensorView& view) noexcept {
  view.data = tensor.data;
  view.type = public_type(tensor.type);
  view.device = tensor.device;
  view.sizes = tensor.layout.sizes();
  view.strides = tensor.layout.strides();
  return check_lists(view);
}

/// Describes the memory of a tensor.
/// Errors: InvalidState for a deallocated tensor, a placeholder, and when the backend is gone;
/// NotSupported for a template, and for a device without a registered backend; OutOfMemory.
inline Error find_location(const TensorFields& tensor, const char* role,
                           MemoryLocation& location) noexcept {
  TENON_TRY(check_not_deallocated(tensor, role));
  if (tensor.is_meta()) return fail_meta(tensor, role);
  TENON_TRY(check_owner(tensor, role));
  if (!tensor.is_host_accessible()) {
    if (tensor.owner != nullptr) {
      set_transfer_backend(*tensor.owner, location);
    } else {
      TENON_TRY(find_transfer_backend(tensor.device, role, location));
    }
  }
  if (!tensor.has_data()) {
    return fail(Error::InvalidState, role, " is a placeholder without data");
  }
  return set_view(tensor, location.view);
}

/// The location of elements to be read.
TENON_TEMPLATE_INLINE Error find_source(const TensorArg& tensor, const char* role,
                                        MemoryLocation& location) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  return find_location(fields(tensor), role, location);
}

/// The location of elements to be written. Refuses read-only memory and elements that share memory.
TENON_TEMPLATE_INLINE Error find_destination(const TensorArg& tensor, const char* role,
                                             MemoryLocation& location) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  const TensorFields& to = fields(tensor);
  if (to.readonly) return fail(Error::InvalidState, role, " is read-only");
  TENON_TRY(find_location(to, role, location));
  if (to.layout.may_overlap()) {
    return fail(Error::InvalidArgument, role, " has strides ", to.layout.strides(), " for sizes ",
                to.layout.sizes(), ", at which elements may share memory");
  }
  return Error::Ok;
}

/// Holds a tensor's memory if a backend's code may run meanwhile: its own backend's, or with
/// `asks_other` another one's. That code may drop the handle.
inline Error hold_while_asking(const TensorArg& tensor, bool asks_other,
                               MemoryHold& hold) noexcept {
  const TensorFields& t = fields(tensor);
  if (t.owner == nullptr && !asks_other && t.is_host_accessible()) return Error::Ok;
  return hold.hold(tensor);
}

/// Lets the backend that is registered for a device check memory that came as a pointer. Without a
/// backend it is not checked.
TENON_TEMPLATE_INLINE Error check_memory(Device device, const void* data, ScalarType type,
                                         const Layout& layout) noexcept {
  Backend* const backend = find_backend(device);
  BackendState* const state = backend == nullptr ? nullptr : known_state(*backend);
  return state == nullptr ? Error::Ok : state->check_memory(data, type, layout);
}

/// The location of a tensor that was just made.
/// Errors: OutOfMemory.
inline Error locate_new(const TensorFields& made, MemoryLocation& location) noexcept {
  if (!made.is_host_accessible()) set_transfer_backend(*made.owner, location);
  return set_view(made, location.view);
}

/// Makes a tensor's values. Asks the backend that owns the memory by `ask(backend, out)`; without
/// one, or on NotSupported, `make(out)` writes host memory.
template <class Ask, class Make>
Error produce(const TensorFields& tensor, const MemoryLocation& out, const char* operation,
              const Ask& ask, const Make& make) noexcept {
  BackendState* const state = tensor.owner != nullptr ? tensor.owner : out.state;
  return state == nullptr ? make(out.view) : state->produce(out, operation, ask, make);
}

/// For values that no backend makes.
inline constexpr std::nullptr_t kNotAsked = nullptr;

/// Gives a new tensor in a backend's memory its values.
TENON_TEMPLATE_INLINE TENON_COLD Error produce_in_backend(const TensorFields& made,
                                                          const char* operation, MakeOnBackend ask,
                                                          MakeRowOnHost make) noexcept {
  if (made.layout.numel == 0 || made.is_meta()) return Error::Ok;
  MemoryLocation out;
  TENON_TRY(locate_new(made, out));
  return made.owner->produce(out, operation, ask,
                             [&](const TensorView& view) noexcept { return make(view.data); });
}

/// Gives a new tensor its values: by the backend's `ask(backend, out)`, and where it has none by
/// `make(data)`, which writes them to host memory, one after another.
template <class Ask, class Make>
Error produce_new(const TensorFields& made, const char* operation, const Ask& ask,
                  const Make& make) noexcept {
  if (made.owner == nullptr) return make(made.data);
  return produce_in_backend(made, operation, ask, make);
}

}  // namespace detail
TENON_END_NAMESPACE
