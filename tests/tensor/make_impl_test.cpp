// SPDX-License-Identifier: MIT
#include "tenon/tensor/make_impl.h"

#include <utility>

#include "support/catch.h"
#include "tensor/helpers.h"

using namespace tenon;
using tests::Calls;
namespace detail = tenon::detail;

TEST_CASE("make_impl: after a failure the caller still has the deleter") {
  Calls calls;
  float data[1] = {};
  {
    Deleter deleter(data, calls.deleter());
    TensorImplPtr impl;
    CHECK(detail::make_from_pointer(data, {-1}, {}, {}, TypeArg::deduced(),
                                    TensorShapeDynamism::DYNAMIC_BOUND, Device(), deleter,
                                    impl) == Error::InvalidArgument);
    impl.reset();
    CHECK(calls.count == 0);
    CHECK(static_cast<bool>(deleter));
  }
  CHECK(calls.count == 1);
}

TEST_CASE("make_impl: after a success the impl has it") {
  Calls calls;
  float data[1] = {};
  Deleter deleter(data, calls.deleter());
  TensorImplPtr impl;
  REQUIRE(detail::make_from_pointer(data, {1}, {}, {}, TypeArg::deduced(),
                                    TensorShapeDynamism::DYNAMIC_BOUND, Device(), deleter,
                                    impl) == Error::Ok);
  CHECK_FALSE(static_cast<bool>(deleter));
  impl.reset();
  CHECK(calls.count == 1);
}
