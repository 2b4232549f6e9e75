// SPDX-License-Identifier: MIT
// What ExecuTorch's programs and those around it do with tensors, values and modules, beyond what its documentation
// shows: each case is from a public program.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/compat/executorch_module.h"
#include "tenon/module/function_module.h"

namespace clients_test {

namespace {

using executorch::aten::BFloat16, executorch::aten::Half, executorch::aten::ScalarType,
    executorch::aten::SizesType, executorch::aten::Tensor, executorch::aten::TensorImpl;
using executorch::extension::from_blob, executorch::extension::make_tensor_ptr,
    executorch::extension::Module, executorch::extension::resize_tensor_ptr,
    executorch::extension::TensorPtr;
using executorch::runtime::Error, executorch::runtime::EValue, executorch::runtime::Result,
    executorch::runtime::Tag;

/// A method "forward" of one tensor, which may have any rows up to 4, or with any number of them.
std::shared_ptr<tenon::FunctionModule> doubler(bool has_limit = true) {
  tenon::TensorSpec spec;
  spec.sizes = {-1, 3};
  if (has_limit) spec.max_sizes = {4, 3};
  const auto twice = [](tenon::Span<const tenon::EValue> inputs) {
    const TensorPtr out = executorch::extension::clone_tensor_ptr(inputs[0].toTensor());
    for (int64_t i = 0; i < out->numel(); ++i) out->mutable_data_ptr<float>()[i] *= 2;
    return tenon::EValue(*out);
  };
  return std::make_shared<tenon::FunctionModule>(twice, std::vector<tenon::ValueSpec>{spec},
                                                 std::vector<tenon::ValueSpec>{spec});
}

}  // namespace

namespace {

template <class T>
void check_arithmetic() {
  T h = 1.5f;
  h += 1.0f;
  CHECK(h == 2.5f);
  h -= T(0.5f);
  h *= 2;
  CHECK(h == 4.0f);
  h /= 8.0;
  CHECK(h == 0.5f);
  h = h + 1;
  h = h * h;
  CHECK(h == 2.25f);
  h = -h;
  CHECK(std::abs(h) == 2.25f);
  const T sum = h + T(1.0f);
  CHECK(sum == -1.25f);
  CHECK(h < sum);
  CHECK(std::max(h, sum) == sum);
  CHECK(std::exp(h) == std::exp(-2.25f));
  const TensorPtr out =
      executorch::extension::zeros({1}, executorch::runtime::CppTypeToScalarType<T>::value);
  out->mutable_data_ptr<T>()[0] += 0.25f;
  out->mutable_data_ptr<T>()[0] *= 2.0;
  CHECK(out->const_data_ptr<T>()[0] == 0.5f);
}

}  // namespace

TEST_CASE("compat, clients: arithmetic of Half and BFloat16") {
  check_arithmetic<Half>();
  check_arithmetic<BFloat16>();
}

TEST_CASE("compat, clients: a TensorImpl over what TensorInfo points to") {
  // The Qualcomm, Samsung and MediaTek runners.
  Module module(doubler());
  const auto meta = module.method_meta("forward");
  REQUIRE(meta.ok());
  CHECK(meta->num_inputs() == 1);
  CHECK(*meta->input_tag(0) == Tag::Tensor);
  const auto info = meta->input_tensor_meta(0);
  REQUIRE(info.ok());
  CHECK(info->nbytes() == 48);
  std::vector<float> memory(info->nbytes() / sizeof(float), 1.0f);
  const auto impl = std::make_unique<TensorImpl>(
      info->scalar_type(), info->sizes().size(),
      const_cast<TensorImpl::SizesType*>(info->sizes().data()), memory.data(),
      const_cast<TensorImpl::DimOrderType*>(info->dim_order().data()));
  const Tensor tensor(impl.get());
  CHECK(tensor.sizes() == tenon::Dims({4, 3}));
  CHECK(tensor.const_data_ptr() == memory.data());
  const auto outputs = module.forward(EValue(tensor));
  REQUIRE(outputs.ok());
  CHECK(outputs->at(0).toTensor().const_data_ptr<float>()[11] == 2.0f);

  // Sizes go to a vector of either type, and to from_blob.
  const std::vector<SizesType> sizes(info->sizes().begin(), info->sizes().end());
  const std::vector<int32_t> sizes32(info->sizes().begin(), info->sizes().end());
  CHECK(from_blob(memory.data(), sizes)->numel() == 12);
  CHECK(from_blob(memory.data(), sizes32)->numel() == 12);
  CHECK(info->sizes()[0] == 4);
  CHECK(info->sizes()[1] == 3);
}

TEST_CASE("compat, clients: tokens in a vector that is reserved, resized a token at a time") {
  // TextTokenGenerator without a cache.
  std::vector<int64_t> tokens = {1, 2};
  tokens.reserve(5);
  TensorPtr managed = from_blob(tokens.data(), {1, 5}, ScalarType::Long);
  REQUIRE(resize_tensor_ptr(managed, {1, 2}) == Error::Ok);
  for (int64_t token = 3; token <= 5; ++token) {
    tokens.push_back(token);
    REQUIRE(resize_tensor_ptr(managed, {1, static_cast<int>(tokens.size())}) == Error::Ok);
    CHECK(managed->const_data_ptr<int64_t>()[managed->numel() - 1] == token);
  }
  CHECK(resize_tensor_ptr(managed, {1, 6}) == Error::NotSupported);
}

TEST_CASE("compat, clients: set_data() with an element's pointer") {
  // The Qualcomm runners move a cache by elements.
  uint16_t memory[128] = {};
  memory[64] = 7;
  TensorImpl::SizesType sizes[] = {64};
  TensorImpl impl(ScalarType::UInt16, 1, sizes, memory);
  impl.set_data(impl.mutable_data<uint16_t>() + 64);
  CHECK(Tensor(&impl).const_data_ptr<uint16_t>()[0] == 7);
}

namespace {

/// As the tests of LLM runners: load() and execute() replaced.
class CountingModule : public Module {
 public:
  CountingModule() : Module("") {}
  Error load(const executorch::runtime::Program::Verification) override {
    is_loaded_ = true;
    return Error::Ok;
  }
  bool is_loaded() const override { return is_loaded_; }
  Result<std::vector<EValue>> execute(const std::string& name,
                                      const std::vector<EValue>& inputs) override {
    ++calls;
    if (name != "forward") return Error::InvalidArgument;
    return inputs;
  }
  int calls = 0;

