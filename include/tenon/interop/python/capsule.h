// SPDX-License-Identifier: MIT
// DLPack's capsules: to_capsule, from_capsule, and the method __dlpack__ of tenon.Tensor. Orders
// the streams when device memory is exported to or imported from Python.
#pragma once

#include "tenon/interop/python/interpreter.h"  // Python.h first

#include <cstddef>
#include <cstdint>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether work on a device's memory may be asynchronous.
inline bool has_streams(Device device) noexcept {
  return !device.is_host_accessible() || device.type() == DeviceType::CUDAManaged;
}

/// The number of the default stream in DLPack.
inline int64_t default_stream(DeviceType type) noexcept { return type == DeviceType::ROCM ? 0 : 1; }

inline Error order_before(DeviceBackend& backend, int64_t stream) noexcept {
  return call_backend(backend, "order_before", [&] { return backend.order_before(stream); });
}
inline Error order_after(DeviceBackend& backend, int64_t stream) noexcept {
  return call_backend(backend, "order_after", [&] { return backend.order_after(stream); });
}

/// The DeviceBackend that is registered for a device, directly or wrapped in another backend; null
/// if there is none.
inline DeviceBackend* find_device_backend(Device device) noexcept {
  Backend* const backend = has_streams(device) ? find_backend(device) : nullptr;
  return backend == nullptr ? nullptr : backend->as_device();
}
/// As above, for DLPack's device.
inline DeviceBackend* find_device_backend(DLDevice device) noexcept {
  if (!is_dlpack_device(device.device_type) || device.device_id < 0) return nullptr;
  return find_device_backend(device_from_dlpack(device));
}

/// Finds the DeviceBackend that has to order the consumer's stream. If the memory has another
/// backend, waits for that backend's work and leaves `device` null.
inline Error find_streams(const TensorFields& tensor, DeviceBackend*& device) noexcept {
  if (!has_streams(tensor.device)) return Error::Ok;
  Backend* backend = nullptr;
  TENON_TRY(find_data_backend(tensor, "the tensor", backend));
  if (backend == nullptr) backend = find_backend(tensor.device);
  if (backend == nullptr) return Error::Ok;
  device = backend->as_device();
  if (device != nullptr) return Error::Ok;
  return call_backend(*backend, "synchronize", [&] { return backend->synchronize(); });
}

/// Makes device memory ready for work on the stream that a consumer passes to __dlpack__.
/// Errors: if Python raised an exception, it stays set.
inline Error make_ready(const TensorFields& tensor, PyObject* asked) {
  if (!has_streams(tensor.device)) return Error::Ok;
  const DeviceType type = tensor.device.type();
  int64_t stream = default_stream(type);
  if (asked != Py_None) {
    stream = PyLong_AsLongLong(asked);
    if (stream == -1) return PyErr_Occurred() == nullptr ? Error::Ok : fail_as_python();
    if (stream < -1 || (stream == 0 && type != DeviceType::ROCM)) {
      return fail(Error::InvalidArgument, "stream is ", stream, ", expected -1, 1, 2 or a handle");
    }
  }
  DeviceBackend* device = nullptr;
  TENON_TRY(find_streams(tensor, device));
  return device == nullptr ? Error::Ok : order_before(*device, stream);
}

