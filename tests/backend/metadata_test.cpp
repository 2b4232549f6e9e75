// SPDX-License-Identifier: MIT
#include "tenon/backend/metadata.h"

#include <cstdint>
#include <cstring>

#include "support/catch.h"
#include "tenon/backend/arena.h"

using tenon::detail::allocate_metadata;
using tenon::detail::release_metadata;

TEST_CASE("metadata: from the heap, aligned for pointers and as large as asked") {
  for (size_t nbytes : {size_t{1}, size_t{16}, size_t{1000}}) {
    void* const p = allocate_metadata(nbytes, nullptr);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % sizeof(void*) == 0);
    std::memset(p, 1, nbytes);
    release_metadata(p, nbytes);
  }
}

TEST_CASE("metadata: releasing null does nothing") { release_metadata(nullptr, 16); }

TEST_CASE("metadata: a block of a backend's counts there, and is given back there") {
  alignas(64) static unsigned char buffer[4096];
  tenon::ArenaBackend arena(buffer, sizeof buffer);
  const int64_t before = arena.live_blocks();
  void* const p = allocate_metadata(40, &arena);
  REQUIRE(p != nullptr);
  CHECK(p > static_cast<void*>(buffer));
  CHECK(p < static_cast<void*>(buffer + sizeof buffer));
  CHECK(arena.live_blocks() == before + 1);
  std::memset(p, 1, 40);
  release_metadata(p, 40);
  CHECK(arena.live_blocks() == before);
}

TEST_CASE("metadata: null when the backend has none, and nothing is counted") {
  alignas(64) static unsigned char buffer[512];
  tenon::ArenaBackend arena(buffer, sizeof buffer);
  const int64_t before = arena.live_blocks();
  CHECK(allocate_metadata(1000, &arena) == nullptr);
  CHECK(arena.live_blocks() == before);
}
