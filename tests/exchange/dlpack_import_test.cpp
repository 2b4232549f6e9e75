// SPDX-License-Identifier: MIT
// from_dlpack: what becomes of a struct. What is wrong with one is in dlpack_check_test.cpp.

#include "backend/helpers.h"
#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Legacy = tenon::DLManagedTensor;
using Versioned = tenon::DLManagedTensorVersioned;
using Ints = std::vector<int32_t>;
using FromDLPack = decltype(from_dlpack);

static_assert(std::is_same_v<decltype(from_dlpack(std::declval<Versioned*>())), TensorPtr>);
static_assert(
    std::is_same_v<decltype(try_from_dlpack(std::declval<Legacy*>())), Result<TensorPtr>>);
static_assert(!std::is_invocable_v<FromDLPack, void*>);
static_assert(!std::is_invocable_v<FromDLPack, DLTensor*>);
static_assert(!std::is_invocable_v<FromDLPack, Versioned*, int>, "copy takes only a bool");

void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

// What such a struct's elements are, read one by one.
Ints read(int32_t* data, const Vector& shape, const Vector& steps) {
  Lent<> lent(data, kInt32, shape, steps);
  Lent<Legacy> legacy(data, kInt32, shape, steps);
  const Ints all = values<int32_t>(from_dlpack(lent.get()));
  CHECK(lent.released == 1);
  CHECK(values<int32_t>(from_dlpack(legacy.get())) == all);
  CHECK(legacy.released == 1);
  return all;
}

// That a struct is refused with this error, by either form, and released once.
template <class Managed>
void check_refused(Lent<Managed>& lent, Error error, const char* words) {
  Managed as_given = lent.managed;
  const Vector shape = lent.shape;
  const Vector steps = lent.strides;
  CHECK_ERROR(error, words, from_dlpack(lent.get()));
  CHECK(lent.released == 1);
  lent.managed = as_given;
  std::copy(shape.begin(), shape.end(), lent.shape.begin());
  std::copy(steps.begin(), steps.end(), lent.strides.begin());
  const auto failed = try_from_dlpack(lent.get());
  CHECK(failed.error() == error);
  CHECK(tests::contains(failed.message(), words));
  CHECK(lent.released == 2);
}

}  // namespace

TEST_CASE("from_dlpack: is a DYNAMIC_BOUND tensor over the struct's memory") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<> lent(data, kInt32, {2, 3}, {3, 1});
  TensorPtr t = from_dlpack(lent.get());
  CHECK(const_data_ptr(t) == data);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(strides(t) == Vector{3, 1});
  CHECK(t->is_contiguous());
  CHECK(device(t) == Device());
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  mutable_data_ptr<int32_t>(t)[0] = 7;
  CHECK(data[0] == 7);
  CHECK(lent.released == 0);
  t.reset();
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: takes a dynamism") {
  int32_t data[2] = {};
  Lent<> lent(data, kInt32, {2}, {1});
  const TensorPtr t = from_dlpack(lent.get(), none, none, TensorShapeDynamism::STATIC);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::STATIC);
  Lent<> other(data, kInt32, {2}, {1});
  const TensorPtr copy = from_dlpack(other.get(), true, none, TensorShapeDynamism::DYNAMIC);
  CHECK(shape_dynamism(copy) == TensorShapeDynamism::DYNAMIC);
}

TEST_CASE("from_dlpack: a struct without a version is taken as well") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<Legacy> lent(data, kInt32, {3, 2}, {1, 3});
  TensorPtr t = from_dlpack(lent.get());
  CHECK(values<int32_t>(t) == Ints{0, 3, 1, 4, 2, 5});
  CHECK_FALSE(is_readonly(t));
  t.reset();
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: of another major version it calls the deleter, and touches nothing else") {
  for (const uint32_t major : {0u, 2u, UINT32_MAX}) {
    Lent<> lent(nullptr, kFloat32, {2});
    lent.managed.version = {major, 0};
    lent.tensor().ndim = 64;
    lent.tensor().shape = reinterpret_cast<int64_t*>(uintptr_t{8});
    lent.tensor().strides = reinterpret_cast<int64_t*>(uintptr_t{8});
    check_refused(lent, Error::NotSupported, "from_dlpack: the struct is of DLPack ");
  }
}

