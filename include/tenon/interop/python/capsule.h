// SPDX-License-Identifier: MIT
// DLPack's capsules: to_capsule, from_capsule; and the method __dlpack__ of tenon.Tensor.
#pragma once

#include "tenon/interop/python/interpreter.h"  // Python.h first

#include <cstddef>

#include "tenon/backend/calls.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/tensor/place.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What an import was asked for.
struct ImportArgs {
  const char* function;
  Optional<bool> copy;
  Optional<Device> device;
  TensorShapeDynamism dynamism;
};

template <class Managed>
inline constexpr const char* kCapsuleName =
    is_versioned_v<Managed> ? "dltensor_versioned" : "dltensor";
/// The name once a consumer has taken the struct.
template <class Managed>
inline constexpr const char* kUsedCapsuleName =
    is_versioned_v<Managed> ? "used_dltensor_versioned" : "used_dltensor";

/// Puts the result of an export into a new capsule, or sets the error. The capsule releases the
/// struct unless a consumer takes it.
template <class Managed>
PyObject* make_capsule(const Result<Managed*>& exported) noexcept {
  if (!exported.ok()) return set_python_error(exported.error(), exported.message()), nullptr;
  PyObject* const capsule =
      PyCapsule_New(*exported, kCapsuleName<Managed>, [](PyObject* self) noexcept {
        if (PyCapsule_IsValid(self, kCapsuleName<Managed>) == 0) return;
        const KeepPythonError keep;
        DLPackDeleter()(static_cast<Managed*>(PyCapsule_GetPointer(self, kCapsuleName<Managed>)));
      });
  if (TENON_UNLIKELY(capsule == nullptr)) {
    const KeepPythonError keep;
    DLPackDeleter()(*exported);
  }
  return capsule;
}

/// The tensor, or null with Python's error set: what Python raised, or else that of `made`.
inline TensorPtr finish_with_python_error(Result<TensorPtr>&& made) noexcept {
  if (made.ok()) return *std::move(made);
  if (PyErr_Occurred() == nullptr) set_python_error(made.error(), made.message());
  return nullptr;
}

/// The tensor, or the error, thrown or as a Result. Leaves no Python error set.
template <class Out>
Out finish_for_cxx(Result<TensorPtr>&& made) {
  if (TENON_UNLIKELY(!made.ok())) PyErr_Clear();
  if constexpr (IsResult<Out>::value) {
    return std::move(made);
  } else {
    return *std::move(made);
  }
}

/// A struct out of a capsule, and the duty to release it.
struct OpenedCapsule {
  DLPackContents contents;
  Deleter release;
};

/// Takes the struct out of a capsule of its kind, if it can be imported; else the capsule keeps it.
template <class Managed>
Error open_capsule_as(PyObject* capsule, const ImportArgs& args, OpenedCapsule& opened) noexcept {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsuleName<Managed>));
  DLPackPlan plan;
  TENON_TRY(plan_import(read_dlpack(*managed), args.copy, args.device, plan));
  if (PyCapsule_SetName(capsule, kUsedCapsuleName<Managed>) != 0) return fail_as_python();
  opened.contents = read_dlpack(*managed);
  opened.release.emplace(nullptr, ReleaseDLPack<Managed>{managed});
  return Error::Ok;
}

inline Error open_capsule(PyObject* capsule, const ImportArgs& args,
                          OpenedCapsule& opened) noexcept {
  using Versioned = DLManagedTensorVersioned;
  using Legacy = DLManagedTensor;
  if (PyCapsule_IsValid(capsule, kCapsuleName<Versioned>) != 0) {
    return open_capsule_as<Versioned>(capsule, args, opened);
  }
  if (PyCapsule_IsValid(capsule, kCapsuleName<Legacy>) != 0) {
    return open_capsule_as<Legacy>(capsule, args, opened);
  }
  if (PyCapsule_IsValid(capsule, kUsedCapsuleName<Versioned>) != 0 ||
      PyCapsule_IsValid(capsule, kUsedCapsuleName<Legacy>) != 0) {
    return fail(Error::InvalidArgument,
                "the capsule was consumed before; a producer's __dlpack__() makes a new one");
  }
  if (PyCapsule_CheckExact(capsule) == 0) {
    return fail(Error::InvalidType, "'", Py_TYPE(capsule)->tp_name, "' object is no capsule");
  }
  const char* const name = PyCapsule_GetName(capsule);
  PyErr_Clear();  // of a capsule without a pointer
  return fail(Error::InvalidType, "the capsule's name is \"", name == nullptr ? "" : name,
              "\", expected \"dltensor\" or \"dltensor_versioned\"");
}

