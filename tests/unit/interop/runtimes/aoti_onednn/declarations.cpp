// SPDX-License-Identifier: MIT
// The kernels behind torch's own declarations of them: one with other parameters is a conflict.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

// That torch has them.
static_assert(sizeof(&aoti_torch_cpu_addmm_out) != 0);
static_assert(sizeof(&aoti_torch_cpu_baddbmm_out) != 0);
static_assert(sizeof(&aoti_torch_cpu_bmm_out) != 0);
static_assert(sizeof(&aoti_torch_cpu_convolution) != 0);
static_assert(sizeof(&aoti_torch_cpu_mm_out) != 0);

#include "tenon/interop/aoti_onednn.h"
