// SPDX-License-Identifier: MIT
// PoolBackend: keeps released blocks of another backend's memory for the next tensors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/options.h"
#include "tenon/backend/pool_cache.h"
#include "tenon/backend/wrapper.h"
#include "tenon/config.h"
#include "tenon/core/atomic.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE

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
/// Threads: any, as far as the backend allows it, which is called by whichever thread needs memory;
/// in front of one for one thread, such as an ArenaBackend, the pool is for one thread, too. Each
/// thread keeps up to 256 KiB of blocks of up to 64 KiB for itself, unless max_cached_bytes is set.
/// Source: rmm's binning resource; PyTorch's CUDACachingAllocator; the thread caches are mimalloc's
/// idea, without its pages.
class TENON_EXPORT PoolBackend final : public WrapperBackend {
 public:
  explicit PoolBackend(Backend& inner) noexcept
      : WrapperBackend(inner),
        is_linked_in_place_(inner.device().is_host_accessible() && !inner.is_opaque()),
        metadata_(inner.metadata_backend()) {
    if (metadata_ != nullptr && is_linked_in_place_) metadata_ = this;
  }
  ~PoolBackend() override {
    trim_caches();
    while (caches_ != nullptr) std::free(std::exchange(caches_, caches_->next));
    trim_shared(0);
  }

  const char* name() const noexcept override { return "pool"; }

  // The usual case of both is inline and calls nothing; the rest is in one cold function each.
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    PoolCache* const own = current_cache();
    if (own != nullptr && nbytes <= PoolCache::kLargest && alignment <= detail::kDataAlignment) {
      const PoolClass size = PoolClass::of(nbytes);
      if (FreeBlock* const found = own->pop(size)) {
        own->add(own->hits, 1);
        return is_linked_in_place_ ? found : unlink(found);
      }
    }
    return allocate_shared(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    PoolCache* const own = current_cache();
    if (own != nullptr && nbytes <= PoolCache::kLargest && is_linked_in_place_) {
      const PoolClass size = PoolClass::of(nbytes);
      if (own->has_room(size)) return own->push(link(p), size);
    }
    deallocate_shared(p, nbytes);
  }

  // Tensors' metadata stays on the heap where it is there: malloc is as fast for small blocks, and
  // those of a backend are counted besides. Where it is in the backend's memory it is pooled too: an
  // arena gives back little as long as the pool keeps blocks of it.
  Backend* metadata_backend() noexcept override { return metadata_; }

  /// Options: "max_cached_bytes", a number from 0. What is released beyond it is given back at once.
  /// Errors: InvalidArgument for another name or value; nothing is changed.
  /// Threads: while no other uses the pool.
  Error init(const BackendOptions& options) override {
    TENON_TRY(options.check_names({"max_cached_bytes"}));
    int64_t limit = max_cached_bytes_;
    TENON_TRY(options.read("max_cached_bytes", 0, limit));
    max_cached_bytes_ = limit;
    trim_caches();
    // With a limit threads have no blocks of their own, since that would take counting them together.
    id_.store(limit == kNoLimit ? detail::next_pool_id() : 0, std::memory_order_relaxed);
    trim_shared(limit);
    return Error::Ok;
  }

  /// Gives back to the backend what is kept. What other threads keep for themselves they give back
  /// when they next use the pool.
  void trim() noexcept {
    if (id_.load(std::memory_order_relaxed) != 0) {
      id_.store(detail::next_pool_id(), std::memory_order_relaxed);
      find_cache();
    }
    trim_shared(0);
  }

  int64_t cached_bytes() const noexcept { return statistics().cached_bytes; }

  /// The numbers are exact while no other thread uses the pool.
  PoolStatistics statistics() const noexcept {
    const Guard guard(lock_);
    PoolStatistics all = shared_;
    for (const PoolCache* cache = caches_; cache != nullptr; cache = cache->next) {
      all.hits += to_signed(cache->hits.load(std::memory_order_acquire));
      all.cached_blocks += to_signed(cache->blocks.load(std::memory_order_acquire));
      all.cached_bytes += to_signed(cache->nbytes.load(std::memory_order_acquire));
    }
    all.live_blocks = all.misses - all.released - all.cached_blocks;
    all.live_bytes = taken_bytes_ - all.cached_bytes;
    return all;
  }

 private:
  using PoolClass = detail::PoolClass;
  using PoolCache = detail::PoolCache;
  using FreeBlock = detail::FreeBlock;
  using Guard = detail::LockGuard<detail::SpinLock>;
  static constexpr int64_t kNoLimit = INT64_MAX;

  static int64_t to_signed(size_t n) noexcept { return static_cast<int64_t>(n); }

  /// Null when there is no memory for it.
  FreeBlock* link(void* block) const noexcept {
    void* const place = is_linked_in_place_ ? block : std::malloc(sizeof(FreeBlock));
    return place == nullptr ? nullptr : ::new (place) FreeBlock{nullptr, block};
  }
  void* unlink(FreeBlock* free) const noexcept {
    void* const block = free->block;
    if (!is_linked_in_place_) std::free(free);
    return block;
  }

