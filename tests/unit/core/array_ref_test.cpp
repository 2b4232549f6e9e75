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
int sum(ArrayRef<int> values) {
  int total = 0;
  for (int v : values) total += v;
  return total;
}
}  // namespace

TEST_CASE("array_ref: a span refers to the elements of what it was made from") {
  int array[] = {1, 2, 3};
  std::vector<int> vector = {4, 5};
  std::array<int, 4> fixed = {6, 7, 8, 9};

  CHECK(Span<int>(array).data() == array);
  CHECK(Span<int>(array).size() == 3);
  CHECK(Span<int>(array + 1, 2).front() == 2);
  CHECK(Span<int>(vector).data() == vector.data());
  CHECK(Span<int>(vector).size() == 2);
  CHECK(Span<int>(fixed).data() == fixed.data());
  CHECK(Span<int>(fixed).size() == 4);

  const std::vector<int> constant = {1};
  CHECK(ArrayRef<int>(constant).data() == constant.data());
  CHECK(ArrayRef<int>(vector).data() == vector.data());
  CHECK(ArrayRef<int>(Span<int>(vector)).data() == vector.data());
}

TEST_CASE("array_ref: functions taking ArrayRef accept arrays, containers and temporaries") {
  const int array[] = {1, 2};
  CHECK(sum(array) == 3);
  CHECK(sum(std::vector<int>{1, 2, 3}) == 6);
  CHECK(sum(std::array<int, 2>{{5, 6}}) == 11);
  CHECK(sum({}) == 0);
  CHECK(Span<int>().empty());
  CHECK(Span<int>().data() == nullptr);
}

TEST_CASE("array_ref: elements are read and written in place, vec() is a copy") {
  int array[] = {1, 2, 3};
  const Span<int> span(array);
  const std::vector<int> copy = span.vec();
  CHECK((span[0] == 1 && span.front() == 1 && span.back() == 3));
  span[1] = 20;
  span.front() = 10;
  for (int& v : Span<int>(array + 2, 1)) v = 30;
  CHECK(span.vec() == std::vector<int>{10, 20, 30});
  CHECK(copy == std::vector<int>{1, 2, 3});
  CHECK(ArrayRef<int>().vec().empty());
  static constexpr int values[] = {3, 4, 5};
  constexpr ArrayRef<int> constant(values);
  STATIC_REQUIRE((constant.size() == 3 && constant[1] == 4 && constant.back() == 5));
}

TEST_CASE("array_ref: equality compares the elements, not the addresses") {
  const int a[] = {1, 2, 3};
  const int b[] = {1, 2, 3};
  const int c[] = {1, 2, 4};
  CHECK(ArrayRef<int>(a) == ArrayRef<int>(b));
  CHECK_FALSE(ArrayRef<int>(a) != ArrayRef<int>(b));
  CHECK(ArrayRef<int>(a) != ArrayRef<int>(c));
  CHECK_FALSE(ArrayRef<int>(a) == ArrayRef<int>(c));
  CHECK(ArrayRef<int>(a, 2) != ArrayRef<int>(a, 3));
  CHECK(ArrayRef<int>(a, 0) == ArrayRef<int>());
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

TEST_CASE("array_ref: a span is a pointer and a length, copied as bytes") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<Span<int>>);
  STATIC_REQUIRE(sizeof(Span<int>) == 2 * sizeof(void*));
  STATIC_REQUIRE(std::is_same_v<ArrayRef<int>, Span<const int>>);
  STATIC_REQUIRE(std::is_same_v<ArrayRef<int>::value_type, int>);
}

}  // namespace array_ref_test
