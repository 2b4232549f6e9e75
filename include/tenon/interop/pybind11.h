// SPDX-License-Identifier: MIT
// Type casters for pybind11: bound functions take and return tensors.
//
//     m.def("scale", [](const tenon::TensorPtr& values, double factor) { … return result; });
//
// takes any object that from_python() takes (NumPy arrays, PyTorch's and JAX's tensors, buffers)
// and returns the object of to_python(). Memory is shared both ways.
//
// Arguments: `TensorPtr`, by value or reference; in plain mode also `Tensor` and
// `std::shared_ptr<Tensor>`, the TensorPtr of compat/executorch.h. In ATen mode Tensor is
// at::Tensor, for which libtorch has a caster.
// - Memory is shared or refused, never copied: the caller sees what the function writes.
// - None and objects that are not arrays do not match: the next overload is tried, and after the
//   last one pybind11 raises TypeError with the signatures. For an array that is refused,
//   from_python()'s error is raised, which says why, unless an overload accepts the array without
//   conversion.
// - With `py::arg("t").noconvert()` an array that is refused does not match. The reason is then
//   lost: pybind11 cannot store it while another overload may follow.
// - A bare capsule is consumed when its argument is checked, even if a later argument fails.
// - Read-only tensors are accepted: the function checks is_readonly(); tenon's functions that write
//   raise an error.
//
// Results: an undefined tensor, or a null TensorPtr, is an error, not None. For a `Result<T>`, the
// T is returned, or the error is raised as by set_python_error(). A tensor keeps its memory alive
// by itself, so `return_value_policy` and `keep_alive` are ignored. A tensor that borrows memory
// without an owner, as from_blob(pointer, …) makes it, keeps nothing alive.
//
// Exceptions: exceptions of tenon that a bound function throws become those of set_python_error()
// in modules that call `tenon::register_pybind11_exceptions()`; in other modules they become
// RuntimeError.
//
// Signatures name the types tenon.Tensor for results and tenon.ArrayLike for arguments:
// interop/python/tenon.pyi declares both for type checkers.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include "tenon/interop/python.h"

#include <pybind11/pybind11.h>

TENON_BEGIN_NAMESPACE

/// Translates exceptions of tenon that a bound function of this module throws to Python's
/// ValueError, TypeError, BufferError and so on. Call it once, in PYBIND11_MODULE.
inline void register_pybind11_exceptions() {
  pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Exception& error) {
      set_python_error(error.error(), error.what());
    }
  });
}

TENON_END_NAMESPACE

namespace PYBIND11_NAMESPACE {
namespace detail {

/// The caster of TensorPtr, Tensor and std::shared_ptr<Tensor>. If an argument is refused, load()
/// throws Python's error.
template <class T>
struct tenon_caster {
#if PYBIND11_VERSION_HEX >= 0x03000000
  PYBIND11_TYPE_CASTER(T, io_name("tenon.ArrayLike", "tenon.Tensor"));
#else
  PYBIND11_TYPE_CASTER(T, const_name("tenon.Tensor"));
#endif

  bool load(handle source, bool convert) {
    tenon::detail::PythonArgument argument;
    if (!argument.load(source.ptr(), convert)) return false;
    if (argument.refusal) {
      argument.refusal.restore();
      throw error_already_set();
    }
    value = tenon::detail::take_argument<T>(argument.tensor);
    return true;
  }
  static handle cast(const T& tensor, return_value_policy, handle) {
    PyObject* const made = tenon::detail::return_tensor(tensor);
    if (made == nullptr) throw error_already_set();
    return made;
  }
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
  static constexpr auto name = make_caster<T>::name;

  template <class R>  // T may be movable only
  static handle cast(R&& result, return_value_policy policy, handle parent) {
    if (result.ok()) {
      policy = return_value_policy_override<T>::policy(policy);
      return make_caster<T>::cast(*std::forward<R>(result), policy, parent);
    }
    tenon::set_python_error(result.error(), result.message());
    throw error_already_set();
  }
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
