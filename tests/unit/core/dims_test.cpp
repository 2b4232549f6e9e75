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
      {detail::DimOrderArg(order), {1, 0}},
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
  const uint64_t n = 2;
  const Dims lists[] = {
      Dims{n - 3, n}, Dims{n, n - 3}, Dims{1, 2, 3, 4, 5, 6, 7, uint64_t{1} << 63},
      Dims(std::vector<uint64_t>{n - 3, 1}), Dims(std::forward_list<uint64_t>{n - 3, 1})};
  for (const Dims& dims : lists) {
    CHECK(dims.empty());
    CHECK(dims.error() == Error::OutOfBounds);
  }
  CHECK(values({uint64_t{INT64_MAX}, 0u - 1u}) == Vector{INT64_MAX, 4294967295});
  const uint64_t range[] = {n, n - 3};
  CHECK(Dims(range, range + 2).error() == Error::OutOfBounds);
  CHECK(Dims(range, range + 1) == Dims{2});
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

TEST_CASE("dims: making them from a list, copying and moving them never throws") {
  STATIC_REQUIRE(std::is_nothrow_default_constructible_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<Dims>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<Dims, std::initializer_list<detail::DimArg>>);
}

TEST_CASE("dims: enumerators of C's kind and integral constants are sizes, scoped ones are not") {
  enum { kRows = 3, kColumns = 2 };
  enum Channels : uint8_t { kRed, kGreen, kBlue, kCount };
  enum class Axis { Rows };
  enum Flag : bool { kNo, kYes };
  const Dims dims{kRows, kColumns, kCount, std::integral_constant<size_t, 5>(), 7};
  CHECK(dims == Dims{3, 2, 3, 5, 7});
  CHECK(Dims(std::vector<Channels>{kGreen, kBlue}) == Dims{1, 2});
  enum : uint64_t { kHuge = UINT64_MAX };
  CHECK(Dims{kHuge}.error() == Error::OutOfBounds);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<detail::DimArg, Axis>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<detail::DimArg, Flag>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<detail::DimArg, std::true_type>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<detail::DimArg, ScalarType>);
}

TEST_CASE("dims: strides as an option are made as Dims are, and are not sizes") {
  const std::vector<int> list = {3, -1};
  CHECK(Strides{3, -1}.dims() == Dims{3, -1});
  CHECK(Strides(list).dims() == Dims{3, -1});
  CHECK(Strides{Dims{3, -1}}.dims() == Dims{3, -1});
  CHECK(Strides{}.dims().empty());
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Dims, Strides>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Dims, Strides>);
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

TEST_CASE("dims: a dim order is made of what tensors return, and compares") {
  const DimOrderType numbers[] = {1, 0};
  const DimOrder order = ArrayRef<DimOrderType>(numbers);
  const DimOrder copied = std::vector<uint8_t>{1, 0};
  CHECK(order == DimOrder{1, 0});
  CHECK(order == copied);
  CHECK(order != DimOrder{0, 1});
  CHECK(order == ArrayRef<DimOrderType>(numbers));
}

TEST_CASE("dims: parameters of strides take Strides, those of a dim order a DimOrder") {
  using detail::DimOrderArg;
  using detail::StridesArg;
  const Dims list{3, -1};
  for (const StridesArg& strides : {StridesArg{3, -1}, StridesArg(list), StridesArg(Strides{3, -1}),
                                    StridesArg(std::vector<int>{3, -1})}) {
    CHECK(strides == list);
  }
  CHECK(StridesArg() == Dims());
  CHECK(StridesArg(Strides{UINT64_MAX}).error() == Error::OutOfBounds);
  CHECK(DimOrderArg(DimOrder{1, 0}) == Dims{1, 0});
  CHECK(DimOrderArg{1, 0} == DimOrderArg(Dims{1, 0}));
  CHECK(DimOrderArg(DimOrder{64}).error() == Error::OutOfBounds);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Strides, DimOrderArg>);
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

}  // namespace dims_test
