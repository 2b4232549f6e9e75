// SPDX-License-Identifier: MIT
// NewTensor, a tensor under construction, and MemoryHold, which keeps a tensor's memory alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Data up to this many bytes is in one block with the metadata. Larger data is in a separate
/// block, which a growing tensor can release.
inline constexpr size_t kMaxInlineBytes = 1024;
constexpr bool is_inline_size(size_t nbytes) noexcept { return nbytes <= kMaxInlineBytes; }

/// A tensor under construction: its impl, which a creator fills in place.
using NewTensor = TensorImplPtr;

/// Makes an impl, preceded by a seat for its first handle, in the memory of `metadata_backend`, or
/// on the heap if that is null. In ATen mode makes it on the heap, without a seat. The block has
/// `room` more bytes for elements. `new_tensor` must be null.
TENON_TEMPLATE_INLINE Error make_impl(NewTensor& new_tensor,
                                      BackendState* metadata_backend = nullptr,
                                      size_t room = 0) noexcept {
  constexpr size_t kSeatSize = kHasOwnTensors ? sizeof(Seat) : 0;
  if (!kHasOwnTensors) metadata_backend = nullptr;
  void* const block = allocate_metadata(kSeatSize + kNodeSize<TensorImpl> + room, metadata_backend);
  if (block == nullptr) return Error::OutOfMemory;
  if (kHasOwnTensors) ::new (block) Seat;
  void* const node = static_cast<char*>(block) + kSeatSize;
  auto* const impl = ::new (place_in<TensorImpl>(node)) TensorImpl(ImplKey{metadata_backend});
  // Constructed, not assigned: that is less code, and does not reload the two pointers just stored.
  ::new (static_cast<void*>(&new_tensor))
      TensorImplPtr(impl, DestroyOnly(), NodeAllocator<TensorImpl>(node));
  return Error::Ok;
}
/// The bytes to allocate for `nbytes` aligned bytes; and the address at which the aligned bytes
/// start.
constexpr size_t inline_room(size_t nbytes) noexcept { return nbytes + kDataAlignment - 1; }
inline void* inline_data(const NewTensor& new_tensor) noexcept {
  return align_up(reinterpret_cast<char*>(new_tensor.get()) + sizeof(TensorImpl));
}
/// Makes a heap block the memory of `made`.
inline void own_block(const Allocation& memory, ImplFields& made) noexcept {
  made.data = memory.data;
  made.ownership = Ownership::Owned;
  made.deleter.own_block(memory.base);
}

/// Memory that will replace a tensor's memory, once nothing can fail.
struct Replacement {
  void* data = nullptr;
  Deleter release;
};

/// Keeps a tensor's memory alive, and blocks growth and deallocation of the tensor. Holds nothing
/// for a handle over a raw TensorImpl*, whose memory is the caller's.
class MemoryHold {
 public:
  MemoryHold() noexcept = default;
  MemoryHold(MemoryHold&&) noexcept = default;
  MemoryHold& operator=(MemoryHold&&) = delete;
  ~MemoryHold() {
    if (base_ != nullptr) static_cast<void>(fields(base_).borrows.remove());
  }

  // The hold must be empty.
  Error hold(const TensorArg& source) noexcept;  // in handle.h
  void hold(const TensorImplPtr& base) noexcept {
    if (base.use_count() == 0) return;
    ::new (static_cast<void*>(&base_)) TensorImplPtr(base);  // less code than an assignment
    fields(base_).borrows.add();
  }
  MemoryHold copy() const noexcept {
    MemoryHold made;
    made.hold(base_);
    made.is_of_view_ = is_of_view_;
    return made;
  }
  /// The tensor whose memory is held, or null.
  const TensorImpl* tensor() const noexcept { return base_.get(); }
  /// Checks that the held memory's backend still exists.
  Error check(const char* role) const noexcept {
    return base_ == nullptr ? Error::Ok : check_data_backend(fields(base_), role);
  }
  /// The start of the held memory, or null.
  void* origin() const noexcept { return base_ == nullptr ? nullptr : fields(base_).data; }

  // For imports of tenon's exports: after a round trip the memory has no further owner. Unused in
  // ATen mode, where a tensor is not the impl.

