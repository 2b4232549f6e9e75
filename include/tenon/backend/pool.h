// SPDX-License-Identifier: MIT
// PoolBackend: keeps released blocks of another backend's memory for the next tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "tenon/backend/backend.h"
#include "tenon/backend/options.h"
#include "tenon/backend/wrapper.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a pool takes from its backend for a number of bytes: 64 bytes at least, and above that each
/// power of two and three steps between it and the next. Less than a quarter is added, and memory
/// of one size serves the sizes near it, too.
struct PoolClass {
  size_t index;
  size_t nbytes;

  static constexpr size_t kSmallest = 64;
  static constexpr size_t kLargest = PTRDIFF_MAX;
  static constexpr size_t kCount = (sizeof(size_t) * 8 - 7) * 4 + 1;

  int64_t bytes() const noexcept { return static_cast<int64_t>(nbytes); }

  /// For 1 to kLargest bytes.
  static PoolClass of(size_t wanted) noexcept {
    if (wanted <= kSmallest) return {0, kSmallest};
    const size_t last = wanted - 1;
    const unsigned shift = floor_log2(last) - 2;
    const size_t quarters = last >> shift;  // 4 to 7
    return {(shift - 4) * 4 + quarters - 3, (quarters + 1) << shift};
  }
  static constexpr size_t nbytes_of(size_t class_index) noexcept {
    if (class_index == 0) return kSmallest;
    return ((class_index - 1) % 4 + 5) << ((class_index - 1) / 4 + 4);
  }

 private:
  static unsigned floor_log2(size_t n) noexcept {
    return 63u - static_cast<unsigned>(__builtin_clzll(n));
  }
};

/// A block that nobody uses. Lies in the block itself where the host can write to it, else on the
/// heap.
struct FreeBlock {
  FreeBlock* next;
  void* block;
};
static_assert(sizeof(FreeBlock) <= PoolClass::kSmallest);

}  // namespace detail

/// What a PoolBackend did, and what it holds. Blocks and bytes are what it took from its backend,
/// where sizes are rounded up.
struct PoolStatistics {
  int64_t hits;           ///< allocations served by a block that was released before
  int64_t misses;         ///< allocations served by the backend
  int64_t released;       ///< blocks that were given back to the backend
  int64_t live_blocks;    ///< in use
  int64_t live_bytes;     ///< in use
  int64_t cached_blocks;  ///< kept for later
  int64_t cached_bytes;   ///< kept for later
  int64_t peak_bytes;     ///< the most that was taken from the backend at once, in use or kept
};

/// Keeps blocks that are released, and hands them out again when one of about that size is asked for.
///
/// Sizes are rounded up to one of four in each doubling, which adds less than a quarter, and to 64
/// bytes at least. When the backend has no memory, what is kept is given back and it is asked once
/// more.
///
/// Ownership: borrows the backend, which outlives it. When the pool is destroyed it gives back what
/// it keeps.
/// Errors: an allocation that the backend refuses twice is OutOfMemory, with the backend's text.
/// Threads: those that the backend allows: it is called by whichever thread needs memory, without
/// the pool's lock. A pool in front of an ArenaBackend is for one thread, as the arena is.
/// Source: rmm's binning resource; PyTorch's CUDACachingAllocator.
class TENON_EXPORT PoolBackend final : public WrapperBackend {
 public:
  explicit PoolBackend(Backend& inner) noexcept
      : WrapperBackend(inner),
        is_linked_in_place_(inner.device().is_host_accessible() && !inner.is_opaque()),
        metadata_(inner.metadata_backend()) {
    if (metadata_ != nullptr && is_linked_in_place_) metadata_ = this;
  }
  /// Wraps a pool, like any backend: pools are not copied.
  explicit PoolBackend(PoolBackend& inner) noexcept : PoolBackend(static_cast<Backend&>(inner)) {}
  ~PoolBackend() override {
    if (has_inner() || !is_linked_in_place_) trim();
  }

