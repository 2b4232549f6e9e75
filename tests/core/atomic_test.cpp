// SPDX-License-Identifier: MIT
#include "tenon/core/atomic.h"

#include <mutex>

#include "support/catch.h"

using tenon::detail::AtomicCount;
using tenon::detail::LockGuard;
using tenon::detail::SpinLock;

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

TEST_CASE("SpinLock: it is there before any code runs, and std::lock_guard takes it") {
  STATIC_REQUIRE(std::is_trivially_destructible_v<SpinLock>);
  STATIC_REQUIRE(std::is_trivially_destructible_v<AtomicCount>);
  static SpinLock lock;
  { const std::lock_guard<SpinLock> guard(lock); }
  const LockGuard<SpinLock> guard(lock);
  CHECK(true);
}
