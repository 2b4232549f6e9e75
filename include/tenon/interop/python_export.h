// SPDX-License-Identifier: MIT
// How the Python object around a tensor lends its memory: the buffer protocol, __dlpack__,
// __dlpack_device__.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/backend/calls.h"
#include "tenon/backend/cpu.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/exchange/dlpack_check.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/interop/python_capsule.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_format.h"
#include "tenon/interop/python_gil.h"
#include "tenon/interop/python_object.h"
#include "tenon/interop/python_state.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/place.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Why a buffer of the tensor cannot be had; null if it can. `view` describes all of it.
inline const char* refusal_of_buffer(const Py_buffer& view, int flags) noexcept {
  const auto asks = [flags](int what) { return (flags & what) == what; };
  if (asks(PyBUF_WRITABLE) && view.readonly != 0) return "the tensor is read-only";
  if (asks(PyBUF_FORMAT) && !asks(PyBUF_ND)) return "a format was asked for, without a shape";
  const bool is_row_major = PyBuffer_IsContiguous(&view, 'C') != 0;
  if (is_row_major) {
    return asks(PyBUF_F_CONTIGUOUS) && PyBuffer_IsContiguous(&view, 'F') == 0
               ? "the tensor is not contiguous in column-major order"
               : nullptr;
  }
  if (!asks(PyBUF_STRIDES)) return "the tensor is not contiguous, and strides were not asked for";
  if (asks(PyBUF_C_CONTIGUOUS)) return "the tensor is not contiguous";
  if ((asks(PyBUF_F_CONTIGUOUS) || asks(PyBUF_ANY_CONTIGUOUS)) &&
      PyBuffer_IsContiguous(&view, 'F') == 0) {
    return "the tensor is not contiguous";
  }
  return nullptr;
}

/// bf_getbuffer of the type.
inline int lend_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  PythonTensor& object = python_tensor(self);
  const TensorArg t(object.tensor());
  const TensorFields& tensor = fields(t);
  const PythonTypeRow& type = python_type(tensor.type);
  if (check_shareable(tensor) != Error::Ok) {
    set_python_error(Error::NotSupported, error_text().text);
    return -1;
  }
  if (type.format == nullptr) {
    PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for %s", type.name);
    return -1;
  }
  view->buf = address_for_python(tensor, self);
  view->itemsize = static_cast<Py_ssize_t>(elementSize(tensor.type));
  view->len = static_cast<Py_ssize_t>(tensor.nbytes());
  view->readonly = tensor.readonly ? 1 : 0;
  view->ndim = static_cast<int>(Py_SIZE(self) / 2);
  view->format = const_cast<char*>(type.format);
  view->shape = object.shape();
  view->strides = object.byte_strides();
  view->suboffsets = nullptr;
  view->internal = nullptr;
  if (const char* const refusal = refusal_of_buffer(*view, flags)) {
    PyErr_SetString(PyExc_BufferError, refusal);
    return -1;
  }
  if ((flags & PyBUF_FORMAT) == 0) view->format = nullptr;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) view->strides = nullptr;
  if ((flags & PyBUF_ND) == 0) {  // bytes in a row
    view->shape = nullptr;
    view->ndim = 1;
  }
  view->obj = new_reference(self);
  return 0;
}

/// What __dlpack__ is asked for.
struct DLPackAsked {
  PyObject* stream = nullptr;
  PyObject* max_version = nullptr;
  PyObject* device = nullptr;
  PyObject* copy = nullptr;
};

/// Reads the keywords; false with an error set.
inline bool read_keywords(const PythonState& state, PyObject* const* values, Py_ssize_t positional,
                          PyObject* keywords, DLPackAsked& asked) noexcept {
  if (positional != 0) {
    PyErr_SetString(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
    return false;
  }
  struct Keyword {
    PyObject* name;
    PyObject** value;
  };
  const Keyword known[] = {{state.name(PythonName::MaxVersion), &asked.max_version},
                           {state.name(PythonName::DlDevice), &asked.device},
                           {state.name(PythonName::Copy), &asked.copy},
                           {state.name(PythonName::Stream), &asked.stream}};
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, i);
    const Keyword* found = nullptr;
    // Names are interned mostly, so that it is the same object.
    for (const Keyword& keyword : known) found = keyword.name == name ? &keyword : found;
    for (const Keyword& keyword : known) {
      if (found == nullptr && PyUnicode_Compare(keyword.name, name) == 0) found = &keyword;
    }
    if (found == nullptr) {
      PyErr_Format(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument '%U'", name);
      return false;
    }
    *found->value = values[i] == Py_None ? nullptr : values[i];
  }
  return true;
}

