// SPDX-License-Identifier: MIT
// What each of the two libraries exports.
#pragma once

#include <cstdint>

#define SHARED_EXPORT __attribute__((visibility("default")))

#define SHARED_DECLARE(name)                                      \
  namespace name {                                                \
  /* The address of the thread's generator, as seen there. */     \
  SHARED_EXPORT const void* generator();                          \
  /* Takes the next of its elements there; the offset of that. */ \
  SHARED_EXPORT uint64_t take();                                  \
  SHARED_EXPORT void seed(uint64_t value);                        \
  }
SHARED_DECLARE(first)
SHARED_DECLARE(second)
