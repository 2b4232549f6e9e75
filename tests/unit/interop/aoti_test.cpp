// SPDX-License-Identifier: MIT
// AotiModule on a model that is written by hand. Built by aoti/CMakeLists.txt.
#include "tenon/interop/aoti.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "allocation/counting_malloc.h"
#include "backend/helpers.h"
#include "interop/runtimes/aoti/models.h"

#include "tenon/backend/arena.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace aoti_test {

using namespace tenon;
using namespace tests;

namespace {

AotiModel loaded() {
  Result<AotiModel> model = AotiModel::load(model_path("fake_model"));
  REQUIRE(model.error() == Error::Ok);
  give_bias(*model);
  return *model;
}

}  // namespace

TEST_CASE("AotiModule: runs a library, whose constants can be set") {
  AotiModule module(model_path("fake_model"));
  RETURNS(InvalidState, "run: the constant layer.bias has no value; set_constants() gives it one",
          module.run("forward", *ones({2, 4})));
  CHECK(module.set_constants({{"layer.bias", *full({4}, 10)}}) == Error::Ok);
  const std::vector<EValue> outputs = module.forward(*input_for(Does::NoSecondOutput)).value();
  REQUIRE(outputs.size() == 2);
  CHECK(values<float>(outputs[0].toTensor()) == Floats{10, 12, 12, 12, 12, 12, 12, 12});
  CHECK(outputs[1].isNone());
}

