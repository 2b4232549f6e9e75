// SPDX-License-Identifier: MIT
#include "tenon/backend/backend.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace backend_test {

using namespace tenon;
using tests::CountingBackend;

namespace {

void* take(Backend& backend, size_t nbytes) {
  void* p = &backend;
  REQUIRE(detail::state_of(backend)->allocate(nbytes, detail::kDataAlignment, p) == Error::Ok);
  return p;
}
detail::BackendState* state_of(const Backend& backend) {
  return detail::BackendAccess::state(backend);
}

/// A backend whose state is where it is told.
struct PlacedBackend final : HostMemoryBackend {
  PlacedBackend(void* place, bool one_thread) : HostMemoryBackend(place, one_thread) {}
  const char* name() const noexcept override { return "placed"; }
  void* allocate(size_t, size_t) noexcept override { return memory; }
  void deallocate(void*, size_t) noexcept override { ++deallocations; }
  int deallocations = 0;
  alignas(64) char memory[64];
};

struct Wrapper : WrapperBackend {
  explicit Wrapper(Backend& inner) : WrapperBackend(inner) {}
  const char* name() const noexcept override { return "wrapper"; }
};

}  // namespace

TEST_CASE("Backend: its state may be in memory of the program's, or nowhere") {
  for (bool one_thread : {false, true}) {
    alignas(detail::BackendState) unsigned char place[sizeof(detail::BackendState)];
    PlacedBackend backend(place, one_thread);
    CHECK(state_of(backend) == static_cast<void*>(place));
    CHECK(take(backend, 8) == backend.memory);
    CHECK(backend.live_blocks() == 1);
    detail::release_to(*state_of(backend), backend.memory, 8);
    CHECK(backend.live_blocks() == 0);
    CHECK(backend.deallocations == 1);
  }
  PlacedBackend backend(nullptr, true);
  CHECK(backend.live_blocks() == 0);
  CHECK(detail::state_of(backend) == nullptr);
  RETURNS(OutOfMemory, "backend placed has no memory for 8 bytes",
          detail::fail_stateless(backend, 8));
  CHECK(backend.deallocations == 1);
  CHECK(detail::fail_stateless(backend, 0) == Error::OutOfMemory);
  CHECK(backend.deallocations == 1);
  RAISES(OutOfMemory, "backend placed has no memory for 8 bytes", zeros({2}, backend));
  int x = 0;
  RAISES(OutOfMemory, "backend placed has no memory for 0 bytes",
         from_blob(&x, {1}, ScalarType::Int, backend));
}

TEST_CASE("WrapperBackend: an inner one that goes first says so once, and is not called again") {
  const tests::Reports told;
  auto inner = std::make_unique<CountingBackend>();
  Wrapper middle(*inner);
  Wrapper outer(static_cast<Backend&>(middle));
  void* p = nullptr;
  detail::BackendState* const state = detail::state_of(outer);
  REQUIRE(state->allocate(8, detail::kDataAlignment, p) == Error::Ok);
  CHECK(state->is_alive());
  inner.reset();
  CHECK(told.count() == 1);
  CHECK(told.last() == "InUse: backend counting was destroyed before a backend that wraps it");
  CHECK(!state->is_alive());
  RETURNS(InvalidState, "has no memory, and the backend that it wraps was destroyed",
          state->allocate(8, detail::kDataAlignment, p));
  detail::release_to(*state, p, 8);  // AddressSanitizer would tell
  CHECK(outer.live_blocks() == 0);
  CHECK(told.count() == 1);
}

}  // namespace backend_test
