// SPDX-License-Identifier: MIT
// to_dlpack: shares a tensor's memory as a DLPack struct.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "tenon/backend/calls.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/tensor/clone.h"

TENON_BEGIN_NAMESPACE

/// How to export a read-only tensor to DLPack before 1.0, which has no read-only flag.
enum class LegacyReadOnly : uint8_t {
  Refuse,  ///< fail with NotSupported
  Drop,    ///< export it without the flag
};

namespace detail {

/// The head of a block that contains a struct and the struct's hold on the memory.
struct DLPackBlock {
  MemoryHold memory;
  DLPackBlock* next;  // in DLPackReleases::waiting
};

/// The releases running on this thread.
struct DLPackReleases {
  int depth = 0;                   // how many releases are nested
  DLPackBlock* waiting = nullptr;  // released when the innermost release ends
};
inline DLPackReleases& dlpack_releases() noexcept {
  static TENON_THREAD_LOCAL DLPackReleases releases;
  return releases;
}

/// Releases the memory. The memory's deleter may be foreign and release another struct of tenon's.
/// Releases nested deeper than kMaxDepth are queued, which bounds the stack.
inline void release_dlpack(DLPackBlock* block) noexcept {
  constexpr int kMaxDepth = 16;
  DLPackReleases& releases = dlpack_releases();
  if (releases.depth == kMaxDepth) {
    block->next = std::exchange(releases.waiting, block);
    return;
  }
  ++releases.depth;
  for (;;) {
    block->~DLPackBlock();
    release_metadata(block);
    block = releases.waiting;
    if (block == nullptr) break;
    releases.waiting = block->next;
  }
  --releases.depth;
}

/// A struct and the hold on its memory; sizes and strides follow in the same block.
template <class Managed>
struct DLPackExport : DLPackBlock {
  Managed managed;

  static void release(Managed* self) noexcept {
    release_dlpack(static_cast<DLPackExport*>(self->manager_ctx));
  }
  /// The hold of a struct that this library made; null for any other struct, and if the struct's
  /// version was changed. A library with hidden symbols has another release(), so structs that it
  /// made count as foreign.
  static MemoryHold* memory_of(const Managed& exported) noexcept {
    if constexpr (is_versioned_v<Managed>) {
      if (exported.version.major != kDLPackVersion.major) return nullptr;
    }
    if (exported.deleter != &release) return nullptr;
    auto* const made = static_cast<DLPackExport*>(exported.manager_ctx);
    return &made->managed == &exported ? &made->memory : nullptr;
  }
};

/// Checks that the tensor has data that DLPack can describe.
TENON_TEMPLATE_INLINE Error check_export(const TensorFields& from, DLDataType& type) noexcept {
  TENON_TRY(check_has_data(from));
  TENON_TRY(type_to_dlpack(from.type, type));
  const Device device = from.device;
  if (!device.is_cpu() && !is_dlpack_device(static_cast<int32_t>(device.type()))) {
    return fail(Error::NotSupported, "DLPack has no device ", device);
  }
  if (from.data_backend != nullptr &&
      (has_dlpack_handles(device.type()) || (from.opaque && device.is_host_accessible()))) {
    return fail(Error::NotSupported, "the tensor is in memory on ", device,
                " that only its backend reaches, which DLPack cannot say");
  }
  return Error::Ok;
}

/// Fills in a struct. Writes sizes and strides to `shape`. `origin` is where the memory of element
/// 0 starts.
TENON_TEMPLATE_INLINE Error describe_export(const TensorFields& from, DLDataType type,
                                            const void* origin, int64_t* shape,
                                            DLTensor& t) noexcept {
  const size_t rank = from.layout.rank();
  const int64_t* const sizes = from.layout.sizes().data();
  const int64_t* const strides = from.layout.strides().data();
  for (size_t d = 0; d < rank; ++d) {
    shape[d] = sizes[d];
    shape[rank + d] = strides[d];
  }
  const Device device = from.device;
  t.data = from.layout.numel == 0 ? nullptr : from.data;
  t.device = {static_cast<int32_t>(device.type()),
              device.is_host_accessible() ? 0 : device.index()};
  t.ndim = static_cast<int32_t>(rank);
  t.dtype = type;
  t.shape = shape;
  t.strides = shape + rank;
  t.byte_offset = 0;
  if (has_dlpack_handles(device.type()) && origin != nullptr && t.data != nullptr) {
    if (from.data < origin) {
      return fail(Error::NotSupported, "element 0 lies before what the handle on ", device,
                  " stands for, which DLPack cannot say");
    }
    t.data = const_cast<void*>(origin);
    t.byte_offset = static_cast<uint64_t>(static_cast<const char*>(from.data) -
                                          static_cast<const char*>(origin));
  }
  return Error::Ok;
}

template <class Managed>
Error make_export(const TensorArg& source, uint64_t flags, Managed*& out) noexcept {
  using Export = DLPackExport<Managed>;
  static_assert(is_managed_tensor_v<Managed> && is_same_layout_v<Managed>,
                "this struct does not have the layout of DLPack's");
  TENON_TRY(check_metadata(source, "the tensor"));
  BackendState* const metadata_backend = metadata_backend_of(fields(source));
  const SourceGuard kept(source, metadata_backend != nullptr);
  const TensorFields& from = fields(kept.arg);
  DLDataType type{};
  TENON_TRY(check_export(from, type));
  const size_t rank = from.layout.rank();
  const size_t shape_nbytes = 2 * rank * sizeof(int64_t);
  void* const block = allocate_metadata(sizeof(Export) + shape_nbytes, metadata_backend);
  if (block == nullptr) {
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for the export");
  }
  Export& made = *::new (block) Export;
  std::unique_ptr<Managed, DLPackDeleter> managed(&made.managed);
  managed->manager_ctx = &made;
  managed->deleter = &Export::release;
  TENON_TRY(made.memory.hold(kept.arg));
  TENON_TRY(check_not_deallocated(from, "the tensor"));  // a backend's code may have deallocated it
  if (from.layout.rank() != rank) {
    return fail(Error::InvalidState, "the tensor was changed meanwhile");
  }
  DLTensor described;
  TENON_TRY(describe_export(from, type, made.memory.origin(), reinterpret_cast<int64_t*>(&made + 1),
                            described));
  std::memcpy(&managed->dl_tensor, &described, sizeof described);
  if constexpr (is_versioned_v<Managed>) {
    managed->version = {kDLPackVersion.major, kDLPackVersion.minor};
    managed->flags = flags | (from.readonly ? kDLPackReadOnly : 0);
  }
  out = managed.release();
  return Error::Ok;
}

template <class Out, class Managed>
TENON_NOINLINE Out export_copy(const char* function, const TensorArg& t) {
  const Result<Tensor> copy = clone<Result<Tensor>>(function, t);
  if constexpr (IsResult<Out>::value) {
    if (!copy.ok()) return copy.error();
  }
  Managed* made = nullptr;
  return return_to_user<Out>(function, make_export(*copy, kDLPackIsCopied, made), std::move(made));
}

template <class Out, class Managed>
Out export_dlpack(const char* function, const TensorArg& t, bool copy) {
  static_assert(is_versioned_v<Managed>, "to_dlpack_legacy() makes structs without a version");
  if (copy) return export_copy<Out, Managed>(function, t);
  Managed* made = nullptr;
  return return_to_user<Out>(function, make_export(t, 0, made), std::move(made));
}

template <class Out, class Managed>
Out export_legacy(const char* function, const TensorArg& t, LegacyReadOnly readonly) {
  static_assert(!is_versioned_v<Managed>, "to_dlpack() makes structs with a version");
  Managed* made = nullptr;
  Error error = check_defined(t, "the tensor");
  if (error == Error::Ok && readonly == LegacyReadOnly::Refuse && fields(t).readonly) {
    error =
        fail(Error::NotSupported,
             "the tensor is read-only, which DLPack cannot say before version 1: ask for version 1 "
             "or for a copy");
  }
  if (error == Error::Ok) error = make_export(t, 0, made);
  return return_to_user<Out>(function, error, std::move(made));
}

}  // namespace detail

