// SPDX-License-Identifier: MIT
// PoolBackend: keeps released blocks of another backend's memory for the next tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "tenon/backend/backend.h"

#if !TENON_HEAP
#error "tenon/backend/pool.h: PoolBackend keeps its lists on the heap, and TENON_HEAP is 0"
#endif
#if TENON_HAS_THREADS
#include <mutex>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// The bytes that a pool takes from its backend for 1 to PTRDIFF_MAX bytes: at least 64; above that
/// a power of two, or one of three steps between two powers, which adds less than a quarter.
inline size_t pool_size(size_t nbytes) noexcept {
  if (nbytes <= 64) return 64;
  const size_t last = nbytes - 1;
#if TENON_PORTABLE
  int shift = 0;
  while (last >> shift >= 8) ++shift;
#else
  const int shift = 61 - __builtin_clzll(last);
#endif
  return ((last >> shift) + 1) << shift;
}

}  // namespace detail

/// The counts of a PoolBackend. Bytes are counted as taken from its backend, with sizes rounded up.
struct PoolStatistics {
  int64_t hits;           ///< allocations served by a block that was released before
  int64_t misses;         ///< allocations served by the backend
  int64_t released;       ///< blocks that were returned to the backend
  int64_t live_blocks;    ///< in use
  int64_t live_bytes;     ///< in use
  int64_t cached_blocks;  ///< kept for later
  int64_t cached_bytes;   ///< kept for later
  int64_t peak_bytes;     ///< the peak of live_bytes + cached_bytes
};

/// Keeps released blocks, and reuses them for allocations of about their size.
///
/// Sizes are rounded up to a power of two, or to one of three steps between two powers, which adds
/// less than a quarter; the smallest block has 64 bytes. When the backend is out of memory, the
/// pool releases its kept blocks and retries once.
///
/// Ownership: borrows the backend, which must outlive the pool. The pool's destructor returns all
/// kept blocks to the backend.
/// Errors: an allocation that the backend refuses twice is OutOfMemory, with the backend's text.
/// Threads: those that the backend allows; the pool calls the backend without holding its lock. A
/// pool over an ArenaBackend is for one thread, as the arena is.
/// Source: rmm's binning resource; PyTorch's CUDACachingAllocator.
class TENON_EXPORT PoolBackend final : public WrapperBackend {
 public:
  /// A pool over another backend, which it borrows.
  explicit PoolBackend(Backend& inner) noexcept : WrapperBackend(inner) {}
  /// Wraps another pool, as any backend; does not copy it.
  /// A template, because a template is never a copy constructor: a copy constructor from a
  /// non-const reference breaks std::optional.
  template <class B, std::enable_if_t<std::is_same_v<B, PoolBackend>, int> = 0>
  explicit PoolBackend(B& inner) noexcept : PoolBackend(static_cast<Backend&>(inner)) {}
  ~PoolBackend() override { trim(); }

  const char* name() const noexcept override { return "pool"; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    if (nbytes > PTRDIFF_MAX) {
      static_cast<void>(
          detail::fail(Error::OutOfMemory, nbytes, " bytes are more than an object can have"));
      return nullptr;
    }
    const size_t size = detail::pool_size(nbytes);
    // Kept blocks have the alignment of tensors; larger alignments bypass the pool.
    if (alignment <= detail::kDataAlignment) {
      alignment = detail::kDataAlignment;
      const Lock lock(mutex_);
      const auto kept = kept_.find(size);
      if (kept != kept_.end() && !kept->second.empty()) {
        ++counts_.hits;
        count_live(size, 1);
        void* const block = take(kept->second, size);
        mark_block(block, nbytes, size);
        return block;
      }
    }
    void* block = inner().allocate(size, alignment);
    if (block == nullptr) {
      trim();
      block = inner().allocate(size, alignment);
      if (block == nullptr) return nullptr;
    }
    mark_block(block, nbytes, size);
    const Lock lock(mutex_);
    ++counts_.misses;
    count_live(size, 1);
    const int64_t taken = counts_.live_bytes + counts_.cached_bytes;
    if (taken > counts_.peak_bytes) counts_.peak_bytes = taken;
    return block;
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const size_t size = detail::pool_size(nbytes);
    const auto bytes = static_cast<int64_t>(size);
    // One stream's work may still use the block when another stream gets it.
    DeviceBackend* const device = has_inner() ? as_device() : nullptr;
    const bool is_reusable = device == nullptr || device->join_streams() == Error::Ok;
    {
      const Lock lock(mutex_);
      count_live(size, -1);
      if (is_reusable && bytes <= max_cached_bytes_ - counts_.cached_bytes &&
          detail::has_memory_for([&] { kept_[size].push_back(p); })) {
        ++counts_.cached_blocks;
        counts_.cached_bytes += bytes;
        mark_block(p, 0, size);
        return;
      }
      ++counts_.released;
    }
    mark_block(p, size, size);
    inner().deallocate(p, size);
  }

