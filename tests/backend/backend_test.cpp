// SPDX-License-Identifier: MIT
#include "tenon/backend/backend.h"

#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/calls.h"
#include "tenon/backend/host_memory.h"
#include "tenon/tensor/creators.h"

using namespace tenon;
using tests::MinimalBackend;

namespace {

/// A backend whose state is where it is told.
class PlacedBackend : public tenon::Backend {
 public:
  PlacedBackend(void* place, bool one_thread) : Backend(place, one_thread) {}
  const char* name() const noexcept override { return "placed"; }
  tenon::Device device() const noexcept override { return {}; }
  bool is_opaque() const noexcept override { return false; }
  void* allocate(size_t nbytes, size_t) noexcept override {
    return nbytes <= sizeof memory ? memory : nullptr;
  }
  void deallocate(void*, size_t) noexcept override { ++deallocations; }
  Error copy_from_host(void*, const void*, size_t) override { return Error::Ok; }
  Error copy_to_host(void*, const void*, size_t) override { return Error::Ok; }
  Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  Error synchronize() override { return Error::Ok; }

  int deallocations = 0;
  alignas(64) char memory[64];
};

}  // namespace

TEST_CASE("Backend: what is optional is NotSupported unless it is overridden") {
  MinimalBackend backend;
  const tenon::TensorView view{nullptr, tenon::ScalarType::Float, backend.device(), {2, 3}, {3, 1}};
  const tenon::Generator::State start{};
  std::string text = "x";
  char byte = 0;
  CHECK(backend.copy(view, view, tenon::CastMode::Checked) == Error::NotSupported);
  CHECK(backend.constant(view, &byte) == Error::NotSupported);
  CHECK(backend.eye(view) == Error::NotSupported);
  CHECK(backend.iota(view, tenon::none) == Error::NotSupported);
  CHECK(backend.from_binary(view, &byte, 1) == Error::NotSupported);
  CHECK(backend.to_binary(view, 1, &byte) == Error::NotSupported);
  CHECK(backend.random_uniform(view, 0, 1, start) == Error::NotSupported);
  CHECK(backend.random_normal(view, 0, 1, start) == Error::NotSupported);
  CHECK(backend.inspect(view, 10, text) == Error::NotSupported);
  CHECK(text == "x");
  backend.on_made({nullptr, view.type, view.sizes, view.strides, "zeros"});
  CHECK(backend.calls.empty());
}

TEST_CASE("Backend: by default it is nobody's wrapper, and keeps no metadata") {
  MinimalBackend backend;
  CHECK(&backend.base() == &backend);
  CHECK(backend.metadata_backend() == nullptr);
}

TEST_CASE("Backend: by default it knows no options") {
  MinimalBackend backend;
  CHECK(backend.init({}) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"limit\"; this backend has none",
                backend.init({{"limit", 1}}));
}

TEST_CASE("Backend: live_blocks counts what was given and has not come back") {
  MinimalBackend backend;
  CHECK(backend.live_blocks() == 0);
  void* p = nullptr;
  void* none = nullptr;
  REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 100, p) ==
          Error::Ok);
  REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 0, none) ==
          Error::Ok);
  CHECK(none == nullptr);
  CHECK(backend.live_blocks() == 2);
  CHECK(backend.last_alignment == 64);
  tenon::detail::BackendState* const state = tenon::detail::BackendAccess::state(backend);
  tenon::detail::release_to(state, p, 100);
  tenon::detail::release_to(state, none, 0);
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.calls["allocate"] == 1);
  CHECK(backend.calls["deallocate"] == 1);
  CHECK(backend.faults == 0);
}

TEST_CASE("Backend: one that is destroyed while blocks are in use says so once, and lets them be") {
  const tests::Reports told;
  tenon::detail::BackendState* state = nullptr;
  void* a = nullptr;
  void* b = nullptr;
  {
    MinimalBackend backend("a backend with a very long name indeed");
    state = tenon::detail::BackendAccess::state(backend);
    REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 1, a) ==
            Error::Ok);
    REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 1, b) ==
            Error::Ok);
    CHECK(told.count() == 0);
  }
  CHECK(told.count() == 1);
  CHECK(told.last() ==
        "InUse: backend a backend with a very long  was destroyed while 2 blocks of its "
        "memory are in use; what is left stays allocated");
  CHECK(state->backend == nullptr);
  tenon::detail::release_to(state, a, 1);
  tenon::detail::release_to(state, b, 1);  // frees the state: AddressSanitizer would tell
  CHECK(told.count() == 1);
}

TEST_CASE("Backend: one without blocks in use goes silently") {
  const tests::Reports told;
  {
    MinimalBackend backend;
    void* p = nullptr;
    REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 8, p) ==
            Error::Ok);
    tenon::detail::release_to(tenon::detail::BackendAccess::state(backend), p, 8);
  }
  CHECK(told.count() == 0);
}

TEST_CASE("Backend: its state may be in memory of the program's") {
  for (bool one_thread : {false, true}) {
    alignas(tenon::detail::BackendState) unsigned char place[sizeof(tenon::detail::BackendState)];
    PlacedBackend backend(place, one_thread);
    CHECK(tenon::detail::BackendAccess::state(backend) == static_cast<void*>(place));
    void* p = nullptr;
    REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 8, p) ==
            Error::Ok);
    CHECK(p == backend.memory);
    CHECK(backend.live_blocks() == 1);
    tenon::detail::release_to(tenon::detail::BackendAccess::state(backend), p, 8);
    CHECK(backend.live_blocks() == 0);
    CHECK(backend.deallocations == 1);
  }
}

TEST_CASE("Backend: without memory for its state it makes no tensors") {
  PlacedBackend backend(nullptr, true);
  CHECK(backend.live_blocks() == 0);
  void* p = &backend;
  CHECK_RETURNS(Error::OutOfMemory, "backend placed has no memory for 8 bytes",
                tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 8, p));
  CHECK(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 0, p) ==
        Error::OutOfMemory);
}

namespace {

// Finds out which device it is by a tensor of its own.
struct ProbingBackend final : tenon::HostMemoryBackend {
  const char* name() const noexcept override { return "probing"; }
  tenon::Device device() const noexcept override {
    if (!std::exchange(has_probed, true)) probed = tenon::try_zeros({1}, *self).ok();
    return tenon::Device();
  }
  void* allocate(size_t nbytes, size_t) noexcept override { return std::malloc(nbytes); }
  void deallocate(void* p, size_t) noexcept override { std::free(p); }
  tenon::Backend* self = this;
  mutable bool has_probed = false;
  mutable bool probed = false;
};

}  // namespace

TEST_CASE("Backend: one that uses itself when it is asked for its device is not locked out") {
  ProbingBackend backend;
  CHECK(tenon::try_zeros({4}, backend).ok());
  CHECK(backend.probed);
}
