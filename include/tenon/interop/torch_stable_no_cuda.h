// SPDX-License-Identifier: MIT
// CUDA's runtime as libraries of operators call it that were built for CUDA too, in a program
// without CUDA: PyPI's wheels of torchvision, torchaudio and others name these functions, which
// register kernels when such a library is loaded. With this header in one file of the program
// load_torch_library() loads it without libcudart.so: kernels are not registered, and all else
// answers that there is no device.
//
// Not in a program that uses CUDA: the functions would go before libcudart's. Export them:
// -rdynamic, or -Wl,--export-dynamic-symbol='cuda*' and '__cuda*'.
#pragma once

#include "tenon/core/error.h"

#pragma GCC visibility push(default)
extern "C" {

// With parameters, which no function here reads; the caller removes them.
#define TENON_NO_CUDA(name) \
  int name() { return 100; }  // cudaErrorNoDevice
TENON_NO_CUDA(__cudaGetKernel)
TENON_NO_CUDA(__cudaLaunchKernel)
TENON_NO_CUDA(__cudaPopCallConfiguration)
TENON_NO_CUDA(__cudaPushCallConfiguration)
TENON_NO_CUDA(cudaDeviceGetAttribute)
TENON_NO_CUDA(cudaDeviceSynchronize)
TENON_NO_CUDA(cudaEventCreate)
TENON_NO_CUDA(cudaEventCreateWithFlags)
TENON_NO_CUDA(cudaEventDestroy)
TENON_NO_CUDA(cudaEventRecord)
TENON_NO_CUDA(cudaEventSynchronize)
TENON_NO_CUDA(cudaFree)
TENON_NO_CUDA(cudaFuncSetAttribute)
TENON_NO_CUDA(cudaGetDevice)
TENON_NO_CUDA(cudaGetDeviceCount)
TENON_NO_CUDA(cudaGetDeviceProperties)
TENON_NO_CUDA(cudaGetDriverEntryPointByVersion)
TENON_NO_CUDA(cudaGetLastError)
TENON_NO_CUDA(cudaLaunchKernelExC)
TENON_NO_CUDA(cudaMalloc)
TENON_NO_CUDA(cudaMemcpy)
TENON_NO_CUDA(cudaMemcpy2DAsync)
TENON_NO_CUDA(cudaMemcpyAsync)
TENON_NO_CUDA(cudaMemset)
TENON_NO_CUDA(cudaMemsetAsync)
TENON_NO_CUDA(cudaSetDevice)
TENON_NO_CUDA(cudaStreamSynchronize)
TENON_NO_CUDA(cudaStreamWaitEvent)
#undef TENON_NO_CUDA
const char* cudaGetErrorName() { return "cudaErrorNoDevice"; }
const char* cudaGetErrorString() { return "the program has no CUDA"; }

void** __cudaRegisterFatBinary(void* binary) { return static_cast<void**>(binary); }
void __cudaRegisterFatBinaryEnd() {}
void __cudaRegisterFunction() {}
void __cudaRegisterVar() {}
void __cudaUnregisterFatBinary() {}

}  // extern "C"
#pragma GCC visibility pop
