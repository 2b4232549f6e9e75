// SPDX-License-Identifier: MIT
// Pools, and memory taken and given back in a stream's order.
#include "state.h"

namespace simulated_cuda {
namespace detail {

Pool* find_pool(cudaMemPool_t handle) {
  const auto found = state().pools.find(number_of(handle, "pool"));
  return found == state().pools.end() ? nullptr : &found->second;
}

cudaMemPool_t new_pool(State& s, int device, bool is_default) {
  const int64_t number = s.next_number++;
  s.pools[number].device = device;
  s.pools[number].is_default = is_default;
  for (int on : {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic,
                 cudaMemPoolReuseAllowInternalDependencies}) {
    s.pools[number].attributes[on] = 1;
  }
  return handle_of<cudaMemPool_t>(number);
}

}  // namespace detail
}  // namespace simulated_cuda

using namespace simulated_cuda::detail;

namespace {

cudaError_t allocate(void** out, size_t size, cudaMemPool_t pool, int device, Stream& stream) {
  Block* block = take(size, device, pool, &stream);
  if (block == nullptr) return cudaErrorMemoryAllocation;
  block->allocated =
      enqueue(stream, [begin = block->begin, size] { fill(begin, size, fresh_byte); });
  *out = reinterpret_cast<void*>(block->begin);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMallocAsync(void** out, size_t size, cudaStream_t handle) {
  return call("cudaMallocAsync", [&](State& s) {
    if (out == nullptr || size == 0) return cudaErrorInvalidValue;
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return cudaErrorNotSupported;
    const cudaError_t error = may_submit(*stream);
    if (error != cudaSuccess) return error;
    const Device& device = s.devices[static_cast<size_t>(stream->device)];
    return allocate(out, size, device.default_pool, stream->device, *stream);
  });
}

cudaError_t cudaMallocFromPoolAsync(void** out, size_t size, cudaMemPool_t handle,
                                    cudaStream_t stream_of) {
  return call("cudaMallocFromPoolAsync", [&](State&) {
    const Pool* pool = find_pool(handle);
    if (out == nullptr || size == 0 || pool == nullptr) return cudaErrorInvalidValue;
    Stream* stream = find_stream(stream_of);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return cudaErrorNotSupported;
    const cudaError_t error = may_submit(*stream);
    if (error != cudaSuccess) return error;
    return allocate(out, size, handle, pool->device, *stream);
  });
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t handle) {
  return call("cudaFreeAsync", [&](State&) {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) {  // "must be passed the address of a graph allocation"
      stream->capture->invalid = true;
      return cudaErrorInvalidValue;
    }
    const cudaError_t error = may_submit(*stream);
    if (error != cudaSuccess) return error;
    Block* block = to_free(address, "cudaFreeAsync");
    if (block == nullptr || block->type != cudaMemoryTypeDevice) return cudaErrorInvalidValue;
    check_free(*block, "cudaFreeAsync", next_clock(*stream));
    block->freed = true;
    block->freed_at = enqueue(
        *stream, [begin = block->begin, size = block->size] { fill(begin, size, freed_byte); });
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const cudaMemPoolProps* properties) {
  return call("cudaMemPoolCreate", [&](State& s) {
    if (out == nullptr || properties == nullptr ||
        properties->allocType != cudaMemAllocationTypePinned ||
        properties->location.type != cudaMemLocationTypeDevice) {
      return cudaErrorInvalidValue;
    }
    const int device = properties->location.id;
    if (device < 0 || device >= s.options.devices) return cudaErrorInvalidValue;
    if (!s.options.memory_pools) return cudaErrorNotSupported;
    *out = new_pool(s, device, false);
    find_pool(*out)->max_size = properties->maxSize;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return call("cudaMemPoolDestroy", [&](State& s) {
    Pool* pool = find_pool(handle);
    if (pool == nullptr || pool->is_default) return cudaErrorInvalidValue;
    s.pools.erase(number_of(handle, "pool"));  // living allocations stay
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t keep) {
  return call("cudaMemPoolTrimTo", [&](State&) {
    if (find_pool(handle) == nullptr) return cudaErrorInvalidValue;
    trim(handle, keep);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr which, void* value) {
  return call("cudaMemPoolSetAttribute", [&](State&) {
    Pool* pool = find_pool(handle);
    if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
    if (which == cudaMemPoolAttrReleaseThreshold) {
      pool->attributes[which] = *static_cast<uint64_t*>(value);
    } else if (which < cudaMemPoolAttrReleaseThreshold) {
      pool->attributes[which] = *static_cast<int*>(value) != 0;
    } else if (*static_cast<uint64_t*>(value) != 0) {
      return cudaErrorInvalidValue;  // high water marks can be set to zero only
    }
    return cudaSuccess;
  });
}
