// SPDX-License-Identifier: MIT
// Real networks, which models/make_aoti.py compiled, beside what PyTorch computed with them.
#include "tenon/interop/aoti_onednn.h"

#include <cmath>
#include <fstream>

#include "support/catch.h"
#include "tenon/interop/aoti.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/npy.h"
#include "tenon/tenon.h"

namespace aoti_onednn_test {

using namespace tenon;
using tests::contains;

namespace {

const char* const kModels[] = {"digits", "convolutions", "transformer", "lstm", "residual"};

std::string path(const std::string& name) { return TENON_AOTI_NETWORKS "/" + name; }

float largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  float largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const float difference = std::abs(a.const_data_ptr<float>()[i] - b.const_data_ptr<float>()[i]);
    largest = std::max(largest, difference);
  }
  return largest;
}

/// The first rows of a tensor.
Tensor rows(const TensorPtr& tensor, int64_t count) { return narrow(tensor, 0, 0, count); }

}  // namespace

TEST_CASE("AotiModule: five networks compute what PyTorch does, also in a tensor that was set") {
  for (const char* const name : kModels) {
    INFO(name);
    const TensorPtr input = read_npy(path(name + std::string(".input.npy")));
    const TensorPtr expected = read_npy(path(name + std::string(".output.npy")));
    AotiModule module(path(name + std::string(".pt2")));
    for (const int64_t batch : {5, 1, 2, 5}) {
      const Result<std::vector<EValue>> outputs = module.forward(rows(input, batch));
      REQUIRE(outputs.ok());
      REQUIRE(outputs->size() == 1);
      CHECK(largest_difference((*outputs)[0].toTensor(), rows(expected, batch)) < 2e-5f);
    }
    const TensorPtr output = empty(expected->sizes());
    REQUIRE(module.set_output(output) == Error::Ok);
    for (int run = 0; run < 3; ++run) {
      REQUIRE(fill_(output, -1.0f) == Error::Ok);
      REQUIRE(module.run("forward", input) == Error::Ok);
      CHECK(largest_difference(*output, *expected) < 2e-5f);
    }
  }
}

TEST_CASE("AotiModule: the export script's packages say what their inputs and outputs are") {
  AotiModule module(path("transformer.pt2"));
  const Result<MethodMeta> meta = module.method_meta("forward");
  REQUIRE(meta.ok());
  REQUIRE(meta->inputs.size() == 1);
  const TensorSpec& input = meta->inputs[0].tensor;
  CHECK(input.name == "src");
  CHECK(input.type == ScalarType::Float);
  CHECK(input.sizes == Dims{-1, 12, 32});
  CHECK(input.max_sizes == Dims{64, -1, -1});
  CHECK(input.names[0] == std::string("batch"));
  CHECK(meta->outputs[0].tensor.sizes == Dims{-1, 12, 32});

  CHECK(module.forward(zeros({65, 12, 32})).error() == Error::InvalidArgument);
  CHECK(contains(last_error_message(), "64"));
  CHECK(module.forward(zeros({2, 12, 31})).error() == Error::InvalidArgument);
  CHECK(contains(last_error_message(), "31"));
}

