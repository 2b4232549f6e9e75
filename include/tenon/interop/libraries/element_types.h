// SPDX-License-Identifier: MIT
// The names and numbers of element types in Python, NumPy and PyTorch. Does not need Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An element type. `format` is null and `kind` is '\0' if Python has no such type.
struct PythonTypeRow {
  ScalarType type;
  const char* name;    // in NumPy and PyTorch
  const char* format;  // in the buffer protocol (PEP 3118), in native byte order
  char kind;           // in __array_interface__
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

inline const PythonTypeRow& python_type(ScalarType type) noexcept {
  const PythonTypeRow* row = kPythonTypes;
  while (row->type != type) ++row;
  return *row;
}

/// The type of a kind ('b', 'i', 'u', 'f' or 'c') and a size in bytes; Undefined if there is none.
inline ScalarType type_of_kind(char kind, size_t size) noexcept {
  for (const PythonTypeRow& row : kPythonTypes) {
    if (row.kind == kind && elementSize(row.type) == size) return row.type;
  }
  return ScalarType::Undefined;
}

/// The type of that name; Undefined if there is none.
inline ScalarType type_of_python_name(std::string_view name) noexcept {
  for (const PythonTypeRow& row : kPythonTypes) {
    if (name == row.name) return row.type;
  }
  return ScalarType::Undefined;
}

/// The type that has this number in PyTorch; tenon uses the same numbers. Undefined if tenon lacks
/// the type.
inline ScalarType type_of_torch_number(int32_t number) noexcept {
  if (number < 0 || number > INT8_MAX) return ScalarType::Undefined;
  const auto type = static_cast<ScalarType>(number);
  return isValidType(type) ? type : ScalarType::Undefined;
}

}  // namespace detail
TENON_END_NAMESPACE
