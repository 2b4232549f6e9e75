// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/runtimes/executorch/CMakeLists.txt.
#include "tenon/interop/executorch.h"

#include <optional>
#include <thread>

#include "interop/files.h"
#include "interop/models.h"
#include "interop/nested.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace executorch_test {

using namespace tenon;
using tests::Floats;
using tests::model_path;
using tests::Vector;

static_assert(std::is_base_of_v<Module, ExecuTorchModule>);

namespace {

using Names = std::vector<std::string>;

Floats floats(const Tensor& tensor) {
  const auto values = tensor.data<const float>();
  return Floats(values.begin(), values.end());
}
Floats floats(const Result<std::vector<EValue>>& outputs, size_t index = 0) {
  if (!outputs) FAIL(outputs.message());
  return floats(outputs->at(index).toTensor());
}

}  // namespace

TEST_CASE("ExecuTorchModule: runs any method by its name, and says which there are") {
  ExecuTorchModule module(model_path("methods.pte"));
  const Names names = *module.method_names();
  CHECK(Names(names.begin(), names.begin() + 4) == Names{"batch", "encode", "forward", "scaled"});
  const TensorPtr x = full({2, 3}, 5);
  CHECK(floats(module.forward(*x)) == Floats(6, 10.0f));
  const auto encoded = module.execute("encode", *x);
  CHECK(floats(encoded, 0) == Floats(6, 6.0f));
  CHECK(floats(encoded, 1) == Floats(6, 4.0f));
  RETURNS(NotFound, "run: there is no method \"decode\"", module.run("decode", *x));
}

TEST_CASE("ExecuTorchModule: says what a method takes and gives") {
  ExecuTorchModule module(model_path("methods.pte"));
  const MethodMeta fixed = *module.method_meta();
  REQUIRE((fixed.knows_inputs && fixed.knows_outputs && fixed.inputs.size() == 1));
  CHECK(fixed.inputs[0].tensor.sizes == Dims{2, 3});
  CHECK(fixed.inputs[0].tensor.type == ScalarType::Float);
  CHECK(fixed.inputs[0].tensor.max_sizes.empty());
  const MethodMeta batch = *module.method_meta("batch");
  CHECK(batch.inputs[0].tensor.sizes == Dims{-1, -1});
  CHECK(batch.inputs[0].tensor.max_sizes == Dims{16, 3});
  CHECK(batch.outputs[0].tensor.max_sizes == Dims{16, 3});
  const MethodMeta scaled = *module.method_meta("scaled");
  const ValueKind kinds[] = {ValueKind::Tensor, ValueKind::Double, ValueKind::Int, ValueKind::Bool};
  for (size_t i = 0; i < 4; ++i) CHECK(scaled.inputs[i].kind == kinds[i]);
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: nested inputs and outputs are in the order that TorchScript has") {
  ExecuTorchModule nested(model_path("nested.pte"));
  tests::check_nested(nested);
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "ExecuTorchModule: a list of tensors is None and named when it is asked for, as others are") {
  ExecuTorchModule listed(model_path("listed.pte"));
  const auto outputs = listed.forward(full({2}, 1));
  INFO(outputs.message());
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 3);
  CHECK(floats(outputs, 0) == Floats{2, 2});
  CHECK((*outputs)[1].isNone());
  CHECK(floats(outputs, 2) == Floats{3, 3});
  CHECK(listed.method_meta()->outputs[1].kind == ValueKind::None);
  RETURNS(NotSupported, "get_output: output 1: a list of tensors", listed.get_output(1).error());
  RETURNS(InvalidType, "output 1: it is a Tensor", listed.set_output(zeros({2}), 1));
  CHECK(listed.method_meta("take")->inputs.size() == 2);  // what it takes can be seen
  RETURNS(NotSupported, "run: input 1: a list of tensors", listed.run("take", zeros({2})));
  RETURNS(NotSupported, "run: input 1: a list of tensors",
          listed.run("take", {zeros({2}), zeros({2})}));
}

