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
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Data up to this many bytes lies in one block with the metadata. Larger data gets a block of its
/// own, which a growing tensor can release.
inline constexpr size_t kMaxInlineBytes = 1024;

enum class Contents : uint8_t { Uninitialized, Zero };

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

/// Starts a tensor, to be filled in.
TENON_LAZY Error start_draft(Draft& draft) noexcept {
  void* block = std::malloc(ImplAccess::kNodeSize);
  if (TENON_UNLIKELY(block == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for a tensor"});
  }
  place_draft(block, draft);
  return Error::Ok;
}

/// Starts a tensor that has host memory of its own.
TENON_LAZY Error start_owned_draft(size_t nbytes, Contents contents, Draft& draft) noexcept {
  if (nbytes <= kMaxInlineBytes) {
    void* block = std::malloc(ImplAccess::kNodeSize + nbytes + kDataAlignment - 1);
    if (TENON_UNLIKELY(block == nullptr)) {
      return fail(Error::OutOfMemory, {"out of memory for a tensor"});
    }
    place_draft(block, draft);
    ImplFields& made = fields(draft);
    made.data = align_up(static_cast<char*>(block) + ImplAccess::kNodeSize);
    made.ownership = Ownership::Owned;
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

/// Makes `made` keep the memory of `source` alive, and count as a borrow of it. A handle over a raw
/// TensorImpl* has nothing to keep: that memory is the caller's.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  const ImplFields& from = fields(source);
  if (from.base != nullptr) {
    made.base = from.base;
  } else if (source.tensor().use_count() != 0) {
    made.base = source.tensor().impl();
  }
  if (made.base != nullptr) fields(made.base).borrows.add();
}

/// An owner that does the same, null where there is nothing to keep: a view without a shape.
TENON_LAZY Error keep_memory(const TensorArg& source, std::shared_ptr<const void>& owner) noexcept {
  if (fields(source).base == nullptr && source.tensor().use_count() == 0) return Error::Ok;
  Draft keeper;
  TENON_TRY(start_draft(keeper));
  fields(keeper).ownership = Ownership::View;
  keep_memory(source, fields(keeper));
  owner = std::move(keeper);
  return Error::Ok;
}

/// Makes `draft` the impl of a tensor that exists.
inline void share_impl(const Tensor& tensor, Draft& draft) noexcept { draft = tensor.impl(); }
inline void share_impl(TensorImplPtr&& impl, Draft& draft) noexcept { draft = std::move(impl); }

inline Error check_handle(bool there) noexcept {
  if (TENON_UNLIKELY(!there)) return fail(Error::OutOfMemory, {"out of memory for a handle"});
  return Error::Ok;
}

/// Where a creator puts its draft: in the very object that it will return, since moving two
/// pointers that were just stored waits for the store buffer.
template <class T>
struct Slot;
template <>
struct Slot<TensorImplPtr> {
  TensorImplPtr value;
  Draft& draft() noexcept { return value; }
  Error commit() const noexcept { return Error::Ok; }
  TensorImplPtr&& take() noexcept { return std::move(value); }
};
template <>
struct Slot<Tensor> {
  Tensor value;
  Draft& draft() noexcept { return ImplAccess::impl(value); }
  Error commit() const noexcept { return Error::Ok; }
  Tensor&& take() noexcept { return std::move(value); }
};
template <>
struct Slot<TensorPtr> {
  TensorPtr value{new (std::nothrow) Tensor};
  Draft without_handle;
  Draft& draft() noexcept { return value != nullptr ? ImplAccess::impl(*value) : without_handle; }
  Error commit() const noexcept { return check_handle(value != nullptr); }
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

/// Moves the first `kept` elements to the new memory and releases the old one. Cannot fail.
inline void replace_memory(Resizable& tensor, const Allocation& memory, int64_t capacity,
                           int64_t kept) noexcept {
  const auto kept_bytes = static_cast<size_t>(kept) * elementSize(tensor.type);
  if (kept_bytes != 0) std::memcpy(memory.data, tensor.data, kept_bytes);
  tensor.deleter = Deleter(memory.base, &std::free);
  tensor.data = memory.data;
  tensor.capacity = capacity;
  tensor.ownership = Ownership::Owned;
}

/// Gives the tensor another shape, for which there is room. Here it cannot fail.
inline Error replace_layout(Resizable& tensor, Layout&& layout) noexcept {
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
