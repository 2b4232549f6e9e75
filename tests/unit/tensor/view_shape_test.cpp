// SPDX-License-Identifier: MIT
// ViewShape alone: shapes of sizes and strides that no memory has.
#include "tenon/tensor/view_shape.h"

#include "support/catch.h"
#include "tensor/helpers.h"

namespace view_shape_test {

using namespace tenon;
using tenon::detail::make_layout;
using tenon::detail::ViewShape;
using namespace tests;

namespace {

// The shape of a placeholder.
ViewShape shape(const Vector& sizes, const Vector& strides,
                own::ScalarType type = own::ScalarType::Int) {
  tenon::detail::TensorFields fields;
  fields.type = type;
  REQUIRE(make_layout(sizes, {}, strides, elementSize(type), fields.layout) == Error::Ok);
  return ViewShape(fields);
}
Vector sizes_of(const ViewShape& s) { return list(s.sizes); }
Vector strides_of(const ViewShape& s) { return list(s.strides); }

}  // namespace

TEST_CASE("view shape: the strides of a shape without elements overflow nothing") {
  const ViewShape source = shape({0, 3, 2}, {INT64_MAX, INT64_MAX, INT64_MIN});
  ViewShape s = source;
  CHECK(s.narrow(1, 2, 1) == Error::Ok);
  CHECK(s.slice(2, 1, 2, 5) == Error::Ok);
  CHECK(s.flip({0, 1, 2}) == Error::Ok);
  CHECK(s.unsqueeze(1) == Error::Ok);
  CHECK(s.unsqueeze(0) == Error::Ok);
  CHECK(s.select(3, 0) == Error::Ok);
  CHECK(s.offset == 0);
  s = source;
  CHECK(s.view_as_type(own::ScalarType::Byte) == Error::Ok);
  CHECK(sizes_of(s) == Vector{0, 3, 8});
  s = source;
  CHECK(s.view_as_type(own::ScalarType::Double) == Error::Ok);
  CHECK(sizes_of(s) == Vector{0, 3, 1});
  s = source;
  CHECK(s.view({0, -1, 4}) == Error::InvalidArgument);
  CHECK(s.view({4, 0}) == Error::Ok);
}

TEST_CASE("view shape: neither do those of dimensions of size 1, and those at the limit") {
  const ViewShape source = shape({1, 2}, {PTRDIFF_MIN, 1});
  ViewShape s = source;
  CHECK(s.flip({0, 1}) == Error::Ok);
  CHECK(s.offset == 1);
  CHECK(s.unsqueeze(0) == Error::Ok);
  CHECK(s.view_as_type(own::ScalarType::UInt32) == Error::Ok);
  s = source;
  CHECK(s.view_as_type(own::ScalarType::Byte) == Error::Ok);
  CHECK(sizes_of(s) == Vector{1, 8});
  CHECK(strides_of(s)[1] == 1);

  const int64_t largest = PTRDIFF_MAX - 1;
  s = shape({2}, {largest}, own::ScalarType::Byte);
  CHECK(s.unsqueeze(0) == Error::Ok);
  CHECK(s.view({1, 2, 1}) == Error::Ok);
  CHECK(strides_of(s)[1] == largest);
  CHECK(s.flip({1}) == Error::Ok);
  CHECK(s.offset == largest);
  s = shape({2}, {-PTRDIFF_MAX}, own::ScalarType::Byte);
  CHECK(s.flip({0}) == Error::Ok);
  CHECK(s.offset == -PTRDIFF_MAX);
  CHECK(strides_of(s) == Vector{PTRDIFF_MAX});
  constexpr int64_t kFar = PTRDIFF_MAX / 8 + 1;
  s = shape({2, 2}, {-kFar, kFar}, own::ScalarType::Byte);
  CHECK(s.view({2, 1, 2}) == Error::Ok);
  CHECK(strides_of(s)[0] == -kFar);
}

}  // namespace view_shape_test
