// SPDX-License-Identifier: MIT
// Allocations that fail: the linker sends those of the test program here, where it can.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace tests {

/// How many allocations are left before all fail; -1 for no end.
inline int64_t& allocations_left() {
  static int64_t left = -1;
  return left;
}
inline bool next_allocation_fails() {
  int64_t& left = allocations_left();
  if (left > 0) --left;
  return left == 0;
}

}  // namespace tests

#if defined(TENON_FAILING_MEMORY)
extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real__Znwm(size_t size);

inline __attribute__((used)) void* __wrap_malloc(size_t size) {
  return tests::next_allocation_fails() ? nullptr : __real_malloc(size);
}
inline __attribute__((used)) void* __wrap_calloc(size_t count, size_t size) {
  return tests::next_allocation_fails() ? nullptr : __real_calloc(count, size);
}
inline __attribute__((used)) void* __wrap__Znwm(size_t size) {
  if (tests::next_allocation_fails()) throw std::bad_alloc();
  return __real__Znwm(size);
}
}
#endif
