// SPDX-License-Identifier: MIT
#include "tenon/tensor/expr.h"

#include <thread>

#include "support/catch.h"
#include "tenon/backend/backend.h"
#include "tenon/backend/template.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace expr_test {

using namespace tenon;
using tests::Ints;

TEST_CASE("to_string: an expression of each kind") {
  Expression node;
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

#if TENON_ATEN_MODE

TEST_CASE("ExprBackend: in ATen mode there is no device for its tensors, which creators say") {
  ExprBackend backend;
  RAISES(NotSupported, "zeros: libtorch has no device for expr:0", zeros({2, 3}, backend));
}

#else

namespace {

Backend& cpu() { return host_backend(); }
std::string text(const TensorArg& t) { return to_string(*expression(t)); }
/// Floats in a backend's memory.
ViewWithLists view_at(const ExprBackend& backend, void* data, Dims sizes, Dims strides) {
  return {data, ScalarType::Float, backend.device(), sizes, strides};
}

}  // namespace

TEST_CASE("expression: each creator is recorded") {
  ExprBackend backend;
  const std::pair<TensorPtr, const char*> rows[] = {
      {full({2, 3}, 1.5, backend), "Constant(1.5) Float {2, 3}"},
      {ones({3, 0}, backend), "Empty Float {3, 0}"},
      {empty({2, 3}, backend), "Empty Float {2, 3}"},
      {eye(2, 3, backend), "Eye Float {2, 3}"},
      {iota({2, 3}, -1, backend), "Iota(axis 1) Long {2, 3}"},
      {uniform(-1, 1, {4}, Generator(3), backend), "Uniform(-1, 1) Float {4}"},
      {normal(1, 2, {4}, Generator(3), backend), "Normal(1, 2) Float {4}"},
      {make_tensor_ptr({2, 2}, {1, 2, 3, 4}, backend), "Data Int {2, 2}"},
      {make_tensor_ptr(2.5f, backend), "Constant(2.5) Float {}"},
  };
  for (const auto& [tensor, expected] : rows) CHECK(text(tensor) == expected);
  const ExpressionPtr node = expression(uniform(-1, 2, {3}, Generator(42, 7), backend));
  CHECK(node->start.seed == 42);
  CHECK(node->start.offset == 7);
}

TEST_CASE("expression: of views, the creator where it made just these elements, else Data") {
  ExprBackend backend;
  const TensorPtr counted = iota({2, 3}, ScalarType::Int, backend);
  CHECK(text(view(counted, {6})) == "Iota Int {6}");
  const Tensor column = select(*counted, 1, 2);
  CHECK(text(column) == "Data Int {2}");
  CHECK(tests::values<int32_t>(materialize(column, cpu())) == Ints{2, 5});
  CHECK(text(select(full({2, 3}, 4, backend), 1, 2)) == "Constant(4) Float {2}");
  const TensorPtr drawn = rand({2, 3}, Generator(7), backend);
  const ExpressionPtr row = expression(select(*drawn, 0, 1));
  CHECK(to_string(*row) == "Uniform(0, 1) Float {3}");
  CHECK(row->start.offset == 3);
  CHECK(text(transpose(drawn, 0, 1)) == "Data Float {3, 2}");
  CHECK(text(view_as_type(drawn, ScalarType::Int)) == "Data Int {2, 3}");
}

TEST_CASE("ExprBackend: a write to a part computes the rest and makes it Data") {
  ExprBackend backend;
  const TensorPtr t = iota({2, 3}, ScalarType::Int, backend);
  CHECK(fill_(select(*t, 1, 2), 9) == Error::Ok);
  CHECK(text(t) == "Data Int {2, 3}");
  CHECK(tests::values<int32_t>(materialize(t, cpu())) == Ints{0, 1, 9, 3, 4, 9});
  const TensorPtr copy = clone_tensor_ptr(t);
  CHECK(fill_(select(*t, 0, 0), 7) == Error::Ok);  // the copy has bytes of its own
  CHECK(tests::values<int32_t>(materialize(t, cpu())) == Ints{7, 7, 7, 3, 4, 9});
  CHECK(tests::values<int32_t>(materialize(copy, cpu())) == Ints{0, 1, 9, 3, 4, 9});
  CHECK(fill_(t, 2) == Error::Ok);
  CHECK(text(t) == "Constant(2) Int {2, 3}");
}

TEST_CASE("ExprBackend: a constant keeps its bits, and parts of elements are read") {
  ExprBackend backend;
  void* const data = backend.allocate(16, 64);
  const ViewWithLists all = view_at(backend, data, {2, 2}, {2, 1});
  const uint32_t odd_nan = 0x7fc12345u;
  CHECK(backend.constant(all, &odd_nan) == Error::Ok);
  uint32_t bits[4] = {};
  CHECK(backend.copy_to_host(bits, data, 16) == Error::Ok);
  CHECK(bits[3] == odd_nan);
  unsigned char bytes[4] = {};
  CHECK(backend.copy_to_host(bytes, static_cast<char*>(data) + 3, 4) == Error::Ok);
  const uint32_t twice[2] = {odd_nan, odd_nan};
  CHECK(std::memcmp(bytes, reinterpret_cast<const char*>(twice) + 3, 4) == 0);
  const ViewWithLists half = view_at(backend, data, {2}, {1});
  CHECK(backend.constant(half, &odd_nan) == Error::NotSupported);
  backend.deallocate(data, 16);
}

TEST_CASE("ExprBackend: wrong arguments and addresses are refused when they are recorded") {
  ExprBackend backend;
  void* const data = backend.allocate(8, 64);
  const ViewWithLists two = view_at(backend, data, {2}, {1});
  const char element[4] = {};
  RETURNS(InvalidArgument, "holds no numbers", backend.random_uniform(two, 1, 1, {}));
  RETURNS(InvalidArgument, "standard deviation", backend.random_normal(two, 1, -1, {}));
  RETURNS(InvalidArgument, "only a matrix has a diagonal", backend.eye(two));
  RETURNS(OutOfBounds, "there is no such axis", backend.iota(two, 1));
  const char* const nowhere = "12 bytes are not in this backend's memory";
  const ViewWithLists three = view_at(backend, data, {3}, {1});
  RETURNS(InvalidArgument, nowhere, backend.constant(three, element));
  char bytes[12] = {};
  RETURNS(InvalidArgument, nowhere, backend.copy_to_host(bytes, data, 12));
  backend.deallocate(data, 8);
  const char* const stale = "8 bytes are not in this";
  RETURNS(InvalidArgument, stale, backend.copy_from_host(data, bytes, 8));
  RETURNS(InvalidArgument, stale, backend.copy_within(data, data, 8));
}

TEST_CASE("ExprBackend: addresses are new until all were used, then those that are free") {
  ExprBackend backend;
  void* const first = backend.allocate(100, 64);
  backend.deallocate(first, 100);
  void* const second = backend.allocate(100, 64);
  CHECK(first != second);
  const auto left = detail::kEndOfMadeUp - detail::kFirstMadeUp - 1024;
  void* const rest = backend.allocate(left, 64);
  REQUIRE(rest != nullptr);
  CHECK(backend.allocate(2048, 64) == nullptr);
  CHECK(backend.allocate(64, 64) != nullptr);
  backend.deallocate(rest, left);
  CHECK(backend.allocate(2048, 4096) != nullptr);
}

TEST_CASE("expression: a tensor of another backend is refused by name") {
  MetaBackend meta;
  ExprBackend backend;
  RAISES(NotSupported,
         "expression: the tensor is in memory of backend cpu, which keeps no expressions",
         expression(zeros({2})));
  FAILS(NotSupported, "try_expression: the tensor is in memory of backend cpu",
        try_expression(zeros({2})));
  CHECK((*try_expression(zeros({2}, backend)))->kind == expression(zeros({2}, backend))->kind);
  RAISES(NotSupported, "meta tensor", expression(zeros({2}, meta)));
  RAISES(InvalidState, "materialize: the tensor is undefined", materialize(TensorPtr(), cpu()));
  const TensorPtr t = zeros({2}, backend);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  RAISES(InvalidState, "was deallocated", expression(t));
  CHECK(try_materialize(zeros({2}), cpu()).error() == Error::NotSupported);
}

TEST_CASE("materialize: gives what the CPU's creators make, in type, shape and bits") {
  ExprBackend backend;
  const auto check = [](const TensorPtr& recorded, const TensorPtr& made) {
    const TensorPtr t = materialize(recorded, cpu());
    CHECK(tests::sizes(t) == tests::sizes(made));
    CHECK(t->scalar_type() == made->scalar_type());
    CHECK(&backend_of(t) == &host_backend());
    CHECK(to_binary(t) == to_binary(made));
    CHECK(to_binary(recorded) == to_binary(made));
    const int64_t numel = made->numel();  // and parts of it
    for (int64_t from : {int64_t{1}, numel / 2, numel - 1}) {
      if (from < 0 || from > numel) continue;
      CHECK(to_binary(narrow(view(recorded, {numel}), 0, from, numel - from)) ==
            to_binary(narrow(view(made, {numel}), 0, from, numel - from)));
    }
  };
  for (ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::ComplexDouble,
                          ScalarType::Int, ScalarType::Bool}) {
    check(full({2, 3}, true, type, backend), full({2, 3}, true, type));
    check(eye(5, 9, type, backend), eye(5, 9, type));
    const Generator start(9, 3);
    check(uniform(0, 1, {5, 7}, type, Generator(start), backend),
          uniform(0, 1, {5, 7}, type, Generator(start)));
    check(normal(0, 1, {5, 7}, type, Generator(start), backend),
          normal(0, 1, {5, 7}, type, Generator(start)));
    if (type == ScalarType::Bool) continue;
    check(iota({2, 3, 4}, 1, type, backend), iota({2, 3, 4}, 1, type));
    check(iota({2, 100}, type, backend), iota({2, 100}, type));
  }
  check(empty({3}, backend), zeros({3}));
}

