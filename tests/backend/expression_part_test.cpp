// SPDX-License-Identifier: MIT
#include "tenon/backend/expression_part.h"

#include <cstdint>
#include <string>
#include <vector>

#include "backend/expr_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tests;

TEST_CASE("ExprBackend: a copy as it lies is the same expression") {
  ExprBackend backend;
  const Block from(backend, ScalarType::Float, {2, 3});
  const Block to(backend, ScalarType::Float, {2, 3});
  REQUIRE(backend.random_uniform(from.view(), 0, 1, {1, 0}) == Error::Ok);
  CHECK(backend.copy_within(to.view().data, from.view().data, 24) == Error::Ok);
  CHECK(expression(backend, to.view()) == expression(backend, from.view()));
  fill(backend, from.view(), 0.0f);
  CHECK(text(backend, to.view()) == "Uniform(0, 1) Float {2, 3}");
}

TEST_CASE("ExprBackend: a strided copy is recorded, not computed") {
  ExprBackend backend;
  const Block from(backend, ScalarType::Int, {2, 3});
  const Block to(backend, ScalarType::Int, {3, 2});
  REQUIRE(backend.iota(from.view(), tenon::none) == Error::Ok);
  CHECK(backend.copy(to.view(), from.part({3, 2}, {-1, 3}, 2), CastMode::Checked) == Error::Ok);
  CHECK(text(backend, to.view()) == "Copy(strides {-1, 3}, offset 8) Int {3, 2} [Iota Int {2, 3}]");
  CHECK(values<int32_t>(backend, to.view()) == Ints{2, 5, 1, 4, 0, 3});
}

TEST_CASE("ExprBackend: a converting copy is recorded with its mode") {
  ExprBackend backend;
  const Block from(backend, ScalarType::Float, {4});
  const Block to(backend, ScalarType::Byte, {4});
  const Floats numbers{-1.5f, 2.5f, 300, 7};
  REQUIRE(backend.copy_from_host(from.view().data, numbers.data(), 16) == Error::Ok);
  CHECK(backend.copy(to.view(), from.view(), CastMode::Saturate) == Error::Ok);
  CHECK(text(backend, to.view()) ==
        "Copy(from Float, Saturate, strides {1}, offset 0) Byte {4} [Data Float {4}]");
  CHECK(values<unsigned char>(backend, to.view()) == std::vector<unsigned char>{0, 2, 255, 7});
  CHECK(backend.copy(to.view(), from.part({4}, {-1}, 3), CastMode::Truncate) == Error::Ok);
  CHECK(text(backend, to.view()) ==
        "Copy(from Float, Truncate, strides {-1}, offset 12) Byte {4} [Data Float {4}]");
  CHECK(values<unsigned char>(backend, to.view()) == std::vector<unsigned char>{7, 255, 2, 0});
}

TEST_CASE("ExprBackend: copies from and to the host's memory, strided and converting") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Double, {3, 2});
  Ints numbers{0, 1, 2, 3, 4, 5};
  const TensorView host{numbers.data(), ScalarType::Int, tenon::Device(), {3, 2}, {1, 3}};
  CHECK(backend.copy(block.view(), host, CastMode::Checked) == Error::Ok);
  numbers.assign(6, 0);
  CHECK(text(backend, block.view()) ==
        "Copy(from Int, Checked, strides {2, 1}, offset 0) Double {3, 2} [Data Int {3, 2}]");
  CHECK(values<double>(backend, block.view()) == std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK(backend.copy(host, block.view(), CastMode::Truncate) == Error::Ok);
  CHECK(numbers == Ints{0, 1, 2, 3, 4, 5});
  const TensorView other{nullptr, ScalarType::Int, tenon::Device("cuda"), {3, 2}, {2, 1}};
  CHECK(backend.copy(other, block.view(), CastMode::Truncate) == Error::NotSupported);
}

TEST_CASE(
    "ExprBackend: memory filled at other strides is an Update of which the view is the value") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2, 3});
  const TensorView columns = block.part({3, 2}, {1, 3}, 0);
  fill(backend, block.view(), int32_t{5});
  REQUIRE(backend.iota(columns, tenon::none) == Error::Ok);
  CHECK(text(backend, columns) == "Iota Int {3, 2}");
  CHECK(text(backend, block.view()) ==
        "Update(strides {1, 3}, offset 0) Int {2, 3} [Empty Int {2, 3}, Iota Int {3, 2}]");
  CHECK(values<int32_t>(backend, block.view()) == Ints{0, 2, 4, 1, 3, 5});
}

TEST_CASE("ExprBackend: writing to a part is an Update and reading elsewhere does not see it") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2, 3});
  REQUIRE(backend.iota(block.view(), tenon::none) == Error::Ok);
  fill(backend, block.part({3}, {1}, 3), int32_t{9});
  const ExpressionPtr node = expression(backend, block.view());
  CHECK(to_string(*node) ==
        "Update(strides {1}, offset 12) Int {2, 3} [Iota Int {2, 3}, Constant(9) Int {3}]");
  CHECK(node->operands().size() == 2);
  CHECK(node->depth == 2);
  CHECK(values<int32_t>(backend, block.view()) == Ints{0, 1, 2, 9, 9, 9});
  CHECK(text(backend, block.part({3}, {1}, 3)) == "Constant(9) Int {3}");
  CHECK(text(backend, block.part({3}, {1}, 0)) ==
        "Copy(strides {1}, offset 0) Int {3} [Iota Int {2, 3}]");
  CHECK(values<int32_t>(backend, block.part({2, 2}, {3, 1}, 1)) == Ints{1, 2, 9, 9});
}

