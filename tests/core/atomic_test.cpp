// SPDX-License-Identifier: MIT
#include "tenon/core/atomic.h"

#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.h"

using tenon::detail::AtomicCount;
using tenon::detail::LockGuard;
using tenon::detail::SpinLock;

namespace {

template <class F>
void on_four_threads(const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(f);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("AtomicCount: it begins at 0, and remove gives what is left") {
  AtomicCount count;
  CHECK(count.get() == 0);
  CHECK_FALSE(count.any());
  count.add();
  count.add();
  CHECK(count.get() == 2);
  CHECK(count.any());
  CHECK(count.remove() == 1);
  CHECK(count.any());
  CHECK(count.remove() == 0);
  CHECK_FALSE(count.any());
}

TEST_CASE("AtomicCount: no thread's step is lost, and one alone sees 0") {
  AtomicCount count;
  on_four_threads([&] {
    for (int i = 0; i < 10000; ++i) count.add();
  });
  CHECK(count.get() == 40000);
  AtomicCount zeros;
  on_four_threads([&] {
    for (int i = 0; i < 10000; ++i) {
      if (count.remove() == 0) zeros.add();
    }
  });
  CHECK(count.get() == 0);
  CHECK(zeros.get() == 1);
}

TEST_CASE("AtomicCount: what a thread wrote before it left is seen by who reads that it did") {
  int written = 0;
  AtomicCount left;
  left.add();
  std::thread thread([&] {
    written = 5;
    static_cast<void>(left.remove());
  });
  while (left.any()) std::this_thread::yield();
  CHECK(written == 5);
  thread.join();
}

TEST_CASE("SpinLock: it is there before any code runs, and needs no destructor") {
  STATIC_REQUIRE(std::is_trivially_destructible_v<SpinLock>);
  STATIC_REQUIRE(std::is_trivially_destructible_v<AtomicCount>);
  static SpinLock lock;
  lock.lock();
  lock.unlock();
}

TEST_CASE("SpinLock: one thread at a time") {
  SpinLock lock;
  int64_t sum = 0;
  on_four_threads([&] {
    for (int i = 0; i < 2000; ++i) {
      const LockGuard<SpinLock> guard(lock);
      ++sum;
    }
  });
  CHECK(sum == 8000);
}

TEST_CASE("SpinLock: std::lock_guard takes it") {
  SpinLock lock;
  { const std::lock_guard<SpinLock> guard(lock); }
  const LockGuard<SpinLock> guard(lock);
  CHECK(true);
}
