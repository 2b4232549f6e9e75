// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_random_tools.h"

#include <cstdlib>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_random_tools_test {

using namespace tenon;
using namespace tenon::detail;

TEST_CASE("aoti_kernels: random permutations", "[aoti_random_tools]") {
  manual_seed(5);
  // Each of the 6 orders of 3 about as often.
  std::vector<int> counts(9);
  for (int i = 0; i < 6000; ++i) {
    const std::vector<int64_t> order = random_permutation(3);
    REQUIRE(order[0] + order[1] + order[2] == 3);
    REQUIRE(order[0] != order[1]);
    ++counts[static_cast<size_t>(order[0] * 3 + order[1])];
  }
  for (const size_t i : std::initializer_list<size_t>{1, 2, 3, 5, 6, 7})
    CHECK(std::abs(counts[i] - 1000) < 150);
  CHECK(default_generator().offset() == 18000);
  std::vector<int64_t> long_order = random_permutation(1000);
  CHECK(!std::is_sorted(long_order.begin(), long_order.end()));
  std::sort(long_order.begin(), long_order.end());
  for (size_t i = 0; i < 1000; ++i) REQUIRE(long_order[i] == static_cast<int64_t>(i));

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
