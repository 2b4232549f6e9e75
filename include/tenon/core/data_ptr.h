// SPDX-License-Identifier: MIT
// DataPtr: a pointer to elements as an argument, with its dtype.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The default dtype for memory of Ts: T is an element type, char or std::byte.
template <class T>
constexpr own::ScalarType value_type_of() noexcept {
  if (std::is_same_v<T, char>) return own::ScalarType::Char;
  if (std::is_same_v<T, std::byte>) return own::ScalarType::Byte;
  return scalar_type_of<T>();
}

/// Whether T is a raw byte type or void: memory of Ts may be taken as any dtype.
template <class T>
inline constexpr bool is_raw_v =
    std::is_void_v<T> || std::is_same_v<T, unsigned char> || is_char_or_byte_v<T>;
/// The type that P points to, without cv; for a pointer to arrays, the arrays' element type.
template <class P>
using PointeeOf = std::remove_cv_t<std::remove_all_extents_t<std::remove_pointer_t<P>>>;
/// Whether a T* is a pointer to elements or raw bytes.
template <class T>
inline constexpr bool is_data_v = is_element_v<PointeeOf<T*>> || is_raw_v<PointeeOf<T*>>;

/// is_typed_v: whether P is a pointer to elements. is_untyped_v: whether P is a pointer to raw
/// bytes, or nullptr_t. Both are true for uint8_t*.
template <class P>
inline constexpr bool is_typed_v = (std::is_pointer_v<P> && is_element_v<PointeeOf<P>>);
template <class P>
inline constexpr bool is_untyped_v = std::is_null_pointer_v<P> ||
                                     (std::is_pointer_v<P> && is_raw_v<PointeeOf<P>>);
template <class P>
using IfPointer = std::enable_if_t<is_typed_v<P> || is_untyped_v<P>, int>;

/// A pointer to elements that the caller owns.
///
/// A pointer to an element type, or to arrays of it, fixes the dtype. void*, char*, unsigned char*
/// and std::byte* are raw bytes: their dtype is the one that the caller gives, else Float for
/// void*, Char for char* and Byte for the others. A pointer to const makes a read-only tensor; in
/// ATen mode ATen's first write copies the memory. The literal nullptr makes a placeholder.
class DataPtr {
 public:
  template <class T, class Element = PointeeOf<T*>, std::enable_if_t<is_data_v<T>, int> = 0>
  constexpr DataPtr(T* pointer TENON_LIFETIMEBOUND) noexcept
      : pointer_(const_cast<std::remove_cv_t<T>*>(pointer)),
        type_(kType<Element>),
        raw_(is_raw_v<Element>),
        readonly_(std::is_const_v<T>) {}
  // A template, so that `{pointer, n}` with an integer n does not convert to a DataPtr.
  template <class B, std::enable_if_t<std::is_same_v<B, bool>, int> = 0>
  constexpr DataPtr(void* pointer, B readonly) noexcept : DataPtr(pointer) {
    readonly_ = readonly;
  }
  template <class N, std::enable_if_t<std::is_same_v<N, std::nullptr_t>, int> = 0>
  constexpr DataPtr(N) noexcept : raw_(true), placeholder_(true) {}
  template <class VoidPointerNeeded,
            std::enable_if_t<std::is_object_v<VoidPointerNeeded> && !is_data_v<VoidPointerNeeded>,
                             int> = 0>
  DataPtr(VoidPointerNeeded*)
      TENON_MISTAKE("no dtype has such elements: static_cast<void*>(data) gives their bytes");

  constexpr void* get() const noexcept { return pointer_; }
  /// The default dtype.
  constexpr own::ScalarType type() const noexcept { return type_; }
  /// Whether the bytes may be taken as another dtype.
  constexpr bool is_raw() const noexcept { return raw_; }
  constexpr bool is_readonly() const noexcept { return readonly_; }
  constexpr bool is_placeholder() const noexcept { return placeholder_; }

 private:
  template <class T>
  static constexpr own::ScalarType kType = std::is_void_v<T> ? own::ScalarType::Float
                                                             : value_type_of<T>();

  void* pointer_ = nullptr;
  own::ScalarType type_ = own::ScalarType::Float;
  bool raw_;
  bool readonly_ = false;
  bool placeholder_ = false;
};

/// Checks that a pointer's type allows elements of `type`. In the error text, `whose` names the
/// object that has this dtype.
TENON_TEMPLATE_INLINE Error check_pointer_type(const DataPtr& data, own::ScalarType type,
                                               const char* whose) noexcept {
  if (data.is_raw() || type == data.type()) return Error::Ok;
  return fail(Error::InvalidType, "the data pointer is to ", data.type(), ", ", whose, " is ", type,
              "; pass a void* to reinterpret the bytes");
}

}  // namespace detail
TENON_END_NAMESPACE
