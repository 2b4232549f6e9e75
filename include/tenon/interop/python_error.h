// SPDX-License-Identifier: MIT
// tenon's errors as Python's exceptions, and the other way round.
#pragma once

#include <cstring>

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/interop/python_gil.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// In front of messages for Python's users, to whom the names of C++ functions say nothing.
inline constexpr const char* kForPython = "tenon";

/// Borrowed, like PyExc_ValueError itself.
inline PyObject* python_exception(Error error) noexcept {
  switch (error) {
    case Error::InvalidArgument:
    case Error::OutOfBounds: return PyExc_ValueError;
    case Error::InvalidType: return PyExc_TypeError;
    case Error::NotSupported:
    case Error::InvalidState:
    case Error::InUse: return PyExc_BufferError;
    case Error::OutOfMemory: return PyExc_MemoryError;
    case Error::NotFound: return PyExc_LookupError;
    case Error::Ok:
    case Error::AccessFailed:
    case Error::Internal: break;
  }
  return PyExc_RuntimeError;
}

/// What Python's error would be here.
inline Error error_of_python() noexcept {
  if (PyErr_ExceptionMatches(PyExc_ValueError) != 0) return Error::InvalidArgument;
  if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) return Error::InvalidType;
  if (PyErr_ExceptionMatches(PyExc_BufferError) != 0) return Error::NotSupported;
  if (PyErr_ExceptionMatches(PyExc_MemoryError) != 0) return Error::OutOfMemory;
  if (PyErr_ExceptionMatches(PyExc_LookupError) != 0) return Error::NotFound;
  return Error::AccessFailed;
}

/// Python's error, which stays set, as one of tenon's with the same text.
TENON_COLD inline Error fail_as_python() noexcept {
  const Error error = error_of_python();
  TakenPythonError taken;
  const PyRef text(taken.text());
  const char* words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const Error failed =
      fail(error, {taken.type_name(), words == nullptr || *words == '\0' ? "" : ": ",
                   words == nullptr ? "" : words});
  PyErr_Clear();  // of what went wrong in making the text
  taken.restore();
  return failed;
}

}  // namespace detail

/// Makes tenon's error Python's: ValueError for InvalidArgument and OutOfBounds, TypeError for
/// InvalidType, BufferError for NotSupported, InvalidState and InUse, MemoryError for OutOfMemory,
/// LookupError for NotFound, RuntimeError for all others.
///
/// `message` is UTF-8; what is not becomes U+FFFD. Needs the GIL.
inline void set_python_error(Error error, const char* message) noexcept {
  PyObject* const text =
      PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace");
  if (text == nullptr) return;  // a MemoryError is set
  PyErr_SetObject(detail::python_exception(error), text);
  Py_DECREF(text);
}

TENON_END_NAMESPACE
