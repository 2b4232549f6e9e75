// SPDX-License-Identifier: MIT
// to_aten, from_aten: convert between tensors and libtorch's at::Tensors, which share the memory.
#pragma once

#include "tenon/config.h"

#if !TENON_HAS_EXCEPTIONS || !__has_include(<ATen/core/Tensor.h>)  // libtorch throws
#error \
    "tenon: interop/aten.h needs exceptions and libtorch's <ATen/core/Tensor.h> in the include path"
#endif

#include <ATen/core/Tensor.h>

#include "tenon/aten/c10.h"
#include "tenon/exchange/blob.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#if TENON_ATEN_MODE

// In ATen mode tensors are at::Tensors, and are returned unchanged.
inline Error make_aten(const TensorArg& source, at::Tensor& tensor) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  tensor = source.tensor();
  return Error::Ok;
}

inline Error make_from_aten(const at::Tensor& source, TensorShapeDynamism,
                            Tensor& tensor) noexcept {
  if (!source.defined()) {
    return fail(Error::InvalidState, "the at::Tensor is undefined");
  }
  tensor = source;
  return Error::Ok;
}

#else

/// What a storage over a tensor's memory owns: a hold of that memory.
struct LentMemory {
  MemoryHold hold;
  bool readonly;
};
/// Releases LentMemory. All shared libraries share one function, since its address identifies such
/// storages.
TENON_EXPORT inline c10::DeleterFnPtr& release_lent() noexcept {
  static c10::DeleterFnPtr function = [](void* lent) { delete static_cast<LentMemory*>(lent); };
  return function;
}

/// Whether a storage is over the memory of a read-only tensor.
inline bool is_lent_readonly(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  return data.get_deleter() == release_lent() &&
         static_cast<const LentMemory*>(data.get_context())->readonly;
}

/// Makes an at::Tensor over the memory, like at::from_blob, but for any device and without calling
/// it. Accepts read-only tensors, for models, which only read their inputs; from_aten() makes
/// read-only tensors of such a storage.
inline Error make_aten(const TensorArg& source, at::Tensor& tensor) noexcept {
  Blob blob;
  TENON_TRY(describe_blob(source, blob));
  MemoryHold hold;
  TENON_TRY(hold.hold(source));
  OffsetRange offsets;
  TENON_TRY(compute_offset_range(blob.sizes, blob.strides, offsets));
  if (offsets.min < 0) {
    return fail(Error::NotSupported, "strides ", blob.strides, " of sizes ", blob.sizes,
                " are negative, but ATen's strides cannot be; contiguous() makes a copy");
  }
  // Only dimensions of size 1 and shapes without elements can still have negative strides here.
  for (int64_t& stride : blob.strides) stride = magnitude(stride);
  const bool placeholder = blob.data == nullptr && offsets.max >= 0;
  if (placeholder && blob.device.type() != DeviceType::Meta) {
    return fail(Error::InvalidState, "the tensor is a placeholder without data");
  }
  // Dtypes have the same numbers in libtorch, but an older libtorch has fewer dtypes, and another
  // number for Undefined.
  const auto type = static_cast<c10::ScalarType>(blob.dtype);
  if (type >= c10::ScalarType::Undefined) {
    return fail(Error::NotSupported, "this libtorch has no dtype ", blob.dtype);
  }
  c10::Device device(c10::DeviceType::CPU);
  TENON_TRY(to_c10_strided(blob.device, device));
  size_t nbytes = 0;
  TENON_TRY(compute_nbytes(offsets.max + 1, elementSize(blob.dtype), nbytes));
  return call_libtorch([&] {
    c10::DataPtr data(blob.data, device);
    if (blob.readonly || hold.tensor() != nullptr) {
      auto* const lent = new LentMemory{std::move(hold), blob.readonly};
      data = c10::DataPtr(blob.data, lent, release_lent(), device);
    }
    // The storage has exactly the bytes that the strides reach, for ATen's bounds checks, and
    // cannot be resized.
    c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes, std::move(data),
                         /*allocator=*/nullptr, /*resizable=*/false);
    const c10::DispatchKeySet keys(c10::computeDispatchKey(type, c10::kStrided, device));
    tensor = at::detail::make_tensor<at::TensorImpl>(std::move(storage), keys,
                                                     c10::scalarTypeToTypeMeta(type));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(
        c10::IntArrayRef(blob.sizes.data(), blob.sizes.size()),
        c10::IntArrayRef(blob.strides.data(), blob.strides.size()));
    return Error::Ok;
  });
}

