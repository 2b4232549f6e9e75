// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernel_matrices.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernel_matrices_test {

using namespace tenon;

TEST_CASE("aoti_kernels: what an info means", "[aoti_kernel_matrices]") {
  const int32_t infos[] = {0, 3};
  CHECK(detail::check_infos(infos, 1, "linalg.inv", true) == Error::Ok);
  CHECK(detail::check_infos(infos, 2, "linalg.inv", false) == Error::InvalidArgument);
  CHECK(last_error_message() ==
        std::string("linalg.inv: batch element 1, info 3: the matrix is singular: that element of "
                    "the diagonal of U is 0"));
}

}  // namespace aoti_kernel_matrices_test
