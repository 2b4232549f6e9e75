// SPDX-License-Identifier: MIT
// The layout of the structs, by numbers and against a dlpack.h, which comes first here.
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#elif defined(USE_ATEN_LIB)
#include <ATen/dlpack.h>
#endif

#include "tenon/exchange/dlpack_types.h"

#include "support/catch.h"

namespace {

// A dlpack.h has the same names.
using Exchange = tenon::DLPackExchangeAPI;
using Versioned = tenon::DLManagedTensorVersioned;
using Legacy = tenon::DLManagedTensor;

// Structs that look like it and are not.
struct Swapped {
  tenon::DLTensor dl_tensor;
  void (*deleter)(Swapped*);
  void* manager_ctx;
};
struct Longer {
  tenon::DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(Longer*);
  uint64_t flags;
  uint64_t more;
  tenon::DLTensor dl_tensor;
};
struct NoDeleter {
  tenon::DLTensor dl_tensor;
  void* manager_ctx;
};

}  // namespace

TEST_CASE("dlpack types: structs are laid out as dlpack.h has them, on a 64-bit machine") {
  STATIC_REQUIRE(sizeof(void*) == 8);
  STATIC_REQUIRE(sizeof(tenon::DLDevice) == 8);
  STATIC_REQUIRE(offsetof(tenon::DLDevice, device_id) == 4);
  STATIC_REQUIRE(sizeof(tenon::DLDataType) == 4);
  STATIC_REQUIRE(offsetof(tenon::DLDataType, bits) == 1);
  STATIC_REQUIRE(offsetof(tenon::DLDataType, lanes) == 2);
  STATIC_REQUIRE(sizeof(tenon::DLTensor) == 48);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, data) == 0);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, device) == 8);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, ndim) == 16);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, dtype) == 20);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, shape) == 24);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, strides) == 32);
  STATIC_REQUIRE(offsetof(tenon::DLTensor, byte_offset) == 40);
  STATIC_REQUIRE(sizeof(Legacy) == 64);
  STATIC_REQUIRE(offsetof(Legacy, dl_tensor) == 0);
  STATIC_REQUIRE(offsetof(Legacy, manager_ctx) == 48);
  STATIC_REQUIRE(offsetof(Legacy, deleter) == 56);
  STATIC_REQUIRE(sizeof(Versioned) == 80);
  STATIC_REQUIRE(offsetof(Versioned, version) == 0);
  STATIC_REQUIRE(offsetof(Versioned, manager_ctx) == 8);
  STATIC_REQUIRE(offsetof(Versioned, deleter) == 16);
  STATIC_REQUIRE(offsetof(Versioned, flags) == 24);
  STATIC_REQUIRE(offsetof(Versioned, dl_tensor) == 32);
}

TEST_CASE("dlpack types: structs are C's, trivial and of standard layout") {
  STATIC_REQUIRE(std::is_trivial_v<Versioned>);
  STATIC_REQUIRE(std::is_standard_layout_v<Versioned>);
  STATIC_REQUIRE(std::is_trivial_v<Legacy>);
  STATIC_REQUIRE(std::is_standard_layout_v<Legacy>);
  STATIC_REQUIRE(std::is_trivial_v<Exchange>);
  STATIC_REQUIRE(std::is_standard_layout_v<Exchange>);
}

TEST_CASE("dlpack types: the exchange API is a header and five functions") {
  STATIC_REQUIRE(sizeof(tenon::DLPackExchangeAPIHeader) == 16);
  STATIC_REQUIRE(offsetof(tenon::DLPackExchangeAPIHeader, prev_api) == 8);
  STATIC_REQUIRE(sizeof(Exchange) == 56);
  STATIC_REQUIRE(offsetof(Exchange, managed_tensor_allocator) == 16);
  STATIC_REQUIRE(offsetof(Exchange, managed_tensor_from_py_object_no_sync) == 24);
  STATIC_REQUIRE(offsetof(Exchange, managed_tensor_to_py_object_no_sync) == 32);
  STATIC_REQUIRE(offsetof(Exchange, dltensor_from_py_object_no_sync) == 40);
  STATIC_REQUIRE(offsetof(Exchange, current_work_stream) == 48);
}

TEST_CASE("dlpack types: the version is 1.3, and the flags are its bits 0 and 1") {
  STATIC_REQUIRE(tenon::kDLPackVersion.major == 1);
  STATIC_REQUIRE(tenon::kDLPackVersion.minor == 3);
  STATIC_REQUIRE(tenon::kDLPackReadOnly == 1);
  STATIC_REQUIRE(tenon::kDLPackIsCopied == 2);
}

TEST_CASE("dlpack types: a struct is told by its members, versioned or not") {
  using namespace tenon::detail;
  STATIC_REQUIRE(is_managed_tensor_v<Versioned>);
  STATIC_REQUIRE(is_managed_tensor_v<Legacy>);
  STATIC_REQUIRE(is_versioned_v<Versioned>);
  STATIC_REQUIRE_FALSE(is_versioned_v<Legacy>);
  STATIC_REQUIRE_FALSE(is_managed_tensor_v<tenon::DLTensor>);
  STATIC_REQUIRE_FALSE(is_managed_tensor_v<NoDeleter>);
  STATIC_REQUIRE_FALSE(is_managed_tensor_v<int>);
  STATIC_REQUIRE_FALSE(is_managed_tensor_v<void>);
}

