// SPDX-License-Identifier: MIT
// Copies, fills and kernels. What is synchronous follows "API synchronization behavior" of the
// CUDA Runtime API.
#include <cstring>
#include <memory>

#include "state.h"

namespace simulated_cuda {
namespace detail {
namespace {

constexpr size_t max_pitch = 2147483647;

/// Rows of a copy's one side.
struct Box {
  uintptr_t address;
  size_t pitch;  // bytes from row to row
  size_t slice;  // bytes from slice to slice
};

struct Extent {
  size_t width;  // bytes
  size_t height;
  size_t depth;
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

std::vector<Range> ranges(const Box& box, const Extent& extent) {
  std::vector<Range> rows;
  for (size_t z = 0; z < extent.depth; ++z) {
    for (size_t y = 0; y < extent.height; ++y) {
      const uintptr_t begin = box.address + z * box.slice + y * box.pitch;
      if (!rows.empty() && rows.back().end == begin) {
        rows.back().end += extent.width;
      } else {
        rows.push_back({begin, begin + extent.width});
      }
    }
  }
  return rows;
}

template <class F>
void each_row(const Extent& extent, F&& row) {
  for (size_t z = 0; z < extent.depth; ++z) {
    for (size_t y = 0; y < extent.height; ++y) row(y, z);
  }
}

void copy_rows(const Box& to, const Box& from, const Extent& extent) {
  each_row(extent, [&](size_t y, size_t z) {
    std::memmove(shadow(to.address + z * to.slice + y * to.pitch),
                 shadow(from.address + z * from.slice + y * from.pitch), extent.width);
  });
}

enum class Place { Pageable, Pinned, Managed, Device };

Place place(uintptr_t address) {
  const Block* block = find_block(address);
  if (block == nullptr || block->freed) {
    return is_device_address(address) ? Place::Device : Place::Pageable;
  }
  return block->type == cudaMemoryTypeHost      ? Place::Pinned
         : block->type == cudaMemoryTypeManaged ? Place::Managed
                                                : Place::Device;
}

/// Whether memory there may be what the copy's kind calls it.
bool agrees(Place place, bool device) {
  return device ? place != Place::Pageable : place != Place::Device;
}

cudaError_t check_kind(cudaMemcpyKind kind, Place to, Place from) {
  switch (kind) {
    case cudaMemcpyDefault: return cudaSuccess;
    case cudaMemcpyHostToHost:
    case cudaMemcpyHostToDevice:
    case cudaMemcpyDeviceToHost:
    case cudaMemcpyDeviceToDevice: break;
    default: return cudaErrorInvalidMemcpyDirection;
  }
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return agrees(to, to_device) && agrees(from, from_device) ? cudaSuccess : cudaErrorInvalidValue;
}

// Between devices, memory of a pool is reached by the functions for peers; by others only with
// cudaMemPoolSetAccess, which is not here.
void check_peers(const std::string& function, uintptr_t to, uintptr_t from) {
  if (function.find("Peer") != function.npos) return;
  const Block* target = find_block(to);
  const Block* source = find_block(from);
  if (target == nullptr || source == nullptr || target->device == source->device) return;
  if (target->pool == nullptr && source->pool == nullptr) return;
  if (target->type != cudaMemoryTypeDevice || source->type != cudaMemoryTypeDevice) return;
  violation(function +
            " copies between two devices, of which one has no access to the other's pool");
}

cudaError_t copy(const char* function, const Box& to, const Box& from, const Extent& extent,
                 cudaMemcpyKind kind, cudaStream_t handle, bool synchronous) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (extent.empty()) return cudaSuccess;
  if (to.address == 0 || from.address == 0) return cudaErrorInvalidValue;
  const Place target = place(to.address);
  const Place source = place(from.address);
  const cudaError_t error = check_kind(kind, target, source);
  if (error != cudaSuccess) return error;

  check_peers(function, to.address, from.address);

