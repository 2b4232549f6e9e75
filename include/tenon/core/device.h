// SPDX-License-Identifier: MIT
// Device: where memory is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "tenon/core/error.h"

TENON_BEGIN_VALUES

/// Kinds of memory, numbered as DLPack's DLDeviceType; Expr and Meta are tenon's additions.
enum class DeviceType : int32_t {
  CPU = 1,           ///< memory of the host
  CUDA = 2,          ///< memory of NVIDIA's GPUs
  CUDAHost = 3,      ///< pinned host memory
  OpenCL = 4,        ///< an OpenCL buffer; the pointer is its handle
  Vulkan = 7,        ///< a Vulkan buffer; the pointer is its handle
  Metal = 8,         ///< memory of Apple's GPUs; the pointer is its handle
  VPI = 9,           ///< a Verilog simulator's buffer
  ROCM = 10,         ///< memory of AMD's GPUs
  ROCMHost = 11,     ///< pinned host memory of ROCm
  ExtDev = 12,       ///< the program's own device, not in this list
  CUDAManaged = 13,  ///< CUDA memory that both host and GPU access
  OneAPI = 14,       ///< unified shared memory of Intel's oneAPI
  WebGPU = 15,       ///< a WebGPU buffer; the pointer is its handle
  Hexagon = 16,      ///< memory of Qualcomm's Hexagon processors
  MAIA = 17,         ///< memory of Microsoft's MAIA accelerators
  Trn = 18,          ///< memory of AWS Trainium
  Expr = 126,        ///< expressions instead of data
  Meta = 127,        ///< shape and type without data
  Template = Meta,   ///< the old name of Meta
};

TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE

namespace detail {

/// The names, indexed by DLPack's numbers; "" at unused numbers. The names of Expr and Meta follow.
inline constexpr char kDeviceNames[] =
    "\0cpu\0cuda\0cuda_host\0opencl\0\0\0vulkan\0metal\0vpi\0rocm\0rocm_host\0ext_dev\0"
    "cuda_managed\0oneapi\0webgpu\0hexagon\0maia\0trn\0expr\0meta";
inline constexpr int32_t kLastNumber = static_cast<int32_t>(DeviceType::Trn);
/// The name of a device type; "" for an unknown number.
constexpr const char* name_of(DeviceType type) noexcept {
  int32_t number = static_cast<int32_t>(type);
  if (type == DeviceType::Expr || type == DeviceType::Meta) {
    number -= static_cast<int32_t>(DeviceType::Expr) - (kLastNumber + 1);
  } else if (number < 0 || number > kLastNumber) {
    number = 0;
  }
  return name_at(kDeviceNames, static_cast<size_t>(number));
}

/// Specialised for another library's device type, with convert() to a Device.
template <class D>
struct ForeignDevice : std::false_type {};

}  // namespace detail

/// The name in lower case, such as "cuda"; "unknown" for any other number.
constexpr const char* toString(DeviceType type) noexcept {
  const char* const name = detail::name_of(type);
  return *name == '\0' ? "unknown" : name;
}

TENON_END_NAMESPACE

TENON_BEGIN_VALUES

/// A kind of memory and an index. The index −1, "the current one", becomes 0 at construction; the
/// CPU has only index 0.
/// Source: c10::Device.
class Device {
 public:
  constexpr Device() noexcept = default;
  /// Device number `index` of this kind.
  /// Errors: InvalidArgument for an index below −1, or above 0 for the CPU.
  TENON_DETAIL_RAISES constexpr Device(DeviceType type, int32_t index = -1)
      : type_(type), index_(index < 0 ? 0 : index) {
    TENON_CHECK(
        index >= -1 && (type != DeviceType::CPU || index <= 0), Error::InvalidArgument,
        "Device: index ", index, " of ", toString(type),
        type == DeviceType::CPU ? " is out of range: the CPU has only index 0" : " is negative");
  }
  /// From "cpu", "cuda" or "cuda:1"; "template" is an older name of "meta".
  /// Errors: InvalidArgument for any other text.
  TENON_DETAIL_RAISES Device(const char* text) {
    if (text == nullptr) text = "";
    const char* const colon = std::strchr(text, ':');
    const size_t length = colon == nullptr ? std::strlen(text) : static_cast<size_t>(colon - text);
    constexpr auto last = static_cast<int32_t>(DeviceType::Meta);
    for (int32_t number = 1; number <= last + 1; ++number) {
      const auto type = static_cast<DeviceType>(number > last ? last : number);
      const char* const name = number > last ? "template" : detail::name_of(type);
      if (length == 0 || std::strlen(name) != length || std::memcmp(text, name, length) != 0) {
        continue;
      }
      int32_t index = 0;
      if (colon != nullptr) {
        const char* digit = colon + 1;
        // Reads at most six digits, so that the number does not overflow.
        for (; *digit >= '0' && *digit <= '9' && digit - colon <= 6; ++digit) {
          index = index * 10 + (*digit - '0');
        }
        if (digit == colon + 1 || *digit != '\0') break;
      }
      *this = Device(type, index);
      return;
    }
    detail::raise(Error::InvalidArgument, "Device: \"", text,
                  "\" is not a device; expected a name such as \"cpu\", \"cuda\" or \"cuda:1\"");
  }
  // Refuses a text with a null character inside, instead of reading up to it.
  TENON_DETAIL_RAISES Device(const std::string& text)
      : Device(text.find('\0') == text.npos ? text.c_str() : "with a zero inside") {}
  /// An index alone does not compile: 0 would be a null `text`. Write Device("cuda:0") or
  /// Device(DeviceType::CUDA, 0).
  template <class IndexWithoutDeviceType,
            std::enable_if_t<std::is_integral_v<IndexWithoutDeviceType> ||
                                 std::is_null_pointer<IndexWithoutDeviceType>::value,
                             int> = 0>
  Device(IndexWithoutDeviceType)
      TENON_MISTAKE("a device has a type: Device(DeviceType::CUDA, 0) or \"cuda:0\"");
  /// From a c10::Device, if tenon/aten/c10.h is included.
  /// Errors: NotSupported for a kind of device that tenon lacks.
  template <class D, std::enable_if_t<detail::ForeignDevice<D>::value, int> = 0>
  Device(const D& device) {
    const Error error = detail::ForeignDevice<D>::convert(device, *this);
    detail::raise_if("Device", error);
  }

  /// The kind of memory.
  constexpr DeviceType type() const noexcept { return type_; }
  /// Which device of this kind, from 0 on.
  constexpr int32_t index() const noexcept { return index_; }
  /// Whether this is the host's memory.
  constexpr bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  /// Whether this is a GPU's memory; false for CUDAHost and CUDAManaged.
  constexpr bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }

  /// Whether the host may read and write this memory through a pointer.
  constexpr bool is_host_accessible() const noexcept {
    return type_ == DeviceType::CPU || type_ == DeviceType::CUDAHost ||
           type_ == DeviceType::ROCMHost || type_ == DeviceType::CUDAManaged;
  }

  /// "cuda:1"; for the CPU "cpu", without an index.
  TENON_DETAIL_RAISES std::string to_string() const {
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
    if (device.is_cpu()) return out.put("cpu");
    if constexpr (TENON_BARE_METAL) {  // without the names, which take 200 bytes
      out.put("device ");
      detail::append(out, static_cast<int32_t>(device.type_));
    } else {
      out.put(tenon::toString(device.type_));
    }
    out.put(':');
    detail::append(out, device.index_);
  }

 private:
  DeviceType type_ = DeviceType::CPU;
  int32_t index_ = 0;
};

TENON_END_NAMESPACE
