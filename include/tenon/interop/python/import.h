// SPDX-License-Identifier: MIT
// from_python: makes a tensor over the memory of a Python object.
#pragma once

#include "tenon/interop/python/array_interface.h"  // Python.h first
#include "tenon/interop/python/tensor_type.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

TENON_BEGIN_NAMESPACE
namespace detail {

/// Looks up an attribute in a type and its bases. Returns a borrowed reference; null, with no
/// Python error set, if there is none. Takes a few ns, since CPython caches the result.
inline PyObject* find_in_type(const PythonState& state, PyTypeObject* type,
                              TypeAttribute name) noexcept {
  return _PyType_Lookup(type, state.names[name]);
}

/// The exchange API of a type, in the newest version of a major version that tenon knows; null if
/// there is none.
inline const DLPackExchangeAPI* find_exchange_api(const PythonState& state,
                                                  PyTypeObject* type) noexcept {
  PyObject* const capsule = find_in_type(state, type, kExchangeApi);
  constexpr const char* kName = "dlpack_exchange_api";
  if (capsule == nullptr || PyCapsule_IsValid(capsule, kName) == 0) return nullptr;
  auto* header = static_cast<const DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule, kName));
  while (header != nullptr && header->version.major > kDLPackVersion.major) {
    header = header->prev_api;
  }
  if (header == nullptr || header->version.major != kDLPackVersion.major) return nullptr;
  auto* const api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  return api->managed_tensor_from_py_object_no_sync == nullptr ? nullptr : api;
}

inline bool is_jax(const PythonState& state, PyTypeObject* type) noexcept {
  PyObject* const module = find_in_type(state, type, kModule);
  if (module == nullptr || PyUnicode_Check(module) == 0) return false;
  const char* const name = PyUnicode_AsUTF8(module);
  if (name == nullptr) PyErr_Clear();
  return name != nullptr && std::strncmp(name, "jaxlib", 6) == 0;
}

/// A state of a PyTorch tensor that the exchange API does not report. (__dlpack__ does not report a
/// lazy negation either.)
struct TorchState {
  TypeAttribute name;
  bool is_method;
  const char* refusal;
};
inline constexpr TorchState kTorchStates[] = {
    {kRequiresGrad, false,
     "the tensor requires grad, and writes by tenon would bypass autograd; its detach() "
     "shares the memory"},
    {kIsConj, true, "the tensor is lazily conjugated; resolve_conj() conjugates it now"},
    {kIsNeg, true, "the tensor is lazily negated; resolve_neg() negates it now"}};

inline bool is_torch_type(const PythonState& state, PyTypeObject* type) noexcept {
  for (const TorchState& torch : kTorchStates) {
    if (find_in_type(state, type, torch.name) == nullptr) return false;
  }
  return true;
}

/// Fails for PyTorch tensors that require grad, or are lazily conjugated or negated.
/// Errors: if Python raised an exception, it stays set.
inline Error check_torch(const PythonState& state, PyObject* object) {
  for (const TorchState& torch : kTorchStates) {
    PyObject* const name = state.names[torch.name];
    const PyRef value(torch.is_method ? PyObject_CallMethodNoArgs(object, name)
                                      : PyObject_GetAttr(object, name));
    const int is_set = value ? PyObject_IsTrue(value.get()) : -1;
    if (is_set < 0) return fail_as_python();
    if (is_set > 0) return fail(Error::NotSupported, torch.refusal);
  }
  return Error::Ok;
}

