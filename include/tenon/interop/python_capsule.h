// SPDX-License-Identifier: MIT
// DLPack's capsules: to_capsule, from_capsule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/exchange/dlpack_check.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_gil.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/place.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

template <class Managed>
inline constexpr const char* kCapsuleName =
    is_versioned_v<Managed> ? "dltensor_versioned" : "dltensor";
/// That of one whose struct somebody has taken.
template <class Managed>
inline constexpr const char* kUsedCapsuleName =
    is_versioned_v<Managed> ? "used_dltensor_versioned" : "used_dltensor";

/// Releases the struct unless somebody has taken it.
template <class Managed>
void destroy_capsule(PyObject* capsule) noexcept {
  if (PyCapsule_IsValid(capsule, kCapsuleName<Managed>) == 0) return;
  const KeepPythonError keep;
  DLPackDeleter()(static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsuleName<Managed>)));
}

/// A new capsule, or null with an error set. Takes the struct, also on failure.
template <class Managed>
PyObject* make_capsule(Managed* managed) noexcept {
  PyObject* const capsule =
      PyCapsule_New(managed, kCapsuleName<Managed>, &destroy_capsule<Managed>);
  if (TENON_UNLIKELY(capsule == nullptr)) {
    const KeepPythonError keep;
    DLPackDeleter()(managed);
  }
  return capsule;
}

/// make_capsule() of what try_to_dlpack() gave.
template <class Managed>
PyObject* make_capsule(const Result<Managed*>& managed) noexcept {
  if (managed.ok()) return make_capsule(*managed);
  set_python_error(managed.error(), managed.message());
  return nullptr;
}

/// A tensor that Python offers: its memory described, and what releases it. `contents` may refer to
/// the other members, so it stays where it is.
struct PythonOffer {
  PythonOffer() noexcept {}  // `dims` stays as it is
  PythonOffer(const PythonOffer&) = delete;
  PythonOffer& operator=(const PythonOffer&) = delete;

  DLPackContents contents;
  Deleter release;
  bool is_copied = false;  // for us
  int64_t dims[2 * kMaxDims];

  template <class Managed>
  void take(Managed* managed) noexcept {
    contents = read_dlpack(*managed);
    release.emplace(nullptr, ReleaseDLPack<Managed>{managed});
  }
};

/// The tensor, or null with Python's error set: what Python raised, or else what `made` says.
inline TensorPtr finish_with_python_error(Result<TensorPtr>&& made) noexcept {
  if (made.ok()) return *std::move(made);
  if (PyErr_Occurred() == nullptr) set_python_error(made.error(), made.message());
  return nullptr;
}

/// The tensor, or the error, thrown or as a Result. None is left of Python's, whose text it has.
template <class Out>
Out finish_for_cxx(Result<TensorPtr>&& made) {
  if (TENON_UNLIKELY(!made.ok())) {
    PyErr_Clear();
    if constexpr (!IsResult<Out>::value) raise_message(made.error(), made.message());
  }
  if constexpr (IsResult<Out>::value) {
    return std::move(made);
  } else {
    return *std::move(made);
  }
}

/// What is left to do with an offer.
inline Result<TensorPtr> accept_offer(const char* function, PythonOffer& offer, Optional<bool> copy,
                                      Optional<Device> device, TensorShapeDynamism dynamism) {
  if (offer.is_copied) copy = none;
  return import_dlpack<Result<TensorPtr>>(function, offer.contents, copy, device, dynamism,
                                          offer.release);
}

/// All that an import checks before it takes over: when this is Ok, only memory can be missing, or the
/// copy between devices fail.
inline Error check_offer(const DLPackContents& contents, const Optional<bool>& copy,
                         const Optional<Device>& device) noexcept {
  DLPackPlan plan;
  TENON_TRY(plan_import(contents, copy, device, plan));
  if (!plan.must_copy) return Error::Ok;
  const Device there = device.value_or(plan.device);
  Backend* backend = nullptr;
  if (TENON_UNLIKELY(!plan.device.is_host_accessible())) {
    TENON_TRY(find_registered(plan.device, "the data", backend));
  }
  return TENON_UNLIKELY(there != plan.device && !there.is_cpu())
             ? find_registered(there, "the copy", backend)
             : Error::Ok;
}

