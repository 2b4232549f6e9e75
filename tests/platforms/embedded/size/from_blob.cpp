// SPDX-License-Identifier: MIT
// from_blob with its handle in an arena, read by its accessor.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[512];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3});
  const auto a = tensor->accessor<float, 2>();
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) sum += a[i][j];
  }
  sink = sum;
  return 0;
}
