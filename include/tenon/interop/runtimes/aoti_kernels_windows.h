// SPDX-License-Identifier: MIT
// Kernels over windows and bags of elements: pooling, sampling, embedding bags, attention.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
