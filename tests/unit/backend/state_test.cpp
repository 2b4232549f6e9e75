// SPDX-License-Identifier: MIT
#include "tenon/backend/state.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace state_test {

using namespace tenon;
using tests::MinimalBackend;

namespace {

void* take(Backend& backend, size_t nbytes) {
  void* p = &backend;
  REQUIRE(detail::state_of(backend)->allocate(nbytes, detail::kDataAlignment, p) == Error::Ok);
  return p;
}
detail::BackendState* state_of(const Backend& backend) {
  return detail::BackendAccess::state(backend);
}

// Finds out which device it is by a tensor of its own.
struct ProbingBackend final : HostMemoryBackend {
  const char* name() const noexcept override { return "probing"; }
  Device device() const noexcept override {
    if (!std::exchange(has_probed, true)) probed = try_zeros({1}, *self).ok();
    return Device();
  }
  void* allocate(size_t nbytes, size_t) noexcept override { return std::malloc(nbytes); }
  void deallocate(void* p, size_t) noexcept override { std::free(p); }
  Backend* self = this;
  mutable bool has_probed = false;
  mutable bool probed = false;
};

}  // namespace

TEST_CASE("Backend: one that is destroyed while blocks are in use says so once, and lets them be") {
  const tests::Reports told;
  detail::BackendState* state = nullptr;
  void* blocks[3] = {};
  {
    MinimalBackend backend("a backend with a very long name indeed");
    state = state_of(backend);
    for (void*& block : blocks) block = take(backend, 1);
    detail::release_to(*state, blocks[2], 1);
    CHECK(told.count() == 0);
  }
  CHECK(told.count() == 1);
  CHECK(told.last() ==
        "InUse: backend a backend with a very long  was destroyed with 2 of its "
        "blocks in use");
  CHECK(state->backend == nullptr);
  detail::release_to(*state, blocks[0], 1);
  detail::release_to(*state, blocks[1], 1);  // frees the state: AddressSanitizer would tell
  {
    MinimalBackend backend;
    detail::release_to(*state_of(backend), take(backend, 8), 8);
  }
  CHECK(told.count() == 1);
}

TEST_CASE("Backend: one that uses itself when it is asked for its device is not locked out") {
  ProbingBackend backend;
  CHECK(try_zeros({4}, backend).ok());
  CHECK(backend.probed);
}

TEST_CASE("allocate: without memory it says whose, how much, and what the backend says") {
  MinimalBackend backend("gpu");
  backend.room = 100;
  void* p = &backend;
  CHECK(detail::state_of(backend)->allocate(101, detail::kDataAlignment, p) == Error::OutOfMemory);
  CHECK(p == nullptr);
  CHECK(std::string(last_error_message()) == "backend gpu has no memory for 101 bytes");
  backend.refusal = "it has 100";
  CHECK(detail::state_of(backend)->allocate(102, detail::kDataAlignment, p) == Error::OutOfMemory);
  CHECK(std::string(last_error_message()) == "backend gpu has no memory for 102 bytes: it has 100");
  CHECK(backend.live_blocks() == 0);
  // Without a state what the backend gave goes back.
  RETURNS(OutOfMemory, "backend gpu has no memory for 64 bytes",
          detail::fail_stateless(backend, 64));
  CHECK(backend.calls["allocate"] == 3);
  CHECK(backend.used() == 0);
}

}  // namespace state_test