TEST_CASE("dlpack types: a struct of another layout is not taken for one of DLPack's") {
  using namespace tenon::detail;
  STATIC_REQUIRE(is_same_layout_v<Versioned>);
  STATIC_REQUIRE(is_same_layout_v<Legacy>);
  STATIC_REQUIRE(is_managed_tensor_v<Swapped>);
  STATIC_REQUIRE_FALSE(is_same_layout_v<Swapped>);
  STATIC_REQUIRE(is_versioned_v<Longer>);
  STATIC_REQUIRE_FALSE(is_same_layout_v<Longer>);
}

#if defined(DLPACK_MAJOR_VERSION)
TEST_CASE("dlpack types: a dlpack.h has the same structs, flags and codes") {
  STATIC_REQUIRE(DLPACK_MAJOR_VERSION == 1);
  STATIC_REQUIRE(sizeof(::DLTensor) == sizeof(tenon::DLTensor));
  STATIC_REQUIRE(offsetof(::DLTensor, device) == offsetof(tenon::DLTensor, device));
  STATIC_REQUIRE(offsetof(::DLTensor, ndim) == offsetof(tenon::DLTensor, ndim));
  STATIC_REQUIRE(offsetof(::DLTensor, dtype) == offsetof(tenon::DLTensor, dtype));
  STATIC_REQUIRE(offsetof(::DLTensor, shape) == offsetof(tenon::DLTensor, shape));
  STATIC_REQUIRE(offsetof(::DLTensor, strides) == offsetof(tenon::DLTensor, strides));
  STATIC_REQUIRE(offsetof(::DLTensor, byte_offset) == offsetof(tenon::DLTensor, byte_offset));
  STATIC_REQUIRE(sizeof(::DLManagedTensor) == sizeof(Legacy));
  STATIC_REQUIRE(offsetof(::DLManagedTensor, manager_ctx) == offsetof(Legacy, manager_ctx));
  STATIC_REQUIRE(offsetof(::DLManagedTensor, deleter) == offsetof(Legacy, deleter));
  STATIC_REQUIRE(sizeof(::DLManagedTensorVersioned) == sizeof(Versioned));
  STATIC_REQUIRE(offsetof(::DLManagedTensorVersioned, flags) == offsetof(Versioned, flags));
  STATIC_REQUIRE(offsetof(::DLManagedTensorVersioned, deleter) == offsetof(Versioned, deleter));
  STATIC_REQUIRE(offsetof(::DLManagedTensorVersioned, dl_tensor) == offsetof(Versioned, dl_tensor));
  STATIC_REQUIRE(DLPACK_FLAG_BITMASK_READ_ONLY == tenon::kDLPackReadOnly);
  STATIC_REQUIRE(DLPACK_FLAG_BITMASK_IS_COPIED == tenon::kDLPackIsCopied);
  STATIC_REQUIRE(int{::kDLInt} == tenon::kDLInt);
  STATIC_REQUIRE(int{::kDLUInt} == tenon::kDLUInt);
  STATIC_REQUIRE(int{::kDLFloat} == tenon::kDLFloat);
  STATIC_REQUIRE(int{::kDLBfloat} == tenon::kDLBfloat);
  STATIC_REQUIRE(int{::kDLComplex} == tenon::kDLComplex);
  STATIC_REQUIRE(int{::kDLBool} == tenon::kDLBool);
}
#endif

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MINOR_VERSION >= 1
TEST_CASE("dlpack types: a dlpack.h since 1.1 has the same codes for 8-bit floats") {
  STATIC_REQUIRE(int{::kDLFloat8_e4m3fn} == tenon::kDLFloat8_e4m3fn);
  STATIC_REQUIRE(int{::kDLFloat8_e4m3fnuz} == tenon::kDLFloat8_e4m3fnuz);
  STATIC_REQUIRE(int{::kDLFloat8_e5m2} == tenon::kDLFloat8_e5m2);
  STATIC_REQUIRE(int{::kDLFloat8_e5m2fnuz} == tenon::kDLFloat8_e5m2fnuz);
}
#endif

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MINOR_VERSION >= 3
TEST_CASE("dlpack types: a dlpack.h since 1.3 has the same exchange API") {
  using Theirs = ::DLPackExchangeAPI;
  STATIC_REQUIRE(sizeof(Theirs) == sizeof(Exchange));
  STATIC_REQUIRE(offsetof(Theirs, managed_tensor_allocator) ==
                 offsetof(Exchange, managed_tensor_allocator));
  STATIC_REQUIRE(offsetof(Theirs, managed_tensor_from_py_object_no_sync) ==
                 offsetof(Exchange, managed_tensor_from_py_object_no_sync));
  STATIC_REQUIRE(offsetof(Theirs, managed_tensor_to_py_object_no_sync) ==
                 offsetof(Exchange, managed_tensor_to_py_object_no_sync));
  STATIC_REQUIRE(offsetof(Theirs, dltensor_from_py_object_no_sync) ==
                 offsetof(Exchange, dltensor_from_py_object_no_sync));
  STATIC_REQUIRE(offsetof(Theirs, current_work_stream) == offsetof(Exchange, current_work_stream));
}
#endif
