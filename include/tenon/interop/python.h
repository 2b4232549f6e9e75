// SPDX-License-Identifier: MIT
// Tensors in Python: to_python, from_python, and DLPack's capsules, over CPython's C API alone, of
// Python 3.10 and later.
//
// Include it before other headers, since Python.h has to be first. An exception that crosses from
// C++ into CPython ends the program. A function that Python calls uses the form that sets Python's
// error:
//
//     PyObject* scale(PyObject*, PyObject* object) {
//       tenon::TensorPtr t = tenon::from_python_or_set_error(object);
//       if (t == nullptr) return nullptr;
//       …
//       return tenon::to_python(t);
//     }
//
// The throwing forms and those that return a Result leave no Python error set.
// Each shared library has its own type tenon.Tensor. Libraries exchange these objects like those of
// other libraries, by the C exchange API, without a copy. Not supported: sub-interpreters, where
// these functions set an ImportError; free-threaded builds and Python's limited API, with which
// this does not compile.
#pragma once

#include "tenon/interop/python/array_interface.h"
#include "tenon/interop/python/buffer.h"
#include "tenon/interop/python/capsule.h"
#include "tenon/interop/python/import.h"
#include "tenon/interop/python/interpreter.h"
#include "tenon/interop/python/tensor_type.h"
