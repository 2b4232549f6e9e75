// SPDX-License-Identifier: MIT
// Device, pinned and managed memory: addresses, life in stream order, reuse, who may touch what.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "state.h"

namespace simulated_cuda {
namespace detail {

namespace {

uintptr_t reserve(size_t size, int protection) {
  void* address =
      mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  return reinterpret_cast<uintptr_t>(address);
}

const Device* device_of(uintptr_t address) {
  for (const Device& device : state().devices) {
    if (address >= device.begin && address < device.begin + state().options.device_memory) {
      return &device;
    }
  }
  return nullptr;
}

}  // namespace

std::string name(const Block& block) {
  const char* kind = block.type == cudaMemoryTypeHost      ? "pinned host memory"
                     : block.type == cudaMemoryTypeManaged ? "managed memory"
                                                           : "memory of device ";
  return std::to_string(block.size) + " bytes at " + hex(block.begin) + " (" + kind +
         (block.type == cudaMemoryTypeDevice ? std::to_string(block.device) : "") + ")";
}

static std::string name(const Point& point) {
  return point.stream == 0 ? "the host" : "stream " + std::to_string(point.stream);
}

bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].begin < b[j].end && b[j].begin < a[i].end) return true;
    a[i].end < b[j].end ? ++i : ++j;
  }
  return false;
}

namespace {

void note(Block& block, const Stream& stream, const Clock& clock, const char* function,
          const std::vector<Range>& ranges, bool write) {
  const Point now{stream.number, stream.last + 1};
  for (const Access& old : block.accesses) {
    const bool same = old.point.stream == now.stream && old.point.position == now.position;
    if (!same && (old.write || write) && !before(old.point, clock) && overlap(old.ranges, ranges)) {
      violation(std::string(function) + " in stream " + std::to_string(stream.number) +
                (write ? " writes " : " reads ") + name(block) + ", which " + name(old.point) +
                (old.write ? " writes" : " reads") + ": neither waits for the other");
    }
  }
  // An older access that is ordered before this one is covered by it, if this one conflicts with
  // whatever the older one conflicts with.
  auto& accesses = block.accesses;
  const auto covered = [&](const Access& old) {
    const bool inside = ranges.size() == 1 && ranges[0].begin <= old.ranges.front().begin &&
                        old.ranges.back().end <= ranges[0].end;
    return before(old.point, {}) || (inside && (write || !old.write) && before(old.point, clock));
  };
  accesses.erase(std::remove_if(accesses.begin(), accesses.end(), covered), accesses.end());
  accesses.push_back({now, ranges, write});
}

/// Whether freed memory may be handed out to the stream's next operation, or to the host: the
/// reuse policies of the programming guide's "Stream-Ordered Memory Allocator". Internal
/// dependencies are not made, for they order more than the program did.
bool may_reuse(const Block& block, const Stream* stream) {
  if (before(block.freed_at, {})) return true;
  if (stream == nullptr) return false;
  Pool* pool = find_pool(block.pool);
  const auto allowed = [&](cudaMemPoolAttr policy) {
    return pool != nullptr && pool->attributes[policy] != 0;
  };
  if (allowed(cudaMemPoolReuseAllowOpportunistic) && done(block.freed_at)) return true;
  return before(block.freed_at, allowed(cudaMemPoolReuseFollowEventDependencies)
                                    ? next_clock(*stream)
                                    : Clock{{stream->number, stream->last}});
}

/// A free block that may be handed out: the smallest that fits.
Block* reusable(size_t size, int device, cudaMemPool_t pool, const Stream* stream) {
  Block* best = nullptr;
  for (auto& [begin, block] : state().blocks) {
    static_cast<void>(begin);
    if (!block.freed || block.device != device || block.pool != pool || block.capacity < size) {
      continue;
    }
    if (best != nullptr && block.capacity >= best->capacity) continue;
    if (may_reuse(block, stream)) best = &block;
  }
  return best;
}

}  // namespace

static size_t taken_by(cudaMemPool_t pool) {
  size_t sum = 0;
  for (const auto& entry : state().blocks) {
    if (entry.second.pool == pool) sum += entry.second.capacity;
  }
  return sum;
}

// "Allocations that have been asynchronously freed but whose completion has not been observed on
// the host can count as outstanding": here they do.
void trim(cudaMemPool_t pool, size_t keep) {
  size_t taken = taken_by(pool);
  for (auto& entry : state().blocks) {
    Block& block = entry.second;
    if (taken <= keep) return;
    if (block.pool != pool || !block.freed || !before(block.freed_at, {})) continue;
    taken -= block.capacity;
    block.pool = nullptr;  // anybody's
  }
}

void trim_to_thresholds() {
  for (const auto& entry : state().pools) {
    const auto found = entry.second.attributes.find(cudaMemPoolAttrReleaseThreshold);
    trim(handle_of<cudaMemPool_t>(entry.first),
         found == entry.second.attributes.end() ? 0 : found->second);
  }
}

