// SPDX-License-Identifier: MIT
// from_dlpack: what becomes of a struct. What is wrong with one is in dlpack_check_test.cpp, and that
// from_dlpack() refuses it in dlpack_hostile_test.cpp.
#include "tenon/exchange/dlpack_import.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "backend/device_helpers.h"
#include "backend/helpers.h"
#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace dlpack_import_test {

using namespace tenon;
using tenon::detail::Optional;
using namespace tests;

namespace {

using Legacy = dlpack::DLManagedTensor;
using Versioned = dlpack::DLManagedTensorVersioned;
using FromDLPack = decltype(from_dlpack);

static_assert(std::is_same_v<decltype(from_dlpack(std::declval<Versioned*>())), TensorPtr>);
static_assert(
    std::is_same_v<decltype(try_from_dlpack(std::declval<Legacy*>())), Result<TensorPtr>>);
static_assert(!std::is_invocable_v<FromDLPack, void*>);
static_assert(!std::is_invocable_v<FromDLPack, dlpack::DLTensor*>);
static_assert(!std::is_invocable_v<FromDLPack, Versioned*, int>, "copy takes only a bool");

void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});
void* const kHandle = reinterpret_cast<void*>(uintptr_t{4099});

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

// That a struct is refused with this error, and released once.
template <class Managed>
void check_refused(Lent<Managed>& lent, Error error, const std::string& words,
                   Optional<bool> copy = none, Optional<Device> device = none) {
  const auto failed = try_from_dlpack(lent.get(), copy, device);
  CHECK(failed.error() == error);
  INFO(failed.message() << ", expected " << words);
  CHECK(contains(failed.message(), words));
  CHECK(lent.released == 1);
}

}  // namespace

TEST_CASE("from_dlpack: is a DYNAMIC_BOUND tensor over the struct's memory") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<> lent(data, kInt32, {2, 3}, {3, 1});
  lent.set_device(1, 3);  // the CPU has no index
  TensorPtr t = from_dlpack(lent.get());
  CHECK(const_data_ptr(t) == data);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(strides(t) == Vector{3, 1});
  CHECK(t->is_contiguous());
  CHECK(device(t) == Device());
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK_FALSE(is_readonly(t));
  mutable_data_ptr<int32_t>(t)[0] = 7;
  CHECK(data[0] == 7);
  CHECK(lent.released == 0);
  t.reset();
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: takes a dynamism; memory of a struct grows by a copy") {
  int32_t data[2] = {1, 2};
  const auto take = [&](Lent<>& lent, Optional<bool> copy, TensorShapeDynamism dynamism) {
    TensorPtr t = from_dlpack(lent.get(), copy, none, dynamism);
    CHECK(shape_dynamism(t) == dynamism);
    return t;
  };
  Lent<> lents[] = {
      {data, kInt32, {2}, {1}}, {data, kInt32, {2}}, {data, kInt32, {2}}, {data, kInt32, {2}}};
  take(lents[0], none, TensorShapeDynamism::STATIC);
  take(lents[1], true, TensorShapeDynamism::DYNAMIC);
  TensorPtr t = take(lents[2], none, TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(resize_tensor_ptr(t, {3}) == Error::InvalidArgument);
  CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  t = take(lents[3], none, TensorShapeDynamism::DYNAMIC);
  CHECK(resize_tensor_ptr(t, {3}) == Error::Ok);
  CHECK(lents[3].released == 1);
  CHECK(const_data_ptr<int32_t>(t)[1] == 2);
}

