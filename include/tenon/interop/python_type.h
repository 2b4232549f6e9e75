// SPDX-License-Identifier: MIT
// The type tenon.Tensor and its C exchange API; to_python, is_python_tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/exchange/dlpack_check.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/interop/python_capsule.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_export.h"
#include "tenon/interop/python_gil.h"
#include "tenon/interop/python_object.h"
#include "tenon/interop/python_state.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline void destroy_python_tensor(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  PythonTensor& object = python_tensor(self);
  if (object.weak_references != nullptr) PyObject_ClearWeakRefs(self);
  {
    const KeepPythonError keep;
    object.tensor().~Tensor();
  }
  type->tp_free(self);
  Py_DECREF(type);
}

inline PyObject* make_python_tensor(const TensorArg& source) noexcept;

/// The functions of the C exchange API. Nothing is thrown in them.
struct ExchangeFunctions {
  static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                      void (*set_error)(void*, const char*, const char*)) noexcept {
    const auto make = [&]() noexcept -> Error {
      DLPackContents like;
      like.tensor = *prototype;
      like.tensor.strides = nullptr;
      like.tensor.byte_offset = 0;
      like.tensor.data = &like;  // whatever is not null, and aligned
      DLPackPlan plan;
      TENON_TRY(plan_import(like, none, none, plan));
      const Device device = plan.device;
      Backend* backend = nullptr;
      if (!device.is_cpu()) TENON_TRY(find_registered(device, "the new tensor", backend));
      const Result<Tensor> made =
          create<Result<Tensor>>("allocate", plan.shape.type, TensorShapeDynamism::STATIC, backend,
                                 [&](const auto& making, auto& result) noexcept {
                                   return make_owned(Dims(like.sizes()), {}, {}, making,
                                                     Contents::Uninitialized, result.draft());
                                 });
      if (!made.ok()) return made.error();
      return make_export(TensorArg(*made), 0, *out);
    };
    const Error error = make();
    if (error == Error::Ok) return 0;
    *out = nullptr;
    set_error(context, error == Error::OutOfMemory ? "MemoryError" : "BufferError",
              error_text().text);
    return -1;
  }

  /// Whether it is an object of the type that has this API; else a TypeError is set.
  static bool is_tensor(void* object) noexcept {
    PyTypeObject* const type = Py_TYPE(static_cast<PyObject*>(object));
    if (type->tp_dealloc == &destroy_python_tensor) return true;
    PyErr_Format(PyExc_TypeError, "'%s' object is no tenon.Tensor", type->tp_name);
    return false;
  }

  static int from_object(void* object, DLManagedTensorVersioned** out) noexcept {
    *out = nullptr;
    if (!is_tensor(object)) return -1;
    const Error error =
        make_export(TensorArg(python_tensor(static_cast<PyObject*>(object)).tensor()), 0, *out);
    if (error == Error::Ok) return 0;
    refuse_export(error, error_text().text);
    return -1;
  }

  static int to_object(DLManagedTensorVersioned* managed, void** out) noexcept {
    *out = nullptr;
    if (managed == nullptr) {
      PyErr_SetString(PyExc_ValueError, "tenon: the pointer is null");
      return -1;
    }
    // Until the object is there, the struct is the caller's: a release is noted and no more.
    const auto deleter = std::exchange(
        managed->deleter, [](DLManagedTensorVersioned* self) { self->deleter = nullptr; });
    {
      const Result<TensorPtr> tensor = FromDLPack<Result<TensorPtr>>{kForPython}(managed);
      if (tensor.ok()) {
        *out = make_python_tensor(TensorArg(*tensor));
      } else {
        set_python_error(tensor.error(), tensor.message());
      }
    }
    const bool was_copied = managed->deleter == nullptr;
    managed->deleter = deleter;
    if (*out == nullptr) return -1;
    if (was_copied) DLPackDeleter()(managed);
    return 0;
  }

  /// What `out` points to lives as long as the object.
  static int describe(void* object, DLTensor* out) noexcept {
    if (!is_tensor(object)) return -1;
    const Tensor& tensor = python_tensor(static_cast<PyObject*>(object)).tensor();
    const TensorArg t(tensor);
    const TensorFields& from = fields(t);
    DLDataType type{};
    Error error = check_export(from, type);
    if (error == Error::Ok && has_dlpack_handles(from.device.type())) {
      error = fail(Error::NotSupported, {"memory on ", from.device, " has no address"});
    }
    if (error != Error::Ok) {
      refuse_export(error, error_text().text);
      return -1;
    }
    out->data = from.layout.numel == 0 ? nullptr : from.data;
    out->device = {static_cast<int32_t>(from.device.type()),
                   from.device.is_host_accessible() ? 0 : from.device.index()};
    out->ndim = static_cast<int32_t>(from.layout.sizes.size());
    out->dtype = type;
    out->shape = const_cast<int64_t*>(tensor.sizes().data());
    out->strides = const_cast<int64_t*>(tensor.strides().data());
    out->byte_offset = 0;
    return 0;
  }

  /// The default stream, which the host's memory has as well.
  static int current_stream(int32_t, int32_t, void** out) noexcept {
    *out = nullptr;
    return 0;
  }
};