TEST_CASE("AotiModule: an output is computed in the tensor that was set") {
  AotiModule module(loaded());
  const TensorPtr y = zeros({2, 4});
  const void* const memory = y->const_data_ptr();
  REQUIRE(module.set_output(*y) == Error::Ok);
  const TensorPtr x = input_for(Does::NoSecondOutput);
  for (int run = 0; run < 3; ++run) {
    REQUIRE(module.run("forward", *x) == Error::Ok);
    CHECK(values<float>(*y) == Floats{0, 2, 2, 2, 2, 2, 2, 2});
    CHECK(module.get_output()->toTensor().const_data_ptr() == memory);
    REQUIRE(zero_(*y) == Error::Ok);
  }
  SECTION("and copied where the sizes differ") {
    const TensorPtr more = empty({3, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
    REQUIRE(module.set_output(*more) == Error::Ok);
    REQUIRE(module.run("forward", *x) == Error::Ok);
    CHECK(values<float>(*more) == Floats{0, 2, 2, 2, 2, 2, 2, 2});
  }
  SECTION("and copied where it is the input too") {
    REQUIRE(module.set_output(*x) == Error::Ok);
    REQUIRE(module.run("forward", *x) == Error::Ok);
    CHECK(values<float>(*x) == Floats{0, 2, 2, 2, 2, 2, 2, 2});
    REQUIRE(module.run("forward", *x) == Error::Ok);
    CHECK(values<float>(*x) == Floats{0, 4, 4, 4, 4, 4, 4, 4});
  }
  SECTION("and where another output is a part of it, that one is a copy") {
    const std::vector<EValue> outputs = module.forward(*input_for(Does::ViewOfOutput)).value();
    CHECK(outputs[0].toTensor().const_data_ptr() == memory);
    CHECK(values<float>(outputs[1].toTensor()) == Floats{6, 2, 2, 2});
    REQUIRE(module.run("forward", *x) == Error::Ok);
    CHECK(values<float>(outputs[1].toTensor()) == Floats{6, 2, 2, 2});
  }
  SECTION("and a run that makes its outputs in another order is right too") {
    const std::vector<EValue> outputs = module.forward(*input_for(Does::SwapOutputs)).value();
    CHECK(values<float>(*y) == Floats{-8, -2, -2, -2, -2, -2, -2, -2});
    CHECK(values<float>(outputs[1].toTensor()) == Floats{8, 2, 2, 2, 2, 2, 2, 2});
    const TensorPtr z = zeros({2, 4});
    REQUIRE(module.set_output(*z, 1) == Error::Ok);
    for (int run = 0; run < 3; ++run) {
      REQUIRE(module.run("forward", *input_for(Does::SwapOutputs)) == Error::Ok);
      CHECK(values<float>(*y) == Floats{-8, -2, -2, -2, -2, -2, -2, -2});
      CHECK(values<float>(*z) == Floats{8, 2, 2, 2, 2, 2, 2, 2});
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: a handle may come twice, or be an input's or a constant's") {
  const auto run = [](AotiModule& module, Does does) {
    std::vector<EValue> outputs;
    for (int n = 0; n < 3; ++n) outputs = module.forward(*input_for(does)).value();
    return outputs;
  };
  const auto y_of = [](Does does) {
    Floats y(8, 2);
    y[0] = 2 * static_cast<float>(does);
    return y;
  };
  const auto x_of = [](Does does) { return values<float>(*input_for(does)); };
  AotiModule module(loaded());
  const auto expected = [&](Does does) {
    return does == Does::SameHandleTwice  ? y_of(does)
           : does == Does::ConstantItself ? Floats{2, 2, 2, 2}
                                          : x_of(does);
  };
  const Does all[] = {Does::SameHandleTwice, Does::InputTaken, Does::InputLeft,
                      Does::ConstantItself};
  for (const Does does : all) {
    INFO(static_cast<int>(does));
    const std::vector<EValue> outputs = run(module, does);
    CHECK(values<float>(outputs[0].toTensor()) == y_of(does));
    CHECK(values<float>(outputs[1].toTensor()) == expected(does));
  }
  // The same with tensors that are set for one output, the other, and both.
  for (const Does does : all) {
    for (int set = 1; set < 4; ++set) {
      INFO(static_cast<int>(does) << ", set " << set);
      const TensorPtr y = zeros({2, 4});
      const TensorPtr z = does == Does::ConstantItself ? zeros({4}) : zeros({2, 4});
      AotiModule other(loaded());
      if ((set & 1) != 0) REQUIRE(other.set_output(*y) == Error::Ok);
      if ((set & 2) != 0) REQUIRE(other.set_output(*z, 1) == Error::Ok);
      const std::vector<EValue> outputs = run(other, does);
      CHECK(values<float>(outputs[0].toTensor()) == y_of(does));
      CHECK(values<float>(outputs[1].toTensor()) == expected(does));
      if ((set & 1) != 0) CHECK(values<float>(*y) == y_of(does));
      if ((set & 2) != 0) CHECK(values<float>(*z) == expected(does));
    }
  }
  // Constants that the program set are given by the program's own handle.
  REQUIRE(module.set_constants({{"layer.scale", *full({4}, 3)}}) == Error::Ok);
  CHECK(values<float>(run(module, Does::ConstantItself)[1].toTensor()) == Floats{3, 3, 3, 3});
  RETURNS(InvalidArgument, "AOTInductor: with both outputs made",
          module.run("forward", *input_for(Does::FailWithTwice)));
  CHECK(values<float>(run(module, Does::InputTaken)[1].toTensor()) == x_of(Does::InputTaken));
}

TEST_CASE("AotiModule: memory that the model cannot reach is an error") {
  MinimalBackend device;
  AotiModule module(loaded(), &device);
  const Result<std::vector<EValue>> outputs = module.forward(*input_for(Does::NoSecondOutput, 2));
  CHECK(!outputs.ok());
  CHECK(contains(outputs.message(), "which the host cannot reach"));
  CHECK(device.live_blocks() == 0);
}

TEST_CASE("AotiModule: with an arena behind a pool a run needs no heap") {
  if (!heap_is_counted() || TENON_IS_CHECKED) return;  // checked builds note handles
  alignas(64) static unsigned char buffer[1 << 16];
  ArenaBackend arena(buffer, sizeof buffer);
  PoolBackend pool(arena);
  AotiModule module(loaded(), &pool);
  const TensorPtr x = input_for(Does::NoSecondOutput, 100);
  const TensorPtr y = zeros({100, 4});
  REQUIRE(module.set_input(*x) == Error::Ok);
  REQUIRE(module.set_output(*y) == Error::Ok);
  for (int run = 0; run < 3; ++run) REQUIRE(module.run() == Error::Ok);
  start_counting();
  const Error error = module.run();
  stop_counting();
  CHECK(error == Error::Ok);
  CHECK(allocations() == 0);
}

TEST_CASE("AotiModule: what the model reports is an error with its text") {
  AotiModule module(loaded());
  const TensorPtr y = zeros({2, 4});
  REQUIRE(module.set_output(*y) == Error::Ok);
  RETURNS(InvalidArgument, "run: AOTInductor: nothing was taken",
          module.run("forward", *input_for(Does::FailAtOnce)));
  RETURNS(InvalidArgument,
          "run: AOTInductor: index out of bounds: 0 <= row < 4 (run at fake_model.cpp:7)",
          module.run("forward", *input_for(Does::FailACheck)));
  RETURNS(OutOfMemory,
          "aoti_torch_empty_strided: ", module.run("forward", *input_for(Does::AskForTooMuch)));
  // The inputs and outputs that were set stay, and the module works on.
  RETURNS(InvalidState, "forward has not run yet, or failed", module.get_output().error());
  CHECK(module.run("forward", *input_for(Does::NoSecondOutput)) == Error::Ok);
  CHECK(values<float>(*y) == Floats{0, 2, 2, 2, 2, 2, 2, 2});
}

TEST_CASE("AotiModule: inputs are checked before the model sees them") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  write_package(path, fake_package());
  AotiModule module(path);
  REQUIRE(module.set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
  const MethodMeta meta = module.method_meta().value();
  REQUIRE(meta.inputs.size() == 1);
  CHECK(meta.inputs[0].tensor.name == "x");
  CHECK(meta.inputs[0].tensor.sizes == Dims{-1, 4});
  CHECK(meta.inputs[0].tensor.max_sizes == Dims{8, -1});
  CHECK(meta.outputs[1].tensor.name == "z");
  RETURNS(InvalidArgument, "run: input 0 (x): dimension 0 (batch) is 9, expected at most 8",
          module.run("forward", *ones({9, 4})));
  RETURNS(InvalidArgument, "run: input 0 (x): dimension 0 (batch) is 0, expected at least 1",
          module.run("forward", *ones({0, 4})));
  CHECK(module.run("forward", *input_for(Does::NoSecondOutput)) == Error::Ok);
  CHECK(values<float>(module.get_output()->toTensor()) == Floats{0, 2, 2, 2, 2, 2, 2, 2});
}

namespace {

AotiModule module_of(const std::string& path, const std::string& inputs,
                     const std::string& second_output = "z none") {
  write_package(path, fake_package(inputs, fake_source(), second_output));
  AotiModel model = AotiModel::load(path).value();
  give_bias(model);
  return AotiModule(model);
}

}  // namespace

TEST_CASE("AotiModule: sizes have least values, and may follow from others") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  SECTION("one without a name") {
    AotiModule module(module_of(path, "x float32 2<=* 4"));
    RETURNS(InvalidArgument, "run: input 0 (x): dimension 0 is 1, expected at least 2",
            module.run("forward", *input_for(Does::NoSecondOutput, 1)));
  }
  SECTION("with 0 as the least value no rows are an input too") {
    AotiModule module(module_of(path, "x float32 0<=batch 4"));
    CHECK(module.run("forward", *zeros({0, 4})) == Error::Ok);
  }
  SECTION("a size that follows from another") {
    AotiModule module(module_of(path, "x float32 n 2*n+2"));
    CHECK(module.run("forward", *input_for(Does::NoSecondOutput, 1)) == Error::Ok);
    RETURNS(InvalidArgument, "run: input 0 (x): dimension 1 (2*n+2) is 4, in input 0 (x) n is 2",
            module.run("forward", *input_for(Does::NoSecondOutput, 2)));
  }
}

TEST_CASE("AotiModule: an output may be a number") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  const auto second_output = [&](const char* text, Does does) {
    AotiModule module(module_of(path, "x float32 batch 4", text));
    const Result<std::vector<EValue>> outputs = module.forward(*input_for(does));
    CHECK(outputs.error() == Error::Ok);
    return outputs.ok() ? outputs->at(1) : EValue();
  };
  CHECK(second_output("z Int", Does::Number).toInt() == 3);
  CHECK(second_output("z Double", Does::Number).toDouble() == 3);
  CHECK(second_output("z int64", Does::Number).toTensor().sizes().empty());
  CHECK(second_output("z Double=2.5", Does::NoSecondOutput).toDouble() == 2.5);
  CHECK(second_output("z Int=-7", Does::NoSecondOutput).toInt() == -7);
  CHECK(second_output("z Int", Does::NoSecondOutput).isNone());
  AotiModule module(module_of(path, "x float32 batch 4", "count Int"));
  RETURNS(InvalidType,
          "run: output 1 (count): it is a tensor of Float with sizes {2, 4}, expected an Int",
          module.run("forward", *input_for(Does::HandThrough)));
  RETURNS(InvalidType, "it is a tensor of Long with sizes {}, expected a Bool",
          module_of(path, "x float32 batch 4", "z Bool").run("forward", *input_for(Does::Number)));
  RETURNS(InvalidType, "output 1 (count): it is ", module.set_output(*zeros({}), 1));
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: an input is handed over in the strides that the model was compiled for") {
  // The model reads memory from its begin on: of an input compiled for order 1, 0 the columns.
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  std::string source = fake_source();
  const auto replace = [&source](const std::string& from, const std::string& to) {
    const size_t at = source.find(from);
    REQUIRE(at != std::string::npos);
    source.replace(at, from.size(), to);
  };
  AotiOptions options;
  std::string inputs = "x float32 batch<=8 4";
  SECTION("by the source") { replace("{4L, 1L}", "{1L, s0}"); }
  SECTION("by the package's words, without a source") {
    source = "";
    inputs += " order=1,0";
    options.assume_row_major = true;  // which makes no difference
  }
  SECTION("by the source, where the words are others") {
    replace("{4L, 1L}", "{1L, s0}");
    inputs += " strides=4,1";
  }
  write_package(path, fake_package(inputs, source));
  AotiModel model = AotiModel::load(path, options).value();
  give_bias(model);
  AotiModule module(model);
  CHECK(module.method_meta()->inputs[0].tensor.dim_order == Dims{1, 0});
  const Tensor rows = view(make_tensor({0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f}), {2, 4});
  const Tensor columns = transpose(contiguous(transpose(rows, 0, 1)), 0, 1);
  const Floats expected{0, 8, 2, 10, 4, 12, 6, 14};
  const auto result = [&](const Tensor& x) {
    return values<float>(module.forward(x)->at(0).toTensor());
  };
  CHECK(result(rows) == expected);
  CHECK(result(columns) == expected);
  CHECK(result(narrow(*full({2, 9}, 0), 1, 2, 4)) == Floats(8, 0));
  REQUIRE(module.set_input(rows) == Error::Ok);  // early checks accept it too
  REQUIRE(module.run() == Error::Ok);
  CHECK(values<float>(module.get_output()->toTensor()) == expected);
  // Handed through, so that the memory shows.
  columns.mutable_data_ptr<float>()[0] = static_cast<float>(Does::HandThrough);
  CHECK(module.forward(columns)->at(1).toTensor().const_data_ptr() == columns.const_data_ptr());

  options.copies_inputs = false;
  AotiModule strict(AotiModel::load(path, options).value());
  REQUIRE(strict.set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
  RETURNS(InvalidArgument, "input 0 (x): its strides are {4, 1}, expected {1, 2}",
          strict.run("forward", rows));
  CHECK(strict.run("forward", columns) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: an input that the model writes to is not copied") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  const std::string written = fake_source() + "kernel((float*)(arg0_1.data_ptr()));\n";
  write_package(path, fake_package("x float32 batch<=8 4", written));
  AotiModule module(path);
  REQUIRE(module.set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
  RETURNS(InvalidArgument, "input 0 (x): its strides are {1, 4}, expected {4, 1}",
          module.run("forward", transpose(*ones({4, 4}), 0, 1)));
  CHECK(module.run("forward", *input_for(Does::NoSecondOutput)) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: read-only memory is not given to a model that writes to it") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  const std::string written =
      "kernel((float*)(arg0_1.data_ptr()));\nk((float*)(bias.data_ptr()));\n";
  write_package(path, fake_package("x float32 batch<=8 4", fake_source() + written));
  AotiModule module(path);
  static const float fixed[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  RETURNS(InvalidState,
          "it is read-only, and the model writes to it; clone_tensor_ptr() makes a copy",
          module.set_constants({{"layer.bias", *from_blob(fixed, {4})}}));
  REQUIRE(module.set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
  RETURNS(InvalidState, "input 0 (x): it is read-only, and the model writes to it",
          module.run("forward", *from_blob(fixed, {2, 4})));
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: an input whose strides nothing tells is refused, unless one says them") {
  TempFolder folder;
  const std::string path = folder / "a.so";
  {
    const AotiModel model = load_without_source(path);  // rows are assumed
    AotiModule module(model);
    REQUIRE(module.set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
    const TensorPtr x = input_for(Does::NoSecondOutput);
    x->mutable_data_ptr<float>()[1] = 3;
    const Floats expected{0, 6, 2, 2, 2, 2, 2, 2};
    CHECK(values<float>(module.forward(*x)->at(0).toTensor()) == expected);
    const Tensor columns = transpose(contiguous(transpose(*x, 0, 1)), 0, 1);
    CHECK(values<float>(module.forward(columns)->at(0).toTensor()) == expected);
  }
  const std::string package = folder / "fake.pt2";
  const std::string no_shapes = fake_source().substr(0, fake_source().find("AOTI_NOINLINE"));
  write_package(package, fake_package("x float32 batch<=8 4", no_shapes));
  AotiModule module(package);
  REQUIRE(module.set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
  RETURNS(NotSupported, "run: input 0 (x): the strides by which the model reads it are unknown",
          module.run("forward", *zeros({2, 4})));
  TensorSpec spec{{-1, 4}};
  spec.strides = {4, 1};
  REQUIRE(module.describe_inputs({spec}) == Error::Ok);
  CHECK(module.method_meta()->inputs[0].tensor.strides == Dims{4, 1});
  CHECK(module.run("forward", *zeros({2, 4})) == Error::Ok);
  CHECK(module.run("forward", transpose(*zeros({4, 2}), 0, 1)) == Error::Ok);
}

TEST_CASE("AotiModule: set_constants checks all, then replaces all, without a copy") {
  AotiModel model = loaded();
  AotiModule module(model);
  const TensorPtr x = ones({1, 4});
  x->mutable_data_ptr<float>()[0] = 0;
  const auto result = [&] { return values<float>(module.forward(*x)->at(0).toTensor()); };
  CHECK(result() == Floats{0, 2, 2, 2});
  {
    const TensorPtr scale = full({4}, 3);
    REQUIRE(model.set_constants({{"layer.scale", *scale}, {"layer.bias", *ones({4})}}) ==
            Error::Ok);
    CHECK(result() == Floats{1, 4, 4, 4});
    REQUIRE(fill_(*scale, 5) == Error::Ok);  // the model reads its memory
  }
  CHECK(result() == Floats{1, 6, 6, 6});  // and keeps it
  RETURNS(
      NotFound,
      "set_constants: there is no constant \"scale\"; the model's first constant is layer.scale",
      model.set_constants({{"layer.bias", *zeros({4})}, {"scale", *zeros({4})}}));
  RETURNS(InvalidArgument, "set_constants: layer.bias is given twice",
          model.set_constants({{"layer.bias", *zeros({4})}, {"layer.bias", *ones({4})}}));
  RETURNS(InvalidArgument, "set_constants: layer.scale: dimension 0 is 5, expected 4",
          model.set_constants({{"layer.bias", *zeros({4})}, {"layer.scale", *zeros({5})}}));
  RETURNS(InvalidType, "layer.scale: it is Int, expected Float",
          model.set_constants({{"layer.scale", *zeros({4}, ScalarType::Int)}}));
  RETURNS(NotSupported, "layer.scale: its strides are {2}, the model reads it by {1}",
          model.set_constants({{"layer.scale", slice(*zeros({8}), 0, 0, 8, 2)}}));
  RETURNS(InvalidState, "layer.scale: the tensor is undefined",
          model.set_constants({{"layer.scale", Tensor()}}));
  RETURNS(InvalidArgument, "AOTInductor: 13 is unlucky",
          model.set_constants({{"layer.scale", *full({4}, 13)}}));
  CHECK(result() == Floats{1, 6, 6, 6});
  AotiModel none;
  RETURNS(InvalidState, "forward: the model is not loaded",
          AotiModule(none).forward(*ones({2, 4})).error());
  RETURNS(InvalidState, "set_constants: the model is not loaded", none.set_constants({}));
  RETURNS(InvalidState, "constants: the model is not loaded", none.constants().error());
  const std::vector<ValueSpec> constants = model.constants().value();
  REQUIRE(constants.size() == 2);
  CHECK(constants[1].tensor.name == "layer.bias");
  CHECK(constants[1].tensor.sizes == Dims{4});
}

TEST_CASE("AotiModule: a constant's dimensions of size 1 may have any strides") {
  TempFolder folder;
  AotiModel model = load_without_source(folder / "a.so");
  const TensorPtr memory = ones({16});
  REQUIRE(model.set_constants({{"layer.bias", *zeros({1, 4})}}) == Error::Ok);
  REQUIRE(model.set_constants({{"layer.bias", as_strided(*memory, {1, 4}, {7, 1})}}) == Error::Ok);
  AotiModule module(model);
  CHECK(values<float>(module.forward(*ones({1, 4}))->at(0).toTensor()) == Floats{3, 3, 3, 3});
  RETURNS(NotSupported, "layer.bias: its strides are {4, 2}, the model reads it by {7, 1}",
          model.set_constants({{"layer.bias", as_strided(*memory, {1, 4}, {4, 2})}}));
}

TEST_CASE("AotiModule: a constant without a value is checked by its bytes") {
  TempFolder folder;
  AotiModel model = load_without_source(folder / "a.so");
  RETURNS(InvalidArgument, "layer.bias: it has 20 bytes, expected 16 or up to 63 less",
          model.set_constants({{"layer.bias", *zeros({5})}}));
  CHECK(!model.constants().value()[1].is_described);
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: a constant is read by the strides that the source has, or by none") {
  TempFolder folder;
  std::string source = fake_source();
  const auto replace = [&](const std::string& from, const std::string& to) {
    source.replace(source.find(from), from.size(), to);
  };
  replace("[1].shape = {4}", "[1].shape = {2, 2}");
  replace("[1].stride = {1}", "[1].stride = {1, 2}");
  const std::string path = folder / "fake.pt2";
  write_package(path, fake_package("x float32 batch 4", source));
  AotiModel model = AotiModel::load(path).value();
  CHECK(model.constants().value()[1].is_described);
  CHECK(model.constants().value()[1].tensor.sizes == Dims{2, 2});
  RETURNS(NotSupported, "layer.bias: its strides are {2, 1}, the model reads it by {1, 2}",
          model.set_constants({{"layer.bias", *zeros({2, 2})}}));
  RETURNS(InvalidArgument, "layer.bias: it has sizes {4}, expected {2, 2}",
          model.set_constants({{"layer.bias", *zeros({4})}}));
  AotiModule module(model);
  RETURNS(InvalidState, "the constant layer.bias has no value",
          module.run("forward", *ones({1, 4})));
  const Tensor bias = make_tensor({10.0f, 20.0f, 30.0f, 40.0f});
  REQUIRE(model.set_constants({{"layer.bias", as_strided(bias, {2, 2}, {1, 2})}}) == Error::Ok);
  const std::vector<EValue> outputs = module.forward(*input_for(Does::NoSecondOutput, 1)).value();
  CHECK(values<float>(outputs[0].toTensor()) == Floats{10, 22, 32, 42});
  write_package(path, fake_package("x float32 batch 4", "int main() {}"));
  AotiModel unknown = AotiModel::load(path).value();
  RETURNS(NotSupported, "layer.bias: the strides by which the model reads it are unknown",
          unknown.set_constants({{"layer.bias", *zeros({4})}}));
}

TEST_CASE(
    "AotiModule: a file that cannot be loaded is an error, and may be there at the next use") {
  TempFolder folder;
  const std::string path = folder / "later.so";
  AotiModule module(path);
  RETURNS(NotFound, "run: " + path + ": cannot open", module.run());
  RETURNS(NotFound, "later.so: cannot open", module.model().error());
  RETURNS(NotFound, "set_constants: ", module.set_constants({}));
  put_file(path, file_bytes(model_path("fake_model")));
  CHECK(module.model().error() == Error::Ok);
  AotiOptions options;
  options.num_models = 0;
  RETURNS(InvalidArgument, "num_models is 0", AotiModel::load(path, options).error());
  options.num_models = 13;
  RETURNS(InvalidArgument, "load: " + path + ": AOTInductor: 13 is unlucky",
          AotiModel::load(path, options).error());
}

#if TENON_IS_CHECKED
TEST_CASE("AotiModule: a handle that the model deletes twice is found") {
  AotiModule module(loaded());
  RETURNS(InvalidState, "aoti_torch_delete_tensor_object: the handle was deleted, or never made",
          module.run("forward", *input_for(Does::DeleteTwice)));
}

TEST_CASE("AotiModule: handles that the model leaks end the program when it is unloaded") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // not Catch2's
    {
      AotiModule module(loaded());
      static_cast<void>(module.run("forward", *input_for(Does::Leak)));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(contains(text, "AotiModule: the model leaked 2 tensor handles"));
}
#endif

TEST_CASE("AotiModule: every allocation that fails is an error, and nothing is lost") {
  if (!heap_is_counted()) return;
  AotiModule module(loaded());
  const TensorPtr x = input_for(Does::NoSecondOutput, 100);
  const TensorPtr y = zeros({100, 4});
  REQUIRE(module.set_input(*x) == Error::Ok);
  REQUIRE(module.set_output(*y) == Error::Ok);
  REQUIRE(module.run() == Error::Ok);
  int failed = 0;
  for (int64_t n = 1;; ++n) {
    start_counting(n);
    const Error error = module.run();
    stop_counting();
    if (failures() == 0) break;
    CHECK(error == Error::OutOfMemory);
    ++failed;
  }
  CHECK(failed > 0);
  REQUIRE(module.run() == Error::Ok);
  CHECK(values<float>(*y)[5] == 2);
}

}  // namespace aoti_test
