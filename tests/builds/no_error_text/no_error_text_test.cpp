// SPDX-License-Identifier: MIT
// TENON_ERROR_TEXT=0: Error values stay, messages are their names.
#include <string>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/compat/executorch.h"
#include "tenon/interop/npy.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"

namespace no_error_text_test {

using namespace tenon;

TEST_CASE("no error text: what is thrown has the error's name as its message") {
  CHECK_ERROR(Error::InvalidArgument, "InvalidArgument", zeros({-1}));
  CHECK(last_error_message() == std::string("InvalidArgument"));
  CHECK_ERROR(Error::InUse, "InUse", check(Error::InUse));
  CHECK_ERROR(Error::OutOfBounds, "OutOfBounds", slice(zeros({4}), 3, 0, 1));
  CHECK_ERROR(Error::InvalidType, "InvalidType", zeros({2})->const_data_ptr<int32_t>());
}

// A promise of docs/guarantees.md.
TEST_CASE("no error text: results and returned errors keep their values") {
  const Result<TensorPtr> refused = try_make_tensor_ptr({2, 2}, {1.0f});
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK(refused.message() == std::string("InvalidArgument"));
  CHECK(refused.message() == toString(Error::InvalidArgument));  // no copy on the heap
  TensorPtr t = make_tensor_ptr({3}, {1.0f, 2.0f, 3.0f}, TensorShapeDynamism::STATIC);
  CHECK(resize_tensor_ptr(t, {2}) == Error::NotSupported);
  CHECK(last_error_message() == std::string("NotSupported"));
  CHECK(to_string(t) == "[1. 2. 3.]\nFloat {3}");
}

TEST_CASE("no error text: a backend's error and a module's keep their values") {
  alignas(64) char memory[256];
  ArenaBackend arena(memory, sizeof memory);
  CHECK_ERROR(Error::OutOfMemory, "OutOfMemory", zeros({1000}, arena));
  FunctionModule module(
      [](ArrayRef<EValue> inputs) { return std::vector<EValue>{inputs[0].toInt() + 1}; });
  CHECK((*module.forward({EValue(1)}))[0].toInt() == 2);
  CHECK(module.forward({EValue(0.5)}).error() == Error::InvalidType);
}

TEST_CASE("no error text: misuse found in a destructor reaches the failure handler") {
  static std::string reported;
  const FailureHandler old = set_failure_handler([](Error error, const char* message) noexcept {
    reported = std::string(toString(error)) + "|" + message;
  });
  TensorPtr t;
  {
    alignas(64) static char memory[4096];
    ArenaBackend arena(memory, sizeof memory);
    t = zeros({4}, arena);
  }
  set_failure_handler(old);
  CHECK(reported == "InUse|InUse");
}

}  // namespace no_error_text_test
