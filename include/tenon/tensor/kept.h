// SPDX-License-Identifier: MIT
// KeptTensor: what a function works on while a backend's code runs.
#pragma once

#include "tenon/tensor/draft.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Keeps a tensor and its memory, as a backend's code may drop the handle, and try to grow or
/// deallocate the tensor.
class KeptTensor {
 public:
  /// For one that keeps nothing yet, of a defined tensor. Does nothing where no backend is asked:
  /// neither one for the tensor nor one for something else.
  Error keep(const TensorArg& tensor, bool asks_other) noexcept {
    const TensorFields& kept = fields(tensor);
    if (kept.backend == nullptr && !asks_other && kept.is_host_accessible()) return Error::Ok;
    handle_ = tensor.tensor();
    return memory_.hold(handle_);
  }

 private:
  Tensor handle_;
  Borrow memory_;  // goes first
};

}  // namespace detail
TENON_END_NAMESPACE
