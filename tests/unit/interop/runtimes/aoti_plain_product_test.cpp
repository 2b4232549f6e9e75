// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_plain_product.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_plain_product_test {

using namespace tenon;

TEST_CASE("aoti_plain_product: products are what their definition says, across blocks too",
          "[aoti_plain_product]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Int}) {
    for (const Dims& mnk : {Dims{2, 300, 70}, Dims{3, 5, 66}, Dims{1, 257, 3}, Dims{4, 1, 129}}) {
      const TensorPtr a = randint(-9, 9, {2, mnk[0], mnk[2]}, ScalarType::Double);
      const TensorPtr b = randint(-9, 9, {2, mnk[2], mnk[1]}, ScalarType::Double);
      const TensorPtr self = randint(-9, 9, {mnk[1]}, ScalarType::Double);
      const TensorPtr out = full({2, mnk[0], mnk[1]}, 7, type);
      const auto as = [&](const TensorPtr& t) { return to(*t, type, CastMode::Truncate); };
      const Tensor added = as(self);
      REQUIRE(detail::plain_product(*out, &added, as(a), as(b), 3, -2) == Error::Ok);
      const Tensor result = to(*out, ScalarType::Double, CastMode::Truncate);
      const double* r = result.const_data_ptr<double>();
      for (int64_t n = 0; n < 2; ++n) {
        const double* const x = a->const_data_ptr<double>() + n * mnk[0] * mnk[2];
        const double* const y = b->const_data_ptr<double>() + n * mnk[2] * mnk[1];
        for (int64_t i = 0; i < mnk[0]; ++i) {
          for (int64_t j = 0; j < mnk[1]; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < mnk[2]; ++k) sum += x[i * mnk[2] + k] * y[k * mnk[1] + j];
            CHECK(*r++ == 3 * self->const_data_ptr<double>()[j] - 2 * sum);
          }
        }
      }
    }
  }
}

TEST_CASE("aoti_plain_product: integers wrap around", "[aoti_plain_product]") {
  const int64_t large = int64_t{1} << 62;
  const TensorPtr a = full({1, 3}, large, ScalarType::Long);
  const TensorPtr b = full({3, 1}, int64_t{3}, ScalarType::Long);
  const TensorPtr out = full({1, 1}, int64_t{0}, ScalarType::Long);
  REQUIRE(detail::plain_product(*out, nullptr, *a, *b, 0, 1) == Error::Ok);
  CHECK(out->const_data_ptr<int64_t>()[0] == large);  // 9 * 2^62 modulo 2^64
}

}  // namespace aoti_plain_product_test
