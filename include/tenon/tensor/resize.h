// SPDX-License-Identifier: MIT
// Changing a tensor's shape in place: a plan that is a pure function, then a commit that cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/place.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a resize would do: the element count asked for, and how many to allocate, 0 when the memory
/// stays.
struct ResizePlan {
  int64_t numel = 0;
  int64_t new_capacity = 0;
};

/// Decides what resizing to `sizes` does, given the tensor's dynamism and its room in elements.
inline Error plan_resize(const Dims& old_sizes, const Dims& sizes, TensorShapeDynamism dynamism,
                         int64_t capacity, size_t element_size, ResizePlan& plan) noexcept {
  if (TENON_UNLIKELY(dynamism == TensorShapeDynamism::STATIC)) {
    return fail(Error::NotSupported, {"sizes ", old_sizes, " of this tensor are STATIC"});
  }
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(compute_numel(sizes, element_size, plan.numel));
  if (plan.numel <= capacity) return Error::Ok;
  if (TENON_UNLIKELY(dynamism == TensorShapeDynamism::DYNAMIC_BOUND)) {
    return fail(Error::InvalidArgument,
                {"sizes ", sizes, " hold ", plan.numel,
                 " elements, this DYNAMIC_BOUND tensor has room for ", capacity});
  }
  // At least double, unless that is more than there can be.
  const bool doubles = capacity > plan.numel / 2 && capacity <= INT64_MAX / 2;
  plan.new_capacity = doubles ? capacity * 2 : plan.numel;
  return Error::Ok;
}

/// Whether the tensor may leave its memory for a larger one of `count` elements.
inline Error check_can_grow(const Resizable& tensor, int64_t count) noexcept {
  if (TENON_UNLIKELY(tensor.ownership == Ownership::Borrowed ||
                     tensor.ownership == Ownership::View)) {
    return fail(Error::NotSupported,
                {"room for ", count, " elements needs more memory, but ",
                 tensor.ownership == Ownership::View ? "a view" : "a tensor over borrowed memory",
                 " with room for ", tensor.capacity, " cannot grow"});
  }
  if (TENON_UNLIKELY(tensor.layout.extent.min < 0)) {
    return fail(Error::NotSupported, {"strides ", tensor.layout.strides,
                                      " reach below element 0, where new memory has no room"});
  }
  if (TENON_UNLIKELY(tensor.backend == nullptr && !tensor.device.is_cpu())) {
    return fail(Error::NotSupported,
                {"memory on ", tensor.device, " that no backend gave cannot grow"});
  }
  if (TENON_UNLIKELY(is_borrowed(tensor))) {
    return fail(Error::InUse,
                {"room for ", count,
                 " elements needs other memory, but a view or blob of the tensor is alive"});
  }
  return Error::Ok;
}

/// Copies the first elements to memory of the same kind.
TENON_LAZY Error keep_elements(const Resizable& tensor, Backend* backend, int64_t kept,
                               void* data) noexcept {
  const auto nbytes = static_cast<size_t>(kept) * elementSize(tensor.type);
  if (nbytes == 0 || tensor.data == nullptr) return Error::Ok;  // a placeholder or a template
  if (tensor.is_host_accessible()) {
    std::memcpy(data, tensor.data, nbytes);
    return Error::Ok;
  }
  Backend& base = backend->base();
  return copy_block_between(&base, data, &base, tensor.data, nbytes);
}

/// Allocates room for `capacity` elements aside, or for `needed` if that is too much, and copies
/// the first `kept` there. `handle` is the tensor's, and stays.
inline Error allocate_grown(const Tensor& handle, const Resizable& tensor, int64_t& capacity,
                            int64_t needed, int64_t kept, Replacement& replacement) noexcept {
  TENON_TRY(check_can_grow(tensor, needed));
  const void* const data = tensor.data;
  const int64_t room = tensor.capacity;
  const int64_t reach = tensor.layout.reach();
  // A backend's code may have resized or deallocated the tensor, or lent its memory.
  const auto check_again = [&]() noexcept -> Error {
    const TensorArg arg(handle);
    const TensorFields& now = fields(arg);
    if (TENON_UNLIKELY(now.data != data || now.capacity != room || now.deallocated ||
                       now.layout.reach() != reach)) {
      return fail(Error::InvalidState,
                  {"the tensor was resized or deallocated while its backend made it grow"});
    }
    return check_can_grow(tensor, needed);
  };
  Backend* backend = nullptr;
  TENON_TRY(find_owner(tensor, "the tensor", backend));
  const size_t element_size = elementSize(tensor.type);
  for (;;) {
    size_t nbytes = 0;
    TENON_TRY(compute_nbytes(needed, element_size, nbytes));
    if (capacity == needed || compute_nbytes(capacity, element_size, nbytes) == Error::Ok) {
      if (tensor.is_template()) nbytes = 0;
      NewMemory memory;
      const Error error = backend != nullptr ? allocate_from(*backend, nbytes, memory)
                                             : allocate_on_host(nbytes, memory);
      if (backend != nullptr) TENON_TRY(check_again());
      if (error == Error::Ok) {
        TENON_TRY(keep_elements(tensor, backend, kept, memory.data));
        if (backend != nullptr) TENON_TRY(check_again());
        return prepare_replacement(std::move(memory), replacement);
      }
      if (capacity == needed) return error;
    }
    capacity = needed;
  }
}

