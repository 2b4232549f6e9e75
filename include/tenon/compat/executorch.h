// SPDX-License-Identifier: MIT
// The names of ExecuTorch's tensor extension over tenon, so that code written for it builds by
// changing its include of <executorch/extension/tensor/tensor.h> to this one.
//
// TensorPtr is a std::shared_ptr here, as ExecuTorch's has been since 0.5; code for the unique_ptr
// of older releases compiles too. Both orders of arguments that ExecuTorch had are accepted, with
// and without a Device. Differences that are intended: data must have exactly the length that the
// shape needs, padded strides are accepted, errors are tenon::Exception instead of an abort,
// DYNAMIC_UNBOUND tensors that own their memory grow, and views keep their source alive. Not for
// use in one program with the real thing.
#pragma once

#include <cstddef>

#include "tenon/compat/executorch_creators.h"
#include "tenon/compat/executorch_names.h"
#include "tenon/compat/executorch_tensor.h"
#include "tenon/tenon.h"

namespace executorch {
namespace extension {

using tenon::TensorAccessor;

/// Errors: InvalidArgument unless N is the rank and T has the element's size.
template <class T, ptrdiff_t N>
runtime::Result<TensorAccessor<T, static_cast<size_t>(N)>> make_tensor_accessor(
    const aten::Tensor& tensor) {
  using tenon::detail::blame;
  using tenon::detail::fail;
  if (tensor.dim() != N) {
    return blame("make_tensor_accessor",
                 fail(runtime::Error::InvalidArgument,
                      {"expected ", N, " dimensions, the tensor has ", tensor.dim()}));
  }
  if (tensor.element_size() != sizeof(T)) {
    return blame("make_tensor_accessor",
                 fail(runtime::Error::InvalidArgument,
                      {"elements of ", sizeof(T), " bytes do not match the tensor's ",
                       tensor.scalar_type()}));
  }
  return tensor.accessor<T, static_cast<size_t>(N)>();
}

}  // namespace extension
}  // namespace executorch

namespace exec_aten = executorch::aten;

namespace torch {
namespace executor {
using namespace executorch::aten;
using executorch::runtime::Error;
using executorch::runtime::Result;
}  // namespace executor
}  // namespace torch
