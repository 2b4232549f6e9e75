// SPDX-License-Identifier: MIT
// A check that works in every build mode: prints the condition and exits with 1 if it is false.
#pragma once

#include <cstdio>
#include <cstdlib>

#define ODR_CHECK(...)                                                              \
  do {                                                                              \
    if (!(__VA_ARGS__)) {                                                           \
      std::fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (false)
