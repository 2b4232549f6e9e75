// SPDX-License-Identifier: MIT
// What a pool is made of: classes of sizes, lists of free blocks, and those that a thread keeps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/config.h"

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

  /// For 1 to kLargest bytes.
  static PoolClass of(size_t wanted) noexcept {
    if (wanted <= kSmallest) return {0, kSmallest};
    const size_t last = wanted - 1;
    const unsigned shift = floor_log2(last) - 2;
    const size_t quarters = last >> shift;  // 4 to 7
    return {(shift - 4) * 4 + quarters - 3, (quarters + 1) << shift};
  }
  /// The bytes of one.
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

/// The blocks of one pool that one thread keeps for itself, so that it need not lock out the others
/// and share cache lines with them. Only that thread changes it; any reads the counters.
struct PoolCache {
  static constexpr size_t kLargest = size_t{64} << 10;    // bytes of a block
  static constexpr size_t kClasses = 41;                  // up to that
  static constexpr size_t kMaxBytes = size_t{256} << 10;  // of all

  PoolCache* next;  // of the same pool
  const void* thread;
  size_t id = 0;  // the pool's at the time
  std::atomic<size_t> hits{0}, blocks{0}, nbytes{0};
  FreeBlock* free[kClasses] = {};

  FreeBlock* pop(PoolClass size) noexcept {
    FreeBlock* const first = free[size.index];
    if (first == nullptr) return nullptr;
    free[size.index] = first->next;
    add(nbytes, size_t{0} - size.nbytes);
    add(blocks, size_t{0} - 1);
    return first;
  }
  bool has_room(PoolClass size) const noexcept {
    return nbytes.load(std::memory_order_relaxed) + size.nbytes <= kMaxBytes;
  }
  void push(FreeBlock* block, PoolClass size) noexcept {
    block->next = free[size.index];
    free[size.index] = block;
    add(nbytes, size.nbytes);
    add(blocks, 1);
  }
  /// What the thread did before is seen by who reads the counter: a later thread in its place.
  static void add(std::atomic<size_t>& count, size_t n) noexcept {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }
};

/// The pools that a thread used last, by their ids; 0 is none's.
struct PoolThread {
  struct Use {
    size_t id;
    PoolCache* cache;
  };
  Use uses[4];  // more than one, for those who use several in turn

  Use& of(size_t id) noexcept { return uses[id % 4]; }
};
TENON_EXPORT inline PoolThread& pool_thread() noexcept {
  static TENON_THREAD_LOCAL PoolThread thread;
  return thread;
}

/// Never the same twice.
TENON_EXPORT inline size_t next_pool_id() noexcept {
  static std::atomic<size_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace detail
TENON_END_NAMESPACE