inline Result<TensorPtr> import_capsule(PyObject* capsule, const ImportArgs& args) noexcept {
  OpenedCapsule opened;
  const Error error = open_capsule(capsule, args, opened);
  if (TENON_UNLIKELY(error != Error::Ok)) return blame(args.function, error);
  return import_dlpack<Result<TensorPtr>>(args.function, opened.contents, args.copy, args.device,
                                          args.dynamism, opened.release);
}

/// Sets the error of an export: DLPack's consumers expect BufferError, or MemoryError.
inline PyObject* refuse_export(Error error, const char* message) noexcept {
  set_python_error(error == Error::OutOfMemory ? error : Error::NotSupported, message);
  return nullptr;
}
inline PyObject* refuse_export(Error error) noexcept {
  error = blame("__dlpack__", error);
  return refuse_export(error, last_error_message());
}

/// Makes a device's memory ready for the stream that the consumer names. False with an error set.
inline bool make_ready(const TensorFields& tensor, PyObject* asked) noexcept {
  const DeviceType type = tensor.device.type();
  if (tensor.device.is_host_accessible() && type != DeviceType::CUDAManaged) return true;
  if (asked != Py_None) {
    const long long stream = PyLong_AsLongLong(asked);
    if (stream == -1) return PyErr_Occurred() == nullptr;
    if (stream < -1 || (stream == 0 && type != DeviceType::ROCM)) {
      PyErr_Format(PyExc_ValueError, "__dlpack__()'s stream is %lld, expected -1, 1, 2 or a handle",
                   stream);
      return false;
    }
  }
  Backend* backend = nullptr;
  Error error = find_owner(tensor, "the tensor", backend);
  if (error == Error::Ok && backend == nullptr) backend = find_backend(tensor.device);
  // Memory that came as a pointer, of a device without a backend here, stays as it was given.
  if (error == Error::Ok && backend != nullptr) {
    error = ask(*backend, "synchronize", [&] { return backend->synchronize(); });
  }
  if (error != Error::Ok) refuse_export(error);
  return error == Error::Ok;
}

/// Reads a pair of integers, unless it is None. False with an error set.
inline bool read_pair(PyObject* pair, const char* what, long (&out)[2]) noexcept {
  if (pair == Py_None) return true;
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

/// The method __dlpack__ of a tensor's object: keywords alone, their values in the order of
/// `names`. Read by hand: PyArg_ParseTupleAndKeywords() takes three times as long as the whole
/// rest.
inline PyObject* dlpack_method(const Tensor& tensor, PyObject* const* values, Py_ssize_t positional,
                               PyObject* names) noexcept {
  if (positional != 0) {
    PyErr_SetString(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
    return nullptr;
  }
  PyObject* stream = Py_None;
  PyObject* max_version = Py_None;
  PyObject* asked = Py_None;
  PyObject* copy_asked = Py_None;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const auto is = [name](const char* text) noexcept {
      return PyUnicode_READ_CHAR(name, 0) == static_cast<Py_UCS4>(*text) &&
             PyUnicode_CompareWithASCIIString(name, text) == 0;
    };
    PyObject** const value = is("max_version") ? &max_version
                             : is("copy")      ? &copy_asked
                             : is("dl_device") ? &asked
                             : is("stream")    ? &stream
                                               : nullptr;
    if (value == nullptr) {
      return PyErr_Format(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument '%U'",
                          name);
    }
    *value = values[i];
  }
  const Device device = fields(TensorArg(tensor)).device;
  const long here[2] = {static_cast<long>(device.type()), device.index()};
  long version[2] = {0, 0};
  long there[2] = {here[0], here[1]};
  if (!read_pair(max_version, "max_version", version) || !read_pair(asked, "dl_device", there)) {
    return nullptr;
  }
  const int copy = copy_asked == Py_None ? -1 : PyObject_IsTrue(copy_asked);
  if (copy == -1 && PyErr_Occurred() != nullptr) return nullptr;
  const bool moves = there[0] != here[0] || there[1] != here[1];
  if (moves && (there[0] != static_cast<long>(DeviceType::CPU) || there[1] != 0)) {
    return refuse_export(fail(Error::NotSupported, "device (", there[0], ", ", there[1],
                              ") was asked for; the tensor is on ", device,
                              " and can be copied to the cpu alone"));
  }
  if (moves && copy == 0) {
    return refuse_export(fail(Error::NotSupported, "the tensor is on ", device,
                              ", was asked for on the cpu, and copy is false"));
  }
  const bool copies = moves || copy == 1;
  Tensor copied;
  if (copies) {
    const CreatorOptions options = moves ? CreatorOptions(host_backend()) : CreatorOptions();
    Result<Tensor> made = clone<Result<Tensor>>("__dlpack__", TensorArg(tensor), options);
    if (!made.ok()) return refuse_export(made.error(), made.message());
    copied = *std::move(made);
  }
  const TensorArg exported(copies ? copied : tensor);
  if (!make_ready(fields(exported), stream)) return nullptr;
  if (version[0] < 1) {
    const auto legacy = export_legacy<Result<DLManagedTensor*>, DLManagedTensor>(
        "__dlpack__", exported, LegacyReadOnly::Refuse);
    return legacy.ok() ? make_capsule(legacy) : refuse_export(legacy.error(), legacy.message());
  }
  DLManagedTensorVersioned* managed = nullptr;
  const Error error = make_export(exported, copies ? kDLPackIsCopied : 0, managed);
  return error == Error::Ok ? make_capsule(Result(managed)) : refuse_export(error);
}

}  // namespace detail

