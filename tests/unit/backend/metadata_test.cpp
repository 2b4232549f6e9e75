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

TEST_CASE("metadata: from the heap, aligned for pointers and as large as asked") {
  for (size_t nbytes : {size_t{1}, size_t{16}, size_t{1000}}) {
    void* const p = detail::allocate_metadata(nbytes, nullptr);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % sizeof(void*) == 0);
    std::memset(p, 1, nbytes);
    detail::release_metadata(p);
  }
  detail::release_metadata(nullptr);
}

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

TEST_CASE("Seat: a tensor and its first handle share a block, which the last of them frees") {
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  for (bool handle_goes_first : {true, false}) {
    void* const block = detail::allocate_metadata(sizeof(detail::Seat), detail::state_of(arena));
    REQUIRE(block != nullptr);
    CHECK(detail::Seat::of(block) == nullptr);
    auto* const seat = ::new (block) detail::Seat;
    const void* const node = seat + 1;
    CHECK(detail::Seat::of(seat->handle) == seat);
    CHECK(detail::Seat::of(node) == seat);
    seat->holders.add();
    detail::release_metadata(handle_goes_first ? seat->handle : static_cast<void*>(seat + 1));
    CHECK(arena.live_blocks() == 1);
    detail::release_metadata(handle_goes_first ? static_cast<void*>(seat + 1) : seat->handle);
    CHECK(arena.live_blocks() == 0);
  }
}

}  // namespace metadata_test