// A promise of docs/guarantees.md.
TEST_CASE("from_dlpack: of another major version it calls the deleter, and touches nothing else") {
  for (const uint32_t major : {0u, 2u, UINT32_MAX}) {
    Lent<> lent(nullptr, kFloat32, {2});
    lent.managed.version = {major, 0};
    lent.tensor().ndim = 64;
    lent.tensor().shape = lent.tensor().strides = reinterpret_cast<int64_t*>(uintptr_t{8});
    check_refused(lent, Error::NotSupported, "from_dlpack: the struct is of DLPack ");
  }
#if __has_include(<sys/mman.h>)
  // What follows the deleter lies where reading it ends the program.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const pages = ::mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(::mprotect(pages, page, PROT_READ | PROT_WRITE) == 0);
  auto* const managed =
      reinterpret_cast<Versioned*>(static_cast<char*>(pages) + page - offsetof(Versioned, flags));
  int released = 0;
  managed->version = {2, 0};
  managed->manager_ctx = &released;
  managed->deleter = [](Versioned* self) { ++*static_cast<int*>(self->manager_ctx); };
  CHECK(check_dlpack(managed).size() == 1);
  CHECK(released == 0);
  RAISES(NotSupported, "from_dlpack: the struct is of DLPack 2.0", from_dlpack(managed));
  CHECK(released == 1);
  CHECK(::munmap(pages, 2 * page) == 0);
#endif
}

TEST_CASE("from_dlpack: higher minor versions, unknown flags, no deleter and no owner are taken") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  lent.managed.version = {1, 99};
  lent.managed.flags = 0xf0;
  CHECK(values<int32_t>(from_dlpack(lent.get())) == Ints{1, 2});
  Lent<> bare(data, kInt32, {2}, {1});
  bare.managed.deleter = nullptr;
  bare.managed.manager_ctx = nullptr;
  CHECK(values<int32_t>(from_dlpack(bare.get())) == Ints{1, 2});
  CHECK(values<int32_t>(from_dlpack(bare.get(), true)) == Ints{1, 2});
  bare.managed.version.major = 2;
  RAISES(NotSupported, "DLPack 2.3", from_dlpack(bare.get()));
  Lent<Legacy> legacy(data, kInt32, {2});
  legacy.managed.deleter = nullptr;
  CHECK(values<int32_t>(from_dlpack(legacy.get())) == Ints{1, 2});
  CHECK(legacy.released == 0);
}

