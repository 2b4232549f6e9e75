// SPDX-License-Identifier: MIT
// Reads memory that Python objects share by __array_interface__ and __cuda_array_interface__.
#pragma once

#include "tenon/interop/python/buffer.h"  // Python.h first

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tenon/interop/python/capsule.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads a tuple of integers.
/// Errors: if reading an integer raised an exception, it stays set.
inline Error read_integers(PyObject* tuple, const char* what, Dims& values) {
  if (tuple == nullptr || PyTuple_Check(tuple) == 0) {
    return fail(Error::InvalidType, what, " is not a tuple");
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const long long value = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (value == -1 && PyErr_Occurred() != nullptr) return fail_as_python();
    values.push_back(value);
  }
  return check_dims(what, values);
}

/// The type of an array of an ml_dtypes' type, found by its dtype's name, since its typestr ("<V2")
/// only has the size of an element. Undefined for other arrays, or with Python's error set.
inline ScalarType type_of_dtype(PyObject* object, const char* typestr) {
  const PyRef dtype(PyObject_GetAttrString(object, "dtype"));
  const PyRef name(dtype ? PyObject_GetAttrString(dtype.get(), "name") : nullptr);
  const char* const text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text == nullptr) return ScalarType::Undefined;
  for (const PythonTypeRow& row : kPythonTypes) {
    if (row.kind != '\0' || std::strcmp(row.name, text) != 0) continue;
    const size_t size = elementSize(row.type);
    const bool is_same = std::strlen(typestr) > 2 && !is_swapped(*typestr, size) &&
                         std::strtoul(typestr + 2, nullptr, 10) == size;
    return is_same ? row.type : ScalarType::Undefined;
  }
  return ScalarType::Undefined;
}

/// The entries of an interface's dict. This holds references to the values, since reading an
/// integer may run any code, which may change the dict.
struct ArrayInterface {
  explicit ArrayInterface(const char* called) noexcept : name(called) {}

  const char* name;
  PyRef typestr, shape, strides, data, mask, offset, stream;  // null if missing or None

  Error open(PyObject* dict) {
    if (PyDict_Check(dict) == 0) {
      return fail(Error::InvalidType, name, " is '", Py_TYPE(dict)->tp_name, "', expected a dict");
    }
    const std::pair<const char*, PyRef&> entries[] = {
        {"typestr", typestr}, {"shape", shape},   {"strides", strides}, {"data", data},
        {"mask", mask},       {"offset", offset}, {"stream", stream}};
    for (const auto& [key, out] : entries) {
      const PyRef text(PyUnicode_FromString(key));
      PyObject* const value =
          text ? PyDict_GetItemWithError(dict, text.get()) : nullptr;  // borrowed
      if (value == nullptr && PyErr_Occurred() != nullptr) return fail_as_python();
      if (value != Py_None) out = PyRef(Py_XNewRef(value));
    }
    return Error::Ok;
  }

  /// Reads the entries that both interfaces have: type, shape and strides.
  Error read_layout(PyObject* object, LentBuffer& lent) const {
    const char* const text = typestr ? PyUnicode_AsUTF8(typestr.get()) : nullptr;
    if (text == nullptr) {
      if (must_stop()) return fail_as_python();
      PyErr_Clear();
      return fail(Error::InvalidType, name, " has no typestr");
    }
    lent.type = type_of_typestr(text);
    if (lent.type == ScalarType::Undefined) lent.type = type_of_dtype(object, text);
    if (lent.type == ScalarType::Undefined) {
      if (must_stop()) return fail_as_python();
      PyErr_Clear();
      return fail(Error::NotSupported, "there is no element type for the typestr \"", text, "\"");
    }
    if (mask) {
      return fail(Error::NotSupported, name, " has a mask, which a tensor cannot have");
    }
    TENON_TRY(read_integers(shape.get(), "the array interface's shape", lent.sizes));
    if (!strides) return Error::Ok;
    TENON_TRY(read_integers(strides.get(), "the array interface's strides", lent.strides));
    if (lent.strides.size() != lent.sizes.size()) {
      return fail(Error::InvalidArgument, name, "'s shape ", lent.sizes, " and strides ",
                  lent.strides, " differ in length");
    }
    return Error::Ok;
  }

  /// Whether the data is a pair (address, read-only).
  bool has_address() const noexcept {
    return data && PyTuple_Check(data.get()) != 0 && PyTuple_GET_SIZE(data.get()) == 2;
  }
  Error read_address(LentBuffer& lent) const {
    PyObject* address = nullptr;
    int readonly = 0;
    if (PyArg_ParseTuple(data.get(), "Op", &address, &readonly) == 0) return fail_as_python();
    lent.readonly = readonly != 0;
    lent.data = PyLong_AsVoidPtr(address);
    return lent.data == nullptr && PyErr_Occurred() != nullptr ? fail_as_python() : Error::Ok;
  }
};

