// SPDX-License-Identifier: MIT
// An argument of a bound function: what the casters of pybind11 and nanobind have in common.
#pragma once

#include <utility>

#include "tenon/config.h"
#include "tenon/core/optional.h"
#include "tenon/interop/python.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether an object has one of the protocols that from_python() knows, whatever it would answer.
/// A class is no array, though its objects' methods are attributes of it. Keeps no error.
TENON_COLD inline bool is_python_array(PyObject* object) noexcept {
  if (PyType_Check(object)) return false;
  return is_python_tensor(object) || PyCapsule_CheckExact(object) || PyObject_CheckBuffer(object) ||
         PyObject_HasAttrString(object, "__dlpack__") != 0 ||
         PyObject_HasAttrString(object, "__array_interface__") != 0;
}

/// An object taken as a tensor; or refused, with the Python error that says why.
class PythonArgument {
 public:
  /// Whether the object is an argument for a tensor parameter: it was taken, or it is an array that
  /// was refused, and no other overload should have it. Without `convert` it is one only when the
  /// tensor shares its memory. What is no array, None included, never is. Leaves no Python error
  /// set.
  ///
  /// An interrupt while the object was asked is a refusal, not a reason to try something else.
  bool load(PyObject* object, bool convert) noexcept {
    if (object == Py_None) return false;
    tensor_ = from_python_or_set_error(object, convert ? none : Optional<bool>(false));
    if (tensor_ != nullptr) return true;
    const bool is_interrupt = PyErr_ExceptionMatches(PyExc_Exception) == 0;
    TakenPythonError refusal;
    if (!is_interrupt && !(convert && is_python_array(object))) return false;
    refusal_ = std::move(refusal);
    return true;
  }

  bool is_refused() const noexcept { return static_cast<bool>(refusal_); }
  /// Sets the error of one that was refused.
  void raise() noexcept { refusal_.restore(); }
  /// The tensor of one that was taken.
  TensorPtr& tensor() noexcept { return tensor_; }

 private:
  TensorPtr tensor_;
  TakenPythonError refusal_{nullptr};
};

}  // namespace detail
TENON_END_NAMESPACE
