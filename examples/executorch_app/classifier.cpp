// SPDX-License-Identifier: MIT
#include "classifier.h"

#include <algorithm>
#include <string>
#include <utility>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/log.h>

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::extension::clone_tensor_ptr;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::extension::zeros;
using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

namespace {

std::vector<SizesType> sizes_of(const TensorInfo& info) {
  return {info.sizes().begin(), info.sizes().end()};
}

/// "Float [64, 8, 8]"
std::string describe(ScalarType type, const std::vector<SizesType>& sizes) {
  std::string text = std::string(executorch::runtime::toString(type)) + " [";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + "]";
}

}  // namespace

Classifier::Classifier(std::unique_ptr<Module> module) : module_(std::move(module)) {
  ET_CHECK_MSG(module_ != nullptr, "a classifier needs a model");
}

Error Classifier::load() {
  ET_CHECK_OK_OR_RETURN_ERROR(module_->load_forward());
  const auto meta = ET_UNWRAP(module_->method_meta("forward"));
  ET_CHECK_OR_RETURN_ERROR(meta.num_inputs() == 1 && meta.num_outputs() == 1, InvalidProgram,
                           "the model has %zu inputs and %zu outputs, expected one of each",
                           meta.num_inputs(), meta.num_outputs());
  const auto input = ET_UNWRAP(meta.input_tensor_meta(0));
  const auto output = ET_UNWRAP(meta.output_tensor_meta(0));
  input_sizes_ = sizes_of(input);
  input_type_ = input.scalar_type();
  const std::string takes = describe(input_type_, input_sizes_);
  const std::string gives = describe(output.scalar_type(), sizes_of(output));
  ET_LOG(Info, "forward takes %s and gives %s", takes.c_str(), gives.c_str());
  ET_CHECK_OR_RETURN_ERROR(input_sizes_.size() == 3 && output.scalar_type() == ScalarType::Float,
                           InvalidProgram, "this is not a model of images and scores");
  if (!output.is_memory_planned()) {
    scores_ = zeros(sizes_of(output));
    ET_CHECK_OK_OR_RETURN_ERROR(module_->set_output(scores_));
  }
  return Error::Ok;
}

Result<Answer> Classifier::classify(const TensorPtr& image) {
  ET_CHECK_MSG(!input_sizes_.empty(), "load() comes first");
  std::vector<SizesType> sizes = {1};
  sizes.insert(sizes.end(), image->sizes().begin(), image->sizes().end());
  ET_CHECK_OR_RETURN_ERROR(
      sizes.size() == 3 && std::equal(sizes.begin() + 1, sizes.end(), input_sizes_.begin() + 1),
      InvalidArgument, "an image is %s, the model takes %s",
      describe(image->scalar_type(), sizes).c_str(), describe(input_type_, input_sizes_).c_str());

  const auto input = clone_tensor_ptr(make_tensor_ptr(image, sizes), input_type_);
  const auto outputs = ET_UNWRAP(module_->forward(input));
  const auto scores = outputs.at(0).toTensor();
  ET_CHECK_OR_RETURN_ERROR(scores.numel() > 0, InvalidState, "the model gave no scores");
  const float* const begin = scores.const_data_ptr<float>();
  const float* const best = std::max_element(begin, begin + scores.numel());
  return Answer{static_cast<int>(best - begin), *best};
}
