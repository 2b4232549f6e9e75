// SPDX-License-Identifier: MIT
// CPython itself: references, exceptions in flight, and taking the GIL where there may be no
// interpreter any more. Python.h comes in here, before every other header, as it asks.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <structmember.h>  // PyMemberDef, until 3.12

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "tenon/config.h"

#ifdef Py_LIMITED_API
#error "tenon needs more than Python's limited API: build without Py_LIMITED_API and STABLE_ABI"
#endif
#ifdef Py_GIL_DISABLED
#error "tenon needs the GIL: it does not support free-threaded builds of Python"
#endif

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

/// Whether this thread has the GIL. PyGILState_Check() says so too where it cannot tell.
inline bool has_gil() noexcept {
  PyThreadState* const own = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030D0000
  return own != nullptr && own == PyThreadState_GetUnchecked();
#else
  return own != nullptr && own == _PyThreadState_UncheckedGet();
#endif
}

/// Guards the end of the interpreter. CPython ends a thread that asks for the GIL then, which
/// aborts the process: so none may be waiting for it when the end begins. Those that have the GIL
/// give it up and ask again where they run Python code.
struct GilGate {
  std::atomic<int> in_flight{0};  // threads in with_gil() that did not have the GIL
  std::atomic<bool> is_open{false};
  // Read and written with the GIL.
  int holders = 0;                  // threads in with_gil() that had it
  PyThreadState* closer = nullptr;  // the one that ends the interpreter, which goes on

  /// From an atexit callback: refuses threads from now on and waits for those inside.
  void close() noexcept {
    is_open = false;
    closer = PyGILState_GetThisThreadState();
    while (in_flight > 0 || holders > 0) {
      Py_BEGIN_ALLOW_THREADS;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      Py_END_ALLOW_THREADS;
    }
  }
  bool refuses_holder() const noexcept {
    return closer != nullptr && closer != PyGILState_GetThisThreadState();
  }
};
inline GilGate& gil_gate() noexcept {
  static GilGate gate;
  return gate;
}

/// Opens the gate until the interpreter ends. False with an error set.
TENON_COLD inline bool open_gil_gate() noexcept {
  static PyMethodDef at_exit = {"tenon_at_exit",
                                [](PyObject*, PyObject*) -> PyObject* {
                                  gil_gate().close();
                                  Py_RETURN_NONE;
                                },
                                METH_NOARGS, nullptr};
  // Threads that were inside are not in the child.
  static PyMethodDef after_fork = {"tenon_after_fork",
                                   [](PyObject*, PyObject*) -> PyObject* {
                                     gil_gate().in_flight = 0;
                                     gil_gate().holders = 0;
                                     Py_RETURN_NONE;
                                   },
                                   METH_NOARGS, nullptr};
  const PyRef atexit(PyImport_ImportModule("atexit"));
  const PyRef os(atexit ? PyImport_ImportModule("os") : nullptr);
  if (!os) return false;
  const PyRef at_fork(PyObject_GetAttrString(os.get(), "register_at_fork"));
  if (at_fork) {
    const PyRef positional(PyTuple_New(0));
    const PyRef keywords(
        Py_BuildValue("{sN}", "after_in_child", PyCFunction_New(&after_fork, nullptr)));
    if (!positional || !keywords ||
        !PyRef(PyObject_Call(at_fork.get(), positional.get(), keywords.get()))) {
      return false;
    }
  } else if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return false;
  }
  PyErr_Clear();  // of a system without fork()
  const PyRef closer(PyCFunction_New(&at_exit, nullptr));
  if (!closer) return false;
  const PyRef registered(PyObject_CallMethod(atexit.get(), "register", "O", closer.get()));
  gil_gate().closer = nullptr;  // of an earlier interpreter
  gil_gate().is_open = static_cast<bool>(registered);
  return static_cast<bool>(registered);
}

/// Calls `f` with the GIL, on any thread, and keeps an exception in flight. Does nothing when the
/// interpreter is gone or going: what belongs to it is leaked then.
template <class F>
void with_gil(const F& f) noexcept {
  GilGate& gate = gil_gate();
  if (has_gil()) {
    if (TENON_UNLIKELY(gate.refuses_holder())) return;
    ++gate.holders;
    {
      const KeepPythonError keep;
      f();
    }
    --gate.holders;
    return;
  }
  ++gate.in_flight;  // before the question: close() asks in the other order
  if (gate.is_open) {
    const PyGILState_STATE state = PyGILState_Ensure();
    {
      const KeepPythonError keep;
      f();
    }
    PyGILState_Release(state);
  }
  --gate.in_flight;
}

}  // namespace detail
TENON_END_NAMESPACE
