// SPDX-License-Identifier: MIT
// to_stable and from_stable: convert between tensors and torch::stable::Tensor, for extensions of
// PyTorch that use its stable ABI (torch 2.11 or later). The program links libtorch, or includes
// interop/torch_stable_shim.h instead.
#pragma once

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>
// torch's headers come first, since tenon declares some of their functions too.

#include <optional>
#include <utility>

#include "tenon/interop/libraries/element_types.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Fails with the error that torch's functions reported last.
TENON_COLD inline Error fail_stable(const char* what) noexcept {
#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_13_0
  const char* const text = torch_exception_get_what_without_backtrace();
#else
  const char* const text = nullptr;
#endif
  return fail(Error::InvalidArgument, what, text != nullptr ? ": " : "",
              text != nullptr ? text : "");
}

inline Error make_stable(const TensorArg& tensor, AtenTensorHandle& handle) {
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& from = fields(tensor);
  TENON_TRY(check_has_data(from));
  if (!from.is_host_accessible()) {
    return fail(Error::NotSupported, "the tensor lies on ", from.device,
                "; expected memory that the host can read");
  }
  if (from.readonly) {
    return fail(Error::InvalidState, "the tensor is read-only, which torch's tensors cannot be");
  }
  auto* const kept = new Tensor(tensor.tensor());
  const Layout& layout = from.layout;
  const AOTITorchError code = torch_from_blob(
      from.data, static_cast<int64_t>(layout.rank()), layout.sizes().data(),
      layout.strides().data(), 0, static_cast<int32_t>(from.type), aoti_torch_device_type_cpu(), -1,
      &handle, aoti_torch_layout_strided(), nullptr, 0,
      [](void*, void* ctx) { delete static_cast<Tensor*>(ctx); }, kept);
  return code == 0 ? Error::Ok : fail_stable("torch_from_blob");
}

inline Error read_stable(const torch::stable::Tensor& tensor, TensorPtr& made) {
  const AtenTensorHandle handle = tensor.get();
  bool is_defined = false;
  int32_t device = 0;
  int32_t layout = 0;
  int32_t dtype = 0;
  int64_t rank = 0;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  void* data = nullptr;
  if (aoti_torch_is_defined(handle, &is_defined) != 0) return fail_stable("is_defined");
  if (!is_defined) return fail(Error::InvalidState, "the tensor is undefined");
  if (aoti_torch_get_layout(handle, &layout) != 0 ||
      aoti_torch_get_device_type(handle, &device) != 0) {
    return fail_stable("the tensor");
  }
  if (layout != aoti_torch_layout_strided() || device != aoti_torch_device_type_cpu()) {
    return fail(Error::NotSupported, "the tensor has device type ", device, " and layout ", layout,
                "; expected a strided tensor on the CPU");
  }
  if (aoti_torch_get_dtype(handle, &dtype) != 0 || aoti_torch_get_dim(handle, &rank) != 0 ||
      aoti_torch_get_sizes(handle, &sizes) != 0 || aoti_torch_get_strides(handle, &strides) != 0 ||
      aoti_torch_get_data_ptr(handle, &data) != 0) {
    return fail_stable("the tensor");
  }
  const ScalarType type = type_of_torch_number(dtype);
  if (type == ScalarType::Undefined) {
    return fail(Error::NotSupported, "torch's dtype ", dtype, " is not one of tenon's");
  }
  const auto count = static_cast<size_t>(rank);
  Result<TensorPtr> view =
      try_from_blob(data, Dims(ArrayRef<int64_t>(sizes, count)),
                    Dims(ArrayRef<int64_t>(strides, count)), type, [tensor](void*) {});
  TENON_TRY(view.error());
  made = *std::move(view);
  return Error::Ok;
}

}  // namespace detail

/// Makes a torch::stable::Tensor over the tensor's memory.
///
/// Ownership: shares the memory: the result keeps the tensor and its memory alive. Metadata is
/// copied: neither side sees the other's resizes.
/// Errors: InvalidState (an undefined tensor; a placeholder; a read-only tensor); NotSupported
/// (memory that the host cannot read); torch's errors, with their text; OutOfMemory.
/// Source: torch::stable::from_blob.
inline Result<torch::stable::Tensor> try_to_stable(const TensorArg& tensor) noexcept {
  std::optional<torch::stable::Tensor> made;
  const Error error = detail::call_safely([&] {
    AtenTensorHandle handle = nullptr;
    TENON_TRY(detail::make_stable(tensor, handle));
    made.emplace(handle);
    return Error::Ok;
  });
  if (error != Error::Ok) return detail::add_context("to_stable", error);
  return *std::move(made);
}

/// Makes a tensor over the memory of a torch::stable::Tensor. The result keeps that tensor alive.
/// Errors: InvalidState (an undefined tensor); NotSupported (a device, layout or dtype that tenon
/// lacks); OutOfMemory.
inline Result<TensorPtr> try_from_stable(const torch::stable::Tensor& tensor) noexcept {
  TensorPtr made;
  const Error error = detail::call_safely([&] { return detail::read_stable(tensor, made); });
  if (error != Error::Ok) return detail::add_context("from_stable", error);
  return made;
}

#if TENON_HAS_EXCEPTIONS
inline torch::stable::Tensor to_stable(const TensorArg& tensor) {
  return try_to_stable(tensor).value();
}
inline TensorPtr from_stable(const torch::stable::Tensor& tensor) {
  return try_from_stable(tensor).value();
}
#endif

TENON_END_NAMESPACE
