// SPDX-License-Identifier: MIT
// Structs that others declared: tenon's are not needed, and a dlpack.h may come after tenon's header.
#include "tenon/tenon.h"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#if defined(USE_ATEN_LIB)
#include <ATen/DLConvertor.h>
#include <ATen/ops/arange.h>
#endif

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tensor/helpers.h"

namespace dlpack_foreign_test {

using namespace tenon;
using namespace tests;

// Somebody's own: other names, enumerations for numbers, and members that tenon does not know.
namespace theirs {

enum Kind { kHost = 1, kGpu = 2 };
struct Where {
  Kind device_type;
  int device_id;
};
struct Type {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct Array {
  void* data;
  Where device;
  int ndim;
  Type dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct Old {
  Array dl_tensor;
  void* manager_ctx;
  void (*deleter)(Old*);
};
struct Number {
  uint32_t major, minor;
};
struct New {
  Number version;
  void* manager_ctx;
  void (*deleter)(New*);
  uint64_t flags;
  Array dl_tensor;
};

}  // namespace theirs

namespace {

template <class Managed>
using Owned = std::unique_ptr<Managed, DLPackDeleter>;

// Structs of a header's are taken and made.
template <class New, class Old>
void check_header() {
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  Lent<New> lent(data, kInt32, {2, 3}, {3, 1});
  lent.managed.version = {1, 1};
  Lent<Old> old_lent(data, kInt32, {2, 3});
  const auto check_taken = [](auto& given) {
    CHECK(tenon::check_dlpack(given.get()).empty());
    TensorPtr t = from_dlpack(given.get());
    CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
    CHECK(sizes(t) == Vector{2, 3});
    t.reset();
    CHECK(given.released == 1);
  };
  check_taken(lent);
  check_taken(old_lent);

  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  static_assert(std::is_same_v<decltype(to_dlpack<New>(t)), New*>);
  static_assert(std::is_same_v<decltype(tenon::try_to_dlpack<New>(t)), tenon::Result<New*>>);
  Owned<New> made(to_dlpack<New>(t));
  CHECK(made->dl_tensor.data == tenon::const_data_ptr(t));
  CHECK(shape_of(made->dl_tensor) == Vector{2, 3});
  const Owned<Old> old(to_dlpack_legacy<Old>(t));
  CHECK(int{old->dl_tensor.dtype.bits} == 32);
  CHECK(strides_of(old->dl_tensor) == Vector{3, 1});
  CHECK(values<int32_t>(from_dlpack(std::move(made))) == Ints{1, 2, 3, 4, 5, 6});
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("dlpack foreign: structs of somebody's own are taken and made") {
  check_header<theirs::New, theirs::Old>();
}

TEST_CASE("dlpack foreign: one's struct is another's, bit for bit") {
  TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  // What a C interface does: a pointer passed on as another type of the same layout.
  void* const p = to_dlpack(tenon::transpose(t, 0, 1));
  t.reset();
  auto* const as_theirs = static_cast<theirs::New*>(p);
  CHECK(as_theirs->dl_tensor.ndim == 2);
  const TensorPtr back = from_dlpack(as_theirs);
  CHECK(values<int32_t>(back) == Ints{1, 4, 2, 5, 3, 6});
  CHECK(strides(back) == Vector{1, 3});
}

#if defined(DLPACK_MAJOR_VERSION)

#endif

#if TENON_ATEN_MODE
TEST_CASE("dlpack foreign: at::fromDLPack takes a struct of ours, and releases it once") {
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  Calls calls;
  TensorPtr t = tenon::from_blob(data, {2, 3}, tenon::ScalarType::Int, calls.deleter());
  {
    at::Tensor a = at::fromDLPack(to_dlpack_legacy<::DLManagedTensor>(tenon::transpose(t, 0, 1)));
    t.reset();
    CHECK(calls.count == 0);
    CHECK(a.data_ptr() == data);
    CHECK(a.sizes().vec() == Vector{3, 2});
    CHECK(a.strides().vec() == Vector{1, 3});
    CHECK(a.scalar_type() == at::kInt);
  }
  CHECK(calls.count == 1);
}

TEST_CASE("dlpack foreign: from_dlpack takes at::toDLPack's struct, and releases it once") {
  at::Tensor a = at::arange(6, at::kInt);
  const void* const data = a.data_ptr();
  TensorPtr t = from_dlpack(at::toDLPack(a));
  CHECK(tenon::const_data_ptr(t) == data);
  a = at::Tensor();
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
  t.reset();
  a = at::arange(6, at::kInt);
  t = from_dlpack(at::toDLPack(a));
  t.reset();
  CHECK(a.storage().use_count() == 1);
}
#endif

#if TENON_ATEN_MODE && defined(DLPACK_MAJOR_VERSION)
TEST_CASE("dlpack foreign: ATen's structs with a version go both ways") {
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  Calls calls;
  TensorPtr t = tenon::from_blob(data, {2, 3}, tenon::ScalarType::Int, calls.deleter());
  {
    const at::Tensor a = at::fromDLPackVersioned(to_dlpack<::DLManagedTensorVersioned>(t));
    t.reset();
    CHECK(a.data_ptr() == data);
    CHECK(a.strides().vec() == Vector{3, 1});
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
  const at::Tensor a = at::arange(6, at::kInt).view({2, 3}).t();
  const auto users = a.storage().use_count();  // a view of ATen's keeps its base
  t = from_dlpack(at::toDLPackVersioned(a));
  CHECK(tenon::const_data_ptr(t) == a.data_ptr());
  CHECK(strides(t) == Vector{1, 3});
  CHECK(values<int32_t>(t) == Ints{0, 3, 1, 4, 2, 5});
  t.reset();
  CHECK(a.storage().use_count() == users);
}
#endif

}  // namespace dlpack_foreign_test
