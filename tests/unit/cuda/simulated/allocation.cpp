// SPDX-License-Identifier: MIT
// Memory taken and given back other than in a stream's order: device, pinned, managed.
#include <cstring>
#include <new>

#include "state.h"

using namespace simulated_cuda::detail;

namespace {

cudaError_t host_memory(State& s, void** out, size_t size, cudaMemoryType type) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (size == 0) return type == cudaMemoryTypeManaged ? cudaErrorInvalidValue : cudaSuccess;
  if (size > s.options.device_memory) return cudaErrorMemoryAllocation;
  *out = ::operator new (size, std::align_val_t{granularity});
  std::memset(*out, fresh_byte, size);
  Block& block = s.blocks[reinterpret_cast<uintptr_t>(*out)];
  block.begin = reinterpret_cast<uintptr_t>(*out);
  block.size = size;
  block.type = type;
  block.device = this_thread().device;
  return cudaSuccess;
}

void free_host(Block& block) {
  const uintptr_t begin = block.begin;
  ::operator delete (reinterpret_cast<void*>(begin), std::align_val_t{granularity});
  state().blocks.erase(begin);
}

}  // namespace

cudaError_t cudaMalloc(void** out, size_t size) {
  return call("cudaMalloc", [&](State&) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = nullptr;
    if (size == 0) return cudaSuccess;
    Block* block = take(size, this_thread().device, nullptr, nullptr);
    if (block == nullptr) return cudaErrorMemoryAllocation;
    fill(block->begin, size, fresh_byte);
    *out = reinterpret_cast<void*>(block->begin);
    return cudaSuccess;
  });
}

// Of memory from a pool its documentation says "This API will not perform any implicit
// synchronization", of other memory that it may.
cudaError_t cudaFree(void* address) {
  return call("cudaFree", [&](State&) {
    if (address == nullptr) return cudaSuccess;
    Block* block = to_free(address, "cudaFree");
    if (block == nullptr || block->type == cudaMemoryTypeHost) return cudaErrorInvalidValue;
    if (block->pool == nullptr && state().options.may_wait) synchronize_device(block->device);
    check_free(*block, "cudaFree", {});
    if (block->type == cudaMemoryTypeManaged) {
      free_host(*block);
      return cudaSuccess;
    }
    block->freed = true;
    block->freed_at = {};
    fill(block->begin, block->size, freed_byte);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** out, size_t size, unsigned flags) {
  return call("cudaHostAlloc", [&](State& s) {
    return flags > 7 ? cudaErrorInvalidValue : host_memory(s, out, size, cudaMemoryTypeHost);
  });
}

cudaError_t cudaFreeHost(void* address) {
  return call("cudaFreeHost", [&](State&) {
    if (address == nullptr) return cudaSuccess;
    Block* block = to_free(address, "cudaFreeHost");
    if (block == nullptr || block->type != cudaMemoryTypeHost) {
      return cudaErrorInvalidValue;
    }
    check_free(*block, "cudaFreeHost", {});
    free_host(*block);
    return cudaSuccess;
  });
}

cudaError_t cudaMallocManaged(void** out, size_t size, unsigned flags) {
  return call("cudaMallocManaged", [&](State& s) {
    return flags != cudaMemAttachGlobal && flags != cudaMemAttachHost
               ? cudaErrorInvalidValue
               : host_memory(s, out, size, cudaMemoryTypeManaged);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* address) {
  return call("cudaPointerGetAttributes", [&](State&) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = {};
    out->type = cudaMemoryTypeUnregistered;
    out->device = cudaInvalidDeviceId;
    out->hostPointer = const_cast<void*>(address);
    const Block* block = find_block(reinterpret_cast<uintptr_t>(address));
    if (block == nullptr || block->freed) return cudaSuccess;
    out->type = block->type;
    out->device = block->device;
    out->devicePointer = const_cast<void*>(address);
    if (block->type == cudaMemoryTypeDevice) out->hostPointer = nullptr;
    return cudaSuccess;
  });
}
