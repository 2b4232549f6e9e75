// SPDX-License-Identifier: MIT
// Converts c10's devices to tenon's and back, and c10's exceptions to tenon's errors.
#pragma once

#include "tenon/core/device.h"
#include "tenon/core/error.h"

#if __has_include(<c10/core/Device.h>) && TENON_HAS_EXCEPTIONS  // libtorch throws
#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

TENON_BEGIN_NAMESPACE
namespace detail {

struct C10Device {
  DeviceType ours;
  c10::DeviceType theirs;
};
inline constexpr C10Device kC10Devices[] = {
    {DeviceType::CPU, c10::DeviceType::CPU},
    {DeviceType::CUDA, c10::DeviceType::CUDA},
    {DeviceType::OpenCL, c10::DeviceType::OPENCL},
    {DeviceType::Vulkan, c10::DeviceType::Vulkan},
    {DeviceType::Metal, c10::DeviceType::MPS},  // libtorch's DLPack exchange maps it so too
    {DeviceType::Metal, c10::DeviceType::Metal},
    {DeviceType::ROCM, c10::DeviceType::HIP},
    {DeviceType::OneAPI, c10::DeviceType::XPU},
    {DeviceType::MAIA, static_cast<c10::DeviceType>(8)},  // libtorch 1.13 calls it ORT
    {DeviceType::ExtDev, c10::DeviceType::PrivateUse1},
    {DeviceType::Meta, c10::DeviceType::Meta},
};

/// The error for a c10 device that tenon lacks.
TENON_COLD inline Error fail_c10_device(c10::DeviceType type) noexcept {
  try {
    const std::string name = c10::DeviceTypeName(type, true);
    return fail(Error::NotSupported, "tenon has no device for libtorch's \"", name.c_str(), '"');
  } catch (const std::exception&) {  // libtorch does not know the type either
    return fail(Error::NotSupported, "tenon has no device for libtorch's device type ",
                static_cast<int>(type));
  }
}

/// libtorch's device for the same memory: CPU for pinned host memory, the GPU for managed memory,
/// PrivateUse1 for ExtDev. CPU and Meta have no index.
/// Errors: NotSupported for a device that is not in the table above, and for an index that c10's 8
/// bits cannot hold.
inline Error to_c10(Device from, c10::Device& to) noexcept {
  DeviceType type = from.type();
  if (type == DeviceType::CUDAHost || type == DeviceType::ROCMHost) type = DeviceType::CPU;
  if (type == DeviceType::CUDAManaged) type = DeviceType::CUDA;
  for (const C10Device& row : kC10Devices) {
    if (row.ours != type) continue;
    const bool has_index = type != DeviceType::CPU && type != DeviceType::Meta;
    constexpr int32_t most = (std::numeric_limits<c10::DeviceIndex>::max)();
    if (has_index && from.index() > most) {
      return fail(Error::NotSupported, "libtorch has no device for ", from, "; its indices end at ",
                  most);
    }
    to = c10::Device(row.theirs, static_cast<c10::DeviceIndex>(has_index ? from.index() : -1));
    return Error::Ok;
  }
  return fail(Error::NotSupported, "libtorch has no device for ", from);
}

/// As to_c10(), for devices on which libtorch has strided tensors.
/// Errors: also NotSupported for OpenCL, for which libtorch has no dispatch key, and for Vulkan,
/// where its tensors are opaque images.
inline Error to_c10_strided(Device from, c10::Device& to) noexcept {
  TENON_TRY(to_c10(from, to));
  if (to.type() == c10::DeviceType::OPENCL || to.type() == c10::DeviceType::Vulkan) {
    return fail(Error::NotSupported, "libtorch has no strided tensors on ", from);
  }
  return Error::Ok;
}

/// The inverse of to_c10(). A missing index, which is -1 in c10, becomes 0; so does any index of
/// the CPU.
/// Errors: NotSupported for types that tenon lacks: xla, hpu, lazy and others.
inline Error from_c10(c10::Device from, Device& to) noexcept {
  for (const C10Device& row : kC10Devices) {
    if (row.theirs != from.type()) continue;
    to = Device(row.ours, from.is_cpu() || from.index() < 0 ? 0 : from.index());
    return Error::Ok;
  }
  return fail_c10_device(from.type());
}

/// c10::Device and c10::DeviceType convert to Device.
template <>
struct ForeignDevice<c10::Device> : std::true_type {
  static Error convert(c10::Device from, Device& to) noexcept { return from_c10(from, to); }
};
template <>
struct ForeignDevice<c10::DeviceType> : std::true_type {
  static Error convert(c10::DeviceType from, Device& to) noexcept {
    return from_c10(c10::Device(from), to);
  }
};

/// Calls `f`, which returns an Error, and catches libtorch's exceptions.
template <class F>
Error call_libtorch(F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, "out of memory in libtorch");
  } catch (const c10::Error& e) {
    return fail(Error::NotSupported, "libtorch: ", e.what_without_backtrace());
  } catch (const std::exception& e) {
    return fail(Error::NotSupported, "libtorch: ", e.what());
  }
}

}  // namespace detail

/// The text that libtorch gives a c10::Device: "cuda:1". A template, since texts convert to a
/// c10::Device.
template <class D, std::enable_if_t<std::is_same_v<D, c10::Device>, int> = 0>
std::string to_string(const D& device) {
  return device.str();
}
/// The name of a device type. Needed because c10 has a toString() for another type, to which
/// DeviceType converts.
inline std::string to_string(c10::DeviceType type) { return c10::DeviceTypeName(type, true); }

TENON_END_NAMESPACE

#endif
