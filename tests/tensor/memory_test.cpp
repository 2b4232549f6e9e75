// SPDX-License-Identifier: MIT
#include "tenon/tensor/memory.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;
using tenon::detail::known_state;
using tenon::detail::NewMemory;
using namespace tests;

TEST_CASE("allocate_on_host: aligned memory of its size, released with the deleter") {
  NewMemory memory;
  REQUIRE(detail::allocate_on_host(100, memory) == Error::Ok);
  CHECK(reinterpret_cast<uintptr_t>(memory.data) % 64 == 0);
  std::memset(memory.data, 1, 100);
  memory.release.reset();  // AddressSanitizer would tell
}

TEST_CASE("allocate_on_host: without memory it says how much") {
  NewMemory memory;
  RETURNS(OutOfMemory, "out of memory for ", detail::allocate_on_host(SIZE_MAX / 2, memory));
  CHECK_FALSE(static_cast<bool>(memory.release));
}

TEST_CASE("allocate_from: the deleter gives the memory back to the backend") {
  MinimalBackend backend;
  {
    NewMemory memory;
    REQUIRE(detail::allocate_from(backend, 10, memory) == Error::Ok);
    CHECK(backend.used() == 10);
    CHECK(backend.live_blocks() == 1);
    const NewMemory moved = std::move(memory);
    CHECK(backend.live_blocks() == 1);
  }
  CHECK(backend.used() == 0);
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("allocate_from: a refusal leaves nothing") {
  MinimalBackend backend("gpu");
  backend.room = 0;
  NewMemory memory;
  RETURNS(OutOfMemory, "backend gpu has no memory for 10 bytes",
          detail::allocate_from(backend, 10, memory));
  CHECK_FALSE(static_cast<bool>(memory.release));
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("take_backend_memory: the draft is the backend's, and owns its memory") {
  MinimalBackend backend;
  {
    detail::ImplFields made;
    REQUIRE(detail::take_backend_memory(backend, known_state(backend), 24, made) == Error::Ok);
    CHECK(made.data != nullptr);
    CHECK(made.device == backend.device());
    CHECK(made.opaque);
    CHECK_FALSE(made.is_host_accessible());
    CHECK(made.ownership == Ownership::Owned);
    CHECK(made.backend == detail::BackendAccess::state(backend));
    CHECK(backend.used() == 24);
  }
  CHECK(backend.used() == 0);
}

TEST_CASE("take_backend_memory: 0 bytes are none, and count nevertheless") {
  MinimalBackend backend;
  detail::ImplFields made;
  REQUIRE(detail::take_backend_memory(backend, known_state(backend), 0, made) == Error::Ok);
  CHECK(made.data == nullptr);
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.calls["allocate"] == 0);
}

TEST_CASE("take_backend_memory: a template takes none") {
  TemplateBackend backend;
  detail::ImplFields made;
  REQUIRE(detail::take_backend_memory(backend, known_state(backend), 1000, made) == Error::Ok);
  CHECK(made.data == nullptr);
  CHECK(made.is_template());
  CHECK(backend.live_blocks() == 1);
}
