// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_random_tools.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_random_tools_test {

using namespace tenon;
using namespace tenon::detail;

TEST_CASE("aoti_kernels: random permutations are those of docs/random.md", "[aoti_random_tools]") {
  // By the definition in docs/random.md.
  manual_seed(9);
  const std::vector<int64_t> order = random_permutation(50);
  std::vector<int64_t> expected(50);
  for (size_t k = 0; k < 50; ++k) expected[k] = static_cast<int64_t>(k);
  for (size_t k = 0; k < 50; ++k) {
    Generator draws(9, k);
    const TensorPtr drawn = randint(k, 50, {1}, ScalarType::Long, draws);
    std::swap(expected[k], expected[static_cast<size_t>(*drawn->const_data_ptr<int64_t>())]);
  }
  CHECK(order == expected);
}

}  // namespace aoti_random_tools_test
