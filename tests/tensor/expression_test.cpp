// SPDX-License-Identifier: MIT
#include "tenon/tensor/expression.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/backend/template.h"
#include "tenon/backend/wrapper.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;

#if TENON_ATEN_MODE

TEST_CASE("ExprBackend: in ATen mode there is no device for its tensors, which creators say") {
  ExprBackend backend;
  CHECK_ERROR(Error::NotSupported, "zeros: libtorch has no device for expr:0",
              tenon::zeros({2, 3}, backend));
}

#else

namespace {

/// Passes everything on.
class Wrapper final : public tenon::WrapperBackend {
 public:
  explicit Wrapper(Backend& inner) : WrapperBackend(inner) {}
  const char* name() const noexcept override { return "wrapper"; }
};

Backend& cpu() { return tenon::host_backend(); }

std::string text(const TensorPtr& t) { return to_string(*tenon::expression(t)); }

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

}  // namespace

TEST_CASE("expression: each creator is recorded") {
  ExprBackend backend;
  CHECK(text(tenon::full({2, 3}, 1.5, backend)) == "Constant(1.5) Float {2, 3}");
  CHECK(text(tenon::zeros({2}, ScalarType::Int, backend)) == "Constant(0) Int {2}");
  CHECK(text(tenon::ones({3, 0}, backend)) == "Empty Float {3, 0}");
  CHECK(text(tenon::empty({2, 3}, backend)) == "Empty Float {2, 3}");
  CHECK(text(tenon::eye(2, 3, backend)) == "Eye Float {2, 3}");
  CHECK(text(tenon::iota({2, 3}, 1, backend)) == "Iota(axis 1) Long {2, 3}");
  CHECK(text(tenon::uniform(-1, 1, {4}, Generator(3), backend)) == "Uniform(-1, 1) Float {4}");
  CHECK(text(tenon::normal(1, 2, {4}, Generator(3), backend)) == "Normal(1, 2) Float {4}");
  CHECK(text(tenon::make_tensor_ptr({2, 2}, {1, 2, 3, 4}, backend)) == "Data Int {2, 2}");
  CHECK(text(tenon::make_tensor_ptr(2.5f, backend)) == "Constant(2.5) Float {}");
}

TEST_CASE("expression: a tensor's is the same each time, and stays when the tensor goes") {
  ExprBackend backend;
  TensorPtr t = tenon::make_tensor_ptr({2}, {1, 2}, backend);
  const ExpressionPtr node = tenon::expression(t);
  CHECK(tenon::expression(*t) == node);
  t.reset();
  CHECK(backend.live_blocks() == 0);
  CHECK(node->kind == ExpressionKind::Data);
  CHECK(node.use_count() == 1);
}

TEST_CASE("expression: views and writes to them") {
  ExprBackend backend;
  const TensorPtr t = tenon::iota({2, 3}, ScalarType::Int, backend);
  const tenon::Tensor column = tenon::select(*t, 1, 2);
  CHECK(to_string(*tenon::expression(column)) ==
        "Copy(strides {3}, offset 8) Int {2} [Iota Int {2, 3}]");
  CHECK(tenon::fill_(column, 9) == Error::Ok);
  CHECK(text(t) ==
        "Update(strides {3}, offset 8) Int {2, 3} [Iota Int {2, 3}, Constant(9) Int {2}]");
  CHECK(tests::values<int32_t>(tenon::materialize(t, cpu())) == Ints{0, 1, 9, 3, 4, 9});
}

TEST_CASE("expression: conversions are recorded") {
  ExprBackend backend;
  const TensorPtr t = tenon::iota({3}, backend);
  const TensorPtr halves = tenon::clone_tensor_ptr(t, ScalarType::Half);
  CHECK(text(halves) == "Copy(from Long, Checked, strides {1}, offset 0) Half {3} [Iota Long {3}]");
  CHECK(&tenon::backend_of(halves) == &backend);
  CHECK(text(tenon::clone_tensor_ptr(t)) == "Iota Long {3}");
}

TEST_CASE("expression: that of a backend which wraps one") {
  ExprBackend backend;
  Wrapper wrapper(backend);
  const TensorPtr t = tenon::full({2}, 3, wrapper);
  CHECK(text(t) == "Constant(3) Float {2}");
  const TensorPtr data = tenon::make_tensor_ptr({1, 2}, {1, 2}, wrapper);
  CHECK(text(data) == "Data Int {1, 2}");
  CHECK(tests::values<float>(tenon::materialize(t, cpu())) == Floats{3, 3});
}

