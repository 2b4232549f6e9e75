// SPDX-License-Identifier: MIT
// Device: where memory is.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE

/// Kinds of memory, with DLPack's numbers (DLDeviceType), and Template for tensors without data.
enum class DeviceType : int32_t {
  CPU = 1,
  CUDA = 2,
  CUDAHost = 3,  ///< pinned host memory
  OpenCL = 4,
  Vulkan = 7,
  Metal = 8,
  VPI = 9,
  ROCM = 10,
  ROCMHost = 11,
  ExtDev = 12,  ///< a device of the program's own, outside of this list
  CUDAManaged = 13,
  OneAPI = 14,
  WebGPU = 15,
  Hexagon = 16,
  MAIA = 17,
  Trn = 18,        ///< AWS Trainium
  Expr = 126,      ///< expressions instead of data; DLPack has neither this nor the next
  Template = 127,  ///< shape and type without data
};

/// The name in lower case, such as "cuda"; "unknown" for any other number.
constexpr const char* toString(DeviceType type) noexcept {
  switch (type) {
    case DeviceType::CPU: return "cpu";
    case DeviceType::CUDA: return "cuda";
    case DeviceType::CUDAHost: return "cuda_host";
    case DeviceType::OpenCL: return "opencl";
    case DeviceType::Vulkan: return "vulkan";
    case DeviceType::Metal: return "metal";
    case DeviceType::VPI: return "vpi";
    case DeviceType::ROCM: return "rocm";
    case DeviceType::ROCMHost: return "rocm_host";
    case DeviceType::ExtDev: return "ext_dev";
    case DeviceType::CUDAManaged: return "cuda_managed";
    case DeviceType::OneAPI: return "oneapi";
    case DeviceType::WebGPU: return "webgpu";
    case DeviceType::Hexagon: return "hexagon";
    case DeviceType::MAIA: return "maia";
    case DeviceType::Trn: return "trn";
    case DeviceType::Expr: return "expr";
    case DeviceType::Template: return "template";
  }
  return "unknown";
}

namespace detail {

inline constexpr DeviceType kDeviceTypes[] = {
    DeviceType::CPU,      DeviceType::CUDA,    DeviceType::CUDAHost,    DeviceType::OpenCL,
    DeviceType::Vulkan,   DeviceType::Metal,   DeviceType::VPI,         DeviceType::ROCM,
    DeviceType::ROCMHost, DeviceType::ExtDev,  DeviceType::CUDAManaged, DeviceType::OneAPI,
    DeviceType::WebGPU,   DeviceType::Hexagon, DeviceType::MAIA,        DeviceType::Trn,
    DeviceType::Expr,     DeviceType::Template};

/// The length of the match when `text` begins with all of `prefix`, else 0.
inline size_t match_prefix(const char* text, const char* prefix) noexcept {
  size_t n = 0;
  for (; prefix[n] != '\0'; ++n) {
    if (text[n] != prefix[n]) return 0;
  }
  return n;
}

/// Specialised for another library's device type, with convert() to a Device.
template <class D>
struct ForeignDevice : std::false_type {};

}  // namespace detail

/// A kind of memory and an index. The index −1, "the current one", becomes 0 at construction; the
/// CPU has only index 0.
/// Source: c10::Device.
class Device {
 public:
  constexpr Device() noexcept = default;
  /// Errors: InvalidArgument for an index below −1, or above 0 for the CPU.
  constexpr Device(DeviceType type, int32_t index = -1)
      : type_(type), index_(index < 0 ? 0 : index) {
    TENON_CHECK(index >= -1 && (type != DeviceType::CPU || index <= 0), Error::InvalidArgument,
                "Device: index ", index, " of ", toString(type),
                type == DeviceType::CPU ? "; the CPU has only index 0" : "; expected 0 or more");
  }
  /// From "cpu", "cuda" or "cuda:1".
  /// Errors: InvalidArgument for any other text.
  Device(const char* text) {
    if (text == nullptr) text = "";
    for (DeviceType type : detail::kDeviceTypes) {
      const size_t n = detail::match_prefix(text, toString(type));
      if (n == 0 || (text[n] != '\0' && text[n] != ':')) continue;
      if (text[n] == '\0') {
        *this = Device(type);
        return;
      }
      int32_t index = 0;
      const char* digit = text + n + 1;
      const char* const first = digit;
      // Six digits are enough and cannot overflow.
      for (; *digit >= '0' && *digit <= '9' && digit - first < 6; ++digit) {
        index = index * 10 + (*digit - '0');
      }
      if (digit == first || *digit != '\0') break;
      *this = Device(type, index);
      return;
    }
    detail::raise(Error::InvalidArgument, "Device: \"", text,
                  "\" is not a device; expected a name such as \"cpu\", \"cuda\" or \"cuda:1\"");
  }
  Device(const std::string& text) : Device(text.c_str()) {}
  /// An index alone does not compile: 0 would be a null `text`. Write Device("cuda:0") or
  /// Device(DeviceType::CUDA, 0).
  template <class IndexWithoutDeviceType,
            std::enable_if_t<std::is_integral_v<IndexWithoutDeviceType> ||
                                 std::is_null_pointer<IndexWithoutDeviceType>::value,
                             int> = 0>
  Device(IndexWithoutDeviceType) = delete;
  /// From c10's, once tenon/aten/device.h is included.
  /// Errors: NotSupported when tenon has no such kind.
  template <class D, std::enable_if_t<detail::ForeignDevice<D>::value, int> = 0>
  Device(const D& device) {
    const Error error = detail::ForeignDevice<D>::convert(device, *this);
    detail::raise_if("Device", error);
  }

  constexpr DeviceType type() const noexcept { return type_; }
  constexpr int32_t index() const noexcept { return index_; }
  constexpr bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }

  /// Whether the host may read and write this memory through a pointer.
  constexpr bool is_host_accessible() const noexcept {
    return type_ == DeviceType::CPU || type_ == DeviceType::CUDAHost ||
           type_ == DeviceType::ROCMHost || type_ == DeviceType::CUDAManaged;
  }

  /// "cuda:1"; for the CPU "cpu", without an index.
  std::string to_string() const {
    char text[32];
    detail::Message message(text, sizeof text);
    append(message, *this);
    return text;
  }

  friend constexpr bool operator==(Device a, Device b) noexcept {
    return a.type_ == b.type_ && a.index_ == b.index_;
  }
  friend constexpr bool operator!=(Device a, Device b) noexcept { return !(a == b); }

  friend void append(detail::Message& out, Device device) noexcept {
    out.put(tenon::toString(device.type_));
    if (device.is_cpu()) return;
    out.put(':');
    detail::append(out, device.index_);
  }

 private:
  DeviceType type_ = DeviceType::CPU;
  int32_t index_ = 0;
};

TENON_END_NAMESPACE
