// SPDX-License-Identifier: MIT
// What the functions of torch's stable ABI do: register operators, and call them and some of
// torch's own.
#pragma once

#include "tenon/interop/runtimes/aoti_shim_functions.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"
#include "tenon/tensor/contiguous.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a library registers its operators through.
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

// --- Torch's own operators ----------------------------------------------------------------------

/// Takes a list of numbers off the stack.
inline Dims take_stable_dims(StableIValue value) {
  const std::unique_ptr<StableList> list(from_stack<StableList*>(value));
  std::vector<int64_t> dims;
  for (const StableIValue each : *list) dims.push_back(from_stack<int64_t>(each));
  return Dims(dims);
}
/// Deletes arguments from stack[first] on, each null or a pointer to a value.
inline Error refuse_stable_options(StableIValue* stack, size_t first, size_t end) noexcept {
  bool all_none = true;
  for (size_t i = first; i < end; ++i) {
    const std::unique_ptr<StableIValue> option(from_stack<StableIValue*>(stack[i]));
    all_none = all_none && option == nullptr;
  }
  return all_none ? Error::Ok
                  : fail(Error::NotSupported, "a dtype, layout, device or memory format is given");
}
/// A contiguous tensor as `create`, try_empty or try_zeros, makes it, of the type of `self` unless
/// `dtype` says another.
template <class Create>
AOTITorchError make_stable_like(const char* function, AtenTensorHandle self,
                                ArrayRef<int64_t> sizes, const int32_t* dtype,
                                const int32_t* layout, const int32_t* device, AtenTensorHandle* ret,
                                const Create* create) noexcept {
  return aoti_on(function, self, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    if ((layout != nullptr && *layout != 0) || (device != nullptr && *device != 0)) {
      return fail(Error::NotSupported, "a layout or a device other than the CPU's");
    }
    const ScalarType type =
        dtype != nullptr ? type_of_torch_number(*dtype) : fields(TensorArg(tensor)).type;
    Result<TensorPtr> made = (*create)(Dims(sizes), type);
    TENON_TRY(made.error());
    return make_aoti_handle(**made, *ret);
  });
}
/// Runs one of torch's operators: takes its arguments off the stack and puts its result there.
inline Error run_torch_operator(std::string_view name, StableIValue* stack) {
  const auto int_at = [&](size_t i) { return from_stack<int64_t>(stack[i]); };
  Tensor self;
  const auto give = [&](Result<Tensor> made) {
    TENON_TRY(made.error());
    AtenTensorHandle handle = nullptr;
    TENON_TRY(make_aoti_handle(*std::move(made), handle));
    stack[0] = to_stack(handle);
    return Error::Ok;
  };
  constexpr const char* kNames[] = {
      "aten::empty_like",    "aten::clone",      "aten::contiguous",
      "aten::copy_",         "aten::zero_",      "aten::view",
      "aten::reshape",       "aten::permute",    "aten::flatten.using_ints",
      "aten::transpose.int", "aten::select.int", "aten::squeeze.dim",
      "aten::unsqueeze"};
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
    return fail(Error::NotFound, "tenon has no operator ", std::string(name).c_str());
  }
  TENON_TRY(take_aoti_tensor(from_stack<AtenTensorHandle>(stack[0]), self));
  if (name == "aten::empty_like") {
    TENON_TRY(refuse_stable_options(stack, 1, 6));
    TENON_TRY(check_defined(self, "the tensor"));
    const TensorFields& like = fields(TensorArg(self));
    Tensor made;
    TENON_TRY(aoti_empty({like.layout.sizes(), like.layout.strides(), like.type}, made));
    return give(made);
  }
  if (name == "aten::clone") {
    TENON_TRY(refuse_stable_options(stack, 1, 2));
    const Result<TensorPtr> clone = try_clone_tensor_ptr(self);
    TENON_TRY(clone.error());
    return give(**clone);
  }
  if (name == "aten::contiguous") {
    if (from_stack<int32_t>(stack[1]) != 0) {
      return fail(Error::NotSupported, "a memory format other than contiguous");
    }
    return give(try_contiguous(self));
  }
  if (name == "aten::copy_") {
    Tensor source;
    TENON_TRY(take_aoti_tensor(from_stack<AtenTensorHandle>(stack[1]), source));
    TENON_TRY(copy_(self, source, CastMode::Truncate));
    return give(self);
  }
  if (name == "aten::zero_") {
    TENON_TRY(tenon::zero_(self));
    return give(self);
  }
  if (name == "aten::view") return give(try_view(self, take_stable_dims(stack[1])));
  if (name == "aten::reshape") return give(try_reshape(self, take_stable_dims(stack[1])));
  if (name == "aten::permute") return give(try_permute(self, take_stable_dims(stack[1])));
  if (name == "aten::flatten.using_ints") return give(try_flatten(self, int_at(1), int_at(2)));
  if (name == "aten::transpose.int") return give(try_transpose(self, int_at(1), int_at(2)));
  if (name == "aten::select.int") return give(try_select(self, int_at(1), int_at(2)));
  if (name == "aten::squeeze.dim") return give(try_squeeze(self, int_at(1)));
  return give(try_unsqueeze(self, int_at(1)));
}

/// Calls an operator of a library or of torch.
inline AOTITorchError dispatch_stable(const char* name, const char* overload,
                                      StableIValue* stack) noexcept {
  return aoti_answer("torch_call_dispatcher", [&] {
    std::string full = name;
    if (overload != nullptr && *overload != '\0') full += std::string(".") + overload;
    const StableCall call = look_up_stable(full);
    if (call.schema != nullptr) return call_on_stack(call, stack);
    if (full.compare(0, 6, "aten::") == 0) return run_torch_operator(full, stack);
    return fail(Error::NotFound, "there is no operator ", full);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
