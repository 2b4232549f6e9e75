// SPDX-License-Identifier: MIT
// The structs of Arrow's C data interface, and what they say of tenon's types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/core/scalar_type.h"

// As the standard has it, beside the same lines in other libraries' headers.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// The types that both have. Arrow's Boolean, "b", has eight elements in a byte.
struct ArrowTypeRow {
  ScalarType type;
  char format;
};
inline constexpr ArrowTypeRow kArrowTypes[] = {
    {ScalarType::Byte, 'C'},   {ScalarType::Char, 'c'},   {ScalarType::UInt16, 'S'},
    {ScalarType::Short, 's'},  {ScalarType::UInt32, 'I'}, {ScalarType::Int, 'i'},
    {ScalarType::UInt64, 'L'}, {ScalarType::Long, 'l'},   {ScalarType::Half, 'e'},
    {ScalarType::Float, 'f'},  {ScalarType::Double, 'g'}};

/// Undefined for a format that tenon has no type for.
inline ScalarType type_of_arrow_format(const char* format) noexcept {
  if (format[0] == '\0' || format[1] != '\0') return ScalarType::Undefined;
  if (format[0] == 'b') return ScalarType::Bool;
  for (const ArrowTypeRow& row : kArrowTypes) {
    if (row.format == format[0]) return row.type;
  }
  return ScalarType::Undefined;
}
/// '\0' for a type that Arrow does not have, or not with an address for each element.
inline char arrow_format_of(ScalarType type) noexcept {
  for (const ArrowTypeRow& row : kArrowTypes) {
    if (row.type == type) return row.format;
  }
  return '\0';
}

/// A struct that was moved here, which is released once. As a deleter it keeps its memory.
template <class T>
struct ArrowHold {
  explicit ArrowHold(T* from) noexcept : value() {
    if (from == nullptr) return;
    std::memcpy(&value, from, sizeof value);
    from->release = nullptr;  // the standard's way to move
  }
  ArrowHold(ArrowHold&& other) noexcept : ArrowHold(&other.value) {}
  ~ArrowHold() {
    if (value.release != nullptr) value.release(&value);
  }
  void operator()(void*) const noexcept {}

  T value;
};

}  // namespace detail
TENON_END_NAMESPACE
