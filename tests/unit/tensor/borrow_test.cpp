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

TEST_CASE("borrow_checked: an importer's type must be the pointer's, unless that is to bytes") {
  float data[1] = {};
  tenon::detail::NewTensor impl;
  const detail::CreateOptions plan(own::ScalarType::Int);
  RETURNS(InvalidType, "the data pointer is to Float, the type given is Int",
          detail::borrow_checked(data, {1}, {}, {}, plan, nullptr, impl));
  void* const bytes = data;
  CHECK(detail::borrow_checked(bytes, {1}, {}, {}, plan, nullptr, impl) == Error::Ok);
}

TEST_CASE("borrow_checked: where strides are refused the deleter runs once") {
  Calls calls;
  float data[6] = {};
  Deleter deleter(data, calls.deleter());
  tenon::detail::NewTensor impl;
  const detail::CreateOptions plan(own::ScalarType::Float);
  RETURNS(InvalidArgument, "strides {1} and sizes {2, 3} differ in length",
          detail::borrow_checked(data, {2, 3}, {}, {1}, plan, &deleter, impl));
  deleter.reset();
  impl.reset();
  CHECK(calls.count == 1);
  RAISES(InvalidArgument, "from_blob: strides {1} and sizes {2, 3} differ in length",
         from_blob(data, {2, 3}, {1}, ScalarType::Float, calls.deleter()));
  CHECK(calls.count == 2);
}

}  // namespace borrow_test
