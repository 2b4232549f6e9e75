// SPDX-License-Identifier: MIT
// The file of the tests in which the kernels are compiled, for all the others: CMakeLists.txt
// defines TENON_INSTANTIATE_KERNELS for it.

#include "tenon/kernels/instances.h"

#include "support/catch.h"

#if !defined(TENON_INSTANTIATE_KERNELS)
#error "this file has to compile the kernels"
#endif

TEST_CASE("instances: the kernels that one file compiles do their work") {
  const float in[3] = {1, 2, 3};
  double out[3] = {};
  tenon::detail::cast_elements(tenon::own::ScalarType::Double, out, tenon::own::ScalarType::Float,
                               in, 3);
  CHECK(out[2] == 3.0);
  const float value = 5;
  float filled[3] = {};
  tenon::detail::fill_elements(filled, 3, &value, sizeof value);
  CHECK(filled[2] == 5.0f);
}
