// SPDX-License-Identifier: MIT
// Changing a tensor's shape in place: a plan that is a pure function, then a commit that cannot
// fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/make_impl.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a resize would do.
struct ResizePlan {
  Layout layout;             // of the new sizes
  int64_t new_capacity = 0;  // elements to allocate; 0 when the memory stays
};

/// Decides what resizing from `old` to `sizes` does, given the tensor's dynamism and its room in
/// elements.
inline Error plan_resize(const Layout& old, const Dims& sizes, TensorShapeDynamism dynamism,
                         int64_t capacity, size_t element_size, ResizePlan& plan) noexcept {
  if (TENON_UNLIKELY(dynamism == TensorShapeDynamism::STATIC)) {
    return fail(Error::NotSupported, {"sizes ", old.sizes, " of this tensor are STATIC"});
  }
  const bool keep_order = sizes.size() == old.sizes.size();
  TENON_TRY(
      make_layout(sizes, keep_order ? Dims(old.dim_order) : Dims(), {}, element_size, plan.layout));
  const int64_t numel = plan.layout.numel;
  if (numel <= capacity) return Error::Ok;
  if (TENON_UNLIKELY(dynamism == TensorShapeDynamism::DYNAMIC_BOUND)) {
    return fail(Error::InvalidArgument,
                {"sizes ", sizes, " hold ", numel,
                 " elements, this DYNAMIC_BOUND tensor has room for ", capacity});
  }
  plan.new_capacity = capacity <= numel / 2 ? numel : capacity * 2;
  return Error::Ok;
}

/// Whether the tensor may leave its memory for a larger one.
inline Error check_can_grow(const TensorImpl& impl, int64_t count) noexcept {
  const Ownership ownership = impl.ownership();
  if (TENON_UNLIKELY(ownership == Ownership::Borrowed || ownership == Ownership::View)) {
    return fail(Error::NotSupported,
                {"room for ", count, " elements needs more memory, but ",
                 ownership == Ownership::View ? "a view" : "a tensor over borrowed memory",
                 " with room for ", ImplAccess::capacity(impl), " cannot grow"});
  }
  if (TENON_UNLIKELY(!impl.device().is_host_accessible())) {
    return fail(Error::NotSupported, {"memory on ", impl.device(), " cannot grow from the host"});
  }
  if (TENON_UNLIKELY(ImplAccess::is_borrowed_from(impl))) {
    return fail(Error::InUse, {"room for ", count,
                               " elements needs other memory, but a view of the tensor is alive"});
  }
  return Error::Ok;
}

