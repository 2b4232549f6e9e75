// SPDX-License-Identifier: MIT
// Element types as Python names them: the buffer protocol's formats, NumPy's typestrings, and names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// One row a type. `format` and `kind` are null and '\0' where Python has no such element.
struct PythonTypeRow {
  ScalarType type;
  const char* name;    // numpy's and torch's
  const char* format;  // PEP 3118, native
  char kind;           // the letter of __array_interface__
};
inline constexpr PythonTypeRow kPythonTypes[] = {
    {ScalarType::Float, "float32", "f", 'f'},
    {ScalarType::Byte, "uint8", "B", 'u'},
    {ScalarType::Char, "int8", "b", 'i'},
    {ScalarType::Short, "int16", "h", 'i'},
    {ScalarType::Int, "int32", "i", 'i'},
    {ScalarType::Long, "int64", sizeof(long) == 8 ? "l" : "q", 'i'},
    {ScalarType::Half, "float16", "e", 'f'},
    {ScalarType::Double, "float64", "d", 'f'},
    {ScalarType::ComplexHalf, "complex32", nullptr, '\0'},
    {ScalarType::ComplexFloat, "complex64", "Zf", 'c'},
    {ScalarType::ComplexDouble, "complex128", "Zd", 'c'},
    {ScalarType::Bool, "bool", "?", 'b'},
    {ScalarType::BFloat16, "bfloat16", nullptr, '\0'},
    {ScalarType::Float8_e5m2, "float8_e5m2", nullptr, '\0'},
    {ScalarType::Float8_e4m3fn, "float8_e4m3fn", nullptr, '\0'},
    {ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz", nullptr, '\0'},
    {ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", nullptr, '\0'},
    {ScalarType::UInt16, "uint16", "H", 'u'},
    {ScalarType::UInt32, "uint32", "I", 'u'},
    {ScalarType::UInt64, "uint64", sizeof(long) == 8 ? "L" : "Q", 'u'},
};
static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long long) == 8);

/// The row of an element type.
inline const PythonTypeRow& python_type(ScalarType type) noexcept {
  const PythonTypeRow* row = kPythonTypes;
  while (row->type != type) ++row;
  return *row;
}

/// The type of a kind of number with `size` bytes, 'b', 'i', 'u', 'f' or 'c'; Undefined for none.
inline ScalarType type_of_kind(char kind, size_t size) noexcept {
  for (const PythonTypeRow& row : kPythonTypes) {
    if (row.kind == kind && elementSize(row.type) == size) return row.type;
  }
  return ScalarType::Undefined;
}

/// The kind of number that a format's letter stands for, and its size: native, with `long` as long as
/// it is here, or standard, which is the same everywhere. '\0' for what is no number.
struct FormatKind {
  char kind;
  size_t size;
};
inline FormatKind kind_of_format(char code, bool is_native) noexcept {
  const size_t long_size = is_native ? sizeof(long) : 4;
  switch (code) {
    case '?': return {'b', 1};
    case 'b': return {'i', 1};
    case 'B': return {'u', 1};
    case 'h': return {'i', 2};
    case 'H': return {'u', 2};
    case 'i': return {'i', 4};
    case 'I': return {'u', 4};
    case 'l': return {'i', long_size};
    case 'L': return {'u', long_size};
    case 'q': return {'i', 8};
    case 'Q': return {'u', 8};
    case 'n': return {'i', is_native ? sizeof(size_t) : 0};
    case 'N': return {'u', is_native ? sizeof(size_t) : 0};
    case 'e': return {'f', 2};
    case 'f': return {'f', 4};
    case 'd': return {'f', 8};
    case 'F': return {'c', 8};  // as Python 3.14's struct writes them
    case 'D': return {'c', 16};
    default: return {'\0', 0};
  }
}

/// The type of a buffer's elements, of `size` bytes; a null format means bytes. Undefined for structs,
/// repeated, swapped and other elements that no ScalarType is.
inline ScalarType type_of_format(const char* format, size_t size) noexcept {
  if (format == nullptr) return size == 1 ? ScalarType::Byte : ScalarType::Undefined;
  bool is_native = true;
  switch (*format) {
    case '@':
    case '^':  // NumPy's, for elements that are not aligned
      ++format;
      break;
    case '=':
    case '<':
    case '>':
    case '!': {
      const bool is_big = *format == '>' || *format == '!';
      if (*format != '=' && is_big != host_is_big_endian() && size != 1)
        return ScalarType::Undefined;
      is_native = false;
      ++format;
      break;
    }
    default: break;
  }
  FormatKind is{'\0', 0};
  if (*format == 'Z') {
    ++format;
    is = kind_of_format(*format, is_native);
    is = {is.kind == 'f' ? 'c' : '\0', 2 * is.size};
  } else {
    is = kind_of_format(*format, is_native);
  }
  if (is.kind == '\0' || format[1] != '\0' || is.size != size) return ScalarType::Undefined;
  return type_of_kind(is.kind, size);
}

/// The type of an __array_interface__, "<f4"; Undefined for none.
inline ScalarType type_of_typestr(const char* text) noexcept {
  const char order = text[0];
  if (order != '<' && order != '>' && order != '=' && order != '|') return ScalarType::Undefined;
  const char kind = text[1];
  size_t size = 0;
  const char* digit = kind == '\0' ? text + 1 : text + 2;
  for (; *digit >= '0' && *digit <= '9' && size < 100; ++digit) {
    size = size * 10 + static_cast<size_t>(*digit - '0');
  }
  const bool is_swapped =
      (order == '<' && host_is_big_endian()) || (order == '>' && !host_is_big_endian());
  if (*digit != '\0' || (is_swapped && size != 1)) return ScalarType::Undefined;
  return type_of_kind(kind, size);
}

/// What type_of_typestr() reads, into 8 characters of room; false for a type without one.
inline bool write_typestr(ScalarType type, char* text) noexcept {
  const PythonTypeRow& row = python_type(type);
  if (row.kind == '\0') return false;
  const size_t size = elementSize(type);
  *text++ = size == 1 ? '|' : host_is_big_endian() ? '>' : '<';
  *text++ = row.kind;
  if (size >= 10) *text++ = static_cast<char>('0' + size / 10);
  *text++ = static_cast<char>('0' + size % 10);
  *text = '\0';
  return true;
}

}  // namespace detail
TENON_END_NAMESPACE