// A promise of docs/guarantees.md.
TEST_CASE("AotiModule: inputs are read in the layouts that a model was exported with") {
  const std::string begin = path("layouts.");
  const TensorPtr images = read_npy(begin + "input0.npy");
  const TensorPtr rows_ = read_npy(begin + "input1.npy");
  const TensorPtr scale = read_npy(begin + "input2.npy");
  const Tensor channels_last = permute(contiguous(permute(images, {0, 2, 3, 1})), {0, 3, 1, 2});
  const Tensor reversed = permute(contiguous(permute(rows_, {2, 1, 0})), {2, 1, 0});
  const auto check = [&](Module& module, const Tensor& first, const Tensor& second) {
    const Result<std::vector<EValue>> outputs = module.forward({first, second, *scale});
    INFO(outputs.message());
    REQUIRE(outputs.ok());
    REQUIRE(outputs->size() == 4);
    CHECK((*outputs)[2].isNone());
    const EValue& number = (*outputs)[3];  // a tensor where nothing says that it is a number
    CHECK((number.isInt() ? number.toInt() : *number.toTensor().const_data_ptr<int64_t>()) == 3);
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const TensorPtr expected = read_npy(begin + "output" + std::to_string(i) + ".npy");
      const Tensor found = contiguous((*outputs)[i].toTensor());
      const Tensor wanted = narrow(expected, 0, 0, found.size(0));
      CHECK(largest_difference(found, wanted) < 2e-5f);
    }
    return (*outputs)[0].toTensor();
  };
  for (const char* const name : {"layouts.pt2", "layouts_torch.pt2"}) {
    INFO(name);
    AotiModel model = AotiModel::load(path(name)).value();
    AotiModule module(model);
    const Tensor output = check(module, *images, *rows_);
    CHECK(module.method_meta()->outputs[2].kind ==
          (name == std::string("layouts.pt2") ? ValueKind::None : ValueKind::Tensor));
    CHECK(output.strides() == channels_last.strides());
    check(module, channels_last, reversed);
    check(module, channels_last, *rows_);
    check(module, rows(images, 1), rows(rows_, 1));
    const TensorPtr set = zeros({5, 3, 8, 6});  // row-major: copied there
    REQUIRE(module.set_output(*set) == Error::Ok);
    for (int run = 0; run < 3; ++run)
      CHECK(check(module, *images, reversed).strides() == set->strides());

    AotiOptions options;
    options.copies_inputs = false;
    AotiModule strict(AotiModel::load(path(name), options).value());
    CHECK(strict.run("forward", {*images, reversed, *scale}) == Error::InvalidArgument);
    CHECK(contains(last_error_message(),
                   "its strides are {144, 48, 6, 1}, expected {144, 1, 18, 3}"));
    check(strict, channels_last, reversed);

    // Its weights, too.
    const std::vector<ValueSpec> constants = model.constants().value();
    REQUIRE(constants.size() == 1);
    CHECK(constants[0].tensor.sizes == Dims{5, 7});
    CHECK(model.set_constants({{constants[0].name(), *zeros({5, 7})}}) == Error::NotSupported);
    CHECK(contains(last_error_message(), "its strides are {7, 1}, the model reads it by {1, 5}"));
    CHECK(model.set_constants({{constants[0].name(), transpose(zeros({7, 5}), 0, 1)}}) ==
          Error::Ok);
  }
}

TEST_CASE("AotiModule: the export script's packages say on how many threads kernels compute") {
  const auto threads = [] {
    const auto get = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    return get != nullptr ? get() : 0;
  };
  const auto set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (threads() == 0 || set == nullptr) return;  // oneDNN without OpenMP
  const int before = threads();
  set(3);
  {
    detail::AotiCall call;
    const detail::AotiCallScope scope(call);
    const detail::OnednnThreads one;
    CHECK(threads() == 1);
  }
  {
    detail::AotiCall call;
    call.threads = 2;
    const detail::AotiCallScope scope(call);
    const detail::OnednnThreads two;
    CHECK(threads() == 2);
  }
  CHECK(threads() == 3);
  set(before);
}

TEST_CASE("AotiModule: a package of several models, with numbers, dicts and a buffer") {
  const std::string package = path("several.pt2");
  AotiOptions options;
  options.model = "twice";
  AotiModule twice(AotiModel::load(package, options).value());
  const std::vector<EValue> both = twice.forward(*ones({5, 3})).value();
  CHECK(largest_difference(both[0].toTensor(), *full({5, 3}, 2)) == 0);
  CHECK(largest_difference(both[1].toTensor(), *full({5, 3}, 2)) == 0);
  options.model = "counter";
  AotiModule counter(AotiModel::load(package, options).value());
  const MethodMeta meta = counter.method_meta().value();
  std::string names;
  for (const ValueSpec& spec : meta.inputs) names += spec.name() + std::string(" ");
  for (const ValueSpec& spec : meta.outputs) names += spec.name() + std::string(" ");
  CHECK(names == "tokens cache.keys.0 sums count time scale state.0 state.1 ");
  const TensorPtr tokens = ones({2, 3});
  for (int64_t run = 1; run < 4; ++run) {
    const std::vector<EValue> outputs = counter.forward({*tokens, *ones({7, 2})}).value();
    CHECK(largest_difference(outputs[0].toTensor(), *full({2}, 17)) == 0);
    CHECK(outputs[1].toTensor().item<int64_t>() == run);
    CHECK(outputs[2].toInt() == 3);
    CHECK(outputs[3].toDouble() == 2.5);
    CHECK(outputs[4].isNone());
    CHECK(outputs[5].toTensor().const_data_ptr() == tokens->const_data_ptr());
  }
  RETURNS(InvalidArgument,
          "input 1 (cache.keys.0): dimension 0 (2*time+1) is 8, in input 0 (tokens) time is 3",
          counter.forward({*tokens, *ones({8, 2})}).error());
  RETURNS(InvalidArgument, "input 0 (tokens): dimension 1 (time) is 1, expected at least 2",
          counter.forward({*ones({2, 1}), *ones({3, 2})}).error());
}

TEST_CASE("AotiModule: no libtorch is loaded") {
  AotiModule module(path("residual.pt2"));
  REQUIRE(module.load_method() == Error::Ok);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) CHECK_FALSE(contains(line, "libtorch"));
}

}  // namespace aoti_onednn_test
