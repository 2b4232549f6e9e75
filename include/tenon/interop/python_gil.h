// SPDX-License-Identifier: MIT
// CPython itself: references, exceptions in flight, and taking the GIL where there may be no
// interpreter any more. Python.h comes in here, before every other header, as it asks.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <structmember.h>  // PyMemberDef, until 3.12

#include <cstddef>
#include <utility>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A reference to a Python object, or null. It is given back with the GIL held.
class PyRef {
 public:
  PyRef() noexcept = default;
  /// Takes over a new reference, as Python's functions return them.
  explicit PyRef(PyObject* fresh) noexcept : object_(fresh) {}
  PyRef(PyRef&& other) noexcept : object_(other.release()) {}
  PyRef& operator=(PyRef&& other) noexcept {
    PyRef old(std::exchange(object_, other.release()));
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

inline PyObject* new_reference(PyObject* object) noexcept {
  Py_INCREF(object);
  return object;
}

/// Takes Python's error aside, if there is one. restore() makes it the error again.
class TakenPythonError {
 public:
  TakenPythonError() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
    value_ = PyRef(PyErr_GetRaisedException());
#else
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    type_ = PyRef(type);
    value_ = PyRef(value);
    traceback_ = PyRef(traceback);
#endif
  }
  /// None.
  explicit TakenPythonError(std::nullptr_t) noexcept {}
  TakenPythonError(TakenPythonError&&) noexcept = default;
  TakenPythonError& operator=(TakenPythonError&&) noexcept = default;

#if PY_VERSION_HEX >= 0x030C0000
  explicit operator bool() const noexcept { return static_cast<bool>(value_); }
  const char* type_name() const noexcept { return Py_TYPE(value_.get())->tp_name; }
  void restore() noexcept { PyErr_SetRaisedException(value_.release()); }
#else
  explicit operator bool() const noexcept { return static_cast<bool>(type_); }
  const char* type_name() const noexcept {
    return reinterpret_cast<PyTypeObject*>(type_.get())->tp_name;
  }
  void restore() noexcept {
    PyErr_Restore(type_.release(), value_.release(), traceback_.release());
  }
#endif
  /// A new reference to what str(error) gives; null, with an error, when that fails.
  PyObject* text() const noexcept {
    return value_ ? PyObject_Str(value_.get()) : PyUnicode_FromString("");
  }

 private:
#if PY_VERSION_HEX < 0x030C0000
  PyRef type_;
  PyRef traceback_;
#endif
  PyRef value_;
};

/// Keeps an exception in flight from what runs during its life, and the other way round.
class KeepPythonError {
 public:
  KeepPythonError() noexcept = default;
  KeepPythonError(const KeepPythonError&) = delete;
  KeepPythonError& operator=(const KeepPythonError&) = delete;
  ~KeepPythonError() { error_.restore(); }

 private:
  TakenPythonError error_;
};

inline int& calls_from_python() noexcept {
  static TENON_THREAD_LOCAL int depth = 0;
  return depth;
}

/// Marks a call in which the thread has the GIL, also while the interpreter shuts down: then
/// PyGILState_Ensure() may no longer be asked, but objects are still freed properly.
class CallFromPython {
 public:
  CallFromPython() noexcept { ++calls_from_python(); }
  CallFromPython(const CallFromPython&) = delete;
  CallFromPython& operator=(const CallFromPython&) = delete;
  ~CallFromPython() { --calls_from_python(); }
};

inline bool is_python_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// Calls `f` with the GIL, on any thread, and keeps an exception in flight. False, without a call,
/// when the interpreter is gone or going: then what belongs to it has to be leaked.
template <class F>
bool with_gil(const F& f) noexcept {
  // The second question is for code that was called from there and has released the GIL.
  if (calls_from_python() > 0 && PyGILState_Check() != 0) {
    const KeepPythonError keep;
    f();
    return true;
  }
  if (Py_IsInitialized() == 0 || is_python_finalizing()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    const KeepPythonError keep;
    f();
  }
  PyGILState_Release(state);
  return true;
}

}  // namespace detail
TENON_END_NAMESPACE
