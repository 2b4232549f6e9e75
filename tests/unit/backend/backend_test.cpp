// SPDX-License-Identifier: MIT
#include "tenon/backend/backend.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace backend_test {

using namespace tenon;

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

}  // namespace backend_test
