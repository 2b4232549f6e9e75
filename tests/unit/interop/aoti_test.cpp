// SPDX-License-Identifier: MIT
// AotiModule on a model that is written by hand. Built by aoti/CMakeLists.txt.
#include "tenon/interop/aoti.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "allocation/counting_malloc.h"
#include "backend/helpers.h"
#include "interop/aoti/models.h"

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

TEST_CASE("AotiModule: the model reads the input's own memory, read-only or not") {
  AotiModule module(loaded());
  float memory[] = {static_cast<float>(Does::HandThrough), 1, 2, 3};
  const TensorPtr x = from_blob(static_cast<const float*>(memory), {1, 4});
  const std::vector<EValue> outputs = module.forward(*x).value();
  CHECK(outputs[1].toTensor().const_data_ptr() == memory);
  CHECK(values<float>(outputs[0].toTensor()) == Floats{2, 2, 4, 6});
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

TEST_CASE("AotiModule: outputs outlive the module, those that are the model's constants too") {
  std::vector<EValue> outputs;
  {
    AotiModule module(loaded());
    outputs = module.forward(*input_for(Does::Constant)).value();
  }
  CHECK(values<float>(outputs[0].toTensor()) == Floats{4, 2, 2, 2, 2, 2, 2, 2});
  CHECK(values<float>(outputs[1].toTensor()) == Floats{2, 2, 2, 2});
}

TEST_CASE("AotiModule: the model's memory is that of the backend that was given") {
  TrackingBackend tracking(host_backend());
  {
    AotiModule module(loaded(), &tracking);
    const std::vector<EValue> outputs =
        module.forward(*input_for(Does::NoSecondOutput, 100)).value();
    CHECK(tracking.live_blocks() == 1);  // between is gone
    CHECK(outputs[0].toTensor().numel() == 400);
  }
  CHECK(tracking.live_blocks() == 0);
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
  RETURNS(InvalidArgument, "dimension 1 is 3, expected 4", module.run("forward", *ones({2, 3})));
  RETURNS(InvalidType, "it is Int, expected Float",
          module.run("forward", *ones({2, 4}, ScalarType::Int)));
  RETURNS(InvalidState, "it is not given", module.run());
  RETURNS(NotSupported,
          "strides {1, 4} of sizes {4, 4} are not contiguous, as the model reads them",
          module.run("forward", transpose(*ones({4, 4}), 0, 1)));
  RETURNS(InvalidArgument, "2 inputs are given, forward has 1",
          module.run("forward", {*ones({2, 4}), *ones({2, 4})}));
  CHECK(module.run("forward", *input_for(Does::NoSecondOutput)) == Error::Ok);
  CHECK(values<float>(module.get_output()->toTensor()) == Floats{0, 2, 2, 2, 2, 2, 2, 2});
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
  RETURNS(NotFound, "set_constants: there is no constant \"scale\"; the first: layer.scale",
          model.set_constants({{"layer.bias", *zeros({4})}, {"scale", *zeros({4})}}));
  RETURNS(InvalidArgument, "set_constants: layer.bias is there twice",
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
  AotiModel model = AotiModel::load(model_path("fake_model")).value();
  const TensorPtr memory = ones({16});
  REQUIRE(model.set_constants({{"layer.bias", *zeros({1, 4})}}) == Error::Ok);
  REQUIRE(model.set_constants({{"layer.bias", as_strided(*memory, {1, 4}, {7, 1})}}) == Error::Ok);
  AotiModule module(model);
  CHECK(values<float>(module.forward(*ones({1, 4}))->at(0).toTensor()) == Floats{3, 3, 3, 3});
  RETURNS(NotSupported, "layer.bias: its strides are {4, 2}, the model reads it by {7, 1}",
          model.set_constants({{"layer.bias", as_strided(*memory, {1, 4}, {4, 2})}}));
}

TEST_CASE("AotiModule: a constant without a value is checked by its bytes") {
  AotiModel model = AotiModel::load(model_path("fake_model")).value();
  RETURNS(InvalidArgument, "layer.bias: it has 20 bytes, expected 16 or up to 63 less",
          model.set_constants({{"layer.bias", *zeros({5})}}));
  CHECK(!model.constants().value()[1].is_described);
}

TEST_CASE("AotiModule: a library is loaded twice, by two models") {
  AotiModel one = loaded();
  AotiModel two = loaded();
  REQUIRE(two.set_constants({{"layer.scale", *full({4}, 7)}}) == Error::Ok);
  AotiModule first(one);
  AotiModule second(std::move(two));
  one = AotiModel();
  CHECK(values<float>(first.forward(*ones({1, 4}))->at(0).toTensor())[1] == 2);
  CHECK(values<float>(second.forward(*ones({1, 4}))->at(0).toTensor())[1] == 7);
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
