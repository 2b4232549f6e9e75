// SPDX-License-Identifier: MIT
// The dtype of a tenon.Tensor: NumPy's object, which is imported when it is asked for.
#pragma once

#include "tenon/interop/python/tensor_object.h"  // Python.h first

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether ml_dtypes has the type for NumPy: it is not NumPy's.
inline bool is_of_ml_dtypes(ScalarType type) noexcept {
  return python_type(type).kind == '\0' && !isComplexType(type);
}

/// A module without dots in its name; null with an error set. PyImport_ImportModule() goes through
/// Python's __import__, which takes twice as long as all the rest of a dtype.
inline PyObject* import_module(const char* name) {
  return PyImport_ImportModuleLevel(name, nullptr, nullptr, nullptr, 0);
}

/// NumPy's dtype of an element type. Null with an error set: TypeError if there is no such type, or
/// if NumPy, or for bfloat16 and float8 ml_dtypes, is not installed.
inline PyObject* numpy_dtype(ScalarType type) {
  const char* const name = python_type(type).name;
  const char* const library = is_of_ml_dtypes(type) ? "ml_dtypes" : "numpy";
  if (type == ScalarType::ComplexHalf) {
    return PyErr_Format(PyExc_TypeError,
                        "NumPy has no %s; torch.from_dlpack(tensor) takes the tensor", name);
  }
  const PyRef numpy(import_module("numpy"));
  const PyRef module(numpy ? import_module(library) : nullptr);
  const PyRef named(!module                 ? nullptr
                    : is_of_ml_dtypes(type) ? PyObject_GetAttrString(module.get(), name)
                                            : PyUnicode_FromString(name));
  if (named) return PyObject_CallMethod(numpy.get(), "dtype", "O", named.get());
  if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) != 0 ||
      PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
    PyErr_Clear();
    return PyErr_Format(PyExc_TypeError, "a dtype for %s needs %s, which %s", name,
                        numpy ? library : "numpy", module ? "is too old" : "is not installed");
  }
  return nullptr;
}

/// The type of `dtype` without a NumPy dtype: a str with `.name`, printed without quotes.
inline PyObject* make_dtype_name_type() {
  const PyRef text(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "__str__"));
  return !text ? nullptr
               : PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){sssO}",
                                       "dtype", &PyUnicode_Type, "__module__", "tenon", "__repr__",
                                       text.get());
}

/// The attribute dtype. Null with an error set.
inline PyObject* python_dtype(PythonTensor& object, const TensorFields& tensor) {
  PyObject* const found = numpy_dtype(tensor.type);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return found;
  PyErr_Clear();
  const PyRef name(PyUnicode_FromString(python_type(tensor.type).name));
  PyRef made(!name ? nullptr
                   : PyObject_CallMethod(reinterpret_cast<PyObject*>(Py_TYPE(&object)),
                                         "_DtypeName", "O", name.get()));
  if (!made || PyObject_SetAttrString(made.get(), "name", name.get()) != 0) return nullptr;
  return made.release();
}

}  // namespace detail
TENON_END_NAMESPACE
