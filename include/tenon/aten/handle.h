// SPDX-License-Identifier: MIT
// ATen mode's part of tensor/handle.h: turns a NewTensor into an at::Tensor, and exchanges its
// memory.
//
// A c10::Storage owns the new tensor's impl, and the impl releases the memory: see fields_behind().
// Every other user of the storage (a view of tenon's or ATen's) and every MemoryHold counts as a
// borrow.
//
// ATen has no read-only tensors. But a storage can call a function before an operator writes its
// memory for the first time: tenon sets a function that copies the memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "tenon/aten/c10.h"
#include "tenon/aten/random.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/new_tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The memory of a new tensor; refers to the tensor's fields.
inline c10::DataPtr release_with_impl(NewTensor&& new_tensor, c10::Device device) noexcept {
  ImplFields& kept = fields(new_tensor);
  kept.base = std::move(new_tensor);
  return {kept.data, &kept, release_impl(), device};
}

/// Checks that libtorch supports this read-only memory.
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

/// A storage's memory, and the memory that it was copied from.
struct CopiedMemory {
  std::unique_ptr<void, c10::DeleterFnPtr> copy;
  std::unique_ptr<void, c10::DeleterFnPtr> source;
  void operator()(void*) const noexcept {}
};

/// A lock between threads that exchange a storage's memory; each holds it for a few instructions.
TENON_EXPORT inline SpinLock& exchange_lock() noexcept {
  static SpinLock lock;
  return lock;
}
inline ImplFields* fields_behind(const c10::StorageImpl& storage) noexcept {
  const LockGuard<SpinLock> guard(exchange_lock());
  return fields_behind(storage.data_ptr());
}

/// Replaces a storage's memory by a copy. The old memory is released with the storage, since other
/// threads may still read it. Several threads may call this at once: operators request write access
/// even if they only read.
TENON_EXPORT inline void copy_before_write(c10::StorageImpl* storage) {
  ImplFields* const source = fields_behind(*storage);
  // Another thread has already copied the memory, or ATen has replaced it.
  if (source == nullptr || !source->readonly || source->data == nullptr) return;
  if (source->ownership == Ownership::Owned) {  // not shared
    source->readonly = false;
    return;
  }
  NewTensor new_tensor;
  if (make_impl(new_tensor) != Error::Ok) throw std::bad_alloc();
  const c10::Device device = storage->device();
  c10::DataPtr copy = c10::GetAllocator(device.type())->clone(source->data, storage->nbytes());
  ImplFields& made = fields(new_tensor);
  made.data = copy.get();

  const LockGuard<SpinLock> guard(exchange_lock());
  c10::DataPtr& memory = storage->_mutable_data_ptr_no_checks();
  if (fields_behind(memory) != source) return;
  made.deleter.emplace(nullptr, CopiedMemory{copy.move_context(), memory.move_context()});
  storage->set_data_ptr_noswap(release_with_impl(std::move(new_tensor), device));
}
inline void copy_when_written(const c10::Storage& storage) {
  storage.unsafeGetStorageImpl()->set_materializer(&copy_before_write);
}

#else

inline void copy_when_written(const c10::Storage&) noexcept {}

#endif

inline c10::Storage make_storage(NewTensor&& new_tensor, c10::Device device) {
  const TensorFields& made = fields(new_tensor);
  // A Meta storage has the same length as a storage with memory: ATen checks views against that
  // length.
  const size_t nbytes =
      made.data == nullptr && !device.is_meta()
          ? 0
          : static_cast<size_t>(made.layout.required_span_size()) * elementSize(made.type);
  // A tensor that cannot grow in tenon must not grow in ATen: at::Tensor::resize_() checks
  // `resizable`.
  const bool resizable =
      made.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND && device.is_cpu() &&
      made.data_backend == nullptr &&
      (made.ownership == Ownership::Owned || made.ownership == Ownership::Adopted);
  c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes,
                       release_with_impl(std::move(new_tensor), device),
                       resizable ? c10::GetCPUAllocator() : nullptr, resizable);
  if (made.readonly) copy_when_written(storage);
  return storage;
}

using AtenImplPtr = c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;

inline const c10::Storage& storage_of(const TensorArg& tensor) noexcept {
  return tensor.tensor().unsafeGetTensorImpl()->unsafe_storage();
}

