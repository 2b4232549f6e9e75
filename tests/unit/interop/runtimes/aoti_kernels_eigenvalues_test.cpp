// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_eigenvalues.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_eigenvalues_test {

using namespace tenon;

TEST_CASE("aoti_kernels: rotations make a symmetric matrix diagonal",
          "[aoti_kernels_eigenvalues]") {
  double a[] = {2, 1, 1, 2};
  double v[4];
  detail::set_identity(v, 2);
  CHECK(detail::diagonalize(a, v, 2) == Error::Ok);
  CHECK(a[0] * a[3] == Approx(3));
  CHECK(std::abs(a[1]) < 1e-15);
  CHECK(v[0] * v[2] + v[1] * v[3] == Approx(0).margin(1e-15));
}

}  // namespace aoti_kernels_eigenvalues_test