/// Takes the struct out of a capsule of its kind, if it can be imported; else the capsule keeps it.
template <class Managed>
Error open_capsule_as(PyObject* capsule, Optional<bool> copy, Optional<Device> device,
                      PythonOffer& offer) noexcept {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsuleName<Managed>));
  TENON_TRY(check_offer(read_dlpack(*managed), copy, device));
  if (PyCapsule_SetName(capsule, kUsedCapsuleName<Managed>) != 0) return fail_as_python();
  offer.take(managed);
  return Error::Ok;
}
inline Error open_capsule(PyObject* capsule, Optional<bool> copy, Optional<Device> device,
                          PythonOffer& offer) noexcept {
  using Versioned = DLManagedTensorVersioned;
  using Legacy = DLManagedTensor;
  if (PyCapsule_IsValid(capsule, kCapsuleName<Versioned>) != 0) {
    return open_capsule_as<Versioned>(capsule, copy, device, offer);
  }
  if (PyCapsule_IsValid(capsule, kCapsuleName<Legacy>) != 0) {
    return open_capsule_as<Legacy>(capsule, copy, device, offer);
  }
  if (PyCapsule_IsValid(capsule, kUsedCapsuleName<Versioned>) != 0 ||
      PyCapsule_IsValid(capsule, kUsedCapsuleName<Legacy>) != 0) {
    return fail(Error::InvalidArgument,
                {"the capsule was consumed before; a producer's __dlpack__() makes a new one"});
  }
  if (PyCapsule_CheckExact(capsule) == 0) {
    return fail(Error::InvalidType, {"'", Py_TYPE(capsule)->tp_name, "' object is no capsule"});
  }
  const char* const name = PyCapsule_GetName(capsule);
  PyErr_Clear();  // of a capsule without a pointer
  return fail(Error::InvalidType, {"the capsule's name is \"", name == nullptr ? "" : name,
                                   "\", expected \"dltensor\" or \"dltensor_versioned\""});
}

/// from_capsule() for whoever finishes it.
inline Result<TensorPtr> import_capsule(const char* function, PyObject* capsule,
                                        Optional<bool> copy, Optional<Device> device,
                                        TensorShapeDynamism dynamism) {
  PythonOffer offer;
  const Error error = open_capsule(capsule, copy, device, offer);
  if (TENON_UNLIKELY(error != Error::Ok)) return blame(function, error);
  return accept_offer(function, offer, copy, device, dynamism);
}

}  // namespace detail

/// A DLPack capsule, as __dlpack__() returns it: "dltensor_versioned", or "dltensor" for whoever knows
/// only DLPack before 1.0.
///
/// Ownership: a new reference. It shares the memory, as a DLPack struct does; whoever takes the struct
/// out renames the capsule and releases it, else the capsule does.
/// Errors: null, with Python's error set, for those of to_dlpack() and to_dlpack_legacy(): BufferError
/// mostly.
/// Threads: needs the GIL. Source: torch.utils.dlpack.to_dlpack.
inline PyObject* to_capsule(TensorArg t, bool versioned = true) noexcept {
  return versioned ? detail::make_capsule(detail::export_dlpack<Result<DLManagedTensorVersioned*>,
                                                                DLManagedTensorVersioned>(
                         detail::kForPython, t, false))
                   : detail::make_capsule(
                         detail::export_legacy<Result<DLManagedTensor*>, DLManagedTensor>(
                             detail::kForPython, t, LegacyReadOnly::Refuse));
}

template <class Out>
struct FromCapsule {
  const char* function;

  /// A tensor over what is in a DLPack capsule of either kind, which is consumed by that: its name
  /// becomes "used_…". `copy` and `device` are those of from_dlpack().
  ///
  /// Ownership: takes the struct, not the capsule. A struct that is refused stays in the capsule, which
  /// releases it.
  /// Errors: InvalidArgument for a capsule that was consumed before; InvalidType for what is no
  /// such capsule; those of from_dlpack(). Python's error is not set.
  /// Threads: needs the GIL; the tensor may be dropped on any thread, without it.
  /// Source: torch.utils.dlpack.from_dlpack.
  Out operator()(PyObject* capsule, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return detail::finish_for_cxx<Out>(
        detail::import_capsule(function, capsule, copy, device, dynamism));
  }
};

inline constexpr FromCapsule<TensorPtr> from_capsule{"from_capsule"};
inline constexpr FromCapsule<Result<TensorPtr>> try_from_capsule{"try_from_capsule"};

/// from_capsule() as CPython's functions are: null, with Python's error set, when it fails:
/// ValueError for a capsule that was consumed before, and those of set_python_error().
inline TensorPtr from_capsule_or_set_error(
    PyObject* capsule, Optional<bool> copy = none, Optional<Device> device = none,
    TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) noexcept {
  return detail::finish_with_python_error(
      detail::import_capsule(detail::kForPython, capsule, copy, device, dynamism));
}

TENON_END_NAMESPACE
