// SPDX-License-Identifier: MIT
// Byte order, and Bools in foreign memory, where any byte may occur.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The bytes of one number; a complex element has two numbers.
constexpr size_t number_size(ScalarType type) noexcept {
  return elementSize(type) / (isComplexType(type) ? 2 : 1);
}

template <size_t kSize>
void reverse_each(unsigned char* bytes, size_t nbytes) noexcept {
  for (size_t i = 0; i < nbytes; i += kSize) {
    unsigned char number[kSize];
    std::memcpy(number, bytes + i, kSize);
    for (size_t k = 0; k < kSize; ++k) bytes[i + k] = number[kSize - 1 - k];
  }
}

/// Changes the byte order of numbers of `size` bytes: 1, 2, 4 or 8.
inline void swap_byte_order(void* data, size_t nbytes, size_t size) noexcept {
  auto* const bytes = static_cast<unsigned char*>(data);
  switch (size) {
    case 2: return reverse_each<2>(bytes, nbytes);
    case 4: return reverse_each<4>(bytes, nbytes);
    case 8: return reverse_each<8>(bytes, nbytes);
    default: return;
  }
}

/// Whether this host stores a number's most significant byte first.
constexpr bool host_is_big_endian() noexcept {
#if defined(__BYTE_ORDER__)
  return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
#elif defined(_WIN32)
  return false;
#else
#error "tenon: the compiler defines no __BYTE_ORDER__"
#endif
}

/// Makes every byte of Bool elements 0 or 1: to read any other byte as a C++ bool is undefined.
TENON_VECTORIZE inline void make_bools_0_or_1(void* data, size_t nbytes) noexcept {
  auto* const bytes = static_cast<unsigned char*>(data);
  for (size_t i = 0; i < nbytes; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

/// Converts elements between the host's byte order and little-endian, and Bools to 0 or 1.
inline void exchange_little_endian(ScalarType type, void* data, size_t nbytes) noexcept {
  if (type == ScalarType::Bool) make_bools_0_or_1(data, nbytes);
  if (host_is_big_endian()) swap_byte_order(data, nbytes, number_size(type));
}

}  // namespace detail
TENON_END_NAMESPACE
