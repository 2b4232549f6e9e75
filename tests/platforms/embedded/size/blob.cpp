// SPDX-License-Identifier: MIT
// assign from a Blob.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3});
  float other[6] = {6, 5, 4, 3, 2, 1};
  const tenon::Blob blob = tenon::Blob::of(other, {2, 3}, {1, 2});
  if (tenon::assign(tensor, blob) != tenon::Error::Ok) return 1;
  sink = data[5];
  return 0;
}
