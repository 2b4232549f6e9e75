// SPDX-License-Identifier: MIT
// ../tensor_impl.cpp with ExecuTorch.
#include <executorch/extension/tensor/tensor_accessor.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  executorch::aten::SizesType sizes[] = {2, 3};
  executorch::aten::DimOrderType order[] = {0, 1};
  executorch::aten::StridesType strides[] = {3, 1};
  executorch::aten::TensorImpl impl(executorch::aten::ScalarType::Float, 2, sizes, data, order,
                                    strides);
  const executorch::aten::Tensor tensor(&impl);
  const auto a = executorch::extension::make_tensor_accessor<float, 2>(tensor);
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) sum += a.get()[i][j];
  }
  sink = sum;
  return 0;
}