inline const DLPackExchangeAPI& exchange_api() noexcept {
  static const DLPackExchangeAPI api{
      {kDLPackVersion, nullptr},       &ExchangeFunctions::allocate,
      &ExchangeFunctions::from_object, &ExchangeFunctions::to_object,
      &ExchangeFunctions::describe,    &ExchangeFunctions::current_stream};
  return api;
}

/// A function as Python's tables hold it.
template <class F>
void* slot_of(F* function) noexcept {
  return reinterpret_cast<void*>(function);
}

/// Makes the type; null with an error set.
TENON_COLD inline PyTypeObject* make_tensor_type() noexcept {
  // Python keeps pointers into these.
  static PyMethodDef methods[] = {
      {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&dlpack_method)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
       "A DLPack capsule that shares the memory."},
      {"__dlpack_device__", &dlpack_device_method, METH_NOARGS,
       "DLPack's numbers of the device: its type and its index."},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {
      {"shape", &PythonAttributes::shape, nullptr, "The sizes, a tuple.", nullptr},
      {"strides", &PythonAttributes::strides, nullptr, "The strides in elements, a tuple.",
       nullptr},
      {"dtype", &PythonAttributes::dtype, nullptr, "The type of the elements, 'float32'.", nullptr},
      {"device", &PythonAttributes::device, nullptr, "Where the memory is, 'cpu'.", nullptr},
      {"ndim", &PythonAttributes::ndim, nullptr, "The number of dimensions.", nullptr},
      {"size", &PythonAttributes::size, nullptr, "The number of elements.", nullptr},
      {"nbytes", &PythonAttributes::nbytes, nullptr, "The bytes of the elements.", nullptr},
      {"itemsize", &PythonAttributes::itemsize, nullptr, "The bytes of an element.", nullptr},
      {"readonly", &PythonAttributes::readonly, nullptr, "Whether the elements may not be written.",
       nullptr},
      {"__array_interface__", &python_array_interface, nullptr, "NumPy's description.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET,
       static_cast<Py_ssize_t>(offsetof(PythonTensor, weak_references)), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static char doc[] = "A tensor of tenon's, whose memory can be shared.";
  PyType_Slot slots[] = {{Py_tp_dealloc, slot_of(&destroy_python_tensor)},
                         {Py_tp_repr, slot_of(&python_repr)},
                         {Py_mp_length, slot_of(&python_length)},
                         {Py_bf_getbuffer, slot_of(&lend_buffer)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, attributes},
                         {Py_tp_members, members},
                         {Py_tp_doc, doc},
                         {0, nullptr}};
#if PY_VERSION_HEX >= 0x030A0000
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
#else
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT;
#endif
  PyType_Spec spec{"tenon.Tensor", static_cast<int>(sizeof(PythonTensor)),
                   static_cast<int>(sizeof(Py_ssize_t)), kFlags, slots};
  PyRef type(PyType_FromSpec(&spec));
  if (!type) {
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();  // which Python 3.11 forgets
    return nullptr;
  }
  auto* const made = reinterpret_cast<PyTypeObject*>(type.get());
#if PY_VERSION_HEX < 0x030A0000
  made->tp_new = nullptr;  // they are made by to_python() alone
#endif
  const PyRef api(PyCapsule_New(const_cast<DLPackExchangeAPI*>(&exchange_api()),
                                "dlpack_exchange_api", nullptr));
  if (!api || PyObject_SetAttrString(type.get(), "__dlpack_c_exchange_api__", api.get()) != 0) {
    return nullptr;
  }
  return static_cast<void>(type.release()), made;
}

/// The object around a view of `source`; null with an error set.
inline PyObject* make_python_tensor(const TensorArg& source) noexcept {
  PythonState* const state = python_state();
  if (TENON_UNLIKELY(state == nullptr)) return nullptr;
  if (TENON_UNLIKELY(state->tensor_type == nullptr)) {
    state->tensor_type = make_tensor_type();
    if (state->tensor_type == nullptr) return nullptr;
  }
  Made<Tensor> made;
  Error error = make_whole_view(source, TensorShapeDynamism::STATIC, made.draft());
  if (error == Error::Ok) error = made.commit();
  if (TENON_UNLIKELY(error != Error::Ok)) {
    error = blame(kForPython, error);
    set_python_error(error, error_text().text);
    return nullptr;
  }
  const Layout& layout = fields(source).layout;
  const size_t rank = layout.sizes.size();
  PyObject* const self =
      state->tensor_type->tp_alloc(state->tensor_type, static_cast<Py_ssize_t>(2 * rank));
  if (TENON_UNLIKELY(self == nullptr)) return nullptr;
  PythonTensor& object = python_tensor(self);
  ::new (static_cast<void*>(object.handle)) Tensor(made.finish(kForPython, Error::Ok));
  const size_t size = elementSize(fields(source).type);
  for (size_t d = 0; d < rank; ++d) {
    object.shape()[d] = static_cast<Py_ssize_t>(layout.sizes[d]);
    // Without a sign: what the stride of a dimension of size 1 is means nothing and may overflow.
    object.byte_strides()[d] =
        static_cast<Py_ssize_t>(static_cast<size_t>(layout.strides[d]) * size);
  }
  return self;
}

}  // namespace detail

/// A Python object of the type tenon.Tensor that shares a tensor's memory.
///
/// It has __dlpack__ and __dlpack_device__, the buffer protocol, __array_interface__ and the C exchange
/// API, so that NumPy, PyTorch, JAX and others take it without a copy; shape, strides (in elements),
/// dtype, device, ndim, size, nbytes, itemsize and readonly; len() and repr().
/// Ownership: a new reference. The object is a view: it keeps the memory alive, and while it or anything
/// made of it lives, the tensor cannot grow (InUse). Its own shape is fixed. A tensor over a raw
/// TensorImpl* has nothing to share: the memory is the caller's to keep.
/// Errors: null, with Python's error set, for an undefined tensor and when memory is out.
/// Threads: needs the GIL. Cost: two allocations.
/// Source: torch's THPVariable_Wrap.
inline PyObject* to_python(TensorArg t) noexcept { return detail::make_python_tensor(t); }

/// Whether an object is one that to_python() made, in this interpreter and shared library.
inline bool is_python_tensor(PyObject* object) noexcept {
  const detail::PythonState* const state = detail::python_state();
  if (TENON_UNLIKELY(state == nullptr)) {
    PyErr_Clear();
    return false;
  }
  return Py_TYPE(object) == state->tensor_type;
}

TENON_END_NAMESPACE
