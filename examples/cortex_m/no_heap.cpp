// SPDX-License-Identifier: MIT
// There is no heap: whoever asks for one ends the program. The linker takes these functions in
// place of newlib's.
#include <cstddef>

#include "board.h"

namespace {

[[noreturn]] void refuse(const char* function) {
  board::print(function);
  board::print(" was called: this program has no heap\n");
  board::stop(1);
}

}  // namespace

extern "C" {

void* malloc(size_t) { refuse("malloc"); }
void* calloc(size_t, size_t) { refuse("calloc"); }
void* realloc(void*, size_t) { refuse("realloc"); }
void* _sbrk(ptrdiff_t) { refuse("_sbrk"); }  // below newlib's own allocations, as in printf
void free(void*) {}                          // of null

}  // extern "C"
