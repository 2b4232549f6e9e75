// SPDX-License-Identifier: MIT
// Where a tensor's elements are: in memory that the host reaches, or with a backend that does.
#pragma once

#include "tenon/backend/copy_between.h"
#include "tenon/backend/registry.h"
#include "tenon/tensor/fields.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The backend that gave a tensor its memory; null for heap memory and memory that came as a
/// pointer.
/// Errors: InvalidState when it is gone.
inline Error find_owner(const TensorFields& tensor, const char* role, Backend*& backend) noexcept {
  backend = tensor.backend == nullptr ? nullptr : tensor.backend->find();
  return check_owner(tensor, role);
}

/// The backend that is registered for a device which the host does not reach.
inline Error find_registered(Device device, const char* role, Backend*& backend) noexcept {
  backend = find_backend(device);
  if (TENON_UNLIKELY(backend == nullptr)) {
    return fail_reach(role, device, "; no backend is registered for it");
  }
  return Error::Ok;
}
/// The backend that copies elements on that device.
inline Error find_mover(Device device, const char* role, Backend*& backend) noexcept {
  TENON_TRY(find_registered(device, role, backend));
  backend = &backend->base();
  return Error::Ok;
}

/// Describes the memory of a tensor, for reading or writing by `place.backend`, or the host if that
/// is null.
/// Errors: InvalidState for a deallocated tensor, a placeholder, and when the backend is gone;
/// NotSupported for a template, and for a device without a registered backend.
inline Error find_place(const TensorFields& tensor, const char* role, Place& place) noexcept {
  TENON_TRY(check_not_deallocated(tensor, role));
  if (TENON_UNLIKELY(tensor.is_template())) return fail_template(tensor, role);
  TENON_TRY(find_owner(tensor, role, place.backend));
  if (tensor.is_host_accessible()) {
    place.backend = nullptr;
  } else {
    if (place.backend == nullptr) TENON_TRY(find_registered(tensor.device, role, place.backend));
    place.backend = &place.backend->base();
  }
  if (TENON_UNLIKELY(tensor.data == nullptr && tensor.layout.numel != 0)) {
    return fail(Error::InvalidState, role, " is a placeholder without data");
  }
  place.view = view_of(tensor);
  return check_lists(place.view);
}

/// Has memory that came as a pointer checked by its backend: the one that is `given`, or else
/// registered for its device. What neither checks is taken as it is.
TENON_LAZY TENON_NOINLINE Error check_memory(Device device, const void* lowest, size_t nbytes,
                                             Backend* given = nullptr) noexcept {
  Backend* const backend = given != nullptr ? given : find_backend(device);
  if (backend == nullptr || nbytes == 0) return Error::Ok;
  const auto check = BackendAccess::hooks(*backend).check_memory;
  return check == nullptr ? Error::Ok : check(*backend, lowest, nbytes);
}
/// The same for a layout of elements over it, the first at `data`.
TENON_LAZY Error check_memory(Device device, const void* data, ScalarType type,
                              const Layout& layout, Backend* given = nullptr) noexcept {
  const size_t size = elementSize(type);
  const size_t below = (uintptr_t{0} - static_cast<uintptr_t>(layout.offsets.min)) * size;
  const size_t nbytes = below + static_cast<uintptr_t>(layout.offsets.max + 1) * size;
  // As integers: it is not known yet that there is memory.
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (given == nullptr) given = find_backend(device);
  if (given == nullptr || data == nullptr || layout.numel == 0) return Error::Ok;
  if (TENON_UNLIKELY(below > address || nbytes > UINTPTR_MAX - (address - below))) {
    return fail(Error::InvalidArgument, "sizes ", layout.sizes(), " and strides ", layout.strides(),
                " lead out of the address space");
  }
  return check_memory(device, static_cast<const char*>(data) - below, nbytes, given);
}

/// The memory of a tensor that was just made.
inline Place place_of_new(const TensorFields& made, const TensorView& part) noexcept {
  return {part, made.is_host_accessible() ? nullptr : &made.backend->backend->base()};
}

/// Makes a tensor's values. Asks the backend that owns the memory by `ask(backend, out)`; without
/// one, or on NotSupported, `make(out)` writes host memory.
template <class Ask, class Make>
Error produce(const TensorFields& tensor, const Place& out, const char* operation, const Ask& ask,
              const Make& make) noexcept {
  Backend* const asked = tensor.backend != nullptr ? &tensor.backend->backend->base() : out.backend;
  if (asked == nullptr) return make(out.view);
  return BackendAccess::hooks(*asked).produce(asked, out, operation, ask, make);
}

/// For what a backend is not asked to do.
inline constexpr std::nullptr_t kNotAsked = nullptr;

/// Gives a new tensor in a backend's memory its values.
TENON_LAZY TENON_COLD Error
produce_in_backend(const TensorFields& made, const char* operation,
                   FunctionRef<Error(Backend&, const tenon::TensorView&)> ask,
                   FunctionRef<Error(void*)> make) noexcept {
  if (made.layout.numel == 0 || made.is_template()) return Error::Ok;
  const Place out = place_of_new(made, view_of(made));
  TENON_TRY(check_lists(out.view));
  Backend& backend = made.backend->backend->base();
  return BackendAccess::hooks(backend).produce(
      &backend, out, operation, ask,
      [&](const TensorView& view) noexcept { return make(view.data); });
}

/// Gives a new tensor its values: by the backend's `ask(backend, out)`, and where it has none by
/// `make(data)`, which writes them to host memory, one after another.
template <class Ask, class Make>
Error produce_new(const TensorFields& made, const char* operation, const Ask& ask,
                  const Make& make) noexcept {
  if (made.backend == nullptr) return make(made.data);
  return produce_in_backend(made, operation, ask, make);
}

}  // namespace detail
TENON_END_NAMESPACE
