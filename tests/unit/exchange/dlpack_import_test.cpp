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
  CHECK(device(t) == Device());
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK_FALSE(is_readonly(t));
  CHECK(lent.released == 0);
  t.reset();
  CHECK(lent.released == 1);
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
  Lent<Legacy> legacy(data, kInt32, {2});
  legacy.managed.deleter = nullptr;
  CHECK(values<int32_t>(from_dlpack(legacy.get())) == Ints{1, 2});
  CHECK(legacy.released == 0);
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

TEST_CASE("from_dlpack: a null pointer is refused") {
  Versioned* nothing = nullptr;
  RAISES(InvalidArgument, "from_dlpack: the pointer is null", from_dlpack(nothing));
  CHECK(try_from_dlpack(nothing).error() == Error::InvalidArgument);
  RAISES(InvalidArgument, "from_dlpack: the pointer is null", from_dlpack(DLPackPtr()));
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
  CHECK(values<int32_t>(t) == Ints{1, 2});
  Lent<> copied(data, kInt32, {2}, {1});
  copied.managed.flags = 1;
  CHECK_FALSE(is_readonly(from_dlpack(copied.get(), true)));
}

#if TENON_ATEN_MODE
TEST_CASE(
    "from_dlpack: what ATen does not have is refused, and the struct released; it is copied") {
  int32_t data[2] = {1, 2};
  Lent<> reversed(data + 1, kInt32, {2}, {-1});
  check_refused(reversed, Error::NotSupported, "ATen has no negative strides");
  Lent<> copied(data + 1, kInt32, {2}, {-1});
  CHECK(values<int32_t>(from_dlpack(copied.get(), true)) == Ints{2, 1});
}
#endif

TEST_CASE("from_dlpack: bytes of a bool other than 0 and 1 are true, and never read as a bool") {
  unsigned char bytes[5] = {0, 1, 2, 255, 128};
  Lent<> lent(bytes, kBool8, {5}, {1});
  const TensorPtr t = from_dlpack(lent.get());
  CHECK(values<uint8_t>(to(t, ScalarType::Byte)) == Bytes{0, 1, 1, 1, 1});
  CHECK(item<bool>(select(t, 0, 3)));
  Lent<> other(bytes, kBool8, {5}, {1});
  CHECK(values<uint8_t>(to(from_dlpack(other.get(), true), ScalarType::Byte)) ==
        Bytes{0, 1, 1, 1, 1});
}

TEST_CASE("from_dlpack: copy false keeps the memory, true copies, none copies what has to be") {
  int32_t data[4] = {1, 2, 3, 4};
  for (const Optional<bool> copy : {Optional<bool>(none), Optional<bool>(false)}) {
    Lent<> lent(data, kInt32, {4}, {1});
    CHECK(const_data_ptr(from_dlpack(lent.get(), copy)) == data);
  }
  Lent<> lent(data, kInt32, {2, 2}, {1, 2});
  const TensorPtr t = from_dlpack(lent.get(), true);
  CHECK(lent.released == 1);
  CHECK(const_data_ptr(t) != data);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(strides(t) == Vector{1, 2});
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
  TensorPtr back = from_dlpack(to_dlpack(there), none, "cpu");
  CHECK(values<int32_t>(back) == Ints{0, 3, 1, 4, 2, 5});
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

TEST_CASE(
    "from_dlpack: a handle is taken at any alignment, with its byte offset, and given out again",
    "[plain]") {
  const struct {
    Vector shape, steps;
    uint64_t offset;
  } rows[] = {
      {{2}, {1}, 8}, {{}, {}, 4}, {{3, 2}, {}, 12}, {{3, 2}, {-2, 1}, 16}, {{0, 2}, {2, 1}, 8}};
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
