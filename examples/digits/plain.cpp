// SPDX-License-Identifier: MIT
// The network written out in C++. Its weights stay in the mapped files, its hidden layer is one
// tensor that every batch uses again.
#include <algorithm>
#include <utility>

#include "files.h"
#include "runtimes.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

using tenon::EValue;
using tenon::ScalarType;
using tenon::Span;
using tenon::Tensor;
using tenon::TensorPtr;
using tenon::TensorSpec;

namespace {

constexpr int64_t kPixels = kSide * kSide;
constexpr int64_t kHidden = 32;
constexpr float kFullInk = 16;

/// A fully connected layer.
struct Layer {
  TensorPtr weights;  // outputs × inputs
  TensorPtr biases;

  Layer(const std::string& folder, const char* w, const char* b, int64_t outputs, int64_t inputs)
      : weights(load(folder, w, ScalarType::Float, {outputs, inputs})),
        biases(load(folder, b, ScalarType::Float, {outputs})) {}

  void run(const float* x, float* y, bool relu) const {
    const auto w = weights->accessor<const float, 2>();
    const auto b = biases->accessor<const float, 1>();
    for (int64_t o = 0; o < w.size(0); ++o) {
      float sum = b[o];
      for (int64_t i = 0; i < w.size(1); ++i) sum += w[o][i] * x[i];
      y[o] = relu ? std::max(sum, 0.0f) : sum;
    }
  }
};

class Network {
 public:
  explicit Network(const std::string& folder)
      : first_(folder, "w1", "b1", kHidden, kPixels),
        second_(folder, "w2", "b2", kDigits, kHidden),
        pixels_(tenon::empty({kPixels})),
        hidden_(tenon::empty({kHidden})) {}

  /// A method of a FunctionModule that writes its output, to the tensor that the caller set for it.
  tenon::Error operator()(Span<const EValue> inputs, Span<EValue> outputs) const {
    const auto images = inputs[0].toTensor().accessor<const float, 3>();
    Tensor& scores = outputs[0].toTensor();
    TENON_TRY(tenon::resize_tensor(scores, {images.size(0), kDigits}));
    const auto to = scores.accessor<float, 2>();
    float* const pixels = pixels_->mutable_data_ptr<float>();
    float* const hidden = hidden_->mutable_data_ptr<float>();
    for (int64_t n = 0; n < images.size(0); ++n) {
      for (int64_t i = 0; i < kPixels; ++i) pixels[i] = images[n][i / kSide][i % kSide] / kFullInk;
      first_.run(pixels, hidden, true);
      second_.run(hidden, to[n].data(), false);
    }
    return tenon::Error::Ok;
  }

 private:
  Layer first_;
  Layer second_;
  TensorPtr pixels_;
  TensorPtr hidden_;
};

}  // namespace

std::unique_ptr<tenon::Module> open_plain(const std::string& folder) {
  TensorSpec scores{{-1, kDigits}};
  scores.max_sizes = {kMostImages, -1};
  return std::make_unique<tenon::FunctionModule>(Network(folder), TensorSpec{{-1, kSide, kSide}},
                                                 scores);
}