  /// Makes `new_tensor` another reference to the held tensor, if that tensor still matches the
  /// description.
  bool share(const void* data, ScalarType type, const Device& device, ArrayRef<int64_t> sizes,
             ArrayRef<int64_t> strides, TensorShapeDynamism dynamism, bool readonly,
             NewTensor& new_tensor) const noexcept {
    if (!kHasOwnTensors || base_ == nullptr || is_of_view_) return false;
    const ImplFields& held = fields(base_);
    if (sizes.empty()) dynamism = TensorShapeDynamism::STATIC;
    const bool is_alike = (data == held.data || held.layout.numel == 0) && held.has_data() &&
                          type == held.type && dynamism == held.dynamism &&
                          readonly == held.readonly && device == held.device &&
                          sizes == held.layout.sizes() && strides == held.layout.strides();
    if (is_alike) new_tensor = base_;
    return is_alike;
  }
  /// Makes `made` a view of the held memory and empties this hold. Returns false and changes
  /// nothing if `made` can grow, or if its memory is not the held memory: the user may have edited
  /// a blob or a struct.
  bool attach(ImplFields& made) noexcept {
    const bool can_grow =
        made.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND && made.device.is_cpu();
    if (!kHasOwnTensors || base_ == nullptr || can_grow || !contains(made)) return false;
    made.ownership = Ownership::View;
    made.opaque = fields(base_).opaque;
    made.data_backend = fields(base_).data_backend;
    made.base = std::move(base_);
    return true;
  }

 private:
  /// Whether element 0 of `made` is in the held memory; if there are no elements, whether the
  /// devices are equal.
  bool contains(const ImplFields& made) const noexcept {
    const ImplFields& held = fields(base_);
    const Layout& layout = held.layout;
    const ptrdiff_t end =
        layout.required_span_size() < held.capacity ? held.capacity : layout.required_span_size();
    const size_t size = elementSize(held.type);
    const size_t begin =
        reinterpret_cast<uintptr_t>(held.data) + static_cast<size_t>(layout.offsets.min) * size;
    // Unsigned: the distance may exceed a ptrdiff_t.
    const uintptr_t span = static_cast<uintptr_t>(end) - static_cast<uintptr_t>(layout.offsets.min);
    return made.device == held.device &&
           (made.layout.numel == 0 || reinterpret_cast<uintptr_t>(made.data) - begin < span * size);
  }

  TensorImplPtr base_;
  bool is_of_view_ = false;  // whether the tensor that was held is a view of base_
};

/// A hold as a shared_ptr's deleter. held_by() finds it there.
struct ReleaseHold {
  MemoryHold hold;
  void operator()(const void*) noexcept { const MemoryHold released = std::move(hold); }
};
/// A hold as a shared_ptr; null if the hold is empty.
TENON_TEMPLATE_INLINE Error make_owner(const TensorArg& source,
                                       std::shared_ptr<const void>& owner) noexcept {
  ReleaseHold release;
  TENON_TRY(release.hold.hold(source));
  const void* const held = release.hold.tensor();
  if (held == nullptr) return Error::Ok;
  constexpr size_t kSize = kControlSize + sizeof(ReleaseHold);
  void* const block = allocate_metadata(kSize, metadata_backend_of(fields(source)));
  if (block == nullptr) return Error::OutOfMemory;
  owner = std::shared_ptr<const void>(held, std::move(release), NodeAllocator<char, kSize>(block));
  return Error::Ok;
}
/// Whether hold_in() can recognise an owner from make_owner(), which needs RTTI.
#if defined(__cpp_rtti)
inline constexpr bool kKnowsOwners = true;
#else
inline constexpr bool kKnowsOwners = false;
#endif
/// The hold in an owner from make_owner(); null for other owners.
inline const MemoryHold* hold_in(
    [[maybe_unused]] const std::shared_ptr<const void>& owner) noexcept {
#if defined(__cpp_rtti)
  if (const auto* const release = std::get_deleter<ReleaseHold>(owner)) return &release->hold;
#endif
  return nullptr;
}
/// Another hold on the memory that an owner from make_owner() holds; empty for other owners.
inline MemoryHold held_by(const std::shared_ptr<const void>& owner) noexcept {
  const MemoryHold* const hold = hold_in(owner);
  return hold != nullptr ? hold->copy() : MemoryHold();
}

}  // namespace detail
TENON_END_NAMESPACE
