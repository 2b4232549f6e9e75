// SPDX-License-Identifier: MIT
#include "tenon/backend/expression.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/expr_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tests;

TEST_CASE("to_string: an expression's operands are shown four levels down") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {4});
  for (int32_t i = 0; i < 6; ++i) fill(backend, block.part({2}, {1}, i % 3), i);
  const std::string shown = text(backend, block.view());
  CHECK(shown.substr(0, 56) == "Update(strides {1}, offset 8) Int {4} [Update(strides {1");
  CHECK(tests::contains(shown, "Update(strides {1}, offset 4) Int {4} [...]"));
}

TEST_CASE("to_string: what an expression has to say of each kind") {
  tenon::Expression node;
  node.type = ScalarType::ComplexFloat;
  node.sizes = {2};
  node.kind = ExpressionKind::Constant;
  const float number[] = {1.5f, -2};
  std::memcpy(node.element, number, sizeof number);
  CHECK(to_string(node) == "Constant(1.5 - 2i) ComplexFloat {2}");
  node.kind = ExpressionKind::Data;
  CHECK(to_string(node) == "Data ComplexFloat {2}");
  CHECK(std::string(toString(ExpressionKind::Empty)) == "Empty");
  CHECK(std::string(toString(static_cast<ExpressionKind>(99))) == "unknown");
}
