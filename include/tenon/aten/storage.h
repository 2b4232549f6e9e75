// SPDX-License-Identifier: MIT
// ATen mode: the c10::Storage of a draft, and what it does before read-only memory is written.
//
// ATen has no read-only tensors. But its storages can call a function before their memory is first
// written, by whatever operator: here one that copies the memory.
#pragma once

#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "tenon/core/atomic.h"
#include "tenon/tensor/new_tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The memory of a draft, valid as long as the draft.
inline c10::DataPtr release_with_impl(NewTensor&& draft, c10::Device device) noexcept {
  ImplFields& kept = fields(draft);
  kept.base = std::move(draft);
  return {kept.data, &kept, release_impl(), device};
}

/// Checks that memory which is not to be written can be a storage's.
inline Error check_readonly(const TensorFields& made) noexcept {
  if (!kHasReadOnly) {
    return fail(Error::NotSupported,
                "read-only memory needs libtorch 2.13, whose storages can copy it before a write; "
                "with this one, make_tensor_ptr() of a container copies the elements, and a "
                "const_cast lends them to be written");
  }
  if (made.opaque && made.device.is_host_accessible()) {
    return fail(Error::NotSupported,
                "the memory is read-only, and only its backend reaches it, so that ATen cannot "
                "copy it before a write; clone_tensor_ptr() makes a writable copy");
  }
  return Error::Ok;
}

#if __has_include(<c10/core/StorageMaterializer.h>)

/// A storage's memory, and that of which it is a copy.
struct CopiedMemory {
  std::unique_ptr<void, c10::DeleterFnPtr> copy;
  std::unique_ptr<void, c10::DeleterFnPtr> source;
  void operator()(void*) const noexcept {}
};

/// Locks out other threads that exchange a storage's memory, for a few instructions.
TENON_EXPORT inline SpinLock& exchange_lock() noexcept {
  static SpinLock lock;
  return lock;
}
inline ImplFields* fields_behind(const c10::StorageImpl& storage) noexcept {
  const LockGuard<SpinLock> guard(exchange_lock());
  return fields_behind(storage.data_ptr());
}

/// Gives a storage a copy of its memory. The old memory is released with the storage: other threads
/// may still read it. Several may come here at once, as operators ask to write what they only read.
TENON_EXPORT inline void copy_before_write(c10::StorageImpl* storage) {
  ImplFields* const source = fields_behind(*storage);
  // Another thread has copied it, or ATen has given the storage other memory.
  if (source == nullptr || !source->readonly || source->data == nullptr) return;
  if (source->ownership == Ownership::Owned) {  // nobody else's
    source->readonly = false;
    return;
  }
  NewTensor draft;
  if (make_impl(draft) != Error::Ok) throw std::bad_alloc();
  const c10::Device device = storage->device();
  c10::DataPtr copy = c10::GetAllocator(device.type())->clone(source->data, storage->nbytes());
  ImplFields& made = fields(draft);
  made.data = copy.get();

  const LockGuard<SpinLock> guard(exchange_lock());
  c10::DataPtr& memory = storage->_mutable_data_ptr_no_checks();
  if (fields_behind(memory) != source) return;
  made.deleter.emplace(nullptr, CopiedMemory{copy.move_context(), memory.move_context()});
  storage->set_data_ptr_noswap(release_with_impl(std::move(draft), device));
}
inline void copy_when_written(const c10::Storage& storage) {
  storage.unsafeGetStorageImpl()->set_materializer(&copy_before_write);
}

#else

inline void copy_when_written(const c10::Storage&) noexcept {}

#endif

inline c10::Storage make_storage(NewTensor&& draft, c10::Device device) {
  const TensorFields& made = fields(draft);
  // A storage of Meta is as long as one with memory: views are checked against it.
  const size_t nbytes =
      made.data == nullptr && !device.is_meta()
          ? 0
          : static_cast<size_t>(made.layout.required_span_size()) * elementSize(made.type);
  // A tensor that cannot grow in tenon must not grow in ATen: at::Tensor::resize_() checks this.
  const bool resizable =
      made.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND && device.is_cpu() &&
      made.data_backend == nullptr &&
      (made.ownership == Ownership::Owned || made.ownership == Ownership::Adopted);
  c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes,
                       release_with_impl(std::move(draft), device),
                       resizable ? c10::GetCPUAllocator() : nullptr, resizable);
  if (made.readonly) copy_when_written(storage);
  return storage;
}

}  // namespace detail
TENON_END_NAMESPACE
