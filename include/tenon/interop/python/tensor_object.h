// SPDX-License-Identifier: MIT
// The layout and the lifetime of a Python object of the type tenon.Tensor.
//
// Slots that may run Python code are not noexcept: see stay_at_end(). Any allocation of an object
// may run the garbage collector, and so Python code.
#pragma once

#include "tenon/interop/python/buffer.h"  // Python.h first

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An object of the type tenon.Tensor. The tensor's shape is fixed. Its sizes and its strides in
/// bytes, as the buffer protocol needs them, follow the object in the same block.
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
  /// The address of the elements for Python. Never null: some consumers would take null for missing
  /// memory.
  void* address() noexcept {
    void* const data = fields(arg()).data;
    return data != nullptr ? data : this;
  }
};

inline PythonTensor& python_tensor(PyObject* object) noexcept {
  return *reinterpret_cast<PythonTensor*>(object);
}

/// The tenon.Tensor objects that this thread is destroying.
struct PythonTensorReleases {
  int depth = 0;                // nested destructions
  PyObject* waiting = nullptr;  // objects to destroy after the innermost, linked by weak_references
};
inline PythonTensorReleases& python_tensor_releases() noexcept {
  static TENON_THREAD_LOCAL PythonTensorReleases releases;
  return releases;
}

/// tp_dealloc of the type. A tensor's memory may keep another tensor alive, and so on, for example
/// if NumPy and tenon pass memory back and forth. Beyond kMaxDepth nested destructions a tensor is
/// queued, as in release_dlpack(), which limits the stack that a long chain needs. CPython 3.13's
/// trashcan would let 10,000 destructions nest.
inline void destroy_python_tensor(
    PyObject* self) {  // a weak reference's callback may run Python code
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

/// tp_traverse of the type. Visits the Python object that owns the memory, so that the garbage
/// collector can free an object that refers to a tensor over the object's own memory. An object
/// whose memory has other owners too, in Python or in C++, is not visited: the collector cannot see
/// those owners.
///
/// The exporter of a buffer is visited only if its type allows derived types, as bytearray does.
/// Other exporters, such as a memoryview, CPython might clear, and then PyBuffer_Release() would
/// crash.
///
/// There is no tp_clear, as in tuples: every cycle has another member that can be cleared.
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

/// Makes a view of the whole of `source`. Copies the layout, which make_view() would compute again.
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

/// Makes an object of the type `type` for a view of fixed shape; null with Python's error set.
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

/// As above, for a view of the whole of `source`.
inline PyObject* wrap(PyTypeObject* type, const TensorArg& source) {
  return wrap_view(type, view_all<Result<Tensor>>(kForPython, source, TensorShapeDynamism::STATIC));
}

/// Checks that the host can access the elements by their address.
inline Error check_shareable(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  if (!tensor.is_host_accessible()) {
    return fail_reach("the tensor", tensor.device,
                      "; numpy.from_dlpack(tensor, device='cpu') copies it");
  }
  return Error::Ok;
}

/// Makes a tuple of integers; null with Python's error set.
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

/// Makes a str of the text that `make()` returns; null with Python's error set if `make()` throws.
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

/// Converts an Error to a C function's status: 0 for Ok, else -1, with Python's error set.
inline int finish_status(Error error) noexcept {
  if (error == Error::Ok) return 0;
  set_python_error(add_context(kForPython, error), last_error_message());
  return -1;
}

/// Casts a function with any parameters to a PyCFunction.
template <class F>
PyCFunction as_method(F* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace detail
TENON_END_NAMESPACE