 private:
  bool is_loaded_ = false;
};
/// Names of its own that are like those of Module's implementation.
class Wrapper : public Module {
 public:
  using Module::Module;
  struct Values {
    int count;
  };
  enum class Tracer { None };
  Values values = {3};
  Tracer tracer = Tracer::None;
};

}  // namespace

TEST_CASE("compat, clients: classes derived from Module") {
  CountingModule counting;
  Module& module = counting;
  CHECK_FALSE(module.is_loaded());
  CHECK(module.load() == Error::Ok);
  CHECK(module.is_loaded());
  // The base's own forms go through the replaced ones.
  CHECK(module.forward({EValue(int64_t{4}), EValue(2.5)})->at(1).toDouble() == 2.5);
  CHECK(module.forward(make_tensor_ptr({1.0f, 2.0f}))->at(0).toTensor().numel() == 2);
  CHECK(module.get("forward", EValue(int64_t{4}))->toInt() == 4);
  CHECK(module.execute("other").error() == Error::InvalidArgument);
  CHECK(counting.calls == 4);

  Wrapper wrapper(doubler());
  CHECK(wrapper.values.count == 3);
  CHECK(wrapper.forward(make_tensor_ptr({1, 3}, {1.0f, 2.0f, 3.0f}))->at(0).toTensor().size(1) ==
        3);
}

}  // namespace clients_test
