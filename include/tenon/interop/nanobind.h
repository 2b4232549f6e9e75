// SPDX-License-Identifier: MIT
// Type casters for nanobind: functions that it binds take and return tensors.
//
// They do what those of interop/pybind11.h do, by the same rules, with `nb::arg("out").noconvert()`
// and `tenon::register_nanobind_exceptions()`. An array inside a list that cannot be taken is not
// an error of its own: the list is then no argument, since nanobind's lists cannot pass it on; and
// `nb::cast<TensorPtr>()` raises nanobind's cast_error.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/interop/python.h"
#include "tenon/interop/python/import.h"
#include "tenon/tensor/tensor.h"

#include <nanobind/nanobind.h>

TENON_BEGIN_NAMESPACE

/// Makes tenon's exceptions, where they leave a bound function, Python's ValueError, TypeError,
/// BufferError and so on. Call it once, in NB_MODULE; it holds for all modules that share that
/// nanobind.
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

namespace detail {

/// A caster's work for any Value. An argument that was refused is an argument all the same: only
/// when the function is called, where nanobind lets exceptions pass, its error is raised.
template <class Value>
class NanobindCaster {
 public:
  bool from_python(nanobind::handle source, uint32_t flags,
                   nanobind::detail::cleanup_list*) noexcept {
    const auto convert = static_cast<uint32_t>(nanobind::detail::cast_flags::convert);
    return argument_.load(source.ptr(), (flags & convert) != 0);
  }
  static nanobind::handle from_cpp(const Value& tensor, nanobind::rv_policy,
                                   nanobind::detail::cleanup_list*) noexcept {
    return to_python(tensor);
  }
  /// Asked by casters of lists and the like, in which nothing may be thrown.
  template <class>
  bool can_cast() const noexcept {
    return !argument_.is_refused();
  }

 protected:
  TensorPtr& tensor() {
    if (argument_.is_refused()) {
      argument_.raise();
      throw nanobind::python_error();
    }
    return argument_.tensor();
  }

 private:
  PythonArgument argument_;
};

}  // namespace detail
TENON_END_NAMESPACE

namespace NB_NAMESPACE {
namespace detail {

template <>
struct type_caster<tenon::TensorPtr> : tenon::detail::NanobindCaster<tenon::TensorPtr> {
  using Value = tenon::TensorPtr;
  static constexpr auto Name = const_name("tenon.Tensor");
  template <class T>
  using Cast = movable_cast_t<T>;

  explicit operator Value*() { return &tensor(); }
  explicit operator Value&() { return tensor(); }
  explicit operator Value&&() { return std::move(tensor()); }
};

#if !TENON_ATEN_MODE
template <>
struct type_caster<tenon::Tensor> : tenon::detail::NanobindCaster<tenon::Tensor> {
  using Value = tenon::Tensor;
  static constexpr auto Name = const_name("tenon.Tensor");
  template <class T>
  using Cast = movable_cast_t<T>;

  explicit operator Value*() { return tensor().get(); }
  explicit operator Value&() { return *tensor(); }
  explicit operator Value&&() { return std::move(*tensor()); }
};
#endif

}  // namespace detail
}  // namespace NB_NAMESPACE
