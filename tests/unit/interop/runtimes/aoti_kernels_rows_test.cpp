// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_rows.h"

#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_kernels_rows_test {

using namespace tenon;
using detail::order_key;

TEST_CASE("aoti_kernels: keys have the order of the numbers, with NaN last",
          "[aoti_kernels_rows]") {
  CHECK(order_key(-0.0) == order_key(0.0));
  CHECK(order_key(-double{INFINITY}) < order_key(-1.0));
  CHECK(order_key(-1.0) < order_key(-0.5));
  CHECK(order_key(-5e-324) < order_key(0.0));
  CHECK(order_key(0.0) < order_key(5e-324));
  CHECK(order_key(1.0) < order_key(double{INFINITY}));
  CHECK(order_key(double{INFINITY}) < order_key(double{NAN}));
  CHECK(order_key(-double{NAN}) == order_key(double{NAN}));
  CHECK(order_key(INT64_MIN) == 0);
  CHECK(order_key(int64_t{-1}) < order_key(int64_t{0}));
  CHECK(order_key(INT64_MAX) == UINT64_MAX);
}

}  // namespace aoti_kernels_rows_test
