// SPDX-License-Identifier: MIT
// Tensors in Python: to_python, from_python, and DLPack's capsules. CPython's C API and nothing else.
//
// Include it before other headers, since Python.h wants to be the first. An exception that crosses from
// C++ into CPython ends the program: catch it, or use the try_ functions; Python's error is set in
// either case, and what remains is to return null:
//
//     PyObject* scale(PyObject*, PyObject* object) {
//       tenon::Result<tenon::TensorPtr> t = tenon::try_from_python(object);
//       if (!t.ok()) return nullptr;
//       …
//       return tenon::to_python(*t);
//     }
//
// A shared library has a type tenon.Tensor of its own in each interpreter; they take each other's
// objects like anybody's, by the C exchange API, without a copy. Python's free-threaded build is served
// with the GIL on, as it is unless an extension says that it needs none.
#pragma once

#include "tenon/interop/python_capsule.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_import.h"
#include "tenon/interop/python_type.h"
