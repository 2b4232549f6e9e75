// SPDX-License-Identifier: MIT
// ATen mode's Draft and Resizable, see tensor/draft.h: an at::Tensor in the making.
//
// The memory is a c10::Storage whose DataPtr releases it. Whoever shares the storage, a view of
// tenon's or ATen's or a Blob, borrows the memory: that is what the storage's count says.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorOptions.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/aten/device.h"
#include "tenon/aten/errors.h"
#include "tenon/config.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a tensor is to be made of.
struct ImplFields : TensorFields {
  const at::Tensor* base = nullptr;  // of a view, the source, which outlives the draft
  std::unique_ptr<void, c10::DeleterFnPtr> block{nullptr, &std::free};  // of memory of its own
  Deleter deleter;
};

/// A tensor in the making. What it owns is released with it, unless it was committed.
class Draft {
 public:
  using ImplPtr = c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;

  ImplFields& fields() noexcept { return fields_; }
  const ImplPtr& impl() const noexcept { return impl_; }
  void share(ImplPtr impl) noexcept { impl_ = std::move(impl); }
  ImplPtr take() noexcept { return std::move(impl_); }

  /// Makes the TensorImpl.
  /// Errors: NotSupported for what ATen does not have, OutOfMemory.
  Error commit() noexcept {
    if (impl_.defined()) return Error::Ok;
    TENON_TRY(check());
    return call_libtorch([this] { return make_impl(); });
  }

 private:
  /// Whether ATen has such tensors.
  Error check() noexcept {
    if (TENON_UNLIKELY(fields_.readonly)) {
      return fail(
          Error::NotSupported,
          "ATen has no read-only tensors; clone_tensor_ptr() makes a writable copy of what is "
          "read-only, a const_cast lends it to be written");
    }
    if (TENON_UNLIKELY(fields_.layout.offsets.min < 0)) {
      return fail(Error::NotSupported, "strides ", fields_.layout.strides(), " for sizes ",
                  fields_.layout.sizes(), ": ATen has no negative ones");
    }
    if (TENON_UNLIKELY(static_cast<int>(fields_.type) >=
                       static_cast<int>(c10::ScalarType::NumOptions))) {
      return fail(Error::NotSupported, "this libtorch has no dtype ", fields_.type);
    }
    return Error::Ok;
  }

  Error make_storage(c10::Device device, c10::Storage& storage) {
    // A storage of Meta is as long as one with memory: views are checked against it.
    const size_t nbytes =
        fields_.data == nullptr && !device.is_meta()
            ? 0
            : static_cast<size_t>(fields_.layout.required_span_size()) * elementSize(fields_.type);
    c10::DataPtr memory(fields_.data, device);
    if (fields_.block != nullptr) {
      memory = {fields_.data, fields_.block.release(), &std::free, device};
    } else if (fields_.deleter) {
      auto* const deleter = new (std::nothrow) Deleter(std::move(fields_.deleter));
      if (deleter == nullptr) return fail(Error::OutOfMemory, "out of memory for the deleter");
      memory = {fields_.data, deleter, release_deleter(), device};
    }
    // What cannot grow here cannot there: at::Tensor::resize_() looks at the storage.
    const bool resizable =
        fields_.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND && device.is_cpu() &&
        fields_.backend == nullptr &&
        (fields_.ownership == Ownership::Owned || fields_.ownership == Ownership::Adopted);
    storage = c10::Storage(c10::Storage::use_byte_size_t(), nbytes, std::move(memory),
                           resizable ? c10::GetCPUAllocator() : nullptr, resizable);
    return Error::Ok;
  }

  /// Where a view starts, in elements from the start of the storage.
  Error compute_offset(int64_t& offset) const {
    if (fields_.data == nullptr) return Error::Ok;
    const auto* const start = static_cast<const char*>(const_storage_data(fields_.base->storage()));
    const int64_t bytes = static_cast<const char*>(fields_.data) - start;
    const auto size = static_cast<int64_t>(elementSize(fields_.type));
    if (TENON_UNLIKELY(bytes % size != 0)) {
      return fail(Error::NotSupported, "elements of ", size, " bytes, ", bytes,
                  " bytes into the storage: ATen counts such offsets in elements");
    }
    offset = bytes / size;
    return Error::Ok;
  }

