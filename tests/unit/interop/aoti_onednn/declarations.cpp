// SPDX-License-Identifier: MIT
// The kernels behind torch's own declarations of them: one with other parameters is a conflict.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

// That torch has them.
static_assert(&aoti_torch_cpu_addmm_out != nullptr);
static_assert(&aoti_torch_cpu_baddbmm_out != nullptr);
static_assert(&aoti_torch_cpu_bmm_out != nullptr);
static_assert(&aoti_torch_cpu_convolution != nullptr);
static_assert(&aoti_torch_cpu_mm_out != nullptr);

#include "tenon/interop/aoti_onednn.h"