  /// What the calling thread keeps; null when that has to be looked up.
  PoolCache* current_cache() const noexcept {
    const size_t id = id_.load(std::memory_order_relaxed);
    const detail::PoolThread::Use& use = detail::pool_thread().of(id);
    return use.id == id ? use.cache : nullptr;
  }
  /// The same, looked up; null when it keeps nothing, and without memory for that.
  PoolCache* find_cache() noexcept {
    const size_t id = id_.load(std::memory_order_relaxed);
    if (id == 0) return nullptr;
    detail::PoolThread::Use& use = detail::pool_thread().of(id);
    if (use.id == id) return use.cache;
    PoolCache* const found = look_up_cache(&detail::pool_thread());
    if (found == nullptr) return nullptr;
    if (found->id != id) {
      found->id = id;
      trim_cache(*found);
    }
    use = {id, found};
    return found;
  }
  PoolCache* look_up_cache(const void* thread) noexcept {
    {
      const Guard guard(lock_);
      for (PoolCache* cache = caches_; cache != nullptr; cache = cache->next) {
        if (cache->thread != thread) continue;
        // An earlier thread at the same address may have left it: what it did is over.
        static_cast<void>(cache->blocks.load(std::memory_order_acquire));
        return cache;
      }
    }
    void* const place = std::malloc(sizeof(PoolCache));
    if (place == nullptr) return nullptr;
    auto* const made = ::new (place) PoolCache{nullptr, thread};
    const Guard guard(lock_);
    made->next = caches_;
    caches_ = made;
    return made;
  }

  TENON_COLD void* allocate_shared(size_t nbytes, size_t alignment) noexcept {
    if (TENON_UNLIKELY(nbytes > PoolClass::kLargest)) {
      static_cast<void>(set_error(Error::OutOfMemory, "no object is that large"));
      return nullptr;
    }
    const PoolClass size = PoolClass::of(nbytes);
    // What is kept is aligned as tensors need it, and no more.
    if (alignment > detail::kDataAlignment) return take(size, alignment);
    FreeBlock* found = nullptr;
    PoolCache* const own = nbytes <= PoolCache::kLargest ? find_cache() : nullptr;
    if (own != nullptr) found = own->pop(size);
    {
      const Guard guard(lock_);
      if (found == nullptr) found = pop_shared(size);
      if (found != nullptr) ++shared_.hits;
    }
    return found != nullptr ? unlink(found) : take(size, detail::kDataAlignment);
  }
  TENON_COLD void deallocate_shared(void* p, size_t nbytes) noexcept {
    const PoolClass size = PoolClass::of(nbytes);
    FreeBlock* const block = link(p);
    if (block == nullptr) return give_back(p, size);
    PoolCache* const own = nbytes <= PoolCache::kLargest ? find_cache() : nullptr;
    if (own != nullptr && own->has_room(size)) return own->push(block, size);
    {
      const Guard guard(lock_);
      const int64_t cached = shared_.cached_bytes + to_signed(size.nbytes);
      if (cached <= max_cached_bytes_) {
        block->next = free_[size.index];
        free_[size.index] = block;
        shared_.cached_bytes = cached;
        ++shared_.cached_blocks;
        return;
      }
    }
    unlink(block);
    give_back(p, size);
  }
  /// With the lock.
  FreeBlock* pop_shared(PoolClass size) noexcept {
    FreeBlock* const first = free_[size.index];
    if (first == nullptr) return nullptr;
    free_[size.index] = first->next;
    shared_.cached_bytes -= to_signed(size.nbytes);
    --shared_.cached_blocks;
    return first;
  }

  /// A block of the backend's.
  TENON_COLD void* take(PoolClass size, size_t alignment) noexcept {
    void* block = inner().allocate(size.nbytes, alignment);
    if (block == nullptr) {
      trim();
      block = inner().allocate(size.nbytes, alignment);
      if (block == nullptr) return nullptr;
    }
    const Guard guard(lock_);
    ++shared_.misses;
    taken_bytes_ += to_signed(size.nbytes);
    if (taken_bytes_ > shared_.peak_bytes) shared_.peak_bytes = taken_bytes_;
    return block;
  }
  TENON_COLD void give_back(void* block, PoolClass size) noexcept {
    inner().deallocate(block, size.nbytes);
    const Guard guard(lock_);
    ++shared_.released;
    taken_bytes_ -= to_signed(size.nbytes);
  }

  /// Gives back what one thread keeps, which is the calling one unless nobody uses the pool.
  void trim_cache(PoolCache& cache) noexcept {
    for (size_t c = 0; c < PoolCache::kClasses; ++c) {
      const PoolClass size{c, PoolClass::nbytes_of(c)};
      while (FreeBlock* const found = cache.pop(size)) give_back(unlink(found), size);
    }
  }
  void trim_caches() noexcept {
    for (PoolCache* at = caches_; at != nullptr; at = at->next) trim_cache(*at);
  }
  /// Gives back the largest blocks that no thread keeps until no more than `limit` bytes are left.
  TENON_COLD void trim_shared(int64_t limit) noexcept {
    for (size_t c = PoolClass::kCount; c-- > 0;) {
      const PoolClass size{c, PoolClass::nbytes_of(c)};
      for (;;) {
        FreeBlock* found = nullptr;
        {
          const Guard guard(lock_);
          if (shared_.cached_bytes <= limit) return;
          found = pop_shared(size);
        }
        if (found == nullptr) break;
        give_back(unlink(found), size);
      }
    }
  }

  const bool is_linked_in_place_;
  Backend* metadata_;
  std::atomic<size_t> id_{detail::next_pool_id()};  // changed by what makes threads trim
  int64_t max_cached_bytes_ = kNoLimit;
  // With the lock, which lies apart from the cache line that every call reads.
  PoolCache* caches_ = nullptr;
  FreeBlock* free_[PoolClass::kCount] = {};
  mutable detail::SpinLock lock_;
  int64_t taken_bytes_ = 0;
  PoolStatistics shared_{};  // without what is in caches_
};

TENON_END_NAMESPACE
