// SPDX-License-Identifier: MIT
// ATen mode: a library that grows a tensor of the program's, and is unloaded.
#include <tenon/tenon.h>

extern "C" __attribute__((visibility("default"))) bool grow(tenon::Tensor& tensor, int64_t count) {
  return tenon::resize_tensor(tensor, {count}) == tenon::Error::Ok;
}