/// The stream on which a producer should make its data ready.
struct ConsumerStream {
  int64_t number = -1;               // -1: pass none to the producer
  int64_t otherwise = 1;             // if __dlpack_device__ is missing
  DeviceBackend* backend = nullptr;  // the stream's backend
};
/// The stream of the DeviceBackend that is registered for the object's device, else the device's
/// default stream. Some producers before DLPack 1.0 lack __dlpack_device__.
inline ConsumerStream stream_for(PyObject* object) {
  ConsumerStream stream;
  const PyRef device(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  DLDevice asked{};
  if (!device || PyTuple_Check(device.get()) == 0 ||
      PyArg_ParseTuple(device.get(), "ii", &asked.device_type, &asked.device_id) == 0) {
    return stream;
  }
  const auto type = static_cast<DeviceType>(asked.device_type);
  stream.otherwise = default_stream(type);
  stream.backend = find_device_backend(asked);
  if (stream.backend != nullptr) {
    stream.number = stream.backend->stream_number();
  } else if (type == DeviceType::CUDA || type == DeviceType::ROCM) {
    stream.number = stream.otherwise;
  }
  return stream;
}

/// The arguments of an import.
struct ImportArgs {
  const char* function;
  Optional<bool> copy;
  Optional<Device> device;
  TensorShapeDynamism dynamism;
  uint64_t flags = 0;  // added to the flags of the struct
};

template <class Managed>
inline constexpr const char* kCapsuleName =
    is_versioned_v<Managed> ? "dltensor_versioned" : "dltensor";
/// The capsule's name after a consumer has taken the struct.
template <class Managed>
inline constexpr const char* kUsedCapsuleName =
    is_versioned_v<Managed> ? "used_dltensor_versioned" : "used_dltensor";

/// Puts an exported struct into a new capsule, or sets Python's error and returns null. The capsule
/// releases the struct unless a consumer takes it.
template <class Managed>
PyObject* make_capsule(const Result<Managed*>& exported) noexcept {
  if (!exported.ok()) return set_python_error(exported.error(), exported.message()), nullptr;
  PyObject* const capsule =
      PyCapsule_New(*exported, kCapsuleName<Managed>, [](PyObject* self) noexcept {
        if (PyCapsule_IsValid(self, kCapsuleName<Managed>) == 0) return;
        const KeepPythonError keep;
        DLPackDeleter()(static_cast<Managed*>(PyCapsule_GetPointer(self, kCapsuleName<Managed>)));
      });
  if (capsule == nullptr) {
    const KeepPythonError keep;
    DLPackDeleter()(*exported);
  }
  return capsule;
}

/// Exports a tensor as a capsule; null with Python's error set.
inline PyObject* export_capsule(const char* function, const TensorArg& t, bool versioned,
                                uint64_t flags) noexcept {
  if (!versioned) {
    return make_capsule(export_legacy<Result<DLManagedTensor*>, DLManagedTensor>(
        function, t, LegacyReadOnly::Refuse));
  }
  DLManagedTensorVersioned* managed = nullptr;
  const Error error = make_export(t, flags, managed);
  return make_capsule(
      return_to_user<Result<DLManagedTensorVersioned*>>(function, error, std::move(managed)));
}

/// Releases a struct that came from Python: its deleter may request the GIL.
template <class Managed>
struct ReleaseFromPython {
  Managed* managed;
  void operator()(void*) const noexcept {
    if (managed->deleter == nullptr) return;
    stay_at_end([this] { managed->deleter(managed); });
  }
};

/// Imports the struct of a capsule of this kind. If the import fails, the struct stays in the
/// capsule.
template <class Managed>
Result<TensorPtr> import_capsule_as(PyObject* capsule, const ImportArgs& args) noexcept {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsuleName<Managed>));
  DLPackContents contents = read_import(*managed);
  contents.flags |= args.flags;
  const bool was_copied =
      args.copy.value_or(false) &&
      (contents.flags & kDLPackIsCopied) != 0;  // the producer copied for this consumer
  const Optional<bool> copy = was_copied ? Optional<bool>(none) : args.copy;
  DLPackPlan opts;
  Error error = plan_import(contents, copy, args.device, args.dynamism, opts);
  if (error == Error::Ok && PyCapsule_SetName(capsule, kUsedCapsuleName<Managed>) != 0) {
    error = fail_as_python();
  }
  if (error != Error::Ok) return add_context(args.function, error);
  Deleter release(nullptr, ReleaseFromPython<Managed>{managed});
  return import_planned<Result<TensorPtr>>(args.function, contents, opts, args.dynamism, release);
}

