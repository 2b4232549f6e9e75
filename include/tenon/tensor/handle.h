// SPDX-License-Identifier: MIT
// From a NewTensor to a handle, and from a handle to the memory behind it: where the modes differ.
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

/// A view in the making.
using NewView = NewTensor;

/// The tensor that `source` is a view of, or `source` itself. Null for a handle over a raw
/// TensorImpl*, whose memory the caller keeps.
inline const TensorImplPtr& memory_base(const TensorArg& source) noexcept {
  const TensorImplPtr& base = fields(source).base;
  return base != nullptr ? base : source.tensor().impl();
}

inline Error MemoryHold::hold(const TensorArg& source) noexcept {
  hold(memory_base(source));
  return Error::Ok;
}

/// Makes the view `made` hold the memory of `source`, as a MemoryHold does.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  const TensorImplPtr& base = memory_base(source);
  if (base.use_count() == 0) return;
  made.base = base;
  fields(base).borrows.add();
}

/// The source of a view or an export while the metadata of that is allocated. If a backend may
/// allocate it, `arg` is another handle and the memory is held: the backend's code may drop the
/// source, but neither grow nor deallocate it.
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

/// Moves a new tensor to its first handle. A TensorPtr's lies in the tensor's seat.
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
/// Moves a tensor, which may be an existing one, to another handle. A TensorPtr's lies in the
/// tensor's seat if that is free, else in the memory of `metadata_backend` or on the heap. If
/// memory is out, the tensor does not change.
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

/// The usual case in one pass: a row-major tensor keeps its rank and stays within its room. False,
/// with nothing changed, when it is any other case.
inline bool resize_in_place(Resizable& tensor, ArrayRef<int64_t> sizes) noexcept {
  return tensor.dynamism != TensorShapeDynamism::STATIC &&
         tensor.layout.resize_in_place(sizes, tensor.capacity);
}

/// Gives the tensor other sizes, of `numel` elements, which fit its memory or will.
/// Errors: OutOfMemory; nothing is changed then.
inline Error replace_sizes(Resizable& tensor, ArrayRef<int64_t> sizes, ptrdiff_t numel) noexcept {
  TENON_TRY(tensor.layout.resize(sizes, numel));
  if (sizes.empty()) tensor.dynamism = TensorShapeDynamism::STATIC;
  return Error::Ok;
}

/// Takes other memory, and `sizes`, of `numel` elements, unless that is null. The old memory is
/// released, last: its deleter may use the tensor, or destroy it.
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

/// Releases the memory; the metadata stays. Of a view the memory is the base's, which goes last.
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

/// The deleter of a tensor's own memory; null for a view.
inline Deleter* deleter_of(const TensorArg& tensor) noexcept {
  ImplFields& holder = fields(tensor);
  return holder.base == nullptr ? &holder.deleter : nullptr;
}

/// The deleter of the tensor's memory (of its base, for a view) if nobody else holds that memory;
/// else null.
inline Deleter* sole_deleter(const TensorArg& tensor) noexcept {
  if (tensor.tensor().use_count() != 1) return nullptr;
  const TensorImplPtr& base = fields(tensor).base;
  if (base == nullptr) return &fields(tensor).deleter;
  return base.use_count() == 1 ? &fields(base).deleter : nullptr;
}

/// Whether another tensor or export uses the memory.
inline bool is_shared_memory(const TensorArg& tensor) noexcept {
  const ImplFields& held = fields(tensor);
  // The source of a view uses the memory too, as long as it has handles.
  return held.borrows.any() || (held.base != nullptr && held.base.use_count() > 1);
}

/// Binds other memory of the caller's.
inline Error bind_memory(const TensorArg& tensor, void* data) noexcept {
  TENON_TRY(check_can_bind(fields(tensor)));
  fields(tensor).data = data;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
#endif