Block* take(size_t size, int device, cudaMemPool_t pool, const Stream* stream) {
  State& s = state();
  Device& from = s.devices[static_cast<size_t>(device)];
  if (size > s.options.device_memory) return nullptr;
  const size_t capacity = (size + granularity - 1) / granularity * granularity;
  Block* block = reusable(size, device, pool, stream);
  const Pool* bound = pool == nullptr ? nullptr : find_pool(pool);
  if (block == nullptr && bound != nullptr && bound->max_size != 0 &&
      capacity > bound->max_size - std::min(bound->max_size, taken_by(pool))) {
    return nullptr;
  }
  if (block == nullptr) block = reusable(size, device, nullptr, nullptr);  // given back
  if (block == nullptr) {
    if (capacity > s.options.device_memory - from.used) return nullptr;
    const uintptr_t begin = from.begin + from.used;
    from.used += capacity;
    block = &s.blocks[begin];
    block->begin = begin;
    block->capacity = capacity;
  }
  block->size = size;
  block->type = cudaMemoryTypeDevice;
  block->device = device;
  block->pool = pool;
  block->allocated = {};
  block->freed = false;
  block->accesses.clear();
  return block;
}

void fill(uintptr_t begin, size_t size, int byte) { std::memset(shadow(begin), byte, size); }

Block* to_free(const void* address, const char* function) {
  const auto found = state().blocks.find(reinterpret_cast<uintptr_t>(address));
  if (found == state().blocks.end()) return nullptr;
  if (!found->second.freed) return &found->second;
  violation(std::string(function) + " of " + name(found->second) + ", which is free already");
  return nullptr;
}

void check_free(const Block& block, const char* function, const Clock& clock) {
  if (!before(block.allocated, clock)) {
    violation(std::string(function) + " of " + name(block) + " does not wait for its allocation");
  }
  for (const Access& old : block.accesses) {
    if (!before(old.point, clock)) {
      violation(std::string(function) + " of " + name(block) + " does not wait for " +
                name(old.point) + ", which " + (old.write ? "writes it" : "reads it"));
      run_until(old.point.stream, old.point.position);
    }
  }
}

Device make_device(State& s, int number) {
  Device device;
  device.begin = reserve(s.options.device_memory, PROT_NONE);
  device.shadow = reserve(s.options.device_memory, PROT_READ | PROT_WRITE);
  device.default_pool = new_pool(s, number, true);
  device.legacy = new_stream(s, number, cudaStreamDefault, true);
  return device;
}

void release_memory(State& s) {
  for (auto& [begin, block] : s.blocks) {
    if (block.type != cudaMemoryTypeDevice) {
      ::operator delete (reinterpret_cast<void*>(begin), std::align_val_t{granularity});
    }
  }
  s.blocks.clear();
  for (const Device& device : s.devices) {
    munmap(reinterpret_cast<void*>(device.begin), s.options.device_memory);
    munmap(reinterpret_cast<void*>(device.shadow), s.options.device_memory);
  }
  s.devices.clear();
}

bool is_device_address(uintptr_t address) { return device_of(address) != nullptr; }

char* shadow(uintptr_t address) {
  const Device* device = device_of(address);
  return reinterpret_cast<char*>(device == nullptr ? address
                                                   : address - device->begin + device->shadow);
}

Block* find_block(uintptr_t address) {
  auto after = state().blocks.upper_bound(address);
  if (after == state().blocks.begin()) return nullptr;
  Block& block = std::prev(after)->second;
  return address < block.begin + block.size ? &block : nullptr;
}

bool touch(const Stream& stream, const char* function, const std::vector<Range>& ranges,
           bool write) {
  const uintptr_t begin = ranges.front().begin;
  Block* block = find_block(begin);
  const auto wrong = [&](const std::string& text) {
    violation(std::string(function) + " in stream " + std::to_string(stream.number) +
              (write ? " writes " : " reads ") + text);
    return false;
  };
  if (block == nullptr) {
    if (is_device_address(begin)) return wrong(hex(begin) + ", which is not allocated");
    return true;  // pageable memory
  }
  const Clock clock = next_clock(stream);
  if (block->freed) return wrong(name(*block) + ", which " + name(block->freed_at) + " freed");
  if (ranges.back().end > block->begin + block->size) {
    return wrong(name(*block) + " up to " + hex(ranges.back().end) + ", which is past its end");
  }
  if (!before(block->allocated, clock)) {
    return wrong(name(*block) + " and does not wait for its allocation");
  }
  note(*block, stream, clock, function, ranges, write);
  return true;
}

}  // namespace detail

void* bytes(const void* device_address) {
  const auto address = reinterpret_cast<uintptr_t>(device_address);
  if (detail::this_thread().in_work) return detail::shadow(address);  // the lock is held
  const std::lock_guard<std::mutex> lock(detail::state().mutex);
  return detail::shadow(address);
}

std::vector<std::string> live_allocations() {
  const std::lock_guard<std::mutex> lock(detail::state().mutex);
  std::vector<std::string> texts;
  for (const auto& [begin, block] : detail::state().blocks) {
    static_cast<void>(begin);
    if (!block.freed) texts.push_back(detail::name(block));
  }
  return texts;
}

}  // namespace simulated_cuda
