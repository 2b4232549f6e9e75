// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_shim_functions.h"

#include "support/catch.h"

namespace aoti_shim_functions_test {

// What these do is tested by the functions that call them, in aoti_shim_test.cpp.
TEST_CASE("aoti answers: an Error is 0 or 1 in C, and its text has the function") {
  CHECK(tenon::detail::aoti_answer("f", [] { return tenon::Error::Ok; }) == 0);
  CHECK(tenon::detail::aoti_answer(
            "f", [] { return tenon::detail::fail(tenon::Error::NotFound, "no"); }) == 1);
  CHECK(std::string(tenon::last_error_message()) == "f: no");
  CHECK(tenon::detail::aoti_answer("f", []() -> tenon::Error { throw std::bad_alloc(); }) == 1);
  CHECK(tenon::detail::last_error().error == tenon::Error::OutOfMemory);
}

}  // namespace aoti_shim_functions_test
