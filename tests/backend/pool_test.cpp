// SPDX-License-Identifier: MIT
#include "tenon/backend/pool.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/helpers.h"
#include "backend/pool_helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"

using namespace tenon;
using namespace tenon::detail;
using tests::contains;
using tests::Source;

TEST_CASE("pool sizes: four to each doubling, from 64 bytes, the smallest that holds the bytes") {
  const size_t expected[] = {64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640};
  size_t i = 0;
  for (size_t n = 1; n <= 640; ++n) {
    if (n > expected[i]) ++i;
    REQUIRE(pool_size(n) == expected[i]);
  }
  CHECK(pool_size(4096) == 4096);
  CHECK(pool_size(4097) == 5120);
  CHECK(pool_size(1000000) == 1048576);
  CHECK(pool_size(PTRDIFF_MAX) == size_t{PTRDIFF_MAX} + 1);
  for (size_t n = 65; n < 200000; n += 7) {
    REQUIRE(pool_size(n) >= n);
    REQUIRE(pool_size(n) * 4 < n * 5);
    REQUIRE(pool_size(pool_size(n)) == pool_size(n));
  }
}

TEST_CASE("pool: one wraps another") {
  Source source;
  PoolBackend inner(source);
  PoolBackend outer(inner);
  CHECK(&outer.inner() == &inner);
  outer.deallocate(outer.allocate(100, 64), 100);
  CHECK(outer.cached_bytes() == 112);
  CHECK(inner.statistics().live_bytes == 112);
  outer.trim();
  CHECK(inner.cached_bytes() == 112);
}

TEST_CASE("pool: it is the backend behind it, under the name pool") {
  Source source, device(true);
  PoolBackend pool(source), of_device(device);
  CHECK(std::strcmp(pool.name(), "pool") == 0);
  CHECK(pool.device() == Device());
  CHECK_FALSE(pool.is_opaque());
  CHECK(&pool.base() == &source);
  CHECK(&pool.inner() == &source);
  CHECK(of_device.device() == Device(DeviceType::ExtDev));
  CHECK(of_device.is_opaque());
}

TEST_CASE("pool: a released block serves the next allocation of its class") {
  Source source;
  PoolBackend pool(source);
  void* const p = pool.allocate(4000, 64);
  REQUIRE(p != nullptr);
  CHECK(source.last_nbytes == 4096);
  CHECK(source.last_alignment == 64);
  pool.deallocate(p, 4000);
  CHECK(source.deallocations == 0);
  CHECK(pool.allocate(4096, 8) == p);
  CHECK(source.allocations == 1);
  pool.deallocate(p, 4096);
  void* const q = pool.allocate(3000, 64);  // another class
  CHECK(q != p);
  CHECK(source.last_nbytes == 3072);
  pool.deallocate(q, 3000);
}

TEST_CASE("pool: blocks in use are distinct, and keep what is written to them") {
  Source source;
  PoolBackend pool(source);
  std::vector<unsigned char*> blocks;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 50; ++i) {
      auto* const p = static_cast<unsigned char*>(pool.allocate(100 + i, 64));
      REQUIRE(reinterpret_cast<uintptr_t>(p) % 64 == 0);
      std::memset(p, static_cast<int>(i), 100 + i);
      blocks.push_back(p);
    }
    for (size_t i = 0; i < 50; ++i) {
      for (size_t k = 0; k < 100 + i; ++k) REQUIRE(blocks[i][k] == i);
      pool.deallocate(blocks[i], 100 + i);
    }
    blocks.clear();
  }
  CHECK(source.allocations == 50);
}

TEST_CASE("pool: the statistics count blocks and rounded bytes") {
  Source source;
  PoolBackend pool(source);
  void* const a = pool.allocate(1000, 64);    // 1024
  void* const b = pool.allocate(100000, 64);  // 114688
  PoolStatistics is = pool.statistics();
  CHECK(is.misses == 2);
  CHECK(is.hits == 0);
  CHECK(is.live_blocks == 2);
  CHECK(is.live_bytes == 1024 + 114688);
  CHECK(is.cached_blocks == 0);
  CHECK(is.cached_bytes == 0);
  CHECK(is.peak_bytes == 115712);
  CHECK(is.released == 0);

  pool.deallocate(a, 1000);
  is = pool.statistics();
  CHECK(is.live_blocks == 1);
  CHECK(is.live_bytes == 114688);
  CHECK(is.cached_blocks == 1);
  CHECK(is.cached_bytes == 1024);
  CHECK(pool.cached_bytes() == 1024);

  pool.deallocate(b, 100000);
  CHECK(pool.cached_bytes() == 115712);
  CHECK(pool.allocate(1024, 64) == a);
  CHECK(pool.allocate(114688, 64) == b);
  is = pool.statistics();
  CHECK(is.hits == 2);
  CHECK(is.misses == 2);
  CHECK(is.live_bytes == 115712);
  CHECK(is.cached_bytes == 0);
  CHECK(is.peak_bytes == 115712);

  pool.deallocate(a, 1000);
  pool.deallocate(b, 100000);
  pool.trim();
  is = pool.statistics();
  CHECK(is.released == 2);
  CHECK(is.live_blocks == 0);
  CHECK(is.live_bytes == 0);
  CHECK(is.cached_blocks == 0);
  CHECK(is.peak_bytes == 115712);
}

