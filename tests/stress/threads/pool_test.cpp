// SPDX-License-Identifier: MIT
// PoolBackend on several threads.
#include <mutex>

#include "backend/pool_helpers.h"
#include "support/catch.h"
#include "tenon/backend/pool.h"
#include "threads/threads.h"

namespace pool_test {

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

// A promise of docs/guarantees.md.
TEST_CASE("pool: threads under stress keep their blocks apart, the counts and a limit are exact",
          "[threads][PoolBackend]") {
  for (const int64_t limit : {int64_t{1} << 40, int64_t{50000}}) {
    for (bool trims : {false, true}) {
      INFO(limit << " " << trims);
      Source source;
      {
        PoolBackend pool(source);
        REQUIRE(pool.init({{"max_cached_bytes", limit}}) == Error::Ok);
        stress(pool, trims);
        CHECK(static_cast<int64_t>(source.live_bytes()) == pool.cached_bytes());
        CHECK(pool.cached_bytes() <= limit);
        if (limit > 50000) CHECK(pool.statistics().hits > pool.statistics().misses);
      }
      CHECK(source.live_count() == 0);
      CHECK(source.faults == 0);
    }
  }
}

}  // namespace pool_test
