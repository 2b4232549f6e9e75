// SPDX-License-Identifier: MIT
// The layout of the structs, by numbers and against a dlpack.h, which comes first here.
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#elif defined(USE_ATEN_LIB)
#include <ATen/dlpack.h>
#endif

#include "tenon/exchange/dlpack_types.h"

#include "support/catch.h"

namespace dlpack_types_test {

namespace {

// A dlpack.h has the same names.
using Exchange = tenon::dlpack::DLPackExchangeAPI;
using Versioned = tenon::dlpack::DLManagedTensorVersioned;
using Legacy = tenon::dlpack::DLManagedTensor;

// A struct's size, and its members' offsets in the order of dlpack.h.
using Offsets = std::vector<size_t>;

template <class T>
Offsets tensor_offsets() {
  return {sizeof(T),          offsetof(T, data),  offsetof(T, device),  offsetof(T, ndim),
          offsetof(T, dtype), offsetof(T, shape), offsetof(T, strides), offsetof(T, byte_offset)};
}
template <class M>
Offsets legacy_offsets() {
  return {sizeof(M), offsetof(M, dl_tensor), offsetof(M, manager_ctx), offsetof(M, deleter)};
}
template <class M>
Offsets versioned_offsets() {
  return {sizeof(M),          offsetof(M, version),  offsetof(M, manager_ctx), offsetof(M, deleter),
          offsetof(M, flags), offsetof(M, dl_tensor)};
}
template <class A>
Offsets exchange_offsets() {
  return {sizeof(A),
          offsetof(A, managed_tensor_allocator),
          offsetof(A, managed_tensor_from_py_object_no_sync),
          offsetof(A, managed_tensor_to_py_object_no_sync),
          offsetof(A, dltensor_from_py_object_no_sync),
          offsetof(A, current_work_stream)};
}

// Structs that look like it and are not.
struct Swapped {
  tenon::dlpack::DLTensor dl_tensor;
  void (*deleter)(Swapped*);
  void* manager_ctx;
};
struct Longer {
  tenon::dlpack::DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(Longer*);
  uint64_t flags;
  uint64_t more;
  tenon::dlpack::DLTensor dl_tensor;
};
struct NoDeleter {
  tenon::dlpack::DLTensor dl_tensor;
  void* manager_ctx;
};

template <class T>
constexpr bool is_c_struct = std::is_trivial_v<T>&& std::is_standard_layout_v<T>;
static_assert(is_c_struct<Versioned> && is_c_struct<Legacy> && is_c_struct<Exchange>);

using namespace tenon::detail;
static_assert(is_managed_tensor_v<Versioned> && is_managed_tensor_v<Legacy>);
static_assert(is_versioned_v<Versioned> && !is_versioned_v<Legacy>);
static_assert(!is_managed_tensor_v<tenon::dlpack::DLTensor> && !is_managed_tensor_v<NoDeleter>);
static_assert(!is_managed_tensor_v<int> && !is_managed_tensor_v<void>);
static_assert(is_same_layout_v<Versioned> && is_same_layout_v<Legacy>);
static_assert(is_managed_tensor_v<Swapped> && !is_same_layout_v<Swapped>);
static_assert(is_versioned_v<Longer> && !is_same_layout_v<Longer>);

}  // namespace

TEST_CASE("dlpack types: structs, version and flags are dlpack.h's") {
  CHECK(sizeof(tenon::dlpack::DLDevice) == 8);
#if UINTPTR_MAX == UINT64_MAX
  CHECK(tensor_offsets<tenon::dlpack::DLTensor>() == Offsets{48, 0, 8, 16, 20, 24, 32, 40});
  CHECK(legacy_offsets<Legacy>() == Offsets{64, 0, 48, 56});
  CHECK(versioned_offsets<Versioned>() == Offsets{80, 0, 8, 16, 24, 32});
  CHECK(sizeof(tenon::dlpack::DLPackExchangeAPIHeader) == 16);
  CHECK(exchange_offsets<Exchange>() == Offsets{56, 16, 24, 32, 40, 48});
#elif defined(__i386__)  // int64_t is aligned to 4 bytes
  CHECK(tensor_offsets<tenon::dlpack::DLTensor>() == Offsets{36, 0, 4, 12, 16, 20, 24, 28});
  CHECK(legacy_offsets<Legacy>() == Offsets{44, 0, 36, 40});
  CHECK(versioned_offsets<Versioned>() == Offsets{60, 0, 8, 12, 16, 24});
  CHECK(sizeof(tenon::dlpack::DLPackExchangeAPIHeader) == 12);
  CHECK(exchange_offsets<Exchange>() == Offsets{32, 12, 16, 20, 24, 28});
#else                    // 32 bits, where int64_t is aligned to 8 bytes, as on ARM
  CHECK(tensor_offsets<tenon::dlpack::DLTensor>() == Offsets{40, 0, 4, 12, 16, 20, 24, 32});
  CHECK(legacy_offsets<Legacy>() == Offsets{48, 0, 40, 44});
  CHECK(versioned_offsets<Versioned>() == Offsets{64, 0, 8, 12, 16, 24});
  CHECK(sizeof(tenon::dlpack::DLPackExchangeAPIHeader) == 12);
  CHECK(exchange_offsets<Exchange>() == Offsets{32, 12, 16, 20, 24, 28});
#endif
  CHECK(tenon::dlpack::kDLPackVersion.major == 1);
  CHECK(tenon::dlpack::kDLPackVersion.minor == 3);
  CHECK(tenon::dlpack::kDLPackReadOnly == 1);
  CHECK(tenon::dlpack::kDLPackIsCopied == 2);
  CHECK(tenon::dlpack::kDLPackIsSubbyteTypePadded == 4);
}

#if defined(DLPACK_MAJOR_VERSION)

TEST_CASE("dlpack types: a dlpack.h has the same structs, flags and codes") {
  CHECK(DLPACK_MAJOR_VERSION == 1);
  CHECK(tensor_offsets<::DLTensor>() == tensor_offsets<tenon::dlpack::DLTensor>());
  CHECK(legacy_offsets<::DLManagedTensor>() == legacy_offsets<Legacy>());
  CHECK(versioned_offsets<::DLManagedTensorVersioned>() == versioned_offsets<Versioned>());
  CHECK(DLPACK_FLAG_BITMASK_READ_ONLY == tenon::dlpack::kDLPackReadOnly);
  CHECK(DLPACK_FLAG_BITMASK_IS_COPIED == tenon::dlpack::kDLPackIsCopied);
  CHECK(tests::Longs{::kDLInt, ::kDLUInt, ::kDLFloat, ::kDLBfloat, ::kDLComplex, ::kDLBool} ==
        tests::Longs{tenon::dlpack::kDLInt, tenon::dlpack::kDLUInt, tenon::dlpack::kDLFloat,
                     tenon::dlpack::kDLBfloat, tenon::dlpack::kDLComplex, tenon::dlpack::kDLBool});
#if DLPACK_MINOR_VERSION >= 1
  CHECK(tests::Longs{::kDLFloat8_e4m3fn, ::kDLFloat8_e4m3fnuz, ::kDLFloat8_e5m2,
                     ::kDLFloat8_e5m2fnuz} ==
        tests::Longs{tenon::dlpack::kDLFloat8_e4m3fn, tenon::dlpack::kDLFloat8_e4m3fnuz,
                     tenon::dlpack::kDLFloat8_e5m2, tenon::dlpack::kDLFloat8_e5m2fnuz});
#endif
#if DLPACK_MINOR_VERSION >= 3
  CHECK(tests::Longs{::kDLFloat8_e8m0fnu, ::kDLFloat6_e2m3fn, ::kDLFloat6_e3m2fn,
                     ::kDLFloat4_e2m1fn} ==
        tests::Longs{tenon::dlpack::kDLFloat8_e8m0fnu, tenon::dlpack::kDLFloat6_e2m3fn,
                     tenon::dlpack::kDLFloat6_e3m2fn, tenon::dlpack::kDLFloat4_e2m1fn});
  CHECK(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED == tenon::dlpack::kDLPackIsSubbyteTypePadded);
  CHECK(exchange_offsets<::DLPackExchangeAPI>() == exchange_offsets<Exchange>());
#endif
}
#endif

}  // namespace dlpack_types_test
