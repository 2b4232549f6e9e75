// SPDX-License-Identifier: MIT
#include "tenon/backend/arena.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "support/catch.h"
#include "tenon/core/error.h"

using namespace tenon;
using tests::contains;

namespace {

// What the arena takes for itself.
constexpr size_t kState = (sizeof(detail::BackendState) + 63) / 64 * 64;

/// A buffer with room for 1024 bytes.
struct Buffer {
  alignas(64) unsigned char bytes[kState + 1024];
  unsigned char* first() { return bytes + kState; }
};

bool is_aligned(const void* p, size_t alignment) {
  return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

}  // namespace

TEST_CASE("arena: it is host memory of the name arena, and keeps metadata itself") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  CHECK(std::strcmp(arena.name(), "arena") == 0);
  CHECK(arena.device() == Device());
  CHECK_FALSE(arena.is_opaque());
  CHECK(arena.metadata_backend() == &arena);
  CHECK(&arena.base() == &arena);
  CHECK(arena.capacity() == 1024);
  CHECK(arena.used() == 0);
  CHECK(arena.high_water() == 0);
  CHECK(arena.live_blocks() == 0);
  static_assert(!std::is_copy_constructible_v<ArenaBackend>);
}

TEST_CASE("arena: blocks follow one another, each at a multiple of 64 bytes") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  CHECK(arena.allocate(1, 1) == buffer.first());
  CHECK(arena.allocate(64, 64) == buffer.first() + 64);
  CHECK(arena.allocate(65, 8) == buffer.first() + 128);
  CHECK(arena.allocate(24, 64) == buffer.first() + 256);
  CHECK(arena.used() == 320);
}

TEST_CASE("arena: a larger alignment is honoured") {
  alignas(512) static unsigned char bytes[kState + 2048];
  ArenaBackend arena(bytes, sizeof bytes);
  for (size_t alignment : {size_t{128}, size_t{256}, size_t{512}}) {
    void* const p = arena.allocate(10, alignment);
    REQUIRE(p != nullptr);
    CHECK(is_aligned(p, alignment));
  }
  CHECK(arena.allocate(10, size_t{1} << 40) == nullptr);
  CHECK(contains(last_error_message(), "at a multiple of 1099511627776"));
}

TEST_CASE("arena: a buffer of any alignment serves, cut at both ends") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes + 1, sizeof buffer.bytes - 1);
  CHECK(arena.capacity() == 960);
  CHECK(arena.allocate(960, 64) == buffer.first() + 64);
  CHECK(arena.allocate(1, 1) == nullptr);

  Buffer other;
  ArenaBackend shorter(other.bytes, kState + 1023);
  CHECK(shorter.capacity() == 960);
}

TEST_CASE("arena: all of it can be used") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  for (int i = 0; i < 16; ++i) {
    void* const p = arena.allocate(64, 64);
    REQUIRE(p != nullptr);
    std::memset(p, i, 64);
  }
  CHECK(arena.used() == 1024);
  for (size_t i = 0; i < 1024; ++i) CHECK(buffer.first()[i] == i / 64);
}

TEST_CASE("arena: what does not fit is refused, with what is needed and what is free") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  REQUIRE(arena.allocate(640, 64) != nullptr);
  CHECK(arena.allocate(400, 64) == nullptr);
  CHECK(contains(last_error_message(), "384 of 1024 bytes are free, 400 are needed"));
  CHECK(arena.used() == 640);
  CHECK(arena.allocate(384, 64) != nullptr);
  CHECK(arena.allocate(1, 1) == nullptr);
  CHECK(contains(last_error_message(), "0 of 1024 bytes are free, 1 are needed"));
}

TEST_CASE("arena: numbers of bytes near the largest do not wrap around") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  for (size_t less = 0; less < 200; ++less) CHECK(arena.allocate(SIZE_MAX - less, 64) == nullptr);
  CHECK(arena.allocate(SIZE_MAX / 2, 64) == nullptr);
  CHECK(arena.allocate(1025, 64) == nullptr);
  CHECK(arena.used() == 0);
}

TEST_CASE("arena: a buffer too small for the arena itself makes nothing, and says so") {
  Buffer buffer;
  for (size_t nbytes : {size_t{0}, size_t{1}, kState - 1}) {
    ArenaBackend arena(buffer.bytes, nbytes);
    CHECK(arena.capacity() == 0);
    CHECK(arena.allocate(1, 1) == nullptr);
    CHECK(contains(last_error_message(), "the buffer is too small for the arena"));
    CHECK(arena.reset() == Error::Ok);
  }
  ArenaBackend nowhere(nullptr, 0);
  CHECK(nowhere.allocate(1, 1) == nullptr);
  CHECK(nowhere.live_blocks() == 0);

  ArenaBackend small(buffer.bytes, kState);
  CHECK(small.capacity() == 0);
  CHECK(small.allocate(1, 1) == nullptr);
  CHECK(contains(last_error_message(), "0 of 0 bytes are free"));
}

TEST_CASE("arena: the last block is free again at once, and then the one before it") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  void* const keep = arena.allocate(100, 64);
  void* const a = arena.allocate(100, 64);
  void* const b = arena.allocate(10, 8);
  arena.deallocate(b, 10);
  CHECK(arena.used() == 256);
  CHECK(arena.allocate(300, 64) == b);
  arena.deallocate(b, 300);
  arena.deallocate(a, 100);
  CHECK(arena.used() == 128);
  CHECK(arena.allocate(10, 64) == a);
  arena.deallocate(a, 10);
  arena.deallocate(keep, 100);
  CHECK(arena.used() == 0);
}

