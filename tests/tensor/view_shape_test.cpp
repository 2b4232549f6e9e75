// SPDX-License-Identifier: MIT
// ViewShape alone: what needs no view to be seen, and shapes of sizes that no memory has.
#include "tenon/tensor/view_shape.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::ImplAccess;
using tenon::detail::ViewShape;
using tenon::detail::wrap_dim;
using tenon::detail::wrap_dim_or_scalar;
using namespace tests;

namespace {

Vector list(const Dims& dims) { return Vector(dims.begin(), dims.end()); }
Vector list(const DimOrder& order) { return Vector(order.begin(), order.end()); }

// The shape of a placeholder.
class Source {
 public:
  Source(ScalarType type, const Vector& sizes, const Vector& strides)
      : impl_(type, static_cast<int64_t>(sizes.size()), sizes.data(), nullptr, nullptr,
              strides.data()) {}
  ViewShape shape() const { return ViewShape(ImplAccess::fields(impl_)); }

 private:
  TensorImpl impl_;
};

ViewShape shape(const Vector& sizes, const Vector& strides) {
  return Source(ScalarType::Int, sizes, strides).shape();
}

}  // namespace

TEST_CASE("wrap_dim: negative dimensions count from the end, what is out of range is named") {
  size_t d = 0;
  REQUIRE(wrap_dim(1, 3, d) == Error::Ok);
  CHECK(d == 1);
  REQUIRE(wrap_dim(-3, 3, d) == Error::Ok);
  CHECK(d == 0);
  RETURNS(OutOfBounds, "dimension 3 is out of range for a tensor of 3 dimensions",
          wrap_dim(3, 3, d));
  RETURNS(OutOfBounds, "dimension -4 is out of range for a view of 3 dimensions",
          wrap_dim(-4, 3, d, "view"));
  RETURNS(OutOfBounds, "dimension 0 is out of range for a tensor of 0 dimensions",
          wrap_dim(0, 0, d));
  RETURNS(OutOfBounds, "-9223372036854775808", wrap_dim(INT64_MIN, 3, d));
}

TEST_CASE("wrap_dim_or_scalar: rank 0 has the dimensions 0 and -1") {
  size_t d = 1;
  REQUIRE(wrap_dim_or_scalar(-1, 0, d) == Error::Ok);
  CHECK(d == 0);
  REQUIRE(wrap_dim_or_scalar(0, 0, d) == Error::Ok);
  RETURNS(OutOfBounds, "a tensor of 0 dimensions", wrap_dim_or_scalar(1, 0, d));
  REQUIRE(wrap_dim_or_scalar(-1, 2, d) == Error::Ok);
  CHECK(d == 1);
}

TEST_CASE("view shape: starts as the source's") {
  const ViewShape s = shape({2, 3}, {1, 2});
  CHECK(list(s.sizes) == Vector{2, 3});
  CHECK(list(s.strides) == Vector{1, 2});
  CHECK(list(s.dim_order) == Vector{1, 0});
  CHECK(s.offset == 0);
  CHECK(s.type == ScalarType::Int);
}

TEST_CASE("view shape: offsets add up over the dimensions, of either sign") {
  ViewShape s = shape({4, 5}, {-10, 2});
  REQUIRE(s.flip({0, 1}) == Error::Ok);
  CHECK(s.offset == -30 + 8);
  CHECK(list(s.strides) == Vector{10, -2});
  REQUIRE(s.select(0, 1) == Error::Ok);
  CHECK(s.offset == -30 + 8 + 10);
}

TEST_CASE("view shape: the dim order follows dimensions that leave, enter and move") {
  ViewShape s = shape({2, 3, 4, 5}, {1, 2, 30, 6});
  CHECK(list(s.dim_order) == Vector{2, 3, 1, 0});
  REQUIRE(s.select(1, 0) == Error::Ok);
  CHECK(list(s.dim_order) == Vector{1, 2, 0});
  REQUIRE(s.unsqueeze(1) == Error::Ok);
  CHECK(list(s.dim_order) == Vector{1, 2, 3, 0});
  REQUIRE(s.unsqueeze(-1) == Error::Ok);
  CHECK(list(s.dim_order) == Vector{1, 2, 3, 0, 4});
  REQUIRE(s.transpose(0, 4) == Error::Ok);
  CHECK(list(s.dim_order) == Vector{1, 2, 3, 4, 0});
  REQUIRE(s.permute({4, 3, 2, 1, 0}) == Error::Ok);
  CHECK(list(s.dim_order) == Vector{3, 2, 1, 0, 4});
  REQUIRE(s.squeeze() == Error::Ok);
  CHECK(list(s.dim_order) == Vector{2, 1, 0});
}

