// SPDX-License-Identifier: MIT
// LiteRT's C functions of tensor buffers that docs/recipes_libraries.md uses, as documented, for host memory.
#pragma once

#include <cstddef>
#include <cstdint>

enum LiteRtStatus { kLiteRtStatusOk = 0, kLiteRtStatusErrorInvalidArgument = 1 };
enum LiteRtElementType { kLiteRtElementTypeNone = 0, kLiteRtElementTypeFloat32 = 1 };
enum LiteRtTensorBufferLockMode {
  kLiteRtTensorBufferLockModeRead = 0,
  kLiteRtTensorBufferLockModeWrite = 1,
  kLiteRtTensorBufferLockModeReadWrite = 2
};
struct LiteRtLayout {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dimensions[8];
  uint32_t strides[8];
};
struct LiteRtRankedTensorType {
  LiteRtElementType element_type;
  LiteRtLayout layout;
};
struct LiteRtTensorBufferT {
  LiteRtRankedTensorType type;
  void* data;
  int references;
  bool locked;
};
using LiteRtTensorBuffer = LiteRtTensorBufferT*;
using LiteRtHostMemoryDeallocator = void (*)(void*);

inline LiteRtStatus LiteRtCreateTensorBufferFromHostMemory(const LiteRtRankedTensorType* type,
                                                           void* data, size_t,
                                                           LiteRtHostMemoryDeallocator,
                                                           LiteRtTensorBuffer* buffer) {
  if (reinterpret_cast<uintptr_t>(data) % 64 != 0) return kLiteRtStatusErrorInvalidArgument;
  *buffer = new LiteRtTensorBufferT{*type, data, 1, false};
  return kLiteRtStatusOk;
}
inline LiteRtStatus LiteRtGetTensorBufferTensorType(LiteRtTensorBuffer buffer,
                                                    LiteRtRankedTensorType* type) {
  *type = buffer->type;
  return kLiteRtStatusOk;
}
inline LiteRtStatus LiteRtDuplicateTensorBuffer(LiteRtTensorBuffer buffer) {
  ++buffer->references;
  return kLiteRtStatusOk;
}
inline LiteRtStatus LiteRtLockTensorBuffer(LiteRtTensorBuffer buffer, void** data,
                                           LiteRtTensorBufferLockMode) {
  if (buffer->locked) return kLiteRtStatusErrorInvalidArgument;
  buffer->locked = true;
  *data = buffer->data;
  return kLiteRtStatusOk;
}
inline LiteRtStatus LiteRtUnlockTensorBuffer(LiteRtTensorBuffer buffer) {
  buffer->locked = false;
  return kLiteRtStatusOk;
}
inline void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer buffer) {
  if (--buffer->references == 0) delete buffer;
}