TEST_CASE("arena: neighbours at the end are free again in whatever order they are released") {
  const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    Buffer buffer;
    ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
    void* const keep = arena.allocate(64, 64);
    void* const blocks[3] = {arena.allocate(32, 8), arena.allocate(200, 8), arena.allocate(96, 64)};
    const size_t nbytes[3] = {32, 200, 96};
    for (int i : order) arena.deallocate(blocks[i], nbytes[i]);
    INFO(order[0] << order[1] << order[2]);
    CHECK(arena.used() == 64);
    CHECK(arena.allocate(960, 64) == buffer.first() + 64);
    arena.deallocate(buffer.first() + 64, 960);
    arena.deallocate(keep, 64);
  }
}

TEST_CASE("arena: a block below others stays taken until nothing is in use") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  void* blocks[8];
  for (void*& block : blocks) block = arena.allocate(64, 64);
  arena.deallocate(blocks[1], 64);
  arena.deallocate(blocks[3], 64);  // takes the other's place
  arena.deallocate(blocks[5], 64);
  CHECK(arena.used() == 512);
  arena.deallocate(blocks[7], 64);
  arena.deallocate(blocks[6], 64);
  CHECK(arena.used() == 320);
  arena.deallocate(blocks[4], 64);
  CHECK(arena.used() == 256);
  arena.deallocate(blocks[2], 64);
  CHECK(arena.used() == 256);
  arena.deallocate(blocks[0], 64);
  CHECK(arena.used() == 0);
  CHECK(arena.allocate(1024, 64) == buffer.first());
}

TEST_CASE("arena: blocks that are alive never overlap, whatever is released when") {
  alignas(64) static unsigned char bytes[kState + 8192];
  ArenaBackend arena(bytes, sizeof bytes);
  struct Block {
    unsigned char* p;
    size_t nbytes;
    unsigned char mark;
  };
  std::vector<Block> alive;
  uint32_t random = 12345;
  const auto next = [&](uint32_t below) {
    random = random * 1664525u + 1013904223u;
    return (random >> 16) % below;
  };
  for (int step = 0; step < 20000; ++step) {
    if (next(100) < 48 || alive.empty()) {
      const size_t nbytes = 1 + next(300);
      const size_t alignment = next(20) == 0 ? 256 : 64;
      auto* const p = static_cast<unsigned char*>(arena.allocate(nbytes, alignment));
      if (p == nullptr) continue;
      REQUIRE(is_aligned(p, alignment));
      REQUIRE(p >= bytes + kState);
      REQUIRE(p + nbytes <= bytes + sizeof bytes);
      alive.push_back({p, nbytes, static_cast<unsigned char>(step)});
      std::memset(p, step & 255, nbytes);
    } else {
      const size_t i = next(2) == 0 ? alive.size() - 1 : next(static_cast<uint32_t>(alive.size()));
      const Block block = alive[i];
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(i));
      bool is_intact = true;
      for (size_t k = 0; k < block.nbytes; ++k) is_intact = is_intact && block.p[k] == block.mark;
      REQUIRE(is_intact);
      arena.deallocate(block.p, block.nbytes);
      if (alive.empty()) REQUIRE(arena.used() == 0);
    }
  }
  for (const Block& block : alive) arena.deallocate(block.p, block.nbytes);
  CHECK(arena.used() == 0);
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE("arena: the high-water mark is the most that was taken, and stays") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  void* const a = arena.allocate(300, 64);
  CHECK(arena.high_water() == 320);
  void* const b = arena.allocate(64, 64);
  arena.deallocate(b, 64);
  arena.deallocate(a, 300);
  CHECK(arena.high_water() == 384);
  REQUIRE(arena.reset() == Error::Ok);
  CHECK(arena.high_water() == 384);
  CHECK(arena.allocate(2000, 64) == nullptr);
  CHECK(arena.high_water() == 384);
}

TEST_CASE("arena: reset is refused while blocks are alive, and says how many") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  CHECK(arena.reset() == Error::Ok);
  void* const a = arena.allocate(64, 64);
  void* const b = arena.allocate(64, 64);
  CHECK_RETURNS(Error::InUse, "reset: 2 blocks of the arena's memory, 128 bytes, are in use",
                arena.reset());
  arena.deallocate(a, 64);
  CHECK_RETURNS(Error::InUse, "reset: 1 block of", arena.reset());
  CHECK(arena.used() == 128);
  arena.deallocate(b, 64);
  CHECK(arena.reset() == Error::Ok);
  CHECK(arena.used() == 0);
}

TEST_CASE("arena: bytes are copied in, within and out") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  auto* const a = static_cast<char*>(arena.allocate(8, 8));
  auto* const b = static_cast<char*>(arena.allocate(8, 8));
  char out[8] = {};
  CHECK(arena.copy_from_host(a, "tenon..", 8) == Error::Ok);
  CHECK(arena.copy_within(b, a, 8) == Error::Ok);
  CHECK(arena.copy_to_host(out, b, 8) == Error::Ok);
  CHECK(arena.synchronize() == Error::Ok);
  CHECK(std::strcmp(out, "tenon..") == 0);
}

TEST_CASE("arena: it has no options") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  CHECK(arena.init({}) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "no option \"size\"", arena.init({{"size", 3}}));
}
