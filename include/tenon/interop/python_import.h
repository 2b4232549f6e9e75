// SPDX-License-Identifier: MIT
// from_python: a tensor over the memory of whatever Python object has some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/interop/python_capsule.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_gil.h"
#include "tenon/interop/python_memory.h"
#include "tenon/interop/python_object.h"
#include "tenon/interop/python_state.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What asking an object in one of the ways has come to.
enum class Answer : uint8_t {
  Offer,    ///< the offer is filled in
  Absent,   ///< the object does not know this way
  Refused,  ///< nothing that can be used came of it; the reason is kept
  Fatal,    ///< the same, and no other way is to be tried
};

/// Asks an object for its memory, one way after another.
class PythonRequest {
 public:
  PythonRequest(PythonState& state, PyObject* object, Optional<bool> copy,
                Optional<Device> device) noexcept
      : state_(state), object_(object), copy_(copy), device_(device) {}

  /// The first offer that can be used.
  Error ask(PythonOffer& offer) noexcept {
    Answer answer = ask_exchange_api(offer);
    if (is_open(answer)) answer = ask_buffer(offer);
    if (is_open(answer)) answer = ask_dlpack(offer);
    if (is_open(answer)) answer = ask_array_interface(offer);
    return answer == Answer::Offer ? Error::Ok : reason();
  }

 private:
  static bool is_open(Answer answer) noexcept {
    return answer == Answer::Absent || answer == Answer::Refused;
  }

  /// Why there is no offer.
  TENON_COLD Error reason() noexcept {
    if (error_ == Error::Ok) {
      return fail(
          Error::InvalidType,
          {"'", Py_TYPE(object_)->tp_name,
           "' object has neither __dlpack__ nor the buffer protocol nor __array_interface__"});
    }
    std::memcpy(error_text().text, text_, sizeof text_);
    if (python_error_) python_error_.restore();
    return error_;
  }

  /// Keeps the reason why a way led nowhere, in place of an earlier one's: it was asked for more.
  TENON_COLD Answer refused(Error error) noexcept {
    const bool is_fatal =
        PyErr_Occurred() != nullptr && (PyErr_ExceptionMatches(PyExc_Exception) == 0 ||
                                        PyErr_ExceptionMatches(PyExc_MemoryError) != 0);
    error_ = error;
    std::memcpy(text_, error_text().text, sizeof text_);
    python_error_ = TakenPythonError();
    return is_fatal ? Answer::Fatal : Answer::Refused;
  }

  /// An offer, if from_dlpack() will not refuse it.
  Answer checked(PythonOffer& offer) noexcept {
    const Error error = check_offer(offer.contents, copy_, device_);
    return error == Error::Ok ? Answer::Offer : refused(error, offer);
  }
  /// Releases what came as well. That comes second, since it may call anything.
  Answer refused(Error error, PythonOffer& offer) noexcept {
    const Answer answer = refused(error);
    offer.release.reset();
    return answer;
  }

  /// Whether an attribute, or what a method gives, is true; -1 with an error set.
  static int is_true(PyRef value) noexcept { return value ? PyObject_IsTrue(value.get()) : -1; }
  int is_method_true(PythonName name) noexcept {
    return is_true(PyRef(PyObject_CallMethodNoArgs(object_, state_.name(name))));
  }

  /// What a tensor of PyTorch's is beyond its memory. DLPack says nothing of it, the exchange API gives
  /// the memory all the same, and __dlpack__ forgets of negation.
  Error check_torch() noexcept {
    const int watched =
        is_true(PyRef(PyObject_GetAttr(object_, state_.name(PythonName::RequiresGrad))));
    if (watched > 0) {
      return fail(Error::NotSupported,
                  {"the tensor requires grad, and writes through tenon would pass autograd by; "
                   "its detach() shares the memory"});
    }
    const int conjugated = watched < 0 ? watched : is_method_true(PythonName::IsConj);
    if (conjugated > 0) {
      return fail(Error::NotSupported, {"the tensor is to be conjugated when it is read; "
                                        "resolve_conj() does so now"});
    }
    const int negated = conjugated < 0 ? conjugated : is_method_true(PythonName::IsNeg);
    if (negated > 0) {
      return fail(Error::NotSupported,
                  {"the tensor is to be negated when it is read; resolve_neg() does so now"});
    }
    return negated < 0 ? fail_as_python() : Error::Ok;
  }

