// SPDX-License-Identifier: MIT
// The network written out in C++: 8 × 8 pixels → 32 → 10 scores. plain.cpp runs it on a desktop,
// ../cortex_m on a microcontroller.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/tenon.h"

constexpr int64_t kSide = 8;
constexpr int64_t kPixels = kSide * kSide;
constexpr int64_t kHidden = 32;
constexpr int64_t kDigits = 10;
constexpr float kFullInk = 16;

/// A fully connected layer.
struct Layer {
  tenon::Tensor weights;  // outputs × inputs
  tenon::Tensor biases;

  void run(tenon::Span<const float> x, float* y, bool relu) const {
    const float* w = weights.data<const float>().begin();
    for (const float bias : biases.data<const float>()) {
      float sum = bias;
      for (const float value : x) sum += *w++ * value;
      *y++ = relu ? std::max(sum, 0.0f) : sum;
    }
  }
};

struct Network {
  Layer first;
  Layer second;
  tenon::Tensor pixels;  // of one image, from 0 to 1
  tenon::Tensor hidden;

  /// From images × 8 × 8 floats, 0 to 16, to images × 10 scores.
  void run(const tenon::Tensor& images, const tenon::Tensor& scores) const {
    const auto from = images.accessor<const float, 3>();
    const auto to = scores.accessor<float, 2>();
    const auto x = pixels.data<float>();
    const auto h = hidden.data<float>();
    for (int64_t n = 0; n < from.size(0); ++n) {
      float* pixel = x.begin();
      for (int64_t row = 0; row < kSide; ++row) {
        for (int64_t column = 0; column < kSide; ++column)
          *pixel++ = from[n][row][column] / kFullInk;
      }
      first.run(x, h.begin(), true);
      second.run(h, to[n].data(), false);
    }
  }
};
