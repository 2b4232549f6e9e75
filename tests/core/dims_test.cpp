// SPDX-License-Identifier: MIT
#include "tenon/core/dims.h"

#include <forward_list>
#include <list>

#include "support/catch.h"

using namespace tenon;

namespace {

using Vector = std::vector<int64_t>;

// What a function that takes sizes sees of an argument.
Vector values(const Dims& dims) { return Vector(dims.begin(), dims.end()); }

// 10, 11, 12, …
Vector counting(size_t n) {
  Vector result;
  for (size_t i = 0; i < n; ++i) result.push_back(static_cast<int64_t>(10 + i));
  return result;
}

template <class... T>
constexpr bool is_dims_list(decltype(Dims{std::declval<T>()...}) *) {
  return true;
}
template <class... T>
constexpr bool is_dims_list(...) {
  return false;
}

}  // namespace

TEST_CASE("dims: braces, ranges, spans and pairs of iterators of any integers convert") {
  const size_t n = 3;
  const uint8_t small = 200;
  const long long big = int64_t{1} << 40;
  const int array[] = {1, 2, 3};
  const uint8_t bytes[] = {2, 0, 1};
  const std::list<short> list = {1, 2, 3};
  const Dims dims = {1, 2, 3};
  DimOrder order;
  order.push_back(1);
  order.push_back(0);
  const std::pair<Dims, Vector> rows[] = {
      {Dims(), {}},
      {{}, {}},
      {{7}, {7}},
      {{n, 2, small, big, short{-5}, 6u}, {3, 2, 200, 1099511627776, -5, 6}},
      {{INT64_MIN, INT64_MAX}, {INT64_MIN, INT64_MAX}},
      {std::vector<int32_t>{1, -2, 3}, {1, -2, 3}},
      {std::vector<size_t>{4, 5}, {4, 5}},
      {std::vector<int>(), {}},
      {std::list<long>{6, 7, 8}, {6, 7, 8}},
      {std::array<unsigned, 2>{{9, 10}}, {9, 10}},
      {array, {1, 2, 3}},
      {ArrayRef<int64_t>(dims), {1, 2, 3}},
      {Span<const uint8_t>(bytes), {2, 0, 1}},
      {order, {1, 0}},
      {Dims(list.begin(), list.end()), {1, 2, 3}},
      {Dims(array + 1, array + 3), {2, 3}},
      {Dims{array, array + 2}, {1, 2}},
      {Dims(array, array), {}},
  };
  for (const auto& [made, expected] : rows) {
    CHECK(values(made) == expected);
    CHECK(made.size() == expected.size());
    CHECK(made.empty() == expected.empty());
    CHECK(made.error() == Error::Ok);
  }
}

TEST_CASE("dims: an unsigned value above INT64_MAX makes a list empty, with the error") {
  const size_t n = 2;
  const Dims lists[] = {
      Dims{n - 3, n}, Dims{n, n - 3}, Dims{1, 2, 3, 4, 5, 6, 7, uint64_t{1} << 63},
      Dims(std::vector<uint64_t>{n - 3, 1}), Dims(std::forward_list<size_t>{n - 3, 1})};
  for (const Dims& dims : lists) {
    CHECK(dims.empty());
    CHECK(dims.error() == Error::OutOfBounds);
  }
  CHECK(values({uint64_t{INT64_MAX}, 0u - 1u}) == Vector{INT64_MAX, 4294967295});
  const size_t range[] = {n, n - 3};
  CHECK(Dims(range, range + 2).error() == Error::OutOfBounds);
  CHECK(Dims(range, range + 1) == Dims{2});
}

TEST_CASE("dims: the values are copied, so their source may die or change") {
  std::vector<int> source = {1, 2, 3};
  const Dims dims = source;
  source[0] = 9;
  source.clear();
  CHECK(values(dims) == Vector{1, 2, 3});
}

TEST_CASE("dims: 0 to 64 values are kept in order, with all ways of making them") {
  for (size_t n = 0; n <= 64; ++n) {
    const Vector expected = counting(n);
    Dims pushed;
    for (int64_t v : expected) pushed.push_back(v);
    const Dims ranged = expected;
    const Dims iterated(expected.begin(), expected.end());
    INFO(n << " values");
    CHECK(values(pushed) == expected);
    CHECK(values(ranged) == expected);
    CHECK(values(iterated) == expected);
    CHECK(pushed.error() == Error::Ok);
    CHECK(ranged.size() == n);
    CHECK(ranged.empty() == (n == 0));
    if (n > 0) {
      CHECK(ranged.back() == expected.back());
      CHECK(ranged[n / 2] == expected[n / 2]);
    }
  }
}

TEST_CASE("dims: 65 values are InvalidArgument, none is kept, and copies have the error too") {
  const Vector many = counting(65);
  Dims pushed = counting(64);
  CHECK(pushed.error() == Error::Ok);
  pushed.push_back(1);
  pushed.push_back(2);  // the error stays
  Dims copy = pushed;
  Dims assigned = {1, 2};
  assigned = copy;
  const Dims moved = std::move(copy);
  for (const Dims& dims : {Dims(many), Dims(many.begin(), many.end()), pushed, assigned, moved}) {
    CHECK(dims.error() == Error::InvalidArgument);
    CHECK(dims.empty());
  }
  assigned = Dims{3};
  CHECK(assigned.error() == Error::Ok);
  CHECK(values(assigned) == Vector{3});
}

