// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernel_tools.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_kernel_tools_test {

using namespace tenon;

TEST_CASE("aoti_kernels: a copy has the strides that torch's empty_like gives",
          "[aoti_kernel_tools]") {
  using Strides = std::vector<int64_t>;
  const auto strides_of = [](const Dims& sizes, const Dims& strides) {
    float memory[64] = {};
    const TensorPtr given = from_blob(memory, sizes, strides);
    const Dims kept = detail::preserved_strides(detail::fields(TensorArg(*given)).layout);
    return Strides(kept.begin(), kept.end());
  };
  CHECK(strides_of({2, 3}, {3, 1}) == Strides{3, 1});
  CHECK(strides_of({2, 3}, {1, 2}) == Strides{1, 2});
  CHECK(strides_of({2, 3}, {8, 2}) == Strides{3, 1});
  CHECK(strides_of({2, 3}, {2, 8}) == Strides{1, 2});
  // A stride of 0 does not tell an order.
  CHECK(strides_of({2, 3}, {0, 1}) == Strides{3, 1});
  CHECK(strides_of({2, 3}, {1, 0}) == Strides{3, 1});
  CHECK(strides_of({2, 3, 4}, {0, 1, 3}) == Strides{12, 1, 3});
  CHECK(strides_of({}, {}) == Strides{});
}

}  // namespace aoti_kernel_tools_test
