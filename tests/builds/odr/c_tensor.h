// SPDX-License-Identifier: MIT
// A plain C interface between files whose tenon is not the same: memory and who releases it.
#pragma once

#include <cstdint>

extern "C" {

struct CTensor {
  float* data;
  int64_t sizes[2];
  void (*release)(void* context);
  void* context;
};

// Of without_exceptions.cpp.
CTensor make_without_exceptions(int64_t rows, int64_t columns);  // data is null on failure
float sum_without_exceptions(CTensor tensor);                    // releases it
const char* last_error_without_exceptions();
const void* address_without_exceptions();
}
