// SPDX-License-Identifier: MIT
#include "tenon/tensor/from_values.h"

#include <complex>
#include <deque>
#include <filesystem>
#include <list>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace nested_test {

using namespace tenon;
using namespace tests;

// A range by free functions.
struct FreeRows {
  std::vector<std::vector<float>> rows;
};
auto begin(const FreeRows& r) { return r.rows.begin(); }
auto end(const FreeRows& r) { return r.rows.end(); }
// A row up to a 0, which its end's type tests for.
struct Terminated {
  struct End {
    friend bool operator!=(const float* at, End) { return *at != 0; }
  };
  const float* values;
  const float* begin() const { return values; }
  End end() const { return {}; }
};
// As std::views::filter: none that is const can be walked.
struct Walked {
  std::vector<std::vector<float>> rows;
  auto begin() { return rows.begin(); }
  auto end() { return rows.end(); }
};
// Ranges of each other.
struct Pong;
struct Ping {
  Pong* begin() const;
  Pong* end() const;
};
struct Pong {
  Ping* begin() const;
  Ping* end() const;
};

namespace {

using Rows = std::vector<std::vector<float>>;

template <class... Arguments>
constexpr bool makes = std::is_invocable_v<decltype(make_tensor_ptr), Arguments...>;

}  // namespace

TEST_CASE("nested: containers of containers are a tensor of as many dimensions") {
  const TensorPtr t = make_tensor_ptr(Rows{{1, 2, 3}, {4, 5, 6}});
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(values<float>(t) == Floats{1, 2, 3, 4, 5, 6});

  const std::list<std::deque<std::array<std::complex<float>, 1>>> deep(
      2, std::deque<std::array<std::complex<float>, 1>>(3, {{{1, 2}}}));
  const TensorPtr complex_one = make_tensor_ptr(deep);
  CHECK(sizes(complex_one) == Vector{2, 3, 1});
  CHECK(complex_one->scalar_type() == ScalarType::ComplexFloat);
  const TensorPtr bits = make_tensor_ptr(std::vector<std::vector<bool>>{{true, false}});
  CHECK(values<bool>(bits) == std::vector<bool>{true, false});
}

TEST_CASE("nested: arrays are copied, with sizes they are the caller's memory") {
  float grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const TensorPtr copy = make_tensor_ptr(grid);
  CHECK(sizes(copy) == Vector{2, 3});
  CHECK(values<float>(copy) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(const_data_ptr(copy) != grid);
  CHECK(const_data_ptr(make_tensor_ptr({3, 2}, grid)) == grid);
  const TensorPtr lent = from_blob(grid, {2, 3});
  CHECK(const_data_ptr(lent) == grid);
  CHECK(ownership(lent) == Ownership::Borrowed);
}

TEST_CASE("nested: rows that a sentinel ends, and volatile ones") {
  static const float values_of[] = {1, 2, 3, 0};
  const std::vector<Terminated> rows = {{values_of}, {values_of}};
  const TensorPtr of_rows = make_tensor_ptr(rows);
  CHECK(sizes(of_rows) == Vector{2, 3});
  CHECK(values<float>(of_rows) == Floats{1, 2, 3, 1, 2, 3});
  volatile float grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const TensorPtr of_grid = make_tensor_ptr(grid);
  CHECK(sizes(of_grid) == Vector{2, 3});
  CHECK(values<float>(of_grid) == Floats{1, 2, 3, 4, 5, 6});
}

TEST_CASE("nested: rows of different lengths are an error that names the row") {
  RAISES(InvalidArgument,
         "make_tensor_ptr: row {1} has 2 values, the first has 3; rows of a tensor are equally "
         "long",
         make_tensor_ptr(Rows{{1, 2, 3}, {4, 5}}));
  RAISES(InvalidArgument, "row {2} has 1 values, the first has 0",
         make_tensor_ptr(Rows{{}, {}, {1}}));
  using Cube = std::vector<Rows>;
  RAISES(InvalidArgument, "row {1, 1} has 2 values, the first has 1",
         make_tensor_ptr(Cube{{{1}, {2}}, {{1}, {2, 3}}}));
}

TEST_CASE("nested: without rows, or without elements in them, the other sizes are 0") {
  CHECK(sizes(make_tensor_ptr(Rows())) == Vector{0, 0});
  CHECK(sizes(make_tensor_ptr(Rows(2))) == Vector{2, 0});
  CHECK(sizes(make_tensor_ptr(std::vector<Rows>(2))) == Vector{2, 0, 0});
  CHECK(sizes(make_tensor_ptr(std::vector<std::array<float, 3>>())) == Vector{0, 3});
}

TEST_CASE("nested: literals, pointers and paths are no rows") {
  STATIC_REQUIRE(makes<Rows> && makes<float(&)[3]> && makes<Dims, float(&)[2][3]>);
  STATIC_REQUIRE_FALSE(makes<const char(&)[3]> || makes<const char*> || makes<float(*)[3]>);
  STATIC_REQUIRE_FALSE(makes<std::vector<const char*>> || makes<const char*(&)[2]>);
  STATIC_REQUIRE_FALSE(makes<std::filesystem::path> || makes<std::vector<TensorPtr>>);
  STATIC_REQUIRE_FALSE(makes<std::filesystem::directory_iterator> || makes<Ping&>);
  STATIC_REQUIRE_FALSE(makes<Walked&>);
}

}  // namespace nested_test
