// SPDX-License-Identifier: MIT
#include "tenon/backend/expr.h"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "backend/expr_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tests;

TEST_CASE("ExprBackend: its memory is public, on a device of its own") {
  ExprBackend backend;
  CHECK(std::string(backend.name()) == "expr");
  CHECK(backend.device() == tenon::Device("expr"));
  CHECK_FALSE(backend.is_opaque());
  CHECK(tenon::detail::as_expr_backend(backend) == &backend);
}

TEST_CASE("ExprBackend: memory never written is Empty and reads as zeros") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {2, 3});
  CHECK(text(backend, block.view()) == "Empty Float {2, 3}");
  CHECK(values<float>(backend, block.view()) == Floats(6, 0.0f));
  CHECK(text(backend, block.part({3}, {1}, 3)) == "Empty Float {3}");
}

TEST_CASE("ExprBackend: a constant keeps its bits") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {2, 2});
  const uint32_t odd_nan = 0x7fc12345u;
  fill(backend, block.view(), odd_nan);
  std::vector<uint32_t> bits(4);
  CHECK(backend.copy_to_host(bits.data(), block.view().data, 16) == Error::Ok);
  CHECK(bits == std::vector<uint32_t>(4, odd_nan));
  fill(backend, block.view(), 1.5f);
  const ExpressionPtr node = expression(backend, block.view());
  CHECK(node->kind == ExpressionKind::Constant);
  CHECK(node->type == ScalarType::Float);
  CHECK(node->sizes == Dims{2, 2});
  CHECK(node->value().to<double>() == 1.5);
  CHECK(node->operands().empty());
  CHECK(to_string(*node) == "Constant(1.5) Float {2, 2}");
}

TEST_CASE("ExprBackend: eye") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2, 3});
  CHECK(backend.eye(block.view()) == Error::Ok);
  CHECK(text(backend, block.view()) == "Eye Int {2, 3}");
  CHECK(values<int32_t>(backend, block.view()) == Ints{1, 0, 0, 0, 1, 0});
  CHECK_RETURNS(Error::InvalidArgument, "sizes {6} are not a matrix's",
                backend.eye(block.part({6}, {1}, 0)));
}

TEST_CASE("ExprBackend: iota, flat and along an axis") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2, 3, 2});
  CHECK(backend.iota(block.view(), tenon::none) == Error::Ok);
  CHECK(text(backend, block.view()) == "Iota Int {2, 3, 2}");
  CHECK(values<int32_t>(backend, block.view()) == Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(backend.iota(block.view(), -2) == Error::Ok);
  CHECK(text(backend, block.view()) == "Iota(axis 1) Int {2, 3, 2}");
  CHECK(values<int32_t>(backend, block.view()) == Ints{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  CHECK(backend.iota(block.view(), 0) == Error::Ok);
  CHECK(values<int32_t>(backend, block.view()) == Ints{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  CHECK_RETURNS(Error::OutOfBounds, "axis 3 is out of range for 3 dimensions",
                backend.iota(block.view(), 3));
}

TEST_CASE("ExprBackend: iota of more elements than fit a chunk") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {5, 41});
  CHECK(backend.iota(block.view(), 1) == Error::Ok);
  Ints expected;
  for (int32_t i = 0; i < 5; ++i) {
    for (int32_t k = 0; k < 41; ++k) expected.push_back(k);
  }
  CHECK(values<int32_t>(backend, block.view()) == expected);
}

TEST_CASE("ExprBackend: random numbers are the host's") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {3, 5});
  tenon::detail::RandomPlan plan;
  Floats expected(15);
  CHECK(backend.random_uniform(block.view(), -1, 2, {42, 7}) == Error::Ok);
  CHECK(text(backend, block.view()) == "Uniform(-1, 2) Float {3, 5}");
  REQUIRE(tenon::detail::plan_uniform(plan, tenon::own::ScalarType::Float, -1, 2) == Error::Ok);
  tenon::detail::random_elements(plan, 42, 7, 15, expected.data());
  CHECK(values<float>(backend, block.view()) == expected);
  const ExpressionPtr node = expression(backend, block.view());
  CHECK(node->parameters[0] == -1);
  CHECK(node->parameters[1] == 2);
  CHECK(node->start.seed == 42);
  CHECK(node->start.offset == 7);

  CHECK(backend.random_normal(block.view(), 1, 0.5, {42, 7}) == Error::Ok);
  CHECK(text(backend, block.view()) == "Normal(1, 0.5) Float {3, 5}");
  REQUIRE(tenon::detail::plan_normal(plan, tenon::own::ScalarType::Float, 1, 0.5) == Error::Ok);
  tenon::detail::random_elements(plan, 42, 7, 15, expected.data());
  CHECK(values<float>(backend, block.view()) == expected);
}

TEST_CASE("ExprBackend: a distribution that there is not is refused when it is recorded") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {2});
  CHECK_RETURNS(Error::InvalidArgument, "holds no numbers",
                backend.random_uniform(block.view(), 1, 1, {}));
  CHECK_RETURNS(Error::InvalidArgument, "standard deviation",
                backend.random_normal(block.view(), 1, -1, {}));
  CHECK(text(backend, block.view()) == "Empty Float {2}");
}