/// The address of element 0, for writing: a copy-on-write storage first gets its own memory.
/// (libtorch 1.13 has no such storages.)
template <class T>
auto writable_data(const T& tensor, int) -> decltype(tensor.mutable_data_ptr()) {
  return tensor.mutable_data_ptr();
}
template <class T>
void* writable_data(const T& tensor, long) {
  return tensor.data_ptr();
}

/// Fails for at::Tensors that require grad, are lazily conjugated or negated, or are not strided.
inline Error check_from_aten(const at::Tensor& source) {
  struct Refusal {
    bool applies;
    const char* what;
  };
  const Refusal refusals[] = {
      {source.is_nested() || source.layout() != c10::kStrided,
       "is not strided, but sparse, nested or of another layout; to_dense() or "
       "to_padded_tensor() makes a strided copy"},
      {source.requires_grad(),
       "requires grad, and writes by tenon would bypass autograd; from_aten(t.detach()) "
       "shares the memory"},
      {source.is_conj(), "is lazily conjugated; resolve_conj() conjugates it now"},
      {source.is_neg(), "is lazily negated; resolve_neg() negates it now"},
      {!source.has_storage(), "has no storage: its memory is opaque"},
  };
  for (const auto& [applies, what] : refusals) {
    if (applies) return fail(Error::NotSupported, "the at::Tensor ", what);
  }
  return Error::Ok;
}

/// Checks that the storage has all elements that the strides reach: the storage may have been
/// resized.
inline Error check_storage(const at::Tensor& source, const void* data) {
  OffsetRange offsets;
  TENON_TRY(compute_offset_range(source.sizes(), source.strides(), offsets));
  if (offsets.max < 0) return Error::Ok;
  const size_t available = source.storage().nbytes();
  int64_t count = 0;
  size_t needed = 0;
  if (!add(source.storage_offset(), int64_t{offsets.max} + 1, count) ||
      compute_nbytes(count, source.itemsize(), needed) != Error::Ok || needed > available ||
      data == nullptr) {
    return fail(Error::InvalidState, "sizes ", ArrayRef<int64_t>(source.sizes()), " with strides ",
                ArrayRef<int64_t>(source.strides()), " at offset ", source.storage_offset(),
                " reach beyond the at::Tensor's storage, which has ",
                data == nullptr ? size_t{0} : available, " bytes");
  }
  return Error::Ok;
}

inline Error make_from_aten(const at::Tensor& source, TensorShapeDynamism dynamism,
                            Tensor& tensor) noexcept {
  if (!source.defined()) {
    return fail(Error::InvalidState, "the at::Tensor is undefined");
  }
  return call_libtorch([&] {
    TENON_TRY(check_from_aten(source));
    const auto type = static_cast<ScalarType>(source.scalar_type());
    if (source.scalar_type() >= c10::ScalarType::Undefined || !isValidType(type)) {
      return fail(Error::NotSupported, "tenon has no dtype ", c10::toString(source.scalar_type()));
    }
    Device device;
    TENON_TRY(from_c10(source.device(), device));
    void* data = nullptr;
    if (device.type() != DeviceType::Meta) {
      data = writable_data(source, 0);
      TENON_TRY(check_storage(source, data));
    }
    // Keeps the storage, not the at::Tensor, which may get another storage while this one is in
    // use.
    Deleter release(data, [kept = c10::Storage(source.storage())](void*) noexcept {});
    const DataPtr pointer(data, is_lent_readonly(source.storage()));
    CreateOptions opts(type, dynamism);
    opts.device = device;
    NewTensor new_tensor;
    TENON_TRY(borrow_checked(pointer, Dims(source.sizes()), {}, Dims(source.strides()), opts,
                             &release, new_tensor));
    TENON_TRY(make_first_handle(new_tensor, tensor));
    // Forbids resizing, as Tensor.numpy() does: resize_() would free the memory.
    c10::StorageImpl* const storage = source.storage().unsafeGetStorageImpl();
    if (data != nullptr && storage->resizable()) storage->set_resizable(false);
    return Error::Ok;
  });
}

