// SPDX-License-Identifier: MIT
// A program with <tenon/tensor_ptr.h> alone. Exits with 0 when that has what it promises.
#include <tenon/tensor_ptr.h>

#include <cstdio>

using namespace tenon;

int main() {
  float pixels[6] = {1, 2, 3, 4, 5, 6};
  auto image = from_blob(pixels, {2, 3});
  auto held = for_blob(pixels, {3, 2}).deleter([](void*) {}).make_tensor_ptr();
  auto values = make_tensor_ptr({1.0f, 2.0f, 3.0f});
  auto turned = transpose(image, 0, 1);
  auto clone = clone_tensor_ptr(turned);
  if (clone->accessor<float, 2>()[0][1] != 4.0f || data<float>(values)[2] != 3.0f) return 1;
  if (copy_(clone, held) != Error::Ok || clone->accessor<float, 2>()[0][1] != 2.0f) return 2;
  if (resize_tensor_ptr(image, {3, 2}) != Error::Ok || image->size(0) != 3) return 3;
  if (try_reshape(image, {4}).error() != Error::InvalidArgument) return 4;
  std::printf("tenon %d.%d.%d works\n", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
              TENON_VERSION_PATCH);
}
