// SPDX-License-Identifier: MIT
// Type casters for nanobind: bound functions take and return tensors.
//
// The casters follow the rules of interop/pybind11.h; `tenon::register_nanobind_exceptions()`
// translates errors. If an array inside a list, an optional or a variant is refused, the argument
// does not match, and the reason is lost: nanobind's casters of these types cannot pass an error
// on. `nb::cast<TensorPtr>()` raises nanobind's cast_error.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "tenon/interop/python.h"

#include <nanobind/nanobind.h>

TENON_BEGIN_NAMESPACE

/// Translates exceptions of tenon that a bound function throws to Python's ValueError, TypeError,
/// BufferError and so on. Call it once, in NB_MODULE; it applies to all modules that share the
/// module's nanobind.
inline void register_nanobind_exceptions() {
  nanobind::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Exception& error) {
          set_python_error(error.error(), error.what());
        }
      },
      nullptr);
}

TENON_END_NAMESPACE

namespace NB_NAMESPACE {
namespace detail {

/// The caster of TensorPtr, Tensor and std::shared_ptr<Tensor>. An array that is refused still
/// matches: its error is raised when the function is called, since nanobind lets exceptions pass
/// only there.
template <class V>
class tenon_caster {
 public:
  using Value = V;
  static constexpr auto Name = io_name("tenon.ArrayLike", "tenon.Tensor");
  template <class T>
  using Cast = movable_cast_t<T>;

  bool from_python(handle source, uint32_t flags, cleanup_list*) noexcept {
    return argument_.load(source.ptr(), (flags & static_cast<uint32_t>(cast_flags::convert)) != 0);
  }
  static handle from_cpp(const V& tensor, rv_policy, cleanup_list*) noexcept {
    return tenon::detail::return_tensor(tensor);
  }
  /// Called by casters of lists and similar types, which must not throw.
  template <class>
  bool can_cast() const noexcept {
    return !argument_.refusal;
  }
  explicit operator V*() { return &value(); }
  explicit operator V&() { return value(); }
  explicit operator V&&() { return std::move(value()); }

 private:
  V& value() {
    if (argument_.refusal) {
      argument_.refusal.restore();
      throw python_error();
    }
    if (argument_.tensor != nullptr) {
      value_ = tenon::detail::take_argument<V>(argument_.tensor);
      argument_.tensor = nullptr;
    }
    return value_;
  }

  tenon::detail::PythonArgument argument_;
  V value_;
};

template <>
struct type_caster<tenon::TensorPtr> : tenon_caster<tenon::TensorPtr> {};

#if !TENON_ATEN_MODE
template <>
struct type_caster<tenon::Tensor> : tenon_caster<tenon::Tensor> {};
template <>
struct type_caster<std::shared_ptr<tenon::Tensor>> : tenon_caster<std::shared_ptr<tenon::Tensor>> {
};
#endif

/// The caster of a function's result.
template <class T>
struct type_caster<tenon::Result<T>> {
  static constexpr auto Name = make_caster<T>::Name;

  template <class R>  // T may be movable only
  static handle from_cpp(R&& result, rv_policy policy, cleanup_list* cleanup) noexcept {
    if (result.ok()) return make_caster<T>::from_cpp(*std::forward<R>(result), policy, cleanup);
    tenon::set_python_error(result.error(), result.message());
    return handle();
  }
};

}  // namespace detail
}  // namespace NB_NAMESPACE
