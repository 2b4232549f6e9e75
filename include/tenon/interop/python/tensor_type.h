// SPDX-License-Identifier: MIT
// The Python type tenon.Tensor and its C exchange API; to_python, is_python_tensor.
#pragma once

#include "tenon/interop/python/tensor_array.h"  // Python.h first

#include <structmember.h>  // PyMemberDef, until 3.12

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/interop/python/tensor_memory.h"
#include "tenon/interop/python/tensor_values.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/format.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline PyObject* make_python_tensor(const TensorArg& source) noexcept;

using AttributeGetter = PyObject* (*)(PythonTensor&, const TensorFields&);
/// Describes an attribute. `get` returns its value, or null with Python's error set.
inline PyGetSetDef attribute(const char* name, const char* doc, AttributeGetter get) noexcept {
  const getter call = [](PyObject* self, void* closure) {
    const TensorArg t = python_tensor(self).arg();
    return reinterpret_cast<AttributeGetter>(closure)(python_tensor(self), fields(t));
  };
  return {name, call, nullptr, doc, reinterpret_cast<void*>(get)};
}

/// The functions of the C exchange API. They do not throw.
struct ExchangeFunctions {
  static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                      void (*set_error)(void*, const char*, const char*)) noexcept {
    const auto make = [&]() noexcept -> Error {
      TENON_TRY(check_dlpack_device(prototype->device));
      const Device device = device_from_dlpack(prototype->device);
      Backend* backend = &host_backend();
      if (!device.is_cpu()) TENON_TRY(find_memory_backend(device, "the new tensor", backend));
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

  /// Finds the tensor of a tenon.Tensor object.
  static Error find_tensor(void* object, Tensor*& tensor) noexcept {
    auto* const self = static_cast<PyObject*>(object);
    if (Py_TYPE(self)->tp_dealloc != &destroy_python_tensor) {
      return fail(Error::InvalidType, "'", Py_TYPE(self)->tp_name,
                  "' object is not a tenon.Tensor");
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
      return finish_status(fail(Error::InvalidArgument, "the pointer is null"));
    }
    // The caller owns the struct until the object exists: before that, a release is only recorded.
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
                    "the tensor is read-only, which a bare DLTensor cannot state; the managed form "
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

  /// The stream of the registered DeviceBackend, else the default stream. DLPack's numbers 1 and 2
  /// are also CUDA's handles of its two default streams.
  static int current_stream(int32_t type, int32_t index, void** out) noexcept {
    DeviceBackend* const device = find_device_backend(DLDevice{type, index});
    const int64_t stream = device == nullptr ? 0 : device->stream_number();
    *out = reinterpret_cast<void*>(static_cast<uintptr_t>(stream));
    return 0;
  }
};

/// Makes the type; null with Python's error set.
TENON_COLD inline PyTypeObject* make_tensor_type() {
  static const DLPackExchangeAPI api{
      {kDLPackVersion, nullptr},       &ExchangeFunctions::allocate,
      &ExchangeFunctions::from_object, &ExchangeFunctions::to_object,
      &ExchangeFunctions::describe,    &ExchangeFunctions::current_stream};
  // Static, since Python keeps pointers to these arrays.
  static PyMethodDef methods[] = {
      {"__dlpack__", as_method(&python_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
       "A DLPack capsule that shares the memory."},
      {"__dlpack_device__", &python_dlpack_device, METH_NOARGS,
       "DLPack's numbers of the device: its type and its index."},
      {"__array__", as_method(&python_array), METH_VARARGS | METH_KEYWORDS,
       "__array__($self, dtype=None, *, copy=None)\n--\n\nA NumPy array over the memory."},
      {"__arrow_array__", as_method(&python_arrow_array), METH_VARARGS | METH_KEYWORDS,
       "__arrow_array__($self, type=None)\n--\n\nAn array of pyarrow's."},
      {"item", &python_item, METH_NOARGS, "item($self)\n--\n\nThe only element, a number."},
      {"tolist", &python_tolist, METH_NOARGS,
       "tolist($self)\n--\n\nThe elements, in nested lists of numbers."},
      {"__complex__", &python_complex, METH_NOARGS, "complex() of the only element."},
      {"__copy__", &python_copy, METH_NOARGS, "A copy of the elements."},
      {"__deepcopy__", &python_copy, METH_O, "A copy of the elements."},
      {"__reduce_ex__", &python_reduce, METH_O, "Pickled as a NumPy array."},
      {nullptr, nullptr, 0, nullptr}};
  using Self = PythonTensor;
  using Fields = TensorFields;
  static PyGetSetDef attributes[] = {
      attribute("shape", "The sizes, a tuple.",
                [](Self& o, const Fields&) { return make_tuple(o.shape(), o.rank()); }),
      attribute("strides", "The strides in elements, a tuple.",
                [](Self& o, const Fields& t) { return make_tuple(t.layout.strides(), o.rank()); }),
      attribute("dtype", "The type of the elements, NumPy's object or its name.", &python_dtype),
      attribute(
          "device", "Where the memory is, 'cpu'.",
          [](Self&, const Fields& t) { return make_text([&] { return t.device.to_string(); }); }),
      attribute("ndim", "The number of dimensions.",
                [](Self& o, const Fields&) { return PyLong_FromSize_t(o.rank()); }),
      attribute("size", "The number of elements.",
                [](Self&, const Fields& t) { return PyLong_FromLongLong(t.layout.numel); }),
      attribute("nbytes", "The bytes of the elements.",
                [](Self&, const Fields& t) { return PyLong_FromSize_t(t.nbytes()); }),
      attribute("itemsize", "The bytes of an element.",
                [](Self&, const Fields& t) { return PyLong_FromSize_t(elementSize(t.type)); }),
      attribute("readonly", "Whether the elements may not be written.",
                [](Self&, const Fields& t) { return PyBool_FromLong(t.readonly ? 1 : 0); }),
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
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&destroy_python_tensor)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_traverse, reinterpret_cast<void*>(&traverse_python_tensor)},
                         // == compares elements, and hash() uses the identity, as in PyTorch.
                         {Py_tp_hash, reinterpret_cast<void*>(PyBaseObject_Type.tp_hash)},
                         {Py_tp_richcompare, reinterpret_cast<void*>(&python_compare)},
                         {Py_tp_iter, reinterpret_cast<void*>(&python_iterator)},
                         {Py_mp_length, reinterpret_cast<void*>(&python_length)},
                         {Py_mp_subscript, reinterpret_cast<void*>(&python_subscript)},
                         {Py_sq_length, reinterpret_cast<void*>(&python_length)},
                         {Py_sq_item, reinterpret_cast<void*>(&python_entry)},
                         {Py_sq_contains, reinterpret_cast<void*>(&python_contains)},
                         {Py_nb_bool, reinterpret_cast<void*>(&python_bool)},
                         {Py_nb_int, reinterpret_cast<void*>(&python_int)},
                         {Py_nb_float, reinterpret_cast<void*>(&python_float)},
                         {Py_nb_index, reinterpret_cast<void*>(&python_index)},
                         {Py_bf_getbuffer, reinterpret_cast<void*>(&lend_buffer)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, attributes},
                         {Py_tp_members, members},
                         {Py_tp_doc, doc},
                         {0, nullptr}};
  PyType_Spec spec{
      "tenon.Tensor", static_cast<int>(sizeof(PythonTensor)), static_cast<int>(sizeof(Py_ssize_t)),
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyRef type(PyType_FromSpec(&spec));
  if (!type) {
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();  // Python 3.11 does not set an error
    return nullptr;
  }
  const PyRef capsule(
      PyCapsule_New(const_cast<DLPackExchangeAPI*>(&api), "dlpack_exchange_api", nullptr));
  const PyRef dtype_name(make_dtype_name_type());
  if (!capsule || !dtype_name ||
      PyObject_SetAttrString(type.get(), "__dlpack_c_exchange_api__", capsule.get()) != 0 ||
      PyObject_SetAttrString(type.get(), "_DtypeName", dtype_name.get()) != 0) {
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type.release());
}

/// Makes an object for a view of `source`; null with Python's error set.
inline PyObject* make_python_tensor(const TensorArg& source) noexcept {
  return stay_at_end([&]() -> PyObject* {
    PythonState* const state = python_state();
    if (state == nullptr) return nullptr;
    if (state->tensor_type == nullptr) state->tensor_type = make_tensor_type();
    if (state->tensor_type == nullptr) return nullptr;
    return wrap(state->tensor_type, source);
  });
}

}  // namespace detail

/// Makes a Python object of the type tenon.Tensor, which shares the tensor's memory.
///
/// The object has __dlpack__ and __dlpack_device__, the buffer protocol, __array__,
/// __array_interface__, __cuda_array_interface__ and the C exchange API, by which NumPy, PyTorch,
/// JAX and others use the memory without a copy. It has the attributes shape, strides (in
/// elements), dtype, device, ndim, size, nbytes, itemsize and readonly. It supports len(),
/// indexing, which returns views, item(), tolist(), the conversions of a single element,
/// comparisons, copies and pickling. docs/python.md describes each. NumPy is imported when dtype,
/// __array__, a comparison or pickling needs it.
/// Ownership: returns a new reference. The object is a view: it keeps the memory alive, and while
/// the object or anything made from it lives, the tensor cannot grow (InUse). The object's own
/// shape is fixed. The memory of a tensor over a raw TensorImpl* is borrowed: the caller keeps it
/// alive.
/// Errors: returns null, with Python's error set, for an undefined tensor and if memory runs out.
/// Threads: needs the GIL. Cost: two allocations.
/// Source: torch's THPVariable_Wrap.
inline PyObject* to_python(TensorArg t) noexcept { return detail::make_python_tensor(t); }

/// Whether to_python() made the object, in this interpreter and shared library.
inline bool is_python_tensor(PyObject* object) noexcept {
  const detail::PythonState& state = detail::the_python_state();
  return state.is_alive && Py_TYPE(object) == state.tensor_type;
}

TENON_END_NAMESPACE
