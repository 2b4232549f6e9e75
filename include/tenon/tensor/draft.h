// SPDX-License-Identifier: MIT
// Draft and Resizable: what differs between plain and ATen mode when tensors are made or changed.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/draft.h"
#else

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Data up to this many bytes lies in one block with the metadata. Larger data gets a block of its
/// own, which a growing tensor can release.
inline constexpr size_t kMaxInlineBytes = 1024;
constexpr bool is_inline_size(size_t nbytes) noexcept { return nbytes <= kMaxInlineBytes; }

/// A tensor in the making: its impl, which a creator fills in place.
using Draft = TensorImplPtr;

/// Makes an impl, in the memory of `metadata` if that is not null. With `room` it owns as many
/// bytes for elements in the same block, aligned as all data. `draft` is null before.
TENON_LAZY Error new_impl(Draft& draft, BackendState* metadata = nullptr,
                          size_t room = 0) noexcept {
  void* const block = allocate_metadata(kNodeSize<TensorImpl> + room, metadata);
  if (TENON_UNLIKELY(block == nullptr)) return Error::OutOfMemory;
  // Constructed rather than assigned: smaller, and the two pointers, just stored, need no loading.
  ::new (static_cast<void*>(&draft))
      TensorImplPtr(make_shared_in<TensorImpl>(block, ImplKey()));
  fields(draft).metadata = metadata;
  return Error::Ok;
}
/// The room that `nbytes` bytes need, and where they are in it.
constexpr size_t inline_room(size_t nbytes) noexcept { return nbytes + kDataAlignment - 1; }
inline void* inline_data(const Draft& draft) noexcept {
  return align_up(reinterpret_cast<char*>(draft.get()) + sizeof(TensorImpl));
}
/// For a tensor that is about to give up its data: data in the metadata's block stays allocated,
/// but is free. inline_room() has allocated the rest of the last 8 bytes too.
inline void mark_inline_data_free(const ImplFields& tensor) noexcept {
  if (!TENON_MARKS_FREE_MEMORY || tensor.ownership != Ownership::Owned || tensor.deleter) return;
  const size_t nbytes = static_cast<size_t>(tensor.capacity) * elementSize(tensor.type);
  mark_free(tensor.data, (nbytes + 7) / 8 * 8);
}

/// Gives `made` a block of the heap's.
inline void own_block(const Allocation& memory, ImplFields& made) noexcept {
  made.data = memory.data;
  made.ownership = Ownership::Owned;
  made.deleter.own_block(memory.base);
}

/// The tensor whose memory it is: what `source` views, or itself. Null for a handle over a raw
/// TensorImpl*, which has nothing to keep: that memory is the caller's.
inline const TensorImplPtr& memory_base(const TensorArg& source) noexcept {
  const TensorImplPtr& base = fields(source).base;
  return base != nullptr ? base : source.tensor().impl();
}

/// Keeps a tensor's memory: it stays alive, and the tensor can neither grow nor let it go. Of a
/// handle over a raw TensorImpl* it keeps nothing: that memory is the caller's.
class MemoryHold {
 public:
  MemoryHold() noexcept = default;
  MemoryHold(MemoryHold&&) noexcept = default;
  MemoryHold& operator=(MemoryHold&&) = delete;
  ~MemoryHold() {
    if (base_ != nullptr) static_cast<void>(fields(base_).borrows.remove());
  }

  /// Only for an empty hold.
  Error hold(const TensorArg& source) noexcept {
    hold(memory_base(source));
    return Error::Ok;
  }
  MemoryHold copy() const noexcept {
    MemoryHold made;
    made.hold(base_);
    return made;
  }
  /// The tensor whose memory is held; null for none.
  const TensorImpl* tensor() const noexcept { return base_.get(); }
  /// Where its memory begins; null for none.
  void* origin() const noexcept { return base_ == nullptr ? nullptr : fields(base_).data; }

  // For imports of tenon's own exports: a round trip adds no owner.

  /// Makes `draft` the tensor whose memory is held, where that is still all as described.
  bool share(const void* data, ScalarType type, const Device& device, const Dims& sizes,
             const Dims& strides, TensorShapeDynamism dynamism, bool readonly,
             Draft& draft) const noexcept {
    if (base_ == nullptr) return false;
    const ImplFields& held = fields(base_);
    if (sizes.empty()) dynamism = TensorShapeDynamism::STATIC;
    const bool is_alike = (data == held.data || held.layout.numel == 0) && held.has_data() &&
                          type == held.type && dynamism == held.dynamism &&
                          readonly == held.readonly && device == held.device &&
                          sizes == held.layout.sizes() && strides == held.layout.strides();
    if (is_alike) draft = base_;
    return is_alike;
  }
  /// Makes `made` a view of the held memory and empties this hold. False, with nothing changed, for
  /// a tensor that can grow, and for one of other memory: who got a blob or a struct may edit it.
  bool attach(ImplFields& made) noexcept {
    const bool can_grow =
        made.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND && made.device.is_cpu();
    if (base_ == nullptr || can_grow || !contains(made)) return false;
    made.ownership = Ownership::View;
    made.opaque = fields(base_).opaque;
    made.backend = fields(base_).backend;
    made.base = std::move(base_);
    return true;
  }

