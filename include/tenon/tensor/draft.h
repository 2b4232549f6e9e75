// SPDX-License-Identifier: MIT
// Draft: a tensor in the making. With Resizable, all that tells the library's modes apart where
// tensors are made and changed; what they are, tensor.h and tensor_arg.h say.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/draft.h"
#else

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/memory.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Data up to this many bytes lies in one block with the metadata. Larger data gets a block of its
/// own, which a growing tensor can release.
inline constexpr size_t kMaxInlineBytes = 1024;

/// The impl itself, which a creator fills in place.
using Draft = TensorImplPtr;

inline ImplFields& fields(const Draft& draft) noexcept { return ImplAccess::fields(*draft); }

/// Makes an impl in `block` and puts it into `draft`, which is null. Constructed there rather than
/// assigned: the two pointers, just stored, would be loaded as one vector, which waits for the
/// store buffer.
TENON_LAZY void place_draft(void* block, Draft& draft) noexcept {
  ::new (static_cast<void*>(&draft)) TensorImplPtr(
      std::allocate_shared<TensorImpl>(NodeAllocator<TensorImpl>(block), ImplAccess::key()));
}

/// `text` is what the backend said, if anything.
TENON_COLD inline Error fail_metadata(const BackendState* metadata, const char* what,
                                      const char* text) noexcept {
  if (metadata == nullptr) return fail(Error::OutOfMemory, {"out of memory for ", what});
  return fail(Error::OutOfMemory, {"backend ", metadata->backend->name(), " has no memory for ",
                                   what, *text == '\0' ? "" : ": ", text});
}

/// Starts a tensor, to be filled in. Its impl is in the memory of `metadata`, if that is not null.
TENON_LAZY Error start_draft(Draft& draft, BackendState* metadata = nullptr) noexcept {
  void* const block = allocate_metadata(ImplAccess::kNodeSize, metadata);
  if (TENON_UNLIKELY(block == nullptr)) {
    return fail_metadata(metadata, "a tensor", error_text().text);
  }
  place_draft(block, draft);
  return Error::Ok;
}

/// Starts a tensor whose elements lie in one block with its impl.
TENON_LAZY Error start_small_draft(size_t nbytes, BackendState* metadata, Draft& draft) noexcept {
  void* const block = allocate_metadata(ImplAccess::kNodeSize, metadata, nbytes);
  if (TENON_UNLIKELY(block == nullptr)) {
    return fail_metadata(metadata, "a tensor", error_text().text);
  }
  place_draft(block, draft);
  fields(draft).data = metadata_data(block, ImplAccess::kNodeSize);
  fields(draft).ownership = Ownership::Owned;
  return Error::Ok;
}

/// Starts a tensor that has host memory of its own.
TENON_LAZY Error start_owned_draft(size_t nbytes, Contents contents, Draft& draft) noexcept {
  if (nbytes <= kMaxInlineBytes) {
    TENON_TRY(start_small_draft(nbytes, nullptr, draft));
    ImplFields& made = fields(draft);
    if (contents == Contents::Zero) std::memset(made.data, 0, nbytes);
    return Error::Ok;
  }
  const Allocation memory = contents == Contents::Zero ? allocate_zeroed(nbytes) : allocate(nbytes);
  if (TENON_UNLIKELY(memory.base == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for ", nbytes, " bytes of data"});
  }
  Deleter release(memory.base, &std::free);
  TENON_TRY(start_draft(draft));
  ImplFields& made = fields(draft);
  made.data = memory.data;
  made.ownership = Ownership::Owned;
  made.deleter = std::move(release);
  return Error::Ok;
}

/// Starts a tensor that has memory of a backend's, whose state is `state`.
TENON_LAZY TENON_NOINLINE Error start_backend_draft(Backend& backend, BackendState* state,
                                                    size_t nbytes, Draft& draft) noexcept {
  BackendState* const metadata = metadata_of(state);
  if (metadata != nullptr && metadata == state && nbytes <= kMaxInlineBytes) {
    TENON_TRY(start_small_draft(nbytes, metadata, draft));
    set_backend(*state, fields(draft));
    return Error::Ok;
  }
  TENON_TRY(start_draft(draft, metadata));
  return take_backend_memory(backend, state, nbytes, fields(draft));
}

/// The tensor whose memory it is: what `source` views, or itself. Null for a handle over a raw
/// TensorImpl*, which has nothing to keep: that memory is the caller's.
inline TensorImplPtr memory_base(const TensorArg& source) noexcept {
  const TensorImplPtr& base = fields(source).base;
  return base != nullptr ? base : source.tensor().impl();
}

/// Makes `made` keep the memory of `source` alive, and count as a borrow of it.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  TensorImplPtr base = memory_base(source);
  if (base.use_count() == 0) return;
  made.base = std::move(base);
  fields(made.base).borrows.add();
}

/// What does the same without being a tensor.
class MemoryHold {
 public:
  MemoryHold() noexcept = default;
  MemoryHold(MemoryHold&&) noexcept = default;
  MemoryHold& operator=(MemoryHold&&) = delete;
  ~MemoryHold() {
    if (base_ != nullptr) static_cast<void>(fields(base_).borrows.remove());
  }

  /// For one that holds nothing yet.
  Error hold(const TensorArg& source) noexcept {
    base_ = memory_base(source);
    if (base_.use_count() == 0) base_ = nullptr;
    if (base_ != nullptr) fields(base_).borrows.add();
    return Error::Ok;
  }
  /// Where the memory begins that is held; null for none.
  void* origin() const noexcept { return base_ == nullptr ? nullptr : fields(base_).data; }

