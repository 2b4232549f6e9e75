// SPDX-License-Identifier: MIT
// Random structs, and mutated right ones. Whatever they say, they are released once, and
// check_dlpack() and from_dlpack() agree.

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace dlpack_hostile_test {

using namespace tenon;
using tenon::detail::Optional;
using namespace tests;

namespace {

using Legacy = tenon::dlpack::DLManagedTensor;
using Versioned = tenon::dlpack::DLManagedTensorVersioned;

alignas(64) unsigned char memory[4096];

template <class T, size_t N>
T pick(Rng& random, const T (&values)[N]) {
  return values[random.between(0, int64_t{N} - 1)];
}

// clang-format off
constexpr int64_t kNumbers[] = {0, 1, 1, 2, 3, 4, -1, -2, 63, 64, 65, 255, INT32_MAX, INT32_MIN,
                                INT64_MAX, INT64_MIN, int64_t{1} << 61, INT64_MAX / 2 + 1};
// clang-format on

void change_one(Vector& list, Rng& random) {
  if (list.empty()) return;
  const int64_t d = random.between(0, static_cast<int64_t>(list.size()) - 1);
  list[static_cast<size_t>(d)] = pick(random, kNumbers);
}

// Changes one member to something that may be wrong.
template <class Managed>
void mutate(Lent<Managed>& lent, Rng& random) {
  auto& t = lent.tensor();
  switch (random.between(0, 11)) {
    case 0: t.data = reinterpret_cast<void*>(static_cast<uintptr_t>(pick(random, kNumbers))); break;
    case 1: t.data = nullptr; break;
    case 2: lent.set_device(static_cast<int32_t>(random.between(-1, 20)), 0); break;
    case 3:
      lent.set_device(static_cast<int32_t>(random.between(1, 3)),
                      static_cast<int32_t>(random.between(-2, 2)));
      break;
    case 4: {
      // Never more than there are entries, but for what has to be refused before they are read.
      const auto rank = static_cast<int64_t>(lent.shape.size());
      constexpr int32_t kWrong[] = {-1, INT32_MIN, 65, INT32_MAX};
      t.ndim = random.between(0, 1) == 0 ? static_cast<int32_t>(random.between(0, rank))
                                         : pick(random, kWrong);
      break;
    }
    case 5: t.dtype.code = static_cast<uint8_t>(random.between(0, 20)); break;
    case 6: t.dtype.bits = static_cast<uint8_t>(random.between(0, 255)); break;
    case 7: t.dtype.lanes = static_cast<uint16_t>(random.between(0, 3)); break;
    case 8: change_one(lent.shape, random); break;
    case 9: change_one(lent.strides, random); break;
    case 10: (random.between(0, 1) == 0 ? t.shape : t.strides) = nullptr; break;
    default: t.byte_offset = static_cast<uint64_t>(pick(random, kNumbers)); break;
  }
  if constexpr (std::is_same_v<Managed, Versioned>) {
    if (random.between(0, 9) == 0) {
      lent.managed.version.major = static_cast<uint32_t>(random.between(0, 3));
    }
    if (random.between(0, 9) == 0) {
      lent.managed.flags = static_cast<uint64_t>(pick(random, kNumbers));
    }
  }
}

Vector draw(Rng& random, int64_t rank, int64_t low, int64_t high) {
  Vector v;
  for (int64_t d = 0; d < rank; ++d) v.push_back(random.between(low, high));
  return v;
}

struct Counts {
  int taken = 0;
  int refused = 0;
  int violations = 0;
};

// Imports a struct, without looking at its memory, and tells what came of it.
template <class Managed>
void import(Lent<Managed>& lent, Optional<bool> copy, Counts& counts) {
  const auto violations = check_dlpack(lent.get());
  REQUIRE(lent.released == 0);
  const Vector shape(lent.shape);
  const auto rank = static_cast<size_t>(lent.tensor().ndim);
  Result<TensorPtr> made = try_from_dlpack(lent.get(), copy);
  if (!violations.empty()) {
    ++counts.violations;
    REQUIRE(made.error() == violations[0].error);
    REQUIRE(made.message() == "try_from_dlpack: " + violations[0].message);
  }
  if (!made.ok()) {
    // Beyond the rules there are misaligned data, odd offsets of handles, and what ATen does not have.
    ++counts.refused;
    REQUIRE((!violations.empty() || made.error() == Error::NotSupported));
    REQUIRE(lent.released == 1);
    return;
  }
  ++counts.taken;
  TensorPtr t = std::move(*made);
  REQUIRE(tests::sizes(t) == Vector(shape.begin(), shape.begin() + static_cast<int64_t>(rank)));
  REQUIRE(lent.released == 0);
  {
    DLPackPtr again(to_dlpack(t));
    t.reset();
    REQUIRE(check_dlpack(again.get()).empty());
    REQUIRE(lent.released == 0);
  }
  REQUIRE(lent.released == 1);
}

// Right structs, of which some members are changed.
template <class Managed>
Counts mutations(uint64_t seed) {
  Rng random{seed};
  Counts counts;
  for (int i = 0; i < 5000; ++i) {
    const int64_t rank = random.between(0, 4);
    const Vector sizes = draw(random, rank, 0, 3);
    const Vector steps = random.between(0, 3) == 0 ? Vector() : draw(random, rank, -9, 9);
    Lent<Managed> lent(memory + 2048, kInt32, sizes, steps);
    for (int64_t n = random.between(0, 4); n > 0; --n) mutate(lent, random);
    import(lent, false, counts);
  }
  return counts;
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("dlpack: mutated structs are taken or refused as check_dlpack says, and released once") {
  for (const Counts& counts : {mutations<Versioned>(1), mutations<Legacy>(2)}) {
    CHECK(counts.taken > 500);
    CHECK(counts.refused > 500);
    CHECK(counts.violations > 500);
    CHECK(counts.taken + counts.refused == 5000);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("dlpack: structs of random bytes are refused or taken, and released once") {
  Rng random{3};
  Counts counts;
  for (int i = 0; i < 20000; ++i) {
    Lent<> lent(memory, kInt32, Vector(64, 1), Vector(64, 1));
    Versioned bytes;
    auto* const to = reinterpret_cast<unsigned char*>(&bytes);
    for (size_t n = 0; n < sizeof bytes; ++n) {
      to[n] = static_cast<unsigned char>(random.between(0, 255));
    }
    // What a consumer cannot but believe: where the deleter and the lists are.
    bytes.manager_ctx = lent.managed.manager_ctx;
    bytes.deleter = lent.managed.deleter;
    bytes.dl_tensor.shape = lent.managed.dl_tensor.shape;
    bytes.dl_tensor.strides = lent.managed.dl_tensor.strides;
    // Else the first check would refuse them all.
    if (i % 8 != 0) bytes.version.major = 1;
    if (i % 8 > 1) bytes.dl_tensor.dtype = kInt32;
    if (i % 8 > 2) bytes.dl_tensor.device = {1, bytes.dl_tensor.device.device_id};
    if (i % 8 > 3) bytes.dl_tensor.ndim &= 63;
    if (i % 8 > 4) bytes.dl_tensor.byte_offset >>= 40;
    lent.managed = bytes;
    import(lent, false, counts);
  }
  CHECK(counts.taken > 100);
  CHECK(counts.refused > 10000);
}

TEST_CASE(
    "dlpack: right structs at any alignment are taken, with the elements that they describe") {
  Rng random{4};
  for (size_t i = 0; i < sizeof memory; ++i) {
    memory[i] = static_cast<unsigned char>(random.between(0, 255));
  }
  int misaligned = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t rank = random.between(0, 5);
    const Vector sizes = draw(random, rank, 0, 3);
    const Vector strides = draw(random, rank, TENON_ATEN_MODE ? 0 : -9, 9);
    unsigned char* const first = memory + 2048 + random.between(-8, 8);
    Lent<> lent(first, kInt32, sizes, strides);
    lent.tensor().byte_offset = static_cast<uint64_t>(random.between(0, 16));
    const unsigned char* const start = first + lent.tensor().byte_offset;
    Ints expected;
    for (const int64_t offset : element_offsets(sizes, strides)) {
      int32_t value = 0;
      std::memcpy(&value, start + offset * 4, 4);
      expected.push_back(value);
    }
    misaligned += reinterpret_cast<uintptr_t>(start) % 4 != 0 ? 1 : 0;
    const bool copies = random.between(0, 1) == 1;
    TensorPtr t = copies ? from_dlpack(lent.get(), true) : from_dlpack(lent.get());
    REQUIRE(tests::sizes(t) == sizes);
    REQUIRE(values<int32_t>(t) == expected);
    t.reset();
    REQUIRE(lent.released == 1);
  }
  CHECK(misaligned > 1000);
}

}  // namespace dlpack_hostile_test
