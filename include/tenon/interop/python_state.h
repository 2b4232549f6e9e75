// SPDX-License-Identifier: MIT
// What is looked up once: names, tenon's type, and who has an exchange API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/interop/python_gil.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The attributes, keywords and keys of the protocols.
enum class PythonName : uint8_t {
  Dlpack,
  DlpackDevice,
  ExchangeApi,
  ArrayInterface,
  MaxVersion,
  Copy,
  DlDevice,
  Stream,
  Shape,
  Typestr,
  Data,
  Strides,
  Version,
  Mask,
  Offset,
  RequiresGrad,
  IsConj,
  IsNeg,
  Count,
};
inline constexpr size_t kPythonNames = static_cast<size_t>(PythonName::Count);
inline constexpr const char* kPythonNameTexts[] = {"__dlpack__",
                                                   "__dlpack_device__",
                                                   "__dlpack_c_exchange_api__",
                                                   "__array_interface__",
                                                   "max_version",
                                                   "copy",
                                                   "dl_device",
                                                   "stream",
                                                   "shape",
                                                   "typestr",
                                                   "data",
                                                   "strides",
                                                   "version",
                                                   "mask",
                                                   "offset",
                                                   "requires_grad",
                                                   "is_conj",
                                                   "is_neg"};
static_assert(sizeof kPythonNameTexts / sizeof *kPythonNameTexts == kPythonNames);

/// The interpreter's objects, which are dropped when it ends. A program may start it again; `run`
/// tells those who hold something of an earlier one.
/// Threads: read and written with the GIL.
struct PythonState {
  /// What a type's exchange API is, null for none. The type is kept, so that no other gets its address.
  /// Beside it, whether its objects are lazy or watched as PyTorch's are.
  struct Api {
    PyTypeObject* type;
    const DLPackExchangeAPI* api;
    bool is_torch;
    bool is_jax;  // immutable, which its __dlpack__, older than 1.0, does not say
  };
  static constexpr size_t kApis = 16;

  bool is_alive;
  unsigned run;
  PyObject* names[kPythonNames];
  PyObject* our_version;      // (1, 3)
  PyObject* version_keyword;  // ("max_version",)
  PyTypeObject* tensor_type;  // made when it is first needed, see python_object.h
  Api apis[kApis];            // by a hash of the type's address

  PyObject* name(PythonName which) const noexcept { return names[static_cast<size_t>(which)]; }

  void drop() noexcept {
    for (PyObject*& text : names) Py_CLEAR(text);
    Py_CLEAR(our_version);
    Py_CLEAR(version_keyword);
    Py_CLEAR(tensor_type);
    for (Api& known : apis) {
      known.api = nullptr;
      Py_CLEAR(known.type);
    }
  }
};

/// Each shared library that hides its symbols has its own, and its own type.
inline PythonState& the_python_state() noexcept {
  static PythonState state{};
  return state;
}

/// Drops what belongs to the interpreter, which is there still.
inline void end_python_state(PyObject*) noexcept {
  PythonState& state = the_python_state();
  state.is_alive = false;
  ++state.run;
  gil_gate().is_open = false;
  gil_gate().closer = nullptr;
  state.drop();
}

/// Fills the state; null with an error set.
TENON_COLD inline PythonState* start_python_state(PythonState& state) noexcept {
  PythonState made{};
  bool complete = open_gil_gate();
  for (size_t i = 0; complete && i < kPythonNames; ++i) {
    made.names[i] = PyUnicode_InternFromString(kPythonNameTexts[i]);
    complete = made.names[i] != nullptr;
  }
  if (complete) {
    made.our_version = Py_BuildValue("(II)", kDLPackVersion.major, kDLPackVersion.minor);
    made.version_keyword = PyTuple_Pack(1, made.name(PythonName::MaxVersion));
  }
  // Another thread may have done it meanwhile: an import lets others run.
  if (!state.is_alive && made.our_version != nullptr && made.version_keyword != nullptr) {
    const PyRef owner(PyCapsule_New(&state, nullptr, &end_python_state));
    const PyRef key(PyLong_FromVoidPtr(&state));
    PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());  // borrowed
    if (owner && key && dict != nullptr && PyDict_SetItem(dict, key.get(), owner.get()) == 0) {
      made.run = state.run;
      made.is_alive = true;
      state = made;  // until the interpreter drops the capsule
      return &state;
    }
  }
  if (!state.is_alive && PyErr_Occurred() == nullptr) PyErr_NoMemory();
  const bool failed = PyErr_Occurred() != nullptr;
  const KeepPythonError keep;
  made.drop();
  return failed ? nullptr : &state;
}

