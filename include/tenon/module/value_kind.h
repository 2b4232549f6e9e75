// SPDX-License-Identifier: MIT
// ValueKind: the kinds of values in an EValue, and the C++ types that convert to them.
#pragma once

#include <iterator>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // ValueKind::Tensor beside tenon::Tensor
#endif

/// The kinds of values of an EValue.
/// Source: executorch::runtime::Tag.
enum class ValueKind : uint8_t {
  None,                ///< no value
  Tensor,              ///< a tensor, which may be undefined
  Int,                 ///< int64_t
  Double,              ///< double
  Bool,                ///< bool
  String,              ///< a text
  TensorList,          ///< tensors
  OptionalTensorList,  ///< tensors; an undefined tensor means None
  IntList,             ///< integers
  DoubleList,          ///< floating numbers
  BoolList,            ///< bools
  StringList,          ///< texts
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace detail {
/// "an Int", "a Tensor"; but "None".
constexpr const char* name_with_article(ValueKind kind) noexcept {
  return kind > ValueKind::StringList
             ? "a value of unknown kind"
             : name_at(
                   "None\0a Tensor\0an Int\0a Double\0a Bool\0a String\0a TensorList\0"
                   "an OptionalTensorList\0an IntList\0a DoubleList\0a BoolList\0"
                   "a StringList",
                   static_cast<size_t>(kind));
}
}  // namespace detail

/// The enumerator's name, "IntList".
constexpr const char* toString(ValueKind kind) noexcept {
  const char* const name = detail::name_with_article(kind);
  return kind == ValueKind::None ? name : name + (name[1] == 'n' ? 3 : 2);
}

class EValue;

namespace detail {

inline void append(Message& out, ValueKind kind) noexcept { out.put(name_with_article(kind)); }

// The types that an EValue's accessors return, in the order of ValueKind.
using ShownTypes = std::tuple<None, const Tensor&, int64_t, double, bool, std::string_view,
                              ArrayRef<Tensor>, ArrayRef<Tensor>, ArrayRef<int64_t>,
                              ArrayRef<double>, ArrayRef<bool>, ArrayRef<std::string_view>>;
template <ValueKind K>
using Shown = std::tuple_element_t<static_cast<size_t>(K), ShownTypes>;
/// The element type of a list kind.
template <ValueKind K>
using ElementOf =
    std::remove_const_t<std::remove_pointer_t<decltype(std::declval<const Shown<K>&>().data())>>;

// ---- which types convert ----

template <class T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

template <class P, class = void>
struct HasValue : std::false_type {};
template <class P>
struct HasValue<
    P, std::void_t<decltype(*std::declval<const P&>(), std::declval<const P&>().has_value())>>
    : std::true_type {};

/// The type that a smart pointer, an optional or a Result contains; void for any other type. Raw
/// pointers do not convert: they could mean a flag, a list or data.
template <class P, class = void>
struct Pointee {
  using type = void;
};
template <class P>
struct Pointee<P, std::enable_if_t<std::is_class_v<P> && std::is_constructible_v<bool, const P&>,
                                   std::void_t<decltype(*std::declval<const P&>())>>> {
  using type = Bare<decltype(*std::declval<const P&>())>;
};
template <class P>
using pointee_t = typename Pointee<P>::type;

/// The element type of a range that knows its size; else void.
template <class C, class = void>
struct SizedElement {
  using type = void;
};
template <class C>
struct SizedElement<C, std::void_t<decltype(std::begin(std::declval<const C&>())),
                                   decltype(std::end(std::declval<const C&>())),
                                   decltype(std::size(std::declval<const C&>()))>> {
  using type = std::conditional_t<std::is_same_v<C, std::vector<bool>>, bool,
                                  Bare<decltype(*std::begin(std::declval<const C&>()))>>;
};

/// Whether T is a text: a pointer to characters, or a contiguous container of them.
template <class T>
inline constexpr bool is_text_value_v =
    std::is_same_v<T, const char*> || std::is_same_v<T, char*> ||
    std::is_same_v<Bare<typename ContiguousElement<const T>::type>, char>;

/// The kind that a T converts to, if its type determines it; else None.
template <class T>
constexpr ValueKind kind_of() noexcept {
  using E = typename SizedElement<T>::type;
  if (std::is_same_v<T, Tensor> || std::is_same_v<T, tenon::TensorImplPtr>)
    return ValueKind::Tensor;
  if (std::is_same_v<T, bool>) return ValueKind::Bool;
  if (std::is_floating_point_v<T>) return ValueKind::Double;
  if (is_integer_v<T>) return ValueKind::Int;
  if (is_text_value_v<T>) return ValueKind::String;
  if (std::is_same_v<E, Tensor>) return ValueKind::TensorList;
  if (std::is_same_v<pointee_t<E>, Tensor>) {
    return HasValue<E>::value ? ValueKind::OptionalTensorList : ValueKind::TensorList;
  }
  if (is_text_value_v<E>) return ValueKind::StringList;
  if (std::is_same_v<E, bool>) return ValueKind::BoolList;
  if (std::is_floating_point_v<E>) return ValueKind::DoubleList;
  return is_integer_v<E> ? ValueKind::IntList : ValueKind::None;
}

/// Whether a T, or its pointee, converts to EValue.
template <class T>
constexpr bool is_value() noexcept {
  if constexpr (kind_of<T>() != ValueKind::None || std::is_same_v<T, tenon::Scalar> ||
                std::is_same_v<T, EValue>) {
    return true;
  } else if constexpr (!std::is_void_v<pointee_t<T>>) {
    return is_value<pointee_t<T>>();
  } else {
    return false;
  }
}
/// Whether an argument of type T converts to EValue and is not an EValue.
template <class T>
inline constexpr bool is_value_v =
    !std::is_same_v<std::decay_t<T>, EValue> && is_value<std::decay_t<T>>();

/// Whether a number may be out of int64_t's range.
template <class T>
inline constexpr bool may_overflow_v = std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t);

/// Whether the conversion of a T to EValue cannot fail.
template <class T>
inline constexpr bool is_safe_value_v = std::is_same_v<T, Tensor> || std::is_same_v<T, TensorPtr> ||
                                        std::is_same_v<T, tenon::TensorImplPtr> ||
                                        (std::is_arithmetic_v<T> && !may_overflow_v<T>);

}  // namespace detail

TENON_END_NAMESPACE