TEST_CASE("ExprBackend: bytes of the host are Data, of the type that the memory had") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {2, 2});
  Floats numbers{1, 2, 3, 4};
  CHECK(backend.copy_from_host(block.view().data, numbers.data(), 16) == Error::Ok);
  numbers.assign(4, 9.0f);  // it has copied
  CHECK(text(backend, block.view()) == "Data Float {2, 2}");
  CHECK(values<float>(backend, block.view()) == Floats{1, 2, 3, 4});
  CHECK(text(backend, block.part({2}, {1}, 1)) == "Data Float {2}");
  CHECK(values<float>(backend, block.part({2}, {1}, 1)) == Floats{2, 3});
}

TEST_CASE("ExprBackend: from_binary takes exactly the elements' bytes, any Bool but 0 as true") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Bool, {3});
  const unsigned char bytes[] = {0, 7, 1};
  CHECK(backend.from_binary(block.view(), bytes, 3) == Error::Ok);
  CHECK(text(backend, block.view()) == "Data Bool {3}");
  CHECK(values<unsigned char>(backend, block.view()) == std::vector<unsigned char>{0, 1, 1});
  CHECK_RETURNS(Error::InvalidArgument, "2 bytes were given, sizes {3} of Bool need 3",
                backend.from_binary(block.view(), bytes, 2));
}

TEST_CASE("ExprBackend: to_binary gives at most the first elements") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Byte, {2, 3});
  REQUIRE(backend.iota(block.view(), tenon::none) == Error::Ok);
  std::vector<unsigned char> first(3, 99);
  CHECK(backend.to_binary(block.part({3, 2}, {1, 3}, 0), 2, first.data()) == Error::Ok);
  CHECK(first == std::vector<unsigned char>{0, 3, 99});
}

TEST_CASE("ExprBackend: to_binary and from_binary are little-endian") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Int, {2});
  REQUIRE(backend.iota(block.view(), tenon::none) == Error::Ok);
  std::vector<unsigned char> bytes(8, 99);
  CHECK(backend.to_binary(block.view(), 2, bytes.data()) == Error::Ok);
  CHECK(bytes == std::vector<unsigned char>{0, 0, 0, 0, 1, 0, 0, 0});
  bytes[1] = 2;
  CHECK(backend.from_binary(block.view(), bytes.data(), 8) == Error::Ok);
  CHECK(values<int32_t>(backend, block.view()) == Ints{512, 1});
}

TEST_CASE("ExprBackend: no elements need no memory, and are Empty") {
  ExprBackend backend;
  const TensorView view{nullptr, ScalarType::Float, backend.device(), {0, 3}, {3, 1}};
  fill(backend, view, 1.0f);
  CHECK(backend.iota(view, 1) == Error::Ok);
  CHECK(backend.random_uniform(view, 0, 1, {}) == Error::Ok);
  CHECK(backend.copy(view, view, CastMode::Checked) == Error::Ok);
  CHECK(backend.copy_from_host(nullptr, nullptr, 0) == Error::Ok);
  CHECK(backend.copy_to_host(nullptr, nullptr, 0) == Error::Ok);
  CHECK(backend.copy_within(nullptr, nullptr, 0) == Error::Ok);
  backend.on_made({view.data, view.type, view.sizes, view.strides, "zeros"});
  CHECK(text(backend, view) == "Empty Float {0, 3}");
  CHECK(values<float>(backend, view).empty());
}

TEST_CASE("ExprBackend: a matrix of one number, without dimensions, and with eight") {
  ExprBackend backend;
  const Block number(backend, ScalarType::Int, Dims{});
  fill(backend, number.view(), int32_t{3});
  CHECK(text(backend, number.view()) == "Constant(3) Int {}");
  CHECK(values<int32_t>(backend, number.view()) == Ints{3});
  const Block deep(backend, ScalarType::Int, {1, 2, 1, 1, 2, 1, 1, 2});
  REQUIRE(backend.iota(deep.view(), tenon::none) == Error::Ok);
  CHECK(values<int32_t>(backend, deep.part({2, 1, 1, 1, 2, 1, 1, 2}, {1, 8, 8, 8, 2, 2, 2, 4},
                                           0)) == Ints{0, 4, 2, 6, 1, 5, 3, 7});
}

TEST_CASE("ExprBackend: inspect appends the expression") {
  ExprBackend backend;
  const Block block(backend, ScalarType::Float, {2, 3});
  REQUIRE(backend.random_uniform(block.view(), 0, 1, {3, 0}) == Error::Ok);
  std::string shown = "t = ";
  CHECK(backend.inspect(block.view(), 1000, shown) == Error::Ok);
  CHECK(shown == "t = Uniform(0, 1) Float {2, 3}");
}

TEST_CASE("ExprBackend: threads allocate, write and read at once") {
  ExprBackend backend;
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&backend, &wrong, t] {
      for (int i = 0; i < 300; ++i) {
        const auto value = static_cast<int32_t>(i) * 4 + static_cast<int32_t>(t);
        void* const data = backend.allocate(64, 64);
        const TensorView view{data, ScalarType::Int, backend.device(), {16}, {1}};
        if (backend.constant(view, &value) != Error::Ok) ++wrong[t];
        int32_t read[16] = {};
        if (backend.copy_to_host(read, data, 64) != Error::Ok) ++wrong[t];
        for (int32_t number : read) wrong[t] += number != value;
        backend.deallocate(data, 64);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}