/// A DLPack struct over a tensor's memory. `Managed` is tenon's type or that of another header,
/// such as dlpack.h. The struct's flags say whether the tensor is read-only and whether it is a
/// copy.
///
/// Ownership: the caller calls the struct's deleter once, or passes the struct on; see DLPackPtr.
/// The struct shares the memory, not the shape: the struct keeps the memory alive after the tensor
/// is gone. Until the struct is released the tensor cannot grow (InUse), as if a view shared its
/// memory.
/// Errors: InvalidState (undefined, deallocated, a placeholder); NotSupported (meta tensors,
/// expressions, memory that only the program's backend can access); OutOfMemory; with `copy` the
/// errors of clone_tensor_ptr().
/// Threads: the deleter may run on any thread, unless the memory's backend is bound to one thread.
/// Cost: one allocation. Streams: nothing is synchronised. Before a consumer uses a device's memory
/// on a stream, call DeviceBackend::order_before(stream); before tenon uses the memory again, call
/// order_after(stream).
/// Source: at::toDLPackVersioned.
template <class Managed = dlpack::DLManagedTensorVersioned>
Managed* to_dlpack(TensorArg t, bool copy = false) {
  return detail::export_dlpack<Managed*, Managed>("to_dlpack", t, copy);
}
template <class Managed = dlpack::DLManagedTensorVersioned>
Result<Managed*> try_to_dlpack(TensorArg t, bool copy = false) {
  return detail::export_dlpack<Result<Managed*>, Managed>("try_to_dlpack", t, copy);
}

/// As to_dlpack(), for consumers that know only DLPack before 1.0.
/// Errors: also NotSupported for a read-only tensor, unless `readonly` is Drop.
/// Source: at::toDLPack.
template <class Managed = dlpack::DLManagedTensor>
Managed* to_dlpack_legacy(TensorArg t, LegacyReadOnly readonly = LegacyReadOnly::Refuse) {
  return detail::export_legacy<Managed*, Managed>("to_dlpack_legacy", t, readonly);
}
template <class Managed = dlpack::DLManagedTensor>
Result<Managed*> try_to_dlpack_legacy(TensorArg t,
                                      LegacyReadOnly readonly = LegacyReadOnly::Refuse) {
  return detail::export_legacy<Result<Managed*>, Managed>("try_to_dlpack_legacy", t, readonly);
}

TENON_END_NAMESPACE