TEST_CASE("from_dlpack: a higher minor version and unknown flags are taken") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  lent.managed.version = {1, 99};
  lent.managed.flags = 0xf0;
  CHECK(values<int32_t>(from_dlpack(lent.get())) == Ints{1, 2});
}

TEST_CASE("from_dlpack: a null deleter and a null manager_ctx are legal") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  lent.managed.deleter = nullptr;
  lent.managed.manager_ctx = nullptr;
  CHECK(values<int32_t>(from_dlpack(lent.get())) == Ints{1, 2});
  CHECK(values<int32_t>(from_dlpack(lent.get(), true)) == Ints{1, 2});
  lent.managed.version.major = 2;
  CHECK_ERROR(Error::NotSupported, "DLPack 2.3", from_dlpack(lent.get()));
  Lent<Legacy> legacy(data, kInt32, {2});
  legacy.managed.deleter = nullptr;
  CHECK(values<int32_t>(from_dlpack(legacy.get())) == Ints{1, 2});
  CHECK(legacy.released == 0);
}

TEST_CASE("from_dlpack: null strides are row-major") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<Legacy> lent(data, kInt32, {3, 2});
  TensorPtr t = from_dlpack(lent.get());
  CHECK(strides(t) == Vector{2, 1});
  CHECK(read(data, {3, 2}, {}) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(read(data, {1, 2, 1, 3}, {}) == Ints{0, 1, 2, 3, 4, 5});
}

TEST_CASE("from_dlpack: 0 dimensions are one element") {
  int32_t data[1] = {5};
  CHECK(read(data, {}, {}) == Ints{5});
}

TEST_CASE("from_dlpack: the byte offset is in the data, its views and what is exported again") {
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  Lent<> lent(data, kInt32, {2, 3}, {3, 1});
  lent.tensor().byte_offset = 8;
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(const_data_ptr(t) == data + 2);
  CHECK(values<int32_t>(t) == Ints{2, 3, 4, 5, 6, 7});
  CHECK(values<int32_t>(select(t, 0, 1)) == Ints{5, 6, 7});
  CHECK(values<int32_t>(clone_tensor_ptr(t)) == Ints{2, 3, 4, 5, 6, 7});
  const DLPackPtr again(to_dlpack(select(t, 1, 1)));
  CHECK(again->dl_tensor.data == data + 3);
  CHECK(again->dl_tensor.byte_offset == 0);
  Lent<Legacy> legacy(data, kInt32, {2});
  legacy.tensor().byte_offset = 20;
  CHECK(values<int32_t>(from_dlpack(legacy.get())) == Ints{5, 6});
}

TEST_CASE("from_dlpack: the byte offset counts for the alignment") {
  alignas(8) unsigned char bytes[16] = {};
  const int32_t numbers[2] = {-5, 1000000};
  std::memcpy(bytes + 4, numbers, 8);
  Lent<> lent(bytes + 1, kInt32, {2}, {1});  // odd, and the sum is not
  lent.tensor().byte_offset = 3;
  const TensorPtr t = from_dlpack(lent.get(), false);
  CHECK(const_data_ptr(t) == bytes + 4);
  CHECK(values<int32_t>(t) == Ints{-5, 1000000});
  Lent<> odd(bytes, kInt32, {2}, {1});
  odd.tensor().byte_offset = 5;
  CHECK_ERROR(Error::NotSupported, "not aligned", from_dlpack(odd.get(), false));
}