TEST_CASE(
    "pool: trim gives back what is kept, with the bytes that were taken, and nothing in use") {
  Source source;
  PoolBackend pool(source);
  void* const keep = pool.allocate(77, 64);
  for (size_t nbytes : {size_t{1}, size_t{300}, size_t{5000}, size_t{70000}, size_t{3000000}}) {
    pool.deallocate(pool.allocate(nbytes, 64), nbytes);
  }
  CHECK(source.live_count() == 6);
  pool.trim();
  CHECK(source.live_count() == 1);
  CHECK(source.live_bytes() == 80);
  CHECK(source.faults == 0);
  CHECK(pool.cached_bytes() == 0);
  pool.trim();
  CHECK(source.deallocations == 5);
  pool.deallocate(keep, 77);
  CHECK(pool.cached_bytes() == 80);
}

TEST_CASE("pool: its end gives back what it keeps") {
  for (bool is_device : {false, true}) {
    Source source(is_device);
    {
      PoolBackend pool(source);
      for (size_t nbytes : {size_t{10}, size_t{100000}}) {
        pool.deallocate(pool.allocate(nbytes, 64), nbytes);
      }
      CHECK(source.live_count() == 2);
    }
    CHECK(source.live_count() == 0);
    CHECK(source.faults == 0);
  }
}

TEST_CASE("pool: memory that the host cannot write to is reused without being touched") {
  Source source(true);  // whose addresses fault
  PoolBackend pool(source);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate(5000, 64));
  for (void* p : blocks) pool.deallocate(p, 5000);
  CHECK(pool.cached_bytes() == 100 * 5120);
  for (size_t i = 100; i-- > 0;) static_cast<void>(pool.allocate(5000, 64));
  CHECK(source.allocations == 100);
  CHECK(pool.statistics().hits == 100);
  for (void* p : blocks) pool.deallocate(p, 5000);
  pool.trim();
  CHECK(source.live_count() == 0);
  CHECK(source.faults == 0);
}

TEST_CASE(
    "pool: when the backend has no memory, what is kept is given back and it is asked again") {
  Source source;
  source.refuse_above = 100000;
  PoolBackend pool(source);
  for (size_t nbytes : {size_t{20480}, size_t{40960}}) {
    pool.deallocate(pool.allocate(nbytes, 64), nbytes);
  }
  CHECK(source.live_bytes() == 61440);
  void* const p = pool.allocate(65536, 64);
  CHECK(p != nullptr);
  CHECK(source.refusals == 1);
  CHECK(source.live_bytes() == 65536);
  CHECK(pool.statistics().released == 2);
  CHECK(pool.statistics().peak_bytes == 65536);
  pool.deallocate(p, 65536);
}

TEST_CASE("pool: what the backend refuses twice is refused with its text, and not counted") {
  Source source;
  source.refuse_above = 1000;
  PoolBackend pool(source);
  CHECK(pool.allocate(2000, 64) == nullptr);
  CHECK(std::strcmp(last_error_message(), "the source ran dry") == 0);
  CHECK(source.refusals == 2);
  const PoolStatistics is = pool.statistics();
  CHECK(is.misses == 0);
  CHECK(is.live_blocks == 0);
  CHECK(is.live_bytes == 0);
  CHECK(is.peak_bytes == 0);
}

TEST_CASE("pool: more bytes than an object can have are refused without asking the backend") {
  Source source;
  PoolBackend pool(source);
  for (size_t nbytes : {SIZE_MAX, size_t{PTRDIFF_MAX} + 1}) {
    CHECK(pool.allocate(nbytes, 64) == nullptr);
    CHECK(contains(last_error_message(), "no object is that large"));
  }
  CHECK(source.allocations + source.refusals == 0);
}

TEST_CASE("pool: a larger alignment is left to the backend, and the block kept like any") {
  Source source;
  PoolBackend pool(source);
  pool.deallocate(pool.allocate(4096, 64), 4096);
  void* const p = pool.allocate(4096, 1024);
  CHECK(source.allocations == 2);
  CHECK(source.last_alignment == 1024);
  pool.deallocate(p, 4096);
  CHECK(pool.statistics().cached_blocks == 2);
  CHECK(pool.allocate(4096, 64) == p);
  pool.deallocate(p, 4096);
}

