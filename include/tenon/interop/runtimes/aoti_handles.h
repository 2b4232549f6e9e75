// SPDX-License-Identifier: MIT
// Handles of torch's C functions, which own tensors, and the state of AotiModule's calls, which
// these functions read.
#pragma once

#include "tenon/interop/libraries/element_types.h"
#include "tenon/tensor/creators.h"

#if TENON_ATEN_MODE
#error "tenon: in ATen mode libtorch has these functions; use its AOTIModelPackageLoader"
#endif
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// As in torch/csrc/inductor/aoti_torch/c/macros.h.
extern "C" {
struct AtenTensorOpaque;
using AtenTensorHandle = AtenTensorOpaque*;
using AOTITorchError = int32_t;  // 0 or 1
struct AOTIProxyExecutorOpaque;
}

TENON_BEGIN_NAMESPACE
namespace detail {

/// The functions of torch that AotiModule uses; interop/aoti_shim.h defines them. If the linker
/// reports tenon_aoti_shim as undefined, no file of the program includes that header, or the file
/// that does is built with other switches.
struct TenonAotiShim {
  AOTITorchError (*delete_tensor_object)(AtenTensorHandle);
  // whether the file of aoti_shim.h is a checked build; set there, since functions are shared
  bool lists_handles;
};
TENON_EXPORT extern const TenonAotiShim tenon_aoti_shim;

/// Reads the calls of operators from a package's JSON, and the layouts of their results from the
/// library's source. Adds operators that are not registered to `missing`.
using ReadAotiProxy = Error (*)(const std::string& json, std::string_view source,
                                std::shared_ptr<AOTIProxyExecutorOpaque>& made,
                                std::vector<std::string>& missing);
/// Set before main() in a program with interop/aoti_proxy.h, else null.
TENON_EXPORT inline ReadAotiProxy aoti_proxy_reader = nullptr;

/// A tensor to which the model writes an output.
struct AotiPlacement {
  size_t allocation;  // index of its allocation in the last run; kUnknownAllocation at first
  Tensor* target;     // null if none was set
};
inline constexpr size_t kUnknownAllocation = SIZE_MAX;

/// The state of a call into a model's library. The C functions read it.
struct AotiCall {
  const void* owner = nullptr;  // owns the handles that the call makes
  size_t allocations = 0;       // number of tensors that the call has made
  int threads = 1;              // for kernels
  Span<AotiPlacement> placements;
  std::vector<const void*>* made = nullptr;  // if not null, gets the impl of each allocation

  /// Counts an allocation. Returns the tensor that was set for it if dtype, sizes and strides are
  /// equal, else null.
  const Tensor* next_target(ScalarType type, const Dims& sizes, const Dims& strides) noexcept {
    const size_t number = allocations++;
    for (const AotiPlacement& placement : placements) {
      if (placement.allocation != number || placement.target == nullptr) continue;
      const TensorFields& to = fields(TensorArg(*placement.target));
      if (to.is_host_accessible() && to.type == type && to.layout.sizes() == sizes &&
          to.layout.strides() == strides) {
        return placement.target;
      }
    }
    return nullptr;
  }
};

/// The thread's innermost call; null outside of a call.
TENON_EXPORT inline AotiCall*& aoti_call() noexcept {
  static thread_local AotiCall* call = nullptr;
  return call;
}
class AotiCallScope {
 public:
  explicit AotiCallScope(AotiCall& call) noexcept : before_(std::exchange(aoti_call(), &call)) {}
  AotiCallScope(const AotiCallScope&) = delete;
  AotiCallScope& operator=(const AotiCallScope&) = delete;
  ~AotiCallScope() { aoti_call() = before_; }

 private:
  AotiCall* before_;
};

/// In checked builds: the live handles, each with the owner of the call that made it.
struct AotiHandles {
  std::mutex mutex;
  std::map<const void*, const void*> owners;

  bool has(const void* handle) {
    const std::lock_guard<std::mutex> lock(mutex);
    return owners.count(handle) != 0;
  }
  size_t count(const void* owner) {
    const std::lock_guard<std::mutex> lock(mutex);
    size_t found = 0;
    for (const auto& entry : owners) found += entry.second == owner ? 1 : 0;
    return found;
  }
};
TENON_EXPORT inline AotiHandles& aoti_handles() {
  static AotiHandles& handles = *new AotiHandles;  // handles may outlive static objects
  return handles;
}

/// Makes a handle, which owns a Tensor as a TensorPtr does.
/// Errors: OutOfMemory.
inline Error make_aoti_handle(Tensor tensor, AtenTensorHandle& made) noexcept {
  TensorPtr handle;
  TENON_TRY(make_handle(std::move(tensor), handle, metadata_backend_for(current_backend())));
  const bool has_memory = !tenon_aoti_shim.lists_handles || has_memory_for([&] {
    AotiHandles& handles = aoti_handles();
    const std::lock_guard<std::mutex> lock(handles.mutex);
    handles.owners[handle.get()] = aoti_call() == nullptr ? nullptr : aoti_call()->owner;
  });
  if (!has_memory) return fail_no_memory("the list of handles");
  made = reinterpret_cast<AtenTensorHandle>(handle.release());
  return Error::Ok;
}
/// Errors: InvalidArgument for a null handle; in checked builds InvalidState for a handle that is
/// unknown or deleted.
inline Error find_aoti_tensor(AtenTensorHandle handle, Tensor*& tensor) noexcept {
  if (handle == nullptr) return fail(Error::InvalidArgument, "the handle is null");
  if (tenon_aoti_shim.lists_handles && !aoti_handles().has(handle)) {
    return fail(Error::InvalidState, "the handle was deleted, or never made");
  }
  tensor = reinterpret_cast<Tensor*>(handle);
  return Error::Ok;
}
/// Takes the tensor out of a handle, and deletes the handle.
inline Error take_aoti_tensor(AtenTensorHandle handle, Tensor& tensor) noexcept {
  Tensor* found = nullptr;
  TENON_TRY(find_aoti_tensor(handle, found));
  if (tenon_aoti_shim.lists_handles) {
    AotiHandles& handles = aoti_handles();
    const std::lock_guard<std::mutex> lock(handles.mutex);
    handles.owners.erase(handle);
  }
  const TensorPtr owner(found);
  tensor = std::move(*owner);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