inline Result<TensorPtr> import_capsule(PyObject* capsule, const ImportArgs& args) noexcept {
  using Versioned = DLManagedTensorVersioned;
  using Legacy = DLManagedTensor;
  const auto is_named = [capsule](const char* name) noexcept {
    return PyCapsule_IsValid(capsule, name) != 0;
  };
  if (is_named(kCapsuleName<Versioned>)) return import_capsule_as<Versioned>(capsule, args);
  if (is_named(kCapsuleName<Legacy>)) return import_capsule_as<Legacy>(capsule, args);
  Error error = Error::Ok;
  if (PyCapsule_CheckExact(capsule) == 0) {
    error = fail(Error::InvalidType, "'", Py_TYPE(capsule)->tp_name, "' object is not a capsule");
  } else if (is_named(kUsedCapsuleName<Versioned>) || is_named(kUsedCapsuleName<Legacy>)) {
    error = fail(Error::InvalidArgument,
                 "the capsule was consumed before; the producer's __dlpack__() makes a new one");
  } else {
    const char* const name = PyCapsule_GetName(capsule);
    PyErr_Clear();  // set if a capsule has no pointer
    error = fail(Error::InvalidType, "the capsule's name is \"", name == nullptr ? "" : name,
                 "\", expected \"dltensor\" or \"dltensor_versioned\"");
  }
  return add_context(args.function, error);
}

/// Returns the tensor, or null with Python's error set: the exception that Python raised, else that
/// for the error of `made`.
inline TensorPtr finish_with_python_error(Result<TensorPtr>&& made) noexcept {
  if (made.ok()) return *std::move(made);
  if (PyErr_Occurred() == nullptr) set_python_error(made.error(), made.message());
  return nullptr;
}

}  // namespace detail
namespace detail {  // function objects

// Returns the tensor; an error is thrown or returned as a Result. Leaves no Python error set.
template <class Out>
struct FromObject {
  const char* function;
  Result<TensorPtr> (*import)(PyObject*, const ImportArgs&) noexcept;

  Out operator()(PyObject* object, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    Result<TensorPtr> made = import(object, {function, copy, device, dynamism});
    if (!made.ok()) stay_at_end([] { PyErr_Clear(); });
    if constexpr (IsResult<Out>::value) {
      return made;
    } else {
      return *std::move(made);
    }
  }
};

}  // namespace detail
namespace detail {

// The functions of __dlpack__ that return an Error leave Python's error set if Python raised it.

/// Reads a pair of integers; leaves `out` unchanged for None.
inline Error read_pair(PyObject* pair, const char* what, long (&out)[2]) {
  if (pair == Py_None) return Error::Ok;
  if (PyTuple_Check(pair) == 0 || PyTuple_GET_SIZE(pair) != 2) {
    return fail(Error::InvalidType, what, " is '", Py_TYPE(pair)->tp_name,
                "', expected a pair of integers");
  }
  for (Py_ssize_t i = 0; i < 2; ++i) {
    out[i] = PyLong_AsLong(PyTuple_GET_ITEM(pair, i));
    if (PyErr_Occurred() != nullptr) return fail_as_python();
  }
  return Error::Ok;
}

/// Exports the tensor, or a copy of it, as the keywords of __dlpack__ request. `values`: the
/// keywords' values in the order of `names`. PyArg_ParseTupleAndKeywords() would take three times
/// as long as the rest of the function.
inline Error export_as_asked(const Tensor& tensor, PyObject* const* values, Py_ssize_t positional,
                             PyObject* names, PyObject*& capsule) {
  constexpr const char* kNames[] = {"max_version", "copy", "dl_device", "stream"};
  PyObject* asked[] = {Py_None, Py_None, Py_None, Py_None};
  if (positional != 0) return fail(Error::InvalidType, "it takes keyword arguments only");
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    size_t k = 0;
    while (k < 4 && PyUnicode_CompareWithASCIIString(name, kNames[k]) != 0) ++k;
    if (k == 4) {
      PyErr_Format(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument '%U'", name);
      return fail_as_python();
    }
    asked[k] = values[i];
  }
  const auto& [max_version, copy_asked, dl_device, stream] = asked;
  const Device device = fields(TensorArg(tensor)).device;
  const long here[2] = {static_cast<long>(device.type()), device.index()};
  long there[2] = {here[0], here[1]};
  long version[2] = {0, 0};
  TENON_TRY(read_pair(max_version, "max_version", version));
  TENON_TRY(read_pair(dl_device, "dl_device", there));
  const int copy = copy_asked == Py_None ? 0 : PyObject_IsTrue(copy_asked);
  if (copy < 0) return fail_as_python();
  const bool moves = there[0] != here[0] || there[1] != here[1];
  if (moves && (there[0] != static_cast<long>(DeviceType::CPU) || there[1] != 0)) {
    return fail(Error::NotSupported, "device (", there[0], ", ", there[1],
                ") was requested; the tensor is on ", device, " and can only be copied to the cpu");
  }
  if (moves && copy_asked != Py_None && copy == 0) {
    return fail(Error::NotSupported, "the tensor is on ", device,
                ", but the cpu was requested, and copy is false");
  }
  Tensor copied;
  // DLPack before 1.0 has no read-only flag: its consumers get a copy, unless they pass copy=False.
  const bool copies_read_only =
      version[0] < 1 && copy_asked == Py_None && fields(TensorArg(tensor)).readonly;
  const bool copies = moves || copy == 1 || copies_read_only;
  if (copies) {
    const CreateOptions opts =
        moves ? options_in(host_backend()) : CreateOptions(ScalarType::Undefined);
    Result<Tensor> made = clone<Result<Tensor>>("copy", TensorArg(tensor), opts);
    if (!made.ok()) return made.error();
    copied = *std::move(made);
  }
  const TensorArg exported(copies ? copied : tensor);
  TENON_TRY(make_ready(fields(exported), stream));
  capsule = export_capsule("__dlpack__", exported, version[0] >= 1, copies ? kDLPackIsCopied : 0);
  return capsule != nullptr ? Error::Ok : fail_as_python();
}

}  // namespace detail

