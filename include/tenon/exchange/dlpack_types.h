// SPDX-License-Identifier: MIT
// DLPack's structs, with the layout of dlpack.h 1.3; their rules, and check_dlpack().
//
// The structs are tenon's types; dlpack.h may be included too, before or after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/layout.h"
#include "tenon/exchange/packed_type.h"

TENON_BEGIN_NAMESPACE

/// DLPack's structs and constants, under their own names.
namespace dlpack {

/// A version of DLPack's structs.
struct DLPackVersion {
  uint32_t major;  ///< changes with the layout: readers refuse others
  uint32_t minor;  ///< grows with additions, which readers may ignore
};

/// The version of exported structs.
inline constexpr DLPackVersion kDLPackVersion{1, 3};

/// DLPack's device.
struct DLDevice {
  int32_t device_type;  ///< a DeviceType, as a number
  int32_t device_id;    ///< 0 for memory that the host reads
};

/// DLPack's dtype.
struct DLDataType {
  uint8_t code;    ///< a DLDataTypeCode, as a number
  uint8_t bits;    ///< bits of one lane
  uint16_t lanes;  ///< 1, unless elements are vectors
};

/// Codes of DLDataType.
enum DLDataTypeCode : uint8_t {
  kDLInt = 0,               ///< signed integers
  kDLUInt = 1,              ///< unsigned integers
  kDLFloat = 2,             ///< IEEE 754 floating
  kDLBfloat = 4,            ///< BFloat16
  kDLComplex = 5,           ///< pairs of floating numbers
  kDLBool = 6,              ///< one byte, 0 or 1
  kDLFloat8_e4m3fn = 10,    ///< ScalarType::Float8_e4m3fn
  kDLFloat8_e4m3fnuz = 11,  ///< ScalarType::Float8_e4m3fnuz
  kDLFloat8_e5m2 = 12,      ///< ScalarType::Float8_e5m2
  kDLFloat8_e5m2fnuz = 13,  ///< ScalarType::Float8_e5m2fnuz
  kDLFloat8_e8m0fnu = 14,   ///< no ScalarType: see PackedType
  kDLFloat6_e2m3fn = 15,    ///< see PackedType
  kDLFloat6_e3m2fn = 16,    ///< see PackedType
  kDLFloat4_e2m1fn = 17,    ///< see PackedType
};

/// Memory with its dtype and shape, without its owner.
struct DLTensor {
  void* data;        ///< null if there are no elements; a handle on OpenCL, Vulkan, Metal, WebGPU
  DLDevice device;   ///< where the memory is
  int32_t ndim;      ///< how many dimensions
  DLDataType dtype;  ///< the elements' type
  int64_t* shape;    ///< `ndim` sizes in elements; may be null for ndim 0
  int64_t* strides;  ///< in elements; before 1.2, null for row-major
  uint64_t byte_offset;  ///< from `data` to element 0
};

/// A tensor with its owner, before DLPack 1.0.
struct DLManagedTensor {
  DLTensor dl_tensor;                      ///< the memory
  void* manager_ctx;                       ///< the producer's own
  void (*deleter)(DLManagedTensor* self);  ///< releases all of it, `self` too; may be null
};

/// Flag of a DLManagedTensorVersioned: its memory must not be written.
inline constexpr uint64_t kDLPackReadOnly = 1;
/// Flag: the producer made a copy.
inline constexpr uint64_t kDLPackIsCopied = 2;
/// Flag: each number of fewer than 8 bits takes a whole byte.
inline constexpr uint64_t kDLPackIsSubbyteTypePadded = 4;

/// A tensor with its owner.
struct DLManagedTensorVersioned {
  DLPackVersion version;  ///< first, so that a reader can refuse another major version
  void* manager_ctx;      ///< the producer's own
  void (*deleter)(DLManagedTensorVersioned* self);  ///< releases all of it, `self` too; may be null
  uint64_t flags;                                   ///< kDLPackReadOnly and others
  DLTensor dl_tensor;                               ///< the memory
};

/// The first fields of a DLPackExchangeAPI, which are the same in every major version.
struct DLPackExchangeAPIHeader {
  DLPackVersion version;              ///< of the struct behind this header
  DLPackExchangeAPIHeader* prev_api;  ///< the API in an older version, or null
};

/// How Python's tensor types exchange tensors without Python calls: a capsule "dlpack_exchange_api"
/// in the type's attribute __dlpack_c_exchange_api__. Functions return 0, or -1 with an error set.
struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;  ///< its version
  /// Allocates a tensor like `prototype`.
  int (*managed_tensor_allocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                  void* error_context,
                                  void (*set_error)(void* error_context, const char* kind,
                                                    const char* message));
  /// Exports a Python object. Waits for no stream.
  int (*managed_tensor_from_py_object_no_sync)(void* object, DLManagedTensorVersioned** out);
  /// Makes a Python object, which takes ownership of the tensor. Waits for no stream.
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* tensor, void** out);
  /// Describes a Python object's memory; the object keeps owning it. Waits for no stream.
  int (*dltensor_from_py_object_no_sync)(void* object, DLTensor* out);
  /// The stream on which the library works on a device.
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void** out);
};