TEST_CASE("from_dlpack: memory that is not aligned is copied, or refused where copy is false") {
  alignas(8) unsigned char bytes[32] = {};
  const int32_t numbers[4] = {1, -2, 300000, 4};
  std::memcpy(bytes + 1, numbers, sizeof numbers);
  for (const bool explicitly : {false, true}) {
    Lent<> lent(bytes + 1, kInt32, {2, 2}, {2, 1});
    const TensorPtr t = explicitly ? from_dlpack(lent.get(), true) : from_dlpack(lent.get());
    CHECK(lent.released == 1);
    CHECK(values<int32_t>(t) == Ints{1, -2, 300000, 4});
    CHECK(strides(t) == Vector{2, 1});
    CHECK(ownership(t) == Ownership::Owned);
    CHECK(is_aligned(t, 4));
  }
  Lent<> lent(bytes + 1, kInt32, {2, 2}, {2, 1});
  CHECK_ERROR(Error::NotSupported,
              "from_dlpack: the data is not aligned for its elements, of Int, and copy is false",
              from_dlpack(lent.get(), false));
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: a copy of misaligned memory follows any strides, of up to 64 dimensions") {
  alignas(8) unsigned char bytes[32] = {};
  const int32_t numbers[6] = {0, 1, 2, 3, 4, 5};
  std::memcpy(bytes + 1, numbers, sizeof numbers);
  const auto copied = [&](int64_t offset, Vector shape, Vector steps) {
    Lent<> lent(bytes + 1 + 4 * offset, kInt32, std::move(shape), std::move(steps));
    const TensorPtr t = from_dlpack(lent.get());
    CHECK(lent.released == 1);
    return values<int32_t>(t);
  };
  CHECK(copied(0, {3, 2}, {1, 3}) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(copied(5, {2, 3}, {-3, -1}) == Ints{5, 4, 3, 2, 1, 0});
  CHECK(copied(1, {2, 2}, {0, 1}) == Ints{1, 2, 1, 2});
  CHECK(copied(3, {}, {}) == Ints{3});
  CHECK(copied(0, {1, 3}, {INT64_MAX, 2}) == Ints{0, 2, 4});
  Vector deep(64, 1);
  deep[5] = 3;
  Vector steps(64, INT64_MIN);
  steps[5] = 2;
  CHECK(copied(0, deep, steps) == Ints{0, 2, 4});
  CHECK(copied(0, deep, {}) == Ints{0, 1, 2});
}

TEST_CASE("from_dlpack: what has no elements is aligned anywhere") {
  alignas(8) unsigned char bytes[8] = {};
  Lent<> lent(bytes + 1, kInt32, {0, 3}, {3, 1});
  const TensorPtr t = from_dlpack(lent.get(), false);
  CHECK(t->numel() == 0);
  CHECK(lent.released == 0);
}

TEST_CASE("from_dlpack: complex numbers are aligned as their parts are") {
  alignas(16) unsigned char bytes[32] = {};
  Lent<> lent(bytes + 4, {5, 64, 1}, {2}, {1});
  CHECK(const_data_ptr(from_dlpack(lent.get(), false)) == bytes + 4);
  Lent<> odd(bytes + 2, {5, 64, 1}, {2}, {1});
  CHECK_ERROR(Error::NotSupported, "not aligned", from_dlpack(odd.get(), false));
}

TEST_CASE("from_dlpack: misaligned memory that the host cannot read is refused") {
  Lent<> lent(reinterpret_cast<void*>(uintptr_t{4097}), kFloat32, {2}, {1});
  lent.set_device(2, 0);
  check_refused(lent, Error::NotSupported, "the data, on cuda:0, is not aligned");
}

TEST_CASE("from_dlpack: strides of sizes up to 1 do not count for contiguity, and are kept") {
  float data[1024] = {};
  const auto check = [&](const Vector& shape, const Vector& steps) {
    Lent<> lent(data, kFloat32, shape, steps);
    const TensorPtr t = from_dlpack(lent.get());
    CHECK(t->is_contiguous());
    CHECK(strides(t) == steps);
    CHECK(tests::strides_of(DLPackPtr(to_dlpack(t))->dl_tensor) == steps);
  };
  check({1, 128}, {1, 1});
  check({1024, 1}, {1, 1});
  check({1, 1}, {5, 7});
  check({1, 3, 1}, {0, 1, 9});
  check({2, 0, 3}, {9, 9, 9});
}

TEST_CASE("from_dlpack: strides may have gaps, overlap, or be 0") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(read(data, {2, 2}, {4, 1}) == Ints{0, 1, 4, 5});
  CHECK(read(data, {2, 3}, {0, 1}) == Ints{0, 1, 2, 0, 1, 2});
  CHECK(read(data, {3, 2}, {1, 3}) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(read(data, {3, 3}, {1, 1}) == Ints{0, 1, 2, 1, 2, 3, 2, 3, 4});
}

TEST_CASE("from_dlpack: strides may be negative, and both ends are checked", "[plain]") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(read(data + 5, {2, 3}, {-3, -1}) == Ints{5, 4, 3, 2, 1, 0});
  CHECK(read(data + 3, {2, 3}, {-3, 1}) == Ints{3, 4, 5, 0, 1, 2});
  Lent<> below(data, kInt32, {2}, {INT64_MIN});
  check_refused(below, Error::InvalidArgument, "overflow");
  Lent<> above(data, kInt32, {2}, {INT64_MAX});
  check_refused(above, Error::InvalidArgument, "overflow");
}