 private:
  void hold(const TensorImplPtr& base) noexcept {
    if (base.use_count() == 0) return;
    ::new (static_cast<void*>(&base_)) TensorImplPtr(base);  // smaller than assigning: it is empty
    fields(base_).borrows.add();
  }
  /// Whether element 0 of `made` lies in the held memory; without elements, on its device.
  bool contains(const ImplFields& made) const noexcept {
    const ImplFields& held = fields(base_);
    const Layout& layout = held.layout;
    const ptrdiff_t end =
        layout.required_span_size() < held.capacity ? held.capacity : layout.required_span_size();
    const size_t size = elementSize(held.type);
    const size_t begin =
        reinterpret_cast<uintptr_t>(held.data) + static_cast<size_t>(layout.offsets.min) * size;
    return made.device == held.device &&
           (made.layout.numel == 0 || reinterpret_cast<uintptr_t>(made.data) - begin <
                                          static_cast<size_t>(end - layout.offsets.min) * size);
  }

  TensorImplPtr base_;
};

/// Makes the view `made` hold the memory of `source`, as a MemoryHold does.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  const TensorImplPtr& base = memory_base(source);
  if (base.use_count() == 0) return;
  made.base = base;
  fields(base).borrows.add();
}

/// A hold as the deleter of a shared_ptr, where held_by() finds it.
struct ReleaseHold {
  MemoryHold hold;
  void operator()(const void*) noexcept { const MemoryHold released = std::move(hold); }
};
/// A hold as a shared_ptr; null if there is nothing to hold.
TENON_LAZY Error make_owner(const TensorArg& source, std::shared_ptr<const void>& owner) noexcept {
  ReleaseHold release;
  TENON_TRY(release.hold.hold(source));
  const void* const held = release.hold.tensor();
  if (held == nullptr) return Error::Ok;
  constexpr size_t kSize = kControlSize + sizeof(ReleaseHold);
  void* const block = allocate_metadata(kSize, metadata_beside(fields(source)));
  if (TENON_UNLIKELY(block == nullptr)) return Error::OutOfMemory;
  owner = std::shared_ptr<const void>(held, std::move(release), NodeAllocator<char, kSize>(block));
  return Error::Ok;
}
/// held_by() needs RTTI to recognise it.
#if defined(__cpp_rtti)
inline constexpr bool kKnowsOwners = true;
#else
inline constexpr bool kKnowsOwners = false;
#endif
/// A hold on the memory of an owner from make_owner(); empty for other owners.
inline MemoryHold held_by([[maybe_unused]] const std::shared_ptr<const void>& owner) noexcept {
#if defined(__cpp_rtti)
  if (const auto* const release = std::get_deleter<ReleaseHold>(owner)) return release->hold.copy();
#endif
  return MemoryHold();
}

/// Makes `draft` the impl of a tensor that exists.
inline void share_impl(const Tensor& tensor, Draft& draft) noexcept { draft = tensor.impl(); }
inline void share_impl(Tensor&& tensor, Draft& draft) noexcept {
  draft = std::move(tensor.impl_);
}

/// Moves a draft to what holds it. A handle lies in the memory of `metadata`, or on the heap; if
/// there is none, the draft stays as it is.
template <class T>
Error finish_draft(Draft& draft, T& out, [[maybe_unused]] BackendState* metadata) noexcept {
  if constexpr (std::is_same_v<T, TensorPtr>) {
    out.reset(new (metadata) Tensor(std::move(draft)));
    if (TENON_UNLIKELY(out == nullptr)) return Error::OutOfMemory;  // the text is there
  } else {
    out = T(std::move(draft));
  }
  return Error::Ok;
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

/// Memory that is to take the place of a tensor's, once nothing can fail.
struct Replacement {
  void* data = nullptr;
  Deleter release;
  Error prepare() const noexcept { return Error::Ok; }
};
/// Takes it; the old memory is released. Cannot fail. The deleter comes last: it may use the
/// tensor, or destroy it.
inline void replace_memory(Resizable& tensor, Replacement&& memory, ptrdiff_t capacity) noexcept {
  mark_inline_data_free(tensor);
  tensor.data = memory.data;
  tensor.capacity = capacity;
  tensor.ownership = Ownership::Owned;
  tensor.deleter = std::move(memory.release);
}

/// Releases the memory; the metadata stays. Of a view the memory is the base's, which goes last.
inline Error drop_memory(const TensorArg& tensor) noexcept {
  ImplFields& dropped = fields(tensor);
  mark_inline_data_free(dropped);
  dropped.data = nullptr;
  dropped.backend = nullptr;
  dropped.capacity = 0;
  dropped.deallocated = true;
  const TensorImplPtr base = std::move(dropped.base);
  if (base != nullptr) static_cast<void>(fields(base).borrows.remove());
  dropped.deleter.reset();
  return Error::Ok;
}

/// What releases a tensor's own memory; null for a view.
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

/// Whether others would lose memory that the tensor lets go of.
inline bool is_shared_memory(const TensorArg& tensor) noexcept {
  const ImplFields& held = fields(tensor);
  // What a view keeps alive is in use by its source as long as there are handles to that.
  return held.borrows.any() || (held.base != nullptr && held.base.use_count() > 1);
}

/// Gives the tensor another shape, for which there is room. Here it cannot fail.
inline Error replace_layout(Resizable& tensor, Layout&& layout) noexcept {
  if (layout.rank() == 0) tensor.dynamism = TensorShapeDynamism::STATIC;
  tensor.layout = std::move(layout);
  return Error::Ok;
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
