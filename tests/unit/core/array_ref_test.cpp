// SPDX-License-Identifier: MIT
#include "tenon/core/array_ref.h"

#include "support/catch.h"

namespace array_ref_test {

using namespace tenon;

namespace {
struct Base {
  int x;
};
struct Derived : Base {
  int y;
};
}  // namespace

TEST_CASE("array_ref: equality compares the elements, not the addresses") {
  const int a[] = {1, 2, 3};
  const int b[] = {1, 2, 3};
  const int c[] = {1, 2, 4};
  CHECK(ArrayRef<int>(a) == ArrayRef<int>(b));
  CHECK(ArrayRef<int>(a) != ArrayRef<int>(c));
  CHECK(ArrayRef<int>(a, 2) != ArrayRef<int>(a, 3));
  CHECK(ArrayRef<int>(a) == std::vector<int>{1, 2, 3});
}

TEST_CASE("array_ref: constness and the element type are never lost in a conversion") {
  using Vector = std::vector<int>;
  STATIC_REQUIRE(std::is_convertible_v<Vector&, Span<int>>);
  STATIC_REQUIRE(std::is_convertible_v<const Vector&, ArrayRef<int>>);
  STATIC_REQUIRE(std::is_convertible_v<Vector, ArrayRef<int>>);
  STATIC_REQUIRE(std::is_convertible_v<Span<int>, ArrayRef<int>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Span<int>, const Vector&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Span<int>, Vector>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Span<int>, ArrayRef<int>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<ArrayRef<int>, const std::vector<long>&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<ArrayRef<int>, const std::vector<unsigned>&>);
  // Indexing an array of Derived through a Base* would step by the wrong size.
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Span<Base>, std::vector<Derived>&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<ArrayRef<int>, const std::vector<bool>&>);
}

}  // namespace array_ref_test
