// SPDX-License-Identifier: MIT
// What holds without OpenMP; tests/builds/openmp has the rest.
#include "tenon/kernels/dispatch.h"

#include "support/catch.h"

namespace parallel_test {

using namespace tenon::detail;

TEST_CASE("parallel: without OpenMP work of any size, also none, is one piece") {
  const struct {
    int64_t count, grain;
    size_t nbytes;
  } rows[] = {{0, 1, 0},
              {0, 4096, 0},
              {1, 1, 1},
              {10, 64, 40},
              {1 << 20, 64, kParallelBytes},
              {INT64_MAX, 1, SIZE_MAX}};
  for (const auto& row : rows) {
    CAPTURE(row.count);
    std::vector<std::pair<int64_t, int64_t>> pieces;
    parallel_for<false>(row.count, row.grain, row.nbytes,
                        [&](int64_t begin, int64_t end) { pieces.emplace_back(begin, end); });
    CHECK(pieces == std::vector<std::pair<int64_t, int64_t>>{{0, row.count}});
  }
}

TEST_CASE("parallel: work is shared from a number of bytes on, and only with OpenMP") {
  static_assert(!is_parallel<false>(SIZE_MAX));
  static_assert(!is_parallel<true>(kParallelBytes - 1) && is_parallel<true>(kParallelBytes));
  CHECK(is_parallel(SIZE_MAX) == (TENON_HAS_OPENMP != 0));
}

}  // namespace parallel_test
