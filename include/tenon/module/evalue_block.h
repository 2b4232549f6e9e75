// SPDX-License-Identifier: MIT
// What an EValue can hold, and the shared block in which it keeps a text or a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tenon/config.h"
#include "tenon/core/atomic.h"
#include "tenon/core/error.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // GCC takes ValueKind::Tensor for a second Tensor
#endif

/// What an EValue holds.
/// Source: executorch::runtime::Tag.
enum class ValueKind : uint8_t {
  None,
  Tensor,
  Int,     ///< int64_t
  Double,  ///< double
  Bool,
  String,
  TensorList,
  OptionalTensorList,  ///< tensors, of which the undefined ones stand for none
  IntList,
  DoubleList,
  BoolList,
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// The enumerator's name, "IntList".
constexpr const char* toString(ValueKind kind) noexcept {
  switch (kind) {
    case ValueKind::None: return "None";
    case ValueKind::Tensor: return "Tensor";
    case ValueKind::Int: return "Int";
    case ValueKind::Double: return "Double";
    case ValueKind::Bool: return "Bool";
    case ValueKind::String: return "String";
    case ValueKind::TensorList: return "TensorList";
    case ValueKind::OptionalTensorList: return "OptionalTensorList";
    case ValueKind::IntList: return "IntList";
    case ValueKind::DoubleList: return "DoubleList";
    case ValueKind::BoolList: return "BoolList";
  }
  return "unknown kind";
}

namespace detail {

/// With its article: "an Int", "a Tensor"; "None" alone.
inline void append(Message& out, ValueKind kind) noexcept {
  const char* const name = tenon::toString(kind);
  if (kind != ValueKind::None) out.put(*name == 'I' || *name == 'O' ? "an " : "a ");
  out.put(name);
}

constexpr bool is_list(ValueKind kind) noexcept { return kind >= ValueKind::TensorList; }
constexpr bool is_tensor_list(ValueKind kind) noexcept {
  return kind == ValueKind::TensorList || kind == ValueKind::OptionalTensorList;
}

/// A text, zero-terminated, or a list: the elements lie behind this head. All copies of an EValue
/// share it, and nobody changes it once it is filled: so copying cannot fail.
struct ValueBlock {
  AtomicCount users;
  bool tensors = false;
  size_t size = 0;  // elements that exist

  template <class T>
  T* elements() noexcept {
    static_assert(alignof(T) <= alignof(ValueBlock));
    return reinterpret_cast<T*>(this + 1);
  }

  /// Room for `count` elements of T; null when memory is out.
  template <class T>
  static ValueBlock* make(size_t count) noexcept {
    if (count > (PTRDIFF_MAX - sizeof(ValueBlock)) / sizeof(T)) return nullptr;
    void* const place = std::malloc(sizeof(ValueBlock) + count * sizeof(T));
    if (TENON_UNLIKELY(place == nullptr)) return nullptr;
    auto* const block = ::new (place) ValueBlock;
    block->users.add();
    return block;
  }

  void drop() noexcept {
    if (users.remove() != 0) return;
    if (tensors) {
      for (size_t i = 0; i < size; ++i) elements<Tensor>()[i].~Tensor();
    }
    this->~ValueBlock();
    std::free(this);
  }
};

}  // namespace detail
TENON_END_NAMESPACE
