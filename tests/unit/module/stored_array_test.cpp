// SPDX-License-Identifier: MIT
#include "tenon/module/stored_array.h"

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"

namespace stored_array_test {

using namespace tenon;
using tenon::detail::storage_of;
using tenon::detail::StoredArray;

namespace {

int alive = 0;
struct Counted {
  Counted() noexcept { ++alive; }
  Counted(Counted&& other) noexcept : value(other.value) { ++alive; }
  ~Counted() { --alive; }
  int value = 7;
};

}  // namespace

TEST_CASE("StoredArray: it grows and shrinks, elements keep their values and are destroyed once") {
  {
    StoredArray<Counted> array;
    CHECK(array.size() == 0);
    REQUIRE(array.resize(2) == Error::Ok);
    array[1].value = 8;
    REQUIRE(array.resize(5) == Error::Ok);
    CHECK(array[0].value == 7);
    CHECK(array[1].value == 8);
    CHECK(alive == 5);
    REQUIRE(array.resize(1) == Error::Ok);
    CHECK(alive == 1);
    for (int i = 0; i < 9; ++i) REQUIRE(array.push_back(Counted()) == Error::Ok);
    CHECK(alive == 10);
    const StoredArray<Counted> moved(std::move(array));
    CHECK(moved.size() == 10);
    CHECK(array.size() == 0);  // NOLINT(bugprone-use-after-move)
    CHECK(alive == 10);
  }
  CHECK(alive == 0);
}

TEST_CASE("StoredArray: with an arena it is there, and gives the memory back") {
  alignas(64) unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    StoredArray<int64_t> array(storage_of(&arena));
    REQUIRE(array.resize(10) == Error::Ok);
    CHECK(arena.used() >= 80);
    const auto* at = reinterpret_cast<const unsigned char*>(array.data());
    CHECK((at >= buffer && at < buffer + sizeof buffer));
    RETURNS(OutOfMemory, "backend arena has no memory for 800", array.resize(10000));
    CHECK(array.size() == 10);
  }
  CHECK(arena.used() == 0);
  CpuBackend cpu;  // keeps no metadata: the heap does
  CHECK(storage_of(&cpu) == nullptr);
  CHECK(storage_of(nullptr) == nullptr);
  StoredArray<int64_t> huge;
  RETURNS(OutOfMemory, "out of memory", huge.resize(SIZE_MAX / 16));
  CHECK(huge.size() == 0);
}

}  // namespace stored_array_test
