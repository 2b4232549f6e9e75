// SPDX-License-Identifier: MIT
#include "decoder.h"

#include <stdexcept>
#include <string>

static void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("decoder: ") + what + ": " + cudaGetErrorString(error));
  }
}

Decoder::Decoder(int width, int height) : width_(width), height_(height) {
  pitch_ = (static_cast<size_t>(width) * sizeof(float) + 255) / 256 * 256;
  const size_t slots = kSlots * static_cast<size_t>(height) * pitch_;
  const size_t film = sizeof(float) * static_cast<size_t>(kFilm * height * width);
  try {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    must(cudaMalloc(reinterpret_cast<void**>(&memory_), slots), "cudaMalloc");
    must(cudaHostAlloc(reinterpret_cast<void**>(&film_), film, cudaHostAllocDefault),
         "cudaHostAlloc");
    must(cudaMemsetAsync(memory_, 0xff, slots, stream_), "cudaMemsetAsync");  // not a number
  } catch (...) {
    release();
    throw;
  }
  for (int i = 0; i < kFilm * height * width; ++i) {
    film_[i] = pixel(i / (height * width), i / width % height, i % width);
  }
}

Decoder::~Decoder() {
  cudaStreamSynchronize(stream_);
  release();
}

void Decoder::release() {
  cudaFreeHost(film_);
  cudaFree(memory_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

float* Decoder::next() {
  const int slot = decoded_ % kSlots;
  if (decoded_ == kFilm || is_lent_[slot].exchange(true)) return nullptr;
  char* const picture = memory_ + static_cast<size_t>(slot * height_) * pitch_;
  const size_t row = static_cast<size_t>(width_) * sizeof(float);
  must(cudaMemcpy2DAsync(picture, pitch_, film_ + decoded_ * height_ * width_, row, row,
                         static_cast<size_t>(height_), cudaMemcpyHostToDevice, stream_),
       "cudaMemcpy2DAsync");
  ++decoded_;
  return reinterpret_cast<float*>(picture);
}

void Decoder::give_back(const void* picture) {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(picture) - memory_);
  is_lent_[offset / (pitch_ * static_cast<size_t>(height_))] = false;
}

int Decoder::lent() const {
  int count = 0;
  for (const std::atomic<bool>& is_lent : is_lent_) count += is_lent ? 1 : 0;
  return count;
}