// The layout is an ABI.
static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4);
static_assert(sizeof(void*) != 8 || (sizeof(DLTensor) == 48 && offsetof(DLTensor, dtype) == 20 &&
                                     offsetof(DLTensor, byte_offset) == 40));
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80 &&
               offsetof(DLManagedTensorVersioned, dl_tensor) == 32));
static_assert(sizeof(void*) != 8 || sizeof(DLPackExchangeAPI) == 56);

}  // namespace dlpack

namespace detail {

using namespace dlpack;

template <class M, class = void>
inline constexpr bool is_managed_tensor_v = false;
/// Whether M is a DLManagedTensor or DLManagedTensorVersioned of any header.
template <class M>
inline constexpr bool
    is_managed_tensor_v<M, std::void_t<decltype(M::manager_ctx), decltype(M::deleter),
                                       decltype(std::declval<M&>().dl_tensor.byte_offset)>> = true;

template <class M, class = void>
inline constexpr bool is_versioned_v = false;
template <class M>
inline constexpr bool
    is_versioned_v<M, std::void_t<decltype(M::flags), decltype(std::declval<M&>().version.major)>> =
        true;

template <class M>
using IfManaged = std::enable_if_t<is_managed_tensor_v<M>, int>;

/// Whether M has the layout of tenon's struct of the same kind.
template <class M, class Own = std::conditional_t<is_versioned_v<M>, DLManagedTensorVersioned,
                                                  DLManagedTensor>>
inline constexpr bool is_same_layout_v = sizeof(M) == sizeof(Own) &&
                                         offsetof(M, deleter) == offsetof(Own, deleter) &&
                                         offsetof(M, dl_tensor) == offsetof(Own, dl_tensor) &&
                                         offsetof(M, dl_tensor.dtype) ==
                                             offsetof(Own, dl_tensor.dtype) &&
                                         offsetof(M, dl_tensor.byte_offset) ==
                                             offsetof(Own, dl_tensor.byte_offset);

}  // namespace detail

/// Releases a struct of any header.
struct DLPackDeleter {
  /// Calls the deleter of the struct, if it has one.
  template <class Managed, detail::IfManaged<Managed> = 0>
  TENON_CALLS_ALIKE void operator()(Managed* managed) const noexcept {
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
};
/// Owns a struct: `DLPackPtr p(to_dlpack(t))`; p.release() passes it on.
using DLPackPtr = std::unique_ptr<dlpack::DLManagedTensorVersioned, DLPackDeleter>;
/// As DLPackPtr, for a struct without a version.
using DLPackLegacyPtr = std::unique_ptr<dlpack::DLManagedTensor, DLPackDeleter>;

/// A rule that a struct breaks.
struct DLPackViolation {
  Error error;          ///< the error that from_dlpack() reports
  std::string message;  ///< the rule, and what the struct has instead
};

namespace detail {

class MemoryHold;

/// The contents of a DLPack struct of any header.
struct DLPackContents {
  DLPackVersion version{1, 0};
  uint64_t flags = 0;
  DLTensor tensor{};
  MemoryHold* exported = nullptr;  // in an import of this library's struct: its hold

