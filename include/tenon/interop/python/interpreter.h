// SPDX-License-Identifier: MIT
// Helpers for CPython: references, errors, the GIL on threads that may outlive the interpreter, and
// the state of an interpreter. Includes Python.h, which has to be the first header.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <thread>
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/exchange/dlpack_types.h"

#ifdef Py_LIMITED_API
#error "tenon needs more than Python's limited API: build without Py_LIMITED_API and STABLE_ABI"
#endif
#ifdef Py_GIL_DISABLED
#error "tenon needs the GIL: it does not support free-threaded builds of Python"
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// The current thread state of this thread, in any interpreter; null if the thread does not hold
/// the GIL. (PyGILState_Check() is not used: it may return true if it does not know.)
inline PyThreadState* current_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet();
#else
  PyThreadState* const current =
      _PyThreadState_UncheckedGet();  // of the thread that holds the GIL, whichever that is
  if (current == nullptr || current == PyGILState_GetThisThreadState()) return current;
  // PyGILState knows only the first state of a thread; in sub-interpreters the thread may have
  // others. `current` is only read if there are sub-interpreters, since another thread may free it
  // at any time.
  const bool has_others = PyInterpreterState_Next(PyInterpreterState_Head()) != nullptr;
  return has_others && current->thread_id == PyThread_get_thread_ident() ? current : nullptr;
#endif
}
inline bool is_of_main(const PyThreadState* state) noexcept {
  return state->interp == PyInterpreterState_Main();
}

/// Calls `f`, which may run Python code. Before 3.14, CPython unwinds a thread that requests the
/// GIL during finalisation, and unwinding through a noexcept function aborts the process. This
/// function stops the unwinding and lets the thread sleep for ever, as 3.14 does. So functions that
/// `f` calls must not be noexcept.
template <class F>
#if !TENON_PORTABLE
__attribute__((no_sanitize("undefined")))  // the exception is not a C++ object
#endif
auto stay_at_end(const F& f) noexcept -> decltype(f()) {
#if TENON_HAS_EXCEPTIONS && defined(__GLIBCXX__) && PY_VERSION_HEX < 0x030E0000
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
#else
  return f();
#endif
}

/// Calls `f` in a destructor, unless the thread is being unwound: then it does not hold the GIL.
template <class F>
void stay_at_end_of_scope(const F& f) noexcept {
  if (current_state() != nullptr) stay_at_end(f);
}

struct ReleaseReference {
  void operator()(PyObject* object) const noexcept {
    stay_at_end_of_scope([object] { Py_DECREF(object); });
  }
};
/// An owned reference to a Python object, or null. Must be released with the GIL held.
using PyRef = std::unique_ptr<PyObject, ReleaseReference>;

/// Python's error, if one was set, moved out of the interpreter. restore() sets it again.
struct TakenPythonError {
  PyRef type;
  PyRef value;
  PyRef traceback;

  static TakenPythonError take() {
    PyObject* taken[3] = {nullptr, nullptr, nullptr};
    PyErr_Fetch(&taken[0], &taken[1], &taken[2]);
    return {PyRef(taken[0]), PyRef(taken[1]), PyRef(taken[2])};
  }
  explicit operator bool() const noexcept { return static_cast<bool>(type); }
  void restore() { PyErr_Restore(type.release(), value.release(), traceback.release()); }
};

/// Whether Python's error is such that no other protocol may be tried: an interrupt, for example.
inline bool must_stop() noexcept {
  return PyErr_Occurred() != nullptr && (PyErr_ExceptionMatches(PyExc_Exception) == 0 ||
                                         PyErr_ExceptionMatches(PyExc_MemoryError) != 0);
}

/// Sets Python's error aside while this object exists; errors that are set meanwhile are dropped.
struct KeepPythonError {
  TakenPythonError error = TakenPythonError::take();
  ~KeepPythonError() {
    stay_at_end_of_scope([this] { error.restore(); });
  }
};

/// The prefix of messages for users of Python, who do not know the names of C++ functions.
inline constexpr const char* kForPython = "tenon";

/// Maps exceptions of Python and errors of tenon to each other. The first row that matches counts.
/// Other errors become RuntimeError, other exceptions AccessFailed.
template <class F>
bool find_python_error(const F& is) noexcept {
  return is(Error::InvalidArgument, PyExc_ValueError) || is(Error::OutOfBounds, PyExc_ValueError) ||
         is(Error::InvalidType, PyExc_TypeError) || is(Error::NotSupported, PyExc_BufferError) ||
         is(Error::InvalidState, PyExc_BufferError) || is(Error::InUse, PyExc_BufferError) ||
         is(Error::OutOfMemory, PyExc_MemoryError) || is(Error::NotFound, PyExc_LookupError);
}

