// SPDX-License-Identifier: MIT
// from_python: a tensor over the memory of a Python object.
#pragma once

#include "tenon/interop/python/interpreter.h"  // Python.h first

#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/interop/python/buffer.h"
#include "tenon/interop/python/capsule.h"
#include "tenon/interop/python/tensor_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The exchange API of a type, in the newest table of a major version that tenon knows; or null.
TENON_COLD inline const DLPackExchangeAPI* find_exchange_api(PyObject* type) noexcept {
  const PyRef capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  PyErr_Clear();
  constexpr const char* kName = "dlpack_exchange_api";
  if (!capsule || PyCapsule_IsValid(capsule.get(), kName) == 0) return nullptr;
  auto* header =
      static_cast<const DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule.get(), kName));
  while (header != nullptr && header->version.major > kDLPackVersion.major) {
    header = header->prev_api;
  }
  if (header == nullptr || header->version.major != kDLPackVersion.major) return nullptr;
  auto* const api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  return api->managed_tensor_from_py_object_no_sync == nullptr ? nullptr : api;
}

inline bool is_jax_type(PyObject* type) noexcept {
  const PyRef module(PyObject_GetAttrString(type, "__module__"));
  const char* const name =
      module && PyUnicode_Check(module.get()) != 0 ? PyUnicode_AsUTF8(module.get()) : nullptr;
  PyErr_Clear();
  return name != nullptr && std::strncmp(name, "jaxlib", 6) == 0;
}

/// What is known of a type. Looked up once for each type, as DLPack allows: attributes that the
/// type gets after its first object was imported are not seen.
inline PythonState::KnownType known_type(PythonState& state, PyTypeObject* type) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(type);
  constexpr size_t kCount = sizeof state.types / sizeof *state.types;
  PythonState::KnownType& known = state.types[(address >> 4 ^ address >> 10) % kCount];
  if (known.type == type) return known;
  auto* const object = reinterpret_cast<PyObject*>(type);
  const PythonState::KnownType found{type, find_exchange_api(object),
                                     PyObject_HasAttr(object, state.requires_grad) != 0 &&
                                         PyObject_HasAttr(object, state.is_conj) != 0 &&
                                         PyObject_HasAttr(object, state.is_neg) != 0,
                                     is_jax_type(object)};
  Py_INCREF(type);
  const PyRef old(reinterpret_cast<PyObject*>(std::exchange(known, found).type));
  return found;
}

/// Refuses what a PyTorch tensor is beyond its memory: the exchange API does not say it, and
/// __dlpack__ does not say that it is negated.
/// Errors: Python's stays set where it comes from there.
inline Error check_torch(const PythonState& state, PyObject* object) noexcept {
  const struct {
    PyObject* name;
    bool is_method;
    const char* refusal;
  } states[] = {{state.requires_grad, false,
                 "the tensor requires grad, and writes through tenon would pass autograd by; its "
                 "detach() shares the memory"},
                {state.is_conj, true,
                 "the tensor is to be conjugated when it is read; resolve_conj() does so now"},
                {state.is_neg, true,
                 "the tensor is to be negated when it is read; resolve_neg() does so now"}};
  for (const auto& known : states) {
    const PyRef value(known.is_method ? PyObject_CallMethodNoArgs(object, known.name)
                                      : PyObject_GetAttr(object, known.name));
    const int is_set = value ? PyObject_IsTrue(value.get()) : -1;
    if (is_set < 0) return fail_as_python();
    if (is_set > 0) return fail(Error::NotSupported, known.refusal);
  }
  return Error::Ok;
}