/// Whether another tensor or export uses the storage's memory.
inline bool is_shared(const c10::Storage& storage) noexcept {
  const ImplFields* const kept = fields_behind(storage);
  return storage.use_count() > 1 || (kept != nullptr && kept->borrows.any());
}

/// A deleter's callable that keeps a storage alive.
struct KeepStorage {
  c10::Storage storage;
  void operator()(void*) const noexcept {}
};
/// Takes a deleter's place in a new view: the view's source.
struct ViewOf {
  const at::Tensor* source;
  void operator()(void*) const noexcept {}
};

/// The deleter of an impl that keeps ATen's own storage.
inline Error MemoryHold::hold(const TensorArg& source) noexcept {
  const c10::Storage& storage = storage_of(source);
  if (const ImplFields* const kept = fields_behind(storage)) {
    hold(kept->base);
    return Error::Ok;
  }
  NewTensor holder;
  TENON_TRY(make_impl(holder));
  fields(holder).data = const_storage_data(storage);
  fields(holder).deleter.emplace(nullptr, KeepStorage{storage});
  hold(holder);
  return Error::Ok;
}

/// The source of a view or an export. In ATen mode backends keep no metadata.
struct SourceGuard {
  SourceGuard(const TensorArg& source, bool) noexcept : arg(source) {}
  const TensorArg& arg;
};

/// A new view. It is on the stack, since the at::Tensor made from it does not refer to it.
class NewView : public NewTensor {
 public:
  NewView() noexcept : NewTensor(NewTensor(), &impl_) {}
  NewView(const NewView&) = delete;
  NewView& operator=(const NewView&) = delete;

 private:
  own::TensorImpl impl_{ImplKey{nullptr}};
};
inline Error make_impl(NewView&, BackendState*) noexcept { return Error::Ok; }

/// Makes `made` a view of `source`, which must outlive it. The at::Tensor then shares the storage.
inline void keep_memory(const TensorArg& source, ImplFields& made) noexcept {
  made.deleter.emplace(nullptr, ViewOf{&source.tensor()});
}

/// Checks that ATen supports such a tensor.
inline Error check_for_aten(const TensorFields& made) noexcept {
  if (made.readonly) TENON_TRY(check_readonly(made));
  if (made.layout.offsets.min < 0) {
    return fail(Error::NotSupported, "strides ", made.layout.strides(), " for sizes ",
                made.layout.sizes(), ": ATen has no negative strides");
  }
  if (static_cast<int>(made.type) >= static_cast<int>(c10::ScalarType::NumOptions)) {
    return fail(Error::NotSupported, "this libtorch has no dtype ", made.type);
  }
  return Error::Ok;
}

/// Where a view starts, in elements from the start of the storage.
inline Error compute_offset(const TensorFields& view, const c10::Storage& storage,
                            int64_t& offset) {
  if (view.data == nullptr) return Error::Ok;
  const auto* const start = static_cast<const char*>(const_storage_data(storage));
  const int64_t bytes = static_cast<const char*>(view.data) - start;
  const auto size = static_cast<int64_t>(elementSize(view.type));
  if (bytes % size != 0) {
    return fail(Error::NotSupported, "elements of ", size, " bytes, ", bytes,
                " bytes into the storage: ATen counts such offsets in elements");
  }
  offset = bytes / size;
  return Error::Ok;
}

/// Makes the at::Tensor of a new tensor.
inline Error make_aten_impl(NewTensor& new_tensor, AtenImplPtr& impl) {
  ImplFields& made = fields(new_tensor);
  if (made.ownership == Ownership::View) {
    const at::Tensor& source = *made.deleter.stored<ViewOf>()->source;
    int64_t offset = 0;
    TENON_TRY(compute_offset(made, source.storage(), offset));
    impl = c10::make_intrusive<ManagedImpl>(source, made, offset);
    return Error::Ok;
  }
  static const c10::Device cpu{c10::DeviceType::CPU};
  c10::Device device = cpu;
  c10::DispatchKey key = c10::DispatchKey::CPU;
  if (!made.device.is_cpu()) {
    TENON_TRY(to_c10_strided(made.device, device));
    key = c10::computeDispatchKey(public_type(made.type), c10::kStrided, device);
  }
  const c10::DispatchKeySet keys(key);
  impl = c10::make_intrusive<ManagedImpl>(make_storage(std::move(new_tensor), device), keys, made);
  return Error::Ok;
}