/// Fails with tenon's error for Python's exception; the message is the exception's type and text.
/// The exception stays set.
TENON_COLD inline Error fail_as_python() {
  Error error = Error::AccessFailed;
  find_python_error([&](Error candidate, PyObject* type) noexcept {
    const bool matches = PyErr_ExceptionMatches(type) != 0;
    if (matches) error = candidate;
    return matches;
  });
  TakenPythonError taken = TakenPythonError::take();
  const PyRef text(taken.value ? PyObject_Str(taken.value.get()) : nullptr);
  const char* words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (words == nullptr) words = "";
  error = fail(error, reinterpret_cast<PyTypeObject*>(taken.type.get())->tp_name,
               *words == '\0' ? "" : ": ", words);
  taken.restore();  // drops an error that str() raised
  return error;
}

}  // namespace detail

/// Sets Python's error: ValueError for InvalidArgument and OutOfBounds, TypeError for InvalidType,
/// BufferError for NotSupported, InvalidState and InUse, MemoryError for OutOfMemory, LookupError
/// for NotFound, RuntimeError for other errors.
///
/// `message`: UTF-8 text; invalid bytes become U+FFFD.
/// Threads: needs the GIL.
inline void set_python_error(Error error, const char* message) noexcept {
  PyObject* found = PyExc_RuntimeError;
  detail::find_python_error([&](Error candidate, PyObject* type) noexcept {
    if (candidate == error) found = type;
    return candidate == error;
  });
  const detail::PyRef text(
      PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace"));
  if (text) PyErr_SetObject(found, text.get());  // else Python has set MemoryError
}

namespace detail {

/// Lets the interpreter end only when no thread is in with_gil(). While it ends, CPython ends each
/// thread that requests the GIL, which aborts the process: so no thread may be waiting for the GIL
/// when the end begins. A thread that holds the GIL releases and requests it again while it runs
/// Python code, so such threads are counted too.
struct GilGate {
  std::atomic<int> inside{0};  // number of threads in with_gil()
  std::atomic<bool> is_open{false};
  PyThreadState* closer =
      nullptr;  // the thread that ends the interpreter, which may pass; needs the GIL

  /// How many calls of with_gil() this thread is in: the code in them may fork, or end the
  /// interpreter.
  static int& depth() noexcept {
    static thread_local int depth = 0;
    return depth;
  }
  /// Called at exit: refuses threads from now on, and waits for the threads inside to leave.
  void close() noexcept {
    is_open = false;
    closer = current_state();
    while (inside > depth()) {
      PyThreadState* const state = PyEval_SaveThread();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      PyEval_RestoreThread(state);
    }
  }
};
inline GilGate& gil_gate() noexcept {
  static GilGate gate;
  return gate;
}

/// Opens the gate until the interpreter ends. False with Python's error set.
TENON_COLD inline bool open_gil_gate() {
  static PyMethodDef at_exit = {
      "tenon_at_exit", [](PyObject*, PyObject*) { return gil_gate().close(), Py_NewRef(Py_None); },
      METH_NOARGS, nullptr};
  // In a forked child, the other threads that were inside do not exist.
  static PyMethodDef after_fork = {"tenon_after_fork",
                                   [](PyObject*, PyObject*) {
                                     gil_gate().inside = GilGate::depth();
                                     return Py_NewRef(Py_None);
                                   },
                                   METH_NOARGS, nullptr};
  const PyRef os(PyImport_ImportModule("os"));
  const PyRef atexit(os ? PyImport_ImportModule("atexit") : nullptr);
  const PyRef closer(atexit ? PyCFunction_New(&at_exit, nullptr) : nullptr);
  if (!closer) return false;
  if (PyObject_HasAttrString(os.get(), "register_at_fork") != 0) {
    const PyRef at_fork(PyObject_GetAttrString(os.get(), "register_at_fork"));
    const PyRef no_positional(PyTuple_New(0));
    const PyRef keywords(
        Py_BuildValue("{sN}", "after_in_child", PyCFunction_New(&after_fork, nullptr)));
    if (!at_fork || !no_positional || !keywords ||
        !PyRef(PyObject_Call(at_fork.get(), no_positional.get(), keywords.get()))) {
      return false;
    }
  }
  const PyRef registered(PyObject_CallMethod(atexit.get(), "register", "O", closer.get()));
  gil_gate().closer = nullptr;  // it may be that of an earlier interpreter
  gil_gate().is_open = static_cast<bool>(registered);
  return gil_gate().is_open;
}

/// Holds the main interpreter's GIL while this object exists, on a thread that did not hold a GIL.
class MainGil {
 public:
  MainGil() noexcept {
    // PyGILState_Ensure() would take the state that the thread had last, which may be a
    // sub-interpreter's.
    PyThreadState* const own = PyGILState_GetThisThreadState();
    if (own == nullptr || is_of_main(own)) {
      ensured_ = PyGILState_Ensure();
    } else {
      made_ = PyThreadState_New(PyInterpreterState_Main());
      is_held_ = made_ != nullptr;  // else memory ran out
      if (is_held_) PyEval_RestoreThread(made_);
    }
  }
  MainGil(const MainGil&) = delete;
  MainGil& operator=(const MainGil&) = delete;
  ~MainGil() {
    if (made_ != nullptr) {
      PyThreadState_Clear(made_);
      PyThreadState_DeleteCurrent();
    } else if (is_held_) {
      PyGILState_Release(ensured_);
    }
  }
  bool is_held() const noexcept { return is_held_; }

 private:
  PyThreadState* made_ = nullptr;
  PyGILState_STATE ensured_{};
  bool is_held_ = true;
};

/// Calls `f` with the main interpreter's GIL, on any thread, also if a sub-interpreter is current.
/// Python's error stays as it was. Does nothing if the interpreter has ended or is ending: then
/// objects that `f` would release are leaked.
template <class F>
void with_gil(const F& f) noexcept {
  GilGate& gate = gil_gate();
  PyThreadState* const current = current_state();
  const auto call = [&f] {
    const KeepPythonError keep;
    f();
  };
  ++GilGate::depth();
  ++gate.inside;  // before is_open is read: close() accesses the two in the reverse order
  if (current != nullptr && is_of_main(current)) {
    if (gate.closer == nullptr || gate.closer == current) call();
  } else if (gate.is_open) {
    if (current != nullptr) PyEval_SaveThread();
    if (const MainGil gil; gil.is_held()) call();
    if (current != nullptr) PyEval_RestoreThread(current);
  }
  --gate.inside;
  --GilGate::depth();
}

/// The attributes that an import looks up in a type; kTypeAttributes has their names.
enum TypeAttribute : size_t { kExchangeApi, kRequiresGrad, kIsConj, kIsNeg, kModule };
inline constexpr const char* kTypeAttributes[] = {"__dlpack_c_exchange_api__", "requires_grad",
                                                  "is_conj", "is_neg", "__module__"};

/// The state that tenon keeps for an interpreter. It is dropped when the interpreter ends; a
/// program may then start Python again.
/// Threads: read and written with the GIL.
struct PythonState {
  bool is_alive;
  unsigned run;                                 // counts the interpreters
  PyObject* names[std::size(kTypeAttributes)];  // interned
  PyTypeObject* tensor_type;                    // made when first needed
};

/// The state. Each shared library with hidden symbols has its own, with its own type tenon.Tensor.
inline PythonState& the_python_state() noexcept {
  static PythonState state{};
  return state;
}

/// Starts the state; null with Python's error set.
TENON_COLD inline PythonState* start_python_state(PythonState& state) {
  // Called as the interpreter ends, while Python's functions still work.
  const auto end = [](PyObject*) {
    PythonState& ended = the_python_state();
    ended.is_alive = false;
    ++ended.run;
    gil_gate().is_open = false;
    gil_gate().closer = nullptr;
    for (PyObject*& name : ended.names) Py_CLEAR(name);
    Py_CLEAR(ended.tensor_type);
  };
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());  // borrowed
  const bool is_open = dict != nullptr && open_gil_gate();
  if (state.is_alive) {  // another thread started it: an import lets other threads run
    PyErr_Clear();
    return &state;
  }
  bool has_names = is_open;
  for (size_t i = 0; has_names && i < std::size(kTypeAttributes); ++i) {
    state.names[i] = PyUnicode_InternFromString(kTypeAttributes[i]);
    has_names = state.names[i] != nullptr;
  }
  const PyRef capsule(has_names ? PyCapsule_New(&state, nullptr, end) : nullptr);
  const PyRef key(capsule ? PyLong_FromVoidPtr(&state) : nullptr);
  state.is_alive = key && PyDict_SetItem(dict, key.get(), capsule.get()) == 0;
  if (state.is_alive) return &state;
  for (PyObject*& name : state.names) Py_CLEAR(name);
  if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
  return nullptr;
}

/// The state; null with Python's error set: ImportError in a sub-interpreter, since the state
/// belongs to the main interpreter; MemoryError.
inline PythonState* python_state() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "tenon works only in Python's main interpreter, not in sub-interpreters");
    return nullptr;
  }
  PythonState& state = the_python_state();
  return state.is_alive ? &state : start_python_state(state);
}

}  // namespace detail
TENON_END_NAMESPACE
