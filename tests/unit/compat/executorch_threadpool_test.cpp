// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_threadpool.h"

#include "support/catch.h"

TEST_CASE("compat: the thread pool has the number of threads that was set") {
  auto* const pool = executorch::extension::threadpool::get_threadpool();
  REQUIRE(pool != nullptr);
  CHECK(pool == executorch::extension::threadpool::get_threadpool());
  const size_t before = pool->get_thread_count();
  CHECK(before > 0);
  CHECK(pool->_unsafe_reset_threadpool(3));
  CHECK(pool->get_thread_count() == 3);
  CHECK(pool->_unsafe_reset_threadpool(0));
  CHECK(pool->get_thread_count() == before);
  CHECK(executorch::extension::threadpool::ThreadPool(5).get_thread_count() == 5);
  CHECK(executorch::extension::cpuinfo::get_num_performant_cores() <= before);
}
