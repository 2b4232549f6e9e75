// SPDX-License-Identifier: MIT
#include "tenon/backend/metadata.h"

#include <cstdint>
#include <cstring>

#include "support/catch.h"
#include "tenon/backend/arena.h"

using namespace tenon;
using namespace tenon::detail;

TEST_CASE("metadata: from the heap, aligned for pointers and as large as asked") {
  for (size_t nbytes : {size_t{1}, size_t{16}, size_t{1000}}) {
    void* const p = allocate_metadata(nbytes, nullptr);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % sizeof(void*) == 0);
    std::memset(p, 1, nbytes);
    release_metadata(p);
  }
}

TEST_CASE("metadata: with room for elements behind it, at a multiple of 64") {
  for (size_t nbytes : {size_t{1}, size_t{64}, size_t{1000}}) {
    void* const p = allocate_metadata(40, nullptr, nbytes);
    REQUIRE(p != nullptr);
    void* const data = metadata_data(p, 40);
    CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
    CHECK(data >= static_cast<char*>(p) + 40);
    std::memset(p, 1, 40);
    std::memset(data, 2, nbytes);  // AddressSanitizer would tell
    release_metadata(p);
  }
}

TEST_CASE("metadata: releasing null does nothing") { release_metadata(nullptr); }

TEST_CASE("metadata: a block of a backend's counts there, and is given back there") {
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  const int64_t before = arena.live_blocks();
  void* const p = allocate_metadata(40, known_state(arena), 100);
  REQUIRE(p != nullptr);
  const size_t used = arena.used();
  CHECK(p > static_cast<void*>(buffer));
  CHECK(p < static_cast<void*>(buffer + sizeof buffer));
  CHECK(arena.live_blocks() == before + 1);
  std::memset(p, 1, 40);
  std::memset(metadata_data(p, 40), 1, 100);
  CHECK(static_cast<char*>(metadata_data(p, 40)) + 100 <=
        static_cast<char*>(static_cast<void*>(buffer)) + sizeof buffer);
  release_metadata(p);
  CHECK(arena.live_blocks() == before);
  CHECK(arena.used() < used);
}

TEST_CASE("metadata: null when the backend has none, and nothing is counted") {
  alignas(64) static unsigned char buffer[512];
  ArenaBackend arena(buffer, sizeof buffer);
  const int64_t before = arena.live_blocks();
  CHECK(allocate_metadata(1000, known_state(arena)) == nullptr);
  CHECK(arena.live_blocks() == before);
}