/// A DLPack capsule, as __dlpack__() returns it: "dltensor_versioned", or "dltensor" for consumers
/// that know only DLPack before 1.0.
///
/// Ownership: a new reference. It shares the memory, as a DLPack struct does; a consumer that takes
/// the struct out renames the capsule and releases the struct, else the capsule does.
/// Errors: null, with Python's error set, for those of to_dlpack() and to_dlpack_legacy(): mostly
/// BufferError.
/// Threads: needs the GIL. Source: torch.utils.dlpack.to_dlpack.
inline PyObject* to_capsule(TensorArg t, bool versioned = true) noexcept {
  using namespace detail;
  if (!versioned) {
    return make_capsule(export_legacy<Result<DLManagedTensor*>, DLManagedTensor>(
        kForPython, t, LegacyReadOnly::Refuse));
  }
  return make_capsule(export_dlpack<Result<DLManagedTensorVersioned*>, DLManagedTensorVersioned>(
      kForPython, t, false));
}

template <class Out>
struct FromCapsule {
  const char* function;

  /// A tensor over the struct in a DLPack capsule of either kind, which is consumed: its name
  /// becomes "used_…". `copy` and `device` are those of from_dlpack().
  ///
  /// Ownership: takes the struct, not the capsule. A struct that is refused stays in the capsule,
  /// which releases it.
  /// Errors: InvalidArgument for a capsule that was consumed before; InvalidType for an object that
  /// is no such capsule; those of from_dlpack(). Leaves no Python error set.
  /// Threads: needs the GIL; the tensor may be dropped on any thread, without it.
  /// Source: torch.utils.dlpack.from_dlpack.
  Out operator()(PyObject* capsule, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return detail::finish_for_cxx<Out>(
        detail::import_capsule(capsule, {function, copy, device, dynamism}));
  }
};

inline constexpr FromCapsule<TensorPtr> from_capsule{"from_capsule"};
inline constexpr FromCapsule<Result<TensorPtr>> try_from_capsule{"try_from_capsule"};

/// from_capsule() in the form of CPython's functions: null, with Python's error set, when it fails:
/// ValueError for a capsule that was consumed before, and those of set_python_error().
inline TensorPtr from_capsule_or_set_error(
    PyObject* capsule, Optional<bool> copy = none, Optional<Device> device = none,
    TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) noexcept {
  return detail::finish_with_python_error(
      detail::import_capsule(capsule, {detail::kForPython, copy, device, dynamism}));
}

TENON_END_NAMESPACE
