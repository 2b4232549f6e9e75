// SPDX-License-Identifier: MIT
// A camera's bytes, quantised for a network: normalised, and rounded to Char.
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
uint8_t data[2][2][3] = {{{0, 128, 255}, {10, 20, 30}}, {{40, 50, 60}, {70, 80, 96}}};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto image = tenon::from_blob(&data[0][0][0], {3, 2, 2}, {1, 6, 3});  // HWC, seen as CHW
  alignas(16) int8_t other[12] = {};
  const auto input = tenon::from_blob(other, {3, 2, 2});
  tenon::Normalize normalize;
  normalize.mean = {128, 128, 128};
  normalize.stddev = {2, 2, 2};
  if (tenon::copy_(input, image, normalize, tenon::CastMode::Saturate) != tenon::Error::Ok)
    return 1;
  sink = other[11];
  return 0;
}
