// SPDX-License-Identifier: MIT
// The kernels, compiled once for all tests: by nvcc in device/device_kernels.cu, in their host form
// in kernels_test.cpp.
#pragma once

#include "tenon/backend/cuda/kernels.h"

const tenon::CudaKernels& device_kernels();
