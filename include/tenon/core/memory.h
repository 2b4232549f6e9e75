// SPDX-License-Identifier: MIT
// The heap, and aligned host memory from it. A count, a value and a short lock that threads share;
// plain ones where there are no threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/error.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if TENON_MARKS_FREE_MEMORY
// As declared in <sanitizer/asan_interface.h>, which some compilers lack.
extern "C" void __asan_poison_memory_region(const volatile void* p, size_t nbytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* p, size_t nbytes);
#endif

#if TENON_HAS_THREADS
#include <atomic>
#endif
#if TENON_HAS_SINGLE_THREADED
#include <sys/single_threaded.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// With AddressSanitizer, marks memory as free: each use is reported as "use-after-poison". Does
/// nothing without AddressSanitizer. Memory is marked in units of 8 bytes: the last unit stays
/// unmarked if some of its bytes, those after `p + nbytes`, are in use.
inline void mark_free([[maybe_unused]] const void* p, [[maybe_unused]] size_t nbytes) noexcept {
#if TENON_MARKS_FREE_MEMORY
  __asan_poison_memory_region(p, nbytes);
#endif
}
/// Marks memory as used again. `p` is a multiple of 8.
inline void mark_used([[maybe_unused]] const void* p, [[maybe_unused]] size_t nbytes) noexcept {
#if TENON_MARKS_FREE_MEMORY
  __asan_unpoison_memory_region(p, nbytes);
#endif
}

// How the error text starts when the heap has no memory.
#if TENON_HEAP
#define TENON_OUT_OF_MEMORY "out of memory"
#else
#define TENON_OUT_OF_MEMORY "no heap: TENON_HEAP is 0; out of memory"
#endif

inline Error fail_no_memory(const char* what) noexcept {
  return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for ", what);
}

// The only calls of malloc, calloc and free in what tenon.h includes. With TENON_HEAP=0 they return
// null.
inline void* heap_allocate([[maybe_unused]] size_t nbytes) noexcept {
#if TENON_HEAP
  return std::malloc(nbytes);
#else
  return nullptr;
#endif
}
inline void* heap_allocate_zeroed([[maybe_unused]] size_t nbytes) noexcept {
#if TENON_HEAP
  return std::calloc(nbytes, 1);
#else
  return nullptr;
#endif
}
inline void heap_release([[maybe_unused]] void* p) noexcept {
#if TENON_HEAP
  std::free(p);
#endif
}

/// The alignment of memory that tenon allocates.
inline constexpr size_t kDataAlignment = TENON_DATA_ALIGNMENT;
static_assert(kDataAlignment >= alignof(std::max_align_t) &&
                  (kDataAlignment & (kDataAlignment - 1)) == 0,
              "TENON_DATA_ALIGNMENT is a power of two, and no less than the largest type's");

/// Rounds up to a multiple of kDataAlignment.
constexpr size_t align_up(size_t nbytes) noexcept {
  return (nbytes + (kDataAlignment - 1)) & ~(kDataAlignment - 1);
}
inline void* align_up(void* p) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return static_cast<char*>(p) + (uintptr_t{0} - address) % kDataAlignment;
}

/// `data` is aligned; pass `base` to heap_release(). Both are null when out of memory.
///
/// Not std::aligned_alloc: some C libraries lack it, it has no zeroed form, and glibc's is several
/// times slower than malloc with padding.
struct Allocation {
  void* base;
  void* data;
};

/// Asks Linux for huge pages, which make the first touch of new memory some five times faster. Only
/// for large blocks, since it is a system call, and for blocks that will be written entirely:
/// writing one byte commits a page of 2 MiB. NumPy does the same, from 4 MiB. TENON_HUGE_PAGES=0 in
/// the environment turns it off.
inline void use_huge_pages(void* base, size_t nbytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr size_t kHugePage = size_t{2} << 20;
  constexpr size_t kSmallest = size_t{8} << 20;
  if (base == nullptr || nbytes < kSmallest) return;
  static const bool are_off = [] {
    const char* const value = std::getenv("TENON_HUGE_PAGES");
    return value != nullptr && std::strcmp(value, "0") == 0;
  }();
  if (are_off) return;
  auto* const first =
      static_cast<char*>(base) + (uintptr_t{0} - reinterpret_cast<uintptr_t>(base)) % kHugePage;
  const size_t skipped = static_cast<size_t>(first - static_cast<char*>(base));
  const KeepErrno keep;  // madvise() fails on kernels without huge pages
  static_cast<void>(::madvise(first, (nbytes - skipped) / kHugePage * kHugePage, MADV_HUGEPAGE));
#else
  static_cast<void>(base);
  static_cast<void>(nbytes);
#endif
}

/// Uninitialised memory. `reserved`: part of the memory may stay unwritten, so no huge pages are
/// used.
inline Allocation allocate(size_t nbytes, bool reserved = false) noexcept {
  if (nbytes > PTRDIFF_MAX - kDataAlignment) return {nullptr, nullptr};
  void* base = heap_allocate(nbytes + kDataAlignment - 1);
  if (!reserved) use_huge_pages(base, nbytes);
  return {base, base == nullptr ? nullptr : align_up(base)};
}

/// Zeroed memory. Large blocks come from the system as untouched zero pages.
inline Allocation allocate_zeroed(size_t nbytes) noexcept {
  if (nbytes > PTRDIFF_MAX - kDataAlignment) return {nullptr, nullptr};
  void* base = heap_allocate_zeroed(nbytes + kDataAlignment - 1);
  return {base, base == nullptr ? nullptr : align_up(base)};
}

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
  /// Returns the decremented count.
  int32_t remove() noexcept {
    if (!is_single_threaded()) return count_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    count_.store(read() - 1, std::memory_order_relaxed);
    return read();
  }
  int32_t get() const noexcept { return count_.load(std::memory_order_acquire); }
  bool any() const noexcept { return get() != 0; }
  /// Only for a count that no other thread changes meanwhile.
  void set(int32_t count) noexcept { count_.store(count, std::memory_order_release); }
  /// Compare and exchange; true on success.
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

/// A value with acquire loads and release stores.
template <class T>
class AtomicValue {
 public:
  T get() const noexcept { return value_.load(std::memory_order_acquire); }
  void set(T value) noexcept { value_.store(value, std::memory_order_release); }

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
  std::atomic<int32_t> taken_{0};  // a one-byte atomic needs libatomic on RISC-V
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

 private:
  T value_ = T();
};

class SpinLock {
 public:
  void lock() noexcept {}
  void unlock() noexcept {}
};

#endif

/// Does what std::lock_guard does, without <mutex>.
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
