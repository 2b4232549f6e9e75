// SPDX-License-Identifier: MIT
#include "tenon/backend/metadata.h"

#include <cstring>
#include <new>
#include <string>

#include "support/catch.h"
#include "tenon/backend/arena.h"

namespace metadata_test {

using namespace tenon;
using namespace tests;

TEST_CASE("metadata: a block of a backend's counts there, and is given back there") {
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  void* const p = detail::allocate_metadata(40, detail::state_of(arena));
  REQUIRE(p != nullptr);
  CHECK(p > static_cast<void*>(buffer));
  CHECK(p < static_cast<void*>(buffer + sizeof buffer));
  CHECK(arena.live_blocks() == 1);
  std::memset(p, 1, 40);
  CHECK(detail::allocate_metadata(4000, detail::state_of(arena)) == nullptr);
  const std::string total = std::to_string(4000 + 2 * sizeof(void*));
  CHECK(contains(last_error_message(), "backend arena has no memory for " + total + " bytes"));
  CHECK(arena.live_blocks() == 1);
  detail::release_metadata(p);
  CHECK(arena.live_blocks() == 0);
  CHECK(arena.used() == 0);
}

}  // namespace metadata_test