  Answer ask_exchange_api(PythonOffer& offer) noexcept {
    const PythonState::Api known = exchange_api_of(state_, Py_TYPE(object_));
    if (known.is_torch) {
      const Error error = check_torch();
      if (TENON_UNLIKELY(error != Error::Ok)) {
        static_cast<void>(refused(error));
        return Answer::Fatal;
      }
    }
    const DLPackExchangeAPI* const api = known.api;
    if (api == nullptr) return Answer::Absent;
    DLManagedTensorVersioned* managed = nullptr;
    if (TENON_UNLIKELY(api->managed_tensor_from_py_object_no_sync(object_, &managed) != 0 ||
                       managed == nullptr)) {
      return refused(PyErr_Occurred() != nullptr
                         ? fail_as_python()
                         : fail(Error::AccessFailed, {"the exchange API gave no tensor"}));
    }
    offer.take(managed);
    // This way nobody waits for a device; __dlpack__ does.
    const bool is_on_host =
        offer.contents.tensor.device.device_type == static_cast<int32_t>(DeviceType::CPU);
    if (TENON_UNLIKELY(!is_on_host) && has_dlpack()) {
      offer.release.reset();
      return Answer::Absent;
    }
    return checked(offer);
  }

  Answer ask_buffer(PythonOffer& offer) noexcept {
    if (PyObject_CheckBuffer(object_) == 0) return Answer::Absent;
    const Error error = take_buffer(state_, object_, offer);
    if (TENON_UNLIKELY(error != Error::Ok)) return refused(error, offer);
    return TENON_UNLIKELY(device_.has_value()) ? checked(offer) : Answer::Offer;
  }

  Answer ask_dlpack(PythonOffer& offer) noexcept {
    const PyRef method(PyObject_GetAttr(object_, state_.name(PythonName::Dlpack)));
    if (!method) return absent_attribute();
    PyRef capsule(call_dlpack(method.get()));
    if (!capsule) return refused(fail_as_python());
    const Error error = open_capsule(capsule.get(), copy_, device_, offer);
    if (TENON_UNLIKELY(error != Error::Ok)) return refused(error);
    if (exchange_api_of(state_, Py_TYPE(object_)).is_jax) {
      offer.contents.flags |= kDLPackReadOnly;
    }
    offer.is_copied = was_copy_asked_ && (offer.contents.flags & kDLPackIsCopied) != 0;
    return Answer::Offer;
  }

  Answer ask_array_interface(PythonOffer& offer) noexcept {
    const PyRef dict(PyObject_GetAttr(object_, state_.name(PythonName::ArrayInterface)));
    if (!dict) return absent_attribute();
    const Error error = take_array_interface(state_, object_, dict.get(), offer);
    if (error == Error::Ok) return checked(offer);
    if (error_ == Error::Ok) return refused(error, offer);
    PyErr_Clear();  // the other ways' reason is the better one
    return Answer::Refused;
  }

  /// What an attribute that could not be read means.
  Answer absent_attribute() noexcept {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return refused(fail_as_python());
    PyErr_Clear();
    return Answer::Absent;
  }
  bool has_dlpack() noexcept {
    const PyRef method(PyObject_GetAttr(object_, state_.name(PythonName::Dlpack)));
    PyErr_Clear();
    return static_cast<bool>(method);
  }

  /// Calls __dlpack__ for the newest version, and as it was before 1.0 where that is not understood.
  PyObject* call_dlpack(PyObject* method) noexcept {
    PyRef values[kMostKeywords];
    PythonName names[kMostKeywords];
    size_t count = 0;
    const auto add = [&](PythonName name, PyObject* value) {
      names[count] = name;
      values[count++] = PyRef(value);
      return value != nullptr;
    };
    bool complete = add(PythonName::MaxVersion, new_reference(state_.our_version));
    if (TENON_UNLIKELY(device_.has_value())) {
      const Device device = device_.value_or(Device());
      complete =
          complete && add(PythonName::DlDevice,
                          Py_BuildValue("(ii)", static_cast<int>(device.type()), device.index()));
    }
    if (copy_.has_value()) {
      complete = complete && add(PythonName::Copy, PyBool_FromLong(copy_.value_or(false)));
    }
    int stream = -1;
    complete = complete && find_stream(stream);
    if (stream >= 0) complete = complete && add(PythonName::Stream, PyLong_FromLong(stream));
    if (!complete) return nullptr;
    PyObject* const made = call_with_keywords(method, names, values, count);
    was_copy_asked_ = copy_.value_or(false);
    if (made != nullptr || was_copy_asked_ || PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
      return made;
    }
    PyErr_Clear();
    return PyObject_CallNoArgs(method);
  }

  static constexpr size_t kMostKeywords = 4;

