// SPDX-License-Identifier: MIT
#include "tenon/backend/expr_memory.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/expr_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tests;

TEST_CASE("ExprBackend: an address that it has not given is refused") {
  ExprBackend backend;
  void* stale = nullptr;
  {
    const Block block(backend, ScalarType::Int, {2});
    stale = block.view().data;
    int32_t numbers[3] = {};
    CHECK_RETURNS(Error::InvalidArgument, "Byte {12} is not in memory of this backend",
                  backend.copy_from_host(stale, numbers, 12));
    CHECK_RETURNS(Error::InvalidArgument, "Int {3} is not in memory of this backend",
                  backend.iota(block.part({3}, {1}, 0), tenon::none));
    CHECK_RETURNS(Error::InvalidArgument, "is not in memory",
                  backend.iota(block.part({2}, {1}, -1), tenon::none));
    CHECK(text(backend, block.view()) == "Empty Int {2}");
  }
  int32_t number = 0;
  CHECK_RETURNS(Error::InvalidArgument, "is not in memory",
                backend.copy_to_host(&number, stale, 4));
  backend.deallocate(stale, 8);
}

TEST_CASE("ExprBackend: addresses are aligned, distinct, and as many as asked for") {
  ExprBackend backend;
  void* const large = backend.allocate(size_t{1} << 30, 4096);
  REQUIRE(large != nullptr);
  CHECK(reinterpret_cast<uintptr_t>(large) % 4096 == 0);
  void* const next = backend.allocate(1, 64);
  CHECK(reinterpret_cast<uintptr_t>(next) >= reinterpret_cast<uintptr_t>(large) + (1u << 30));
  backend.deallocate(large, size_t{1} << 30);
  backend.deallocate(next, 1);
}

TEST_CASE("ExprBackend: when addresses run out, those given back are used again") {
  ExprBackend backend;
  const uintptr_t room = tenon::detail::kEndOfMadeUp - tenon::detail::kFirstMadeUp;
  void* const half = backend.allocate(room / 2, 64);
  void* const rest = backend.allocate(room / 2 - 64, 64);
  REQUIRE(half != nullptr);
  REQUIRE(rest != nullptr);
  CHECK(backend.allocate(4096, 64) == nullptr);
  CHECK(std::string(tenon::last_error_message()) == "there are no addresses left");
  backend.deallocate(half, room / 2);
  CHECK(backend.allocate(4096, 64) == half);
  backend.deallocate(half, 4096);
  backend.deallocate(rest, room / 2 - 64);
  CHECK(backend.allocate(room + 1, 64) == nullptr);
}
