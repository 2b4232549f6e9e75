// SPDX-License-Identifier: MIT
// The Python type tenon.Tensor and its C exchange API; to_python, is_python_tensor.
#pragma once

#include "tenon/interop/python/buffer.h"  // Python.h first

#include <structmember.h>  // PyMemberDef, until 3.12

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "tenon/tensor/creators.h"
#include "tenon/tensor/format.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An object of the type tenon.Tensor. Its sizes and its strides in bytes follow it in the same
/// block, in the form of the buffer protocol; the tensor's shape is fixed.
struct PythonTensor {
  PyObject_VAR_HEAD PyObject* weak_references;
  alignas(Tensor) unsigned char handle[sizeof(Tensor)];

  Tensor& tensor() noexcept { return *std::launder(reinterpret_cast<Tensor*>(handle)); }
  TensorArg arg() noexcept { return TensorArg(tensor()); }
  size_t rank() noexcept { return static_cast<size_t>(Py_SIZE(this)) / 2; }
  Py_ssize_t* shape() noexcept { return reinterpret_cast<Py_ssize_t*>(this + 1); }
  Py_ssize_t* byte_strides() noexcept { return shape() + rank(); }
  /// Where Python finds the elements. Never null, which some take for no memory at all.
  void* address() noexcept {
    void* const data = fields(arg()).data;
    return data != nullptr ? data : this;
  }
};

inline PythonTensor& python_tensor(PyObject* object) noexcept {
  return *reinterpret_cast<PythonTensor*>(object);
}