  PyObject* call_with_keywords(PyObject* method, const PythonName* names, const PyRef* values,
                               size_t count) noexcept {
    PyRef keywords;
    if (count > 1) {
      keywords = PyRef(PyTuple_New(static_cast<Py_ssize_t>(count)));
      if (!keywords) return nullptr;
      for (size_t i = 0; i < count; ++i) {
        PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i),
                         new_reference(state_.name(names[i])));
      }
    }
    PyObject* arguments[1 + kMostKeywords] = {nullptr};  // the first is the callee's to use
    for (size_t i = 0; i < count; ++i) arguments[1 + i] = values[i].get();
    return PyObject_Vectorcall(method, arguments + 1, PY_VECTORCALL_ARGUMENTS_OFFSET,
                               keywords ? keywords.get() : state_.version_keyword);
  }

  /// The stream on which the data is to be ready, the device's default one, which tenon's backends
  /// use; -1 for the memory of the host, which has none. False when that is interrupted.
  bool find_stream(int& stream) noexcept {
    const PyRef device(PyObject_CallMethodNoArgs(object_, state_.name(PythonName::DlpackDevice)));
    long type = 0;
    if (device && PyTuple_Check(device.get()) != 0 && PyTuple_GET_SIZE(device.get()) == 2) {
      type = PyLong_AsLong(PyTuple_GET_ITEM(device.get(), 0));
    }
    // Before 1.0, some producers had no such method.
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) return false;
    PyErr_Clear();
    if (type == static_cast<long>(DeviceType::CUDA)) stream = 1;
    if (type == static_cast<long>(DeviceType::ROCM)) stream = 0;
    return true;
  }

  PythonState& state_;
  PyObject* object_;
  Optional<bool> copy_;
  Optional<Device> device_;
  bool was_copy_asked_ = false;
  Error error_ = Error::Ok;
  char text_[kMessageCapacity];
  TakenPythonError python_error_{nullptr};
};

/// Shares the memory of one of tenon's own objects.
inline Result<TensorPtr> import_own(const char* function, const PythonTensor& object,
                                    Optional<bool> copy, Optional<Device> device,
                                    TensorShapeDynamism dynamism) {
  const TensorArg source(object.tensor());
  const bool moves = device.has_value() && device.value_or(Device()) != fields(source).device;
  if (copy.value_or(false) || moves) {
    Result<DLManagedTensorVersioned*> exported =
        export_dlpack<Result<DLManagedTensorVersioned*>, DLManagedTensorVersioned>(function, source,
                                                                                   false);
    if (!exported.ok()) return exported.error();
    return FromDLPack<Result<TensorPtr>>{function}(*exported, copy, device, dynamism);
  }
  Made<Result<TensorPtr>> made(metadata_like(source));
  return made.finish(function, make_whole_view(source, dynamism, made.draft()));
}

inline Result<TensorPtr> import_python(const char* function, PyObject* object, Optional<bool> copy,
                                       Optional<Device> device, TensorShapeDynamism dynamism) {
  PythonState* const state = python_state();
  if (TENON_UNLIKELY(state == nullptr)) return blame(function, fail_as_python());
  if (Py_TYPE(object) == state->tensor_type) {
    return import_own(function, *reinterpret_cast<PythonTensor*>(object), copy, device, dynamism);
  }
  if (PyCapsule_CheckExact(object) != 0) {
    return import_capsule(function, object, copy, device, dynamism);
  }
  PythonOffer offer;
  PythonRequest request(*state, object, copy, device);
  const Error error = request.ask(offer);
  if (TENON_UNLIKELY(error != Error::Ok)) return blame(function, error);
  return accept_offer(function, offer, copy, device, dynamism);
}

}  // namespace detail

template <class Out>
struct FromPython {
  const char* function;

  /// A tensor over the memory of a Python object: the same sizes, strides, dtype and device, read-only
  /// where the object says so.
  ///
  /// Asked in turn, until one gives something that can be used: tenon's own objects; capsules, as by
  /// from_capsule(); the C exchange API of the object's type (PyTorch's); the buffer protocol (NumPy's
  /// arrays, bytes, array.array, memoryview); __dlpack__(), for version 1.3, and as it was before 1.0
  /// where that raises TypeError, unless a copy is asked for; __array_interface__. `copy` and `device`
  /// are those of from_dlpack(), and of __dlpack__().
  ///
  /// Ownership: keeps what holds the memory, mostly the object, until the tensor lets go of it; of a
  /// tensor of tenon's, that tensor's memory. After the interpreter's end, it is leaked.
  /// Errors: InvalidType for an object that has none of these; NotSupported for PyTorch's tensors
  /// that require grad or are conjugated or negated lazily; what Python raised, with its text;
  /// AccessFailed in a sub-interpreter; those of from_dlpack(). A capsule that is refused is not
  /// consumed. Python's error is not set.
  /// Threads: needs the GIL; the tensor may be dropped on any thread, with the GIL or without. Device
  /// memory is ready on the device's default stream.
  /// Source: torch.from_dlpack, numpy.asarray.
  Out operator()(PyObject* object, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return detail::finish_for_cxx<Out>(
        detail::import_python(function, object, copy, device, dynamism));
  }
};

inline constexpr FromPython<TensorPtr> from_python{"from_python"};
inline constexpr FromPython<Result<TensorPtr>> try_from_python{"try_from_python"};

/// from_python() as CPython's functions are: null, with Python's error set, when it fails: what
/// Python raised, an interrupt say, ImportError in a sub-interpreter, else that of
/// set_python_error().
inline TensorPtr from_python_or_set_error(
    PyObject* object, Optional<bool> copy = none, Optional<Device> device = none,
    TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) noexcept {
  return detail::finish_with_python_error(
      detail::import_python(detail::kForPython, object, copy, device, dynamism));
}

TENON_END_NAMESPACE
