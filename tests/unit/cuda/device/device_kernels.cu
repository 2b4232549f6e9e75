// SPDX-License-Identifier: MIT
#include "cuda/device_kernels.h"

#include "tenon/backend/cuda_kernels.cuh"

const tenon::CudaKernels& device_kernels() { return tenon::cuda_kernels(); }
