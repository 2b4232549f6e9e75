// SPDX-License-Identifier: MIT
// Tensors in Python: to_python, from_python, and DLPack's capsules. Uses only CPython's C API, of
// Python 3.10 and later.
//
// Include this header before others, since Python.h has to be the first. A C++ exception that
// reaches CPython ends the program: a function that Python calls uses the form that sets Python's
// error:
//
//     PyObject* scale(PyObject*, PyObject* object) {
//       tenon::TensorPtr t = tenon::from_python_or_set_error(object);
//       if (t == nullptr) return nullptr;
//       …
//       return tenon::to_python(t);
//     }
//
// The throwing forms and those that return a Result leave no Python error set. Each shared library
// has its own type tenon.Tensor. Two such libraries exchange these objects by the C exchange API,
// without a copy. Not supported: sub-interpreters, in which these functions set an ImportError;
// free-threaded builds and Python's limited API, with which this header does not compile.
#pragma once

#include "tenon/interop/python/array_interface.h"
#include "tenon/interop/python/buffer.h"
#include "tenon/interop/python/capsule.h"
#include "tenon/interop/python/import.h"
#include "tenon/interop/python/interpreter.h"
#include "tenon/interop/python/tensor_type.h"