TEST_CASE("ExecuTorchModule: a shape that may vary is any up to the largest") {
  ExecuTorchModule module(model_path("methods.pte"));
  for (const int64_t rows : {2, 16, 1, 7}) {
    const auto outputs = module.execute("batch", full({rows, 3}, 1));
    CHECK(floats(outputs) == Floats(static_cast<size_t>(rows * 3), 2.0f));
    CHECK(tests::sizes(outputs->at(0).toTensor()) == Vector{rows, 3});
  }
  RETURNS(InvalidArgument, "run: input 0: dimension 0 is 17, expected at most 16",
          module.run("batch", full({17, 3}, 1)));
  RETURNS(InvalidArgument, "input 0: it has sizes {3}, expected {-1, -1}",
          module.run("batch", full({3}, 1)));
  RETURNS(InvalidType, "input 0: it is Int, expected Float",
          module.run("batch", full({2, 3}, 1, ScalarType::Int)));
  RETURNS(InvalidType, "set_output: output 0: it is Double, expected Float",
          module.set_output("batch", full({2, 3}, 1, ScalarType::Double)));
  CHECK(module.run("batch", full({3, 3}, 1)) == Error::Ok);
}

TEST_CASE("ExecuTorchModule: inputs of other kinds have the values of the export") {
  ExecuTorchModule module(model_path("methods.pte"));
  const TensorPtr x = full({2, 3}, 2);
  CHECK(floats(module.execute("scaled", {*x, 0.5, 3, true, none})) == Floats(6, 3.0f));
  RETURNS(InvalidArgument,
          "input 2: it is an Int, 4, expected an Int, 3, as when the program was exported",
          module.run("scaled", {*x, 0.5, 4, true, none}));
  RETURNS(InvalidArgument, "input 1: it is a Double, 0.25",
          module.run("scaled", {*x, 0.25, 3, true, none}));
  RETURNS(InvalidArgument, "input 3: it is a Bool, false, expected a Bool, true",
          module.run("scaled", {*x, 0.5, 3, false, none}));
  RETURNS(InvalidType, "input 4: it is a Tensor, Float {2, 3}, expected None",
          module.run("scaled", {*x, 0.5, 3, true, *x}));
  CHECK(floats(module.execute("scaled", {*x, 0.5, 3, true, none})) == Floats(6, 3.0f));
}

TEST_CASE("ExecuTorchModule: methods without inputs give constants of every kind") {
  ExecuTorchModule module(model_path("methods.pte"));
  CHECK(module.execute("get_max_seq_len")->at(0).toInt() == 128);
  CHECK(module.execute("get_rate")->at(0).toDouble() == 0.5);
  CHECK(module.execute("get_flag")->at(0).toBool());
  CHECK(module.execute("get_name")->at(0).toString() == "tenon");
  const auto sizes = module.execute("get_sizes");
  CHECK((sizes->size() == 2 && sizes->at(0).toInt() == 2 && sizes->at(1).toInt() == 3));
  CHECK(floats(module.execute("get_tensor")) == Floats{0, 1, 2});
}

TEST_CASE("ExecuTorchModule: a kernel's error is reported, and the module goes on") {
  ExecuTorchModule module(model_path("fails.pte"));
  RETURNS(InvalidArgument, "run: method matmul: ExecuTorch says InvalidArgument",
          module.run("matmul", {full({2, 4}, 1), full({5, 2}, 1)}));
  CHECK(module.get_output("matmul").error() == Error::InvalidState);
  CHECK(floats(module.execute("matmul", {full({2, 4}, 1), full({4, 2}, 1)})) == Floats(4, 4.0f));
  const TensorPtr rows = full({2, 4}, 1);
  const auto at = [](int64_t a, int64_t b) {
    return make_tensor_ptr({2}, std::vector<int64_t>{a, b});
  };
  RETURNS(InvalidArgument, "run: method embed: ExecuTorch says",
          module.run("embed", {at(0, 99), *rows}));
  CHECK(floats(module.execute("embed", {at(1, 0), *rows})) == Floats(8, 1.0f));
}

TEST_CASE(
    "ExecuTorchModule: what a program changes in itself stays from run to run, in each module") {
  for (const char* const name : {"aliasing.pte", "aliasing_unplanned.pte"}) {
    ExecuTorchModule first(model_path(name));
    ExecuTorchModule second(model_path(name));
    for (int64_t i = 1; i <= 3; ++i) {
      CHECK(first.execute("count")->at(0).toTensor().item<int64_t>() == i);
    }
    CHECK(second.execute("count")->at(0).toTensor().item<int64_t>() == 1);
  }
}