TEST_CASE("expression: a tensor of another backend is refused by name") {
  tenon::TemplateBackend templates;
  ExprBackend backend;
  CHECK_ERROR(Error::NotSupported,
              "expression: the tensor is in memory of backend cpu, which keeps no expressions",
              tenon::expression(tenon::zeros({2})));
  CHECK_ERROR(Error::NotSupported, "template", tenon::expression(tenon::zeros({2}, templates)));
  CHECK_ERROR(Error::InvalidState, "materialize: the tensor is undefined",
              tenon::materialize(TensorPtr(), cpu()));
  const TensorPtr t = tenon::zeros({2}, backend);
  CHECK(tenon::backend_deallocate(t) == tenon::Deallocation::Ok);
  CHECK_ERROR(Error::InvalidState, "was deallocated", tenon::expression(t));
  const tenon::Result<TensorPtr> none = tenon::try_materialize(tenon::zeros({2}), cpu());
  CHECK(none.error() == Error::NotSupported);
}

TEST_CASE("materialize: gives what the CPU's creators make, in type, shape and bits") {
  ExprBackend backend;
  const auto check = [](const TensorPtr& recorded, const TensorPtr& made) {
    const TensorPtr t = tenon::materialize(recorded, cpu());
    CHECK(tests::sizes(t) == tests::sizes(made));
    CHECK(t->scalar_type() == made->scalar_type());
    CHECK(&tenon::backend_of(t) == &tenon::host_backend());
    CHECK(tenon::to_binary(t) == tenon::to_binary(made));
    CHECK(tenon::to_binary(recorded) == tenon::to_binary(made));
  };
  for (ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::ComplexDouble,
                          ScalarType::Int, ScalarType::Bool}) {
    check(tenon::full({2, 3}, true, type, backend), tenon::full({2, 3}, true, type));
    check(tenon::eye(3, 2, type, backend), tenon::eye(3, 2, type));
    check(tenon::uniform(0, 1, {5, 7}, type, Generator(9, 3), backend),
          tenon::uniform(0, 1, {5, 7}, type, Generator(9, 3)));
    check(tenon::normal(0, 1, {5, 7}, type, Generator(9, 3), backend),
          tenon::normal(0, 1, {5, 7}, type, Generator(9, 3)));
    check(tenon::randint(0, 2, {5, 7}, type, Generator(9, 3), backend),
          tenon::randint(0, 2, {5, 7}, type, Generator(9, 3)));
    if (type == ScalarType::Bool) continue;
    check(tenon::iota({2, 3, 4}, 1, type, backend), tenon::iota({2, 3, 4}, 1, type));
    check(tenon::arange(0, 9, 2, type, backend), tenon::arange(0, 9, 2, type));
  }
  check(tenon::zeros({0, 3}, backend), tenon::zeros({0, 3}));
  check(tenon::make_tensor_ptr(4, backend), tenon::make_tensor_ptr(4));
  check(tenon::make_tensor_ptr({2, 2}, {1.0, 2.0, 3.0, 4.0}, backend),
        tenon::make_tensor_ptr({2, 2}, {1.0, 2.0, 3.0, 4.0}));
}

TEST_CASE("materialize: memory never written is zeros") {
  ExprBackend backend;
  CHECK(tests::values<float>(tenon::materialize(tenon::empty({3}, backend), cpu())) ==
        Floats{0, 0, 0});
}

TEST_CASE("materialize: keeps the dynamism") {
  ExprBackend backend;
  const TensorPtr t = tenon::zeros({3}, tenon::TensorShapeDynamism::STATIC, backend);
  CHECK(tenon::shape_dynamism(tenon::materialize(t, cpu())) == tenon::TensorShapeDynamism::STATIC);
}

TEST_CASE("materialize: on another ExprBackend it is recorded again, on a template described") {
  ExprBackend backend;
  ExprBackend other;
  tenon::TemplateBackend templates;
  const TensorPtr t = tenon::uniform(0, 1, {2}, Generator(1), backend);
  const TensorPtr again = tenon::materialize(t, other);
  CHECK(text(again) == "Uniform(0, 1) Float {2}");
  CHECK(&tenon::backend_of(again) == &other);
  const TensorPtr shape = tenon::materialize(t, templates);
  CHECK(shape->device() == templates.device());
  CHECK(tests::sizes(shape) == tests::Vector{2});
}

