// SPDX-License-Identifier: MIT
#include "tenon/core/dims.h"

#include <forward_list>
#include <list>

#include "support/catch.h"

namespace dims_test {

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
      {{7}, {7}},
      {{n, 2, small, big, short{-5}, 6u}, {3, 2, 200, 1099511627776, -5, 6}},
      {{INT64_MIN, INT64_MAX}, {INT64_MIN, INT64_MAX}},
      {std::vector<int32_t>{1, -2, 3}, {1, -2, 3}},
      {std::vector<size_t>{4, 5}, {4, 5}},
      {std::list<long>{6, 7, 8}, {6, 7, 8}},
      {std::array<unsigned, 2>{{9, 10}}, {9, 10}},
      {array, {1, 2, 3}},
      {ArrayRef<int64_t>(dims), {1, 2, 3}},
      {Span<const uint8_t>(bytes), {2, 0, 1}},
      {detail::DimOrderArg(order), {1, 0}},
      {Dims(list.begin(), list.end()), {1, 2, 3}},
      {Dims(array + 1, array + 3), {2, 3}},
      {Dims{array, array + 2}, {1, 2}},
  };
  for (const auto& [made, expected] : rows) {
    CHECK(values(made) == expected);
    CHECK(made.size() == expected.size());
    CHECK(made.empty() == expected.empty());
    CHECK(made.error() == Error::Ok);
  }
}

TEST_CASE("dims: an unsigned value above INT64_MAX makes a list empty, with the error") {
  const uint64_t n = 2;
  const Dims lists[] = {
      Dims{n - 3, n}, Dims{n, n - 3}, Dims{1, 2, 3, 4, 5, 6, 7, uint64_t{1} << 63},
      Dims(std::vector<uint64_t>{n - 3, 1}), Dims(std::forward_list<uint64_t>{n - 3, 1})};
  for (const Dims& dims : lists) {
    CHECK(dims.empty());
    CHECK(dims.error() == Error::OutOfBounds);
  }
  CHECK(values({uint64_t{INT64_MAX}, 0u - 1u}) == Vector{INT64_MAX, 4294967295});
}

TEST_CASE("dims: 0 to 64 values are made, copied, moved and assigned, inline and on the heap") {
  for (size_t n = 0; n <= 64; ++n) {
    INFO(n << " values");
    Vector expected = counting(n);
    Dims pushed;
    for (int64_t v : expected) pushed.push_back(v);
    const Dims iterated(expected.begin(), expected.end());
    Dims source = expected;
    std::fill(expected.begin(), expected.end(), -1);  // it was copied
    expected = counting(n);
    CHECK(values(pushed) == expected);
    CHECK(values(iterated) == expected);
    CHECK(source.size() == n);
    Dims copy = source;
    CHECK(values(copy) == expected);
    for (int64_t& v : copy) v = -1;
    CHECK(values(source) == expected);
    for (size_t to : {size_t{0}, size_t{2}, size_t{6}, size_t{7}, size_t{64}}) {
      Dims target = Vector(to, -7);
      target = source;
      CHECK(values(target) == expected);
      Dims moved_to = Vector(to, -7);
      moved_to = std::move(target);
      CHECK(values(moved_to) == expected);
      CHECK(target.empty());
    }
    Dims& self = source;
    source = self;
    source = std::move(self);
    const Dims moved = std::move(source);
    CHECK(values(moved) == expected);
    CHECK(source.empty());
    source.push_back(1);  // and it can be used again
    CHECK(values(source) == Vector{1});
  }
}

// A promise of docs/guarantees.md.
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

TEST_CASE(
    "dims: what does not fit inline goes to one heap block, which holds the most there can be") {
  const auto check = [](auto list) {
    using T = typename decltype(list)::value_type;
    const T* const inline_data = list.data();
    for (T v = 0; list.size() < decltype(list)::kInlineSize; ++v) list.push_back(v);
    CHECK(list.data() == inline_data);
    list.push_back(T{7});
    const T* const heap_data = list.data();
    CHECK(heap_data != inline_data);
    while (list.size() < 64) list.push_back(T{7});
    CHECK(list.data() == heap_data);
    CHECK((list[0] == 0 && list[5] == 5 && list[63] == 7));
    list.push_back(T{7});
    CHECK(list.error() == Error::InvalidArgument);
    CHECK(list.empty());
  };
  check(Dims());
  check(DimOrder());
  STATIC_REQUIRE((Dims::kInlineSize == 6 && DimOrder::kInlineSize == 6));
}

TEST_CASE("dims: floating values, truth values, text and pointers are no sizes") {
  STATIC_REQUIRE(is_dims_list<int, size_t>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<float>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<int, float>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<bool, bool>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<int*>(nullptr));
  STATIC_REQUIRE_FALSE(is_dims_list<const char*>(nullptr));
  STATIC_REQUIRE(std::is_convertible_v<const int(&)[3], Dims>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, std::vector<float>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, std::vector<bool>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<int, Dims>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, const double*, const double*>);
}

TEST_CASE("dims: a dim order is made of braces and ranges, of dimensions' numbers alone") {
  const DimOrder order{1, 0};
  REQUIRE(order.size() == 2);
  CHECK((order[0] == 1 && order[1] == 0));
  CHECK(DimOrder(std::vector<int>{2, 0, 1}) == DimOrder{2, 0, 1});
  CHECK(DimOrder(Dims(std::vector<int>(20, 3))).size() == 20);
  CHECK(DimOrder{}.empty());
  CHECK(detail::check_dim_order(order.error()) == Error::Ok);
  for (const int64_t wrong : {int64_t{-1}, int64_t{64}, int64_t{256}, INT64_MIN}) {
    INFO(wrong);
    RETURNS(InvalidArgument, "dim_order has a value that is not a dimension",
            detail::check_dim_order(DimOrder{0, wrong}.error()));
  }
  RETURNS(InvalidArgument, "dim_order has a value that is not a dimension",
          detail::check_dim_order(DimOrder{0, UINT64_MAX}.error()));
  RETURNS(InvalidArgument, "dim_order has more than 64 entries",
          detail::check_dim_order(DimOrder(Dims(std::vector<int>(65))).error()));
}

}  // namespace dims_test