inline Error make_handle(AtenImplPtr&& impl, TensorPtr& out) noexcept {
  out.reset(new (std::nothrow) Tensor(std::move(impl)));
  return out != nullptr ? Error::Ok : fail(Error::OutOfMemory, "out of memory for a tensor");
}
template <class T>
Error make_handle(AtenImplPtr&& impl, T& out) noexcept {
  out = T(std::move(impl));
  return Error::Ok;
}

/// Moves a new tensor to its first handle.
/// Errors: NotSupported for a tensor that ATen does not support; OutOfMemory.
template <class T>
Error make_first_handle(NewTensor& new_tensor, T& out) noexcept {
  TENON_TRY(check_for_aten(fields(new_tensor)));
  AtenImplPtr impl;
  TENON_TRY(call_libtorch([&] { return make_aten_impl(new_tensor, impl); }));
  return make_handle(std::move(impl), out);
}
/// Moves a tensor to another handle.
template <class T>
Error make_handle(NewTensor& new_tensor, T& out, BackendState*) noexcept {
  return make_first_handle(new_tensor, out);
}
template <class T>
Error make_handle(Tensor&& tensor, T& out, BackendState*) noexcept {
  return make_handle(AtenImplPtr(tensor.getIntrusivePtr()), out);
}

/// A tensor whose shape and memory may change: its fields and the at::Tensor.
struct Resizable : TensorFields {
  explicit Resizable(const TensorArg& tensor) noexcept
      : TensorFields(detail::fields(tensor)), impl(tensor.tensor().unsafeGetTensorImpl()) {}
  c10::TensorImpl* impl;
};

inline Resizable resizable(const TensorArg& tensor) noexcept { return Resizable(tensor); }

inline bool is_borrowed(const Resizable& tensor) noexcept {
  return is_shared(tensor.impl->unsafe_storage());
}

/// ATen mode has no fast path.
inline bool resize_in_place(Resizable&, ArrayRef<int64_t>) noexcept { return false; }

/// Sets other sizes, with `numel` elements, which fit into the tensor's memory or into the memory
/// that replaces it next.
/// Errors: OutOfMemory; nothing is changed then.
inline Error replace_sizes(Resizable& tensor, ArrayRef<int64_t> sizes, ptrdiff_t numel) noexcept {
  Layout& layout = tensor.layout;
  TENON_TRY(layout.resize(sizes, numel));
  return call_libtorch([&] {
    tensor.impl->set_sizes_and_strides(c10::IntArrayRef(layout.sizes().data(), layout.rank()),
                                       c10::IntArrayRef(layout.strides().data(), layout.rank()));
    return Error::Ok;
  });
}

/// Replaces the memory and, unless `sizes` is null, the sizes (of `numel` elements). Releases the
/// old memory last: its deleter may use the tensor.
/// Errors: OutOfMemory; nothing is changed then.
inline Error replace_memory(Resizable& tensor, const ArrayRef<int64_t>* sizes, ptrdiff_t numel,
                            Replacement&& memory, ptrdiff_t capacity) noexcept {
  const c10::Storage& storage = tensor.impl->unsafe_storage();
  Deleter released;
  c10::DataPtr old;
  if (ImplFields* const kept = fields_behind(storage)) {
    // Keeps the impl, which belongs to the library that made the tensor: the calling library may be
    // closed earlier.
    if (sizes != nullptr) TENON_TRY(replace_sizes(tensor, *sizes, numel));
    released.take(std::move(kept->deleter));
    kept->data = memory.data;
    kept->readonly = false;  // owned now: no copy on write
    kept->deleter.take(std::move(memory.release));
    static_cast<void>(storage.set_data_ptr({kept->data, kept, release_impl(), storage.device()})
                          .release_context());
  } else {
    NewTensor new_tensor;
    TENON_TRY(make_impl(new_tensor));
    ImplFields& made = fields(new_tensor);
    made.data = memory.data;
    made.data_backend = tensor.data_backend;
    made.deleter.take(std::move(memory.release));
    if (sizes != nullptr) TENON_TRY(replace_sizes(tensor, *sizes, numel));
    old = storage.set_data_ptr(release_with_impl(std::move(new_tensor), storage.device()));
  }
  storage.set_nbytes(static_cast<size_t>(capacity) * elementSize(tensor.type));
  tensor.impl->set_storage_offset(0);
  if (ManagedImpl* const managed = as_managed(tensor.impl)) {
    managed->capacity = capacity;
    managed->ownership = Ownership::Owned;
  }
  return Error::Ok;
}