/// Exports a tensor as a DLPack capsule, as __dlpack__() returns it. The capsule's name is
/// "dltensor_versioned", or with `versioned` false "dltensor", for consumers that know only DLPack
/// before 1.0.
///
/// Ownership: returns a new reference. The capsule holds a DLPack struct, which shares the tensor's
/// memory. A consumer that takes the struct renames the capsule and releases the struct later;
/// otherwise the capsule releases it.
/// Errors: returns null, with Python's error set (mostly BufferError), for each error of
/// to_dlpack() or to_dlpack_legacy().
/// Threads: needs the GIL. Source: torch.utils.dlpack.to_dlpack.
inline PyObject* to_capsule(TensorArg t, bool versioned = true) noexcept {
  return detail::export_capsule(detail::kForPython, t, versioned, 0);
}

/// Makes a tensor over the struct of a DLPack capsule of either kind. Consumes the capsule: its
/// name becomes "used_…". `copy` and `device`: as in from_dlpack(); a struct whose flags state that
/// it is a copy already is not copied again.
///
/// Ownership: takes over the struct, not the capsule. After an error the struct stays in the
/// capsule, which releases it.
/// Errors: InvalidArgument (a capsule that was consumed before); InvalidType (an object that is not
/// such a capsule); those of from_dlpack(). Leaves no Python error set.
/// Threads: needs the GIL; the tensor may be dropped on any thread, without it.
/// Source: torch.utils.dlpack.from_dlpack.
inline constexpr detail::FromObject<TensorPtr> from_capsule{"from_capsule",
                                                            &detail::import_capsule};
inline constexpr detail::FromObject<Result<TensorPtr>> try_from_capsule{"try_from_capsule",
                                                                        &detail::import_capsule};

/// from_capsule() as CPython's functions report errors: returns null with Python's error set,
/// ValueError for a capsule that was consumed before, else the exception of set_python_error().
inline TensorPtr from_capsule_or_set_error(
    PyObject* capsule, detail::Optional<bool> copy = none, detail::Optional<Device> device = none,
    TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) noexcept {
  return detail::finish_with_python_error(
      detail::import_capsule(capsule, {detail::kForPython, copy, device, dynamism}));
}

TENON_END_NAMESPACE
