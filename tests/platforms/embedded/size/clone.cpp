// SPDX-License-Identifier: MIT
// A clone in an arena.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3});
  const auto copy = tenon::clone_tensor_ptr(tensor, arena);
  sink = copy->const_data_ptr<float>()[5];
  return 0;
}