/// Calls __dlpack__ for the newest version, and as it was before 1.0 where that is not understood.
/// Null with an error set.
inline PyObject* call_dlpack(PyObject* object, PyObject* method, const ImportArgs& args) noexcept {
  // The stream on which the data is to be ready: the device's default one, which tenon's backends
  // use; none for the host's memory. Some producers before 1.0 have no __dlpack_device__.
  const PyRef device(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  long type = 0;
  if (device && PyTuple_Check(device.get()) != 0 && PyTuple_GET_SIZE(device.get()) == 2) {
    type = PyLong_AsLong(PyTuple_GET_ITEM(device.get(), 0));
  }
  if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) return nullptr;
  PyErr_Clear();
  const int stream = type == static_cast<long>(DeviceType::CUDA)   ? 1
                     : type == static_cast<long>(DeviceType::ROCM) ? 0
                                                                   : -1;
  const PyRef positional(PyTuple_New(0));
  const PyRef keywords(
      Py_BuildValue("{s(II)}", "max_version", kDLPackVersion.major, kDLPackVersion.minor));
  if (!positional || !keywords) return nullptr;
  const auto add = [&](const char* name, PyObject* value) noexcept {
    const PyRef owned(value);
    return owned && PyDict_SetItemString(keywords.get(), name, value) == 0;
  };
  const Device asked = args.device.value_or(Device());
  if (args.device.has_value() &&
      !add("dl_device", Py_BuildValue("(ii)", static_cast<int>(asked.type()), asked.index()))) {
    return nullptr;
  }
  const bool copies = args.copy.value_or(false);
  if (args.copy.has_value() && !add("copy", PyBool_FromLong(copies ? 1 : 0))) return nullptr;
  if (stream >= 0 && !add("stream", PyLong_FromLong(stream))) return nullptr;
  PyObject* const made = PyObject_Call(method, positional.get(), keywords.get());
  if (made != nullptr || copies || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return made;
  PyErr_Clear();
  return PyObject_CallNoArgs(method);
}

/// The ways to ask an object for its memory. Each returns false if the object does not know it,
/// else true with the tensor or the error in `made`; Python's error may be set then.
struct PythonImport {
  PythonState& state;
  PyObject* object;
  const ImportArgs& args;

  /// The attribute; null, with an error set unless it is just not there.
  PyRef find(const char* attribute) const noexcept {
    PyRef found(PyObject_GetAttrString(object, attribute));
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) PyErr_Clear();
    return found;
  }
  Result<TensorPtr> fail_like_python() const noexcept {
    return blame(args.function, fail_as_python());
  }

  bool by_exchange_api(const DLPackExchangeAPI& api, Result<TensorPtr>& made) const noexcept {
    DLManagedTensorVersioned* managed = nullptr;
    if (TENON_UNLIKELY(api.managed_tensor_from_py_object_no_sync(object, &managed) != 0 ||
                       managed == nullptr)) {
      made =
          PyErr_Occurred() != nullptr
              ? fail_like_python()
              : blame(args.function, fail(Error::AccessFailed, "the exchange API gave no tensor"));
      return true;
    }
    Deleter release(nullptr, ReleaseDLPack<DLManagedTensorVersioned>{managed});
    const DLPackContents contents = read_dlpack(*managed);
    // Nobody waits for a device this way; __dlpack__ does.
    const bool is_on_host =
        contents.tensor.device.device_type == static_cast<int32_t>(DeviceType::CPU);
    if (!is_on_host && PyObject_HasAttrString(object, "__dlpack__") != 0) return false;
    made = import_dlpack<Result<TensorPtr>>(args.function, contents, args.copy, args.device,
                                            args.dynamism, release);
    return true;
  }

  bool by_dlpack(Result<TensorPtr>& made) const noexcept {
    const PyRef method = find("__dlpack__");
    if (!method && PyErr_Occurred() == nullptr) return false;
    const PyRef capsule(method ? call_dlpack(object, method.get(), args) : nullptr);
    OpenedCapsule opened;
    if (!capsule) {
      made = fail_like_python();
      return true;
    }
    const Error error = open_capsule(capsule.get(), args, opened);
    if (TENON_UNLIKELY(error != Error::Ok)) {
      made = blame(args.function, error);
      return true;
    }
    // JAX's arrays are immutable, which its structs, older than 1.0, cannot say.
    if (known_type(state, Py_TYPE(object)).is_jax) opened.contents.flags |= kDLPackReadOnly;
    const bool was_copied =
        args.copy.value_or(false) && (opened.contents.flags & kDLPackIsCopied) != 0;
    made = import_dlpack<Result<TensorPtr>>(args.function, opened.contents,
                                            was_copied ? Optional<bool>(none) : args.copy,
                                            args.device, args.dynamism, opened.release);
    return true;
  }

  bool by_array_interface(Result<TensorPtr>& made) const noexcept {
    const PyRef dict = find("__array_interface__");
    if (!dict && PyErr_Occurred() == nullptr) return false;
    made = dict ? import_array_interface(state, object, dict.get(), args) : fail_like_python();
    return true;
  }

  Result<TensorPtr> run() const noexcept {
    const PythonState::KnownType known = known_type(state, Py_TYPE(object));
    if (known.is_torch) {
      const Error error = check_torch(state, object);
      if (TENON_UNLIKELY(error != Error::Ok)) return blame(args.function, error);
    }
    if (known.api != nullptr || PyObject_CheckBuffer(object) == 0) {
      return ask(known.api, Result<TensorPtr>(nullptr), false);
    }
    Result<TensorPtr> made = import_buffer(state, object, args);
    if (TENON_UNLIKELY(!made.ok())) return ask(nullptr, std::move(made), true);
    return made;
  }

  /// Asks in one way after another until one gives a tensor. The last reason why one does not is
  /// the one to give, but for __array_interface__'s. `made` is the buffer's, if that was asked.
  TENON_NOINLINE Result<TensorPtr> ask(const DLPackExchangeAPI* api, Result<TensorPtr> made,
                                       bool asked_buffer) const noexcept {
    Result<TensorPtr> reason(nullptr);
    TakenPythonError reason_of_python;
    // Whether no other way is to be tried.
    const auto is_final = [&]() noexcept {
      if (made.ok()) return true;
      if (PyErr_Occurred() != nullptr && (PyErr_ExceptionMatches(PyExc_Exception) == 0 ||
                                          PyErr_ExceptionMatches(PyExc_MemoryError) != 0)) {
        return true;
      }
      reason = std::move(made);
      reason_of_python = TakenPythonError::take();
      return false;
    };
    if (api != nullptr && by_exchange_api(*api, made) && is_final()) return made;
    if (asked_buffer || PyObject_CheckBuffer(object) != 0) {
      if (!asked_buffer) made = import_buffer(state, object, args);
      if (is_final()) return made;
    }
    if (by_dlpack(made) && is_final()) return made;
    const bool has_interface = by_array_interface(made);
    if (has_interface && (made.ok() || reason.ok())) return made;
    if (!reason.ok()) {
      reason_of_python.restore();
      return reason;
    }
    return blame(
        args.function,
        fail(Error::InvalidType, "'", Py_TYPE(object)->tp_name,
             "' object has neither __dlpack__ nor the buffer protocol nor __array_interface__"));
  }
};

