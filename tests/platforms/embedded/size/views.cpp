// SPDX-License-Identifier: MIT
// Three views of a tensor whose handle is in an arena.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3});
  const tenon::Tensor rows = tenon::slice(tensor, 0, 1, 2);
  const tenon::Tensor turned = tenon::transpose(rows, 0, 1);
  const tenon::Tensor flat = tenon::view(turned, {3});
  sink = flat.const_data_ptr<float>()[2];
  return 0;
}