TEST_CASE("ExprBackend: tensors go to it and back") {
  ExprBackend backend;
  const TensorPtr t = tenon::make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const TensorPtr there = tenon::backend_copy(t, backend);
  CHECK(text(there) == "Data Int {2, 2}");
  CHECK(tests::values<int32_t>(tenon::backend_copy(there, cpu())) == Ints{1, 2, 3, 4});
  CHECK(tests::values<int32_t>(tenon::backend_transfer(there, cpu())) == Ints{1, 2, 3, 4});
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("ExprBackend: a tensor that grows keeps its first elements") {
  ExprBackend backend;
  TensorPtr t = tenon::iota({3}, ScalarType::Int, tenon::TensorShapeDynamism::DYNAMIC, backend);
  REQUIRE(tenon::resize_tensor_ptr(t, {5}) == Error::Ok);
  const TensorPtr made = tenon::materialize(t, cpu());
  const Ints numbers = tests::values<int32_t>(made);
  CHECK(Ints(numbers.begin(), numbers.begin() + 3) == Ints{0, 1, 2});
}

TEST_CASE("to_dot: a tree, from the operands to the tensor") {
  ExprBackend backend;
  const TensorPtr t = tenon::uniform(0, 1, {2, 3}, Generator(42, 6), backend);
  REQUIRE(tenon::fill_(tenon::select(*t, 0, 1), 2.5) == Error::Ok);
  CHECK(tenon::to_dot(t) ==
        "digraph expression {\n"
        "  node [shape=box, fontname=\"monospace\"];\n"
        "  n0 [label=\"Uniform\\n0, 1\\nseed 42, offset 6\\nFloat {2, 3}\"];\n"
        "  n1 [label=\"Constant\\n2.5\\nFloat {3}\"];\n"
        "  n2 [label=\"Update\\nstrides {1}, offset 12\\nFloat {2, 3}\"];\n"
        "  n0 -> n2;\n"
        "  n1 -> n2 [label=\"part\"];\n"
        "  t0 [shape=ellipse, label=\"tensor\"];\n"
        "  n2 -> t0;\n"
        "}\n");
}

TEST_CASE("to_dot: what tensors share is drawn once") {
  ExprBackend backend;
  const TensorPtr a = tenon::eye(2, backend);
  const TensorPtr b = tenon::clone_tensor_ptr(a, ScalarType::Double);
  CHECK(tenon::to_dot({a, b}) ==
        "digraph expression {\n"
        "  node [shape=box, fontname=\"monospace\"];\n"
        "  n0 [label=\"Eye\\nFloat {2, 2}\"];\n"
        "  t0 [shape=ellipse, label=\"tensor 0\"];\n"
        "  n0 -> t0;\n"
        "  n1 [label=\"Copy\\nfrom Float, Checked\\nstrides {2, 1}, offset 0\\nDouble {2, 2}\"];\n"
        "  n0 -> n1;\n"
        "  t1 [shape=ellipse, label=\"tensor 1\"];\n"
        "  n1 -> t1;\n"
        "}\n");
  CHECK(tenon::to_dot(*tenon::expression(a)) ==
        "digraph expression {\n"
        "  node [shape=box, fontname=\"monospace\"];\n"
        "  n0 [label=\"Eye\\nFloat {2, 2}\"];\n"
        "}\n");
  CHECK_ERROR(Error::NotSupported, "to_dot: the tensor is in memory of backend cpu",
              tenon::to_dot(tenon::zeros({2})));
}

TEST_CASE("expression: a few elements of very many take time and memory for a few") {
  ExprBackend backend;
  constexpr int64_t kMany = int64_t{1} << 50;
  const TensorPtr line = tenon::rand({kMany}, Generator(3), backend);
  CHECK(tenon::to_binary(line, 4) == tenon::to_binary(tenon::rand({4}, Generator(3))));
  const TensorPtr rows = tenon::randn({kMany / 1000, 1, 1000}, Generator(5), backend);
  const tenon::Tensor row = tenon::select(rows, 0, 2);
  CHECK(tenon::to_binary(row) == tenon::to_binary(tenon::randn({1000}, Generator(5, 2000))));
  CHECK(tenon::to_binary(rows, 1500) == tenon::to_binary(tenon::randn({2000}, Generator(5)), 1500));
  CHECK(text(tenon::make_tensor_ptr(row)) == "Normal(0, 1) Float {1, 1000}");
  // Not the same numbers: every other one.
  const tenon::Tensor apart = tenon::slice(tenon::rand({8}, Generator(3), backend), 0, 0, 8, 2);
  CHECK(tenon::to_binary(apart, 2) ==
        tenon::to_binary(tenon::slice(tenon::rand({8}, Generator(3)), 0, 0, 8, 2), 2));
}

#endif