/// Shares the memory of one of tenon's own objects.
inline Result<TensorPtr> import_own(const Tensor& tensor, const ImportArgs& args) noexcept {
  const TensorArg source(tensor);
  const bool moves =
      args.device.has_value() && args.device.value_or(Device()) != fields(source).device;
  if (args.copy.value_or(false) || moves) {
    const auto exported =
        export_dlpack<Result<DLManagedTensorVersioned*>, DLManagedTensorVersioned>(args.function,
                                                                                   source, false);
    if (!exported.ok()) return exported.error();
    return FromDLPack<Result<TensorPtr>>{args.function}(*exported, args.copy, args.device,
                                                        args.dynamism);
  }
  return view_all<Result<TensorPtr>>(args.function, source, args.dynamism);
}

inline Result<TensorPtr> import_python(PyObject* object, const ImportArgs& args) noexcept {
  PythonState* const state = python_state();
  if (TENON_UNLIKELY(state == nullptr)) return blame(args.function, fail_as_python());
  if (Py_TYPE(object) == state->tensor_type)
    return import_own(python_tensor(object).tensor(), args);
  if (PyCapsule_CheckExact(object) != 0) return import_capsule(object, args);
  return PythonImport{*state, object, args}.run();
}

}  // namespace detail

template <class Out>
struct FromPython {
  const char* function;

