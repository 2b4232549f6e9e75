// SPDX-License-Identifier: MIT
// Elements of a tenon.Tensor as Python's numbers: item(), tolist() and the conversions of one
// element.
#pragma once

#include "tenon/interop/python/tensor_object.h"  // Python.h first

#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The number at `element`; null with an error set.
inline PyObject* make_number(ScalarType type, const char* element) {
  const Scalar value = load_scalar(type, element);
  if (value.isBoolean()) return PyBool_FromLong(value.to<bool>() ? 1 : 0);
  if (value.type() == ScalarType::UInt64) return PyLong_FromUnsignedLongLong(value.to<uint64_t>());
  if (value.isIntegral(false)) return PyLong_FromLongLong(value.to<int64_t>());
  if (value.isFloatingPoint()) return PyFloat_FromDouble(value.to<double>());
  const auto both = value.to<complex<double>>();
  return PyComplex_FromDoubles(both.real(), both.imag());
}

/// The element of a tensor that has one; null with an error set, of the type `kind` where it has
/// more or none.
inline PyObject* only_number(PythonTensor& object, PyObject* kind) {
  const TensorArg t = object.arg();
  const TensorFields& tensor = fields(t);
  if (tensor.layout.numel != 1) {
    return PyErr_Format(kind, "expected one element, the tensor has %lld",
                        static_cast<long long>(tensor.layout.numel));
  }
  if (finish_status(check_shareable(tensor)) != 0) return nullptr;
  return make_number(tensor.type, static_cast<const char*>(tensor.data));
}
inline PyRef only_number(PyObject* self) {
  return PyRef(only_number(python_tensor(self), PyExc_TypeError));
}

/// item()
inline PyObject* python_item(PyObject* self, PyObject*) {
  return only_number(python_tensor(self), PyExc_ValueError);
}

// The slots of the conversions: Python's own, of the element.

inline int python_bool(PyObject* self) {
  const PyRef number = only_number(self);
  return number ? PyObject_IsTrue(number.get()) : -1;
}
inline PyObject* python_int(PyObject* self) {
  const PyRef number = only_number(self);
  return number ? PyNumber_Long(number.get()) : nullptr;
}
inline PyObject* python_float(PyObject* self) {
  const PyRef number = only_number(self);
  return number ? PyNumber_Float(number.get()) : nullptr;
}
inline PyObject* python_complex(PyObject* self, PyObject*) {
  const PyRef number = only_number(self);
  return !number ? nullptr
                 : PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number.get());
}
/// As in NumPy only of an integer without dimensions: bytes() and bytearray() ask for it first, and
/// would make zeros of a tensor of one byte.
inline PyObject* python_index(PyObject* self) {
  PythonTensor& object = python_tensor(self);
  const TensorArg t = object.arg();
  if (object.rank() != 0 || !isIntegralType(fields(t).type, false)) {
    return PyErr_Format(PyExc_TypeError,
                        "a tensor of %s with %zu dimensions is not an index; expected an integer "
                        "without dimensions",
                        python_type(fields(t).type).name, object.rank());
  }
  return only_number(object, PyExc_TypeError);
}

/// Nested lists of the dimensions from `d` on, or the number; null with an error set.
inline PyObject* make_list(PythonTensor& object, size_t d, const char* element) {
  if (d == object.rank()) return make_number(fields(object.arg()).type, element);
  const Py_ssize_t size = object.shape()[d];
  PyRef list(PyList_New(size));
  for (Py_ssize_t i = 0; list && i < size; ++i) {
    PyObject* const entry = make_list(object, d + 1, element + i * object.byte_strides()[d]);
    if (entry == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, entry);
  }
  return list.release();
}

/// tolist()
inline PyObject* python_tolist(PyObject* self, PyObject*) {
  PythonTensor& object = python_tensor(self);
  const TensorArg t = object.arg();
  if (finish_status(check_shareable(fields(t))) != 0) return nullptr;
  return make_list(object, 0, static_cast<const char*>(fields(t).data));
}

}  // namespace detail
TENON_END_NAMESPACE
