// SPDX-License-Identifier: MIT
#include "camera.h"

#include <stdlib.h>
#include <string.h>

enum { kPitchMultiple = 256, kPadding = 0xA5 };

struct camera {
  camera_frame frames[CAMERA_BUFFERS];
  bool is_lent[CAMERA_BUFFERS];
  int pictures;
};

static void draw(const camera_frame* frame, int picture) {
  const int w = frame->width;
  const int h = frame->height;
  const int radius = h / 3;
  const int cx = w / 4 + picture * w / 16 % (w / 2 + 1);
  const int cy = h / 2;
  for (int y = 0; y < h; ++y) {
    unsigned char* const luma = frame->luma + (size_t)y * frame->pitch;
    unsigned char* const chroma = frame->chroma + (size_t)(y / 2) * frame->pitch;
    for (int x = 0; x < w; ++x) {
      const bool disc = (x - cx) * (x - cx) + (y - cy) * (y - cy) < radius * radius;
      luma[x] = (unsigned char)(disc ? 200 : 40 + 60 * x / w);
      if (y % 2 == 0 && x % 2 == 0) {
        chroma[x] = (unsigned char)(disc ? 90 : 140);  // a warm disc, a blue wall
        chroma[x + 1] = (unsigned char)(disc ? 170 : 110);
      }
    }
  }
}

camera* camera_open(int width, int height) {
  if (width < 2 || height < 2 || width > 8192 || height > 8192 || width % 2 || height % 2) {
    return NULL;
  }
  camera* const device = (camera*)calloc(1, sizeof(camera));
  if (device == NULL) return NULL;
  const size_t pitch = ((size_t)width + kPitchMultiple - 1) / kPitchMultiple * kPitchMultiple;
  const size_t rows = (size_t)height;
  for (int i = 0; i < CAMERA_BUFFERS; ++i) {
    unsigned char* const buffer = (unsigned char*)malloc(pitch * (rows + rows / 2));
    if (buffer == NULL) {
      camera_close(device);
      return NULL;
    }
    memset(buffer, kPadding, pitch * (rows + rows / 2));
    device->frames[i] = camera_frame{width, height, pitch, buffer, buffer + pitch * rows};
  }
  return device;
}

void camera_close(camera* device) {
  if (device == NULL) return;
  for (int i = 0; i < CAMERA_BUFFERS; ++i) free(device->frames[i].luma);
  free(device);
}

const camera_frame* camera_lend(camera* device) {
  for (int i = 0; i < CAMERA_BUFFERS; ++i) {
    if (device->is_lent[i]) continue;
    device->is_lent[i] = true;
    draw(&device->frames[i], device->pictures++);
    return &device->frames[i];
  }
  return NULL;
}

void camera_give_back(camera* device, const camera_frame* frame) {
  device->is_lent[frame - device->frames] = false;
}

int camera_lent(const camera* device) {
  int count = 0;
  for (int i = 0; i < CAMERA_BUFFERS; ++i) count += device->is_lent[i] ? 1 : 0;
  return count;
}
