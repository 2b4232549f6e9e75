// SPDX-License-Identifier: MIT
// The protocols by which a tenon.Tensor shares its memory: the buffer protocol, the array
// interfaces and __dlpack__.
#pragma once

#include "tenon/interop/python/tensor_object.h"  // Python.h first

TENON_BEGIN_NAMESPACE
namespace detail {

/// Raises the AttributeError for an attribute that this tensor lacks: returns null.
inline PyObject* raise_attribute_error(const TensorFields& tensor, const char* name) noexcept {
  return PyErr_Format(PyExc_AttributeError, "a tensor of %s on %s has no %s",
                      python_type(tensor.type).name, toString(tensor.device.type()), name);
}

/// Makes the dict of either array interface; null with Python's error set.
inline PyObject* make_interface(PythonTensor& object, const TensorFields& tensor, void* address) {
  const size_t size = elementSize(tensor.type);
  const char order = size == 1 ? '|' : host_is_big_endian() ? '>' : '<';
  return Py_BuildValue(
      "{sN sN s(NO) sN si}", "shape", make_tuple(object.shape(), object.rank()), "typestr",
      PyUnicode_FromFormat("%c%c%zu", order, python_type(tensor.type).kind, size), "data",
      PyLong_FromVoidPtr(address), tensor.readonly ? Py_True : Py_False, "strides",
      tensor.layout.is_contiguous() ? Py_NewRef(Py_None)
                                    : make_tuple(object.byte_strides(), object.rank()),
      "version", 3);
}

inline PyObject* array_interface(PythonTensor& object, const TensorFields& tensor) {
  if (python_type(tensor.type).kind == '\0' || check_shareable(tensor) != Error::Ok) {
    return raise_attribute_error(tensor, "__array_interface__");
  }
  return make_interface(object, tensor, object.address());
}

/// The interface's dict, version 3. Its stream, for which a consumer waits, is that of the memory's
/// DeviceBackend; None if there is nothing to wait for, or the stream is unknown.
inline PyObject* cuda_array_interface(PythonTensor& object, const TensorFields& tensor) {
  const DeviceType type = tensor.device.type();
  const bool is_cuda =
      type == DeviceType::CUDA || (type == DeviceType::CUDAManaged && !tensor.opaque);
  if (!is_cuda || python_type(tensor.type).kind == '\0' || check_has_data(tensor) != Error::Ok) {
    return raise_attribute_error(tensor, "__cuda_array_interface__");
  }
  DeviceBackend* device = nullptr;
  if (finish_status(find_streams(tensor, device)) != 0) return nullptr;
  const PyRef stream(device != nullptr ? PyLong_FromLongLong(device->stream_number())
                                       : Py_NewRef(Py_None));
  PyRef dict(make_interface(object, tensor, tensor.layout.numel == 0 ? nullptr : tensor.data));
  if (!stream || !dict || PyDict_SetItemString(dict.get(), "stream", stream.get()) != 0) {
    return nullptr;
  }
  return dict.release();
}

/// Fills in `view` as `flags` ask, except its owner.
inline Error fill_buffer(PythonTensor& object, int flags, Py_buffer& view) noexcept {
  const TensorArg t = object.arg();
  const TensorFields& tensor = fields(t);
  const PythonTypeRow& type = python_type(tensor.type);
  TENON_TRY(check_shareable(tensor));
  if (type.format == nullptr) {
    return fail(Error::NotSupported, "the buffer protocol has no format for ", type.name);
  }
  view = Py_buffer{};
  view.buf = object.address();
  view.itemsize = static_cast<Py_ssize_t>(elementSize(tensor.type));
  view.len = static_cast<Py_ssize_t>(tensor.nbytes());
  view.readonly = tensor.readonly ? 1 : 0;
  view.ndim = static_cast<int>(object.rank());
  view.format = const_cast<char*>(type.format);
  view.shape = object.shape();
  view.strides = object.byte_strides();
  const auto asks = [flags](int what) noexcept { return (flags & what) == what; };
  if (asks(PyBUF_WRITABLE) && tensor.readonly) {
    return fail(Error::InvalidState, "the tensor is read-only");
  }
  if (asks(PyBUF_FORMAT) && !asks(PyBUF_ND)) {
    return fail(Error::NotSupported, "a format was requested without a shape");
  }
  const auto lacks = [&](bool asked, char order) {
    return asked && PyBuffer_IsContiguous(&view, order) == 0;
  };
  if (lacks(asks(PyBUF_C_CONTIGUOUS) || !asks(PyBUF_STRIDES), 'C') ||
      lacks(asks(PyBUF_F_CONTIGUOUS), 'F') || lacks(asks(PyBUF_ANY_CONTIGUOUS), 'A')) {
    return fail(Error::NotSupported, "the tensor is not contiguous in the requested order");
  }
  if (!asks(PyBUF_FORMAT)) view.format = nullptr;
  if (!asks(PyBUF_STRIDES)) view.strides = nullptr;
  if (!asks(PyBUF_ND)) {  // without a shape: consecutive bytes
    view.shape = nullptr;
    view.ndim = 1;
  }
  return Error::Ok;
}

/// bf_getbuffer of the type.
inline int lend_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  const Error error = fill_buffer(python_tensor(self), flags, *view);
  view->obj = error == Error::Ok ? Py_NewRef(self) : nullptr;
  return finish_status(error);
}

/// __dlpack__, which takes only keywords; their values are in the order of `names`.
inline PyObject* python_dlpack(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                               PyObject* names) noexcept {
  PyObject* capsule = nullptr;
  const Error error = stay_at_end([&] {
    return export_as_asked(python_tensor(self).tensor(), values, positional, names, capsule);
  });
  if (error != Error::Ok && PyErr_Occurred() == nullptr) {
    set_python_error(add_context("__dlpack__", error), last_error_message());
  }
  return capsule;
}

inline PyObject* python_dlpack_device(PyObject* self, PyObject*) noexcept {
  const Device device = fields(python_tensor(self).arg()).device;
  const int type = static_cast<int>(device.type());
  if (!is_dlpack_device(type)) {
    return PyErr_Format(PyExc_BufferError, "DLPack has no device %s", toString(device.type()));
  }
  return Py_BuildValue("(ii)", type, device.is_host_accessible() ? 0 : device.index());
}

}  // namespace detail
TENON_END_NAMESPACE