TEST_CASE("from_dlpack: writing through overlapping strides is an error") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<> lent(data, kInt32, {2, 3}, {0, 1});
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(fill_(t, 9) != Error::Ok);
  CHECK(copy_(t, zeros({2, 3}, ScalarType::Int)) != Error::Ok);
  CHECK(Ints(data, data + 6) == Ints{0, 1, 2, 3, 4, 5});
}

TEST_CASE("from_dlpack: null data is refused where there are elements, not without") {
  Lent<> lent(nullptr, kFloat32, {2, 3}, {3, 1});
  check_refused(lent, Error::InvalidArgument, "the data is null, sizes are {2, 3}");
  Lent<> empty_one(nullptr, kFloat32, {2, 0}, {1, 1});
  TensorPtr t = from_dlpack(empty_one.get());
  CHECK(t->numel() == 0);
  CHECK(empty_one.released == 0);
  t.reset();
  CHECK(empty_one.released == 1);
}

TEST_CASE("from_dlpack: types, devices, shapes and offsets that are none are refused") {
  float data[4] = {};
  const auto check = [&](Error error, const char* words, DLDataType type, const Vector& shape,
                         const Vector& steps, void (*change)(DLTensor&)) {
    Lent<> lent(data, type, shape, steps);
    Lent<Legacy> legacy(data, type, shape, steps);
    change(lent.tensor());
    change(legacy.tensor());
    check_refused(lent, error, words);
    check_refused(legacy, error, words);
  };
  const auto as_is = [](DLTensor&) {};
  check(Error::NotSupported, "from_dlpack: there is no element type", {3, 64, 1}, {2}, {1}, as_is);
  check(Error::NotSupported, "2 lanes", {2, 32, 2}, {2}, {1}, as_is);
  check(Error::NotSupported, "code 17 with 4 bits", {17, 4, 1}, {2}, {1}, as_is);
  check(Error::NotSupported, "no device type 99", kFloat32, {2}, {1}, [](DLTensor& t) {
    t.device = {99, 0};
  });
  check(Error::InvalidArgument, "ndim is -1", kFloat32, {2}, {1}, [](DLTensor& t) { t.ndim = -1; });
  check(Error::InvalidArgument, "ndim is 65", kFloat32, Vector(65, 1), Vector(65, 1), as_is);
  check(Error::InvalidArgument, "the shape is null", kFloat32, {2}, {1},
        [](DLTensor& t) { t.shape = nullptr; });
  check(Error::InvalidArgument, "size -3 of dimension 1", kFloat32, {2, -3}, {1, 1}, as_is);
  check(Error::InvalidArgument, "overflow", kFloat32, {INT64_MAX, INT64_MAX}, {1, 1}, as_is);
  check(Error::InvalidArgument, "overflow", kFloat32, {INT64_MAX / 2}, {}, as_is);
  check(Error::InvalidArgument, "the byte offset", kFloat32, {2}, {1},
        [](DLTensor& t) { t.byte_offset = UINT64_MAX - 3; });
  check(Error::InvalidArgument, "the byte offset 32", kFloat32, {2}, {1}, [](DLTensor& t) {
    t.data = reinterpret_cast<void*>(UINTPTR_MAX - 15);
    t.byte_offset = 32;
  });
}

