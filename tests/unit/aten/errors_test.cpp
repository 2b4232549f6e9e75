// SPDX-License-Identifier: MIT
#include "tenon/aten/c10.h"

#include <new>
#include <stdexcept>

#include "support/catch.h"

namespace errors_test {

using namespace tenon;
using tenon::detail::call_libtorch;

TEST_CASE("call_libtorch: what the function returns is returned, its message untouched") {
  CHECK(call_libtorch([] { return Error::Ok; }) == Error::Ok);
  RETURNS(InvalidType, "of the function",
          call_libtorch([] { return tenon::detail::fail(Error::InvalidType, "of the function"); }));
}

TEST_CASE("call_libtorch: an error of c10's is NotSupported with its words, without a backtrace") {
  const auto fails = []() -> Error { TORCH_CHECK(false, "sizes ", 3, " are odd"); };
  RETURNS(NotSupported, "libtorch: sizes 3 are odd", call_libtorch(fails));
  CHECK_FALSE(tests::contains(tenon::last_error_message(), "frame #"));
}

TEST_CASE("call_libtorch: any other exception is NotSupported with its words") {
  const auto fails = []() -> Error { throw std::runtime_error("no such kernel"); };
  RETURNS(NotSupported, "libtorch: no such kernel", call_libtorch(fails));
}

TEST_CASE("call_libtorch: running out of memory is OutOfMemory") {
  const auto fails = []() -> Error { throw std::bad_alloc(); };
  RETURNS(OutOfMemory, "out of memory in libtorch", call_libtorch(fails));
}

}  // namespace errors_test
