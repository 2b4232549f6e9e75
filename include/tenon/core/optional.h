// SPDX-License-Identifier: MIT
// Optional: arguments that may be left out.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/core/dims.h"

TENON_BEGIN_NAMESPACE

/// An argument that is not given.
struct None {};
inline constexpr None none{};

/// A T or `none`. Unlike std::optional, a flag takes only a bool and a number only an integer.
template <class T>
class Optional {
  using Accepted = std::conditional_t<std::is_same_v<T, int64_t>, detail::DimArg, T>;

 public:
  constexpr Optional(None) noexcept {}
  template <class V, std::enable_if_t<std::is_same_v<T, bool> ? std::is_same_v<V, bool>
                                                              : std::is_convertible_v<V, Accepted>,
                                      int> = 0>
  constexpr Optional(V value) : value_(static_cast<Accepted>(value)), given_(true) {}

  constexpr bool has_value() const noexcept { return given_; }
  constexpr T value_or(T otherwise) const noexcept { return given_ ? value_ : otherwise; }

 private:
  T value_{};
  bool given_ = false;
};

/// An axis or a size.
using OptionalIndex = Optional<int64_t>;

TENON_END_NAMESPACE
