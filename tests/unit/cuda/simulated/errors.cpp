// SPDX-License-Identifier: MIT
// The errors' names and texts, as CUDA 13.0's runtime gives them.
#include "state.h"

namespace {

struct Text {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define TEXT(error, text) \
  { error, #error, text }
constexpr Text texts[] = {
    TEXT(cudaSuccess, "no error"),
    TEXT(cudaErrorInvalidValue, "invalid argument"),
    TEXT(cudaErrorMemoryAllocation, "out of memory"),
    TEXT(cudaErrorInitializationError, "initialization error"),
    TEXT(cudaErrorCudartUnloading, "driver shutting down"),
    TEXT(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    TEXT(cudaErrorInvalidHostPointer, "invalid host pointer"),
    TEXT(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    TEXT(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    TEXT(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    TEXT(cudaErrorDeviceUninitialized, "invalid device context"),
    TEXT(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    TEXT(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    TEXT(cudaErrorNotReady, "device not ready"),
    TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    TEXT(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    TEXT(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    TEXT(cudaErrorContextIsDestroyed, "context is destroyed"),
    TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    TEXT(cudaErrorNotPermitted, "operation not permitted"),
    TEXT(cudaErrorNotSupported, "operation not supported"),
    TEXT(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    TEXT(cudaErrorStreamCaptureInvalidated,
         "operation failed due to a previous error during capture"),
    TEXT(cudaErrorStreamCaptureMerge,
         "operation would result in a merge of separate capture sequences"),
    TEXT(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    TEXT(cudaErrorStreamCaptureIsolation,
         "dependency created on uncaptured work in another stream"),
    TEXT(cudaErrorStreamCaptureImplicit,
         "operation would make the legacy stream depend on a capturing blocking stream"),
    TEXT(cudaErrorCapturedEvent,
         "operation not permitted on an event last recorded in a capturing stream"),
    TEXT(cudaErrorStreamCaptureWrongThread,
         "attempt to terminate a thread-local capture sequence from another thread"),
    TEXT(cudaErrorUnknown, "unknown error"),
};
#undef TEXT

const Text* find(cudaError_t error) {
  for (const Text& text : texts) {
    if (text.error == error) return &text;
  }
  return nullptr;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  const Text* text = find(error);
  return text != nullptr ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Text* text = find(error);
  return text != nullptr ? text->text : "unrecognized error code";
}
