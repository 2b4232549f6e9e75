// SPDX-License-Identifier: MIT
// Which C++ types become an EValue, and how.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/dims.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/module/evalue_block.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

class EValue;

namespace detail {

template <class T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

template <class P, class = void>
struct ComparesWithNull : std::false_type {};
template <class P>
struct ComparesWithNull<P, std::void_t<decltype(std::declval<const P&>() == nullptr)>>
    : std::true_type {};

template <class P, class = void>
struct HasValue : std::false_type {};
template <class P>
struct HasValue<
    P, std::void_t<decltype(*std::declval<const P&>(), std::declval<const P&>().has_value())>>
    : std::true_type {};

template <class P>
struct IsAnyResult : std::false_type {};
template <class T>
struct IsAnyResult<Result<T>> : std::true_type {};

/// What a smart pointer, an optional or a Result gives when it is dereferenced; void for anything
/// else. Raw pointers are none: nobody could tell whether they are meant as a flag, a list or data.
template <class P, class = void>
struct Pointee {
  using type = void;
};
template <class P>
struct Pointee<P,
               std::enable_if_t<std::is_class_v<P> && (ComparesWithNull<P>::value ||
                                                       HasValue<P>::value || IsAnyResult<P>::value),
                                std::void_t<decltype(*std::declval<const P&>())>>> {
  using type = Bare<decltype(*std::declval<const P&>())>;
};
template <class P>
using pointee_t = typename Pointee<P>::type;

/// The element type of a range that knows its size, without references and cv; else void.
template <class C, class = void>
struct SizedElement {
  using type = void;
};
template <class C>
struct SizedElement<C, std::void_t<decltype(std::begin(std::declval<const C&>())),
                                   decltype(std::end(std::declval<const C&>())),
                                   decltype(std::size(std::declval<const C&>()))>> {
  using type = Bare<decltype(*std::begin(std::declval<const C&>()))>;
};

template <class T>
constexpr ValueKind number_kind() noexcept {
  return std::is_same_v<T, bool>       ? ValueKind::Bool
         : std::is_floating_point_v<T> ? ValueKind::Double
         : is_number_v<T>              ? ValueKind::Int
                                       : ValueKind::None;
}

/// The list that a range of E becomes; None for no list.
template <class E>
constexpr ValueKind list_kind() noexcept {
  if (std::is_same_v<E, Tensor>) return ValueKind::TensorList;
  if (std::is_same_v<pointee_t<E>, Tensor>) {
    return HasValue<E>::value ? ValueKind::OptionalTensorList : ValueKind::TensorList;
  }
  switch (number_kind<E>()) {
    case ValueKind::Int: return ValueKind::IntList;
    case ValueKind::Double: return ValueKind::DoubleList;
    case ValueKind::Bool: return ValueKind::BoolList;
    default: return ValueKind::None;
  }
}

enum class Conversion : uint8_t {
  Impossible,
  Handle,
  Impl,
  Number,
  AnyNumber,
  Text,
  List,
  Pointer,
  Same
};

template <class T>
constexpr Conversion conversion() noexcept {
  if constexpr (std::is_same_v<T, EValue>) {
    return Conversion::Same;
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return Conversion::Handle;
  } else if constexpr (std::is_same_v<T, TensorImplPtr>) {
    return Conversion::Impl;
  } else if constexpr (number_kind<T>() != ValueKind::None) {
    return Conversion::Number;
  } else if constexpr (std::is_same_v<T, tenon::Scalar>) {
    return Conversion::AnyNumber;
  } else if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, char*> ||
                       std::is_same_v<Bare<typename ContiguousElement<const T>::type>, char>) {
    return Conversion::Text;
  } else if constexpr (std::is_class_v<T> &&
                       list_kind<typename SizedElement<T>::type>() != ValueKind::None) {
    return Conversion::List;
  } else if constexpr (!std::is_void_v<pointee_t<T>>) {
    return conversion<pointee_t<T>>() != Conversion::Impossible ? Conversion::Pointer
                                                                : Conversion::Impossible;
  } else {
    return Conversion::Impossible;
  }
}

/// Whether a T, given as an argument, becomes an EValue; an EValue itself is not meant.
template <class T>
inline constexpr bool is_value_v =
    conversion<std::decay_t<T>>() != Conversion::Impossible&& conversion<std::decay_t<T>>() !=
    Conversion::Same;

/// Whether it does so without a way to fail.
template <class T>
inline constexpr bool is_safe_value_v = conversion<std::decay_t<T>>() == Conversion::Handle ||
                                        (conversion<std::decay_t<T>>() == Conversion::Number &&
                                         !(std::is_unsigned_v<std::decay_t<T>> &&
                                           sizeof(std::decay_t<T>) >= sizeof(int64_t)));

}  // namespace detail
TENON_END_NAMESPACE
