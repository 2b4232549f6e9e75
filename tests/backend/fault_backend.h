// SPDX-License-Identifier: MIT
// FaultBackend: a device whose memory faults when the host touches it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/backend/backend.h"

namespace tests {

/// Addresses without access rights, a page on either side of each block included; the bytes are
/// kept elsewhere, where only its own functions find them. They refuse what is not within one
/// block. Blocks begin as 0xa5 in every byte.
class FaultBackend final : public tenon::Backend {
 public:
  struct Counts {
    int64_t allocate = 0, deallocate = 0, copy_from_host = 0, copy_to_host = 0, copy_within = 0,
            synchronize = 0;
  };

  explicit FaultBackend(size_t limit = size_t{256} << 20) : limit_(limit) {}
  ~FaultBackend() override {
    for (auto& entry : blocks_) release(entry.second);
  }

  const char* name() const noexcept override { return "fault"; }
  tenon::Device device() const noexcept override {
    return tenon::Device(tenon::DeviceType::ExtDev, 0);
  }
  bool is_opaque() const noexcept override { return true; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++counts_.allocate;
    if (nbytes > limit_ - used_ || alignment > limit_) return nullptr;
    Block block;
    block.nbytes = nbytes;
    block.mapped = nbytes + alignment + 3 * page();
    block.bytes = static_cast<unsigned char*>(std::malloc(nbytes));
    if (block.bytes == nullptr) return nullptr;
    block.map = ::mmap(nullptr, block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block.map == MAP_FAILED) {
      std::free(block.bytes);
      return nullptr;
    }
    std::memset(block.bytes, 0xa5, nbytes);
    const uintptr_t first = reinterpret_cast<uintptr_t>(block.map) + page();
    const uintptr_t address = (first + alignment - 1) & ~(uintptr_t{alignment} - 1);
    try {
      blocks_.emplace(address, block);
    } catch (...) {
      release(block);
      return nullptr;
    }
    used_ += nbytes;
    return reinterpret_cast<void*>(address);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++counts_.deallocate;
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(p));
    if (found == blocks_.end() || found->second.nbytes != nbytes) {
      ++wrong_deallocations_;
      return;
    }
    used_ -= nbytes;
    release(found->second);
    blocks_.erase(found);
  }

  tenon::Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++counts_.copy_from_host;
    unsigned char* const to = find(dst, nbytes);
    if (to == nullptr) return refuse(nbytes);
    std::memcpy(to, src, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++counts_.copy_to_host;
    const unsigned char* const from = find(src, nbytes);
    if (from == nullptr) return refuse(nbytes);
    std::memcpy(dst, from, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++counts_.copy_within;
    unsigned char* const to = find(dst, nbytes);
    const unsigned char* const from = find(src, nbytes);
    if (to == nullptr || from == nullptr) return refuse(nbytes);
    if (to < from + nbytes && from < to + nbytes) {
      return set_error(tenon::Error::InvalidArgument, "copy_within between ranges that overlap");
    }
    std::memcpy(to, from, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error synchronize() override {
    ++counts_.synchronize;
    return tenon::Error::Ok;
  }

  const Counts& counts() const noexcept { return counts_; }
  /// Calls of deallocate() with an address or a size that allocate() did not give.
  int64_t wrong_deallocations() const noexcept { return wrong_deallocations_; }
  /// Bytes in blocks that were not released.
  size_t used() const noexcept { return used_; }

 private:
  struct Block {
    void* map = nullptr;
    size_t mapped = 0;
    unsigned char* bytes = nullptr;
    size_t nbytes = 0;
  };

  static size_t page() noexcept { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }
  static void release(const Block& block) noexcept {
    ::munmap(block.map, block.mapped);
    std::free(block.bytes);
  }
  /// Where the bytes are kept; null unless all of them are in one block.
  unsigned char* find(const void* p, size_t nbytes) const noexcept {
    const auto address = reinterpret_cast<uintptr_t>(p);
    auto at = blocks_.upper_bound(address);
    if (at == blocks_.begin()) return nullptr;
    --at;
    const size_t offset = address - at->first;
    const Block& block = at->second;
    if (offset > block.nbytes || nbytes > block.nbytes - offset) return nullptr;
    return block.bytes + offset;
  }
  static tenon::Error refuse(size_t nbytes) noexcept {
    return tenon::detail::fail(tenon::Error::OutOfBounds, nbytes,
                               " bytes are not within one block of the device's memory");
  }

  const size_t limit_;
  size_t used_ = 0;
  int64_t wrong_deallocations_ = 0;
  Counts counts_;
  std::map<uintptr_t, Block> blocks_;
  std::mutex mutex_;
};

}  // namespace tests
