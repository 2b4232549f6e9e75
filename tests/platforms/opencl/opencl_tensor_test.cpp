// SPDX-License-Identifier: MIT
// The backend as the library uses it: tensors in its memory do what those of the host do.
#include "opencl_helpers.h"
#include "tenon/tenon.h"
#include "tenon/testing/backend_conformance.h"

namespace opencl_tensor_test {

using namespace tests;
using namespace tenon;

TEST_CASE("opencl: it passes the conformance suite for backends") {
  testing::BackendTraits traits;
  traits.reuses_addresses = false;
  for (const testing::BackendCase& test : testing::backend_cases(opencl())) {
    SECTION(test.name) {
      const testing::Report report = testing::run_case(test, opencl(), traits);
      INFO(report.text());
      CHECK(report.ok());
    }
  }
}

TEST_CASE("opencl tensors: the host reads no element, but shows them") {
  const TensorPtr t = iota({2, 3}, opencl());
  CHECK_ERROR(Error::NotSupported, "opencl", const_data_ptr<int64_t>(t)[0]);
  CHECK(contains(to_string(t), "[[0 1 2]\n [3 4 5]]"));
}

namespace {
std::string reported;
}

TEST_CASE("opencl tensors: a backend that goes first is reported, and its tensor can be dropped") {
  static_cast<void>(opencl());
  reported.clear();
  const FailureHandler old =
      set_failure_handler([](Error, const char* message) noexcept { reported = message; });
  {
    TensorPtr t;
    {
      OpenClBackend backend;
      t = zeros({10}, backend);
    }
    CHECK(contains(reported, "backend opencl was destroyed with 1 of its blocks in use"));
    CHECK_ERROR(Error::InvalidState, "", to_binary(t));
  }
  static_cast<void>(set_failure_handler(old));
}

TEST_CASE("opencl tensors: without memory the error says who has none, and why") {
  RAISES(OutOfMemory,
         "empty: backend opencl has no memory for 4611686018427387904 bytes: clCreateBuffer: "
         "CL_INVALID_BUFFER_SIZE (-61)",
         empty({int64_t{1} << 60}, opencl()));
}

TEST_CASE("opencl tensors: a registered backend is the one of its device") {
  register_backend(opencl());
  CHECK(&backend_for("opencl:0") == &opencl());
  unregister_backend(opencl());
}

}  // namespace opencl_tensor_test
