// SPDX-License-Identifier: MIT
// Libraries that name libtorch's as needed, which is not there.
#include "tenon/interop/runtimes/torch_stable_library.h"

#include <cstdio>
#include <string>

#include "support/catch.h"
#include "tenon/interop/torch_stable_shim.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace torch_stable_library_test {

using namespace tenon;

TEST_CASE("load_torch_library: a library that needs libtorch.so loads without") {
  CHECK(::dlopen(TENON_STABLE_NEEDY, RTLD_NOW | RTLD_LOCAL) == nullptr);
  CHECK(tests::contains(::dlerror(), "libtorch.so"));
  REQUIRE(load_torch_library(TENON_STABLE_NEEDY) == Error::Ok);
  const TensorPtr x = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const Result<std::vector<EValue>> made = call_torch_operator("extension::first_row", {*x});
  REQUIRE(made.ok());
  CHECK(tests::values<float>((*made)[0].toTensor()) == tests::Floats{1, 2});
  CHECK(load_torch_library(TENON_STABLE_NEEDY) == Error::Ok);  // it is loaded already
  // Its name is taken; a library that nobody needs is closed again.
  CHECK(::dlopen("libtorch.so", RTLD_NOW | RTLD_NOLOAD) != nullptr);
  CHECK(::dlopen("libtorch_python.so", RTLD_NOW | RTLD_NOLOAD) == nullptr);
}

TEST_CASE("load_torch_library: what cannot be loaded is an error with its name") {
  const auto check_fails = [](const char* path, Error error, const char* text) {
    INFO(path);
    CHECK(load_torch_library(path) == error);
    INFO(last_error_message());
    CHECK(tests::contains(last_error_message(), text));
  };
  check_fails("", Error::InvalidArgument, "the path is empty");
  check_fails("/nowhere/lib.so", Error::NotFound, "load_torch_library: /nowhere/lib.so: ");
  check_fails(__FILE__, Error::InvalidArgument, "not a shared library");
  check_fails(TENON_STABLE_LACKING, Error::NotSupported, "torch_function_of_the_future");
}

TEST_CASE("load_torch_library: names that are too long for an empty library") {
  detail::NamedLibrary made;
  CHECK(made.make(std::string(300, 'x').c_str(), {}) == Error::InvalidArgument);
  CHECK(made.make("libtorch.so", {}) == Error::Ok);
  CHECK(std::string(made.names + 1) == "libtorch.so");
}

}  // namespace torch_stable_library_test
