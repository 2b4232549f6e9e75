// SPDX-License-Identifier: MIT
// What threads share: a count and a short lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/config.h"

#if TENON_HAS_SINGLE_THREADED
#include <sys/single_threaded.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether the calling thread is known to be the only one of the process. A plain step is as good
/// as an atomic one then, and some 5 ns faster; std::shared_ptr counts in the same way.
inline bool is_single_threaded() noexcept {
#if TENON_HAS_SINGLE_THREADED
  return ::__libc_single_threaded != 0;
#else
  return !TENON_HAS_THREADS;
#endif
}

/// Reference count. The last decrement synchronises with all earlier ones.
class AtomicCount {
 public:
  void add() noexcept {
    if (is_single_threaded()) return count_.store(read() + 1, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Returns the count that is left.
  int32_t remove() noexcept {
    if (!is_single_threaded()) return count_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    count_.store(read() - 1, std::memory_order_relaxed);
    return read();
  }
  int32_t get() const noexcept { return count_.load(std::memory_order_acquire); }
  bool any() const noexcept { return get() != 0; }

 private:
  int32_t read() const noexcept { return count_.load(std::memory_order_relaxed); }

  std::atomic<int32_t> count_{0};
};

/// Locks out other threads for a few instructions. Not std::mutex: <mutex> takes a fifth of the
/// include's compile time, and a registry must work before main() and after.
class SpinLock {
 public:
  void lock() noexcept {
    if constexpr (TENON_HAS_THREADS != 0) {
      while (taken_.exchange(true, std::memory_order_acquire)) {
      }
    }
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// std::lock_guard, which <mutex> has.
template <class Lock>
class LockGuard {
 public:
  explicit LockGuard(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
  ~LockGuard() { lock_.unlock(); }

 private:
  Lock& lock_;
};

}  // namespace detail
TENON_END_NAMESPACE