TEST_CASE("dims: copies are independent, moves leave nothing behind, inline and on the heap") {
  for (size_t n : std::initializer_list<size_t>{0, 1, 5, 6, 7, 8, 63, 64}) {
    INFO(n << " values");
    const Vector expected = counting(n);
    Dims source = expected;
    Dims copy = source;
    CHECK(values(copy) == expected);
    if (n > 0) {
      copy[0] = -1;
      CHECK(source[0] == 10);
    }
    const Dims moved = std::move(source);
    CHECK(values(moved) == expected);
    CHECK(source.empty());
    source.push_back(1);  // and it can be used again
    CHECK(values(source) == Vector{1});
  }
}

TEST_CASE("dims: assignment replaces lists of any length by lists of any length") {
  for (size_t from : std::initializer_list<size_t>{0, 3, 6, 7, 64}) {
    for (size_t to : std::initializer_list<size_t>{0, 2, 6, 7, 64}) {
      INFO(from << " values replace " << to);
      const Dims source = counting(from);
      Dims target = Vector(to, -7);
      target = source;
      CHECK(values(target) == counting(from));
      Dims moved_to = Vector(to, -7);
      Dims moved_from = source;
      moved_to = std::move(moved_from);
      CHECK(values(moved_to) == counting(from));
      CHECK(moved_from.empty());
    }
  }
  Dims heap = counting(20);
  const Dims& same = heap;
  heap = same;
  CHECK(values(heap) == counting(20));
  Dims& self = heap;
  heap = std::move(self);
  CHECK(values(heap) == counting(20));
}

TEST_CASE("dims: a list that has grown to the heap grows on from there") {
  Dims dims = counting(6);
  const int64_t* const inline_data = dims.data();
  dims.push_back(16);
  CHECK(dims.data() != inline_data);
  const int64_t* const heap_data = dims.data();
  for (int64_t v = 17; v < 74; ++v) dims.push_back(v);
  CHECK(dims.data() == heap_data);  // one block holds the most that there can be
  CHECK(values(dims) == counting(64));
}

TEST_CASE("dims: resize_for_overwrite keeps the values that stay") {
  for (size_t n : std::initializer_list<size_t>{3, 6, 20}) {
    Dims dims = counting(n);
    CHECK(dims.resize_for_overwrite(n + 2));
    CHECK(dims.size() == n + 2);
    dims[n] = dims[n + 1] = 0;
    CHECK(Vector(dims.begin(), dims.begin() + n) == counting(n));
    CHECK(dims.resize_for_overwrite(2));
    CHECK(values(dims) == Vector{10, 11});
    CHECK(values(Dims(dims)) == Vector{10, 11});  // short again, and on the heap where it grew
  }
  Dims dims = {1, 2};
  CHECK_FALSE(dims.resize_for_overwrite(65));
  CHECK(dims.error() == Error::InvalidArgument);
  CHECK(dims.empty());
  CHECK_FALSE(dims.resize_for_overwrite(1));
}

TEST_CASE("dims: equal means the same values in the same order, and elements can be changed") {
  CHECK(Dims{1, 2, 3} == Dims{1, 2, 3});
  CHECK_FALSE(Dims{1} != Dims{1});
  CHECK(Dims{1, 2, 3} != Dims{1, 3, 2});
  CHECK(Dims{1, 2} != Dims{1, 2, 3});
  CHECK(Dims(counting(20)) == Dims(counting(20)));
  CHECK(ArrayRef<int64_t>(Dims{1, 2}) != ArrayRef<int64_t>());
  Dims dims = {1, 2, 3};
  dims[1] = 20;
  for (int64_t& v : dims) v += 1;
  *dims.data() = 0;
  CHECK(values(dims) == Vector{0, 21, 4});
}

TEST_CASE("dims: floating values, truth values, text and pointers are no sizes") {
  STATIC_REQUIRE(is_dims_list<int, size_t>(nullptr));
  STATIC_REQUIRE(is_dims_list<uint8_t>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<float>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<int, float>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<bool, bool>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<int*>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<std::nullptr_t>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<const char*>(nullptr));
  STATIC_REQUIRE(std::is_convertible_v<const int(&)[3], Dims>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, std::vector<float>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, std::vector<bool>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, std::vector<std::string>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<int, Dims>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, const double*, const double*>);
}

TEST_CASE("dims: making, copying and moving them never throws") {
  STATIC_REQUIRE(std::is_nothrow_default_constructible_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<Dims, const std::vector<int>&>);
}

TEST_CASE("dims: a dim order holds 8 numbers inline and 64 at most") {
  DimOrder order;
  const uint8_t* const inline_data = order.data();
  for (uint8_t d = 0; d < 8; ++d) order.push_back(d);
  CHECK(order.data() == inline_data);
  for (uint8_t d = 8; d < 64; ++d) order.push_back(d);
  CHECK(order.data() != inline_data);
  REQUIRE(order.size() == 64);
  int wrong = 0;
  for (uint8_t d = 0; d < 64; ++d) wrong += order[d] == d ? 0 : 1;
  CHECK(wrong == 0);
  order.push_back(64);
  CHECK(order.error() == Error::InvalidArgument);
  CHECK(order.empty());
}

TEST_CASE("dims: messages show them in braces") {
  char buffer[64];
  detail::Message message(buffer, sizeof buffer);
  append(message, Dims{2, -3});
  DimOrder order;
  order.push_back(1);
  order.push_back(0);
  append(message, order);
  CHECK(std::string(buffer) == "{2, -3}{1, 0}");
}
