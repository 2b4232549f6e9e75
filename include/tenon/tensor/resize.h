// SPDX-License-Identifier: MIT
// Changes a tensor's shape in place. Everything that can fail comes first.
#pragma once

#include "tenon/tensor/handle.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checks that the tensor may move to larger memory, for `count` elements.
TENON_COLD inline Error check_can_grow(const Resizable& tensor, ptrdiff_t count) noexcept {
  Error error = Error::NotSupported;
  const char* why = nullptr;
  if (tensor.ownership == Ownership::Borrowed) {
    why = "it is borrowed";
  } else if (tensor.ownership == Ownership::View) {
    why = "the tensor is a view";
  } else if (tensor.layout.offsets.min < 0) {
    why = "strides reach below element 0";
  } else if (tensor.data_backend == nullptr && !tensor.device.is_cpu()) {
    why = "it is neither the host's nor given by a backend";
  } else if (is_borrowed(tensor)) {
    error = Error::InUse;
    why = "a view or blob of the tensor is alive";
  } else {
    return Error::Ok;
  }
  return fail(error, "room for ", tensor.capacity, " elements cannot grow to ", count, ": ", why);
}

TENON_TEMPLATE_INLINE Error allocate_room(const Resizable& tensor, Backend* backend, size_t nbytes,
                                          Replacement& memory) noexcept {
  if (backend != nullptr) {
    if (tensor.is_meta()) nbytes = 0;
    BackendState* const state = tensor.data_backend;
    TENON_TRY(state->allocate(nbytes, kDataAlignment, memory.data));
    memory.release.own_block(memory.data, *state, nbytes);
    return Error::Ok;
  }
  const Allocation block = allocate(nbytes, true);
  if (block.base == nullptr) return fail_no_memory(nbytes);
  memory.data = block.data;
  memory.release.own_block(block.base);
  return Error::Ok;
}

/// Copies the first elements to memory of the same kind.
TENON_TEMPLATE_INLINE Error keep_elements(const Resizable& tensor, ptrdiff_t kept,
                                          void* data) noexcept {
  const auto nbytes = static_cast<size_t>(kept) * elementSize(tensor.type);
  if (nbytes == 0 || tensor.data == nullptr) return Error::Ok;  // a placeholder or a meta tensor
  if (tensor.is_host_accessible()) {
    std::memcpy(data, tensor.data, nbytes);
    return Error::Ok;
  }
  return tensor.data_backend->copy_within(data, tensor.data, nbytes);
}

/// Moves the tensor to memory for `wanted` elements, or for `needed` if there is too little memory.
/// Keeps the first `kept` elements. Sets `sizes`, which have `needed` elements, unless null.
/// `handle` is a handle to the tensor.
TENON_COMPILED_ONCE TENON_COLD Error grow(const Tensor& handle, Resizable& tensor, ptrdiff_t wanted,
                                          ptrdiff_t needed, ptrdiff_t kept,
                                          const ArrayRef<int64_t>* sizes) noexcept {
  TENON_TRY(check_can_grow(tensor, needed));
  Backend* backend = nullptr;
  TENON_TRY(find_data_backend(tensor, "the tensor", backend));
  const Tensor held = handle;  // NOLINT(performance-unnecessary-copy-initialization)
  const ptrdiff_t reach = tensor.layout.required_span_size();
  const TensorShapeDynamism dynamism = tensor.dynamism;
  Replacement memory;
  {
    // The memory is held: a backend's code may drop the handle, but not grow or deallocate the
    // tensor.
    MemoryHold hold;
    TENON_TRY(hold.hold(held));
    for (;; wanted = needed) {
      size_t nbytes = 0;
      Error error = compute_nbytes(wanted, elementSize(tensor.type), nbytes);
      if (error == Error::Ok) error = allocate_room(tensor, backend, nbytes, memory);
      if (error == Error::Ok) break;
      if (wanted == needed) return error;
    }
    TENON_TRY(keep_elements(tensor, kept, memory.data));
  }
  // The backend may have resized the tensor within its capacity, or made a view of it. Other sizes
  // that span as many elements are fine, but rank 0 is STATIC. ATen's Resizable is a copy, so it is
  // read again.
  auto&& now = resizable(held);
  const bool is_changed = now.layout.required_span_size() != reach || now.dynamism != dynamism;
  if (is_changed || now.deallocated) {
    return fail(Error::InvalidState, "the tensor was changed meanwhile");
  }
  TENON_TRY(check_can_grow(now, needed));
  return replace_memory(tensor, sizes, needed, std::move(memory), wanted);
}

/// All cases except resize_in_place()'s: another rank, a strided or STATIC tensor, growth, errors.
TENON_COMPILED_ONCE TENON_NOINLINE Error resize_slowly(const Tensor& handle, Resizable& tensor,
                                                       ArrayRef<int64_t> sizes) noexcept {
  const ArrayRef<int64_t> old = tensor.layout.sizes();
  if (tensor.dynamism == TensorShapeDynamism::STATIC) {
    return fail(Error::NotSupported, "sizes ", old, " of this tensor are STATIC",
                old.empty() ? ", as rank 0 always is" : "");
  }
  // Equal sizes keep the strides, even if dense strides would not fit the memory.
  if (sizes == old) return Error::Ok;
  ptrdiff_t numel = 0;
  TENON_TRY(compute_numel(sizes, elementSize(tensor.type), numel));
  const ptrdiff_t capacity = tensor.capacity;
  if (numel <= capacity) return replace_sizes(tensor, sizes, numel);
  if (tensor.dynamism == TensorShapeDynamism::DYNAMIC_BOUND) {
    return fail(Error::InvalidArgument, "sizes ", sizes, " hold ", numel,
                " elements, this DYNAMIC_BOUND tensor has room for ", capacity);
  }
  // Doubles the capacity at least, unless that overflows.
  const ptrdiff_t reach = tensor.layout.required_span_size();
  const bool doubles = capacity > numel / 2 && capacity <= PTRDIFF_MAX / 2;
  return grow(handle, tensor, doubles ? capacity * 2 : numel, numel, reach < numel ? reach : numel,
              &sizes);
}