/// Allocates room for `capacity` elements aside, or for `needed` if that is too much; moves the
/// first `kept` over, then replaces the tensor's memory.
inline Error grow(TensorImpl& impl, int64_t capacity, int64_t needed, int64_t kept) noexcept {
  TENON_TRY(check_can_grow(impl, needed));
  size_t nbytes = 0;
  Allocation memory{nullptr, nullptr};
  if (compute_nbytes(capacity, impl.element_size(), nbytes) == Error::Ok) memory = allocate(nbytes);
  if (memory.base == nullptr && capacity > needed) {
    capacity = needed;
    TENON_TRY(compute_nbytes(capacity, impl.element_size(), nbytes));
    memory = allocate(nbytes);
  }
  if (TENON_UNLIKELY(memory.base == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for ", nbytes, " bytes of data"});
  }
  const auto kept_bytes = static_cast<size_t>(kept) * impl.element_size();
  if (kept_bytes != 0) std::memcpy(memory.data, impl.data(), kept_bytes);
  ImplAccess::replace_memory(impl, memory, capacity);
  return Error::Ok;
}

inline Error resize_impl(TensorImpl* impl, const Dims& sizes) noexcept {
  if (TENON_UNLIKELY(impl == nullptr))
    return fail(Error::InvalidState, {"the tensor is undefined"});
  const Layout& old = ImplAccess::layout(*impl);
  ResizePlan plan;
  TENON_TRY(plan_resize(old, sizes, impl->shape_dynamism(), ImplAccess::capacity(*impl),
                        impl->element_size(), plan));
  if (sizes == old.sizes) return Error::Ok;  // a strided shape stays as it is
  if (plan.new_capacity != 0) {
    const int64_t numel = plan.layout.numel;
    const int64_t kept = old.reach() < numel ? old.reach() : numel;
    TENON_TRY(grow(*impl, plan.new_capacity, numel, kept));
  }
  ImplAccess::set_layout(*impl, std::move(plan.layout));
  return Error::Ok;
}

inline Error reserve_impl(TensorImpl* impl, size_t nbytes) noexcept {
  if (TENON_UNLIKELY(impl == nullptr))
    return fail(Error::InvalidState, {"the tensor is undefined"});
  const size_t element_size = impl->element_size();
  const int64_t capacity = ImplAccess::capacity(*impl);
  if (nbytes <= static_cast<size_t>(capacity) * element_size) return Error::Ok;
  if (TENON_UNLIKELY(nbytes > PTRDIFF_MAX)) {
    return fail(Error::InvalidArgument, {nbytes, " bytes overflow the address space"});
  }
  if (TENON_UNLIKELY(impl->shape_dynamism() != TensorShapeDynamism::DYNAMIC_UNBOUND)) {
    return fail(Error::NotSupported,
                {nbytes, " bytes are beyond the ", static_cast<size_t>(capacity) * element_size,
                 " of this ", toString(impl->shape_dynamism()), " tensor, which cannot grow"});
  }
  const auto asked = static_cast<int64_t>((nbytes + element_size - 1) / element_size);
  const int64_t reach = ImplAccess::layout(*impl).reach();
  const int64_t needed = asked < reach ? reach : asked;
  return grow(*impl, needed, needed, reach);
}

}  // namespace detail

/// Changes the tensor's shape in place.
///
/// Ownership: unchanged. Within the capacity no memory moves and none is allocated; adopted memory
/// that grows is released through its deleter and becomes owned. Sizes in elements, each >= 0. The
/// first min(old, new) elements keep their values, in memory order, gaps of a strided tensor
/// counted; new ones are indeterminate. The dim order stays with the rank, otherwise it becomes
/// row-major; strides become dense, but for equal sizes, which change nothing. Errors: NotSupported
/// (STATIC shape; growth of borrowed memory, of a view or of device memory), InvalidArgument
/// (negative or overflowing sizes; more elements than a DYNAMIC_BOUND tensor was made with), InUse
/// (growth while a view, Blob or DLPack export is alive), InvalidState (undefined), OutOfMemory.
/// After an error the tensor is as it was. Threads: the caller locks out readers. O(rank), O(bytes)
/// when it grows, which it does by doubling. Source: ExecuTorch resize_tensor_ptr, whose DYNAMIC
/// shapes cannot grow; at::Tensor::resize_.
[[nodiscard]] inline Error resize_tensor(Tensor& tensor, const Dims& sizes) noexcept {
  const Error error = detail::resize_impl(tensor.unsafeGetTensorImpl(), sizes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("resize_tensor", error) : error;
}
[[nodiscard]] inline Error resize_tensor_ptr(TensorPtr& tensor, const Dims& sizes) noexcept {
  const Error error =
      detail::resize_impl(tensor != nullptr ? tensor->unsafeGetTensorImpl() : nullptr, sizes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("resize_tensor_ptr", error) : error;
}

/// Makes room for `nbytes` bytes of elements at once, so that later resizes within them move no
/// memory. Sizes stay; never shrinks.
///
/// Errors: those of growth in resize_tensor(); NotSupported when the shape is not DYNAMIC and has
/// less room.
[[nodiscard]] inline Error reserve_tensor(Tensor& tensor, size_t nbytes) noexcept {
  const Error error = detail::reserve_impl(tensor.unsafeGetTensorImpl(), nbytes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("reserve_tensor", error) : error;
}
[[nodiscard]] inline Error reserve_tensor_ptr(TensorPtr& tensor, size_t nbytes) noexcept {
  const Error error =
      detail::reserve_impl(tensor != nullptr ? tensor->unsafeGetTensorImpl() : nullptr, nbytes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("reserve_tensor_ptr", error) : error;
}

TENON_END_NAMESPACE