TEST_CASE("pool: a limit bounds what is kept, at once") {
  Source source;
  PoolBackend pool(source);
  for (size_t nbytes : {size_t{1024}, size_t{4096}, size_t{131072}}) {
    pool.deallocate(pool.allocate(nbytes, 64), nbytes);
  }
  CHECK(pool.cached_bytes() == 1024 + 4096 + 131072);
  REQUIRE(pool.init({{"max_cached_bytes", 5000}}) == Error::Ok);
  CHECK(pool.cached_bytes() <= 5000);

  REQUIRE(pool.init({{"max_cached_bytes", 8192}}) == Error::Ok);
  pool.trim();
  void* const a = pool.allocate(4096, 64);
  void* const b = pool.allocate(4096, 64);
  void* const c = pool.allocate(64, 64);
  const int before = source.deallocations;
  pool.deallocate(a, 4096);
  pool.deallocate(b, 4096);
  CHECK(pool.cached_bytes() == 8192);
  CHECK(source.deallocations == before);
  pool.deallocate(c, 64);
  CHECK(pool.cached_bytes() == 8192);
  CHECK(source.deallocations == before + 1);
  CHECK(pool.allocate(4096, 64) == b);
  CHECK(pool.cached_bytes() == 4096);
  pool.deallocate(b, 4096);
}

TEST_CASE("pool: a limit of nothing keeps nothing, and other options leave it") {
  Source source;
  PoolBackend pool(source);
  REQUIRE(pool.init({{"max_cached_bytes", 0}}) == Error::Ok);
  REQUIRE(pool.init({}) == Error::Ok);
  pool.deallocate(pool.allocate(100, 64), 100);
  CHECK(source.live_count() == 0);
  REQUIRE(pool.init({{"max_cached_bytes", INT64_MAX}}) == Error::Ok);
  pool.deallocate(pool.allocate(100, 64), 100);
  CHECK(source.live_count() == 1);
}

TEST_CASE("pool: bad options are refused, and change nothing") {
  Source source;
  PoolBackend pool(source);
  REQUIRE(pool.init({{"max_cached_bytes", 100}}) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "no option \"max_bytes\"",
                pool.init({{"max_cached_bytes", 7}, {"max_bytes", 3}}));
  CHECK_RETURNS(Error::InvalidArgument,
                "\"max_cached_bytes\" is -1; expected a whole number from 0",
                pool.init({{"max_cached_bytes", -1}}));
  CHECK_RETURNS(Error::InvalidArgument, "expected a whole number",
                pool.init({{"max_cached_bytes", 0.5}}));
  CHECK_RETURNS(Error::InvalidArgument, "expected a whole number",
                pool.init({{"max_cached_bytes", "many"}}));
  pool.deallocate(pool.allocate(90, 64), 90);
  CHECK(pool.cached_bytes() == 96);
}

TEST_CASE("pool: several in turn do not mix up their blocks") {
  std::vector<Source*> sources;
  std::vector<PoolBackend*> pools;
  for (int i = 0; i < 9; ++i) {
    sources.push_back(new Source);
    pools.push_back(new PoolBackend(*sources.back()));
  }
  for (int round = 0; round < 5; ++round) {
    std::vector<void*> blocks;
    for (PoolBackend* pool : pools) blocks.push_back(pool->allocate(256, 64));
    for (size_t i = 0; i < pools.size(); ++i) pools[i]->deallocate(blocks[i], 256);
  }
  for (size_t i = 0; i < pools.size(); ++i) {
    CHECK(pools[i]->statistics().hits == 4);
    CHECK(pools[i]->statistics().misses == 1);
    delete pools[i];
    CHECK(sources[i]->faults == 0);
    CHECK(sources[i]->live_count() == 0);
    delete sources[i];
  }
}

TEST_CASE("pool: over an arena, all comes from the buffer, and is free again after the pool") {
  alignas(64) static unsigned char bytes[128 + 8192];  // 128 for the arena itself
  ArenaBackend arena(bytes, sizeof bytes);
  {
    PoolBackend pool(arena);
    CHECK(pool.metadata_backend() == &pool);
    for (int i = 0; i < 1000; ++i) {
      void* const a = pool.allocate(400, 64);
      void* const b = pool.allocate(24, 8);
      REQUIRE(a != nullptr);
      REQUIRE(b != nullptr);
      std::memset(a, 1, 400);
      pool.deallocate(a, 400);
      pool.deallocate(b, 24);
    }
    CHECK(arena.used() == 448 + 64);
    CHECK_RETURNS(Error::InUse, "reset: 2 blocks", arena.reset());
    // Room for this is there once the pool gives back what it keeps.
    void* const all = pool.allocate(8192, 64);
    CHECK(all != nullptr);
    CHECK(pool.allocate(64, 64) == nullptr);
    CHECK(contains(last_error_message(), "0 of 8192 bytes are free"));
    pool.deallocate(all, 8192);
  }
  CHECK(arena.used() == 0);
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE("pool: over the heap, metadata stays there") {
  CpuBackend cpu;
  PoolBackend pool(cpu);
  CHECK(pool.metadata_backend() == nullptr);
}

TEST_CASE("pool: its end does not touch the memory of a backend that is gone") {
  const tests::Reports told;
  alignas(64) static unsigned char bytes[128 + 8192];  // 128 for what stays of the arena
  auto arena = std::make_unique<ArenaBackend>(bytes, sizeof bytes);
  {
    PoolBackend pool(*arena);
    pool.deallocate(pool.allocate(400, 64), 400);
    arena.reset();
    std::memset(bytes + 128, 0xff, 8192);
    CHECK(told.count() == 1);
  }
  CHECK(told.count() == 1);
}
