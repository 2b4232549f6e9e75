// SPDX-License-Identifier: MIT
// What holds without OpenMP; tests/builds/openmp has the rest.
#include "tenon/kernels/dispatch.h"

#include "support/catch.h"

namespace parallel_test {

using namespace tenon::detail;

TEST_CASE("parallel: work is shared from a number of bytes on, and only with OpenMP") {
  static_assert(!is_parallel<false>(SIZE_MAX));
  static_assert(!is_parallel<true>(kParallelBytes - 1) && is_parallel<true>(kParallelBytes));
  CHECK(is_parallel(SIZE_MAX) == (TENON_HAS_OPENMP != 0));
}

}  // namespace parallel_test