/// Calls __dlpack__ for the newest version or, if the object does not accept the keywords, as
/// before DLPack 1.0. Null with Python's error set.
inline PyObject* call_dlpack(PyObject* object, PyObject* method, const ImportArgs& args) {
  const ConsumerStream stream = stream_for(object);
  if (must_stop()) return nullptr;
  PyErr_Clear();
  const PyRef positional(PyTuple_New(0));
  const PyRef keywords(PyDict_New());
  const auto add = [&](const char* name, PyObject* value) {
    const PyRef owned(value);
    return keywords && owned && PyDict_SetItemString(keywords.get(), name, value) == 0;
  };
  const Device device = args.device.value_or(Device());
  const bool copies = args.copy.value_or(false);
  const bool is_complete =
      positional &&
      add("max_version", Py_BuildValue("(II)", kDLPackVersion.major, kDLPackVersion.minor)) &&
      (!args.device.has_value() ||
       add("dl_device", Py_BuildValue("(ii)", static_cast<int>(device.type()), device.index()))) &&
      (!args.copy.has_value() || add("copy", PyBool_FromLong(copies ? 1 : 0))) &&
      (stream.number < 0 || add("stream", PyLong_FromLongLong(stream.number)));
  if (!is_complete) return nullptr;
  PyObject* const made = PyObject_Call(method, positional.get(), keywords.get());
  if (made != nullptr || copies || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return made;
  PyErr_Clear();
  PyRef old(PyObject_CallNoArgs(method));
  if (old && stream.backend != nullptr &&
      finish_status(order_after(*stream.backend, stream.otherwise)) != 0) {
    return nullptr;
  }
  return old.release();
}

/// The protocols by which an object can share its memory. Each function returns the tensor, an
/// error, or null. Null means that the object lacks the protocol, or that Python's error is set.
struct PythonImport {
  const PythonState& state;
  PyObject* object;
  const ImportArgs& args;
  const DLPackExchangeAPI* api;   // of the object's type; may be null
  mutable bool has_type = false;  // whether tenon has a type for the array interface's elements

  /// Looks up an attribute. Null without an error if the attribute does not exist; null with
  /// Python's error set if the look-up fails.
  PyRef find(const char* attribute) const {
    PyRef found(PyObject_GetAttrString(object, attribute));
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) PyErr_Clear();
    return found;
  }

  Result<TensorPtr> by_exchange_api() const {
    if (api == nullptr) return TensorPtr();
    DLManagedTensorVersioned* managed = nullptr;
    const int status = api->managed_tensor_from_py_object_no_sync(object, &managed);
    if (status != 0 || managed == nullptr) {
      if (PyErr_Occurred() == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "the exchange API returned no tensor");
      }
      return TensorPtr();
    }
    Deleter release(nullptr, ReleaseFromPython<DLManagedTensorVersioned>{managed});
    const DLPackContents contents = read_import(*managed);
    // This protocol does not wait for the work on a device; __dlpack__ does.
    const bool is_on_host =
        contents.tensor.device.device_type == static_cast<int32_t>(DeviceType::CPU);
    if (!is_on_host && PyObject_HasAttrString(object, "__dlpack__") != 0) return TensorPtr();
    return import_dlpack<Result<TensorPtr>>(args.function, contents, args.copy, args.device,
                                            args.dynamism, release);
  }

  Result<TensorPtr> by_buffer() const {
    if (PyObject_CheckBuffer(object) == 0) return TensorPtr();
    LentBuffer lent;
    Deleter release;
    const Error error = read_buffer(state, object, lent, release);
    if (error != Error::Ok) return add_context(args.function, error);
    return make_from_lent(lent, release, args);
  }

  Result<TensorPtr> by_dlpack() const {
    const PyRef method = find("__dlpack__");
    const PyRef capsule(method ? call_dlpack(object, method.get(), args) : nullptr);
    if (!capsule) return TensorPtr();
    ImportArgs asked = args;
    // JAX's arrays are immutable, but their structs, of DLPack before 1.0, cannot state that.
    if (is_jax(state, Py_TYPE(object))) asked.flags = kDLPackReadOnly;
    return import_capsule(capsule.get(), asked);
  }

  Result<TensorPtr> by_interface(const char* attribute,
                                 decltype(&read_array_interface) read) const {
    const PyRef dict = find(attribute);
    if (!dict) return TensorPtr();
    LentBuffer lent;
    Deleter release;
    const Error error = read(state, object, dict.get(), lent, release);
    has_type = lent.type != ScalarType::Undefined;
    if (error != Error::Ok) return add_context(args.function, error);
    ImportArgs asked = args;
    if (is_jax(state, Py_TYPE(object))) asked.flags = kDLPackReadOnly;
    return make_from_lent(lent, release, asked);
  }
  Result<TensorPtr> by_cuda_array_interface() const {
    return by_interface("__cuda_array_interface__", &read_cuda_array_interface);
  }
  Result<TensorPtr> by_array_interface() const {
    return by_interface("__array_interface__", &read_array_interface);
  }

  /// A tensor over the array that __array__() returns; the call may read a file. Null if the object
  /// lacks __array__, or __array__() returns the object itself.
  Result<TensorPtr> by_array() const {
    const PyRef method = find("__array__");
    if (!method) return TensorPtr();
    const PyRef no_positional(PyTuple_New(0));
    const PyRef keywords(args.copy.value_or(true) ? nullptr
                                                  : Py_BuildValue("{sO}", "copy", Py_False));
    if (!no_positional || PyErr_Occurred() != nullptr) return TensorPtr();
    const PyRef array(PyObject_Call(method.get(), no_positional.get(), keywords.get()));
    if (!array || array.get() == object) return TensorPtr();
    const DLPackExchangeAPI* const its_api = find_exchange_api(state, Py_TYPE(array.get()));
    return PythonImport{state, array.get(), args, its_api}.run(false);
  }

  /// Tries the protocols in turn until one returns a tensor. If all fail, returns the error of the
  /// last one, but not the error of an __array_interface__ whose type is unknown.
  Result<TensorPtr> run(bool may_convert = true) const {
    if (is_torch_type(state, Py_TYPE(object))) {
      const Error error = check_torch(state, object);
      if (error != Error::Ok) return add_context(args.function, error);
    }
    if (api == nullptr) {  // tried first, since it is the most frequent: a tenth faster
      Result<TensorPtr> made = by_buffer();
      if ((made.ok() && *made != nullptr) || must_stop()) return made;
      PyErr_Clear();
    }
    using Way = Result<TensorPtr> (PythonImport::*)() const;
    constexpr Way kWays[] = {&PythonImport::by_exchange_api, &PythonImport::by_buffer,
                             &PythonImport::by_dlpack, &PythonImport::by_cuda_array_interface,
                             &PythonImport::by_array_interface};
    Result<TensorPtr> reason(nullptr);
    TakenPythonError reason_of_python;
    for (const Way way : kWays) {
      Result<TensorPtr> made = (this->*way)();
      if (made.ok()) {
        if (*made != nullptr) return made;
        if (PyErr_Occurred() == nullptr) continue;
        made = add_context(args.function, fail_as_python());
      }
      if (must_stop()) return made;
      if (way == &PythonImport::by_array_interface && !reason.ok() && !has_type) break;
      reason = std::move(made);
      reason_of_python = TakenPythonError::take();
    }
    if (reason.ok() && !may_convert) {
      reason = add_context(args.function,
                           fail(Error::InvalidType, "__array__() returned a '",
                                Py_TYPE(object)->tp_name, "' object, which is not an array"));
    } else if (reason.ok()) {
      Result<TensorPtr> made = by_array();
      if (!made.ok() || *made != nullptr) return made;
      if (PyErr_Occurred() != nullptr) return add_context(args.function, fail_as_python());
      reason =
          add_context(args.function, fail(Error::InvalidType, "'", Py_TYPE(object)->tp_name,
                                          "' object has neither __dlpack__ nor the buffer protocol "
                                          "nor an array interface nor __array__"));
    }
    reason_of_python.restore();
    return reason;
  }
};

