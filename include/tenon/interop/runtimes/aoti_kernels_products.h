// SPDX-License-Identifier: MIT
// Products and distances that interop/aoti_onednn.h does not compute.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
