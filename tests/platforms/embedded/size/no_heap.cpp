// SPDX-License-Identifier: MIT
// Linked to the programs without a heap, as such programs have it: the deleting destructors that compilers make of
// classes with virtual ones name operator delete, and with it free() and malloc(). Nothing calls it.

#include <cstddef>

void operator delete(void*) noexcept { __builtin_trap(); }
void operator delete(void*, std::size_t) noexcept { __builtin_trap(); }