/// Reads an __array_interface__. Its data is an address, or an object with a row-major buffer
/// (PIL's images).
/// Errors: if Python raised an exception, it stays set.
inline Error read_array_interface(const PythonState& state, PyObject* object, PyObject* dict,
                                  LentBuffer& lent, Deleter& release) {
  ArrayInterface from("__array_interface__");
  TENON_TRY(from.open(dict));
  TENON_TRY(from.read_layout(object, lent));
  if (from.has_address()) {
    TENON_TRY(from.read_address(lent));
    release.emplace(nullptr, PythonHold{Py_NewRef(object), nullptr, state.run});
    return divide_strides(lent);
  }
  if (!from.data || PyObject_CheckBuffer(from.data.get()) == 0 || from.strides || from.offset) {
    return fail(Error::NotSupported,
                "__array_interface__'s data is neither a pair of an address and whether it is "
                "read-only nor an object with a buffer, without strides and offset");
  }
  Py_buffer place;
  Py_buffer* buffer = nullptr;
  TENON_TRY(get_buffer(state, from.data.get(), PyBUF_SIMPLE, place, buffer, release));
  lent.data = buffer->buf;
  lent.readonly = buffer->readonly != 0;
  ptrdiff_t numel = 0;
  TENON_TRY(compute_numel(lent.sizes, elementSize(lent.type), numel));
  if (static_cast<size_t>(numel) * elementSize(lent.type) > static_cast<size_t>(buffer->len)) {
    return fail(Error::InvalidArgument, "sizes ", lent.sizes, " do not fit into the ", buffer->len,
                " bytes of __array_interface__'s data");
  }
  return divide_strides(lent);
}

/// Finds the device of CUDA memory, which the interface does not state. Sets `worker` to the
/// registered DeviceBackend that knows the memory. If no DeviceBackend is registered, the device is
/// cuda:0.
/// Errors: if no backend knows the memory, the error of the last backend.
inline Error find_cuda_device(LentBuffer& lent, DeviceBackend*& worker) noexcept {
  Layout layout;
  TENON_TRY(make_layout(lent.sizes, {}, lent.strides, elementSize(lent.type), layout));
  if (lent.data == nullptr && layout.numel != 0) {
    return fail(Error::InvalidArgument, "__cuda_array_interface__'s data is null, but sizes ",
                lent.sizes, " hold ", layout.numel, " elements");
  }
  constexpr int32_t kMostDevices = 64;  // more GPUs than a machine has
  Error error = Error::Ok;
  lent.device = Device(DeviceType::CUDA, 0);
  for (int32_t i = 0; i <= kMostDevices; ++i) {
    const Device device =
        i < kMostDevices ? Device(DeviceType::CUDA, i) : Device(DeviceType::CUDAManaged, 0);
    DeviceBackend* const backend = find_device_backend(device);
    if (backend == nullptr) continue;
    error = check_device_pointer(device, lent.data, lent.type, layout);
    if (error != Error::Ok) continue;
    lent.device = device;
    worker = backend;
    return Error::Ok;
  }
  return error;
}

/// Reads a __cuda_array_interface__ of any version. Strides and streams are read by the rules of
/// versions 2 and 3 even in older versions, as other libraries do. The backend's next work waits
/// for the producer's stream.
/// Errors: if Python raised an exception, it stays set.
/// Source: Numba's specification; CuPy's reader.
inline Error read_cuda_array_interface(const PythonState& state, PyObject* object, PyObject* dict,
                                       LentBuffer& lent, Deleter& release) {
  ArrayInterface from("__cuda_array_interface__");
  TENON_TRY(from.open(dict));
  TENON_TRY(from.read_layout(object, lent));
  if (!from.has_address()) {
    return fail(Error::NotSupported,
                "__cuda_array_interface__'s data is not a pair of an address and whether it is "
                "read-only");
  }
  TENON_TRY(from.read_address(lent));
  const long long stream = from.stream ? PyLong_AsLongLong(from.stream.get()) : 0;
  if (stream == -1 && PyErr_Occurred() != nullptr) return fail_as_python();
  if (from.stream && stream <= 0) {
    return fail(Error::InvalidArgument, "__cuda_array_interface__'s stream is ", stream,
                ", expected None, 1, 2 or a handle");
  }
  TENON_TRY(divide_strides(lent));
  DeviceBackend* worker = nullptr;
  TENON_TRY(find_cuda_device(lent, worker));
  if (from.stream && worker != nullptr) TENON_TRY(order_after(*worker, stream));
  release.emplace(nullptr, PythonHold{Py_NewRef(object), nullptr, state.run});
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