#endif

/// to_aten().
template <class Out>
Out to_aten(const char* function, const TensorArg& tensor) {
  at::Tensor made;
  Error error = make_aten(tensor, made);
#if !TENON_ATEN_MODE
  if (error == Error::Ok && fields(tensor).readonly) {
    error = fail(Error::NotSupported,
                 "the tensor is read-only, and ATen has no read-only tensors; "
                 "clone_tensor_ptr() makes a writable copy");
  }
#endif
  return return_to_user<Out>(function, error, std::move(made));
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct FromAten {
  const char* function;

  /// Makes a tensor over an at::Tensor's memory, with the same sizes, strides, dtype and device; of
  /// a Meta tensor, makes a Meta tensor. In ATen mode the result is the at::Tensor itself,
  /// unchanged and unchecked.
  ///
  /// Ownership: shares the storage and keeps it alive. From then on ATen cannot resize the storage:
  /// resize_() beyond it, and out= arguments that are too small, become errors in ATen, as after
  /// Tensor.numpy(). Both sides see each other's writes; autograd's version counter does not count
  /// writes by tenon. A copy-on-write storage is copied first.
  /// Errors: InvalidState (undefined; a storage that lacks elements); NotSupported (requires grad;
  /// lazily conjugated or negated; not strided, or opaque; a dtype or device that tenon lacks);
  /// InvalidArgument (more than kMaxDims dimensions); OutOfMemory. Exceptions of libtorch become
  /// one of these.
  /// Threads: like std::shared_ptr. Does not synchronise with a device's streams.
  /// Source: at::toDLPack, which also takes tensors that require grad.
  Out operator()(const at::Tensor& tensor,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    Tensor made;
    const Error error = make_from_aten(tensor, dynamism, made);
    return return_to_user<Out>(function, error, std::move(made));
  }
};

}  // namespace detail

/// Makes an at::Tensor over the tensor's memory, with the same sizes, strides, dtype and device. In
/// ATen mode the result is the tensor itself, unchanged and unchecked.
///
/// Ownership: shares the memory, not the shape, as a Blob does: the at::Tensor's storage keeps the
/// memory alive after the tensor is gone, and while that storage lives, the tensor cannot grow
/// (InUse). ATen cannot resize the storage. The memory of a tensor over a raw TensorImpl* is
/// borrowed: the caller keeps it alive. Both sides see each other's writes. Devices: converted as
/// by to_c10(); a Meta tensor stays a Meta tensor. Does not synchronise with a device's streams.
/// Errors: InvalidState (undefined; a placeholder); NotSupported (read-only; negative strides; a
/// dtype or device for which this libtorch has no strided tensors); OutOfMemory. Exceptions of
/// libtorch are converted to one of these.
/// Threads: like std::shared_ptr; the owner may be dropped on any thread.
/// Cost: four allocations, O(rank).
/// Source: at::from_blob.
TENON_TEMPLATE_INLINE at::Tensor to_aten(const TensorArg& tensor) {
  return detail::to_aten<at::Tensor>("to_aten", tensor);
}
TENON_TEMPLATE_INLINE Result<at::Tensor> try_to_aten(const TensorArg& tensor) {
  return detail::to_aten<Result<at::Tensor>>("try_to_aten", tensor);
}
inline constexpr detail::FromAten<Tensor> from_aten{"from_aten"};
inline constexpr detail::FromAten<Result<Tensor>> try_from_aten{"try_from_aten"};

TENON_END_NAMESPACE
