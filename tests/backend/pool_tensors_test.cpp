// SPDX-License-Identifier: MIT
// Tensors in a PoolBackend.
#include <vector>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/pool.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/transfer.h"
#include "tensor/helpers.h"

using namespace tenon;

TEST_CASE("pool: the next tensor of about that size takes the memory of one that was dropped") {
  CpuBackend cpu;
  PoolBackend pool(cpu);
  const void* first = nullptr;
  {
    const TensorPtr t = full({1000}, 2.5, pool);
    CHECK(tests::values<float>(t) == std::vector<float>(1000, 2.5f));
    CHECK(&backend_of(t) == &pool);
    first = const_data_ptr(t);
  }
  CHECK(pool.statistics().cached_blocks == 1);
  const TensorPtr t = zeros({1024}, pool);
  CHECK(const_data_ptr(t) == first);
  CHECK(tests::values<float>(t) == std::vector<float>(1024, 0.0f));
  CHECK(pool.statistics().hits == 1);
  CHECK(pool.live_blocks() == 1);
}

TEST_CASE("pool: over an arena, tensors dropped in any order leave room for more") {
  alignas(64) static unsigned char bytes[65536];
  ArenaBackend arena(bytes, sizeof bytes);
  {
    PoolBackend pool(arena);
    std::vector<TensorPtr> tensors;
    for (int i = 0; i < 5000; ++i) {
      tensors.push_back(full({100}, i, pool));
      if (tensors.size() < 20) continue;
      const size_t at = static_cast<size_t>(i) * 7 % tensors.size();
      CHECK(tests::values<float>(tensors[at])[99] == tests::values<float>(tensors[at])[0]);
      tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE("pool: a backend out of memory makes a creator fail with its text") {
  alignas(64) static unsigned char bytes[4096];
  ArenaBackend arena(bytes, sizeof bytes);
  PoolBackend pool(arena);
  CHECK_ERROR(Error::OutOfMemory,
              "empty: backend pool has no memory for 40000 bytes: ", empty({10000}, pool));
  CHECK_ERROR(Error::OutOfMemory, "bytes are free, 40960 are needed", empty({10000}, pool));
  CHECK(pool.live_blocks() == 0);
}
