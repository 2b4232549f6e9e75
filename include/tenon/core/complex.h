// SPDX-License-Identifier: MIT
// complex<T>: two numbers side by side.
#pragma once

#include <type_traits>
#include <utility>

#include "tenon/core/mode.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

/// A complex number's storage: real part, imaginary part, no padding.
///
/// Has the bytes of std::complex<T> and c10::complex<T>. Converts from and to them, and any
/// class with value_type, real() and imag(), without their headers: libstdc++'s <complex> includes
/// iostream and takes more compile time than all of tenon.
template <class T>
class complex {
 public:
  using value_type = T;

  complex() = default;
  constexpr complex(T real, T imag = T()) noexcept : real_(real), imag_(imag) {}
  template <class C, class = std::enable_if_t<
                         std::is_convertible_v<decltype(std::declval<const C&>().real()), T> &&
                         std::is_convertible_v<decltype(std::declval<const C&>().imag()), T>>>
  constexpr complex(const C& other) noexcept
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}

  constexpr T real() const noexcept { return real_; }
  constexpr T imag() const noexcept { return imag_; }

  /// To std::complex, c10::complex, …; the constructor above converts between tenon's own.
  template <
      class C, class V = typename C::value_type,
      class = decltype(std::declval<const C&>().real(), std::declval<const C&>().imag()),
      class = std::enable_if_t<std::is_constructible_v<C, V, V> && !std::is_same_v<C, complex<V>>>>
  constexpr operator C() const noexcept {
    return C(static_cast<V>(real_), static_cast<V>(imag_));
  }

  friend constexpr bool operator==(const complex& a, const complex& b) noexcept {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend constexpr bool operator!=(const complex& a, const complex& b) noexcept {
    return !(a == b);
  }

 private:
  T real_;
  T imag_;
};

TENON_END_OWN
namespace detail {
using own::complex;
}
TENON_END_NAMESPACE