/// Makes a tensor over the memory of a tenon.Tensor.
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
  return stay_at_end([&]() -> Result<TensorPtr> {
    const PythonState* const state = python_state();
    if (state == nullptr) return add_context(args.function, fail_as_python());
    if (Py_TYPE(object) == state->tensor_type) {
      return import_own(python_tensor(object).tensor(), args);
    }
    if (PyCapsule_CheckExact(object) != 0) return import_capsule(object, args);
    return PythonImport{*state, object, args, find_exchange_api(*state, Py_TYPE(object))}.run();
  });
}

}  // namespace detail

/// Makes a tensor over the memory of a Python object, with the object's sizes, strides, dtype and
/// device. The tensor is read-only if the object is.
///
/// Tries these in turn, until one returns a tensor: tenon's own objects; capsules, as
/// from_capsule() does; the C exchange API of the object's type (PyTorch's tensors); the buffer
/// protocol (NumPy's arrays, bytes, array.array, memoryview); __dlpack__(), first for version 1.3
/// and, if that raises TypeError and no copy is requested, as before 1.0; __cuda_array_interface__
/// (Numba's arrays); __array_interface__, with an address or a row-major buffer (PIL's images),
/// also with ml_dtypes' types; the result of __array__(), if the object has none of the others
/// (pandas' Series, h5py's datasets). `copy` and `device`: as in from_dlpack(); both are passed to
/// __dlpack__(). If `copy` is false, __array__() is called with copy=False.
///
/// Ownership: the tensor keeps the holder of the memory, usually the object, alive; of a
/// tenon.Tensor, it keeps the memory. If the tensor is dropped after the interpreter has ended, the
/// holder is leaked.
/// Errors: InvalidType (an object that has none of these); NotSupported (a PyTorch tensor that
/// requires grad, or is lazily conjugated or negated); AccessFailed (a sub-interpreter); those of
/// from_dlpack(); an exception that Python raised, with its text. After an error a capsule is not
/// consumed. Leaves no Python error set.
/// Threads: needs the GIL; the tensor may be dropped on any thread, with the GIL or without.
/// Streams: device memory is ready for the next work of the DeviceBackend that is registered for
/// the device. If there is none, the memory is ready on the device's default stream, or on the
/// stream that a __cuda_array_interface__ names.
/// Source: torch.from_dlpack, numpy.asarray.
inline constexpr detail::FromObject<TensorPtr> from_python{"from_python", &detail::import_python};
inline constexpr detail::FromObject<Result<TensorPtr>> try_from_python{"try_from_python",
                                                                       &detail::import_python};

