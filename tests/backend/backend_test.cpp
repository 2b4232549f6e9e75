// SPDX-License-Identifier: MIT
#include "tenon/backend/backend.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/calls.h"
#include "tenon/tenon.h"
#include "tenon/testing/backend_conformance.h"

using namespace tenon;
using tests::MinimalBackend;

namespace {

/// A backend whose state is where it is told.
class PlacedBackend : public Backend {
 public:
  PlacedBackend(void* place, bool one_thread) : Backend(place, one_thread) {}
  const char* name() const noexcept override { return "placed"; }
  Device device() const noexcept override { return {}; }
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

/// Reads "limit", which is 5 before, and at least 1.
Error read(const BackendOptions& options, int64_t& number) {
  number = 5;
  return options.read("limit", 1, number);
}

// As little as a user has to write.
class PlainBackend final : public HostMemoryBackend {
 public:
  const char* name() const noexcept override { return "plain"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return heap_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override { heap_.deallocate(p, nbytes); }

 private:
  CpuBackend heap_;
};

}  // namespace

TEST_CASE("Backend: what is optional is NotSupported unless it is overridden") {
  MinimalBackend backend;
  const TensorView view{nullptr, ScalarType::Float, backend.device(), {2, 3}, {3, 1}};
  const Generator::State start{};
  std::string text = "x";
  char byte = 0;
  CHECK(backend.copy(view, view, CastMode::Checked) == Error::NotSupported);
  CHECK(backend.constant(view, &byte) == Error::NotSupported);
  CHECK(backend.eye(view) == Error::NotSupported);
  CHECK(backend.iota(view, none) == Error::NotSupported);
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
  void* nothing = nullptr;
  REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 100, p) == Error::Ok);
  REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 0, nothing) == Error::Ok);
  CHECK(nothing == nullptr);
  CHECK(backend.live_blocks() == 2);
  CHECK(backend.last_alignment == 64);
  detail::BackendState* const state = detail::BackendAccess::state(backend);
  detail::release_to(state, p, 100);
  detail::release_to(state, nothing, 0);
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.calls["allocate"] == 1);
  CHECK(backend.calls["deallocate"] == 1);
  CHECK(backend.faults == 0);
}

TEST_CASE("Backend: one that is destroyed while blocks are in use says so once, and lets them be") {
  const tests::Reports told;
  detail::BackendState* state = nullptr;
  void* a = nullptr;
  void* b = nullptr;
  {
    MinimalBackend backend("a backend with a very long name indeed");
    state = detail::BackendAccess::state(backend);
    REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 1, a) == Error::Ok);
    REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 1, b) == Error::Ok);
    CHECK(told.count() == 0);
  }
  CHECK(told.count() == 1);
  CHECK(told.last() ==
        "InUse: backend a backend with a very long  was destroyed while 2 blocks of its "
        "memory are in use; what is left stays allocated");
  CHECK(state->backend == nullptr);
  detail::release_to(state, a, 1);
  detail::release_to(state, b, 1);  // frees the state: AddressSanitizer would tell
  CHECK(told.count() == 1);
}

TEST_CASE("Backend: one without blocks in use goes silently") {
  const tests::Reports told;
  {
    MinimalBackend backend;
    void* p = nullptr;
    REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 8, p) == Error::Ok);
    detail::release_to(detail::BackendAccess::state(backend), p, 8);
  }
  CHECK(told.count() == 0);
}

TEST_CASE("Backend: its state may be in memory of the program's") {
  for (bool one_thread : {false, true}) {
    alignas(detail::BackendState) unsigned char place[sizeof(detail::BackendState)];
    PlacedBackend backend(place, one_thread);
    CHECK(detail::BackendAccess::state(backend) == static_cast<void*>(place));
    void* p = nullptr;
    REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 8, p) == Error::Ok);
    CHECK(p == backend.memory);
    CHECK(backend.live_blocks() == 1);
    detail::release_to(detail::BackendAccess::state(backend), p, 8);
    CHECK(backend.live_blocks() == 0);
    CHECK(backend.deallocations == 1);
  }
}

TEST_CASE("Backend: without memory for its state it makes no tensors") {
  PlacedBackend backend(nullptr, true);
  CHECK(backend.live_blocks() == 0);
  void* p = &backend;
  CHECK_RETURNS(Error::OutOfMemory, "backend placed has no memory for 8 bytes",
                detail::allocate_from(backend, detail::known_state(backend), 8, p));
  CHECK(detail::allocate_from(backend, detail::known_state(backend), 0, p) == Error::OutOfMemory);
}

