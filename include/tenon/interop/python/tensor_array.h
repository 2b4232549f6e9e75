// SPDX-License-Identifier: MIT
// The parts of tenon.Tensor that use NumPy: dtype, __array__, comparisons, pickling and copies.
// NumPy is imported at the first use.
#pragma once

#include "tenon/interop/python/tensor_object.h"  // Python.h first

#include "tenon/tensor/clone.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether NumPy's dtype for the type comes from ml_dtypes.
inline bool is_of_ml_dtypes(ScalarType type) noexcept {
  return python_type(type).kind == '\0' && !isComplexType(type);
}

/// Imports a module whose name has no dots; null with Python's error set. PyImport_ImportModule()
/// would call Python's __import__, which takes twice as long as the rest of numpy_dtype().
inline PyObject* import_module(const char* name) {
  return PyImport_ImportModuleLevel(name, nullptr, nullptr, nullptr, 0);
}

/// NumPy's dtype for an element type. Null with Python's error set: TypeError if NumPy has no such
/// type, or if NumPy (for bfloat16 and float8, ml_dtypes) is not installed.
inline PyObject* numpy_dtype(ScalarType type) {
  const char* const name = python_type(type).name;
  const char* const library = is_of_ml_dtypes(type) ? "ml_dtypes" : "numpy";
  if (type == ScalarType::ComplexHalf) {
    return PyErr_Format(PyExc_TypeError,
                        "NumPy has no %s; torch.from_dlpack(tensor) accepts the tensor", name);
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

/// Makes the type that the attribute `dtype` has if NumPy has no such dtype: a str with `.name`,
/// printed without quotes.
inline PyObject* make_dtype_name_type() {
  const PyRef text(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "__str__"));
  return !text ? nullptr
               : PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){sssO}",
                                       "dtype", &PyUnicode_Type, "__module__", "tenon", "__repr__",
                                       text.get());
}

/// The attribute dtype; null with Python's error set.
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

/// A view that the buffer protocol can describe: ml_dtypes' types become integers. Null with
/// Python's error set.
inline PyObject* view_for_buffer(PyObject* self, ScalarType type) {
  if (python_type(type).format != nullptr) return Py_NewRef(self);
  const ScalarType bits = elementSize(type) == 1 ? ScalarType::Byte : ScalarType::UInt16;
  const TensorArg& t = python_tensor(self).arg();
  ViewShape shape(t);
  if (shape.error == Error::Ok) shape.error = shape.view_as_type(bits);
  return wrap_view(Py_TYPE(self), view_of_shape<Result<Tensor>>(kForPython, t, shape));
}

/// Makes a NumPy array over the memory. Null with Python's error set: TypeError if NumPy has no
/// such type.
inline PyObject* to_numpy(PyObject* self) {
  const TensorArg t = python_tensor(self).arg();
  const TensorFields& tensor = fields(t);
  if (finish_status(check_shareable(tensor)) != 0) return nullptr;
  const PyRef dtype(numpy_dtype(tensor.type));
  const PyRef source(dtype ? view_for_buffer(self, tensor.type) : nullptr);
  const PyRef lent(source ? PyMemoryView_FromObject(source.get()) : nullptr);
  const PyRef numpy(lent ? import_module("numpy") : nullptr);
  PyRef array(numpy ? PyObject_CallMethod(numpy.get(), "asarray", "O", lent.get()) : nullptr);
  if (!array || !is_of_ml_dtypes(tensor.type)) return array.release();
  return PyObject_CallMethod(array.get(), "view", "O", dtype.get());
}

/// __array__(dtype=None, *, copy=None), by the rules of NumPy 2, whatever NumPy's version.
inline PyObject* python_array(PyObject* self, PyObject* args, PyObject* keywords) {
  static constexpr const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|O$O:__array__", const_cast<char**>(names),
                                  &dtype, &copy) == 0) {
    return nullptr;
  }
  const int is_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
  if (is_copy < 0) return nullptr;
  const PyRef shared(to_numpy(self));
  PyRef array(!shared || dtype == Py_None
                  ? Py_XNewRef(shared.get())
                  : PyObject_CallMethod(shared.get(), "astype", "OssOO", dtype, "K", "unsafe",
                                        Py_True, Py_False));
  if (!array) return nullptr;
  const bool is_shared = array == shared;
  if (is_copy != 0 && is_shared) return PyObject_CallMethod(array.get(), "copy", "s", "K");
  if (is_copy == 0 && copy != Py_None && !is_shared) {
    return PyErr_Format(PyExc_ValueError, "dtype %R needs a copy, but copy is false", dtype);
  }
  return array.release();
}

/// __arrow_array__(type=None), which pyarrow tries first.
inline PyObject* python_arrow_array(PyObject* self, PyObject* args, PyObject* keywords) {
  static constexpr const char* names[] = {"type", nullptr};
  PyObject* type = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|O:__arrow_array__", const_cast<char**>(names),
                                  &type) == 0) {
    return nullptr;
  }
  const PyRef array(to_numpy(self));
  const PyRef pyarrow(array ? import_module("pyarrow") : nullptr);
  return pyarrow ? PyObject_CallMethod(pyarrow.get(), "array", "OO", array.get(), type) : nullptr;
}

/// tp_richcompare of the type: compares each element; returns a NumPy array.
inline PyObject* python_compare(PyObject* self, PyObject* other, int operation) {
  const PyRef array(to_numpy(self));
  return array ? PyObject_RichCompare(array.get(), other, operation) : nullptr;
}

/// sq_contains of the type, by NumPy.
inline int python_contains(PyObject* self, PyObject* value) {
  const PyRef array(to_numpy(self));
  return array ? PySequence_Contains(array.get(), value) : -1;
}

/// __reduce_ex__: pickles a NumPy array, since the process that reads it may not have this type.
inline PyObject* python_reduce(PyObject* self, PyObject* protocol) {
  const PyRef array(to_numpy(self));
  return array ? PyObject_CallMethod(array.get(), "__reduce_ex__", "O", protocol) : nullptr;
}

/// __copy__ and __deepcopy__: a writable copy in the same kind of memory.
inline PyObject* python_copy(PyObject* self, PyObject*) {
  const Result<Tensor> copied = clone<Result<Tensor>>(kForPython, python_tensor(self).arg());
  if (!copied.ok()) return set_python_error(copied.error(), copied.message()), nullptr;
  return wrap(Py_TYPE(self), TensorArg(*copied));
}

}  // namespace detail
TENON_END_NAMESPACE
