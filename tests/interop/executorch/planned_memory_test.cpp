// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch/planned_memory.h"

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/tracking.h"

using namespace tenon;
using namespace tenon::detail;

namespace {

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace

TEST_CASE("ExecutorchMemory: hands out aligned memory that does not overlap") {
  ExecutorchMemory memory(host_backend());
  auto* const a = static_cast<unsigned char*>(memory.allocate(3, 1));
  auto* const b = static_cast<unsigned char*>(memory.allocate(100, 64));
  auto* const c = static_cast<unsigned char*>(memory.allocate(10000, 4096));
  auto* const d = static_cast<unsigned char*>(memory.allocate(8, 8));
  REQUIRE((a != nullptr && b != nullptr && c != nullptr && d != nullptr));
  CHECK(address(b) % 64 == 0);
  CHECK(address(c) % 4096 == 0);
  CHECK(address(d) % 8 == 0);
  std::memset(a, 1, 3);
  std::memset(b, 2, 100);
  std::memset(c, 3, 10000);
  std::memset(d, 4, 8);
  CHECK((a[2] == 1 && b[0] == 2 && b[99] == 2 && c[0] == 3 && c[9999] == 3 && d[7] == 4));
}

TEST_CASE("ExecutorchMemory: an alignment that is no power of 2, or too much, is refused") {
  ExecutorchMemory memory(host_backend());
  CHECK(memory.allocate(8, 3) == nullptr);
  CHECK(memory.allocate(8, 0) == nullptr);
  CHECK(memory.allocate(SIZE_MAX) == nullptr);
  CHECK(memory.allocate(PTRDIFF_MAX) == nullptr);
  CHECK(memory.allocate(8) != nullptr);
  CHECK(memory.allocate(0) != nullptr);
}

TEST_CASE("ExecutorchMemory: after a reset the same again needs no new block") {
  TrackingBackend tracking(host_backend());
  {
    ExecutorchMemory memory(tracking);
    const auto take = [&memory] {
      for (const size_t size : {size_t{100}, size_t{5000}, size_t{20000}, size_t{3}})
        CHECK(memory.allocate(size, 16) != nullptr);
      memory.reset();
    };
    take();
    take();  // in one block from here on
    const auto count = tracking.total_count();
    for (int i = 0; i < 10; ++i) take();
    CHECK(tracking.total_count() == count);
    CHECK(memory.allocate(1000000) != nullptr);
    memory.reset();
    take();
  }
  CHECK(tracking.live_bytes() == 0);
}

TEST_CASE("ExecutorchMemory: is from the backend, and null when that has no more") {
  alignas(64) static unsigned char buffer[1 << 14];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    ExecutorchMemory memory(arena);
    const auto* const at = static_cast<unsigned char*>(memory.allocate(100));
    CHECK((at >= buffer && at < buffer + sizeof buffer));
    CHECK(memory.allocate(1 << 14) == nullptr);
    CHECK(memory.allocate(100) != nullptr);
  }
  CHECK(arena.reset() == Error::Ok);
}
