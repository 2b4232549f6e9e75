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

  const std::vector<std::array<int, 2>> points = {{1, 2}, {3, 4}, {5, 6}};
  CHECK(sizes(make_tensor_ptr(points)) == Vector{3, 2});
  CHECK(values<double>(make_tensor_ptr(points, ScalarType::Double)) ==
        std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(values<int>(make_tensor(points)) == Ints{1, 2, 3, 4, 5, 6});

  const std::list<std::deque<std::array<std::complex<float>, 1>>> deep(
      2, std::deque<std::array<std::complex<float>, 1>>(3, {{{1, 2}}}));
  const TensorPtr complex_one = make_tensor_ptr(deep);
  CHECK(sizes(complex_one) == Vector{2, 3, 1});
  CHECK(complex_one->scalar_type() == ScalarType::ComplexFloat);

  const TensorPtr bits = make_tensor_ptr(std::vector<std::vector<bool>>{{true, false}});
  CHECK(bits->scalar_type() == ScalarType::Bool);
  CHECK(values<bool>(bits) == std::vector<bool>{true, false});
}

TEST_CASE("nested: arrays are copied, with sizes they are the caller's memory") {
  float grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const TensorPtr copy = make_tensor_ptr(grid);
  CHECK(sizes(copy) == Vector{2, 3});
  CHECK(values<float>(copy) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(const_data_ptr(copy) != grid);
  const double line[2] = {1, 2};
  CHECK(values<double>(make_tensor_ptr(line)) == std::vector<double>{1, 2});

  CHECK(const_data_ptr(make_tensor_ptr({3, 2}, grid)) == grid);
  const TensorPtr lent = from_blob(grid, {2, 3});
  CHECK(const_data_ptr(lent) == grid);
  CHECK(ownership(lent) == Ownership::Borrowed);
  int cube[2][1][2] = {};
  CHECK(for_blob(cube, {4}).make_tensor().scalar_type() == ScalarType::Int);
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

TEST_CASE("nested: an array of const is read-only memory") {
  static const float table[2][2] = {{1, 2}, {3, 4}};
  const TensorPtr t = from_blob(read_only(&table[0]), {2, 2});
  CHECK(is_readonly(t));
  CHECK(values<float>(make_tensor_ptr(table)) == Floats{1, 2, 3, 4});
}

TEST_CASE("nested: other sizes take as many elements") {
  const Rows rows = {{1, 2, 3}, {4, 5, 6}};
  CHECK(values<float>(make_tensor_ptr({3, 2}, rows)) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(make_tensor_ptr({6}, rows, ScalarType::Double, TensorShapeDynamism::STATIC)->numel() == 6);
  RAISES(InvalidArgument, "make_tensor_ptr: 6 values were given, sizes {2, 2} need 4",
         make_tensor_ptr({2, 2}, rows));
  // Bytes are numbers; with sizes and a type they are memory, as of one container.
  const std::vector<std::array<uint8_t, 4>> bytes = {{0, 0, 0x80, 0x3f}};
  CHECK(values<float>(make_tensor_ptr(bytes, ScalarType::Float)) == Floats{0, 0, 128, 63});
  CHECK(make_tensor_ptr({1}, bytes, ScalarType::Float)->numel() == 1);
}

TEST_CASE("nested: rows of different lengths are an error that names the row") {
  RAISES(InvalidArgument,
         "make_tensor_ptr: row {1} has 2 values, the first has 3; rows of a tensor are equally "
         "long",
         make_tensor_ptr(Rows{{1, 2, 3}, {4, 5}}));
  RAISES(InvalidArgument, "row {2} has 1 values, the first has 0",
         make_tensor_ptr(Rows{{}, {}, {1}}));
  RAISES(InvalidArgument, "row {1}", make_tensor_ptr({5}, Rows{{1, 2, 3}, {4, 5}}));
  using Cube = std::vector<Rows>;
  RAISES(InvalidArgument, "row {1, 1} has 2 values, the first has 1",
         make_tensor_ptr(Cube{{{1}, {2}}, {{1}, {2, 3}}}));
  RAISES(InvalidArgument, "row {1} has 1 values, the first has 2",
         make_tensor_ptr(Cube{{{1}, {2}}, {{1}}}));
  const auto result = try_make_tensor_ptr(Rows{{1}, {}});
  CHECK(result.error() == Error::InvalidArgument);
}

TEST_CASE("nested: without rows, or without elements in them, the other sizes are 0") {
  CHECK(sizes(make_tensor_ptr(Rows())) == Vector{0, 0});
  CHECK(sizes(make_tensor_ptr(Rows(2))) == Vector{2, 0});
  CHECK(sizes(make_tensor_ptr(std::vector<Rows>(2))) == Vector{2, 0, 0});
  CHECK(sizes(make_tensor_ptr(std::vector<std::array<float, 3>>())) == Vector{0, 3});
}

TEST_CASE("nested: chars and std::bytes are elements, as in one container") {
  const TensorPtr texts = make_tensor_ptr(std::vector<std::string>{"abc", "def"});
  CHECK(sizes(texts) == Vector{2, 3});
  CHECK(texts->scalar_type() == ScalarType::Char);
  CHECK(values<int8_t>(texts) == std::vector<int8_t>{'a', 'b', 'c', 'd', 'e', 'f'});
  const char table[2][3] = {{1, 2, 3}, {4, 5, 6}};
  CHECK(values<int8_t>(make_tensor_ptr(table)) == std::vector<int8_t>{1, 2, 3, 4, 5, 6});
  CHECK(values<int8_t>(make_tensor_ptr(std::vector<std::vector<char>>{{1}, {2}})) ==
        std::vector<int8_t>{1, 2});
  const std::array<std::array<std::byte, 2>, 1> bytes = {{{std::byte{200}, std::byte{7}}}};
  const TensorPtr of_bytes = make_tensor_ptr(bytes);
  CHECK(of_bytes->scalar_type() == ScalarType::Byte);
  CHECK(sizes(of_bytes) == Vector{1, 2});
  CHECK(values<uint8_t>(of_bytes) == std::vector<uint8_t>{200, 7});
  CHECK(values<uint8_t>(make_tensor_ptr({2}, std::vector<std::vector<std::byte>>(
                                                 2, std::vector<std::byte>(1, std::byte{9})))) ==
        std::vector<uint8_t>{9, 9});
  RAISES(InvalidArgument, "row {1} has 1 values, the first has 3",
         make_tensor_ptr(std::vector<std::string>{"abc", "d"}));
}

TEST_CASE("nested: literals, pointers and paths are no rows") {
  STATIC_REQUIRE(makes<Rows> && makes<float(&)[3]> && makes<Dims, float(&)[2][3]>);
  STATIC_REQUIRE_FALSE(makes<const char(&)[3]> || makes<const char*> || makes<float(*)[3]>);
  STATIC_REQUIRE_FALSE(makes<std::vector<const char*>> || makes<const char*(&)[2]>);
  STATIC_REQUIRE_FALSE(makes<std::filesystem::path> || makes<std::vector<TensorPtr>>);
  STATIC_REQUIRE_FALSE(makes<std::filesystem::directory_iterator> || makes<Ping&>);
  STATIC_REQUIRE_FALSE(makes<Walked&>);
}

TEST_CASE("nested: rows may be ranges by free functions") {
  const std::vector<FreeRows> cube{{{{1, 2}, {3, 4}}}};
  CHECK(sizes(make_tensor_ptr(cube)) == Vector{1, 2, 2});
  CHECK(values<float>(make_tensor_ptr(cube[0])) == Floats{1, 2, 3, 4});
}

}  // namespace nested_test