inline Error resize(const TensorArg& handle, const Dims& sizes) noexcept {
  TENON_TRY(check_defined(handle, "the tensor"));
  auto&& tensor = resizable(handle);
  const size_t element_size = elementSize(tensor.type);
  if (resize_in_place(tensor, sizes)) return Error::Ok;
  // A strided shape stays as it is, even one whose memory has no room for it when dense.
  if (tensor.dynamism != TensorShapeDynamism::STATIC && sizes.error() == Error::Ok &&
      sizes == tensor.layout.sizes) {
    return Error::Ok;
  }
  ResizePlan plan;
  TENON_TRY(plan_resize(tensor.layout.sizes, sizes, tensor.dynamism, tensor.capacity, element_size,
                        plan));
  // Everything that can fail comes first, aside.
  const bool keep_order = sizes.size() == tensor.layout.sizes.size();
  Layout layout;
  TENON_TRY(make_dense_layout(sizes, keep_order ? &tensor.layout.dim_order : nullptr, element_size,
                              layout));
  if (plan.new_capacity == 0) return replace_layout(tensor, std::move(layout));
  Replacement memory;
  const int64_t reach = tensor.layout.reach();
  // A backend's code may drop the handle.
  const Tensor kept = handle.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
  TENON_TRY(allocate_grown(kept, tensor, plan.new_capacity, plan.numel,
                           reach < plan.numel ? reach : plan.numel, memory));
  TENON_TRY(replace_layout(tensor, std::move(layout)));
  replace_memory(tensor, std::move(memory), plan.new_capacity);
  return Error::Ok;
}

inline Error reserve(const TensorArg& handle, size_t nbytes) noexcept {
  TENON_TRY(check_defined(handle, "the tensor"));
  auto&& tensor = resizable(handle);
  const size_t element_size = elementSize(tensor.type);
  const size_t room = static_cast<size_t>(tensor.capacity) * element_size;
  if (nbytes <= room) return Error::Ok;
  if (TENON_UNLIKELY(nbytes > PTRDIFF_MAX)) {
    return fail(Error::InvalidArgument, {nbytes, " bytes overflow the address space"});
  }
  if (TENON_UNLIKELY(tensor.dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND)) {
    return fail(Error::NotSupported, {nbytes, " bytes are beyond the ", room, " of this ",
                                      toString(tensor.dynamism), " tensor, which cannot grow"});
  }
  const auto asked = static_cast<int64_t>((nbytes + element_size - 1) / element_size);
  const int64_t reach = tensor.layout.reach();
  int64_t capacity = asked < reach ? reach : asked;
  Replacement memory;
  const Tensor kept = handle.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
  TENON_TRY(allocate_grown(kept, tensor, capacity, capacity, reach, memory));
  replace_memory(tensor, std::move(memory), capacity);
  return Error::Ok;
}

}  // namespace detail

/// Changes the tensor's shape in place.
///
/// Ownership: unchanged. Within the capacity no memory moves and none is allocated; what grows comes
/// from the backend that it was from; adopted memory that grows is released through its deleter and
/// becomes owned.
/// Sizes in elements, each >= 0. The first min(old, new) elements keep their values, in memory
/// order, gaps of a strided tensor counted; new ones are indeterminate. The dim order stays with
/// the rank, otherwise it becomes row-major; strides become dense, but for equal sizes, which
/// change nothing. Resized to rank 0 the tensor becomes STATIC, as all of rank 0 are.
/// Errors: NotSupported (STATIC shape; growth of borrowed memory, of a view, of memory of another
/// device than cpu that no backend gave, and where elements lie below element 0), InvalidArgument
/// (negative or overflowing sizes; more elements than a DYNAMIC_BOUND tensor was made with), InUse
/// (growth while a view, Blob or DLPack export is alive), InvalidState (undefined; changed by its
/// backend while that allocates), OutOfMemory. After an error the tensor is as it was.
/// Threads: the caller locks out readers. O(rank), O(bytes) when it grows, which it does by
/// doubling.
/// Source: ExecuTorch resize_tensor_ptr, whose DYNAMIC shapes cannot grow; at::Tensor::resize_.
[[nodiscard]] inline Error resize_tensor(Tensor& tensor, const Dims& sizes) noexcept {
  const Error error = detail::resize(tensor, sizes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("resize_tensor", error) : error;
}
[[nodiscard]] inline Error resize_tensor_ptr(TensorPtr& tensor, const Dims& sizes) noexcept {
  const Error error = detail::resize(tensor, sizes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("resize_tensor_ptr", error) : error;
}

/// Makes room for `nbytes` bytes of elements at once, so that later resizes within them move no
/// memory. Sizes stay; never shrinks.
///
/// Errors: those of growth in resize_tensor(); NotSupported when the shape is not DYNAMIC and has
/// less room.
[[nodiscard]] inline Error reserve_tensor(Tensor& tensor, size_t nbytes) noexcept {
  const Error error = detail::reserve(tensor, nbytes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("reserve_tensor", error) : error;
}
[[nodiscard]] inline Error reserve_tensor_ptr(TensorPtr& tensor, size_t nbytes) noexcept {
  const Error error = detail::reserve(tensor, nbytes);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("reserve_tensor_ptr", error) : error;
}

TENON_END_NAMESPACE