TEST_CASE("materialize: keeps the dynamism; records again, describes, and says what failed") {
  ExprBackend backend;
  ExprBackend other;
  MetaBackend meta;
  const TensorPtr t = uniform(0, 1, {2}, TensorShapeDynamism::STATIC, Generator(1), backend);
  CHECK(shape_dynamism(materialize(t, cpu())) == TensorShapeDynamism::STATIC);
  const TensorPtr again = materialize(t, other);
  CHECK(text(again) == "Uniform(0, 1) Float {2}");
  CHECK(&backend_of(again) == &other);
  const TensorPtr shape = materialize(t, meta);
  CHECK(shape->device() == meta.device());
  CHECK(tests::sizes(shape) == tests::Vector{2});
  ArenaBackend arena(nullptr, 0);
  RAISES(OutOfMemory, "materialize: ", materialize(t, arena));
}

TEST_CASE("to_dot: tensors and what made them; what they share is drawn once") {
  ExprBackend backend;
  const TensorPtr drawn = uniform(0, 1, {2, 3}, Generator(42, 6), backend);
  const TensorPtr a = eye(2, backend);
  const std::string head = "digraph expression {\n  node [shape=box, fontname=\"monospace\"];\n";
  CHECK(to_dot(drawn) == head +
                             "  n0 [label=\"Uniform(0, 1) Float {2, 3}\\nseed 42, offset 6\"];\n"
                             "  t0 [shape=ellipse, label=\"tensor\"];\n  n0 -> t0;\n}\n");
  CHECK(to_dot(*expression(a)) == head + "  n0 [label=\"Eye Float {2, 2}\"];\n}\n");
  CHECK(to_dot({a, clone_tensor_ptr(a), full({}, 2, backend)}) ==
        head +
            "  n0 [label=\"Eye Float {2, 2}\"];\n"
            "  t0 [shape=ellipse, label=\"tensor 0\"];\n  n0 -> t0;\n"
            "  t1 [shape=ellipse, label=\"tensor 1\"];\n  n0 -> t1;\n"
            "  n1 [label=\"Constant(2) Float {}\"];\n"
            "  t2 [shape=ellipse, label=\"tensor 2\"];\n  n1 -> t2;\n}\n");
  RAISES(NotSupported, "to_dot: the tensor is in memory of backend cpu", to_dot(zeros({2})));
}

