// SPDX-License-Identifier: MIT
// ATen mode: a storage is known for tenon's whichever library made it.
#include <cstring>

#include <tenon/tenon.h>

#include "../odr/check.h"

__attribute__((visibility("default"))) tenon::TensorPtr make_tensor_of_library();

int main() {
  const tenon::TensorPtr t = make_tensor_of_library();
  ODR_CHECK(std::strcmp(tenon::backend_of(t).name(), "library's") == 0);
  ODR_CHECK(tenon::backend_of(t).live_blocks() == 1);
}
