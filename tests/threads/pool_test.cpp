// SPDX-License-Identifier: MIT
// PoolBackend on several threads.
#include <atomic>
#include <mutex>
#include <thread>

#include "backend/pool_helpers.h"
#include "support/catch.h"
#include "tenon/backend/pool.h"
#include "threads/threads.h"

using namespace tenon;
using namespace tests;

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

TEST_CASE("pool: what one thread released serves another") {
  Source source;
  PoolBackend pool(source);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate(65536, 64));
  on_threads(1, [&](int) {
    for (void* p : blocks) pool.deallocate(p, 65536);
  });
  CHECK(pool.cached_bytes() == 100 * 65536);
  std::vector<void*> again;
  for (int i = 0; i < 100; ++i) again.push_back(pool.allocate(65536, 64));
  CHECK(pool.statistics().hits == 100);
  CHECK(source.allocations == 100);
  for (void* p : again) pool.deallocate(p, 65536);
}

TEST_CASE("pool: trim gives back what threads released that are gone, or did nothing since") {
  Source source;
  PoolBackend pool(source);
  std::atomic<int> step{0};
  const auto wait_for = [&](int n) {
    while (step != n) std::this_thread::yield();
  };
  on_threads(1, [&](int) { pool.deallocate(pool.allocate(65536, 64), 65536); });
  std::thread other([&] {
    pool.deallocate(pool.allocate(1000, 64), 1000);
    step = 1;
    wait_for(2);
  });
  wait_for(1);
  CHECK(pool.cached_bytes() == 65536 + 1024);
  pool.trim();
  CHECK(pool.cached_bytes() == 0);
  CHECK(source.live_count() == 0);
  CHECK(pool.statistics().released == 2);
  step = 2;
  other.join();
}

TEST_CASE("pool: what threads released that are gone makes room for other sizes") {
  Source source;
  source.refuse_above = 300 << 10;
  PoolBackend pool(source);
  on_threads(1, [&](int) {
    void* blocks[4];
    for (void*& p : blocks) p = pool.allocate(64 << 10, 64);
    for (void* p : blocks) pool.deallocate(p, 64 << 10);
  });
  void* const p = pool.allocate(128 << 10, 64);
  CHECK(p != nullptr);
  CHECK(source.live_bytes() == 128 << 10);
  pool.deallocate(p, 128 << 10);
}

TEST_CASE("pool: threads that come and go leave no more than they used at once") {
  Source source;
  PoolBackend pool(source);
  for (int round = 0; round < 20; ++round) {
    on_threads(3, [&](int) { pool.deallocate(pool.allocate(500, 64), 500); });
  }
  const PoolStatistics is = pool.statistics();
  CHECK(is.hits + is.misses == 60);
  CHECK(is.live_blocks == 0);
  CHECK(is.cached_blocks <= 3);
}