/// Reads a pair of integers; false with an error set.
inline bool read_pair(PyObject* pair, const char* what, long (&out)[2]) noexcept {
  if (PyTuple_Check(pair) == 0 || PyTuple_GET_SIZE(pair) != 2) {
    PyErr_Format(PyExc_TypeError, "__dlpack__()'s %s is '%s', expected a pair of integers", what,
                 Py_TYPE(pair)->tp_name);
    return false;
  }
  for (Py_ssize_t i = 0; i < 2; ++i) {
    out[i] = PyLong_AsLong(PyTuple_GET_ITEM(pair, i));
    if (out[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

/// Makes an error of this library Python's BufferError, or its MemoryError.
inline PyObject* refuse_export(Error error, const char* message) noexcept {
  set_python_error(error == Error::OutOfMemory ? error : Error::NotSupported, message);
  return nullptr;
}
inline PyObject* refuse_export(Error error) noexcept {
  error = blame("__dlpack__", error);
  return refuse_export(error, error_text().text);
}

/// Makes a device's memory ready for the stream that the consumer names. False with an error set.
inline bool make_ready(const TensorFields& tensor, PyObject* asked) noexcept {
  const DeviceType type = tensor.device.type();
  if (tensor.device.is_host_accessible() && type != DeviceType::CUDAManaged) return true;
  long long stream = 0;
  if (asked != nullptr) {
    stream = PyLong_AsLongLong(asked);
    if (stream == -1 && PyErr_Occurred() != nullptr) return false;
    if (stream == -1) return true;
    if (stream < -1 || (stream == 0 && type != DeviceType::ROCM)) {
      PyErr_Format(PyExc_ValueError, "__dlpack__()'s stream is %lld, expected -1, 1, 2 or a handle",
                   stream);
      return false;
    }
  }
  Backend* backend = nullptr;
  Error error = find_owner(tensor, "the tensor", backend);
  if (error == Error::Ok && backend == nullptr) backend = find_backend(tensor.device);
  // Memory that came as a pointer, of a device that nobody here works on, is as it was given.
  if (error == Error::Ok && backend != nullptr) {
    error = ask(*backend, "synchronize", [&] { return backend->synchronize(); });
  }
  if (error != Error::Ok) refuse_export(error);
  return error == Error::Ok;
}

/// The capsule of a tensor, or of the copy that was made of it.
inline PyObject* export_capsule(const Tensor& tensor, bool versioned, bool is_copy) noexcept {
  constexpr const char* kFunction = "__dlpack__";
  if (!versioned) {
    const auto legacy = export_legacy<Result<DLManagedTensor*>, DLManagedTensor>(
        kFunction, tensor, LegacyReadOnly::Refuse);
    return legacy.ok() ? make_capsule(*legacy) : refuse_export(legacy.error(), legacy.message());
  }
  DLManagedTensorVersioned* made = nullptr;
  const Error error = make_export(TensorArg(tensor), is_copy ? kDLPackIsCopied : 0, made);
  return error == Error::Ok ? make_capsule(made) : refuse_export(error);
}

/// The method __dlpack__.
inline PyObject* dlpack_method(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                               PyObject* keywords) noexcept {
  const PythonState* const state = python_state();
  DLPackAsked asked;
  if (state == nullptr || !read_keywords(*state, values, positional, keywords, asked)) {
    return nullptr;
  }
  long version[2] = {0, 0};
  if (asked.max_version != nullptr && !read_pair(asked.max_version, "max_version", version)) {
    return nullptr;
  }
  const bool versioned = version[0] >= 1;
  const int copy = asked.copy == nullptr ? -1 : PyObject_IsTrue(asked.copy);
  if (asked.copy != nullptr && copy < 0) return nullptr;
  const Tensor& tensor = python_tensor(self).tensor();
  const TensorArg t(tensor);
  const Device device = fields(t).device;
  bool moves = false;
  if (asked.device != nullptr) {
    long there[2] = {0, 0};
    if (!read_pair(asked.device, "dl_device", there)) return nullptr;
    moves = there[0] != static_cast<long>(device.type()) || there[1] != device.index();
    if (moves && (there[0] != static_cast<long>(DeviceType::CPU) || there[1] != 0)) {
      return refuse_export(fail(Error::NotSupported, {"device (", there[0], ", ", there[1],
                                                      ") was asked for; the tensor is on ", device,
                                                      " and can be copied to the cpu alone"}));
    }
    if (moves && copy == 0) {
      return refuse_export(fail(Error::NotSupported, {"the tensor is on ", device,
                                                      ", was asked for on the cpu, and copy "
                                                      "is false"}));
    }
  }
  if (!moves && copy != 1) {
    return make_ready(fields(t), asked.stream) ? export_capsule(tensor, versioned, false) : nullptr;
  }
  const Result<Tensor> copied =
      moves ? clone<Result<Tensor>>("__dlpack__", t, CreatorOptions(host_backend()))
            : clone<Result<Tensor>>("__dlpack__", t, CreatorOptions());
  if (!copied.ok()) return refuse_export(copied.error(), copied.message());
  const TensorArg made(*copied);
  return make_ready(fields(made), asked.stream) ? export_capsule(*copied, versioned, true)
                                                : nullptr;
}

/// The method __dlpack_device__.
inline PyObject* dlpack_device_method(PyObject* self, PyObject*) noexcept {
  const TensorArg t(python_tensor(self).tensor());
  const Device device = fields(t).device;
  const int type = static_cast<int>(device.type());
  if (!is_dlpack_device(type)) {
    PyErr_Format(PyExc_BufferError, "DLPack has no device %s", toString(device.type()));
    return nullptr;
  }
  return Py_BuildValue("(ii)", type, device.is_host_accessible() ? 0 : device.index());
}

}  // namespace detail
TENON_END_NAMESPACE
