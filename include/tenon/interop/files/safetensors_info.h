// SPDX-License-Identifier: MIT
// What a safetensors file says of its tensors, and its dtypes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/core/dims.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

/// What a safetensors file says of a tensor.
/// Threads: as a plain value.
struct SafeTensorInfo {
  std::string name;
  const char* dtype = "";                   ///< the file's name for it, "F32"
  ScalarType type = ScalarType::Undefined;  ///< Undefined where tenon has no such type
  Dims sizes;                               ///< in elements
  uint64_t offset = 0;                      ///< of its first byte in its file
  uint64_t nbytes = 0;                      ///< in the file
  size_t file = 0;                          ///< which of the files it is in, 0 if there is one
  /// Whether get() has to copy: the offset is not a multiple of the numbers' size, or the numbers
  /// are not in the host's byte order.
  bool is_copied = false;
};

namespace detail {

struct SafeTensorsDtype {
  const char* name;
  own::ScalarType type;  // Undefined where tenon has no such type
  unsigned bits;
};
inline constexpr SafeTensorsDtype kSafeTensorsDtypes[] = {
    {"BOOL", own::ScalarType::Bool, 8},
    {"U8", own::ScalarType::Byte, 8},
    {"I8", own::ScalarType::Char, 8},
    {"U16", own::ScalarType::UInt16, 16},
    {"I16", own::ScalarType::Short, 16},
    {"U32", own::ScalarType::UInt32, 32},
    {"I32", own::ScalarType::Int, 32},
    {"U64", own::ScalarType::UInt64, 64},
    {"I64", own::ScalarType::Long, 64},
    {"F16", own::ScalarType::Half, 16},
    {"BF16", own::ScalarType::BFloat16, 16},
    {"F32", own::ScalarType::Float, 32},
    {"F64", own::ScalarType::Double, 64},
    {"C64", own::ScalarType::ComplexFloat, 64},
    {"F8_E5M2", own::ScalarType::Float8_e5m2, 8},
    {"F8_E4M3", own::ScalarType::Float8_e4m3fn, 8},
    {"F8_E5M2FNUZ", own::ScalarType::Float8_e5m2fnuz, 8},
    {"F8_E4M3FNUZ", own::ScalarType::Float8_e4m3fnuz, 8},
    {"F8_E8M0", own::ScalarType::Undefined, 8},
    {"F6_E2M3", own::ScalarType::Undefined, 6},
    {"F6_E3M2", own::ScalarType::Undefined, 6},
    {"F4", own::ScalarType::Undefined, 4},
};
inline constexpr const char* kSafeTensorsNames =
    "BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 C64 F8_E5M2 F8_E4M3 F8_E5M2FNUZ "
    "F8_E4M3FNUZ";

/// The longest header, as the Rust library's.
inline constexpr uint64_t kSafeTensorsMaxHeader = 100'000'000;

/// A file's header.
struct SafeTensorsHeader {
  std::vector<SafeTensorInfo> infos;  // by offset
  std::map<std::string, std::string> metadata;
};

}  // namespace detail
TENON_END_NAMESPACE
