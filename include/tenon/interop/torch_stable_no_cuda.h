// SPDX-License-Identifier: MIT
// Stubs of CUDA's runtime, for libraries of operators that were also built for CUDA, in a program
// without CUDA. Such libraries, for example torchvision and torchaudio from PyPI's wheels, call
// these functions; some calls register kernels when the library is loaded. If one source file of
// the program includes this header, load_torch_library() loads such a library without libcudart.so.
// The functions that register kernels do nothing, and all others report that there is no device.
//
// Do not include this header in a program that uses CUDA: these functions would hide libcudart's.
// Export them: -rdynamic, or -Wl,--export-dynamic-symbol='cuda*' and '__cuda*'.
#pragma once

#include "tenon/core/error.h"

#pragma GCC visibility push(default)
extern "C" {

// Callers pass arguments, which these functions ignore; the caller removes them from the stack.
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
