// SPDX-License-Identifier: MIT
// ExecuTorch's runtime beside tenon, in plain mode: its models as modules, and tensors and EValues
// to and from its own over the same memory. Code written for its tensor extension, without its
// runtime, wants compat/executorch.h instead.
#pragma once

#include "tenon/interop/executorch_evalue.h"
#include "tenon/interop/executorch_module.h"
#include "tenon/interop/executorch_tensor.h"
