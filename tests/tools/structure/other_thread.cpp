// SPDX-License-Identifier: MIT
// What support/one_thread.h ends.
#include <thread>

#include "support/catch.h"

TEST_CASE("an assertion in another thread") {
  std::thread([] { CHECK(true); }).join();
}
