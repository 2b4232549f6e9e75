// SPDX-License-Identifier: MIT
// What ExecuTorch's programs and those around it do with tensors, values and modules, beyond what its documentation
// shows: each case is from a public program.
#include <cstdint>
#include <memory>
#include <vector>

#include "support/catch.h"
#include "tenon/compat/executorch_module.h"
#include "tenon/module/function_module.h"

namespace clients_test {

namespace {

using executorch::aten::ScalarType, executorch::aten::SizesType, executorch::aten::Tensor,
    executorch::aten::TensorImpl;
using executorch::extension::from_blob, executorch::extension::Module,
    executorch::extension::resize_tensor_ptr, executorch::extension::TensorPtr;
using executorch::runtime::Error, executorch::runtime::EValue, executorch::runtime::Tag;

/// A method "forward" of one tensor, which may have any rows up to 4.
std::shared_ptr<tenon::FunctionModule> doubler() {
  tenon::TensorSpec spec;
  spec.sizes = {-1, 3};
  spec.max_sizes = {4, 3};
  const auto twice = [](tenon::Span<const tenon::EValue> inputs) {
    const TensorPtr out = executorch::extension::clone_tensor_ptr(inputs[0].toTensor());
    for (int64_t i = 0; i < out->numel(); ++i) out->mutable_data_ptr<float>()[i] *= 2;
    return tenon::EValue(*out);
  };
  return std::make_shared<tenon::FunctionModule>(twice, std::vector<tenon::ValueSpec>{spec},
                                                 std::vector<tenon::ValueSpec>{spec});
}

}  // namespace

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

}  // namespace clients_test
