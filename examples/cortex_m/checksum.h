// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

/// FNV-1a over the bits of the scores, a score at a time: other bits make another sum.
class Checksum {
 public:
  void add(const float* scores, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, scores + i, sizeof bits);
      sum_ = (sum_ ^ bits) * 16777619u;
    }
  }
  uint32_t sum() const { return sum_; }

 private:
  uint32_t sum_ = 2166136261u;
};
