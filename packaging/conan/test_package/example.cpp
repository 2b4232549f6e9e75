// SPDX-License-Identifier: MIT
#include <tenon/tenon.h>

#include <cstdio>

int main() {
  float numbers[] = {1, 2, 3, 4, 5, 6};
  const auto borrowed = tenon::from_blob(numbers, {2, 3});
  const auto owned = tenon::clone_tensor_ptr(borrowed);
  numbers[5] = 0;
  if (borrowed->accessor<float, 2>()[1][2] != 0 || owned->accessor<float, 2>()[1][2] != 6) return 1;
  std::printf("tenon %d.%d.%d works\n", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
              TENON_VERSION_PATCH);
}
