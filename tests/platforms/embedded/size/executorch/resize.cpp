// SPDX-License-Identifier: MIT
// ../resize.cpp with ExecuTorch.
#include <executorch/extension/tensor/tensor.h>

alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  auto tensor = executorch::extension::from_blob(data, {2, 3});
  if (executorch::extension::resize_tensor_ptr(tensor, {3, 2}) != executorch::runtime::Error::Ok) {
    return 1;
  }
  const auto a = executorch::extension::make_tensor_accessor<float, 2>(*tensor);
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) sum += a.get()[i][j];
  }
  sink = sum;
  return 0;
}