  // Host memory of captured work is read and written when the graph runs.
  const bool captured = stream->capture != nullptr;
  if (synchronous && source == Place::Pageable) synchronize(*stream);
  const std::vector<Range> read = ranges(from, extent);
  const std::vector<Range> written = ranges(to, extent);
  if (overlap(read, written)) {
    violation(std::string(function) + " from " + hex(from.address) + " to " + hex(to.address) +
              ": the memory overlaps");
  }
  Work work{function, {read}, {written}, [=] { copy_rows(to, from, extent); }};
  if (source == Place::Pageable && target != Place::Pageable && !captured) {
    // Pageable memory is staged: it has been read when the call returns, and no later work is
    // waited for.
    auto staged = std::make_shared<std::vector<char>>(extent.width * extent.height * extent.depth);
    const Box stage{reinterpret_cast<uintptr_t>(staged->data()), extent.width,
                    extent.width * extent.height};
    copy_rows(stage, from, extent);
    work.run = [=] {
      static_cast<void>(staged);
      copy_rows(to, stage, extent);
    };
  }
  const cudaError_t failure = submit(*stream, std::move(work));
  if (failure != cudaSuccess || captured) return failure;
  const bool to_host = target == Place::Pageable || target == Place::Pinned;
  const bool from_host = source == Place::Pageable || source == Place::Pinned;
  const bool device_only = target == Place::Device && source == Place::Device;
  const bool staged = source == Place::Pageable && target == Place::Device;
  const bool may_wait = target == Place::Pageable && state().options.may_wait;
  if (may_wait || (to_host && from_host) || (synchronous && !device_only && !staged)) {
    synchronize(*stream);
  }
  return cudaSuccess;
}

Box flat(const void* address, size_t size) {
  return {reinterpret_cast<uintptr_t>(address), size, size};
}

cudaError_t copy_2d(const char* function, void* to, size_t to_pitch, const void* from,
                    size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch || to_pitch > max_pitch || from_pitch > max_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  const Box target{reinterpret_cast<uintptr_t>(to), to_pitch, 0};
  const Box source{reinterpret_cast<uintptr_t>(from), from_pitch, 0};
  return copy(function, target, source, {width, height, 1}, kind, stream, false);
}

cudaError_t box_of(const cudaPitchedPtr& memory, const cudaPos& at, const cudaExtent& extent,
                   Box& out) {
  if (extent.width + at.x > memory.pitch || memory.pitch > max_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  // "If specified", says cuMemcpy3D; it is not needed for one slice.
  const bool specified = extent.depth > 1 || memory.ysize != 0;
  if (specified && extent.height + at.y > memory.ysize) return cudaErrorInvalidValue;
  const size_t slice = memory.pitch * memory.ysize;
  out = {reinterpret_cast<uintptr_t>(memory.ptr) + at.z * slice + at.y * memory.pitch + at.x,
         memory.pitch, slice};
  return cudaSuccess;
}

/// cudaMemcpy3DParms or cudaMemcpy3DPeerParms.
template <class Parameters>
cudaError_t copy_3d(const char* function, const Parameters& p, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return cudaErrorInvalidValue;
  const Extent extent{p.extent.width, p.extent.height, p.extent.depth};
  if (extent.empty()) return cudaSuccess;
  Box to;
  Box from;
  cudaError_t error = box_of(p.dstPtr, p.dstPos, p.extent, to);
  if (error == cudaSuccess) error = box_of(p.srcPtr, p.srcPos, p.extent, from);
  return error != cudaSuccess ? error : copy(function, to, from, extent, kind, stream, false);
}

cudaError_t check_peer(State& s, const void* address, int device) {
  if (device < 0 || device >= s.options.devices) return cudaErrorInvalidDevice;
  const Block* block = find_block(reinterpret_cast<uintptr_t>(address));
  return block != nullptr && block->type == cudaMemoryTypeDevice && block->device != device
             ? cudaErrorInvalidValue
             : cudaSuccess;
}

cudaError_t set(const char* function, const Box& to, int value, const Extent& extent,
                cudaStream_t handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (extent.empty()) return cudaSuccess;
  if (place(to.address) == Place::Pageable) return cudaErrorInvalidValue;
  const auto run = [=] {
    each_row(extent, [&](size_t y, size_t z) {
      std::memset(shadow(to.address + z * to.slice + y * to.pitch), value, extent.width);
    });
  };
  return submit(*stream, {function, {}, {ranges(to, extent)}, run});
}

/// A violation if a kernel of that stream cannot reach that memory.
void check_reach(const Stream& stream, uintptr_t address) {
  const Block* block = find_block(address);
  if (place(address) == Place::Pageable) {
    violation("a kernel is given pageable host memory at " + hex(address));
  } else if (block != nullptr && block->type == cudaMemoryTypeDevice &&
             block->device != stream.device) {
    violation("a kernel of device " + std::to_string(stream.device) +
              " is given memory of device " + std::to_string(block->device));
  }
}

}  // namespace
}  // namespace detail

cudaError_t launch(cudaStream_t handle, std::function<void()> work,
                   const std::vector<Memory>& reads, const std::vector<Memory>& writes) {
  using namespace detail;
  return call("cudaLaunchKernel", [&](State&) {
    Stream* stream = find_stream(handle);
    if (stream == nullptr || stream->device != this_thread().device) {
      return cudaErrorInvalidResourceHandle;
    }
    Work out{"a kernel", {}, {}, std::move(work)};
    for (const auto& [list, into] :
         {std::make_pair(&reads, &out.reads), std::make_pair(&writes, &out.writes)}) {
      for (const Memory& memory : *list) {
        if (memory.bytes == 0) continue;
        const auto begin = reinterpret_cast<uintptr_t>(memory.address);
        check_reach(*stream, begin);
        into->push_back({{begin, begin + memory.bytes}});
      }
    }
    return submit(*stream, std::move(out));
  });
}

}  // namespace simulated_cuda

using namespace simulated_cuda::detail;

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&](State&) {
    return copy("cudaMemcpy", flat(to, size), flat(from, size), {size, 1, 1}, kind, nullptr, true);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&](State&) {
    return copy("cudaMemcpyAsync", flat(to, size), flat(from, size), {size, 1, 1}, kind, stream,
                false);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return call("cudaMemcpy2DAsync", [&](State&) {
    return copy_2d("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind,
                   stream);
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return call("cudaMemcpy3DAsync", [&](State&) {
    return p == nullptr ? cudaErrorInvalidValue : copy_3d("cudaMemcpy3DAsync", *p, p->kind, stream);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t size, cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&](State& s) {
    cudaError_t error = check_peer(s, to, to_device);
    if (error == cudaSuccess) error = check_peer(s, from, from_device);
    return error != cudaSuccess ? error
                                : copy("cudaMemcpyPeerAsync", flat(to, size), flat(from, size),
                                       {size, 1, 1}, cudaMemcpyDefault, stream, false);
  });
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return call("cudaMemcpy3DPeerAsync", [&](State& s) {
    if (p == nullptr) return cudaErrorInvalidValue;
    cudaError_t error = check_peer(s, p->dstPtr.ptr, p->dstDevice);
    if (error == cudaSuccess) error = check_peer(s, p->srcPtr.ptr, p->srcDevice);
    return error != cudaSuccess ? error
                                : copy_3d("cudaMemcpy3DPeerAsync", *p, cudaMemcpyDefault, stream);
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&](State&) {
    return set("cudaMemsetAsync", flat(to, size), value, {size, 1, 1}, stream);
  });
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return call("cudaMemset2DAsync", [&](State&) {
    if (height > 1 && (width > pitch || pitch > max_pitch)) return cudaErrorInvalidValue;
    return set("cudaMemset2DAsync", {reinterpret_cast<uintptr_t>(to), pitch, 0}, value,
               {width, height, 1}, stream);
  });
}