  /// A tensor over the memory of a Python object: the same sizes, strides, dtype and device,
  /// read-only where the object says so.
  ///
  /// Asked in turn, until one gives a tensor: tenon's own objects; capsules, as by from_capsule();
  /// the C exchange API of the object's type (PyTorch's); the buffer protocol (NumPy's arrays,
  /// bytes, array.array, memoryview); __dlpack__(), for version 1.3, and as it was before 1.0 where
  /// that raises TypeError, unless a copy is asked for; __array_interface__, with an address, or
  /// with a row-major buffer as PIL's images have it. `copy` and `device` are those of
  /// from_dlpack(), and of __dlpack__().
  ///
  /// Ownership: keeps what holds the memory, mostly the object, until the tensor releases it; of a
  /// tensor of tenon's, that tensor's memory. After the interpreter's end, it is leaked.
  /// Errors: InvalidType for an object that has none of these; NotSupported for PyTorch's tensors
  /// that require grad or are conjugated or negated lazily; what Python raised, with its text;
  /// AccessFailed in a sub-interpreter; those of from_dlpack(). A capsule that is refused is not
  /// consumed. Leaves no Python error set.
  /// Threads: needs the GIL; the tensor may be dropped on any thread, with the GIL or without.
  /// Device memory is ready on the device's default stream.
  /// Source: torch.from_dlpack, numpy.asarray.
  Out operator()(PyObject* object, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return detail::finish_for_cxx<Out>(
        detail::import_python(object, {function, copy, device, dynamism}));
  }
};

inline constexpr FromPython<TensorPtr> from_python{"from_python"};
inline constexpr FromPython<Result<TensorPtr>> try_from_python{"try_from_python"};

/// from_python() in the form of CPython's functions: null, with Python's error set, when it fails:
/// what Python raised, an interrupt say, ImportError in a sub-interpreter, else that of
/// set_python_error().
inline TensorPtr from_python_or_set_error(
    PyObject* object, Optional<bool> copy = none, Optional<Device> device = none,
    TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) noexcept {
  return detail::finish_with_python_error(
      detail::import_python(object, {detail::kForPython, copy, device, dynamism}));
}

namespace detail {

/// An argument of a function that pybind11 or nanobind binds: taken as a tensor, or refused with
/// Python's error.
class PythonArgument {
 public:
  /// Whether the object is an argument for a tensor parameter: it was taken, or it is an array that
  /// was refused, and no other overload should have it. Without `convert` it is one only when the
  /// tensor shares its memory. None and what is no array never is. Leaves no Python error set.
  ///
  /// An interrupt while the object was asked is a refusal, not a reason to try another overload.
  bool load(PyObject* object, bool convert) noexcept {
    if (object == Py_None) return false;
    tensor_ = from_python_or_set_error(object, convert ? none : Optional<bool>(false));
    if (tensor_ != nullptr) return true;
    const bool is_interrupt = PyErr_ExceptionMatches(PyExc_Exception) == 0;
    TakenPythonError refusal = TakenPythonError::take();
    if (!is_interrupt && !(convert && is_array(object))) return false;
    refusal_ = std::move(refusal);
    return true;
  }

  bool is_refused() const noexcept { return static_cast<bool>(refusal_); }
  /// Sets the error of one that was refused.
  void raise() noexcept { refusal_.restore(); }
  /// The tensor of one that was taken.
  TensorPtr& tensor() noexcept { return tensor_; }

 private:
  /// Whether an object has a protocol that from_python() knows. A class is no array, though the
  /// methods of its objects are attributes of it.
  TENON_COLD static bool is_array(PyObject* object) noexcept {
    return PyType_Check(object) == 0 &&
           (is_python_tensor(object) || PyCapsule_CheckExact(object) != 0 ||
            PyObject_CheckBuffer(object) != 0 ||
            PyObject_HasAttrString(object, "__dlpack__") != 0 ||
            PyObject_HasAttrString(object, "__array_interface__") != 0);
  }

  TensorPtr tensor_;
  TakenPythonError refusal_;
};

}  // namespace detail
TENON_END_NAMESPACE
