// SPDX-License-Identifier: MIT
// The network of network.h. Its weights stay in the mapped files, its hidden layer is one tensor
// that every batch uses again.
#include <utility>

#include "files.h"
#include "network.h"
#include "runtimes.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

using tenon::EValue;
using tenon::ScalarType;
using tenon::Span;
using tenon::Tensor;
using tenon::TensorSpec;

namespace {

Layer load_layer(const std::string& folder, const char* weights, const char* biases,
                 int64_t outputs, int64_t inputs) {
  return {*load(folder, weights, ScalarType::Float, {outputs, inputs}),
          *load(folder, biases, ScalarType::Float, {outputs})};
}

}  // namespace

std::unique_ptr<tenon::Module> open_plain(const std::string& folder) {
  Network network{load_layer(folder, "w1", "b1", kHidden, kPixels),
                  load_layer(folder, "w2", "b2", kDigits, kHidden), *tenon::empty({kPixels}),
                  *tenon::empty({kHidden})};
  // A method that writes its output, to the tensor that the caller set for it.
  auto forward = [network = std::move(network)](Span<const EValue> inputs, Span<EValue> outputs) {
    const Tensor& images = inputs[0].toTensor();
    Tensor& scores = outputs[0].toTensor();
    TENON_TRY(tenon::resize_tensor(scores, {images.size(0), kDigits}));
    network.run(images, scores);
    return tenon::Error::Ok;
  };
  TensorSpec scores{{-1, kDigits}};
  scores.max_sizes = {kMostImages, -1};
  return std::make_unique<tenon::FunctionModule>(std::move(forward), TensorSpec{{-1, kSide, kSide}},
                                                 scores);
}