namespace {

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

TEST_CASE("Backend: one that uses itself when it is asked for its device is not locked out") {
  ProbingBackend backend;
  CHECK(try_zeros({4}, backend).ok());
  CHECK(backend.probed);
}

TEST_CASE("BackendOptions: find gives the option of a name, the last of several") {
  const auto check = [](const BackendOptions& options) {
    CHECK(options.size() == 3);
    CHECK(options.end() - options.begin() == 3);
    REQUIRE(options.find("limit") != nullptr);
    CHECK(options.find("limit")->value.to<int64_t>() == 8);
    CHECK(options.find("limit")->text == nullptr);
    REQUIRE(options.find("mode") != nullptr);
    CHECK(std::string(options.find("mode")->text) == "eager");
    CHECK(options.find("lim") == nullptr);
    CHECK(options.find("") == nullptr);
  };
  check({{"limit", 4}, {"mode", "eager"}, {"limit", 8}});
}

TEST_CASE("BackendOptions: there may be none") {
  const BackendOptions options{};
  CHECK(options.size() == 0);
  CHECK(options.begin() == options.end());
  CHECK(options.find("limit") == nullptr);
}

TEST_CASE("BackendOptions: read gives a whole number, or leaves what was there") {
  int64_t number = 0;
  CHECK(read({{"limit", 9}}, number) == Error::Ok);
  CHECK(number == 9);
  CHECK(read({{"limit", 1}}, number) == Error::Ok);
  CHECK(number == 1);
  CHECK(read({{"limit", INT64_MAX}}, number) == Error::Ok);
  CHECK(number == INT64_MAX);
  CHECK(read({{"other", 9}}, number) == Error::Ok);
  CHECK(number == 5);
}

TEST_CASE("BackendOptions: read refuses what is no whole number, and changes nothing") {
  int64_t number = 0;
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is 2.5; expected a whole number from 1",
                read({{"limit", 2.5}}, number));
  CHECK(number == 5);
  CHECK_RETURNS(Error::InvalidArgument,
                "option \"limit\" is \"many\"; expected a whole number from 1",
                read({{"limit", "many"}}, number));
  CHECK(number == 5);
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is ", read({{"limit", true}}, number));
  CHECK(number == 5);
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is 18446744073709551615",
                read({{"limit", UINT64_MAX}}, number));
  CHECK(number == 5);
}

TEST_CASE("BackendOptions: read refuses a number below the least, and says both") {
  int64_t number = 0;
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is 0; expected a whole number from 1",
                read({{"limit", 0}}, number));
  CHECK(number == 5);
}

TEST_CASE("BackendOptions: read looks at the last of several") {
  int64_t number = 0;
  CHECK(read({{"limit", 0}, {"limit", 3}}, number) == Error::Ok);
  CHECK(number == 3);
  CHECK(read({{"limit", 3}, {"limit", 0}}, number) == Error::InvalidArgument);
}

TEST_CASE("BackendOptions: check_names refuses a name that is not among those given") {
  const auto check = [](const BackendOptions& options) {
    return options.check_names({"limit", "mode"});
  };
  CHECK(check({}) == Error::Ok);
  CHECK(check({{"mode", "eager"}, {"limit", 2}}) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"limits\"",
                check({{"limit", 2}, {"limits", 2}}));
  CHECK(std::string(last_error_message()) == "there is no option \"limits\"");
}

TEST_CASE("BackendOptions: check_names of a backend without options says so") {
  const BackendOptions nothing{};
  CHECK(nothing.check_names({}) == Error::Ok);
  const auto check = [](const BackendOptions& options) { return options.check_names({}); };
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"x\"; this backend has none",
                check({{"x", 1}}));
}

TEST_CASE("HostMemoryBackend: its memory is the CPU's, and not opaque") {
  const PlainBackend backend;
  CHECK(backend.device().is_cpu());
  CHECK_FALSE(backend.is_opaque());
}

TEST_CASE("HostMemoryBackend: bytes are copied in each direction") {
  PlainBackend backend;
  const std::vector<unsigned char> source{1, 2, 3, 4};
  std::vector<unsigned char> there(4);
  std::vector<unsigned char> back(4);
  CHECK(backend.copy_from_host(there.data(), source.data(), 3) == Error::Ok);
  CHECK(there == std::vector<unsigned char>{1, 2, 3, 0});
  CHECK(backend.copy_within(there.data() + 3, there.data() + 1, 1) == Error::Ok);
  CHECK(backend.copy_to_host(back.data(), there.data(), 4) == Error::Ok);
  CHECK(back == std::vector<unsigned char>{1, 2, 3, 2});
  CHECK(backend.synchronize() == Error::Ok);
}

TEST_CASE("HostMemoryBackend: one that says where memory comes from is a whole backend") {
  PlainBackend backend;
  const testing::Report report = testing::check_backend(backend);
  INFO(report.text());
  CHECK(report.ok());
}
