// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/tensor_cases.h"

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("tensor_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, growing_keeps_elements);
  CHECK_PASSES(HonestBackend, transfers_move);
  CHECK_PASSES(HonestBackend, deallocation_is_final);
  CHECK_PASSES(HonestBackend, registered_memory_is_found);
  CHECK_PASSES(HonestBackend, binary_is_limited);
}

TEST_CASE("tensor_cases: found: a copy_within that moves nothing") {
  struct Broken final : HonestBackend {
    Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  };
  CHECK_FOUND("expected", Broken, growing_keeps_elements);
}

TEST_CASE("tensor_cases: found: to_binary in the order of memory") {
  struct Broken final : HonestBackend {
    Error to_binary(const View& in, int64_t count, void* bytes) override {
      return HonestBackend::to_binary(without_strides(in), count, bytes);
    }
  };
  CHECK_FOUND("to_binary of Short, columns in the middle", Broken, binary_is_limited);
}

TEST_CASE("tensor_cases: found: to_binary that ends too early") {
  struct Broken final : HonestBackend {
    Error to_binary(const View& in, int64_t count, void* bytes) override {
      return HonestBackend::to_binary(in, count > 1 ? count - 1 : count, bytes);
    }
  };
  CHECK_FOUND("limit 7", Broken, binary_is_limited);
}
