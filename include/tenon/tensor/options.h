// SPDX-License-Identifier: MIT
// What may follow a creator's arguments.
#pragma once

#include "tenon/backend/registry.h"
#include "tenon/tensor/data.h"

TENON_BEGIN_NAMESPACE
namespace detail {

template <class T>
inline constexpr bool is_backend_v = std::is_base_of_v<Backend, T>;
template <class T>
inline constexpr bool is_option_v =
    std::is_same_v<std::remove_cv_t<T>, tenon::ScalarType> ||
    std::is_same_v<std::remove_cv_t<T>, TypeArg> ||
    std::is_same_v<std::remove_cv_t<T>, TensorShapeDynamism> || is_backend_v<T>;

}  // namespace detail

/// Each or none of: a type, a dynamism, a backend, in any order; in the design's order the backend
/// comes last.
///
/// Without them the type is what the creator says, the dynamism DYNAMIC_BOUND, and the backend that
/// of the thread's innermost BackendScope, else the host's heap.
class CreatorOptions {
 public:
  template <class... Options>
  explicit CreatorOptions(Options&... options) noexcept {
    (take(options), ...);
  }

  TypeArg type = TypeArg::deduced();
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;

  /// Null for the host's heap.
  Backend* backend() const noexcept {
    return detail::unless_host_heap(given_ != nullptr ? given_ : detail::current_backend());
  }
  /// Checks the type; null where none can have been given, so that the check is not linked.
  auto check_type() const noexcept { return check_type_; }
  /// The one that was given, which may be the host's heap; null when none was.
  Backend* given_backend() const noexcept { return given_; }

 protected:
  void take(const TypeArg& given) noexcept {
    type = given;
    check_type_ = &detail::check_type;
  }
  void take(TensorShapeDynamism given) noexcept { dynamism = given; }
  template <class B, std::enable_if_t<detail::is_backend_v<B>, int> = 0>
  void take(B& given) noexcept {
    detail::enlist(given);
    given_ = &given;
  }

 private:
  Backend* given_ = nullptr;
  Error (*check_type_)(own::ScalarType) noexcept = nullptr;
};

namespace detail {

template <class... Options>
inline constexpr bool has_type_v =
    (... || std::is_convertible_v<std::remove_reference_t<Options>&, TypeArg>);
template <class... Options>
inline constexpr bool has_backend_v = (... || is_backend_v<std::remove_reference_t<Options>>);

/// For a creator's parameter pack, which then takes nothing else; a backend has to be an lvalue.
template <class... Options>
using IfOptions =
    std::enable_if_t<(... && (is_option_v<std::remove_reference_t<Options>> &&
                              !(is_backend_v<std::remove_reference_t<Options>> &&
                                (std::is_rvalue_reference_v<Options&&> ||
                                 std::is_const_v<std::remove_reference_t<Options>>)))),
                     int>;

}  // namespace detail
TENON_END_NAMESPACE
