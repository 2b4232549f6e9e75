// SPDX-License-Identifier: MIT
// copy_ with a cast: any type to any type.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3}, {1, 2});  // column after column
  alignas(16) int8_t other[6] = {};
  const auto out = tenon::from_blob(other, {2, 3}, tenon::ScalarType::Char);
  if (tenon::copy_(out, tensor, tenon::CastMode::Truncate) != tenon::Error::Ok) return 1;
  sink = other[5];
  return 0;
}
