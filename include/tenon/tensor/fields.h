// SPDX-License-Identifier: MIT
// TensorFields: a tensor's metadata in both modes, and its checks.
#pragma once

#include "tenon/backend/backend.h"
#include "tenon/core/data_ptr.h"

TENON_BEGIN_NAMESPACE

/// Whether and how a tensor's shape may change.
/// Source: ExecuTorch, where DYNAMIC_UNBOUND cannot grow.
enum class TensorShapeDynamism : uint8_t {
  STATIC = 0,                 ///< never
  DYNAMIC_BOUND = 1,          ///< up to the element count at creation; memory never moves
  DYNAMIC_UNBOUND = 2,        ///< without limit; owned memory is reallocated to grow
  DYNAMIC = DYNAMIC_UNBOUND,  ///< the short name of DYNAMIC_UNBOUND
};

/// Whose memory a tensor describes.
enum class Ownership : uint8_t {
  Owned,     ///< allocated by tenon
  Adopted,   ///< passed in with a deleter, or as a container
  Borrowed,  ///< the caller's memory, which the caller keeps alive
  View,      ///< another tensor's memory, which the view keeps alive
};

namespace detail {

constexpr const char* toString(TensorShapeDynamism dynamism) noexcept {
  return dynamism == TensorShapeDynamism::STATIC          ? "STATIC"
         : dynamism == TensorShapeDynamism::DYNAMIC_BOUND ? "DYNAMIC_BOUND"
                                                          : "DYNAMIC_UNBOUND";
}

/// A tensor's metadata. Creators fill it in place: copying a layout costs more than computing it.
struct TensorFields {
  Layout layout;
  void* data = nullptr;
  ptrdiff_t capacity = 0;  // elements that fit, from data upward
  Device device;
  ScalarType type = ScalarType::Float;
  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC;
  Ownership ownership = Ownership::Borrowed;
  // Bit fields: a TensorImpl takes 160 bytes on bare metal.
  bool readonly : 1;
  bool opaque : 1;                           // only the backend can access the memory
  bool deallocated : 1;                      // backend_deallocate() has left only metadata
  bool has_seat : 1;                         // there is a Seat before the impl's node
  BackendState* data_backend = nullptr;      // the memory's backend; null for the host's heap
  BackendState* metadata_backend = nullptr;  // this metadata's backend; null for the heap

  TensorFields() noexcept : readonly(false), opaque(false), deallocated(false), has_seat(false) {}

