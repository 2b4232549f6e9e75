// SPDX-License-Identifier: MIT
// from_blob with its handle on the heap, resized, read by its accessor.
#include "tenon/tenon.h"

alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  auto tensor = tenon::from_blob(data, {2, 3});
  if (tenon::resize_tensor_ptr(tensor, {3, 2}) != tenon::Error::Ok) return 1;
  const auto a = tensor->accessor<float, 2>();
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) sum += a[i][j];
  }
  sink = sum;
  return 0;
}
