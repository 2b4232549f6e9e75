// SPDX-License-Identifier: MIT
// An image filter as it may have been for decades: C, buffers of its own, rows padded to 64 bytes.
// It stands for any library that will not write to the caller's memory, and knows nothing of tenon.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct legacy_engine {
  int width;
  int height;
  unsigned char*
      input;           // height rows of width pixels, input_pitch bytes apart; the filters read it
  size_t input_pitch;  // in bytes
  float* response;     // height rows of width floats, response_pitch bytes apart
  size_t response_pitch;  // in bytes
  int* profile;           // width sums, without padding
} legacy_engine;

// Allocates all buffers; NULL when memory is out. They stay where they are until legacy_close().
legacy_engine* legacy_open(int width, int height);
void legacy_close(legacy_engine* engine);
// How many are open.
int legacy_count(void);

// The input smoothed, 16 times its values, to `response`; the sum of each column to `profile`.
void legacy_blur(legacy_engine* engine);
// How steep the input is, the Sobel operator's |x| + |y|, to `response`.
void legacy_edges(legacy_engine* engine);

// Whether nobody wrote between the rows.
int legacy_padding_is_intact(const legacy_engine* engine);

#ifdef __cplusplus
}
#endif
