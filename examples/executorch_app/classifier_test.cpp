// SPDX-License-Identifier: MIT
// Tests classifier.cpp without ExecuTorch and without a model file: C++ functions stand for models.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include <executorch/runtime/platform/assert.h>
#include <tenon/module/function_module.h>

#include "classifier.h"

using executorch::aten::ScalarType;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using tenon::EValue;
using tenon::FunctionModule;
using tenon::Span;
using tenon::TensorSpec;

namespace {

/// A classifier of images of 2 × 3 pixels, with four scores.
template <class F>
Classifier make_classifier(F f) {
  auto model = std::make_shared<FunctionModule>(f, TensorSpec{{1, 2, 3}}, TensorSpec{{1, 4}});
  return Classifier(std::make_unique<Module>(model));
}

TensorPtr image(std::vector<executorch::aten::SizesType> sizes) {
  return make_tensor_ptr(sizes, std::vector<uint8_t>{0, 1, 2, 3, 4, 5}, {}, {}, ScalarType::Byte);
}

void finds_the_highest_score() {
  auto classifier = make_classifier([](Span<const EValue> inputs) {
    const tenon::Tensor& pixels = inputs[0].toTensor();
    ET_CHECK(pixels.const_data_ptr<float>()[5] == 5.0f);  // floats, as the model wants them
    return tenon::make_tensor_ptr({1, 4}, {0.5f, -1.0f, 2.5f, 2.0f});
  });
  ET_CHECK(classifier.load() == Error::Ok);
  const auto answer = classifier.classify(image({2, 3}));
  ET_CHECK(answer.ok() && answer->digit == 2 && answer->score == 2.5f);
}

void hands_on_what_the_model_says() {
  auto classifier = make_classifier([](Span<const EValue>, Span<EValue>) {
    return tenon::set_error(tenon::Error::NotSupported, "no model today");
  });
  ET_CHECK(classifier.load() == Error::Ok);
  ET_CHECK(classifier.classify(image({2, 3})).error() == Error::NotSupported);
}

void refuses_images_of_another_shape() {
  int runs = 0;
  auto classifier = make_classifier([&runs](Span<const EValue>, Span<EValue>) { ++runs; });
  ET_CHECK(classifier.load() == Error::Ok);
  ET_CHECK(classifier.classify(image({3, 2})).error() == Error::InvalidArgument);
  ET_CHECK(classifier.classify(image({6})).error() == Error::InvalidArgument);
  ET_CHECK(runs == 0);
}

void refuses_models_of_another_kind() {
  auto model = std::make_shared<FunctionModule>([](Span<const EValue>) { return EValue(3); },
                                                TensorSpec{{1, 2, 3}}, tenon::ValueKind::Int);
  Classifier classifier(std::make_unique<Module>(model));
  ET_CHECK(classifier.load() == Error::InvalidArgument);
}

}  // namespace

int main() {
  finds_the_highest_score();
  hands_on_what_the_model_says();
  refuses_images_of_another_shape();
  refuses_models_of_another_kind();
  std::puts("ok");
}
