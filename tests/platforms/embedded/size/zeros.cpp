// SPDX-License-Identifier: MIT
// zeros in an arena.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[1024];
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::zeros({2, 3});
  sink = tensor->const_data_ptr<float>()[5];
  return 0;
}