/// Releases the memory, after all else; keeps the metadata.
inline Error drop_memory(const TensorArg& tensor) noexcept {
  return call_libtorch([&] {
    c10::TensorImpl* const impl = tensor.tensor().unsafeGetTensorImpl();
    const c10::Storage& storage = impl->unsafe_storage();
    // The memory is released, so it must not be copied on a write.
    if (ImplFields* const kept = fields_behind(storage)) kept->readonly = false;
    const c10::DataPtr old = storage.set_data_ptr(c10::DataPtr(nullptr, storage.device()));
    storage.set_nbytes(0);
    if (ManagedImpl* const managed = as_managed(impl)) {
      managed->capacity = 0;
      managed->deallocated = true;
    }
    return Error::Ok;
  });
}

/// The deleter of a tensor's memory; null for a view, and for ATen's own storage.
inline Deleter* deleter_of(const TensorArg& tensor) noexcept {
  ImplFields* const kept = fields_behind(storage_of(tensor));
  return kept == nullptr || fields(tensor).ownership == Ownership::View ? nullptr : &kept->deleter;
}

/// The deleter of the tensor's memory (for a view, of its base's memory) if no other tensor or
/// export holds the memory; else null.
inline Deleter* sole_deleter(const TensorArg& tensor) noexcept {
  const c10::Storage& storage = storage_of(tensor);
  ImplFields* const kept = fields_behind(storage);
  return kept == nullptr || tensor.tensor().use_count() != 1 || is_shared(storage) ? nullptr
                                                                                   : &kept->deleter;
}

/// Whether another tensor or export uses the memory.
inline bool is_shared_memory(const TensorArg& tensor) noexcept {
  return is_shared(storage_of(tensor));
}

/// Binds other memory with a new storage, so that views keep the old storage. The old storage is
/// released last: its deleter may use the tensor.
inline Error bind_memory(const TensorArg& tensor, const DataPtr& data) noexcept {
  const TensorFields& from = fields(tensor);
  TENON_TRY(check_can_bind(from, data));
  c10::TensorImpl* const impl = tensor.tensor().unsafeGetTensorImpl();
  ManagedImpl* const managed = as_managed(impl);
  if (managed == nullptr) {
    return fail(Error::InvalidState,
                "tenon did not make the tensor; at::Tensor::set_() replaces its memory");
  }
  NewTensor new_tensor;
  if (data.is_readonly()) {
    TENON_TRY(check_readonly(from));
    TENON_TRY(make_impl(new_tensor));
    fields(new_tensor).data = data.get();
    fields(new_tensor).readonly = true;
  }
  return call_libtorch([&] {
    const Layout& layout = from.layout;
    const int64_t span = layout.required_span_size();
    const bool is_unbound = from.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND;
    // As in finalize(): reserved room was only in the old memory.
    const int64_t capacity = is_unbound ? std::min(span, layout.numel) : from.capacity;
    const size_t room = static_cast<size_t>(std::max(span, capacity)) * elementSize(from.type);
    c10::Storage storage(c10::Storage::use_byte_size_t(), data.get() == nullptr ? 0 : room,
                         data.is_readonly()
                             ? release_with_impl(std::move(new_tensor), impl->device())
                             : c10::DataPtr(data.get(), impl->device()),
                         nullptr, false);
    if (data.is_readonly()) copy_when_written(storage);
    const c10::Storage old = impl->unsafe_storage();
    impl->set_storage_keep_dtype(std::move(storage));
    impl->set_storage_offset(0);
    managed->capacity = capacity;
    managed->ownership = Ownership::Borrowed;
    return Error::Ok;
  });
}

}  // namespace detail
TENON_END_NAMESPACE
