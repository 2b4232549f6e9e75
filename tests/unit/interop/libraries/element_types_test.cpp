// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/element_types.h"

#include <string>

#include "support/catch.h"

namespace element_types_test {

using namespace tenon;
using namespace tests;

TEST_CASE("element types: NumPy's and PyTorch's names, and the kinds of __array_interface__") {
  CHECK(std::string(detail::python_type(ScalarType::Long).name) == "int64");
  CHECK(detail::type_of_python_name("complex128") == ScalarType::ComplexDouble);
  CHECK(detail::type_of_python_name("float8_e4m3fn") == ScalarType::Float8_e4m3fn);
  CHECK(detail::type_of_python_name("float31") == ScalarType::Undefined);
  CHECK(detail::type_of_python_name("") == ScalarType::Undefined);
  CHECK(detail::type_of_kind('u', 2) == ScalarType::UInt16);
  CHECK(detail::type_of_kind('f', 3) == ScalarType::Undefined);
  CHECK(detail::type_of_torch_number(6) == ScalarType::Float);
  for (const int32_t number : {-1, 12, 44, 127, 128, 256 + 6, INT32_MIN}) {
    CHECK(detail::type_of_torch_number(number) == ScalarType::Undefined);
  }
}

}  // namespace element_types_test