  Error make_impl() {
    static const c10::Device cpu{c10::DeviceType::CPU};
    c10::Device device = cpu;
    c10::DispatchKey key = c10::DispatchKey::CPU;
    if (TENON_UNLIKELY(!fields_.device.is_cpu())) {
      TENON_TRY(to_c10_strided(fields_.device, device));
      key = c10::computeDispatchKey(public_type(fields_.type), c10::kStrided, device);
    }
    int64_t offset = 0;
    c10::Storage storage;
    if (fields_.base != nullptr) {
      TENON_TRY(compute_offset(offset));
      storage = fields_.base->storage();
    } else {
      TENON_TRY(make_storage(device, storage));
    }
    auto made = c10::make_intrusive<ManagedImpl>(std::move(storage), c10::DispatchKeySet(key),
                                                 fields_, offset);
    // What is written through a view, autograd notices in its source.
    if (fields_.base != nullptr && !fields_.base->is_inference() && !made->is_inference()) {
      made->set_version_counter(fields_.base->unsafeGetTensorImpl()->version_counter());
    }
    impl_ = std::move(made);
    return Error::Ok;
  }

  ImplFields fields_;
  ImplPtr impl_;
};

inline ImplFields& fields(Draft& draft) noexcept { return draft.fields(); }

/// libtorch keeps metadata on the heap, and elements in blocks of their own.
constexpr bool is_inline_size(size_t) noexcept { return false; }
constexpr size_t inline_room(size_t) noexcept { return 0; }
inline void* inline_data(Draft&) noexcept { return nullptr; }

/// Makes an impl: here, what Draft::commit() will make one of.
inline Error new_impl(Draft&, BackendState* = nullptr, size_t = 0) noexcept { return Error::Ok; }

/// Gives `made` a block of the heap's.
inline void own_block(const Allocation& memory, ImplFields& made) noexcept {
  made.data = memory.data;
  made.block.reset(memory.base);
  made.ownership = Ownership::Owned;
}

/// Makes `made` keep the memory of `source` alive, and count as a borrow of it.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  made.base = &source.tensor();
}

/// Keeps a tensor's memory: it stays alive, and the tensor can neither grow nor let it go.
class MemoryHold {
 public:
  /// For one that holds nothing yet.
  Error hold(const TensorArg& source) noexcept {
    return call_libtorch([&] {
      storage_ = source.tensor().storage();
      return Error::Ok;
    });
  }
  /// Where the memory begins that is held; null for none.
  void* origin() const noexcept { return storage_ ? const_storage_data(storage_) : nullptr; }
  // An import gets a storage of its own in any case: what is held is not a tensor.
  template <class... Description>
  bool share(const Description&...) const noexcept {
    return false;
  }
  bool attach(ImplFields&) noexcept { return false; }

 private:
  c10::Storage storage_;
};

/// A hold as a shared_ptr.
inline Error make_owner(const TensorArg& source, std::shared_ptr<const void>& owner) noexcept {
  return call_libtorch([&] {
    owner = std::make_shared<c10::Storage>(source.tensor().storage());
    return Error::Ok;
  });
}
inline constexpr bool kKnowsOwners = false;
inline MemoryHold held_by(const std::shared_ptr<const void>&) noexcept { return MemoryHold(); }

/// Makes `draft` the impl of a tensor that exists.
inline void share_impl(const Tensor& tensor, Draft& draft) noexcept {
  draft.share(tensor.getIntrusivePtr());
}

/// Moves a draft to what holds it.
template <class T>
Error finish_draft(Draft& draft, T& out, BackendState*) noexcept {
  TENON_TRY(draft.commit());
  if constexpr (std::is_same_v<T, TensorPtr>) {
    out.reset(new (std::nothrow) Tensor(draft.take()));
    if (TENON_UNLIKELY(out == nullptr)) {
      return fail(Error::OutOfMemory, "out of memory for a tensor");
    }
  } else {
    out = T(draft.take());
  }
  return Error::Ok;
}

/// A tensor whose shape and memory may change: what it has, and where it is.
struct Resizable : TensorFields {
  explicit Resizable(const TensorArg& tensor) noexcept
      : TensorFields(detail::fields(tensor)), impl(tensor.tensor().unsafeGetTensorImpl()) {}
  c10::TensorImpl* impl;
};

inline Resizable resizable(const TensorArg& tensor) noexcept { return Resizable(tensor); }

inline bool is_borrowed(const Resizable& tensor) noexcept {
  return tensor.impl->unsafe_storage().use_count() > 1;
}

/// There is no short way here.
inline bool resize_in_place(Resizable&, ArrayRef<int64_t>) noexcept { return false; }