  /// Derives the other fields from layout, data and type.
  void finalize(TensorShapeDynamism asked) noexcept {
    dynamism = layout.rank() == 0 ? TensorShapeDynamism::STATIC : asked;
    // After a resize the lowest element is element 0, so memory below it does not count.
    capacity =
        layout.required_span_size() < layout.numel ? layout.required_span_size() : layout.numel;
  }
  size_t nbytes() const noexcept { return static_cast<size_t>(layout.numel) * elementSize(type); }
  /// False only for a placeholder: it has elements, but no memory.
  bool has_data() const noexcept { return data != nullptr || layout.numel == 0; }
  /// Whether the host may read and write the memory through a pointer.
  bool is_host_accessible() const noexcept { return device.is_host_accessible() && !opaque; }
  bool is_meta() const noexcept { return device.type() == DeviceType::Meta; }
};

/// The backend for further metadata of a tensor, such as a view's; null for the heap, and if the
/// backend was destroyed.
inline BackendState* metadata_backend_of(const TensorFields& tensor) noexcept {
  BackendState* const state = tensor.metadata_backend;
  return state != nullptr && state->is_alive() ? state : nullptr;
}

/// A view of the memory.
inline TensorView view_of(const TensorFields& tensor) noexcept {
  return {tensor.data, public_type(tensor.type), tensor.device, tensor.layout.sizes(),
          tensor.layout.strides()};
}

/// `role` is the error text's name for the tensor: "the source tensor".
TENON_TEMPLATE_INLINE Error check_not_deallocated(const TensorFields& tensor,
                                                  const char* role) noexcept {
  if (tensor.deallocated) {
    return fail(Error::InvalidState, role, ", of sizes ", tensor.layout.sizes(),
                ", was deallocated");
  }
  return Error::Ok;
}

TENON_COLD inline Error fail_meta(const TensorFields& tensor, const char* role) noexcept {
  return fail(Error::NotSupported, role, " is a meta tensor, ", tensor.type, ' ',
              tensor.layout.sizes(), ", which has no data");
}

TENON_COLD inline Error fail_reach(const char* role, const Device& device,
                                   const char* more = "") noexcept {
  return fail(Error::NotSupported, role, " is on ", device, ", which the host cannot reach", more);
}
/// The error for memory that the host cannot read.
TENON_COLD inline Error fail_host_access(const TensorFields& tensor) noexcept {
  if (tensor.is_meta()) return fail_meta(tensor, "the tensor");
  return fail_reach("the tensor", tensor.device);
}

/// Checks that the memory's backend still exists.
TENON_TEMPLATE_INLINE Error check_data_backend(const TensorFields& tensor,
                                               const char* role) noexcept {
  if (tensor.data_backend == nullptr || tensor.data_backend->is_alive()) return Error::Ok;
  return fail(Error::InvalidState, role, " is in memory of backend ",
              static_cast<const char*>(tensor.data_backend->name),
              tensor.data_backend->backend == nullptr
                  ? ", which was destroyed"
                  : ", and the backend that it wraps was destroyed");
}

TENON_TEMPLATE_INLINE Error check_not_placeholder(const TensorFields& tensor) noexcept {
  if (!tensor.has_data()) {
    return fail(Error::InvalidState, "the tensor is a placeholder without data");
  }
  return Error::Ok;
}
TENON_TEMPLATE_INLINE Error check_has_data(const TensorFields& tensor) noexcept {
  TENON_TRY(check_not_deallocated(tensor, "the tensor"));
  TENON_TRY(check_data_backend(tensor, "the tensor"));
  if (tensor.is_meta()) return fail_host_access(tensor);
  return check_not_placeholder(tensor);
}

TENON_TEMPLATE_INLINE Error check_type(ScalarType type) noexcept {
  if (!isValidType(type)) {
    return fail(Error::InvalidType, type, " is not an element type");
  }
  return Error::Ok;
}

/// Checks that a cast between two types is allowed.
TENON_TEMPLATE_INLINE Error check_cast(ScalarType from, ScalarType to,
                                       CastMode mode = CastMode::Checked) noexcept {
  if (mode == CastMode::Checked && canCast(from, to)) return Error::Ok;
  TENON_TRY(check_type(to));
  if (mode != CastMode::Checked) return Error::Ok;
  return fail(Error::InvalidType, "values of ", from, " cannot be cast to ", to,
              " here: give a CastMode, as in to(t, ScalarType::", to, ", CastMode::Saturate)");
}

TENON_COLD inline Error fail_no_memory(size_t nbytes) noexcept {
  return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for ", nbytes, " bytes of data");
}

/// Checks that the tensor may use the elements at `data`.
TENON_TEMPLATE_INLINE Error check_can_bind(const TensorFields& tensor,
                                           const DataPtr& data) noexcept {
  TENON_TRY(check_not_deallocated(tensor, "the tensor"));
  return check_pointer_type(data, tensor.type, "the tensor's dtype");
}
/// Makes a tensor borrow other memory. The old memory is released when the tensor is destroyed,
/// since views may use it.
TENON_TEMPLATE_INLINE Error bind_data(TensorFields& tensor, const DataPtr& data) noexcept {
  TENON_TRY(check_can_bind(tensor, data));
  tensor.data = data.get();
  tensor.readonly = data.is_readonly();
  tensor.ownership = Ownership::Borrowed;  // so that it cannot grow
  // If the host can access the memory, no backend is needed.
  if (tensor.is_host_accessible()) tensor.data_backend = nullptr;
  // The reserved capacity belonged to the old memory. A DYNAMIC_BOUND tensor keeps its bound.
  if (tensor.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND) tensor.finalize(tensor.dynamism);
  return Error::Ok;
}

/// Checks that the host may access elements as `asked` through a pointer.
TENON_TEMPLATE_INLINE Error check_typed(const TensorFields& tensor, ScalarType asked) noexcept {
  if (asked != tensor.type) {
    return fail(Error::InvalidType, "asked for ", asked, ", but the tensor's dtype is ",
                tensor.type);
  }
  TENON_TRY(check_not_deallocated(tensor, "the tensor"));
  if (!tensor.is_host_accessible()) return fail_host_access(tensor);
  return check_data_backend(tensor, "the tensor");
}

}  // namespace detail
TENON_END_NAMESPACE
