// SPDX-License-Identifier: MIT
// PoolBackend on several threads.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/pool_helpers.h"
#include "support/catch.h"
#include "tenon/backend/pool.h"
#include "threads/threads.h"

using namespace tenon;
using tests::on_threads;
using tests::Source;

namespace {

struct Block {
  unsigned char* p;
  size_t nbytes;
  unsigned char mark;
};

bool is_intact(const Block& block) {
  for (size_t i = 0; i < block.nbytes; ++i) {
    if (block.p[i] != block.mark) return false;
  }
  return true;
}

/// Allocates and releases at random, handing some blocks to the other threads.
void stress(PoolBackend& pool, bool trims) {
  std::mutex mutex;
  std::vector<Block> shared;
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  std::vector<int> broken(kThreads, 0);
  on_threads(kThreads, [&](int t) {
    std::vector<Block> own;
    auto random = static_cast<uint32_t>(t + 1);
    const auto next = [&](uint32_t below) {
      random = random * 1664525u + 1013904223u;
      return (random >> 16) % below;
    };
    const auto release = [&](const Block& block) {
      broken[static_cast<size_t>(t)] += !is_intact(block);
      pool.deallocate(block.p, block.nbytes);
    };
    for (int i = 0; i < kRounds; ++i) {
      if (trims && i % 500 == 499) pool.trim();
      const size_t nbytes = next(40) == 0 ? 70000 : 1 + next(6000);
      auto* const p = static_cast<unsigned char*>(pool.allocate(nbytes, 64));
      const auto mark = static_cast<unsigned char>(i + t);
      std::memset(p, mark, nbytes);
      own.push_back({p, nbytes, mark});
      if (own.size() < 20) continue;
      const size_t at = next(static_cast<uint32_t>(own.size()));
      const Block block = own[at];
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(at));
      if (next(2) == 0) {
        release(block);
        continue;
      }
      Block other{};
      {
        const std::lock_guard<std::mutex> guard(mutex);
        shared.push_back(block);
        if (shared.size() > 10) {
          other = shared.front();
          shared.erase(shared.begin());
        }
      }
      if (other.p != nullptr) release(other);
    }
    for (const Block& block : own) release(block);
  });
  for (const Block& block : shared) pool.deallocate(block.p, block.nbytes);
  CHECK(broken == std::vector<int>(kThreads, 0));
  const PoolStatistics is = pool.statistics();
  CHECK(is.hits + is.misses == kThreads * kRounds);
  CHECK(is.live_blocks == 0);
  CHECK(is.live_bytes == 0);
  CHECK(is.misses == is.released + is.cached_blocks);
}

}  // namespace

TEST_CASE("pool: four threads under stress keep their blocks apart, and the counts are exact") {
  for (bool trims : {false, true}) {
    Source source;
    {
      PoolBackend pool(source);
      stress(pool, trims);
      CHECK(static_cast<int64_t>(source.live_bytes()) == pool.cached_bytes());
      CHECK(pool.statistics().hits > pool.statistics().misses);
    }
    CHECK(source.live_count() == 0);
    CHECK(source.faults == 0);
  }
}

TEST_CASE("pool: the same with a limit, which holds at all times") {
  Source source;
  PoolBackend pool(source);
  REQUIRE(pool.init({{"max_cached_bytes", 50000}}) == Error::Ok);
  stress(pool, false);
  CHECK(pool.cached_bytes() <= 50000);
  pool.trim();
  CHECK(source.live_count() == 0);
  CHECK(source.faults == 0);
}

TEST_CASE("pool: what one thread released serves another, once the first keeps enough") {
  Source source;
  PoolBackend pool(source);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate(65536, 64));
  on_threads(1, [&](int) {
    for (void* p : blocks) pool.deallocate(p, 65536);
  });
  CHECK(pool.cached_bytes() == 100 * 65536);
  std::vector<void*> again;
  for (int i = 0; i < 96; ++i) again.push_back(pool.allocate(65536, 64));
  CHECK(pool.statistics().hits == 96);
  CHECK(source.allocations == 100);
  for (void* p : again) pool.deallocate(p, 65536);
}

TEST_CASE("pool: a thread gives back what it keeps at its first call after another trims") {
  Source source;
  PoolBackend pool(source);
  std::atomic<int> step{0};
  const auto wait_for = [&](int n) {
    while (step != n) std::this_thread::yield();
  };
  std::thread other([&] {
    pool.deallocate(pool.allocate(1000, 64), 1000);
    step = 1;
    wait_for(2);
    pool.deallocate(pool.allocate(100, 64), 100);
  });
  wait_for(1);
  pool.trim();
  CHECK(pool.cached_bytes() == 1024);
  step = 2;
  other.join();
  CHECK(pool.cached_bytes() == 112);
  CHECK(pool.statistics().released == 1);
}

TEST_CASE("pool: what threads that are gone kept is given back at the pool's end") {
  for (int round = 0; round < 20; ++round) {
    Source source;
    {
      PoolBackend pool(source);
      for (int i = 0; i < 3; ++i) {
        on_threads(3, [&](int) { pool.deallocate(pool.allocate(500, 64), 500); });
      }
      const PoolStatistics is = pool.statistics();
      CHECK(is.hits + is.misses == 9);
      CHECK(is.live_blocks == 0);
    }
    CHECK(source.live_count() == 0);
    CHECK(source.faults == 0);
  }
}

TEST_CASE(
    "pool: a thread may begin where another one has ended, which nothing else puts in order") {
  Source source;
  PoolBackend pool(source);
  const auto use = [&] { pool.deallocate(pool.allocate(100, 64), 100); };
  std::atomic<bool> is_over{false};  // relaxed: says that it is, and orders nothing
  std::thread starter([&] {
    while (!is_over.load(std::memory_order_relaxed)) std::this_thread::yield();
    std::thread(use).join();
  });
  std::thread(use).join();
  is_over.store(true, std::memory_order_relaxed);
  starter.join();
  const PoolStatistics is = pool.statistics();
  CHECK(is.hits + is.misses == 2);
  CHECK(is.live_blocks == 0);
}

TEST_CASE("pool: a thread that used a pool which is gone is not confused by the next") {
  for (int i = 0; i < 10; ++i) {
    Source source;
    PoolBackend pool(source);
    void* const p = pool.allocate(100, 64);
    pool.deallocate(p, 100);
    CHECK(pool.allocate(100, 64) == p);
    CHECK(pool.statistics().misses == 1);
    pool.deallocate(p, 100);
  }
}
