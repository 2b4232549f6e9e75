// SPDX-License-Identifier: MIT
// The layout and the lifetime of a Python object of the type tenon.Tensor.
//
// Slots that may run Python code (any object allocation may run the collector) are not noexcept:
// see stay_at_end().
#pragma once

#include "tenon/interop/python/buffer.h"  // Python.h first

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An object of the type tenon.Tensor. Its sizes and its strides in bytes follow it in the same
/// block, in the form of the buffer protocol; the tensor's shape is fixed.
struct PythonTensor {
  PyObject_VAR_HEAD PyObject* weak_references;
  alignas(Tensor) unsigned char handle[sizeof(Tensor)];

  Tensor& tensor() noexcept {
    return *std::launder(static_cast<Tensor*>(static_cast<void*>(handle)));
  }
  TensorArg arg() noexcept { return TensorArg(tensor()); }
  size_t rank() noexcept { return static_cast<size_t>(Py_SIZE(this)) / 2; }
  Py_ssize_t* shape() noexcept { return reinterpret_cast<Py_ssize_t*>(this + 1); }
  Py_ssize_t* byte_strides() noexcept { return shape() + rank(); }
  /// The elements' address in Python. Never null, which some consumers take for missing memory.
  void* address() noexcept {
    void* const data = fields(arg()).data;
    return data != nullptr ? data : this;
  }
};

inline PythonTensor& python_tensor(PyObject* object) noexcept {
  return *reinterpret_cast<PythonTensor*>(object);
}

/// The tensors that this thread is destroying.
struct PythonTensorReleases {
  int depth = 0;                // nested destructions
  PyObject* waiting = nullptr;  // until the innermost one ends, linked by their weak_references
};
inline PythonTensorReleases& python_tensor_releases() noexcept {
  static TENON_THREAD_LOCAL PythonTensorReleases releases;
  return releases;
}

/// tp_dealloc of the type. A tensor's memory may hold another tensor, and so on, as when NumPy and
/// tenon pass memory back and forth. Beyond some depth a tensor is queued, as in release_dlpack(),
/// which bounds the stack that a chain takes; CPython 3.13's trashcan lets 10,000 nest.
inline void destroy_python_tensor(PyObject* self) {  // a weak reference's callback may be Python's
  constexpr int kMaxDepth = 16;
  PythonTensorReleases& releases = python_tensor_releases();
  PyObject_GC_UnTrack(self);
  if (python_tensor(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  if (releases.depth == kMaxDepth) {
    python_tensor(self).weak_references = std::exchange(releases.waiting, self);
    return;
  }
  ++releases.depth;
  for (;;) {
    PyTypeObject* const type = Py_TYPE(self);
    {
      const KeepPythonError keep;
      python_tensor(self).tensor().~Tensor();
    }
    type->tp_free(self);
    Py_DECREF(type);
    self = releases.waiting;
    if (self == nullptr) break;
    releases.waiting = python_tensor(self).weak_references;
  }
  --releases.depth;
}

/// tp_traverse of the type: shows the garbage collector the Python object that owns the memory, so
/// that an object which refers to a tensor over its own memory is freed. Memory that has other
/// owners too, in Python or in C++, is not shown: the collector cannot see those references.
///
/// A buffer's exporter is shown only if its type allows derived types, as bytearray does. Others,
/// such as a memoryview, CPython clears, and PyBuffer_Release() would then crash.
///
/// There is no tp_clear, as for tuples: a cycle has another member, which can be cleared.
inline int traverse_python_tensor(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  Deleter* const deleter = sole_deleter(python_tensor(self).arg());
  const PythonHold* const hold = deleter == nullptr ? nullptr : deleter->target<PythonHold>();
  if (hold == nullptr || hold->run != the_python_state().run) return 0;
  Py_VISIT(hold->object);
  if (hold->buffer == nullptr || hold->buffer->obj == nullptr) return 0;
  PyObject* const exporter = hold->buffer->obj;
  if (PyType_HasFeature(Py_TYPE(exporter), Py_TPFLAGS_BASETYPE) != 0) Py_VISIT(exporter);
  return 0;
}

/// A view of all of `source`. Its layout is copied: make_view() would compute it again.
template <class Out>
Out view_all(const char* function, const TensorArg& source, TensorShapeDynamism dynamism) noexcept {
  BackendState* const metadata_backend =
      source.defined() ? metadata_backend_of(fields(source)) : nullptr;
  NewTensor new_tensor;
  const auto make = [&]() noexcept -> Error {
    TENON_TRY(check_defined(source, "the tensor"));
    const SourceGuard kept(source, metadata_backend != nullptr);
    TENON_TRY(make_impl(new_tensor, metadata_backend));
    const TensorFields& from = fields(kept.arg);
    ImplFields& view = fields(new_tensor);
    view.layout = from.layout;
    TENON_TRY(view.layout.check());
    TENON_TRY(attach_view(kept.arg, from.type, 0, view));
    view.finalize(dynamism);
    return Error::Ok;
  };
  return return_to_user<Out>(function, make(), new_tensor);
}

/// The object of the type `type` around a view that has a fixed shape; null with an error set.
inline PyObject* wrap_view(PyTypeObject* type, Result<Tensor>&& view) {
  if (!view.ok()) {
    set_python_error(view.error(), view.message());
    return nullptr;
  }
  const TensorArg t(*view);
  const TensorFields& tensor = fields(t);
  const size_t rank = tensor.layout.rank();
  PyObject* const self = type->tp_alloc(type, static_cast<Py_ssize_t>(2 * rank));
  if (self == nullptr) return nullptr;
  PythonTensor& object = python_tensor(self);
  const size_t size = elementSize(tensor.type);
  for (size_t d = 0; d < rank; ++d) {
    object.shape()[d] = static_cast<Py_ssize_t>(tensor.layout.sizes()[d]);
    // Unsigned: the stride of a dimension of size 1 is unspecified, and may overflow.
    object.byte_strides()[d] =
        static_cast<Py_ssize_t>(static_cast<size_t>(tensor.layout.strides()[d]) * size);
  }
  ::new (static_cast<void*>(object.handle)) Tensor(*std::move(view));
  return self;
}

/// As above, around a view of all of `source`.
inline PyObject* wrap(PyTypeObject* type, const TensorArg& source) {
  return wrap_view(type, view_all<Result<Tensor>>(kForPython, source, TensorShapeDynamism::STATIC));
}

/// Whether the host can access the elements by their address.
inline Error check_shareable(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  if (!tensor.is_host_accessible()) {
    return fail_reach("the tensor", tensor.device,
                      "; numpy.from_dlpack(tensor, device='cpu') copies it");
  }
  return Error::Ok;
}

/// A tuple of integers, or null with an error set.
template <class List>
PyObject* make_tuple(const List& values, size_t count) {
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

/// A C function's status: -1, with Python's error set, if it failed; else 0.
inline int finish_status(Error error) noexcept {
  if (error == Error::Ok) return 0;
  set_python_error(add_context(kForPython, error), last_error_message());
  return -1;
}

/// A method of Python's with any parameters.
template <class F>
PyCFunction as_method(F* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace detail
TENON_END_NAMESPACE