/// from_python() as CPython's functions report errors: returns null with Python's error set. The
/// error is the exception that Python raised, such as an interrupt; ImportError in a
/// sub-interpreter; else the exception of set_python_error().
inline TensorPtr from_python_or_set_error(
    PyObject* object, detail::Optional<bool> copy = none, detail::Optional<Device> device = none,
    TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) noexcept {
  return detail::finish_with_python_error(
      detail::import_python(object, {detail::kForPython, copy, device, dynamism}));
}

namespace detail {

/// Whether an object has a protocol that from_python() knows. False for a class, although it has
/// the methods of its objects as attributes.
TENON_COLD inline bool is_array(PyObject* object) {
  return PyType_Check(object) == 0 &&
         (PyCapsule_CheckExact(object) != 0 || PyObject_CheckBuffer(object) != 0 ||
          PyObject_HasAttrString(object, "__dlpack__") != 0 ||
          PyObject_HasAttrString(object, "__cuda_array_interface__") != 0 ||
          PyObject_HasAttrString(object, "__array_interface__") != 0 ||
          PyObject_HasAttrString(object, "__array__") != 0);
}

/// An argument of a function that pybind11 or nanobind binds: either a tensor, or Python's error.
struct PythonArgument {
  TensorPtr tensor;
  TakenPythonError refusal;

  /// Converts the object, and returns whether it matches this parameter. It matches if it became a
  /// tensor. With `convert`, in the binder's last round, an array that was refused matches too, and
  /// its error is final. None and other objects that are not arrays never match. Leaves no Python
  /// error set. Never copies, so that the caller sees writes to the tensor.
  ///
  /// An interrupt during the conversion counts as a refusal: no other overload is tried.
  bool load(PyObject* object, bool convert) noexcept {
    if (object == Py_None) return false;
    tensor = from_python_or_set_error(object, false);
    if (tensor != nullptr) return true;
    const bool is_interrupt = PyErr_ExceptionMatches(PyExc_Exception) == 0;
    TakenPythonError error = TakenPythonError::take();
    if (!is_interrupt && !(convert && stay_at_end([&] { return is_array(object); }))) return false;
    refusal = std::move(error);
    return true;
  }
};

/// Returns the argument as a TensorPtr, a Tensor or a std::shared_ptr<Tensor>.
template <class T>
T take_argument(TensorPtr& tensor) {
  if constexpr (std::is_same_v<T, TensorPtr>) {
    return std::move(tensor);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return *tensor;
  } else {
    return std::make_shared<Tensor>(*tensor);
  }
}

/// to_python() for the result of a bound function.
inline PyObject* return_tensor(TensorArg tensor) noexcept { return to_python(tensor); }
inline PyObject* return_tensor(const std::shared_ptr<Tensor>& tensor) noexcept {
  return to_python(tensor != nullptr ? *tensor : Tensor());
}

}  // namespace detail
TENON_END_NAMESPACE
