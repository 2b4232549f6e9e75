// SPDX-License-Identifier: MIT
// What the tests of PoolBackend put behind it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <new>

#include "tenon/backend/backend.h"

namespace tests {

/// Gives memory of the heap, or, as an opaque device, addresses behind which there is none.
/// Remembers what was given with how many bytes, counts what comes back otherwise as a fault, and
/// refuses on request.
class Source : public tenon::HostMemoryBackend {
 public:
  explicit Source(bool is_device = false) : is_device_(is_device) {}

  size_t refuse_above = SIZE_MAX;  // bytes in use
  int refusals = 0;
  int allocations = 0;
  int deallocations = 0;
  int faults = 0;
  size_t last_nbytes = 0;
  size_t last_alignment = 0;

  size_t live_bytes() const {
    size_t sum = 0;
    for (const auto& block : live_) sum += block.second;
    return sum;
  }
  size_t live_count() const { return live_.size(); }

  const char* name() const noexcept override { return "source"; }
  tenon::Device device() const noexcept override {
    return is_device_ ? tenon::Device(tenon::DeviceType::ExtDev) : tenon::Device();
  }
  bool is_opaque() const noexcept override { return is_device_; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (live_bytes() + nbytes > refuse_above) {
      ++refusals;
      static_cast<void>(set_error(tenon::Error::OutOfMemory, "the source ran dry"));
      return nullptr;
    }
    void* const p = is_device_ ? reinterpret_cast<void*>(next_ += 1 << 20)
                               : ::operator new(nbytes, std::align_val_t(4096));
    ++allocations;
    last_nbytes = nbytes;
    last_alignment = alignment;
    live_[p] = nbytes;
    return p;
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto at = live_.find(p);
    if (at == live_.end() || at->second != nbytes) {
      ++faults;
      return;
    }
    ++deallocations;
    live_.erase(at);
    if (!is_device_) ::operator delete(p, std::align_val_t(4096));
  }

 private:
  const bool is_device_;
  uintptr_t next_ = 64;
  std::mutex mutex_;
  std::map<void*, size_t> live_;
};

}  // namespace tests
