// SPDX-License-Identifier: MIT
// PackedType: types of numbers for which tensors have no dtype. Several numbers share a byte.
#pragma once

#include <cstdint>

#include "tenon/core/dims.h"
#include "tenon/core/message.h"

TENON_BEGIN_NAMESPACE

/// The type of numbers that are packed in the bytes of a Byte tensor: number i of a row begins at
/// bit i * packed_bits(type), the lowest bit first. So the first of two numbers in a byte is in the
/// byte's low half, and four numbers of 6 bits are in three bytes.
/// Source: DLPack 1.1; ml_dtypes, for names and values.
enum class PackedType : uint8_t {
  Undefined,       ///< not a packed type
  Float4_e2m1fn,   ///< ±{0, 0.5, 1, 1.5, 2, 3, 4, 6}: safetensors' F4, torch's float4_e2m1fn_x2
  Float6_e2m3fn,   ///< up to ±7.5: safetensors' F6_E2M3
  Float6_e3m2fn,   ///< up to ±28: safetensors' F6_E3M2
  Float8_e8m0fnu,  ///< 2^(code - 127), and NaN for 255: safetensors' F8_E8M0
  Int4,            ///< -8 to 7, in two's complement
  UInt4,           ///< 0 to 15
  Int2,            ///< -2 to 1
  UInt2,           ///< 0 to 3
  Int1,            ///< 0 and -1
  UInt1,           ///< 0 and 1
};

/// The enumerator's name, "Float4_e2m1fn"; "Undefined" for any other number.
constexpr const char* toString(PackedType type) noexcept {
  const auto n = static_cast<size_t>(type);
  return detail::name_at(
      "Undefined\0Float4_e2m1fn\0Float6_e2m3fn\0Float6_e3m2fn\0Float8_e8m0fnu\0Int4\0UInt4\0Int2\0"
      "UInt2\0Int1\0UInt1",
      type <= PackedType::UInt1 ? n : 0);
}

/// The bits of one number; 0 for Undefined.
constexpr int packed_bits(PackedType type) noexcept {
  constexpr char kBits[] = {0, 4, 6, 6, 8, 4, 4, 2, 2, 1, 1};
  return type <= PackedType::UInt1 ? kBits[static_cast<size_t>(type)] : 0;
}

namespace detail {

inline void append(Message& out, PackedType type) noexcept { out.put(toString(type)); }

/// The sizes of a tensor of the `nbytes` bytes that hold row-major numbers of these sizes. If rows
/// end at the end of a byte, the last size is a row's length in bytes; else the bytes are 1-d.
/// Numbers of 8 bits keep their sizes.
inline Dims packed_byte_sizes(ArrayRef<int64_t> sizes, int64_t nbytes, PackedType type) noexcept {
  const int64_t bits = packed_bits(type);
  Dims bytes(sizes);
  if (bits == 8 || bytes.error() != Error::Ok) return bytes;
  if (!bytes.empty() && bytes.back() % 8 * bits % 8 == 0) {
    int64_t& last = bytes[bytes.size() - 1];
    last = last / 8 * bits + last % 8 * bits / 8;
    return bytes;
  }
  return {nbytes};
}

}  // namespace detail
TENON_END_NAMESPACE
