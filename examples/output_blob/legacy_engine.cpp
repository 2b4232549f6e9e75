// SPDX-License-Identifier: MIT
#include "legacy_engine.h"

#include <stdlib.h>
#include <string.h>

static const int kPadding = 0xA5;
static int open_engines = 0;

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

static int clamp(int i, int size) { return i < 0 ? 0 : i < size ? i : size - 1; }

static int pixel(const legacy_engine* e, int y, int x) {
  return e->input[(size_t)clamp(y, e->height) * e->input_pitch + (size_t)clamp(x, e->width)];
}

static float* response_row(const legacy_engine* e, int y) {
  return (float*)(void*)((char*)e->response + (size_t)y * e->response_pitch);
}

legacy_engine* legacy_open(int width, int height) {
  legacy_engine* e = (legacy_engine*)calloc(1, sizeof(legacy_engine));
  if (e == NULL) return NULL;
  ++open_engines;
  e->width = width;
  e->height = height;
  e->input_pitch = padded((size_t)width);
  e->response_pitch = padded((size_t)width * sizeof(float));
  e->input = (unsigned char*)malloc((size_t)height * e->input_pitch);
  e->response = (float*)malloc((size_t)height * e->response_pitch);
  e->profile = (int*)calloc((size_t)width, sizeof(int));
  if (e->input == NULL || e->response == NULL || e->profile == NULL) {
    legacy_close(e);
    return NULL;
  }
  memset(e->input, kPadding, (size_t)height * e->input_pitch);
  memset(e->response, kPadding, (size_t)height * e->response_pitch);
  return e;
}

void legacy_close(legacy_engine* e) {
  if (e == NULL) return;
  free(e->input);
  free(e->response);
  free(e->profile);
  free(e);
  --open_engines;
}

int legacy_count(void) { return open_engines; }

void legacy_blur(legacy_engine* e) {
  for (int x = 0; x < e->width; ++x) {
    e->profile[x] = 0;
    for (int y = 0; y < e->height; ++y) e->profile[x] += pixel(e, y, x);
  }
  for (int y = 0; y < e->height; ++y) {
    for (int x = 0; x < e->width; ++x) {
      int sum = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          sum += (2 - abs(dy)) * (2 - abs(dx)) * pixel(e, y + dy, x + dx);
        }
      }
      response_row(e, y)[x] = (float)sum;
    }
  }
}

void legacy_edges(legacy_engine* e) {
  for (int y = 0; y < e->height; ++y) {
    for (int x = 0; x < e->width; ++x) {
      int across = 0;
      int down = 0;
      for (int k = -1; k <= 1; ++k) {
        across += (2 - abs(k)) * (pixel(e, y + k, x + 1) - pixel(e, y + k, x - 1));
        down += (2 - abs(k)) * (pixel(e, y + 1, x + k) - pixel(e, y - 1, x + k));
      }
      response_row(e, y)[x] = (float)(abs(across) + abs(down));
    }
  }
}

int legacy_padding_is_intact(const legacy_engine* e) {
  for (int y = 0; y < e->height; ++y) {
    const unsigned char* row = e->input + (size_t)y * e->input_pitch;
    for (size_t i = (size_t)e->width; i < e->input_pitch; ++i) {
      if (row[i] != kPadding) return 0;
    }
    row = (const unsigned char*)response_row(e, y);
    for (size_t i = (size_t)e->width * sizeof(float); i < e->response_pitch; ++i) {
      if (row[i] != kPadding) return 0;
    }
  }
  return 1;
}
