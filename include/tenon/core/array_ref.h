// SPDX-License-Identifier: MIT
// Span and ArrayRef: a pointer and a length, without ownership.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/config.h"

#if TENON_CPLUSPLUS >= 202002L
#include <version>
#if defined(__cpp_lib_ranges)
#include <span>  // declares the templates that the end of this file specialises
#endif
#endif

TENON_BEGIN_VALUES

template <class T>
class Span;

TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE
namespace detail {

/// The element type of a contiguous container, from its data(); void for any other type.
template <class C, class = void>
struct ContiguousElement {
  using type = void;
};
template <class C>
struct ContiguousElement<
    C, std::void_t<decltype(std::declval<C&>().data()), decltype(std::declval<C&>().size())>> {
  using type = std::remove_pointer_t<decltype(std::declval<C&>().data())>;
};

/// Whether C owns its elements, so that a const C's elements are const: true for std::vector, false
/// for std::span.
template <class C, class Container = std::remove_cv_t<std::remove_reference_t<C>>>
inline constexpr bool owns_elements_v =
    std::is_const_v<typename ContiguousElement<const Container>::type> &&
    !std::is_const_v<typename ContiguousElement<Container>::type>;

/// Enabled if owns_elements_v<C> == owned and Span<T> can refer to the elements of a const C.
template <class C, class T, bool owned>
using IfElements = std::enable_if_t<
    std::is_convertible_v<typename ContiguousElement<const C>::type (*)[], T (*)[]> &&
        owns_elements_v<C> == owned &&
        !std::is_same_v<std::remove_cv_t<std::remove_reference_t<C>>, Span<T>>,
    int>;

}  // namespace detail
TENON_END_NAMESPACE

TENON_BEGIN_VALUES

/// A view of `size()` consecutive elements of type T.
///
/// Ownership: none; the memory must outlive the span.
/// Indexing is unchecked, as in std::span and c10::ArrayRef; there is no at().
/// Source: c10::ArrayRef / c10::MutableArrayRef, std::span.
template <class T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;
  using element_type = T;
  using iterator = T*;
  using const_iterator = T*;

  constexpr Span() noexcept = default;
  /// Refers to `size` elements from `data` on, or to the elements of an array.
  constexpr Span(T* data, size_t size) noexcept : data_(data), size_(size) {}
  Span(int, size_t) = delete;  // refuses {0, 2}: meant as a list of values, which would dangle
  template <size_t N>
  constexpr Span(T (&array TENON_LIFETIMEBOUND)[N]) noexcept : data_(array), size_(N) {}

  /// Refers to any contiguous container whose elements are T; elements of a temporary are const.
  template <class C, detail::IfElements<C, T, true> = 0>
  TENON_ALWAYS_INLINE constexpr Span(C&& container TENON_LIFETIMEBOUND) noexcept
      : data_(container.data()), size_(container.size()) {}
  /// A container that does not own its elements may be a temporary: its elements outlive it.
  template <class C, detail::IfElements<C, T, false> = 0>
  TENON_ALWAYS_INLINE constexpr Span(C&& container) noexcept
      : data_(container.data()), size_(container.size()) {}

  /// The address of the first element; may be null if there are no elements.
  constexpr T* data() const noexcept { return data_; }
  /// How many elements there are.
  constexpr size_t size() const noexcept { return size_; }
  /// Whether there is no element.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// The first element, as an iterator.
  constexpr T* begin() const noexcept { return data_; }
  /// Past the last element, as an iterator.
  constexpr T* end() const noexcept { return data_ + size_; }
  /// Element `i`. Unchecked.
  constexpr T& operator[](size_t i) const noexcept { return data_[i]; }
  /// The first element. Unchecked.
  constexpr T& front() const noexcept { return data_[0]; }
  /// The last element. Unchecked.
  constexpr T& back() const noexcept { return data_[size_ - 1]; }
  /// A copy of the elements.
  std::vector<value_type> vec() const { return std::vector<value_type>(begin(), end()); }

  friend constexpr bool operator==(Span a, Span b) noexcept {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(Span a, Span b) noexcept { return !(a == b); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// The read-only span that sizes(), strides() and dim_order() return.
template <class T>
using ArrayRef = Span<const T>;

TENON_END_NAMESPACE

// Makes Span a view and a borrowed range: std::span and std::ranges' algorithms then accept a
// temporary Span.
#if defined(__cpp_lib_ranges)
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<tenon::Span<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<tenon::Span<T>> = true;
#endif
