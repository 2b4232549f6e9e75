// SPDX-License-Identifier: MIT
// What the files of the two modes say to each other: in plain C, since their tensors are not the same.
#pragma once

#include <cstdint>

extern "C" {

/// A matrix: memory and who releases it.
struct CMatrix {
  void* data;
  int64_t sizes[2];
  int64_t strides[2];
  int scalar_type;
  void (*release)(void* context);
  void* context;
};

// Of plain.cpp. No tenon function throws across this border but plain_raise().
CMatrix plain_ones(int64_t rows, int64_t columns);  // of floats; data is null on failure
double plain_sum(CMatrix matrix);                   // releases it
int plain_resize(int64_t from, int64_t to);         // the Error's number
const char* plain_last_error();
void plain_raise();  // throws its tenon::Exception
void plain_rand(uint64_t seed, float* out, int64_t count);
void plain_rand_by_default(uint64_t seed, float* out, int64_t count);
const void* plain_address(int which);
}
