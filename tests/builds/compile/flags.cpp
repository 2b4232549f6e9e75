// SPDX-License-Identifier: MIT
// Kernels for every instruction set, and sizes in braces inside a loop.
#include <tenon/tenon.h>

using namespace tenon;

size_t largest(unsigned char* room, size_t nbytes) {
  ArenaBackend arena(room, nbytes);
  size_t n = 0;
  while (n < 2000) {
    auto t = try_empty({int64_t(n)}, arena);
    if (!t.ok()) break;
    ++n;
  }
  return n;
}

/// Makes and casts elements of several types.
bool make(Generator& generator) {
  auto normal = randn({100, 30}, ScalarType::Double, generator);
  auto integers = randint(0, 9, {100, 3}, generator);
  auto halves = empty({30, 100}, ScalarType::Half);
  return copy_(halves, transpose(normal, 0, 1)) == Error::Ok &&
         copy_(normal, to(halves, ScalarType::Double)) == Error::Ok && integers->numel() == 300;
}
