// SPDX-License-Identifier: MIT
// The file of the tests in which the large functions are compiled, for all the others:
// CMakeLists.txt defines TENON_COMPILING for it.

#include "tenon/compiled.h"

#include "support/catch.h"
#include "tenon/tenon.h"

#if !defined(TENON_COMPILING)
#error "this file has to compile the large functions"
#endif

TEST_CASE("compiled: the functions that one file compiles do their work") {
  const auto list = tenon::make_tensor_ptr({3}, {1.0f, 2.0f, 3.0f});
  const auto doubles = tenon::clone_tensor_ptr(list, tenon::ScalarType::Double);
  CHECK(tenon::data<double>(*doubles)[2] == 3.0);
  CHECK(tenon::data<float>(*tenon::full({3}, 5.0f))[2] == 5.0f);
}
