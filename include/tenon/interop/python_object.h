// SPDX-License-Identifier: MIT
// The Python object around a tensor, and its attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_format.h"
#include "tenon/interop/python_gil.h"
#include "tenon/interop/python_state.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An object of the type tenon.Tensor. Behind it, in the same block, are its sizes and its strides in
/// bytes, for the buffer protocol, which has them in this form; the tensor's shape is fixed.
struct PythonTensor {
  PyObject_VAR_HEAD PyObject* weak_references;
  alignas(Tensor) unsigned char handle[sizeof(Tensor)];

  Tensor& tensor() noexcept { return *std::launder(reinterpret_cast<Tensor*>(handle)); }
  const Tensor& tensor() const noexcept {
    return *std::launder(reinterpret_cast<const Tensor*>(handle));
  }
  Py_ssize_t* shape() noexcept { return reinterpret_cast<Py_ssize_t*>(this + 1); }
  Py_ssize_t* byte_strides() noexcept { return shape() + Py_SIZE(this) / 2; }
};

/// A view of all of `source`: its shape, with any dynamism, over its memory.
inline Error make_whole_view(const TensorArg& source, TensorShapeDynamism dynamism,
                             Draft& draft) noexcept {
  TENON_TRY(check_defined(source, "the tensor"));
  const TensorFields& from = fields(source);
  TENON_TRY(new_impl(draft, metadata_like(source)));
  ImplFields& made = fields(draft);
  made.layout = from.layout;
  TENON_TRY(check_dims("sizes", made.layout.sizes));
  TENON_TRY(check_dims("strides", made.layout.strides));
  if (TENON_UNLIKELY(made.layout.dim_order.error() != Error::Ok)) {
    return fail(Error::OutOfMemory, {"out of memory for a shape"});
  }
  TENON_TRY(attach_view(source, from.type, 0, made));
  made.settle(dynamism);
  return Error::Ok;
}

inline PythonTensor& python_tensor(PyObject* object) noexcept {
  return *reinterpret_cast<PythonTensor*>(object);
}

/// A tuple of integers, or null with an error set.
template <class List>
PyObject* make_tuple(const List& values, size_t count) noexcept {
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(count));
  for (size_t i = 0; tuple != nullptr && i < count; ++i) {
    PyObject* const value = PyLong_FromLongLong(values[i]);
    if (value == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), value);
  }
  return tuple;
}

/// What `make()` returns, a text, as Python's; null with an error set when it throws.
template <class Make>
PyObject* make_text(const Make& make) noexcept {
#if TENON_HAS_EXCEPTIONS
  try {
#endif
    const std::string text = make();
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
#if TENON_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& e) {
    set_python_error(Error::Internal, e.what());
    return nullptr;
  }
#endif
}

/// The attributes, each a function of the form that Python asks for.
struct PythonAttributes {
  static PyObject* shape(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    const Dims& sizes = fields(t).layout.sizes;
    return make_tuple(sizes, sizes.size());
  }
  static PyObject* strides(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    const Dims& strides = fields(t).layout.strides;
    return make_tuple(strides, strides.size());
  }
  static PyObject* dtype(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    return PyUnicode_FromString(python_type(fields(t).type).name);
  }
  static PyObject* device(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    return make_text([&] { return fields(t).device.to_string(); });
  }
  static PyObject* ndim(PyObject* self, void*) noexcept {
    return PyLong_FromSsize_t(Py_SIZE(self) / 2);
  }
  static PyObject* size(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    return PyLong_FromLongLong(fields(t).layout.numel);
  }
  static PyObject* nbytes(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    return PyLong_FromSize_t(fields(t).nbytes());
  }
  static PyObject* itemsize(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    return PyLong_FromSize_t(elementSize(fields(t).type));
  }
  static PyObject* readonly(PyObject* self, void*) noexcept {
    const TensorArg t(python_tensor(self).tensor());
    return PyBool_FromLong(fields(t).readonly ? 1 : 0);
  }
};

inline PyObject* python_repr(PyObject* self) noexcept {
  return make_text([&] { return to_string(python_tensor(self).tensor()); });
}

inline Py_ssize_t python_length(PyObject* self) noexcept {
  if (Py_SIZE(self) == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a tensor without dimensions");
    return -1;
  }
  return python_tensor(self).shape()[0];
}

/// Where Python is to find the elements: never null, since some take that for no memory at all.
inline void* address_for_python(const TensorFields& tensor, PyObject* self) noexcept {
  return tensor.data != nullptr ? tensor.data : static_cast<void*>(self);
}

/// Whether the host can have a tensor's elements by their address.
inline Error check_shareable(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  return TENON_UNLIKELY(!tensor.is_host_accessible()) ? fail_host_access(tensor) : Error::Ok;
}

/// Puts a value into a dict and gives up the reference to it. False, with an error set, when it is
/// null or there is no memory.
inline bool put_value(PyObject* dict, PyObject* key, PyObject* value) noexcept {
  const PyRef owned(value);
  return value != nullptr && PyDict_SetItem(dict, key, value) == 0;
}

inline PyObject* python_array_interface(PyObject* self, void*) noexcept {
  PythonState* const state = python_state();
  if (state == nullptr) return nullptr;
  const TensorArg t(python_tensor(self).tensor());
  const TensorFields& tensor = fields(t);
  char typestr[8];
  if (check_shareable(tensor) != Error::Ok || !write_typestr(tensor.type, typestr)) {
    PyErr_Format(PyExc_AttributeError, "a tensor of %s on %s has no __array_interface__",
                 python_type(tensor.type).name, toString(tensor.device.type()));
    return nullptr;
  }
  const auto rank = static_cast<size_t>(Py_SIZE(self)) / 2;
  PyRef dict(PyDict_New());
  if (!dict) return nullptr;
  const auto name = [&](PythonName which) { return state->name(which); };
  const bool complete =
      put_value(dict.get(), name(PythonName::Shape), PythonAttributes::shape(self, nullptr)) &&
      put_value(dict.get(), name(PythonName::Typestr), PyUnicode_FromString(typestr)) &&
      put_value(dict.get(), name(PythonName::Data),
                Py_BuildValue("(NN)", PyLong_FromVoidPtr(address_for_python(tensor, self)),
                              PyBool_FromLong(tensor.readonly ? 1 : 0))) &&
      put_value(dict.get(), name(PythonName::Strides),
                tensor.layout.is_contiguous()
                    ? new_reference(Py_None)
                    : make_tuple(python_tensor(self).byte_strides(), rank)) &&
      put_value(dict.get(), name(PythonName::Version), PyLong_FromLong(3));
  return complete ? dict.release() : nullptr;
}

}  // namespace detail
TENON_END_NAMESPACE