TEST_CASE("from_dlpack: a null pointer is refused") {
  Versioned* nothing = nullptr;
  CHECK_ERROR(Error::InvalidArgument, "from_dlpack: the pointer is null", from_dlpack(nothing));
  CHECK(try_from_dlpack(nothing).error() == Error::InvalidArgument);
  CHECK_ERROR(Error::InvalidArgument, "from_dlpack: the pointer is null", from_dlpack(DLPackPtr()));
}

TEST_CASE("from_dlpack: a read-only struct is a read-only tensor, and so are its views",
          "[plain]") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  lent.managed.flags = 1;
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(is_readonly(t));
  CHECK(is_readonly(select(t, 0, 0)));
  CHECK_ERROR(Error::InvalidState, "read-only", mutable_data_ptr<int32_t>(t));
  CHECK_RETURNS(Error::InvalidState, "read-only", fill_(t, 1));
  CHECK(values<int32_t>(t) == Ints{1, 2});
}

TEST_CASE("from_dlpack: a copy of a read-only struct may be written") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  lent.managed.flags = 1;
  const TensorPtr t = from_dlpack(lent.get(), true);
  CHECK_FALSE(is_readonly(t));
  CHECK(fill_(t, 7) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{7, 7});
  CHECK(Ints(data, data + 2) == Ints{1, 2});
}

#if TENON_ATEN_MODE
TEST_CASE("from_dlpack: what ATen does not have is refused, and the struct released") {
  int32_t data[2] = {1, 2};
  Lent<> readonly(data, kInt32, {2}, {1});
  readonly.managed.flags = 1;
  check_refused(readonly, Error::NotSupported, "ATen has no read-only tensors");
  Lent<> reversed(data + 1, kInt32, {2}, {-1});
  check_refused(reversed, Error::NotSupported, "ATen has no negative ones");
}
#endif

TEST_CASE("from_dlpack: bytes of a bool other than 0 and 1 are true, and never read as a bool") {
  unsigned char bytes[5] = {0, 1, 2, 255, 128};
  Lent<> lent(bytes, kBool8, {5}, {1});
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(t->scalar_type() == ScalarType::Bool);
  const std::vector<float> expected{0, 1, 1, 1, 1};
  CHECK(values<float>(to(t, ScalarType::Float)) == expected);
  CHECK(values<uint8_t>(to(t, ScalarType::Byte)) == std::vector<uint8_t>{0, 1, 1, 1, 1});
  const TensorPtr target = empty({5}, ScalarType::Int);
  CHECK(copy_(target, t) == Error::Ok);
  CHECK(values<int32_t>(target) == Ints{0, 1, 1, 1, 1});
  CHECK(tests::contains(to_string(t), "[False  True  True  True  True]"));
  CHECK(item<bool>(select(t, 0, 3)));
  CHECK(item<int>(select(t, 0, 2)) == 1);
  const TensorPtr copy = clone_tensor_ptr(t);
  const TensorPtr every_other = clone_tensor_ptr(slice(t, 0, 0, 5, 2));
  CHECK(values<float>(to(copy, ScalarType::Float)) == expected);
  CHECK(values<float>(to(every_other, ScalarType::Float)) == std::vector<float>{0, 1, 1});
  Lent<> other(bytes, kBool8, {5}, {1});
  const TensorPtr owned = from_dlpack(other.get(), true);
  CHECK(values<float>(to(owned, ScalarType::Float)) == expected);
}

TEST_CASE("from_dlpack: copy false keeps the memory, true copies, none copies what has to be") {
  int32_t data[4] = {1, 2, 3, 4};
  Lent<> keep(data, kInt32, {4}, {1});
  CHECK(const_data_ptr(from_dlpack(keep.get(), false)) == data);
  Lent<> any(data, kInt32, {4}, {1});
  CHECK(const_data_ptr(from_dlpack(any.get(), none)) == data);
  Lent<> lent(data, kInt32, {4}, {1});
  const TensorPtr t = from_dlpack(lent.get(), true);
  CHECK(lent.released == 1);
  CHECK(const_data_ptr(t) != data);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4});
  Lent<Legacy> legacy(data, kInt32, {4}, {1});
  CHECK(const_data_ptr(from_dlpack(legacy.get(), true)) != data);
}

