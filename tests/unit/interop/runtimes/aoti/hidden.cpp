// SPDX-License-Identifier: MIT
// A program that has torch's C functions, but does not export them to the libraries that it opens.
#include "tenon/interop/aoti.h"
#include "tenon/interop/aoti_shim.h"

#include "support/catch.h"

TEST_CASE("AotiModule: a program that does not export the functions is told so") {
  RETURNS(NotSupported,
          "the program has torch's functions, but does not export them: link it with -rdynamic, or "
          "with CMake's tenon::aoti",
          tenon::AotiModel::load(TENON_AOTI_MODELS "/fake_model.so").error());
}
