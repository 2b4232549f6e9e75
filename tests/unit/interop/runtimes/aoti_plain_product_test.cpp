// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_plain_product.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_plain_product_test {

using namespace tenon;

TEST_CASE("aoti_plain_product: integers wrap around", "[aoti_plain_product]") {
  const int64_t large = int64_t{1} << 62;
  const TensorPtr a = full({1, 3}, large, ScalarType::Long);
  const TensorPtr b = full({3, 1}, int64_t{3}, ScalarType::Long);
  const TensorPtr out = full({1, 1}, int64_t{0}, ScalarType::Long);
  REQUIRE(detail::plain_product(*out, nullptr, *a, *b, 0, 1) == Error::Ok);
  CHECK(out->const_data_ptr<int64_t>()[0] == large);  // 9 * 2^62 modulo 2^64
}

}  // namespace aoti_plain_product_test