/// Null with an error set: in a sub-interpreter, since a tensor is dropped on any thread, and
/// PyGILState_Ensure() knows the main interpreter alone; and when there is no memory.
inline PythonState* python_state() noexcept {
  if (TENON_UNLIKELY(PyInterpreterState_Get() != PyInterpreterState_Main())) {
    PyErr_SetString(PyExc_ImportError,
                    "tenon works in Python's main interpreter alone, "
                    "not in sub-interpreters");
    return nullptr;
  }
  PythonState& state = the_python_state();
  return state.is_alive ? &state : start_python_state(state);
}

/// The newest table of a major version that tenon knows, among those linked; null for none.
inline const DLPackExchangeAPI* known_exchange_api(const void* table) noexcept {
  auto* header = static_cast<const DLPackExchangeAPIHeader*>(table);
  while (header != nullptr && header->version.major != kDLPackVersion.major) {
    header = header->version.major > kDLPackVersion.major ? header->prev_api : nullptr;
  }
  auto* const api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  return api == nullptr || api->managed_tensor_from_py_object_no_sync == nullptr ? nullptr : api;
}

TENON_COLD inline const DLPackExchangeAPI* look_up_exchange_api(const PythonState& state,
                                                                PyTypeObject* type) noexcept {
  const PyRef capsule(
      PyObject_GetAttr(reinterpret_cast<PyObject*>(type), state.name(PythonName::ExchangeApi)));
  if (!capsule) {
    PyErr_Clear();
    return nullptr;
  }
  constexpr const char* kName = "dlpack_exchange_api";
  if (PyCapsule_IsValid(capsule.get(), kName) == 0) return nullptr;
  return known_exchange_api(PyCapsule_GetPointer(capsule.get(), kName));
}

/// Whether a type is one of jaxlib's.
inline bool is_jax_type(PyObject* type) noexcept {
  const PyRef module(PyObject_GetAttrString(type, "__module__"));
  const char* const name =
      module && PyUnicode_Check(module.get()) != 0 ? PyUnicode_AsUTF8(module.get()) : nullptr;
  PyErr_Clear();
  return name != nullptr && std::strncmp(name, "jaxlib", 6) == 0;
}

/// The exchange API of a type; null for none. Looked up once for each type, as DLPack allows: what is
/// given to a type after its first object came here is not seen.
inline PythonState::Api exchange_api_of(PythonState& state, PyTypeObject* type) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(type);
  PythonState::Api& known = state.apis[(address >> 4 ^ address >> 10) % PythonState::kApis];
  if (known.type == type) return known;
  auto* const object = reinterpret_cast<PyObject*>(type);
  const PythonState::Api found{
      type, look_up_exchange_api(state, type),
      PyObject_HasAttr(object, state.name(PythonName::RequiresGrad)) != 0 &&
          PyObject_HasAttr(object, state.name(PythonName::IsConj)) != 0 &&
          PyObject_HasAttr(object, state.name(PythonName::IsNeg)) != 0,
      is_jax_type(object)};
  Py_INCREF(type);
  PyTypeObject* const old = known.type;
  known = found;
  Py_XDECREF(old);
  return found;
}

}  // namespace detail
TENON_END_NAMESPACE