TEST_CASE("ExprBackend: a few elements of very many take time and memory for a few") {
  ExprBackend backend;
  constexpr int64_t kMany = PTRDIFF_MAX / 8192;
  const TensorPtr line = rand({kMany}, Generator(3), backend);
  CHECK(to_binary(line, 4) == to_binary(rand({4}, Generator(3))));
  if (sizeof(void*) < 8) return;  // where it is one megabyte
  RETURNS(OutOfMemory, "bytes of an expression", fill_(narrow(line, 0, 5, 1), 2));
  CHECK(text(line) == "Uniform(0, 1) Float {" + std::to_string(kMany) + "}");
}

TEST_CASE("ExprBackend: threads allocate, write and read at once") {
  ExprBackend backend;
  const TensorPtr shared = iota({64}, ScalarType::Int, backend);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto value = static_cast<int32_t>(i) * 4 + static_cast<int32_t>(t);
        const TensorPtr own = full({16}, value, ScalarType::Int, backend);
        wrong[t] += fill_(narrow(own, 0, 0, 3), 1) != Error::Ok;
        wrong[t] += tests::values<int32_t>(backend_copy(own, cpu()))[3] != value;
        const auto place = static_cast<int64_t>(t) * 16;
        wrong[t] += fill_(narrow(shared, 0, place, 16), value) != Error::Ok;
        wrong[t] += expression(narrow(shared, 0, place, 4))->data == nullptr;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

#endif

}  // namespace expr_test
