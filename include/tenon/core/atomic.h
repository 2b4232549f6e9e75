// SPDX-License-Identifier: MIT
// What threads share: a count and a short lock. By the compilers' builtins, which spare including
// <atomic>, a twentieth of the compile time of the whole library; without threads, plain variables.
#pragma once

#include <cstdint>

#include "tenon/config.h"

#if TENON_HAS_SINGLE_THREADED
#include <sys/single_threaded.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether the calling thread is known to be the only one of the process, where a plain step is as
/// good as an atomic one and some 5 ns faster. std::shared_ptr counts in the same way.
inline bool is_single_threaded() noexcept {
#if TENON_HAS_SINGLE_THREADED
  return ::__libc_single_threaded != 0;
#else
  return false;
#endif
}

/// Counts those who come and go, on any thread. What they did is over for who reads that they left.
class AtomicCount {
 public:
#if TENON_HAS_THREADS
  void add() noexcept {
    is_single_threaded() ? static_cast<void>(++count_)
                         : static_cast<void>(__atomic_fetch_add(&count_, 1, __ATOMIC_RELAXED));
  }
  /// The count that is left.
  int32_t remove() noexcept {
    return is_single_threaded() ? --count_ : __atomic_sub_fetch(&count_, 1, __ATOMIC_ACQ_REL);
  }
  int32_t get() const noexcept { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE); }
#else
  void add() noexcept { ++count_; }
  int32_t remove() noexcept { return --count_; }
  int32_t get() const noexcept { return count_; }
#endif
  bool any() const noexcept { return get() != 0; }

 private:
  int32_t count_ = 0;
};

/// Locks out other threads for a few instructions; needs no constructor and no destructor to run,
/// so that it is safe before main() and after. For std::lock_guard and LockGuard.
class SpinLock {
 public:
#if TENON_HAS_THREADS
  void lock() noexcept {
    while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) {
      while (__atomic_load_n(&taken_, __ATOMIC_RELAXED)) {
      }
    }
  }
  void unlock() noexcept { __atomic_store_n(&taken_, false, __ATOMIC_RELEASE); }
#else
  void lock() noexcept {}
  void unlock() noexcept {}
#endif

 private:
#if TENON_HAS_THREADS
  bool taken_ = false;
#endif
};

/// Holds a lock for as long as it lives.
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