/// Gives the tensor another shape, for which there is, or will be, room.
/// Errors: OutOfMemory.
inline Error replace_layout(Resizable& tensor, Layout&& layout) noexcept {
  return call_libtorch([&] {
    tensor.impl->set_sizes_and_strides(c10::IntArrayRef(layout.sizes().data(), layout.rank()),
                                       c10::IntArrayRef(layout.strides().data(), layout.rank()));
    return Error::Ok;
  });
}

/// Memory that is to take the place of a tensor's, once nothing can fail.
struct Replacement {
  void* data = nullptr;
  Deleter release;
  std::unique_ptr<Deleter> kept = nullptr;  // `release`, for a DataPtr
  Error prepare() noexcept {
    kept.reset(new (std::nothrow) Deleter(std::move(release)));
    if (kept != nullptr) return Error::Ok;
    return fail(Error::OutOfMemory, "out of memory for the deleter");
  }
};
/// Takes it; the old memory is released, last, since its deleter may use the tensor. Cannot fail.
inline void replace_memory(Resizable& tensor, Replacement&& memory, int64_t capacity) noexcept {
  const c10::Storage& storage = tensor.impl->unsafe_storage();
  const c10::DataPtr old = storage.set_data_ptr(
      c10::DataPtr(memory.data, memory.kept.release(), release_deleter(), storage.device()));
  storage.set_nbytes(static_cast<size_t>(capacity) * elementSize(tensor.type));
  tensor.impl->set_storage_offset(0);
  if (ManagedImpl* const managed = as_managed(tensor.impl)) {
    managed->capacity = capacity;
    managed->ownership = Ownership::Owned;
  }
}

/// Releases the memory, last; the metadata stays.
inline Error drop_memory(const TensorArg& tensor) noexcept {
  return call_libtorch([&] {
    c10::TensorImpl* const impl = tensor.tensor().unsafeGetTensorImpl();
    const c10::Storage& storage = impl->unsafe_storage();
    const c10::DataPtr old = storage.set_data_ptr(c10::DataPtr(nullptr, storage.device()));
    storage.set_nbytes(0);
    if (ManagedImpl* const managed = as_managed(impl)) {
      managed->capacity = 0;
      managed->deallocated = true;
    }
    return Error::Ok;
  });
}

/// What releases a storage's memory, where that is a Deleter; else null.
inline Deleter* deleter_of(const c10::Storage& storage) noexcept {
  const c10::DataPtr& data = storage.data_ptr();
  return data.get_deleter() == release_deleter() ? static_cast<Deleter*>(data.get_context())
                                                 : nullptr;
}

/// What releases a tensor's own memory, where that is a Deleter; null for a view.
inline Deleter* deleter_of(const TensorArg& tensor) noexcept {
  if (fields(tensor).ownership == Ownership::View) return nullptr;
  return deleter_of(tensor.tensor().unsafeGetTensorImpl()->unsafe_storage());
}

/// The deleter of the tensor's memory (of its base, for a view) if nobody else holds that memory;
/// else null.
inline Deleter* sole_deleter(const TensorArg& tensor) noexcept {
  const c10::Storage& storage = tensor.tensor().unsafeGetTensorImpl()->unsafe_storage();
  return tensor.tensor().use_count() == 1 && storage.use_count() == 1 ? deleter_of(storage)
                                                                      : nullptr;
}

/// Whether others would lose memory that the tensor lets go of: who shares the storage.
inline bool is_shared_memory(const TensorArg& tensor) noexcept {
  return tensor.tensor().unsafeGetTensorImpl()->unsafe_storage().use_count() > 1;
}

/// Binds other memory of the caller's: another storage, so that views keep theirs.
inline Error bind_memory(const TensorArg& tensor, void* data) noexcept {
  const TensorFields& from = fields(tensor);
  TENON_TRY(check_can_bind(from));
  return call_libtorch([&] {
    c10::TensorImpl* const impl = tensor.tensor().unsafeGetTensorImpl();
    const int64_t span = from.layout.required_span_size();
    const int64_t reach = span < from.capacity ? from.capacity : span;
    const size_t nbytes = data == nullptr ? 0 : static_cast<size_t>(reach) * elementSize(from.type);
    impl->set_storage_keep_dtype(c10::Storage(c10::Storage::use_byte_size_t(), nbytes,
                                              c10::DataPtr(data, impl->device()), nullptr, false));
    return Error::Ok;
  });
}

}  // namespace detail
TENON_END_NAMESPACE
