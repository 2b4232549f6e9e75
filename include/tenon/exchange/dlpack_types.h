// SPDX-License-Identifier: MIT
// DLPack's structs with the layout of dlpack.h 1.3, so that no other header is needed.
//
// They are tenon's own types: a dlpack.h may be included as well, before or after. With `using
// namespace tenon` next to it, names that both have, such as DLTensor, are ambiguous; write
// tenon::DLTensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

/// The version of structs that tenon makes.
inline constexpr DLPackVersion kDLPackVersion{1, 3};

struct DLDevice {
  int32_t device_type;  ///< a number of DeviceType
  int32_t device_id;    ///< 0 for memory that the host reads
};

struct DLDataType {
  uint8_t code;    ///< a number of DLDataTypeCode
  uint8_t bits;    ///< of one lane
  uint16_t lanes;  ///< 1, unless elements are vectors
};

/// Codes of DLDataType.
enum DLDataTypeCode : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,  // exponents alone: there is no ScalarType
};

struct DLTensor {
  void* data;  ///< null without elements; a handle on OpenCL, Vulkan, Metal, WebGPU
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;        ///< `ndim` sizes in elements; may be null for ndim 0
  int64_t* strides;      ///< in elements; before 1.2, null for row-major
  uint64_t byte_offset;  ///< of element 0 from `data`
};

/// A tensor with its owner: DLPack before 1.0, without a version.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);  ///< releases all of it, `self` too; may be null
};

/// Flags of DLManagedTensorVersioned.
inline constexpr uint64_t kDLPackReadOnly = 1;
inline constexpr uint64_t kDLPackIsCopied = 2;

/// A tensor with its owner.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

/// Links to a DLPackExchangeAPI of another major version.
struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  DLPackExchangeAPIHeader* prev_api;
};

/// How Python's tensor types exchange tensors without Python calls: a capsule "dlpack_exchange_api"
/// in the type's attribute __dlpack_c_exchange_api__. Functions return 0, or -1 with an error set.
struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  int (*managed_tensor_allocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                  void* error_context,
                                  void (*set_error)(void* error_context, const char* kind,
                                                    const char* message));
  int (*managed_tensor_from_py_object_no_sync)(void* object, DLManagedTensorVersioned** out);
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* tensor, void** out);
  int (*dltensor_from_py_object_no_sync)(void* object, DLTensor* out);
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void** out);
};

// Other libraries depend on the layout.
static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4);
static_assert(sizeof(void*) != 8 || (sizeof(DLTensor) == 48 && offsetof(DLTensor, dtype) == 20 &&
                                     offsetof(DLTensor, byte_offset) == 40));
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80 &&
               offsetof(DLManagedTensorVersioned, dl_tensor) == 32));
static_assert(sizeof(void*) != 8 || sizeof(DLPackExchangeAPI) == 56);

namespace detail {

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
  template <class Managed, detail::IfManaged<Managed> = 0>
  TENON_CALLS_ALIKE void operator()(Managed* managed) const noexcept {
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
};
/// Owns a struct: `DLPackPtr p(to_dlpack(t))`; p.release() passes it on.
using DLPackPtr = std::unique_ptr<DLManagedTensorVersioned, DLPackDeleter>;
using DLPackLegacyPtr = std::unique_ptr<DLManagedTensor, DLPackDeleter>;

TENON_END_NAMESPACE
