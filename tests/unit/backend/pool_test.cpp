// SPDX-License-Identifier: MIT
#include "tenon/backend/pool.h"

#include "backend/helpers.h"
#include "backend/pool_helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/creators.h"
#include "tensor/helpers.h"

namespace pool_test {

using namespace tenon;
using tests::contains;
using tests::Source;

namespace {

/// A pool, and what is behind it, which is checked in the end.
struct Pool {
  explicit Pool(bool is_device = false) : source(is_device) {}
  ~Pool() {
    pool.reset();
    CHECK(source.live_count() == 0);
    CHECK(source.faults == 0);
  }
  PoolBackend* operator->() { return pool.get(); }
  void* take(size_t nbytes) { return pool->allocate(nbytes, 64); }
  void use(size_t nbytes) { pool->deallocate(take(nbytes), nbytes); }

  Source source;
  std::unique_ptr<PoolBackend> pool = std::make_unique<PoolBackend>(source);
};

/// What the statistics are to be.
void check(const PoolStatistics& found, const PoolStatistics& expected) {
  CHECK(found.hits == expected.hits);
  CHECK(found.misses == expected.misses);
  CHECK(found.released == expected.released);
  CHECK(found.live_blocks == expected.live_blocks);
  CHECK(found.live_bytes == expected.live_bytes);
  CHECK(found.cached_blocks == expected.cached_blocks);
  CHECK(found.cached_bytes == expected.cached_bytes);
  CHECK(found.peak_bytes == expected.peak_bytes);
}

}  // namespace

TEST_CASE("pool sizes: four to each doubling, from 64 bytes, the smallest that holds the bytes") {
  using detail::pool_size;
  const size_t expected[] = {64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640};
  size_t i = 0;
  for (size_t n = 1; n <= 640; ++n) {
    if (n > expected[i]) ++i;
    REQUIRE(pool_size(n) == expected[i]);
  }
  CHECK(pool_size(4097) == 5120);
  CHECK(pool_size(1000000) == 1048576);
  CHECK(pool_size(PTRDIFF_MAX) == size_t{PTRDIFF_MAX} + 1);
  for (size_t n = 65; n < 200000; n += 7) {
    REQUIRE(pool_size(n) >= n);
    REQUIRE(pool_size(n) * 4 < n * 5);
    REQUIRE(pool_size(pool_size(n)) == pool_size(n));
  }
}

TEST_CASE("pool: it is the backend behind it, under the name pool; one wraps another") {
  Pool pool;
  CHECK(std::string(pool->name()) == "pool");
  CHECK(pool->device() == Device());
  CHECK_FALSE(pool->is_opaque());
  CHECK(&pool->base() == &pool.source);
  CHECK(&pool->inner() == &pool.source);
  Pool device(true);
  CHECK(device->device() == Device(DeviceType::ExtDev));
  CHECK(device->is_opaque());
  CpuBackend cpu;
  CHECK(PoolBackend(cpu).metadata_backend() == nullptr);

  PoolBackend outer(*pool.pool);
  CHECK(&outer.inner() == pool.pool.get());
  outer.deallocate(outer.allocate(100, 64), 100);
  CHECK(outer.cached_bytes() == 112);
  CHECK(pool->statistics().live_bytes == 112);
  outer.trim();
  CHECK(pool->cached_bytes() == 112);
}

TEST_CASE("pool: a released block serves the next allocation of its class") {
  Pool pool;
  void* const p = pool.take(4000);
  REQUIRE(p != nullptr);
  CHECK(pool.source.last_nbytes == 4096);
  CHECK(pool.source.last_alignment == 64);
  pool->deallocate(p, 4000);
  CHECK(pool.source.deallocations == 0);
  CHECK(pool->allocate(4096, 8) == p);
  CHECK(pool.source.allocations == 1);
  pool->deallocate(p, 4096);
  pool.use(3000);  // another class
  CHECK(pool.source.last_nbytes == 3072);
  // A larger alignment is left to the backend, and the block kept like any.
  void* const q = pool->allocate(4096, 1024);
  CHECK(q != p);
  CHECK(pool.source.last_alignment == 1024);
  pool->deallocate(q, 4096);
  CHECK(pool->statistics().cached_blocks == 3);
  CHECK(pool.take(4096) == q);
  pool->deallocate(q, 4096);
}

TEST_CASE("pool: the statistics count blocks and rounded bytes") {
  Pool pool;
  void* const a = pool.take(1000);    // 1024
  void* const b = pool.take(100000);  // 114688
  check(pool->statistics(), {0, 2, 0, 2, 115712, 0, 0, 115712});
  pool->deallocate(a, 1000);
  check(pool->statistics(), {0, 2, 0, 1, 114688, 1, 1024, 115712});
  pool->deallocate(b, 100000);
  CHECK(pool->cached_bytes() == 115712);
  CHECK(pool.take(1024) == a);
  CHECK(pool.take(114688) == b);
  check(pool->statistics(), {2, 2, 0, 2, 115712, 0, 0, 115712});
  pool->deallocate(a, 1000);
  pool->deallocate(b, 100000);
  pool->trim();
  check(pool->statistics(), {2, 2, 2, 0, 0, 0, 0, 115712});
}

TEST_CASE("pool: without memory what is kept is given back and the backend asked again") {
  Pool pool;
  pool.source.refuse_above = 100000;
  pool.use(20480);
  pool.use(40960);
  CHECK(pool.source.live_bytes() == 61440);
  void* const p = pool.take(65536);
  CHECK(p != nullptr);
  CHECK(pool.source.refusals == 1);
  CHECK(pool.source.live_bytes() == 65536);
  check(pool->statistics(), {0, 3, 2, 1, 65536, 0, 0, 65536});
  CHECK(pool.take(65536) == nullptr);  // refused twice
  CHECK(std::string(last_error_message()) == "the source ran dry");
  CHECK(pool.source.refusals == 3);
  check(pool->statistics(), {0, 3, 2, 1, 65536, 0, 0, 65536});
  for (size_t nbytes : {SIZE_MAX, size_t{PTRDIFF_MAX} + 1}) {
    CHECK(pool.take(nbytes) == nullptr);
    CHECK(contains(last_error_message(), "bytes are more than an object can have"));
    CHECK(detail::last_error().error == Error::OutOfMemory);
  }
  CHECK(pool.source.refusals == 3);
  pool->deallocate(p, 65536);
}

TEST_CASE("pool: a limit bounds what is kept, at once") {
  Pool pool;
  for (size_t nbytes : {1024u, 4096u, 131072u}) pool.use(nbytes);
  CHECK(pool->cached_bytes() == 1024 + 4096 + 131072);
  REQUIRE(pool->init({{"max_cached_bytes", 5000}}) == Error::Ok);
  CHECK(pool->cached_bytes() <= 5000);

  REQUIRE(pool->init({{"max_cached_bytes", 8192}}) == Error::Ok);
  pool->trim();
  void* const a = pool.take(4096);
  void* const b = pool.take(4096);
  void* const c = pool.take(64);
  const int before = pool.source.deallocations;
  pool->deallocate(a, 4096);
  pool->deallocate(b, 4096);
  CHECK(pool->cached_bytes() == 8192);
  CHECK(pool.source.deallocations == before);
  pool->deallocate(c, 64);
  CHECK(pool->cached_bytes() == 8192);
  CHECK(pool.source.deallocations == before + 1);
  CHECK(pool.take(4096) == b);
  CHECK(pool->cached_bytes() == 4096);
  pool->deallocate(b, 4096);

  REQUIRE(pool->init({{"max_cached_bytes", 0}}) == Error::Ok);
  REQUIRE(pool->init({}) == Error::Ok);
  pool.use(100);
  CHECK(pool.source.live_count() == 0);
}

TEST_CASE("pool: bad options are refused, and change nothing") {
  Pool pool;
  REQUIRE(pool->init({{"max_cached_bytes", 100}}) == Error::Ok);
  RETURNS(InvalidArgument, "no option \"max_bytes\"",
          pool->init({{"max_cached_bytes", 7}, {"max_bytes", 3}}));
  RETURNS(InvalidArgument, "\"max_cached_bytes\" is -1; expected a whole number from 0",
          pool->init({{"max_cached_bytes", -1}}));
  pool.use(90);
  CHECK(pool->cached_bytes() == 96);
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

static_assert(!std::is_copy_constructible_v<PoolBackend>);  // one wraps another

}  // namespace pool_test
