// SPDX-License-Identifier: MIT
// A cast between two types that the program knows: its own loop over two accessors.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3});
  alignas(16) tenon::Half other[6] = {};
  const auto out = tenon::from_blob(other, {2, 3});
  const auto from = tensor->accessor<float, 2>();
  const auto to = out->accessor<tenon::Half, 2>();
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) to[i][j] = tenon::Half(from[i][j]);
  }
  sink = static_cast<float>(other[5]);
  return 0;
}
