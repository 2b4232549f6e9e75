// SPDX-License-Identifier: MIT
// Functions of torch's stable ABI that register operators, and that call them and torch's own.
#pragma once

#include "tenon/interop/runtimes/torch_stable_aten.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"

// As in torch/csrc/inductor/aoti_torch/c/shim.h.
extern "C" {
struct DeviceGuardOpaque;
using DeviceGuardHandle = DeviceGuardOpaque*;
struct StreamOpaque;
using StreamHandle = StreamOpaque*;
struct CUDAGuardOpaque;
using CUDAGuardHandle = CUDAGuardOpaque*;
struct CUDAStreamGuardOpaque;
using CUDAStreamGuardHandle = CUDAStreamGuardOpaque*;
}

TENON_BEGIN_NAMESPACE
namespace detail {

/// A library's registrations of operators.
struct StableLibrary {
  std::string ns;
  StableKey key;

  std::string name_of(std::string_view name) const {
    return name.find("::") != std::string_view::npos ? std::string(name)
                                                     : ns + "::" + std::string(name);
  }
};

inline StableLibrary& stable_library(TorchLibraryHandle handle) noexcept {
  return *reinterpret_cast<StableLibrary*>(handle);
}
inline AOTITorchError make_stable_library(const char* function, const char* ns, const char* key,
                                          TorchLibraryHandle* ret) noexcept {
  return aoti_answer(function, [&] {
    *ret = reinterpret_cast<TorchLibraryHandle>(
        new StableLibrary{ns != nullptr ? ns : "", stable_key(key != nullptr ? key : "")});
    return Error::Ok;
  });
}
inline AOTITorchError define_stable(TorchLibraryHandle self, const char* text) noexcept {
  return aoti_answer("aoti_torch_library_def", [&] {
    const StableLibrary& library = stable_library(self);
    StableSchema schema;
    TENON_TRY(schema.read(text));
    schema.name = library.name_of(schema.name);
    const std::string name = schema.name;
    return define_stable_operator(name, std::move(schema), &library);
  });
}
/// Ignores kernels for other devices.
inline AOTITorchError implement_stable(TorchLibraryHandle self, const char* name,
                                       StableKernel kernel) noexcept {
  return aoti_answer("torch_library_impl", [&] {
    const StableLibrary& library = stable_library(self);
    if (library.key != StableKey::Other) {
      implement_stable_operator(library.name_of(name), {library.key, &library, kernel, nullptr});
    }
    return Error::Ok;
  });
}

// --- Calls --------------------------------------------------------------------------------------

/// Calls an operator of a library or of torch.
inline AOTITorchError dispatch_stable(const char* name, const char* overload,
                                      StableIValue* stack) noexcept {
  return aoti_answer("torch_call_dispatcher", [&] {
    // Allocates nothing: the arguments would leak after a failure, since only an operator takes
    // them.
    char text[256];
    const bool has_overload = overload != nullptr && *overload != '\0';
    const int size =
        std::snprintf(text, sizeof text, has_overload ? "%s.%s" : "%s", name, overload);
    if (size < 0 || static_cast<size_t>(size) >= sizeof text) {
      return fail(Error::NotFound, "there is no operator with a name as long as ", name);
    }
    const std::string_view full(text, static_cast<size_t>(size));
    const StableCall call = look_up_stable(full);
    if (call.schema == nullptr) return fail(Error::NotFound, "there is no operator ", full);
    return call_on_stack(call, stack);
  });
}

/// The error of functions for other devices and for Python.
inline AOTITorchError refuse_stable(const char* function) noexcept {
  return aoti_answer(function, [] {
    return fail(Error::NotSupported,
                "it is for Python or for devices other than the CPU, which tenon does not support");
  });
}

}  // namespace detail
TENON_END_NAMESPACE
