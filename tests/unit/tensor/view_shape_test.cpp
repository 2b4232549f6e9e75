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

TEST_CASE("view shape: offsets add up over the dimensions, of either sign") {
  ViewShape s = shape({4, 5}, {-10, 2});
  REQUIRE(s.flip({0, 1}) == Error::Ok);
  CHECK(s.offset == -30 + 8);
  CHECK(strides_of(s) == Vector{10, -2});
  REQUIRE(s.select(0, 1) == Error::Ok);
  CHECK(s.offset == -30 + 8 + 10);
}

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

TEST_CASE("view shape: dimensions of size 1 get the stride of what they enclose") {
  ViewShape s = shape({2, 3}, {3, 1});
  REQUIRE(s.view({1, 2, 1, 3, 1}) == Error::Ok);
  CHECK(strides_of(s) == Vector{6, 3, 3, 1, 1});
  s = shape({1, 1}, {7, 9});
  REQUIRE(s.view({}) == Error::Ok);
  CHECK(s.rank() == 0);
}

TEST_CASE("view shape: a view without elements stays at the source's element 0") {
  ViewShape s = shape({5, 2}, {3, 1});
  CHECK(s.slice(0, 5, 5, 1) == Error::Ok);
  CHECK(s.narrow(1, 2, 0) == Error::Ok);
  CHECK(s.offset == 0);
}

}  // namespace view_shape_test
