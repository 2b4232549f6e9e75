// SPDX-License-Identifier: MIT
// A Tensor over a TensorImpl on the stack, read by its accessor.
#include "tenon/tenon.h"

alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::SizesType sizes[] = {2, 3};
  tenon::TensorImpl impl(tenon::ScalarType::Float, 2, sizes, data);
  const tenon::Tensor tensor(&impl);
  const auto a = tensor.accessor<float, 2>();
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) sum += a[i][j];
  }
  sink = sum;
  return 0;
}
