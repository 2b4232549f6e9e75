// SPDX-License-Identifier: MIT
// Devices as libtorch names them: tenon::Device to c10::Device and back.
#pragma once

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"

#if defined(__has_include)
#if __has_include(<c10/core/Device.h>) && TENON_HAS_EXCEPTIONS  // which libtorch throws
#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <type_traits>

TENON_BEGIN_NAMESPACE
namespace detail {

/// By number: libtorch 1.13 calls it ORT.
inline constexpr auto kC10Maia = static_cast<c10::DeviceType>(8);

/// Says which of c10's devices tenon has no name for.
TENON_COLD inline Error fail_c10_device(c10::DeviceType type) noexcept {
  try {
    const std::string name = c10::DeviceTypeName(type, true);
    return fail(Error::NotSupported, "tenon has no device for libtorch's \"", name.c_str(), '"');
  } catch (const std::exception&) {  // a number that libtorch itself does not know
    return fail(Error::NotSupported, "tenon has no device for libtorch's device type ",
                static_cast<int>(type));
  }
}

/// The device by which libtorch reaches the same memory. Pinned host memory is the CPU's there,
/// managed memory that of its GPU, Metal's is of type MPS, as in libtorch's own DLPack exchange,
/// a program's own is PrivateUse1, and Meta, for Template, has no index.
/// Errors: NotSupported for VPI, WebGPU, Hexagon, Trn and Expr, and for an index that c10's 8 bits
/// cannot hold.
inline Error to_c10(Device from, c10::Device& to) noexcept {
  c10::DeviceType type = c10::DeviceType::CPU;
  switch (from.type()) {
    case DeviceType::CPU:
    case DeviceType::CUDAHost:
    case DeviceType::ROCMHost: to = c10::Device(type); return Error::Ok;
    case DeviceType::CUDA:
    case DeviceType::CUDAManaged: type = c10::DeviceType::CUDA; break;
    case DeviceType::OpenCL: type = c10::DeviceType::OPENCL; break;
    case DeviceType::Vulkan: type = c10::DeviceType::Vulkan; break;
    case DeviceType::Metal: type = c10::DeviceType::MPS; break;
    case DeviceType::ROCM: type = c10::DeviceType::HIP; break;
    case DeviceType::OneAPI: type = c10::DeviceType::XPU; break;
    case DeviceType::MAIA: type = kC10Maia; break;
    case DeviceType::ExtDev: type = c10::DeviceType::PrivateUse1; break;
    case DeviceType::Template: to = c10::Device(c10::DeviceType::Meta); return Error::Ok;
    case DeviceType::VPI:
    case DeviceType::WebGPU:
    case DeviceType::Hexagon:
    case DeviceType::Trn:
    case DeviceType::Expr: return fail(Error::NotSupported, "libtorch has no device for ", from);
  }
  if (TENON_UNLIKELY(type == c10::DeviceType::CPU)) {  // a number out of nowhere
    return fail(Error::NotSupported, "libtorch has no device for ", from);
  }
  constexpr int32_t most = std::numeric_limits<c10::DeviceIndex>::max();
  if (TENON_UNLIKELY(from.index() > most)) {
    return fail(Error::NotSupported, "libtorch has no device for ", from, "; its indices end at ",
                most);
  }
  to = c10::Device(type, static_cast<c10::DeviceIndex>(from.index()));
  return Error::Ok;
}

/// The same for a tensor with strides, which libtorch does not have on every device that it can
/// name: there may be no dispatch key, or opaque images.
/// Errors: also NotSupported for OpenCL and Vulkan.
inline Error to_c10_strided(Device from, c10::Device& to) noexcept {
  TENON_TRY(to_c10(from, to));
  if (TENON_UNLIKELY(to.type() == c10::DeviceType::OPENCL ||
                     to.type() == c10::DeviceType::Vulkan)) {
    return fail(Error::NotSupported, "libtorch has no strided tensors on ", from);
  }
  return Error::Ok;
}

/// The way back. An absent index, c10's -1, becomes 0, and so does any of the CPU's.
/// Errors: NotSupported for types that tenon lacks: xla, hpu, lazy and others.
inline Error from_c10(c10::Device from, Device& to) noexcept {
  DeviceType type = DeviceType::CPU;
  switch (from.type()) {
    case c10::DeviceType::CPU: to = Device(); return Error::Ok;
    case c10::DeviceType::CUDA: type = DeviceType::CUDA; break;
    case c10::DeviceType::OPENCL: type = DeviceType::OpenCL; break;
    case c10::DeviceType::Vulkan: type = DeviceType::Vulkan; break;
    case c10::DeviceType::Metal:
    case c10::DeviceType::MPS: type = DeviceType::Metal; break;
    case c10::DeviceType::HIP: type = DeviceType::ROCM; break;
    case c10::DeviceType::XPU: type = DeviceType::OneAPI; break;
    case kC10Maia: type = DeviceType::MAIA; break;
    case c10::DeviceType::PrivateUse1: type = DeviceType::ExtDev; break;
    case c10::DeviceType::Meta: type = DeviceType::Template; break;
    default: return fail_c10_device(from.type());
  }
  to = Device(type, from.index() < 0 ? 0 : from.index());
  return Error::Ok;
}

/// c10::Device converts to Device.
template <>
struct ForeignDevice<c10::Device> : std::true_type {
  static Error convert(c10::Device from, Device& to) noexcept { return from_c10(from, to); }
};

}  // namespace detail
TENON_END_NAMESPACE

#endif
#endif
