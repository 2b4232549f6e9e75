// SPDX-License-Identifier: MIT
// A list of values in an arena, read by its accessor.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[1024];
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const auto a = tensor->accessor<float, 2>();
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) sum += a[i][j];
  }
  sink = sum;
  return 0;
}
