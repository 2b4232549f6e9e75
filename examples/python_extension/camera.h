// SPDX-License-Identifier: MIT
// A camera's driver as it may be found on a board: C, a few buffers of its own, which it lends and
// wants back. It stands for any of them, and knows nothing of tenon or Python. What it sees is a
// disc that drifts over a shaded wall.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAMERA_BUFFERS 3

typedef struct camera camera;

// A picture in NV12, which most cameras and video decoders give. Each row starts `pitch` bytes
// after the one before it, and what lies between the pictures' rows is not for reading.
typedef struct camera_frame {
  int width;   // even
  int height;  // even
  size_t pitch;
  unsigned char* luma;    // height rows of width brightnesses
  unsigned char* chroma;  // height / 2 rows of width / 2 pairs (u, v), one for 2 x 2 pixels
} camera_frame;

// NULL for sizes that are odd or not in 2 to 8192, and when memory is out.
camera* camera_open(int width, int height);
// The frames must be back.
void camera_close(camera* device);

// The next picture, to be given back; NULL while all buffers are lent.
const camera_frame* camera_lend(camera* device);
void camera_give_back(camera* device, const camera_frame* frame);
int camera_lent(const camera* device);

#ifdef __cplusplus
}
#endif
