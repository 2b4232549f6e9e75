// SPDX-License-Identifier: MIT
// The rules that a DLPack struct must meet to be a tensor, and check_dlpack().
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/core/device.h"
#include "tenon/core/layout.h"
#include "tenon/exchange/dlpack_types.h"

TENON_BEGIN_NAMESPACE

/// A rule that a DLPack struct breaks.
struct DLPackViolation {
  Error error;  ///< what from_dlpack() gives for it
  std::string message;
};

namespace detail {

class MemoryHold;

/// The contents of a struct of any header.
struct DLPackContents {
  DLPackVersion version{1, 0};
  uint64_t flags = 0;
  DLTensor tensor{};
  MemoryHold* own = nullptr;  // in an import, of a struct that this library made

  bool is_readonly() const noexcept { return (flags & kDLPackReadOnly) != 0; }
  ArrayRef<int64_t> sizes() const noexcept {
    return {tensor.shape, static_cast<size_t>(tensor.ndim)};
  }
};

/// Copies a struct's contents. Of another major version, only the version is read.
template <class Managed>
DLPackContents read_dlpack(const Managed& from) noexcept {
  static_assert(is_same_layout_v<Managed>, "this is another struct than DLPack's");
  DLPackContents read;
  if constexpr (is_versioned_v<Managed>) {
    read.version = {from.version.major, from.version.minor};
    if (read.version.major != kDLPackVersion.major) return read;
    read.flags = from.flags;
  }
  // Field by field: a wider load of what the producer has just stored waits for the store buffer.
  const auto& t = from.dl_tensor;
  int32_t device = 0;  // as bytes: the header's enum may lack the number
  std::memcpy(&device, &t.device.device_type, sizeof device);
  read.tensor = {t.data,       {device, t.device.device_id},
                 t.ndim,       {t.dtype.code, t.dtype.bits, t.dtype.lanes},
                 t.shape,      t.strides,
                 t.byte_offset};
  return read;
}

/// DLPack's code and bits of an element type.
struct DLPackTypeRow {
  ScalarType type;
  uint8_t code;
  uint8_t bits;
};
inline constexpr DLPackTypeRow kDLPackTypes[] = {
    {ScalarType::Float, kDLFloat, 32},
    {ScalarType::Byte, kDLUInt, 8},
    {ScalarType::Char, kDLInt, 8},
    {ScalarType::Short, kDLInt, 16},
    {ScalarType::Int, kDLInt, 32},
    {ScalarType::Long, kDLInt, 64},
    {ScalarType::Half, kDLFloat, 16},
    {ScalarType::Double, kDLFloat, 64},
    {ScalarType::ComplexHalf, kDLComplex, 32},
    {ScalarType::ComplexFloat, kDLComplex, 64},
    {ScalarType::ComplexDouble, kDLComplex, 128},
    {ScalarType::Bool, kDLBool, 8},
    {ScalarType::BFloat16, kDLBfloat, 16},
    {ScalarType::Float8_e5m2, kDLFloat8_e5m2, 8},
    {ScalarType::Float8_e4m3fn, kDLFloat8_e4m3fn, 8},
    {ScalarType::Float8_e5m2fnuz, kDLFloat8_e5m2fnuz, 8},
    {ScalarType::Float8_e4m3fnuz, kDLFloat8_e4m3fnuz, 8},
    {ScalarType::UInt16, kDLUInt, 16},
    {ScalarType::UInt32, kDLUInt, 32},
    {ScalarType::UInt64, kDLUInt, 64},
};

/// Undefined for a type that tenon does not have.
TENON_TEMPLATE_INLINE ScalarType type_from_dlpack(DLDataType type) noexcept {
  if (type.lanes != 1) return ScalarType::Undefined;
  for (const DLPackTypeRow& row : kDLPackTypes) {
    if (row.code == type.code && row.bits == type.bits) return row.type;
  }
  return ScalarType::Undefined;
}
TENON_TEMPLATE_INLINE Error type_to_dlpack(ScalarType type, DLDataType& out) noexcept {
  for (const DLPackTypeRow& row : kDLPackTypes) {
    if (row.type != type) continue;
    out = {row.code, row.bits, 1};
    return Error::Ok;
  }
  return fail(Error::NotSupported, "DLPack has no element type ", type);
}

/// Whether DLPack has the device type; Expr and Meta are tenon's own.
inline bool is_dlpack_device(int32_t type) noexcept {
  return type <= kLastNumber && *name_of(static_cast<DeviceType>(type)) != '\0';
}
/// Whether `data` is a handle there, not an address.
constexpr bool has_dlpack_handles(DeviceType type) noexcept {
  return type == DeviceType::OpenCL || type == DeviceType::Vulkan || type == DeviceType::Metal ||
         type == DeviceType::WebGPU;
}
/// The index is 0 for memory that the host reads, where producers do not agree on it.
inline Device device_from_dlpack(DLDevice device) noexcept {
  const auto type = static_cast<DeviceType>(device.device_type);
  return Device(type, Device(type).is_host_accessible() ? 0 : device.device_id);
}

/// Errors: NotSupported, InvalidArgument (an index below 0).
TENON_TEMPLATE_INLINE Error check_dlpack_device(DLDevice device) noexcept {
  const int32_t type = device.device_type;
  if (!is_dlpack_device(type)) {
    return fail(Error::NotSupported, "tenon knows no device type ", type);
  }
  if (device.device_id >= 0 || Device(static_cast<DeviceType>(type)).is_host_accessible()) {
    return Error::Ok;
  }
  return fail(Error::InvalidArgument, "the device index is ", device.device_id);
}

/// Calls `found(error)` for each violation, whose text is in last_error(), until it returns false.
/// The struct's type and layout are written in place: moving a layout costs more than making it.
template <class Found>
void find_violations(const DLPackContents& from, ScalarType& type, Layout& layout,
                     const Found& found) {
  const DLTensor& t = from.tensor;
  if (from.version.major != kDLPackVersion.major) {
    found(fail(Error::NotSupported, "the struct is of DLPack ", from.version.major, ".",
               from.version.minor, ", expected version ", kDLPackVersion.major));
    return;
  }
  type = type_from_dlpack(t.dtype);
  const bool is_known = type != ScalarType::Undefined;
  if (!is_known &&
      !found(fail(Error::NotSupported, "there is no element type for DLPack's code ",
                  int{t.dtype.code}, t.dtype.code == kDLFloat8_e8m0fnu ? ", float8_e8m0fnu," : "",
                  " with ", int{t.dtype.bits}, " bits and ", int{t.dtype.lanes},
                  t.dtype.lanes == 1 ? " lane" : " lanes"))) {
    return;
  }
  const Error device_error = check_dlpack_device(t.device);
  if (device_error != Error::Ok && !found(device_error)) return;
  if (t.ndim < 0 || static_cast<size_t>(t.ndim) > kMaxDims) {
    found(fail(Error::InvalidArgument, "ndim is ", t.ndim, ", expected 0 to ", kMaxDims));
    return;
  }
  if (t.ndim > 0 && t.shape == nullptr) {
    found(fail(Error::InvalidArgument, "the shape is null, ndim is ", t.ndim));
    return;
  }
  if ((t.byte_offset > PTRDIFF_MAX ||
       t.byte_offset > UINTPTR_MAX - reinterpret_cast<uintptr_t>(t.data)) &&
      !found(fail(Error::InvalidArgument, "the byte offset ", t.byte_offset,
                  " leads out of the address space"))) {
    return;
  }
  const ArrayRef<int64_t> sizes = from.sizes();
  const ArrayRef<int64_t> strides(t.strides, t.strides == nullptr ? 0 : sizes.size());
  const Error error = make_layout({sizes, strides}, is_known ? elementSize(type) : 1, layout);
  if (error != Error::Ok && !found(error)) return;
  if (t.data == nullptr) {
    for (const int64_t size : sizes) {
      if (size <= 0) return;
    }
    found(fail(Error::InvalidArgument, "the data is null, sizes are ", sizes));
  }
}

/// The first violation, as an error.
TENON_TEMPLATE_INLINE Error check_dlpack_contents(const DLPackContents& from, ScalarType& type,
                                                  Layout& layout) noexcept {
  Error first = Error::Ok;
  find_violations(from, type, layout, [&first](Error error) noexcept {
    first = error;
    return false;
  });
  return first;
}

}  // namespace detail

/// Every rule of DLPack that a struct of any header breaks; none if from_dlpack() takes it. The
/// struct is neither consumed nor changed. Of another major version, only the version is read.
///
/// Not checked: whether the memory exists, and its alignment, for which from_dlpack() makes a copy.
/// The last violation is in last_error_message().
/// Errors: std::bad_alloc.
template <class Managed, detail::IfManaged<Managed> = 0>
std::vector<DLPackViolation> check_dlpack(const Managed* managed) {
  if (managed == nullptr) return {{Error::InvalidArgument, "the pointer is null"}};
  std::vector<DLPackViolation> all;
  auto type = own::ScalarType::Undefined;
  Layout layout;
  detail::find_violations(detail::read_dlpack(*managed), type, layout, [&all](Error error) {
    all.push_back({error, last_error_message()});
    return true;
  });
  return all;
}

TENON_END_NAMESPACE