TEST_CASE("from_dlpack: strides may be null for row-major, have gaps, overlap, or be 0") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Lent<Legacy> lent(data, kInt32, {3, 2});
  CHECK(strides(from_dlpack(lent.get())) == Vector{2, 1});
  CHECK(read(data, {3, 2}, {}) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(read(data, {1, 2, 1, 3}, {}) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(read(data + 5, {}, {}) == Ints{5});
  Lent<> shared(data, kInt32, {2, 3}, {0, 1});  // which may not be written
  const TensorPtr t = from_dlpack(shared.get());
  CHECK(fill_(t, 9) != Error::Ok);
  CHECK(copy_(t, zeros({2, 3}, ScalarType::Int)) != Error::Ok);
  CHECK(Ints(data, data + 6) == Ints{0, 1, 2, 3, 4, 5});
}

TEST_CASE("from_dlpack: strides of sizes up to 1 do not count for contiguity, and are kept") {
  float data[1024] = {};
  const std::pair<Vector, Vector> shapes[] = {{{1, 128}, {1, 1}},
                                              {{1024, 1}, {1, 1}},
                                              {{1, 1}, {5, 7}},
                                              {{1, 3, 1}, {0, 1, 9}},
                                              {{2, 0, 3}, {9, 9, 9}}};
  for (const auto& [shape, steps] : shapes) {
    Lent<> lent(data, kFloat32, shape, steps);
    const TensorPtr t = from_dlpack(lent.get());
    CHECK(t->is_contiguous());
    CHECK(strides(t) == steps);
    CHECK(strides_of(DLPackPtr(to_dlpack(t))->dl_tensor) == steps);
  }
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

TEST_CASE(
    "from_dlpack: aligned is where element 0 is, a complex one as its parts, and what has none") {
  alignas(16) unsigned char bytes[32] = {};
  const struct {
    size_t data;
    uint64_t offset;
    dlpack::DLDataType type;
    Vector shape;
    bool is_aligned;
  } rows[] = {
      {4, 0, kInt32, {2}, true},     {1, 3, kInt32, {2}, true},      {0, 5, kInt32, {2}, false},
      {4, 0, {5, 64, 1}, {2}, true}, {2, 0, {5, 64, 1}, {2}, false}, {1, 0, kInt32, {0, 3}, true},
      {3, 0, kUInt8, {2}, true},
  };
  for (const auto& row : rows) {
    CAPTURE(row.data, row.offset, row.is_aligned);
    Lent<> lent(bytes + row.data, row.type, row.shape);
    lent.tensor().byte_offset = row.offset;
    if (row.is_aligned) {
      CHECK(const_data_ptr(from_dlpack(lent.get(), false)) == bytes + row.data + row.offset);
    } else {
      check_refused(lent, Error::NotSupported, "the data is not aligned for its elements, of ",
                    false);
    }
    CHECK(lent.released == 1);
  }
  Lent<> there(reinterpret_cast<void*>(uintptr_t{4097}), kFloat32, {2}, {1});
  there.set_device(2, 0);
  check_refused(there, Error::NotSupported, "the data, on cuda:0, is not aligned");
}

TEST_CASE("from_dlpack: a copy of misaligned memory follows any strides, of up to 64 dimensions") {
  alignas(8) unsigned char bytes[32] = {};
  const int32_t numbers[6] = {0, 1, 2, 3, 4, 5};
  std::memcpy(bytes + 1, numbers, sizeof numbers);
  Vector deep(64, 1);
  deep[5] = 3;
  Vector steps(64, INT64_MIN);
  steps[5] = 2;
  const struct {
    int64_t offset;
    Vector shape, steps;
    Ints expected;
  } rows[] = {
      {0, {1, 3}, {INT64_MAX, 2}, {0, 2, 4}},
      {0, deep, steps, {0, 2, 4}},
      {0, deep, {}, {0, 1, 2}},
  };
  for (const auto& row : rows) {
    for (const Optional<bool> copy : {Optional<bool>(none), Optional<bool>(true)}) {
      CAPTURE(row.offset, row.shape, row.steps);
      Lent<> lent(bytes + 1 + 4 * row.offset, kInt32, row.shape, row.steps);
      const TensorPtr t = from_dlpack(lent.get(), copy);
      CHECK(lent.released == 1);
      CHECK(values<int32_t>(t) == row.expected);
      CHECK(ownership(t) == Ownership::Owned);
      CHECK(is_aligned(t, 4));
    }
  }
}

TEST_CASE("from_dlpack: a null pointer is refused, null data only where there are elements") {
  Versioned* nothing = nullptr;
  RAISES(InvalidArgument, "from_dlpack: the pointer is null", from_dlpack(nothing));
  CHECK(try_from_dlpack(nothing).error() == Error::InvalidArgument);
  RAISES(InvalidArgument, "from_dlpack: the pointer is null", from_dlpack(DLPackPtr()));
  Lent<> lent(nullptr, kFloat32, {2, 0}, {1, 1});
  TensorPtr t = from_dlpack(lent.get());
  CHECK(t->numel() == 0);
  CHECK(lent.released == 0);
  t.reset();
  CHECK(lent.released == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("from_dlpack: a read-only struct is a read-only tensor, and so are its views") {
  int32_t data[2] = {1, 2};
  Lent<> lent(data, kInt32, {2}, {1});
  lent.managed.flags = 1;
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(is_readonly(t));
  CHECK(is_readonly(select(t, 0, 0)));
  RAISES(InvalidState, "read-only", mutable_data_ptr<int32_t>(t));
  RETURNS(InvalidState, "read-only", fill_(t, 1));
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
TEST_CASE(
    "from_dlpack: what ATen does not have is refused, and the struct released; it is copied") {
  int32_t data[2] = {1, 2};
  Lent<> reversed(data + 1, kInt32, {2}, {-1});
  check_refused(reversed, Error::NotSupported, "ATen has no negative ones");
  Lent<> copied(data + 1, kInt32, {2}, {-1});
  CHECK(values<int32_t>(from_dlpack(copied.get(), true)) == Ints{2, 1});
}
#endif

TEST_CASE("from_dlpack: bytes of a bool other than 0 and 1 are true, and never read as a bool") {
  unsigned char bytes[5] = {0, 1, 2, 255, 128};
  Lent<> lent(bytes, kBool8, {5}, {1});
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(t->scalar_type() == ScalarType::Bool);
  const Floats expected{0, 1, 1, 1, 1};
  CHECK(values<float>(to(t, ScalarType::Float)) == expected);
  CHECK(values<uint8_t>(to(t, ScalarType::Byte)) == Bytes{0, 1, 1, 1, 1});
  CHECK(contains(to_string(t), "[False  True  True  True  True]"));
  CHECK(item<bool>(select(t, 0, 3)));
  CHECK(item<int>(select(t, 0, 2)) == 1);
  Lent<> other(bytes, kBool8, {5}, {1});
  CHECK(values<float>(to(from_dlpack(other.get(), true), ScalarType::Float)) == expected);
}

TEST_CASE("from_dlpack: copy false keeps the memory, true copies, none copies what has to be") {
  int32_t data[4] = {1, 2, 3, 4};
  for (const Optional<bool> copy : {Optional<bool>(none), Optional<bool>(false)}) {
    Lent<> lent(data, kInt32, {4}, {1});
    CHECK(const_data_ptr(from_dlpack(lent.get(), copy)) == data);
    Lent<> here(data, kInt32, {4}, {1});
    CHECK(const_data_ptr(from_dlpack(here.get(), copy, "cpu")) == data);
  }
  Lent<> lent(data, kInt32, {2, 2}, {1, 2});
  const TensorPtr t = from_dlpack(lent.get(), true);
  CHECK(lent.released == 1);
  CHECK(const_data_ptr(t) != data);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(values<int32_t>(t) == Ints{1, 3, 2, 4});
  CHECK(strides(t) == Vector{1, 2});
  Lent<Legacy> legacy(data, kInt32, {4}, {1});
  CHECK(const_data_ptr(from_dlpack(legacy.get(), true)) != data);
  Lent<> empty_one(nullptr, kInt32, {0, 3}, {3, 1});
  CHECK(sizes(from_dlpack(empty_one.get(), true)) == Vector{0, 3});
  CHECK(empty_one.released == 1);
  Lent<> scalar(data, kInt32, {});
  CHECK(values<int32_t>(from_dlpack(scalar.get(), true)) == Ints{1});
}

TEST_CASE("from_dlpack: memory of a device is described, never touched") {
  for (const bool asked : {false, true}) {
    Lent<> lent(kDevicePointer, {4, 16, 1}, {1 << 20}, {1});
    lent.set_device(2, 1);
    const TensorPtr t = asked ? from_dlpack(lent.get(), false, "cuda:1") : from_dlpack(lent.get());
    CHECK(device(t) == Device("cuda:1"));
    CHECK(t->scalar_type() == ScalarType::BFloat16);
    CHECK(const_data_ptr(t) == kDevicePointer);
  }
}

TEST_CASE("from_dlpack: a DeviceBackend checks a device's memory, and the struct is released") {
  RecordingDevice cuda;
  register_backend(cuda);
  int32_t memory[8] = {};
  int32_t elsewhere[2] = {};
  cuda.lend(memory, sizeof memory);
  {
    Lent<> lent(memory, kInt32, {2, 3}, {4, 1});
    lent.set_device(2, 0);
    lent.tensor().byte_offset = 4;
    CHECK(device(from_dlpack(lent.get())) == Device("cuda:0"));
    CHECK(cuda.calls == Texts{"check_memory 28"});
    CHECK(lent.released == 1);
  }
  for (const Optional<Device> to : {Optional<Device>(none), Optional<Device>(Device())}) {
    Lent<> lent(elsewhere, kInt32, {2}, {1});
    lent.set_device(2, 0);
    check_refused(lent, Error::InvalidArgument,
                  "try_from_dlpack: backend recording failed in check_memory: the driver knows it "
                  "as host memory",
                  none, to);
  }
  // Nobody knows another device's, and there is nothing to check without elements.
  Lent<> unknown(elsewhere, kInt32, {2}, {1});
  unknown.set_device(2, 1);
  CHECK(device(from_dlpack(unknown.get())) == Device("cuda:1"));
  Lent<> nothing(nullptr, kInt32, {0}, {1});
  nothing.set_device(2, 0);
  CHECK(from_dlpack(nothing.get())->numel() == 0);
}

TEST_CASE("from_dlpack: another device needs a copy, and a backend for it") {
  const struct {
    int32_t from;
    Optional<bool> copy;
    Optional<Device> to;
    const char* words;
  } rows[] = {
      {1, false, Device("cuda"), "the data is on cpu, was asked for on cuda:0, and copy is false"},
      {1, none, Device("cuda"), "the copy is on cuda:0, which the host cannot reach; no backend"},
      {2, none, Device("cpu"), "the data is on cuda:0, which the host cannot reach; no backend"},
      {2, true, none, "the data is on cuda:0, which the host cannot reach; no backend"},
  };
  int32_t data[2] = {1, 2};
  for (const auto& row : rows) {
    Lent<> lent(row.from == 1 ? data : kDevicePointer, kInt32, {2}, {1});
    lent.set_device(row.from, 0);
    check_refused(lent, Error::NotSupported, row.words, row.copy, row.to);
  }
}

TEST_CASE(
    "from_dlpack: a registered backend copies to its device and back, misaligned memory too") {
  MinimalBackend backend;
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
  alignas(8) unsigned char bytes[32] = {};
  std::memcpy(bytes + 1, data, sizeof data);
  Lent<> odd(bytes + 1, kInt32, {3, 2}, {1, 3});
  there = from_dlpack(odd.get(), none, backend.device());
  CHECK(odd.released == 1);
  CHECK(values<int32_t>(backend_copy(there, host_backend())) == Ints{0, 3, 1, 4, 2, 5});
  there.reset();
  CHECK(backend.used() == 0);
  CHECK(backend.faults == 0);
}

TEST_CASE("from_dlpack: pinned and managed memory is read by the host, as index 0, and copied") {
  alignas(8) unsigned char bytes[16] = {};
  const Ints numbers{-5, 1000000};
  std::memcpy(bytes + 8, numbers.data(), 8);
  for (const int32_t type : {3, 11 ATEN_LACKS(, 13)}) {
    Lent<> lent(bytes + 8, kInt32, {2}, {1});
    lent.set_device(type, type == 3 ? -1 : 2);
    const TensorPtr t = from_dlpack(lent.get());
    ATEN_LACKS(CHECK(device(t) == Device(static_cast<DeviceType>(type), 0));)
    CHECK(values<int32_t>(t) == numbers);
  }
  for (const int offset : {8, 1}) {  // also misaligned
    std::memcpy(bytes + offset, numbers.data(), 8);
    Lent<> lent(bytes + offset, kInt32, {2}, {1});
    lent.set_device(3, 0);
    const TensorPtr t = from_dlpack(lent.get(), none, "cpu");
    CHECK(lent.released == 1);
    CHECK(device(t) == Device());
    CHECK(values<int32_t>(t) == numbers);
  }
}

TEST_CASE("from_dlpack: a copy is on the device that was asked for, or there is none") {
  alignas(8) unsigned char bytes[16] = {};
  for (const int offset : {8, 1}) {
    Lent<> lent(bytes + offset, kInt32, {2}, {1});
    lent.set_device(3, 0);  // which has no backend
    check_refused(lent, Error::NotSupported, "no backend is registered for it", true, "cuda_host");
  }
  Lent<> lent(bytes, kInt32, {2}, {1});
  lent.set_device(3, 0);
  CHECK(device(from_dlpack(lent.get(), true)) == Device());  // nobody asked
}

TEST_CASE(
    "from_dlpack: a handle is taken at any alignment, with its byte offset, and given out again",
    "[plain]") {
  const struct {
    Vector shape, steps;
    uint64_t offset;
  } rows[] = {
      {{2}, {1}, 0},    {{2}, {1}, 8},         {{}, {}, 4},
      {{3, 2}, {}, 12}, {{3, 2}, {-2, 1}, 16}, {{0, 2}, {2, 1}, 8},
  };
  for (const auto& row : rows) {
    CAPTURE(row.shape, row.steps, row.offset);
    Lent<> lent(kHandle, kFloat32, row.shape, row.steps);
    lent.set_device(4, 1);
    lent.tensor().byte_offset = row.offset;
    REQUIRE(check_dlpack(lent.get()).empty());
    TensorPtr t = from_dlpack(lent.get(), false);
    CHECK(sizes(t) == row.shape);
    CHECK(device(t) == Device("opencl:1"));
    DLPackPtr again(to_dlpack(t));
    t.reset();
    const bool is_empty = row.shape == Vector{0, 2};
    CHECK(again->dl_tensor.data == (is_empty ? nullptr : kHandle));
    CHECK(again->dl_tensor.byte_offset == (is_empty ? 0 : row.offset));
    TensorPtr back = from_dlpack(std::move(again));
    CHECK(sizes(back) == row.shape);
    CHECK(strides(back) == (row.shape.size() == 2 && row.steps.empty() ? Vector{2, 1} : row.steps));
    CHECK(lent.released == 0);
    back.reset();
    CHECK(lent.released == 1);
  }
}

TEST_CASE(
    "from_dlpack: byte offsets of no element, and elements beyond the address space, are errors") {
  constexpr uint64_t kMost = uint64_t{PTRDIFF_MAX} - 3;  // a multiple of 4
  const struct {
    Error error;
    Vector shape, steps;
    uint64_t offset;
  } rows[] = {
      {Error::NotSupported, {2}, {1}, 6},
      {Error::NotSupported, {2}, {-3}, 8},
      {Error::InvalidArgument, {1}, {}, kMost},
      {Error::InvalidArgument, {PTRDIFF_MAX / 4}, {}, kMost},
      {Error::InvalidArgument, {2}, {PTRDIFF_MAX / 4 - 1}, 4},
      {Error::InvalidArgument, {2}, {-8}, kMost},
  };
  for (const auto& row : rows) {
    Lent<> lent(kHandle, kFloat32, row.shape, row.steps);
    lent.set_device(4, 1);
    lent.tensor().byte_offset = row.offset;
    const std::string words = "byte offset " + std::to_string(row.offset);
    check_refused(
        lent, row.error,
        words + (row.error == Error::NotSupported ? " of memory on opencl:1" : " lead out"));
  }
}

TEST_CASE("from_dlpack: an export of a part of a handle's memory is taken back", "[plain]") {
  const TensorPtr t = for_blob(kHandle, {6}, ScalarType::Float).device("opencl").make_tensor_ptr();
  DLPackPtr part(to_dlpack(narrow(t, 0, 2, 3)));
  REQUIRE(part->dl_tensor.byte_offset == 8);
  const TensorPtr back = from_dlpack(std::move(part));
  const DLPackPtr again(to_dlpack(narrow(back, 0, 1, 2)));
  CHECK(again->dl_tensor.data == const_data_ptr(t));
  CHECK(again->dl_tensor.byte_offset == 12);
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
  RAISES(InvalidArgument, "the data is null", from_dlpack(DLPackLegacyPtr(legacy.get())));
  CHECK(legacy.released == 1);
}

}  // namespace dlpack_import_test
