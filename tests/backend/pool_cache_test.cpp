// SPDX-License-Identifier: MIT
#include "tenon/backend/pool_cache.h"

#include <cstdint>

#include "support/catch.h"

using tenon::detail::FreeBlock;
using tenon::detail::PoolCache;
using tenon::detail::PoolClass;

TEST_CASE("pool classes: four to each doubling, from 64 bytes") {
  const size_t expected[] = {64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640};
  for (size_t i = 0; i < 14; ++i) {
    CHECK(PoolClass::nbytes_of(i) == expected[i]);
    CHECK(PoolClass::of(expected[i]).index == i);
    CHECK(PoolClass::of(expected[i]).nbytes == expected[i]);
    CHECK(PoolClass::of(expected[i] + 1).index == i + 1);
  }
  CHECK(PoolClass::of(1).nbytes == 64);
  CHECK(PoolClass::of(330).nbytes == 384);
  CHECK(PoolClass::of(4096).nbytes == 4096);
  CHECK(PoolClass::of(4097).nbytes == 5120);
  CHECK(PoolClass::of(1000000).nbytes == 1048576);
}

TEST_CASE("pool classes: each number of bytes is in the smallest class that holds it") {
  for (size_t n = 1; n <= 5000; ++n) {
    size_t i = 0;
    while (PoolClass::nbytes_of(i) < n) ++i;
    const PoolClass size = PoolClass::of(n);
    REQUIRE(size.index == i);
    REQUIRE(size.nbytes == PoolClass::nbytes_of(i));
  }
}

TEST_CASE("pool classes: above 64 bytes less than a quarter is added") {
  for (size_t n = 65; n < 200000; n += 7) {
    const size_t nbytes = PoolClass::of(n).nbytes;
    REQUIRE(nbytes >= n);
    REQUIRE(nbytes * 4 < n * 5);
  }
}

TEST_CASE("pool classes: the largest number of bytes is in the last class, and none overflows") {
  CHECK(PoolClass::of(PoolClass::kLargest).index == PoolClass::kCount - 1);
  CHECK(PoolClass::of(PoolClass::kLargest).nbytes == size_t{PTRDIFF_MAX} + 1);
  for (size_t i = 1; i < PoolClass::kCount; ++i) {
    REQUIRE(PoolClass::nbytes_of(i) > PoolClass::nbytes_of(i - 1));
    REQUIRE(PoolClass::of(PoolClass::nbytes_of(i - 1)).index == i - 1);
  }
}

TEST_CASE("pool cache: the last class of a thread is that of its largest block") {
  CHECK(PoolClass::of(PoolCache::kLargest).index == PoolCache::kClasses - 1);
  CHECK(PoolClass::of(PoolCache::kLargest + 1).index == PoolCache::kClasses);
}

TEST_CASE("pool cache: what was pushed last comes first, by class, and is counted") {
  PoolCache cache{nullptr, nullptr};
  FreeBlock a{nullptr, nullptr}, b{nullptr, nullptr}, c{nullptr, nullptr};
  const PoolClass small = PoolClass::of(64);
  const PoolClass large = PoolClass::of(4096);
  CHECK(cache.pop(small) == nullptr);
  cache.push(&a, small);
  cache.push(&b, small);
  cache.push(&c, large);
  CHECK(cache.blocks == 3);
  CHECK(cache.nbytes == 64 + 64 + 4096);
  CHECK(cache.pop(small) == &b);
  CHECK(cache.pop(small) == &a);
  CHECK(cache.pop(small) == nullptr);
  CHECK(cache.blocks == 1);
  CHECK(cache.nbytes == 4096);
  CHECK(cache.pop(large) == &c);
}

TEST_CASE("pool cache: there is room for 256 KiB") {
  PoolCache cache{nullptr, nullptr};
  FreeBlock blocks[4] = {};
  const PoolClass size = PoolClass::of(65536);
  for (FreeBlock& block : blocks) {
    CHECK(cache.has_room(size));
    cache.push(&block, size);
  }
  CHECK_FALSE(cache.has_room(PoolClass::of(1)));
}

TEST_CASE("pool ids: no two are the same, and none is 0") {
  const size_t a = tenon::detail::next_pool_id();
  const size_t b = tenon::detail::next_pool_id();
  CHECK(a != 0);
  CHECK(b != 0);
  CHECK(a != b);
}