TEST_CASE("from_dlpack: a copy without elements or dimensions is one too") {
  int32_t data[1] = {5};
  Lent<> empty_one(nullptr, kInt32, {0, 3}, {3, 1});
  CHECK(sizes(from_dlpack(empty_one.get(), true)) == Vector{0, 3});
  CHECK(empty_one.released == 1);
  Lent<> scalar(data, kInt32, {});
  CHECK(values<int32_t>(from_dlpack(scalar.get(), true)) == Ints{5});
}

TEST_CASE("from_dlpack: memory of a device is described, never touched") {
  Lent<> lent(kDevicePointer, {4, 16, 1}, {1 << 20}, {1});
  lent.set_device(2, 1);
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(device(t) == Device("cuda:1"));
  CHECK(t->scalar_type() == ScalarType::BFloat16);
  CHECK(const_data_ptr(t) == kDevicePointer);
}

TEST_CASE("from_dlpack: the device that it is on anyway may be asked for") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  CHECK(const_data_ptr(from_dlpack(lent.get(), false, "cpu")) == data);
  Lent<> there(kDevicePointer, kInt32, {2}, {1});
  there.set_device(2, 1);
  CHECK(const_data_ptr(from_dlpack(there.get(), false, "cuda:1")) == kDevicePointer);
}

TEST_CASE("from_dlpack: another device needs a copy, and a backend for it") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  CHECK_ERROR(Error::NotSupported,
              "from_dlpack: the data is on cpu, was asked for on cuda:0, and copy is false",
              from_dlpack(lent.get(), false, "cuda"));
  CHECK(lent.released == 1);
  Lent<> other(data, kInt32, {2}, {1});
  CHECK_ERROR(Error::NotSupported, "no backend is registered for it",
              from_dlpack(other.get(), none, "cuda"));
  CHECK(other.released == 1);
  Lent<> there(kDevicePointer, kInt32, {2}, {1});
  there.set_device(2, 0);
  CHECK_ERROR(Error::NotSupported, "no backend is registered for it",
              from_dlpack(there.get(), none, "cpu"));
  CHECK(there.released == 1);
  Lent<> within(kDevicePointer, kInt32, {2}, {1});
  within.set_device(2, 0);
  CHECK_ERROR(Error::NotSupported, "no backend is registered for it",
              from_dlpack(within.get(), true));
  CHECK(within.released == 1);
}

