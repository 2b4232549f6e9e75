// SPDX-License-Identifier: MIT
// Who waits for whom when a device's memory goes to Python or comes from there.
#pragma once

#include "tenon/interop/python/interpreter.h"  // Python.h first

#include <cstdint>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/exchange/dlpack_check.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether work on the memory may still be going on when the host goes on.
inline bool has_streams(Device device) noexcept {
  return !device.is_host_accessible() || device.type() == DeviceType::CUDAManaged;
}

/// DLPack's number of the stream that is meant where none is named.
inline int64_t default_stream(DeviceType type) noexcept { return type == DeviceType::ROCM ? 0 : 1; }

inline Error order_before(DeviceBackend& backend, int64_t stream) noexcept {
  return call_backend(backend, "order_before", [&] { return backend.order_before(stream); });
}
inline Error order_after(DeviceBackend& backend, int64_t stream) noexcept {
  return call_backend(backend, "order_after", [&] { return backend.order_after(stream); });
}

/// The DeviceBackend that is registered for a device, itself or inside of another; null for none.
inline DeviceBackend* find_device_backend(Device device) noexcept {
  Backend* const backend = has_streams(device) ? find_backend(device) : nullptr;
  return backend == nullptr ? nullptr : backend->as_device();
}
/// As above, for a device as another library names it.
inline DeviceBackend* find_device_backend(DLDevice device) noexcept {
  if (!is_dlpack_device(device.device_type) || device.device_id < 0) return nullptr;
  return find_device_backend(device_from_dlpack(device));
}

/// Finds the DeviceBackend that is to order the consumer's stream. Any other backend is waited for
/// here, and `device` stays null.
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

/// Makes a device's memory ready for the stream that a consumer names in __dlpack__.
/// Errors: Python's stays set where it comes from there.
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

/// The stream on which a producer is to make its data ready.
struct ConsumerStream {
  int64_t number = -1;               // -1 where none is to be named
  int64_t otherwise = 1;             // that of a producer which cannot be asked
  DeviceBackend* backend = nullptr;  // the one whose stream it is
};
/// That of the registered DeviceBackend, else the device's default one. Some producers before 1.0
/// have no __dlpack_device__.
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

}  // namespace detail
TENON_END_NAMESPACE