 private:
  TensorImplPtr base_;
};

/// An owner that does the same, null where there is nothing to keep: a view without a shape.
TENON_LAZY Error keep_memory(const TensorArg& source, std::shared_ptr<const void>& owner) noexcept {
  if (fields(source).base == nullptr && source.tensor().use_count() == 0) return Error::Ok;
  Draft keeper;
  TENON_TRY(start_draft(keeper, metadata_of(fields(source).backend)));
  fields(keeper).ownership = Ownership::View;
  keep_memory(source, fields(keeper));
  owner = std::move(keeper);
  return Error::Ok;
}

/// Makes `draft` the impl of a tensor that exists.
inline void share_impl(const Tensor& tensor, Draft& draft) noexcept { draft = tensor.impl(); }
inline void share_impl(TensorImplPtr&& impl, Draft& draft) noexcept { draft = std::move(impl); }

/// Where a creator puts its draft: in the very object that it will return, since moving two
/// pointers that were just stored waits for the store buffer. A handle is in the memory of
/// `metadata`, if that is not null.
template <class T>
struct Slot;
template <>
struct Slot<TensorImplPtr> {
  Slot() noexcept = default;
  explicit Slot(BackendState*) noexcept {}
  TensorImplPtr value;
  Draft& draft() noexcept { return value; }
  Error commit() const noexcept { return Error::Ok; }
  TensorImplPtr&& take() noexcept { return std::move(value); }
};
template <>
struct Slot<Tensor> {
  Slot() noexcept = default;
  explicit Slot(BackendState*) noexcept {}
  Tensor value;
  Draft& draft() noexcept { return ImplAccess::impl(value); }
  Error commit() const noexcept { return Error::Ok; }
  Tensor&& take() noexcept { return std::move(value); }
};
template <>
struct Slot<TensorPtr> {
  Slot() noexcept : value(new (std::nothrow) Tensor) {}
  explicit Slot(BackendState* origin) noexcept : value(new (origin) Tensor), metadata(origin) {}
  TensorPtr value;
  BackendState* metadata = nullptr;
  Draft without_handle;
  Draft& draft() noexcept { return value != nullptr ? ImplAccess::impl(*value) : without_handle; }
  Error commit() const noexcept {
    return TENON_UNLIKELY(value == nullptr) ? fail_metadata(metadata, "a handle", "") : Error::Ok;
  }
  TensorPtr&& take() noexcept { return std::move(value); }
};

/// A tensor whose shape and memory may change.
using Resizable = ImplFields;

inline Resizable& resizable(const TensorArg& tensor) noexcept { return fields(tensor); }

inline bool is_borrowed(const Resizable& tensor) noexcept { return tensor.borrows.any(); }

/// The usual case in one pass: a row-major tensor keeps its rank and stays within its room. False,
/// with nothing changed, when it is any other case.
inline bool resize_in_place(Resizable& tensor, const Dims& sizes) noexcept {
  Layout& layout = tensor.layout;
  const size_t rank = layout.sizes.size();
  if (tensor.dynamism == TensorShapeDynamism::STATIC || !layout.row_major || sizes.size() != rank ||
      rank > Dims::kInlineSize) {
    return false;
  }
  int64_t strides[Dims::kInlineSize];
  const int64_t* const size = sizes.data();
  DensePass pass;
  for (size_t d = rank; d-- > 0;) {
    strides[d] = pass.product;
    pass.take(size[d]);
  }
  // Room for the elements implies that their bytes do not overflow; without elements it implies
  // nothing.
  if (pass.overflow || pass.signs < 0 || pass.empty || pass.product > tensor.capacity) return false;
  for (size_t d = 0; d < rank; ++d) {
    layout.sizes[d] = size[d];
    layout.strides[d] = strides[d];
  }
  layout.numel = pass.product;
  layout.extent = Extent{0, pass.product - 1};
  return true;
}

/// Memory that is to take the place of a tensor's, once nothing can fail.
using Replacement = NewMemory;
inline Error prepare_replacement(NewMemory&& memory, Replacement& replacement) noexcept {
  replacement = std::move(memory);
  return Error::Ok;
}
/// Takes it; the old memory is released. Cannot fail. The deleter comes last: it may use the
/// tensor, or destroy it.
inline void replace_memory(Resizable& tensor, Replacement&& memory, int64_t capacity) noexcept {
  tensor.data = memory.data;
  tensor.capacity = capacity;
  tensor.ownership = Ownership::Owned;
  tensor.deleter = std::move(memory.release);
}

/// Releases the memory; the metadata stays. Of a view the memory is the base's, which goes last.
inline Error drop_memory(const TensorArg& tensor) noexcept {
  ImplFields& dropped = fields(tensor);
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

/// Whether others would lose memory that the tensor lets go of.
inline bool is_shared_memory(const TensorArg& tensor) noexcept {
  const ImplFields& held = fields(tensor);
  // What a view keeps alive is in use by its source as long as there are handles to that.
  return held.borrows.any() || (held.base != nullptr && held.base.use_count() > 1);
}

/// Gives the tensor another shape, for which there is room. Here it cannot fail.
inline Error replace_layout(Resizable& tensor, Layout&& layout) noexcept {
  if (layout.sizes.empty()) tensor.dynamism = TensorShapeDynamism::STATIC;
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