  const char* name() const noexcept override { return "pool"; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    if (TENON_UNLIKELY(nbytes > PoolClass::kLargest)) {
      static_cast<void>(set_error(Error::OutOfMemory, "no object is that large"));
      return nullptr;
    }
    const PoolClass size = PoolClass::of(nbytes);
    // What is kept is aligned as tensors need it, and no more.
    if (alignment <= detail::kDataAlignment) {
      alignment = detail::kDataAlignment;
      if (void* const block = pop(size)) return block;
    }
    void* block = inner().allocate(size.nbytes, alignment);
    if (block == nullptr) {
      trim();
      block = inner().allocate(size.nbytes, alignment);
      if (block == nullptr) return nullptr;
    }
    const Guard guard(mutex_);
    ++counts_.misses;
    ++counts_.live_blocks;
    counts_.live_bytes += size.bytes();
    const int64_t taken = counts_.live_bytes + counts_.cached_bytes;
    if (taken > counts_.peak_bytes) counts_.peak_bytes = taken;
    return block;
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const PoolClass size = PoolClass::of(nbytes);
    void* const place = is_linked_in_place_ ? p : std::malloc(sizeof(FreeBlock));
    {
      const Guard guard(mutex_);
      --counts_.live_blocks;
      counts_.live_bytes -= size.bytes();
      if (place != nullptr && size.bytes() <= max_cached_bytes_ - counts_.cached_bytes) {
        ++counts_.cached_blocks;
        counts_.cached_bytes += size.bytes();
        free_[size.index] = ::new (place) FreeBlock{free_[size.index], p};
        return;
      }
      ++counts_.released;
    }
    if (!is_linked_in_place_) std::free(place);
    inner().deallocate(p, size.nbytes);
  }

  // Tensors' metadata stays on the heap where it is there: malloc is as fast for small blocks, and
  // those of a backend are counted besides. Where it is in the backend's memory it is pooled too: an
  // arena gives back little as long as the pool keeps blocks of it.
  Backend* metadata_backend() noexcept override { return metadata_; }

  /// Options: "max_cached_bytes", a number from 0. What is released beyond it is given back at once.
  /// Errors: InvalidArgument for another name or value; nothing is changed.
  Error init(const BackendOptions& options) override {
    TENON_TRY(options.check_names({"max_cached_bytes"}));
    int64_t limit = -1;
    TENON_TRY(options.read("max_cached_bytes", 0, limit));
    if (limit < 0) return Error::Ok;
    {
      const Guard guard(mutex_);
      max_cached_bytes_ = limit;
    }
    trim_to(limit);
    return Error::Ok;
  }

  /// Gives back to the backend what is kept.
  void trim() noexcept { trim_to(0); }

  int64_t cached_bytes() const noexcept { return statistics().cached_bytes; }

  PoolStatistics statistics() const noexcept {
    const Guard guard(mutex_);
    return counts_;
  }

 private:
  using PoolClass = detail::PoolClass;
  using FreeBlock = detail::FreeBlock;
  using Guard = std::lock_guard<std::mutex>;

  /// A block that is kept; null for none.
  void* pop(PoolClass size) noexcept {
    FreeBlock* found = nullptr;
    {
      const Guard guard(mutex_);
      found = unlink(size);
      if (found == nullptr) return nullptr;
      ++counts_.hits;
      ++counts_.live_blocks;
      counts_.live_bytes += size.bytes();
    }
    return block_of(found);
  }
  /// With the lock.
  FreeBlock* unlink(PoolClass size) noexcept {
    FreeBlock* const first = free_[size.index];
    if (first == nullptr) return nullptr;
    free_[size.index] = first->next;
    --counts_.cached_blocks;
    counts_.cached_bytes -= size.bytes();
    return first;
  }
  void* block_of(FreeBlock* free) const noexcept {
    void* const block = free->block;
    if (!is_linked_in_place_) std::free(free);
    return block;
  }

  /// Gives back the largest blocks until no more than `limit` bytes are kept.
  void trim_to(int64_t limit) noexcept {
    for (size_t c = PoolClass::kCount; c-- > 0;) {
      const PoolClass size{c, PoolClass::nbytes_of(c)};
      for (;;) {
        FreeBlock* found = nullptr;
        {
          const Guard guard(mutex_);
          if (counts_.cached_bytes <= limit) return;
          found = unlink(size);
          if (found != nullptr) ++counts_.released;
        }
        if (found == nullptr) break;
        void* const block = block_of(found);
        if (has_inner()) inner().deallocate(block, size.nbytes);
      }
    }
  }

  const bool is_linked_in_place_;
  Backend* metadata_;
  mutable std::mutex mutex_;
  // With the lock.
  int64_t max_cached_bytes_ = INT64_MAX;
  FreeBlock* free_[PoolClass::kCount] = {};
  PoolStatistics counts_{};
};

TENON_END_NAMESPACE
