// SPDX-License-Identifier: MIT
// Makes a handle of a NewTensor, and finds a handle's memory. ATen mode replaces this file.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/handle.h"
#else

#include <new>
#include <type_traits>
#include <utility>

#include "tenon/tensor/new_tensor.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A view under construction.
using NewView = NewTensor;

/// The base of `source` if it is a view, else `source` itself. Null for a handle over a raw
/// TensorImpl*, whose memory the caller keeps.
inline const TensorImplPtr& memory_base(const TensorArg& source) noexcept {
  const TensorImplPtr& base = fields(source).base;
  return base != nullptr ? base : source.tensor().impl();
}

inline Error MemoryHold::hold(const TensorArg& source) noexcept {
  hold(memory_base(source));
  is_of_view_ = fields(source).base != nullptr;
  return Error::Ok;
}

/// Makes the view `made` hold the memory of `source`, as a MemoryHold does.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  const TensorImplPtr& base = memory_base(source);
  if (base.use_count() == 0) return;
  made.base = base;
  fields(base).borrows.add();
}

/// Holds the source of a view or an export while the metadata is allocated. If a backend may
/// allocate the metadata, `arg` is a new handle and the memory is held: the backend's code may drop
/// the source, but not grow or deallocate it.
class SourceGuard {
 public:
  SourceGuard(const TensorArg& source, bool asks_backend) noexcept : arg(source) {
    if (!asks_backend) return;
    kept_ = source.tensor();
    arg = kept_;
    hold_.hold(memory_base(arg));
  }
  SourceGuard(const SourceGuard&) = delete;
  SourceGuard& operator=(const SourceGuard&) = delete;

  TensorArg arg;

 private:
  Tensor kept_;
  MemoryHold hold_;
};

/// Moves a new tensor to its first handle. A TensorPtr's handle is in the tensor's seat.
template <class T>
Error make_first_handle(NewTensor& made, T& out) noexcept {
  if constexpr (std::is_same_v<T, TensorPtr>) {
    Seat* const seat = seat_of(made);
    seat->holders.set(Seat::kNodeAndHandle);
    out.reset(::new (static_cast<void*>(seat->handle)) Tensor(std::move(made)));
  } else {
    out = T(std::move(made));
  }
  return Error::Ok;
}
/// Moves a new or existing tensor to another handle. A TensorPtr's handle is in the tensor's seat
/// if that is free, else in the memory of `metadata_backend` or on the heap. After OutOfMemory
/// nothing has changed.
template <class T>
Error make_handle(TensorImplPtr& tensor, T& out,
                  [[maybe_unused]] BackendState* metadata_backend) noexcept {
  if constexpr (std::is_same_v<T, TensorPtr>) {
    void* place = take_seat(tensor);
    if (place == nullptr) place = allocate_metadata(sizeof(Tensor), metadata_backend);
    if (place == nullptr) return Error::OutOfMemory;
    out.reset(::new (place) Tensor(std::move(tensor)));
  } else {
    out = T(std::move(tensor));
  }
  return Error::Ok;
}
template <class T>
Error make_handle(Tensor&& tensor, T& out, BackendState* metadata_backend) noexcept {
  return make_handle(impl_of(tensor), out, metadata_backend);
}

/// A tensor whose shape and memory may change.
using Resizable = ImplFields;

inline Resizable& resizable(const TensorArg& tensor) noexcept { return fields(tensor); }

inline bool is_borrowed(const Resizable& tensor) noexcept { return tensor.borrows.any(); }

/// The common resize in one pass: that of a row-major tensor that keeps its rank and fits its
/// capacity. For any other returns false and changes nothing.
inline bool resize_in_place(Resizable& tensor, ArrayRef<int64_t> sizes) noexcept {
  return tensor.dynamism != TensorShapeDynamism::STATIC &&
         tensor.layout.resize_in_place(sizes, tensor.capacity);
}

/// Sets other sizes. Their `numel` elements fit the tensor's memory, or the memory that will
/// replace it.
/// Errors: OutOfMemory; nothing is changed then.
inline Error replace_sizes(Resizable& tensor, ArrayRef<int64_t> sizes, ptrdiff_t numel) noexcept {
  TENON_TRY(tensor.layout.resize(sizes, numel));
  if (sizes.empty()) tensor.dynamism = TensorShapeDynamism::STATIC;
  return Error::Ok;
}

/// Replaces the memory and, unless `sizes` is null, the sizes, which have `numel` elements.
/// Releases the old memory last, since its deleter may use or destroy the tensor.
/// Errors: OutOfMemory, with nothing changed.
inline Error replace_memory(Resizable& tensor, const ArrayRef<int64_t>* sizes, ptrdiff_t numel,
                            Replacement&& memory, ptrdiff_t capacity) noexcept {
  if (sizes != nullptr) TENON_TRY(replace_sizes(tensor, *sizes, numel));
  mark_inline_data_free(tensor);
  tensor.data = memory.data;
  tensor.capacity = capacity;
  tensor.ownership = Ownership::Owned;
  tensor.deleter = std::move(memory.release);
  return Error::Ok;
}

/// Releases the memory; keeps the metadata. A view drops its base last.
inline Error drop_memory(const TensorArg& tensor) noexcept {
  ImplFields& dropped = fields(tensor);
  mark_inline_data_free(dropped);
  dropped.data = nullptr;
  dropped.data_backend = nullptr;
  dropped.capacity = 0;
  dropped.deallocated = true;
  const TensorImplPtr base = std::move(dropped.base);
  if (base != nullptr) static_cast<void>(fields(base).borrows.remove());
  dropped.deleter.reset();
  return Error::Ok;
}

/// The deleter of a tensor's memory; null for a view.
inline Deleter* deleter_of(const TensorArg& tensor) noexcept {
  ImplFields& holder = fields(tensor);
  return holder.base == nullptr ? &holder.deleter : nullptr;
}

/// The deleter of the tensor's memory, which for a view is its base's deleter. Null if another
/// tensor or export holds the memory.
inline Deleter* sole_deleter(const TensorArg& tensor) noexcept {
  if (tensor.tensor().use_count() != 1) return nullptr;
  const TensorImplPtr& base = fields(tensor).base;
  if (base == nullptr) return &fields(tensor).deleter;
  return base.use_count() == 1 ? &fields(base).deleter : nullptr;
}

/// Whether another tensor or export uses the memory.
inline bool is_shared_memory(const TensorArg& tensor) noexcept {
  const ImplFields& held = fields(tensor);
  // A view's source uses the memory too, while it has handles.
  return held.borrows.any() || (held.base != nullptr && held.base.use_count() > 1);
}

inline Error bind_memory(const TensorArg& tensor, const DataPtr& data) noexcept {
  return bind_data(fields(tensor), data);
}

}  // namespace detail
TENON_END_NAMESPACE
#endif
