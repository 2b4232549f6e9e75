// SPDX-License-Identifier: MIT
// The program that every way of getting tenon must build. Exits with 0 when tenon works.
#include <tenon/tenon.h>

#include <cstdio>

int main() {
  auto tensor = tenon::make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  auto elements = tensor->accessor<float, 2>();
  if (tensor->numel() != 6 || elements[1][2] != 6.0f) return 1;
  if (tenon::resize_tensor_ptr(tensor, {3, 2}) != tenon::Error::Ok) return 2;
  if (tensor->size(0) != 3 || tensor->accessor<float, 2>()[2][1] != 6.0f) return 3;
  if (tenon::try_zeros({-1}).error() != tenon::Error::InvalidArgument) return 4;
  std::printf("tenon %d.%d.%d works\n", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
              TENON_VERSION_PATCH);
}
