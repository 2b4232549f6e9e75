// SPDX-License-Identifier: MIT
// Reads a handwritten digit with a model. Written for ExecuTorch; it names nothing else.
#pragma once

#include <memory>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

struct Answer {
  int digit;
  float score;
};

class Classifier {
 public:
  explicit Classifier(std::unique_ptr<executorch::extension::Module> module);

  /// Loads the model, and checks that it takes images and gives scores.
  executorch::runtime::Error load();

  /// Reads an image of bytes, rows × columns, after load().
  executorch::runtime::Result<Answer> classify(const executorch::extension::TensorPtr& image);

 private:
  std::unique_ptr<executorch::extension::Module> module_;
  std::vector<executorch::aten::SizesType> input_sizes_;  // images × rows × columns
  executorch::aten::ScalarType input_type_ = executorch::aten::ScalarType::Float;
  executorch::extension::TensorPtr scores_;  // if the model has no memory for them
};
