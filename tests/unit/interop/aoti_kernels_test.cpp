// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti_kernels.h"

#include "support/catch.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"
#include "tenon/tenon.h"

namespace aoti_kernels_test {

using namespace tenon;

TEST_CASE("aoti_kernels: the header's own operators are registered before main()",
          "[aoti_kernels]") {
  const auto counts =
      call_torch_operator("aten::bincount", {make_tensor({int64_t{2}, int64_t{0}, int64_t{2}})});
  REQUIRE(counts.ok());
  CHECK((*counts)[0].toTensor().sizes() == ArrayRef<int64_t>({3}));
}

}  // namespace aoti_kernels_test
