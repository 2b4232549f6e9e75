// SPDX-License-Identifier: MIT
// The spellings of dtypes in NumPy's .npy files, and tenon's types for them.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/core/scalar_type.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// NumPy's limit of an element's size, in bytes.
inline constexpr uint64_t kNpyMaxItem = INT32_MAX;

/// The dtypes that both NumPy and tenon have, as NumPy writes them after the byte-order sign: a
/// kind and a number of bytes.
struct NpyType {
  const char* code;
  ScalarType type;
};
inline constexpr NpyType kNpyTypes[] = {
    {"b1", ScalarType::Bool},         {"i1", ScalarType::Char},
    {"i2", ScalarType::Short},        {"i4", ScalarType::Int},
    {"i8", ScalarType::Long},         {"u1", ScalarType::Byte},
    {"u2", ScalarType::UInt16},       {"u4", ScalarType::UInt32},
    {"u8", ScalarType::UInt64},       {"f2", ScalarType::Half},
    {"f4", ScalarType::Float},        {"f8", ScalarType::Double},
    {"c8", ScalarType::ComplexFloat}, {"c16", ScalarType::ComplexDouble},
};

/// Other spellings that numpy.dtype() accepts: names, which have no byte-order sign, and letters.
inline constexpr NpyType kNpyNames[] = {{"bool", ScalarType::Bool},
                                        {"bool_", ScalarType::Bool},
                                        {"int8", ScalarType::Char},
                                        {"byte", ScalarType::Char},
                                        {"int16", ScalarType::Short},
                                        {"short", ScalarType::Short},
                                        {"int32", ScalarType::Int},
                                        {"intc", ScalarType::Int},
                                        {"int64", ScalarType::Long},
                                        {"longlong", ScalarType::Long},
                                        {"long", scalar_type_of<long>()},
                                        {"int", scalar_type_of<ptrdiff_t>()},
                                        {"int_", scalar_type_of<ptrdiff_t>()},
                                        {"intp", scalar_type_of<ptrdiff_t>()},
                                        {"uint8", ScalarType::Byte},
                                        {"ubyte", ScalarType::Byte},
                                        {"uint16", ScalarType::UInt16},
                                        {"ushort", ScalarType::UInt16},
                                        {"uint32", ScalarType::UInt32},
                                        {"uintc", ScalarType::UInt32},
                                        {"uint64", ScalarType::UInt64},
                                        {"ulonglong", ScalarType::UInt64},
                                        {"ulong", scalar_type_of<unsigned long>()},
                                        {"uint", scalar_type_of<size_t>()},
                                        {"uintp", scalar_type_of<size_t>()},
                                        {"float16", ScalarType::Half},
                                        {"half", ScalarType::Half},
                                        {"float32", ScalarType::Float},
                                        {"single", ScalarType::Float},
                                        {"float64", ScalarType::Double},
                                        {"double", ScalarType::Double},
                                        {"float", ScalarType::Double},
                                        {"complex64", ScalarType::ComplexFloat},
                                        {"csingle", ScalarType::ComplexFloat},
                                        {"complex128", ScalarType::ComplexDouble},
                                        {"cdouble", ScalarType::ComplexDouble},
                                        {"complex", ScalarType::ComplexDouble}};
inline constexpr NpyType kNpyLetters[] = {{"?", ScalarType::Bool},
                                          {"b", ScalarType::Char},
                                          {"h", ScalarType::Short},
                                          {"i", ScalarType::Int},
                                          {"l", scalar_type_of<long>()},
                                          {"q", ScalarType::Long},
                                          {"n", scalar_type_of<ptrdiff_t>()},
                                          {"p", scalar_type_of<ptrdiff_t>()},
                                          {"B", ScalarType::Byte},
                                          {"H", ScalarType::UInt16},
                                          {"I", ScalarType::UInt32},
                                          {"L", scalar_type_of<unsigned long>()},
                                          {"Q", ScalarType::UInt64},
                                          {"N", scalar_type_of<size_t>()},
                                          {"P", scalar_type_of<size_t>()},
                                          {"e", ScalarType::Half},
                                          {"f", ScalarType::Float},
                                          {"d", ScalarType::Double},
                                          {"F", ScalarType::ComplexFloat},
                                          {"D", ScalarType::ComplexDouble}};

/// A dtype that is a single code or name.
struct NpyCode {
  ScalarType type = ScalarType::Undefined;  // Undefined if tenon lacks the dtype
  uint64_t item_size = 0;                   // in bytes; 0 if unknown
  bool other_order = false;                 // whether its byte-order sign differs from the host's
};

inline NpyCode read_npy_code(std::string_view descr) noexcept {
  NpyCode code;
  for (const NpyType& known : kNpyNames) {
    if (descr == known.code) code.type = known.type;
  }
  if (descr.find_first_of("<>|=") == 0) {
    code.other_order = descr[0] == (host_is_big_endian() ? '<' : '>');
    descr.remove_prefix(1);
  }
  for (const NpyType& known : kNpyLetters) {
    if (descr == known.code) code.type = known.type;
  }
  const char kind = descr.empty() ? '\0' : descr[0];
  uint64_t size = 0;
  const char* const end = descr.data() + descr.size();
  if (descr.size() > 1 && std::from_chars(descr.data() + 1, end, size).ptr == end) {
    for (const NpyType& known : kNpyTypes) {
      if (kind == known.code[0] && size == elementSize(known.type)) code.type = known.type;
    }
    constexpr std::string_view kOfBytes = "VSUafc";
    if (kind == 'U' && size <= kNpyMaxItem) size *= 4;
    if (kOfBytes.find(kind) != kOfBytes.npos && size <= kNpyMaxItem) code.item_size = size;
  }
  const std::string_view unit = descr.substr(0, descr.find('['));
  for (const char* date : {"M8", "m8", "M", "m", "datetime64", "timedelta64"}) {
    if (unit == date) code.item_size = 8;
  }
  if (code.type != ScalarType::Undefined) code.item_size = elementSize(code.type);
  return code;
}

}  // namespace detail
TENON_END_NAMESPACE
