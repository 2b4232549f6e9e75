// SPDX-License-Identifier: MIT
// ATen mode: what tenon makes is at::Tensor. Exits with 0 when tenon and libtorch work together.
#include <tenon/tenon.h>

#include <memory>
#include <type_traits>

static_assert(std::is_same<tenon::TensorPtr, std::unique_ptr<at::Tensor>>::value,
              "tenon::aten switches ATen mode on");

int main() {
  auto tensor = tenon::make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  tensor->add_(1);
  return tensor->sum().item<float>() == 14.0f ? 0 : 1;
}
