// SPDX-License-Identifier: MIT
// The same without an arena and without a module: static arrays, and a static TensorImpl over each.
// A Tensor over a TensorImpl is two pointers.
#include "board.h"
#include "digits.h"
#include "tally.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

__attribute__((section(".buffers"))) float pixels[kPixels], scaled[kPixels], hidden[kHidden],
    scores[kDigits];

constexpr SizesType kW1Sizes[] = {kHidden, kPixels};
constexpr SizesType kW2Sizes[] = {kDigits, kHidden};
constexpr SizesType kImageSizes[] = {1, kSide, kSide};
constexpr SizesType kScoresSizes[] = {1, kDigits};

// Over constants: read-only.
TensorImpl w1_impl(ScalarType::Float, 2, kW1Sizes, w1[0]);
TensorImpl b1_impl(ScalarType::Float, 1, &kHidden, b1);
TensorImpl w2_impl(ScalarType::Float, 2, kW2Sizes, w2[0]);
TensorImpl b2_impl(ScalarType::Float, 1, &kDigits, b2);
TensorImpl image_impl(ScalarType::Float, 3, kImageSizes, pixels);
TensorImpl scaled_impl(ScalarType::Float, 1, &kPixels, scaled);
TensorImpl hidden_impl(ScalarType::Float, 1, &kHidden, hidden);
TensorImpl scores_impl(ScalarType::Float, 2, kScoresSizes, scores);

}  // namespace

int main() {
  set_failure_handler(print_failure);
  const Network network{{Tensor(&w1_impl), Tensor(&b1_impl)},
                        {Tensor(&w2_impl), Tensor(&b2_impl)},
                        Tensor(&scaled_impl),
                        Tensor(&hidden_impl)};
  const Tensor image(&image_impl);
  const Tensor scores_of_image(&scores_impl);

  Tally tally;
  for (const int32_t i : test_index) {
    tally.begin();
    float* to = pixels;
    for (const auto& row : images[i]) {
      for (const uint8_t pixel : row) *to++ = pixel;
    }
    network.run(image, scores_of_image);
    tally.end(i, scores);
  }
  return tally.report();
}
