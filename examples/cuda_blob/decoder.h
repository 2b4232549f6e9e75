// SPDX-License-Identifier: MIT
// A video decoder as it may come from a vendor: it allocates pictures on the GPU itself, with padded
// rows, and fills them on a stream of its own. It stands for any engine of that kind, and knows
// nothing of tenon.
#pragma once

#include <cuda_runtime_api.h>
#include <stddef.h>

#include <atomic>

class Decoder {
 public:
  static constexpr int kFilm = 4;   // pictures to decode
  static constexpr int kSlots = 2;  // that it has memory for

  // Throws std::runtime_error with CUDA's words.
  Decoder(int width, int height);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  cudaStream_t stream() const { return stream_; }
  // Bytes from one row to the next.
  size_t pitch() const { return pitch_; }
  // Enqueues the next picture on stream(). It is the caller's until give_back(). Null at the film's
  // end, and while the slot that comes next is the caller's.
  float* next();
  // Whatever comes next on stream() may overwrite it. From any thread.
  void give_back(const void* picture);
  int lent() const;

  // What row y of picture n has in column x.
  static float pixel(int n, int y, int x) { return static_cast<float>(1000 * n + 10 * y + x); }

 private:
  void release();

  int width_;
  int height_;
  size_t pitch_;
  cudaStream_t stream_ = nullptr;
  char* memory_ = nullptr;  // the slots, one block on the device
  float* film_ = nullptr;   // in pinned memory
  int decoded_ = 0;
  std::atomic<bool> is_lent_[kSlots] = {};
};