  // Metadata on the heap stays there: malloc is as fast for small blocks. Metadata in the backend's
  // memory goes through the pool: otherwise it would fragment an arena whose blocks the pool keeps.
  Backend* metadata_backend() noexcept override {
    Backend* const metadata_backend = inner().metadata_backend();
    return metadata_backend != nullptr && is_host_memory() ? this : metadata_backend;
  }

  /// Sets the limit of the cache.
  /// Options: "max_cached_bytes", at least 0. A released block that would exceed the limit is
  /// returned to the backend at once.
  /// Errors: InvalidArgument for another name or value; nothing is changed.
  Error init(const BackendOptions& options) override {
    TENON_TRY(options.check_names({"max_cached_bytes"}));
    int64_t limit = -1;
    TENON_TRY(options.read("max_cached_bytes", 0, limit));
    if (limit < 0) return Error::Ok;
    {
      const Lock lock(mutex_);
      max_cached_bytes_ = limit;
    }
    trim_to(limit);
    return Error::Ok;
  }

  /// Returns all kept blocks to the backend.
  void trim() noexcept { trim_to(0); }

  /// The bytes of free blocks that the pool keeps.
  int64_t cached_bytes() const noexcept { return statistics().cached_bytes; }

  /// Counts of hits, misses and bytes.
  PoolStatistics statistics() const noexcept {
    const Lock lock(mutex_);
    return counts_;
  }

 private:
#if TENON_HAS_THREADS
  using Mutex = std::mutex;
#else
  using Mutex = detail::SpinLock;
#endif
  using Lock = detail::LockGuard<Mutex>;

  // Called with the lock held.
  void count_live(size_t size, int64_t blocks) noexcept {
    counts_.live_blocks += blocks;
    counts_.live_bytes += blocks * static_cast<int64_t>(size);
  }
  void* take(std::vector<void*>& blocks, size_t size) noexcept {
    void* const block = blocks.back();
    blocks.pop_back();
    --counts_.cached_blocks;
    counts_.cached_bytes -= static_cast<int64_t>(size);
    return block;
  }

  /// Returns the largest kept blocks to the backend until no more than `limit` bytes are kept.
  void trim_to(int64_t limit) noexcept {
    for (;;) {
      void* block = nullptr;
      size_t size = 0;
      {
        const Lock lock(mutex_);
        auto largest = kept_.rbegin();
        while (largest != kept_.rend() && largest->second.empty()) ++largest;
        if (largest == kept_.rend() || counts_.cached_bytes <= limit) return;
        size = largest->first;
        block = take(largest->second, size);
        ++counts_.released;
      }
      if (has_inner()) {
        mark_block(block, size, size);
        inner().deallocate(block, size);
      }
    }
  }

  bool is_host_memory() const noexcept { return device().is_host_accessible() && !is_opaque(); }
  /// With AddressSanitizer, marks the first `nbytes` of a block of `size` bytes as used and the
  /// rest as free. Does nothing if the host cannot access the memory.
  void mark_block(void* block, size_t nbytes, size_t size) const noexcept {
    if (!TENON_MARKS_FREE_MEMORY || !has_inner() || !is_host_memory()) return;
    detail::mark_used(block, nbytes);
    detail::mark_free(static_cast<char*>(block) + nbytes, size - nbytes);
  }

  mutable Mutex mutex_;
  // Guarded by the lock.
  int64_t max_cached_bytes_ = INT64_MAX;
  std::map<size_t, std::vector<void*>> kept_;  // by size
  PoolStatistics counts_{};
};

TENON_END_NAMESPACE
