// SPDX-License-Identifier: MIT
#include "tenon/core/memory.h"

#include <mutex>
#include <thread>

#include "support/catch.h"

namespace atomic_test {

using tenon::detail::AtomicCount;

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

TEST_CASE("AtomicCount: with a second thread none is the only one, and no step is lost") {
  AtomicCount count;
  constexpr int kSteps = 100000;
  const auto add = [&] {
    const bool is_alone = tenon::detail::is_single_threaded();
    for (int i = 0; i < kSteps; ++i) count.add();
    return is_alone;
  };
  bool is_other_alone = true;
  std::thread other([&] { is_other_alone = add(); });
  const bool is_alone = add();
  other.join();
  CHECK_FALSE(is_alone);
  CHECK_FALSE(is_other_alone);
  CHECK(count.get() == 2 * kSteps);
}

}  // namespace atomic_test