/// `sizes` must not refer to a tensor's list, which a backend's code may change meanwhile.
TENON_TEMPLATE_INLINE Error resize(const TensorArg& handle, ArrayRef<int64_t> sizes) noexcept {
  TENON_TRY(check_defined(handle, "the tensor"));
  auto&& tensor = resizable(handle);
  // On bare metal code size matters more than the pass over the sizes that this saves.
  if (!TENON_BARE_METAL && resize_in_place(tensor, sizes)) return Error::Ok;
  return resize_slowly(handle.tensor(), tensor, sizes);
}

TENON_TEMPLATE_INLINE Error resize_to(const TensorArg& handle, const Dims& sizes) noexcept {
  TENON_TRY(check_dims("sizes", sizes));
  return resize(handle, sizes);
}

TENON_TEMPLATE_INLINE Error reserve(const TensorArg& handle, size_t nbytes) noexcept {
  TENON_TRY(check_defined(handle, "the tensor"));
  auto&& tensor = resizable(handle);
  const size_t element_size = elementSize(tensor.type);
  const size_t room = static_cast<size_t>(tensor.capacity) * element_size;
  if (nbytes <= room) return Error::Ok;
  if (nbytes > PTRDIFF_MAX) {
    return fail(Error::InvalidArgument, nbytes, " bytes overflow the address space");
  }
  if (tensor.dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND) {
    return fail(Error::NotSupported, nbytes, " bytes are more than the ", room, " bytes of this ",
                toString(tensor.dynamism), " tensor, which cannot grow");
  }
  const auto asked = static_cast<ptrdiff_t>((nbytes + element_size - 1) / element_size);
  const ptrdiff_t reach = tensor.layout.required_span_size();
  const ptrdiff_t capacity = asked < reach ? reach : asked;
  return grow(handle.tensor(), tensor, capacity, capacity, reach, nullptr);
}

}  // namespace detail

/// Changes the tensor's shape in place.
///
/// Shapes: sizes in elements, each >= 0. The first min(old, new) elements in memory keep their
/// values (for a strided tensor, gaps count as elements); new elements are indeterminate. The dim
/// order is kept if the rank stays, else it becomes row-major; strides become dense. Equal sizes
/// change nothing. A tensor of rank 0 is STATIC.
/// Ownership: unchanged. Within the capacity no memory is moved or allocated; a tensor that grows
/// gets memory of the same backend. Adopted memory that grows is released through its deleter and
/// becomes owned.
/// Errors: NotSupported (STATIC shape; growth of borrowed memory, of a view, of memory that is not
/// on the CPU and that no backend allocated, and of a tensor with elements below element 0),
/// InvalidArgument (negative or overflowing sizes; more elements than a DYNAMIC_BOUND tensor was
/// created with, or than its memory has from element 0 upward), InUse (growth while a view, Blob or
/// DLPack export is alive), InvalidState (an undefined tensor; one that its backend changes while
/// it allocates), OutOfMemory. After an error the tensor is as it was.
/// Threads: the caller locks out readers.
/// Cost: O(rank); when it grows, O(bytes). Growth doubles the capacity.
/// Source: ExecuTorch resize_tensor_ptr, whose DYNAMIC shapes cannot grow, and resize_tensor;
/// at::Tensor::resize_.
template <class = void>
[[nodiscard]] Error resize_tensor(TensorArg tensor, const Dims& sizes) noexcept {
  return detail::add_context_if("resize_tensor", detail::resize_to(tensor, sizes));
}
/// The same function as resize_tensor(), under the name that ExecuTorch uses for a TensorPtr.
template <class = void>
[[nodiscard]] Error resize_tensor_ptr(TensorArg tensor, const Dims& sizes) noexcept {
  return detail::add_context_if("resize_tensor_ptr", detail::resize_to(tensor, sizes));
}

/// Reserves `nbytes` bytes for elements, so that later resizes within them move no memory. Keeps
/// the sizes; never shrinks.
///
/// Errors: those of growth in resize_tensor(); NotSupported if the shape is not DYNAMIC and
/// `nbytes` is more than the tensor can hold.
template <class = void>
[[nodiscard]] Error reserve_nbytes(TensorArg tensor, size_t nbytes) noexcept {
  return detail::add_context_if("reserve_nbytes", detail::reserve(tensor, nbytes));
}
/// The same function as reserve_nbytes(), under a name like resize_tensor()'s.
template <class = void>
[[nodiscard]] Error reserve_tensor(TensorArg tensor, size_t nbytes) noexcept {
  return detail::add_context_if("reserve_tensor", detail::reserve(tensor, nbytes));
}
/// The same function as reserve_nbytes(), under a name like resize_tensor_ptr()'s.
template <class = void>
[[nodiscard]] Error reserve_tensor_ptr(TensorArg tensor, size_t nbytes) noexcept {
  return detail::add_context_if("reserve_tensor_ptr", detail::reserve(tensor, nbytes));
}

TENON_END_NAMESPACE
