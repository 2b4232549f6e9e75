// SPDX-License-Identifier: MIT
// A buffer between guard bytes.
#pragma once

#include <cstddef>

#include "support/catch.h"

namespace tests {

/// N bytes that are aligned to 64, and 64 guard bytes on both sides.
template <size_t N>
struct Guarded {
  static_assert(N % 64 == 0);
  alignas(64) unsigned char before[64];
  unsigned char data[N];
  unsigned char after[64];

  Guarded() {
    std::memset(before, 0xa5, sizeof before);
    std::memset(data, 0x5a, N);
    std::memset(after, 0xa5, sizeof after);
  }
  bool is_intact() const {
    for (const unsigned char byte : before) {
      if (byte != 0xa5) return false;
    }
    for (const unsigned char byte : after) {
      if (byte != 0xa5) return false;
    }
    return true;
  }
  /// Whether nothing was written at all.
  bool is_untouched() const {
    for (const unsigned char byte : data) {
      if (byte != 0x5a) return false;
    }
    return is_intact();
  }
};

}  // namespace tests
