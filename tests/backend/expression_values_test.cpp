// SPDX-License-Identifier: MIT
#include "tenon/backend/expression_values.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/expr_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tests;

TEST_CASE("ExprBackend: expressions and their operands outlive memory and backend") {
  ExpressionPtr node;
  {
    ExprBackend backend;
    const Block from(backend, ScalarType::Int, {2, 3});
    const Block to(backend, ScalarType::Long, {3, 2});
    REQUIRE(backend.iota(from.view(), tenon::none) == Error::Ok);
    REQUIRE(backend.copy(to.view(), from.part({3, 2}, {1, 3}, 0), CastMode::Checked) == Error::Ok);
    node = expression(backend, to.view());
  }
  CHECK(node.use_count() == 1);
  CHECK(node->operands()[0]->kind == ExpressionKind::Iota);
  std::shared_ptr<const unsigned char> bytes;
  REQUIRE(tenon::detail::evaluate(*node, bytes) == Error::Ok);
  int64_t numbers[6];
  std::memcpy(numbers, bytes.get(), sizeof numbers);
  CHECK(std::vector<int64_t>(numbers, numbers + 6) == std::vector<int64_t>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("ExprBackend: nodes used by many are evaluated once") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {4});
  REQUIRE(backend.iota(block.view(), tenon::none) == Error::Ok);
  // Each step uses the one before twice: 2^60 ways down.
  const TensorView low = block.part({2}, {1}, 0);
  const TensorView odd = block.part({2}, {2}, 1);
  Ints expected{0, 1, 2, 3};
  for (int i = 0; i < 60; ++i) {
    const Block other(backend, ScalarType::Int, {2});
    REQUIRE(backend.copy(other.view(), odd, CastMode::Checked) == Error::Ok);
    REQUIRE(backend.copy(low, other.view(), CastMode::Checked) == Error::Ok);
    expected = {expected[1], expected[3], expected[2], expected[3]};
  }
  CHECK(values<int32_t>(backend, block.view()) == expected);
}

TEST_CASE(
    "evaluate: an expression of many elements is the numbers that the host makes, in every type") {
  ExprBackend backend;
  for (int number = 0; number < 30; ++number) {
    const auto type = static_cast<ScalarType>(number);
    const auto own = tenon::detail::own_type(type);
    if (!isValidType(type)) continue;
    CAPTURE(toString(type));
    const Block block(backend, type, {3, 50});
    const size_t size = elementSize(type);
    std::vector<unsigned char> expected(150 * size);
    std::vector<unsigned char> read(150 * size);

    tenon::detail::RandomPlan uniform;
    REQUIRE(tenon::detail::plan_uniform(uniform, own, 0, 2) == Error::Ok);
    tenon::detail::random_elements(uniform, 5, 3, 150, expected.data());
    REQUIRE(backend.random_uniform(block.view(), 0, 2, {5, 3}) == Error::Ok);
    REQUIRE(backend.copy_to_host(read.data(), block.view().data, block.nbytes()) == Error::Ok);
    CHECK(read == expected);

    tenon::detail::RandomPlan normal;
    REQUIRE(tenon::detail::plan_normal(normal, own, 1, 0.25) == Error::Ok);
    tenon::detail::random_elements(normal, 5, 3, 150, expected.data());
    REQUIRE(backend.random_normal(block.view(), 1, 0.25, {5, 3}) == Error::Ok);
    REQUIRE(backend.copy_to_host(read.data(), block.view().data, block.nbytes()) == Error::Ok);
    CHECK(read == expected);

    for (int64_t i = 0; i < 150; ++i) {
      const int64_t column = i % 50;
      tenon::detail::store_exact(own, expected.data() + static_cast<size_t>(i) * size, 1,
                                 tenon::own::ScalarType::Long, &column);
    }
    REQUIRE(backend.iota(block.view(), 1) == Error::Ok);
    REQUIRE(backend.copy_to_host(read.data(), block.view().data, block.nbytes()) == Error::Ok);
    CHECK(read == expected);
  }
}