  bool is_readonly() const noexcept { return (flags & kDLPackReadOnly) != 0; }
  ArrayRef<int64_t> sizes() const noexcept {
    return {tensor.shape, static_cast<size_t>(tensor.ndim)};
  }
};

/// Copies a struct's contents; only the version if the major version is not 1.
template <class Managed>
DLPackContents read_dlpack(const Managed& from) noexcept {
  static_assert(is_same_layout_v<Managed>, "this struct does not have the layout of DLPack's");
  DLPackContents read;
  if constexpr (is_versioned_v<Managed>) {
    read.version = {from.version.major, from.version.minor};
    if (read.version.major != kDLPackVersion.major) return read;
    read.flags = from.flags;
  }
  // Field by field: a wider load of fields that the producer has just stored waits for the store
  // buffer.
  const auto& t = from.dl_tensor;
  int32_t device = 0;  // memcpy(): the header's enum may lack the number
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

/// The ScalarType of a DLPack type; Undefined if tenon has none.
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

/// DLPack's code of packed numbers.
struct DLPackPackedRow {
  PackedType type;
  uint8_t code;
};
inline constexpr DLPackPackedRow kDLPackPackedTypes[] = {
    {PackedType::Float4_e2m1fn, kDLFloat4_e2m1fn},
    {PackedType::Float6_e2m3fn, kDLFloat6_e2m3fn},
    {PackedType::Float6_e3m2fn, kDLFloat6_e3m2fn},
    {PackedType::Float8_e8m0fnu, kDLFloat8_e8m0fnu},
    {PackedType::Int4, kDLInt},
    {PackedType::UInt4, kDLUInt},
    {PackedType::Int2, kDLInt},
    {PackedType::UInt2, kDLUInt},
    {PackedType::Int1, kDLInt},
    {PackedType::UInt1, kDLUInt},
};

/// The PackedType of a DLPack type with any number of lanes; Undefined if the type is not packed.
TENON_TEMPLATE_INLINE PackedType packed_from_dlpack(DLDataType type) noexcept {
  for (const DLPackPackedRow& row : kDLPackPackedTypes) {
    if (row.code == type.code && packed_bits(row.type) == type.bits) return row.type;
  }
  return PackedType::Undefined;
}

/// Whether DLPack has the device type: it does not have tenon's Expr and Meta.
inline bool is_dlpack_device(int32_t type) noexcept {
  return type <= kLastNumber && *name_of(static_cast<DeviceType>(type)) != '\0';
}
/// Whether `data` is a handle, not an address, on devices of this type.
constexpr bool has_dlpack_handles(DeviceType type) noexcept {
  return type == DeviceType::OpenCL || type == DeviceType::Vulkan || type == DeviceType::Metal ||
         type == DeviceType::WebGPU;
}
/// The Device of a DLDevice. For host-accessible memory the index is 0: producers disagree on it.
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

TENON_TEMPLATE_INLINE Error fail_dlpack_type(DLDataType type) noexcept {
  const PackedType packed = packed_from_dlpack(type);
  if (packed != PackedType::Undefined) {
    return fail(Error::NotSupported, "there is no element type ", packed, ", DLPack's code ",
                int{type.code}, " with ", int{type.bits},
                " bits; from_dlpack_packed(), or a view as uint8, takes the bytes");
  }
  return fail(Error::NotSupported, "there is no element type for DLPack's code ", int{type.code},
              " with ", int{type.bits}, " bits and ", int{type.lanes},
              type.lanes == 1 ? " lane" : " lanes");
}

/// Calls `found(error)` for each violation, with the text in last_error(), until `found` returns
/// false. Writes the struct's type and layout in place: moving a layout costs more than making it.
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
  if (!is_known && !found(fail_dlpack_type(t.dtype))) {
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

/// All rules that a DLPack struct breaks; empty if from_dlpack() accepts it. Does not consume or
/// change the struct. Reads only the version if the major version is not 1.
///
/// Not checked: whether the memory exists, and its alignment: from_dlpack() copies misaligned data.
/// The last violation is in last_error_message().
/// Errors: std::bad_alloc.
template <class Managed, detail::IfManaged<Managed> = 0>
std::vector<DLPackViolation> check_dlpack(const Managed* managed) {
  if (managed == nullptr) return {{Error::InvalidArgument, "the pointer is null"}};
  std::vector<DLPackViolation> all;
  auto type = own::ScalarType::Undefined;
  detail::Layout layout;
  detail::find_violations(detail::read_dlpack(*managed), type, layout, [&all](Error error) {
    all.push_back({error, last_error_message()});
    return true;
  });
  return all;
}

TENON_END_NAMESPACE
