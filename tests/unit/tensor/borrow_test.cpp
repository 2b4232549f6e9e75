// SPDX-License-Identifier: MIT
// Who has the deleter after a failure.
#include "tenon/tensor/make.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace borrow_test {

using namespace tenon;
using namespace tests;

TEST_CASE("borrow: the tensor has the deleter, after a failure the caller still does") {
  for (const int64_t size : {-1, 1}) {
    Calls calls;
    float data[1] = {};
    Deleter deleter(data, calls.deleter());
    const Dims sizes{size};
    tenon::detail::NewTensor impl;
    const detail::CreateOptions plan(own::ScalarType::Float);
    const Error error = detail::borrow(data, sizes, {}, plan, &deleter, impl);
    CHECK(error == (size < 0 ? Error::InvalidArgument : Error::Ok));
    CHECK(static_cast<bool>(deleter) == (size < 0));
    impl.reset();
    CHECK(calls.count == (size < 0 ? 0 : 1));
  }
}

}  // namespace borrow_test