TEST_CASE("from_dlpack: a registered backend copies to its device and back") {
  tests::MinimalBackend backend;
  register_backend(backend);
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<> lent(data, kInt32, {3, 2}, {1, 3});
  TensorPtr there = from_dlpack(lent.get(), none, backend.device());
  CHECK(lent.released == 1);
  CHECK(&backend_of(there) == &backend);
  CHECK(device(there) == backend.device());
  TensorPtr back = from_dlpack(to_dlpack(there), none, "cpu");
  CHECK(values<int32_t>(back) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(device(back) == Device());
  there.reset();
  CHECK(backend.used() == 0);
  CHECK(backend.faults == 0);
}

TEST_CASE("from_dlpack: misaligned memory is copied to another device") {
  tests::MinimalBackend backend;
  register_backend(backend);
  alignas(8) unsigned char bytes[32] = {};
  const int32_t numbers[4] = {1, -2, 300000, 4};
  std::memcpy(bytes + 1, numbers, sizeof numbers);
  Lent<> lent(bytes + 1, kInt32, {2, 2}, {1, 2});
  const TensorPtr there = from_dlpack(lent.get(), none, backend.device());
  CHECK(lent.released == 1);
  CHECK(values<int32_t>(backend_copy(there, host_backend())) == Ints{1, 300000, -2, 4});
}

TEST_CASE("from_dlpack: pinned and managed memory is read by the host, as index 0", "[plain]") {
  int32_t data[2] = {1, 2};
  for (const int32_t type : {3, 11, 13}) {
    Lent<> lent(data, kInt32, {2}, {1});
    lent.set_device(type, type == 3 ? -1 : 2);
    const TensorPtr t = from_dlpack(lent.get());
    CHECK(device(t) == Device(static_cast<DeviceType>(type), 0));
    CHECK(values<int32_t>(t) == Ints{1, 2});
  }
}

TEST_CASE("from_dlpack: pinned memory is copied to the CPU, also where it is misaligned",
          "[plain]") {
  alignas(8) unsigned char bytes[16] = {};
  const int32_t numbers[2] = {-5, 1000000};
  std::memcpy(bytes + 1, numbers, 8);
  std::memcpy(bytes + 8, numbers + 1, 4);
  for (const int offset : {1, 8}) {
    Lent<> lent(bytes + offset, kInt32, {1}, {1});
    lent.set_device(3, 0);
    const TensorPtr t = from_dlpack(lent.get(), none, "cpu");
    CHECK(lent.released == 1);
    CHECK(device(t) == Device());
    CHECK(item<int32_t>(t) == (offset == 1 ? -5 : 1000000));
  }
}

TEST_CASE("from_dlpack: a handle is taken as it is, of any alignment", "[plain]") {
  void* const handle = reinterpret_cast<void*>(uintptr_t{4099});
  Lent<> lent(handle, kFloat32, {2}, {1});
  lent.set_device(4, 1);
  const TensorPtr t = from_dlpack(lent.get(), false);
  CHECK(const_data_ptr(t) == handle);
  CHECK(device(t) == Device("opencl:1"));
  const DLPackPtr again(to_dlpack(t));
  CHECK(again->dl_tensor.data == handle);
  CHECK(again->dl_tensor.byte_offset == 0);
}

TEST_CASE("from_dlpack: a byte offset from a handle is kept, and given out again", "[plain]") {
  void* const handle = reinterpret_cast<void*>(uintptr_t{4099});
  const auto check = [&](const Vector& shape, const Vector& steps, uint64_t offset) {
    Lent<> lent(handle, kFloat32, shape, steps);
    lent.set_device(4, 1);
    lent.tensor().byte_offset = offset;
    REQUIRE(check_dlpack(lent.get()).empty());
    TensorPtr t = from_dlpack(lent.get(), false);
    CHECK(sizes(t) == shape);
    CHECK(device(t) == Device("opencl:1"));
    DLPackPtr again(to_dlpack(t));
    t.reset();
    CHECK(again->dl_tensor.data == (shape == Vector{0, 2} ? nullptr : handle));
    CHECK(again->dl_tensor.byte_offset == (shape == Vector{0, 2} ? 0 : offset));
    TensorPtr back = from_dlpack(std::move(again));
    CHECK(sizes(back) == shape);
    CHECK(strides(back) == (shape.size() == 2 && steps.empty() ? Vector{2, 1} : steps));
    CHECK(lent.released == 0);
    back.reset();
    CHECK(lent.released == 1);
  };
  check({2}, {1}, 8);
  check({}, {}, 4);
  check({3, 2}, {}, 12);
  check({3, 2}, {-2, 1}, 16);
  check({0, 2}, {2, 1}, 8);
  const auto refused = [&](const Vector& steps, uint64_t offset) {
    Lent<> lent(handle, kFloat32, {2}, steps);
    lent.set_device(4, 1);
    lent.tensor().byte_offset = offset;
    check_refused(lent, Error::NotSupported,
                  ("byte offset " + std::to_string(offset) + " of memory on opencl:1").c_str());
  };
  refused({1}, 6);
  refused({-3}, 8);
}

TEST_CASE("from_dlpack: elements beyond the address space are an error, from a handle too",
          "[plain]") {
  void* const handle = reinterpret_cast<void*>(uintptr_t{4099});
  const auto refused = [&](const Vector& shape, const Vector& steps, uint64_t offset) {
    Lent<> lent(handle, kFloat32, shape, steps);
    lent.set_device(4, 1);
    lent.tensor().byte_offset = offset;
    check_refused(lent, Error::InvalidArgument,
                  ("at byte offset " + std::to_string(offset) + " lead out").c_str());
  };
  constexpr uint64_t kMost = uint64_t{INT64_MAX} - 3;  // a multiple of 4
  refused({1}, {}, kMost);
  refused({INT64_MAX / 4}, {}, kMost);
  refused({2}, {INT64_MAX / 4 - 1}, 4);
  refused({2}, {-8}, kMost);
}

TEST_CASE("from_dlpack: an export of a part of a handle's memory is taken back", "[plain]") {
  const TensorPtr t = for_blob(reinterpret_cast<void*>(uintptr_t{4099}), {6}, ScalarType::Float)
                          .device("opencl")
                          .make_tensor_ptr();
  DLPackPtr part(to_dlpack(narrow(t, 0, 2, 3)));
  REQUIRE(part->dl_tensor.byte_offset == 8);
  const TensorPtr back = from_dlpack(std::move(part));
  const DLPackPtr again(to_dlpack(narrow(back, 0, 1, 2)));
  CHECK(again->dl_tensor.data == const_data_ptr(t));
  CHECK(again->dl_tensor.byte_offset == 12);
}

TEST_CASE("from_dlpack: import, export and import keep all that the struct says, without a copy") {
  int32_t data[40] = {};
  const auto check = [&](const Vector& shape, const Vector& steps, uint64_t flags) {
    Lent<> lent(data, kInt32, shape, steps);
    lent.managed.flags = flags;
    TensorPtr first = from_dlpack(lent.get());
    DLPackPtr between(to_dlpack(first));
    first.reset();
    CHECK(between->dl_tensor.data == (first == nullptr && shape == Vector{0, 3} ? nullptr : data));
    CHECK(between->flags == flags);
    CHECK(tests::shape_of(between->dl_tensor) == shape);
    CHECK(tests::strides_of(between->dl_tensor) == steps);
    CHECK(int{between->dl_tensor.dtype.code} == 0);
    CHECK(int{between->dl_tensor.dtype.bits} == 32);
    CHECK(between->dl_tensor.device.device_type == 1);
    TensorPtr second = from_dlpack(std::move(between));
    CHECK(sizes(second) == shape);
    CHECK(strides(second) == steps);
    CHECK(second->scalar_type() == ScalarType::Int);
    CHECK(is_readonly(second) == (flags == 1));
    CHECK(lent.released == 0);
    second.reset();
    CHECK(lent.released == 1);
  };
  check({2, 3}, {3, 1}, 0);
  check({2, 3}, {1, 2}, 0);
  check({2, 3}, {0, 7}, 0);
  check({1, 5, 1}, {9, 1, 3}, 0);
  check({}, {}, 0);
  check({0, 3}, {3, 1}, 0);
  check(Vector(10, 1), Vector(10, 1), 0);
#if !TENON_ATEN_MODE
  check({2, 3}, {3, 1}, 1);
#endif
}

TEST_CASE("from_dlpack: takes a DLPackPtr, which is empty then, whatever happens") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  DLPackPtr p(lent.get());
  TensorPtr t = from_dlpack(std::move(p));
  CHECK(p == nullptr);
  CHECK(lent.released == 0);
  t.reset();
  CHECK(lent.released == 1);
  Lent<Legacy> legacy(nullptr, kInt32, {2});
  CHECK_ERROR(Error::InvalidArgument, "the data is null",
              from_dlpack(DLPackLegacyPtr(legacy.get())));
  CHECK(legacy.released == 1);
}

TEST_CASE("from_dlpack: a tensor of a struct cannot grow beyond it but by a copy") {
  int32_t data[2] = {1, 2};
  Lent<> bound(data, kInt32, {2}, {1});
  TensorPtr t = from_dlpack(bound.get());
  CHECK(resize_tensor_ptr(t, {3}) == Error::InvalidArgument);
  CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  Lent<> lent(data, kInt32, {2}, {1});
  t = from_dlpack(lent.get(), none, none, TensorShapeDynamism::DYNAMIC);
  CHECK(resize_tensor_ptr(t, {3}) == Error::Ok);
  CHECK(lent.released == 1);
  CHECK(const_data_ptr<int32_t>(t)[1] == 2);
}