TEST_CASE("ExprBackend: bytes written into elements, and read across them") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2});
  fill(backend, block.view(), int32_t{0});
  const unsigned char bytes[] = {1, 2, 3};
  char* const data = static_cast<char*>(block.view().data);
  CHECK(backend.copy_from_host(data + 3, bytes, 3) == Error::Ok);
  CHECK(text(backend, block.view()) ==
        "Update(strides {1}, offset 3) Int {2} [Constant(0) Int {2}, Data Byte {3}]");
  unsigned char read[4] = {};
  CHECK(backend.copy_to_host(read, data + 2, 4) == Error::Ok);
  CHECK(std::vector<unsigned char>(read, read + 4) == std::vector<unsigned char>{0, 1, 2, 3});
}

TEST_CASE("ExprBackend: part of a copied part is a part of what it came from") {
  ExprBackend backend;
  const Block from(backend, ScalarType::Int, {8});
  const Block to(backend, ScalarType::Int, {4});
  REQUIRE(backend.iota(from.view(), tenon::none) == Error::Ok);
  char* const source = static_cast<char*>(from.view().data);
  CHECK(backend.copy_within(to.view().data, source + 8, 16) == Error::Ok);
  CHECK(text(backend, to.part({2}, {2}, 1)) ==
        "Copy(strides {2}, offset 12) Int {2} [Iota Int {8}]");
  CHECK(values<int32_t>(backend, to.part({2}, {2}, 1)) == Ints{3, 5});
}

TEST_CASE(
    "ExprBackend: another shape of the same elements keeps its kind, where that is the same") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2, 3});
  REQUIRE(backend.iota(block.view(), tenon::none) == Error::Ok);
  CHECK(text(backend, block.part({6}, {1}, 0)) == "Iota Int {6}");
  REQUIRE(backend.iota(block.view(), 0) == Error::Ok);
  CHECK(text(backend, block.part({6}, {1}, 0)) ==
        "Copy(strides {1}, offset 0) Int {6} [Iota(axis 0) Int {2, 3}]");
  REQUIRE(backend.eye(block.view()) == Error::Ok);
  CHECK(values<int32_t>(backend, block.part({3, 2}, {2, 1}, 0)) == Ints{1, 0, 0, 0, 1, 0});
}

TEST_CASE("ExprBackend: on_made gives bytes the tensor's type and shape") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {2, 2});
  const Floats numbers{1, 2, 3, 4};
  REQUIRE(backend.copy_from_host(block.view().data, numbers.data(), 16) == Error::Ok);
  const tenon::TensorView& whole = block.view();
  backend.on_made({whole.data, whole.type, whole.sizes, whole.strides, "backend_copy"});
  const ExpressionPtr node = expression(backend, block.view());
  CHECK(to_string(*node) == "Data Float {2, 2}");
  CHECK(expression(backend, block.view()) == node);
  REQUIRE(backend.eye(block.view()) == Error::Ok);
  const tenon::TensorView row = block.part({4}, {1}, 0);
  backend.on_made({row.data, row.type, row.sizes, row.strides, "view"});
  CHECK(text(backend, block.view()) == "Eye Float {2, 2}");
}

TEST_CASE("ExprBackend: overwriting the same part forgets what was there") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {4});
  const TensorView part = block.part({2}, {2}, 1);
  for (int32_t i = 0; i < 100000; ++i) fill(backend, part, i);
  CHECK(text(backend, block.view()) ==
        "Update(strides {2}, offset 4) Int {4} [Empty Int {4}, Constant(99999) Int {2}]");
}

TEST_CASE("ExprBackend: a long chain of writes becomes Data in between and stays right") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {5});
  Ints expected(5, 0);
  for (int32_t i = 0; i < 100000; ++i) {
    const int64_t at = i % 3;
    fill(backend, block.part({3}, {1}, at), i);
    for (int64_t k = at; k < at + 3; ++k) expected[static_cast<size_t>(k)] = i;
  }
  CHECK(values<int32_t>(backend, block.view()) == expected);
  CHECK(expression(backend, block.view())->depth <= tenon::kMaxExpressionDepth);
}

TEST_CASE("ExprBackend: part of a constant is a constant, unless it cuts through elements") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {3});
  fill(backend, block.view(), int32_t{0x01010101});
  CHECK(text(backend, block.part({2}, {2}, 0)) == "Constant(16843009) Int {2}");
  TensorView cut = block.part({2}, {1}, 0);
  cut.data = static_cast<char*>(cut.data) + 1;
  CHECK(text(backend, cut) == "Copy(strides {1}, offset 1) Int {2} [Constant(16843009) Int {3}]");
  CHECK(values<int32_t>(backend, cut) == Ints(2, 0x01010101));
}
