// SPDX-License-Identifier: MIT
// Kernels that compute each element by itself, and those that make random numbers.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
