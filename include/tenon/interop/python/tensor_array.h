// SPDX-License-Identifier: MIT
// A tenon.Tensor's methods that use NumPy: __array__, comparisons, pickling; and copies.
#pragma once

#include "tenon/interop/python/tensor_dtype.h"  // Python.h first

#include "tenon/tensor/clone.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A view that the buffer protocol can describe: ml_dtypes' types as integers. Null with an error
/// set.
inline PyObject* view_for_buffer(PyObject* self, ScalarType type) {
  if (python_type(type).format != nullptr) return Py_NewRef(self);
  const ScalarType bits = elementSize(type) == 1 ? ScalarType::Byte : ScalarType::UInt16;
  const TensorArg& t = python_tensor(self).arg();
  ViewShape shape(t);
  if (shape.error == Error::Ok) shape.error = shape.view_as_type(bits);
  return wrap_view(Py_TYPE(self), view_of_shape<Result<Tensor>>(kForPython, t, shape));
}

/// NumPy's array over the memory. Null with an error set: TypeError where NumPy has no such type.
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

/// __array__(dtype=None, *, copy=None), by the rules of NumPy 2, whichever there is.
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
    return PyErr_Format(PyExc_ValueError, "a copy is needed for the dtype %R, and copy is false",
                        dtype);
  }
  return array.release();
}

/// __arrow_array__(type=None): pyarrow asks for it first.
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

/// tp_richcompare of the type: element by element, an array of NumPy's.
inline PyObject* python_compare(PyObject* self, PyObject* other, int operation) {
  const PyRef array(to_numpy(self));
  return array ? PyObject_RichCompare(array.get(), other, operation) : nullptr;
}

/// sq_contains of the type: NumPy's answer, too.
inline int python_contains(PyObject* self, PyObject* value) {
  const PyRef array(to_numpy(self));
  return array ? PySequence_Contains(array.get(), value) : -1;
}

/// __reduce_ex__: is read back as NumPy's array, since the reading process may not have this type.
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
