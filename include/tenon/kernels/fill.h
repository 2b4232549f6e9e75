// SPDX-License-Identifier: MIT
// Fills consecutive elements with one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

template <size_t kSize>
struct ElementBits {
  unsigned char bytes[kSize];
};

/// Calls `body(ElementBits<size>())` for the size of an element: 1, 2, 4, 8 or 16 bytes.
template <class Body>
void with_element_size(size_t element_size, Body&& body) {
  switch (element_size) {
    case 1: return body(ElementBits<1>());
    case 2: return body(ElementBits<2>());
    case 4: return body(ElementBits<4>());
    case 8: return body(ElementBits<8>());
    default: return body(ElementBits<16>());
  }
}

/// Writes `count` copies of the element at `value` to `data`, which needs no alignment.
TENON_LAZY void fill_elements(void* data, int64_t count, const void* value,
                              size_t element_size) noexcept {
  if (count == 0) return;
  with_element_size(element_size, [&](auto bits) {
    using Bits = decltype(bits);
    std::memcpy(&bits, value, sizeof bits);
    auto* out = static_cast<unsigned char*>(data);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(out + i * int64_t{sizeof(Bits)}, &bits, sizeof bits);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
