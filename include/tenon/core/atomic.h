// SPDX-License-Identifier: MIT
// A count, a value and a short lock that threads share; plain ones where there are no threads.
#pragma once

#include <cstdint>

#include "tenon/config.h"

#if TENON_HAS_THREADS
#include <atomic>
#endif
#if TENON_HAS_SINGLE_THREADED
#include <sys/single_threaded.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

#if TENON_HAS_THREADS

/// Whether the calling thread is known to be the only one of the process. Then a plain increment is
/// enough, and some 5 ns faster; std::shared_ptr does the same.
inline bool is_single_threaded() noexcept {
#if TENON_HAS_SINGLE_THREADED
  return ::__libc_single_threaded != 0;
#else
  return false;
#endif
}

/// Reference count. The last decrement synchronises with all earlier ones.
class AtomicCount {
 public:
  AtomicCount() = default;
  explicit AtomicCount(int32_t first) noexcept : count_(first) {}
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
  /// Where no other thread changes it meanwhile.
  void set(int32_t count) noexcept { count_.store(count, std::memory_order_release); }
  /// Sets it to `to` if it is `from`; whether it was.
  bool change(int32_t from, int32_t to) noexcept {
    if (read() != from) return false;
    if (!is_single_threaded()) return count_.compare_exchange_strong(from, to);
    count_.store(to, std::memory_order_relaxed);
    return true;
  }

 private:
  int32_t read() const noexcept { return count_.load(std::memory_order_relaxed); }

  std::atomic<int32_t> count_{0};
};

/// A value that one thread sets and others read: they then see what was written before it.
template <class T>
class AtomicValue {
 public:
  T get() const noexcept { return value_.load(std::memory_order_acquire); }
  void set(T value) noexcept { value_.store(value, std::memory_order_release); }
  /// Sets it if it is T().
  void set_first(T value) noexcept {
    T unset = T();
    value_.compare_exchange_strong(unset, value);
  }

 private:
  std::atomic<T> value_{T()};
};

/// Locks out other threads for a few instructions. Not std::mutex: <mutex> takes a fifth of the
/// include's compile time, and a registry must work before main() and after.
class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(1, std::memory_order_acquire) != 0) {
    }
  }
  void unlock() noexcept { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<int32_t> taken_{0};  // one of a byte needs libatomic on RISC-V
};

#else

class AtomicCount {
 public:
  AtomicCount() = default;
  explicit AtomicCount(int32_t first) noexcept : count_(first) {}
  void add() noexcept { ++count_; }
  int32_t remove() noexcept { return --count_; }
  int32_t get() const noexcept { return count_; }
  bool any() const noexcept { return count_ != 0; }
  void set(int32_t count) noexcept { count_ = count; }
  bool change(int32_t from, int32_t to) noexcept {
    if (count_ != from) return false;
    count_ = to;
    return true;
  }

 private:
  int32_t count_ = 0;
};

template <class T>
class AtomicValue {
 public:
  T get() const noexcept { return value_; }
  void set(T value) noexcept { value_ = value; }
  void set_first(T value) noexcept {
    if (value_ == T()) value_ = value;
  }

 private:
  T value_ = T();
};

class SpinLock {
 public:
  void lock() noexcept {}
  void unlock() noexcept {}
};

#endif

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
