// SPDX-License-Identifier: MIT
// Checks a tensor for a library that works on host memory.
#pragma once

#include "tenon/tensor/accessor.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checks that the host may access the tensor's elements through a pointer to its type.
/// Errors: InvalidState (undefined or deallocated; a placeholder), NotSupported (a meta tensor;
/// memory that the host cannot reach), InvalidArgument (data that is not aligned).
TENON_TEMPLATE_INLINE Error check_host_access(const TensorArg& tensor) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& from = fields(tensor);
  if (!from.is_host_accessible()) return fail_host_access(from);
  TENON_TRY(check_has_data(from));
  return from.layout.numel == 0 ? Error::Ok : check_aligned(from.data, from.type);
}

}  // namespace detail
TENON_END_NAMESPACE
