// SPDX-License-Identifier: MIT
// FunctionRef: a borrowed callable as an argument.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A reference to a callable.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  FunctionRef(std::nullptr_t) noexcept {}
  template <class F, std::enable_if_t<std::is_invocable_r_v<R, const F&, Args...>, int> = 0>
  FunctionRef(const F& f TENON_LIFETIMEBOUND) noexcept : f_(&f), call_(&call<F>) {}
  explicit operator bool() const noexcept { return call_ != nullptr; }
  R operator()(Args... args) const { return call_(f_, static_cast<Args>(args)...); }

 private:
  template <class F>
  static R call(const void* f, Args... args) {
    return (*static_cast<const F*>(f))(static_cast<Args>(args)...);
  }

  const void* f_ = nullptr;
  R (*call_)(const void*, Args...) = nullptr;
};

}  // namespace detail
TENON_END_NAMESPACE