inline void destroy_python_tensor(PyObject* self) {  // a weak reference's callback may be Python's
  PyTypeObject* const type = Py_TYPE(self);
  if (python_tensor(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  {
    const KeepPythonError keep;
    python_tensor(self).tensor().~Tensor();
  }
  type->tp_free(self);
  Py_DECREF(type);
}

/// A view of all of `source`. Its layout is copied: make_view() would compute it again.
template <class Out>
Out view_all(const char* function, const TensorArg& source, TensorShapeDynamism dynamism) noexcept {
  BackendState* const keeper = source.defined() ? metadata_beside(fields(source)) : nullptr;
  Made<Out> made(keeper);
  const auto make = [&]() noexcept -> Error {
    TENON_TRY(check_defined(source, "the tensor"));
    TENON_TRY(new_impl(made.draft(), keeper));
    ImplFields& view = fields(made.draft());
    view.layout = fields(source).layout;
    TENON_TRY(view.layout.check(elementSize(fields(source).type)));
    TENON_TRY(attach_view(source, fields(source).type, 0, view));
    view.settle(dynamism);
    return Error::Ok;
  };
  return made.finish(function, make());
}

inline PyObject* make_python_tensor(const TensorArg& source) noexcept;

/// A tuple of integers, or null with an error set.
template <class List>
PyObject* make_tuple(const List& values, size_t count) noexcept {
  PyRef tuple(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; tuple && i < count; ++i) {
    PyObject* const value = PyLong_FromLongLong(values[i]);
    if (value == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), value);
  }
  return tuple.release();
}

/// The text that `make()` returns, or null with an error set when it throws.
template <class Make>
PyObject* make_text(const Make& make) noexcept {
  std::string text;
  const Error error = call_safely([&] {
    text = make();
    return Error::Ok;
  });
  if (error != Error::Ok) return PyErr_NoMemory();
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

/// Whether the host can have the elements by their address.
inline Error check_shareable(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  return TENON_UNLIKELY(!tensor.is_host_accessible()) ? fail_host_access(tensor) : Error::Ok;
}

/// Refuses an attribute of a tensor, which hasattr() then says it has not. Null.
inline PyObject* refuse_attribute(const TensorFields& tensor, const char* name) noexcept {
  return PyErr_Format(PyExc_AttributeError, "a tensor of %s on %s has no %s",
                      python_type(tensor.type).name, toString(tensor.device.type()), name);
}

/// The dict of either array interface; null with an error set.
inline PyObject* make_interface(PythonTensor& object, const TensorFields& tensor,
                                void* address) noexcept {
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

inline PyObject* array_interface(PythonTensor& object, const TensorFields& tensor) noexcept {
  if (python_type(tensor.type).kind == '\0' || check_shareable(tensor) != Error::Ok) {
    return refuse_attribute(tensor, "__array_interface__");
  }
  return make_interface(object, tensor, object.address());
}

/// Version 3, with the stream of the memory's DeviceBackend, for which a consumer is to wait; None
/// where there is nothing to wait for, and where nothing is known.
inline PyObject* cuda_array_interface(PythonTensor& object, const TensorFields& tensor) noexcept {
  const DeviceType type = tensor.device.type();
  const bool is_cuda =
      type == DeviceType::CUDA || (type == DeviceType::CUDAManaged && !tensor.opaque);
  if (!is_cuda || python_type(tensor.type).kind == '\0' || check_has_data(tensor) != Error::Ok) {
    return refuse_attribute(tensor, "__cuda_array_interface__");
  }
  DeviceBackend* device = nullptr;
  const Error error = find_streams(tensor, device);
  if (error != Error::Ok) return set_python_error(error, last_error_message()), nullptr;
  const PyRef stream(device != nullptr ? PyLong_FromLongLong(device->stream_number())
                                       : Py_NewRef(Py_None));
  PyRef dict(make_interface(object, tensor, tensor.layout.numel == 0 ? nullptr : tensor.data));
  if (!stream || !dict || PyDict_SetItemString(dict.get(), "stream", stream.get()) != 0) {
    return nullptr;
  }
  return dict.release();
}

using AttributeGetter = PyObject* (*)(PythonTensor&, const TensorFields&) noexcept;
/// An attribute that `get` makes; null with an error set.
inline PyGetSetDef attribute(const char* name, const char* doc, AttributeGetter get) noexcept {
  const getter call = [](PyObject* self, void* closure) {
    const TensorArg t = python_tensor(self).arg();
    return reinterpret_cast<AttributeGetter>(closure)(python_tensor(self), fields(t));
  };
  return {name, call, nullptr, doc, reinterpret_cast<void*>(get)};
}

/// What a C function that fails returns: -1, with Python's error set; else 0.
inline int finish_status(Error error) noexcept {
  if (error == Error::Ok) return 0;
  set_python_error(error, last_error_message());
  return -1;
}

/// Describes the tensor's memory as `flags` ask, but for the owner.
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
    return fail(Error::NotSupported, "a format was asked for, without a shape");
  }
  const auto lacks = [&](bool asked, char order) {
    return asked && PyBuffer_IsContiguous(&view, order) == 0;
  };
  if (lacks(asks(PyBUF_C_CONTIGUOUS) || !asks(PyBUF_STRIDES), 'C') ||
      lacks(asks(PyBUF_F_CONTIGUOUS), 'F') || lacks(asks(PyBUF_ANY_CONTIGUOUS), 'A')) {
    return fail(Error::NotSupported, "the tensor is not contiguous as was asked for");
  }
  if (!asks(PyBUF_FORMAT)) view.format = nullptr;
  if (!asks(PyBUF_STRIDES)) view.strides = nullptr;
  if (!asks(PyBUF_ND)) {  // bytes in a row
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

/// __dlpack__: keywords alone, their values in the order of `names`.
inline PyObject* python_dlpack(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                               PyObject* names) noexcept {
  PyObject* capsule = nullptr;
  const Error error = stay_at_end([&] {
    return export_as_asked(python_tensor(self).tensor(), values, positional, names, capsule);
  });
  if (error != Error::Ok && PyErr_Occurred() == nullptr) {
    set_python_error(blame("__dlpack__", error), last_error_message());
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

/// The functions of the C exchange API. Nothing is thrown in them.
struct ExchangeFunctions {
  static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                      void (*set_error)(void*, const char*, const char*)) noexcept {
    const auto make = [&]() noexcept -> Error {
      TENON_TRY(check_dlpack_device(prototype->device));
      const Device device = device_from_dlpack(prototype->device);
      Backend* backend = &host_backend();
      if (!device.is_cpu()) TENON_TRY(find_registered(device, "the new tensor", backend));
      const ArrayRef<int64_t> sizes(prototype->shape, static_cast<size_t>(prototype->ndim));
      const Result<TensorPtr> made = Empty<Result<TensorPtr>>{"allocate"}(
          Dims(sizes), public_type(type_from_dlpack(prototype->dtype)), TensorShapeDynamism::STATIC,
          *backend);
      return made.ok() ? make_export(TensorArg(*made), 0, *out) : made.error();
    };
    const Error error = make();
    if (error == Error::Ok) return 0;
    *out = nullptr;
    set_error(context, error == Error::OutOfMemory ? "MemoryError" : "BufferError",
              last_error_message());
    return -1;
  }

  /// Gets the tensor of an object, which has to be of the type that has this API.
  static Error find_tensor(void* object, Tensor*& tensor) noexcept {
    auto* const self = static_cast<PyObject*>(object);
    if (Py_TYPE(self)->tp_dealloc != &destroy_python_tensor) {
      return fail(Error::InvalidType, "'", Py_TYPE(self)->tp_name, "' object is no tenon.Tensor");
    }
    tensor = &python_tensor(self).tensor();
    return Error::Ok;
  }

  static int from_object(void* object, DLManagedTensorVersioned** out) noexcept {
    *out = nullptr;
    Tensor* tensor = nullptr;
    Error error = find_tensor(object, tensor);
    if (error == Error::Ok) error = make_export(TensorArg(*tensor), 0, *out);
    return finish_status(error);
  }

  static int to_object(DLManagedTensorVersioned* managed, void** out) noexcept {
    *out = nullptr;
    if (managed == nullptr) {
      return finish_status(fail(Error::InvalidArgument, "tenon: the pointer is null"));
    }
    // Until the object is there, the struct is the caller's: a release is only noted.
    const auto deleter = std::exchange(
        managed->deleter, [](DLManagedTensorVersioned* self) { self->deleter = nullptr; });
    {
      const TensorPtr tensor =
          finish_with_python_error(FromDLPack<Result<TensorPtr>>{kForPython}(managed));
      if (tensor != nullptr) *out = make_python_tensor(TensorArg(tensor));
    }
    const bool was_copied = managed->deleter == nullptr;
    managed->deleter = deleter;
    if (*out == nullptr) return -1;
    if (was_copied) DLPackDeleter()(managed);
    return 0;
  }

  /// The fields of `out` point into the object.
  static int describe(void* object, DLTensor* out) noexcept {
    const auto make = [&]() noexcept -> Error {
      Tensor* tensor = nullptr;
      TENON_TRY(find_tensor(object, tensor));
      const TensorArg t(*tensor);
      const TensorFields& from = fields(t);
      DLDataType type{};
      TENON_TRY(check_export(from, type));
      if (from.readonly) {
        return fail(Error::NotSupported,
                    "the tensor is read-only, which a bare DLTensor cannot say; the managed form "
                    "can");
      }
      if (has_dlpack_handles(from.device.type())) {
        return fail(Error::NotSupported, "memory on ", from.device, " has no address");
      }
      int64_t copied[2 * kMaxDims];
      DLTensor described;
      TENON_TRY(describe_export(from, type, nullptr, copied, described));
      *out = described;
      out->shape = const_cast<int64_t*>(tensor->sizes().data());
      out->strides = const_cast<int64_t*>(tensor->strides().data());
      return Error::Ok;
    };
    return finish_status(make());
  }

  /// That of the registered DeviceBackend, else the default one. The numbers 1 and 2 are CUDA's
  /// handles for its two default streams, too.
  static int current_stream(int32_t type, int32_t index, void** out) noexcept {
    DeviceBackend* const device = find_device_backend(DLDevice{type, index});
    const int64_t stream = device == nullptr ? 0 : device->stream_number();
    *out = reinterpret_cast<void*>(static_cast<uintptr_t>(stream));
    return 0;
  }
};

/// Makes the type; null with an error set.
TENON_COLD inline PyTypeObject* make_tensor_type() noexcept {
  static const DLPackExchangeAPI api{
      {kDLPackVersion, nullptr},       &ExchangeFunctions::allocate,
      &ExchangeFunctions::from_object, &ExchangeFunctions::to_object,
      &ExchangeFunctions::describe,    &ExchangeFunctions::current_stream};
  // Python keeps pointers into these.
  static PyMethodDef methods[] = {
      {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&python_dlpack)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
       "A DLPack capsule that shares the memory."},
      {"__dlpack_device__", &python_dlpack_device, METH_NOARGS,
       "DLPack's numbers of the device: its type and its index."},
      {nullptr, nullptr, 0, nullptr}};
  using Self = PythonTensor;
  using Fields = TensorFields;
  static PyGetSetDef attributes[] = {
      attribute("shape", "The sizes, a tuple.",
                [](Self& o, const Fields&) noexcept { return make_tuple(o.shape(), o.rank()); }),
      attribute(
          "strides", "The strides in elements, a tuple.",
          [](Self& o, const Fields& t) noexcept { return make_tuple(t.layout.strides, o.rank()); }),
      attribute("dtype", "The type of the elements, 'float32'.",
                [](Self&, const Fields& t) noexcept {
                  return PyUnicode_FromString(python_type(t.type).name);
                }),
      attribute("device", "Where the memory is, 'cpu'.",
                [](Self&, const Fields& t) noexcept {
                  return make_text([&] { return t.device.to_string(); });
                }),
      attribute("ndim", "The number of dimensions.",
                [](Self& o, const Fields&) noexcept { return PyLong_FromSize_t(o.rank()); }),
      attribute(
          "size", "The number of elements.",
          [](Self&, const Fields& t) noexcept { return PyLong_FromLongLong(t.layout.numel); }),
      attribute("nbytes", "The bytes of the elements.",
                [](Self&, const Fields& t) noexcept { return PyLong_FromSize_t(t.nbytes()); }),
      attribute(
          "itemsize", "The bytes of an element.",
          [](Self&, const Fields& t) noexcept { return PyLong_FromSize_t(elementSize(t.type)); }),
      attribute(
          "readonly", "Whether the elements may not be written.",
          [](Self&, const Fields& t) noexcept { return PyBool_FromLong(t.readonly ? 1 : 0); }),
      attribute("__array_interface__", "NumPy's description.", &array_interface),
      attribute("__cuda_array_interface__", "Numba's description.", &cuda_array_interface),
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET,
       static_cast<Py_ssize_t>(offsetof(PythonTensor, weak_references)), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static char doc[] = "A tensor of tenon's, whose memory can be shared.";
  const reprfunc repr = [](PyObject* self) {
    return make_text([&] { return to_string(python_tensor(self).tensor()); });
  };
  const lenfunc length = [](PyObject* self) {
    if (Py_SIZE(self) != 0) return python_tensor(self).shape()[0];
    PyErr_SetString(PyExc_TypeError, "len() of a tensor without dimensions");
    return Py_ssize_t{-1};
  };
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&destroy_python_tensor)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_mp_length, reinterpret_cast<void*>(length)},
                         {Py_bf_getbuffer, reinterpret_cast<void*>(&lend_buffer)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, attributes},
                         {Py_tp_members, members},
                         {Py_tp_doc, doc},
                         {0, nullptr}};
  PyType_Spec spec{"tenon.Tensor", static_cast<int>(sizeof(PythonTensor)),
                   static_cast<int>(sizeof(Py_ssize_t)),
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyRef type(PyType_FromSpec(&spec));
  if (!type) {
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();  // which Python 3.11 forgets
    return nullptr;
  }
  const PyRef capsule(
      PyCapsule_New(const_cast<DLPackExchangeAPI*>(&api), "dlpack_exchange_api", nullptr));
  if (!capsule ||
      PyObject_SetAttrString(type.get(), "__dlpack_c_exchange_api__", capsule.get()) != 0) {
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type.release());
}

/// The object around a view of `source`; null with an error set.
inline PyObject* make_python_tensor(const TensorArg& source) noexcept {
  PythonState* const state = python_state();
  if (TENON_UNLIKELY(state == nullptr)) return nullptr;
  if (state->tensor_type == nullptr) state->tensor_type = make_tensor_type();
  if (TENON_UNLIKELY(state->tensor_type == nullptr)) return nullptr;
  Result<Tensor> view = view_all<Result<Tensor>>(kForPython, source, TensorShapeDynamism::STATIC);
  if (TENON_UNLIKELY(!view.ok())) {
    set_python_error(view.error(), view.message());
    return nullptr;
  }
  const Layout& layout = fields(source).layout;
  const size_t rank = layout.sizes.size();
  PyObject* const self =
      state->tensor_type->tp_alloc(state->tensor_type, static_cast<Py_ssize_t>(2 * rank));
  if (TENON_UNLIKELY(self == nullptr)) return nullptr;
  PythonTensor& object = python_tensor(self);
  ::new (static_cast<void*>(object.handle)) Tensor(*std::move(view));
  const size_t size = elementSize(fields(source).type);
  for (size_t d = 0; d < rank; ++d) {
    object.shape()[d] = static_cast<Py_ssize_t>(layout.sizes[d]);
    // Unsigned: the stride of a dimension of size 1 means nothing, and may overflow.
    object.byte_strides()[d] =
        static_cast<Py_ssize_t>(static_cast<size_t>(layout.strides[d]) * size);
  }
  return self;
}

}  // namespace detail

/// A Python object of the type tenon.Tensor that shares a tensor's memory.
///
/// It has __dlpack__ and __dlpack_device__, the buffer protocol, __array_interface__,
/// __cuda_array_interface__ and the C exchange API, so that NumPy, PyTorch, JAX and others take it
/// without a copy; shape, strides (in elements), dtype, device, ndim, size, nbytes, itemsize and
/// readonly; len() and repr().
/// Ownership: a new reference. The object is a view: it keeps the memory alive, and while it or
/// anything made of it lives, the tensor cannot grow (InUse). Its own shape is fixed. A tensor over
/// a raw TensorImpl* has nothing to share: the memory is the caller's to keep.
/// Errors: null, with Python's error set, for an undefined tensor and when memory is out.
/// Threads: needs the GIL. Cost: two allocations.
/// Source: torch's THPVariable_Wrap.
inline PyObject* to_python(TensorArg t) noexcept { return detail::make_python_tensor(t); }

/// Whether an object is one that to_python() made, in this interpreter and shared library.
inline bool is_python_tensor(PyObject* object) noexcept {
  const detail::PythonState& state = detail::the_python_state();
  return state.is_alive && Py_TYPE(object) == state.tensor_type;
}

TENON_END_NAMESPACE