TEST_CASE("view shape: the strides of a shape without elements overflow nothing") {
  const Vector sizes = {0, 3, 2};
  const Vector strides = {INT64_MAX, INT64_MAX, INT64_MIN};
  ViewShape s = shape(sizes, strides);
  CHECK(s.select(1, 2) == Error::Ok);
  CHECK(s.offset == 0);
  s = shape(sizes, strides);
  CHECK(s.narrow(1, 2, 1) == Error::Ok);
  CHECK(s.slice(2, 1, 2, 5) == Error::Ok);
  CHECK(s.flip({0, 1, 2}) == Error::Ok);
  CHECK(s.offset == 0);
  CHECK(s.unsqueeze(1) == Error::Ok);
  CHECK(s.unsqueeze(0) == Error::Ok);
  s = shape(sizes, strides);
  CHECK(s.view_as_type(ScalarType::Byte) == Error::Ok);
  CHECK(list(s.sizes) == Vector{0, 3, 8});
  s = shape(sizes, strides);
  CHECK(s.view_as_type(ScalarType::Double) == Error::Ok);
  CHECK(list(s.sizes) == Vector{0, 3, 1});
  s = shape(sizes, strides);
  CHECK(s.view({0, -1, 4}) == Error::InvalidArgument);
  CHECK(s.view({4, 0}) == Error::Ok);
}

TEST_CASE("view shape: neither do those of dimensions of size 1, and those at the limit") {
  ViewShape s = shape({1, 2}, {INT64_MIN, 1});
  CHECK(s.flip({0, 1}) == Error::Ok);
  CHECK(s.offset == 1);
  CHECK(s.unsqueeze(0) == Error::Ok);
  CHECK(s.view_as_type(ScalarType::UInt32) == Error::Ok);
  s = shape({1, 2}, {INT64_MIN, 1});
  CHECK(s.view_as_type(ScalarType::Byte) == Error::Ok);
  CHECK(list(s.sizes) == Vector{1, 8});
  CHECK(s.strides[1] == 1);

  const int64_t largest = PTRDIFF_MAX - 1;
  s = Source(ScalarType::Byte, {2}, {largest}).shape();
  CHECK(s.unsqueeze(0) == Error::Ok);
  CHECK(s.view({1, 2, 1}) == Error::Ok);
  CHECK(s.strides[1] == largest);
  CHECK(s.flip({1}) == Error::Ok);
  CHECK(s.offset == largest);
  s = Source(ScalarType::Byte, {2}, {-PTRDIFF_MAX}).shape();
  CHECK(s.flip({0}) == Error::Ok);
  CHECK(s.offset == -PTRDIFF_MAX);
  CHECK(s.strides[0] == PTRDIFF_MAX);
}

TEST_CASE("view shape: a view without elements stays at the source's element 0") {
  ViewShape s = shape({5, 2}, {3, 1});
  CHECK(s.slice(0, 5, 5, 1) == Error::Ok);
  CHECK(s.offset == 0);
  s = shape({5, 2}, {3, 1});
  CHECK(s.narrow(0, 5, 0) == Error::Ok);
  CHECK(s.offset == 0);
}

TEST_CASE("view shape: a dimension too many is refused wherever it enters") {
  const Vector one_values(64, 1);
  ViewShape s = shape(one_values, one_values);
  RETURNS(InvalidArgument, "sizes has more than 64 entries", s.unsqueeze(3));
  s = shape({}, {});
  RETURNS(InvalidArgument, "sizes has more than 64 entries", s.expand(Vector(65, 1)));
  CHECK(s.expand(one_values) == Error::Ok);
  CHECK(s.sizes.size() == 64);
  CHECK(s.flatten(0, -1) == Error::Ok);
}
