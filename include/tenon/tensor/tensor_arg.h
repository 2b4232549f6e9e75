// SPDX-License-Identifier: MIT
// TensorArg: a tensor as an argument.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/tensor.h"
#else

#include "tenon/core/error.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

/// A tensor as an argument: a Tensor, or a TensorPtr, which may be null. A const handle does not
/// make the memory const, so functions that write take it too, a temporary view included.
///
/// Ownership: none; it refers to the handle, for the length of the call.
class TensorArg {
 public:
  TensorArg(const Tensor& tensor TENON_LIFETIMEBOUND) noexcept : tensor_(&tensor) {}
  TensorArg(const TensorPtr& tensor TENON_LIFETIMEBOUND) noexcept : tensor_(tensor.get()) {}

  bool defined() const noexcept { return tensor_ != nullptr && tensor_->defined(); }
  /// The impl of a defined tensor.
  TensorImpl& impl() const noexcept { return *tensor_->unsafeGetTensorImpl(); }
  /// The handle; not for a null TensorPtr.
  const Tensor& tensor() const noexcept { return *tensor_; }

 private:
  const Tensor* tensor_;
};

namespace detail {

/// A TensorArg for reading: another type in ATen mode, where it leaves a lazy clone lazy.
using ConstTensorArg = TensorArg;

/// The internals of a defined tensor.
inline ImplFields& fields(const TensorArg& tensor) noexcept {
  return tensor.tensor().impl()->fields_;
}

/// Whether tenon can use the tensor: false for some in ATen mode.
inline bool is_described(const TensorArg&) noexcept { return true; }

/// Whether there is metadata. `role` is what the function calls the tensor: "the source tensor".
TENON_TEMPLATE_INLINE Error check_metadata(const TensorArg& tensor, const char* role) noexcept {
  if (!tensor.defined()) {
    return fail(Error::InvalidState, role, " is undefined");
  }
  return Error::Ok;
}
/// Whether the tensor is defined and was not deallocated.
TENON_TEMPLATE_INLINE Error check_defined(const TensorArg& tensor, const char* role) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  return check_not_deallocated(fields(tensor), role);
}

}  // namespace detail
TENON_END_NAMESPACE
#endif