TEST_CASE("ExecuTorchModule: a file that is missing or no program is an error until it is there") {
  const tests::TempFolder folder;
  const std::string path = folder / "add.pte";
  Tensor sum;
  {
    ExecuTorchModule module(path);
    RETURNS(NotFound, "run: " + path + ": cannot open", module.run());
    CHECK(module.method_names().error() == Error::NotFound);
    for (const char* const other : {"README.md", "add.pt"}) {
      tests::put_file(path, tests::file_bytes(model_path(other)));
      RETURNS(InvalidArgument, path + ": it is no program that can be loaded", module.run());
    }
    tests::put_file(path, tests::file_bytes(model_path("add.pte")));
    REQUIRE(module.load_method() == Error::Ok);
    REQUIRE(std::remove(path.c_str()) == 0);  // needed no more
    sum = module.forward({full({2, 3}, 1), full({2, 3}, 2)})->at(0).toTensor();
  }
  CHECK(floats(sum) == Floats(6, 3.0f));  // outlives the module
  ExecuTorchModule no_file(folder / "");
  RETURNS(AccessFailed, "not a regular file", no_file.run());
}

TEST_CASE("ExecuTorchModule: a program in memory is kept by its tensor, as long as the module") {
  int released = 0;
  std::vector<uint8_t> bytes = tests::file_bytes(model_path("add.pte"));
  {
    ExecuTorchModule module(from_blob(bytes.data(), {static_cast<int64_t>(bytes.size())},
                                      ScalarType::Byte, [&released](void*) { ++released; }));
    CHECK(floats(module.forward({full({2, 3}, 1), full({2, 3}, 2)})) == Floats(6, 3.0f));
    CHECK(released == 0);
  }
  CHECK(released == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: bytes that are no program's, or where it cannot be, are refused") {
  std::vector<uint8_t> bytes = tests::file_bytes(model_path("add.pte"));
  const auto size = static_cast<int64_t>(bytes.size());
  ExecuTorchModule undefined{TensorPtr()};
  RETURNS(InvalidState, "the program is undefined", undefined.run());
  std::vector<uint8_t> room(bytes.size() + 32);
  std::memcpy(room.data() + 1, bytes.data(), bytes.size());
  ExecuTorchModule shifted(from_blob(room.data() + 1, {size}));
  RETURNS(InvalidArgument, "not contiguous at a multiple of 16", shifted.run());
  ExecuTorchModule strided(from_blob(bytes.data(), {size / 2}, {2}));
  RETURNS(InvalidArgument, "not contiguous", strided.run());
  for (int64_t part = 0; part < size; part += 7) {
    ExecuTorchModule cut(from_blob(bytes.data(), {part}));
    CHECK(cut.method_names().error() == Error::InvalidArgument);
  }
  std::memcpy(bytes.data() + 4, "ET99", 4);  // another version
  ExecuTorchModule other(make_tensor_ptr(std::move(bytes)));
  RETURNS(InvalidArgument, "it is no program that can be loaded", other.run());
}

TEST_CASE("ExecuTorchModule: memory is the host's, in a scope with another default backend too") {
  MetaBackend nowhere;
  ExecuTorchModule refused(model_path("add.pte"), nowhere);
  RETURNS(NotSupported, "has no memory that the host reads on cpu", refused.run());
  ExecuTorchModule module(model_path("add_unplanned.pte"));
  const TensorPtr x = full({2, 3}, 1);
  const BackendScope scope(nowhere);
  CHECK(floats(module.forward({*x, *x})) == Floats(6, 2.0f));
}

TEST_CASE("ExecuTorchModule: several at once, each on its thread", "[threads][ExecuTorchModule]") {
  const auto use = [](float value, int& right) {
    ExecuTorchModule module(model_path("methods.pte"));
    for (int i = 0; i < 50; ++i) {
      const auto outputs = module.execute("batch", full({16, 3}, value));
      if (outputs && floats(outputs->at(0).toTensor()) == Floats(48, value + 1)) ++right;
    }
  };
  int first = 0;
  int second = 0;
  std::thread other([&] { use(10, second); });
  use(1, first);
  other.join();
  CHECK(first == 50);
  CHECK(second == 50);
}

TEST_CASE("ExecuTorchModule: a delegate's program runs as others do") {
  ExecuTorchModule module(model_path("xnnpack.pte"));
  REQUIRE(module.load_method() == Error::Ok);
  std::vector<float> room(16 * 4);
  REQUIRE(module.set_output(from_blob(room.data(), {16, 4})) == Error::Ok);
  for (const int64_t rows : {2, 16, 1}) {
    REQUIRE(module.run("forward", full({rows, 4}, 1)) == Error::Ok);
    // Row i of the weights sums the first i + 1 inputs; i is added.
    for (size_t i = 0; i < static_cast<size_t>(rows) * 4; ++i) {
      CHECK(room[i] == static_cast<float>(2 * (i % 4) + 1));
    }
    CHECK(tests::sizes(module.get_output()->toTensor()) == Vector{rows, 4});
  }
}

}  // namespace executorch_test
