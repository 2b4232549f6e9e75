// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_solve.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_solve_test {

using namespace tenon;

TEST_CASE("aoti_kernels: LU chooses the largest pivot", "[aoti_kernels_solve]") {
  double a[] = {1, 2, 3, 8};
  int32_t pivots[2] = {};
  CHECK(detail::factor_lu(a, 2, 2, pivots) == 0);
  CHECK(pivots[0] == 2);
  CHECK(a[0] == 2);
  CHECK(a[1] == 0.5);
  CHECK(a[3] == -1);
  double singular[] = {1, 2, 2, 4};
  CHECK(detail::factor_lu(singular, 2, 2, pivots) == 2);
}

}  // namespace aoti_kernels_solve_test
