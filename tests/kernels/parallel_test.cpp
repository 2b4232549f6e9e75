// SPDX-License-Identifier: MIT
// What holds without OpenMP; tests/openmp has the rest.
#include "tenon/kernels/parallel.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.h"

using tenon::detail::is_parallel;
using tenon::detail::kParallelBytes;
using tenon::detail::parallel_for;

namespace {

using Pieces = std::vector<std::pair<int64_t, int64_t>>;

Pieces pieces_of(int64_t count, int64_t grain, size_t nbytes) {
  Pieces pieces;
  parallel_for<false>(count, grain, nbytes,
                      [&](int64_t begin, int64_t end) { pieces.emplace_back(begin, end); });
  return pieces;
}

}  // namespace

TEST_CASE("parallel: without OpenMP work of any size is one piece") {
  CHECK(pieces_of(1, 1, 1) == Pieces{{0, 1}});
  CHECK(pieces_of(10, 64, 40) == Pieces{{0, 10}});
  CHECK(pieces_of(1 << 20, 64, kParallelBytes) == Pieces{{0, 1 << 20}});
  CHECK(pieces_of(INT64_MAX, 1, SIZE_MAX) == Pieces{{0, INT64_MAX}});
}

TEST_CASE("parallel: no work is one empty piece") {
  CHECK(pieces_of(0, 1, 0) == Pieces{{0, 0}});
  CHECK(pieces_of(0, 4096, 0) == Pieces{{0, 0}});
}

TEST_CASE("parallel: work is shared from a number of bytes on, and only with OpenMP") {
  static_assert(!is_parallel<false>(SIZE_MAX));
  static_assert(!is_parallel<true>(kParallelBytes - 1));
  static_assert(is_parallel<true>(kParallelBytes));
#if defined(_OPENMP)
  CHECK(is_parallel(SIZE_MAX));
#else
  CHECK_FALSE(is_parallel(SIZE_MAX));
#endif
}
