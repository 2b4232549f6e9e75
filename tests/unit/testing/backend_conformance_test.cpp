// SPDX-License-Identifier: MIT
#include "tenon/testing/backend_conformance.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory_resource>
#include <mutex>
#include <new>
#include <stdexcept>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tensor/expr.h"
#include "testing/broken_backends.h"

namespace backend_conformance_test {

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;
using tests::MinimalBackend;

namespace {

/// What a user's test of a backend looks like.
void run_all(Backend& backend, const BackendTraits& traits = BackendTraits()) {
  INFO(backend.name());
  for (const BackendCase& test : testing::backend_cases(backend)) {
    const Report report = testing::run_case(test, backend, traits);
    INFO(report.text());
    CHECK(report.ok());
  }
}

/// The heap up to a limit: AddressSanitizer's operator new ends the program where it has no memory.
class LimitedResource final : public std::pmr::memory_resource {
  void* do_allocate(size_t nbytes, size_t alignment) override {
    if (nbytes > (size_t{1} << 30)) throw std::bad_alloc();
    return std::pmr::new_delete_resource()->allocate(nbytes, alignment);
  }
  void do_deallocate(void* p, size_t nbytes, size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(p, nbytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace

TEST_CASE("conformance: backends of the host's memory") {
  CpuBackend cpu;
  run_all(cpu);
  LimitedResource heap;
  PmrBackend pmr(&heap);
  run_all(pmr);
  std::pmr::synchronized_pool_resource resource(&heap);
  PmrBackend pooled(&resource);
  run_all(pooled);
  PoolBackend pool(cpu);
  run_all(pool);
}

TEST_CASE("conformance: ArenaBackend, and TrackingBackend over PoolBackend over it") {
  std::vector<char> buffer(size_t{64} << 20);
  BackendTraits traits;
  traits.largest = size_t{4} << 20;
  ArenaBackend arena(buffer.data(), buffer.size());
  run_all(arena, traits);
  CHECK(arena.used() == 0);
  {
    PoolBackend pool(arena);
    TrackingBackend backend(pool);
    run_all(backend, traits);
    CHECK(backend.live_bytes() == 0);
  }
  CHECK(arena.used() == 0);
}

TEST_CASE("conformance: backends without data") {
  MetaBackend meta;
  run_all(meta);
  ExprBackend recorder;
  BackendTraits traits;
  traits.reuses_addresses = false;
  run_all(recorder, traits);
}

// A promise of docs/guarantees.md.
TEST_CASE("conformance: memory that faults when the host touches it, and wrappers over it") {
  MinimalBackend device;
  device.room = size_t{256} << 20;
  run_all(device);
  CHECK(device.calls["allocate"] > device.calls["deallocate"]);  // some were refused
  CHECK(device.calls["copy_within"] > 0);
  {
    PoolBackend pool(device);
    TrackingBackend backend(pool);
    run_all(backend);
    CHECK(backend.live_bytes() == 0);
  }
  CHECK(device.used() == 0);
  CHECK(device.faults == 0);
}

TEST_CASE("conformance: backends that do everything, opaque on the CPU, and in pinned memory") {
  HonestBackend honest;
  run_all(honest);
  struct Opaque final : HonestBackend {
    Device device() const noexcept override { return Device(); }
  } opaque;
  run_all(opaque);
  struct Pinned final : HonestBackend {
    Device device() const noexcept override { return Device(DeviceType::CUDAHost); }
    bool is_opaque() const noexcept override { return false; }
  } pinned;
  run_all(pinned);
}

// A promise of docs/guarantees.md.
TEST_CASE("conformance: a backend of the nine functions that copies later") {
  // Begins copies and does them when it must.
  struct Later final : WrapperBackend {
    explicit Later(Backend& device) : WrapperBackend(device) {}
    std::mutex mutex;
    std::vector<std::function<Error()>> begun;
    std::atomic<bool> failed{false};
    const char* name() const noexcept override { return "later"; }
    Backend& base() noexcept override { return *this; }
    void deallocate(void* p, size_t nbytes) noexcept override {
      if (synchronize() != Error::Ok) failed = true;  // in any thread
      inner().deallocate(p, nbytes);
    }
    Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
      TENON_TRY(synchronize());
      return inner().copy_from_host(dst, src, nbytes);
    }
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      TENON_TRY(synchronize());
      return inner().copy_to_host(dst, src, nbytes);
    }
    Error copy_within(void* dst, const void* src, size_t nbytes) override {
      const std::lock_guard<std::mutex> lock(mutex);
      begun.push_back([this, dst, src, nbytes] { return inner().copy_within(dst, src, nbytes); });
      return Error::Ok;
    }
    Error synchronize() override {
      const std::lock_guard<std::mutex> lock(mutex);
      for (const auto& work : begun) TENON_TRY(work());
      begun.clear();
      return Error::Ok;
    }
  };
  MinimalBackend device;
  device.room = size_t{256} << 20;
  Later later(device);
  run_all(later);
  CHECK(!later.failed);
}

TEST_CASE("conformance: what a case throws or keeps is a failure of it") {
  static TensorPtr kept;
  HonestBackend backend;
  const BackendCase throws{"a case", [](testing::Trial&) { throw std::runtime_error("oh"); }};
  Report report = testing::run_case(throws, backend);
  CHECK(report.text() == "a case: a function that throws: expected Ok, found Internal, oh\n");
  const BackendCase keeps{"a case",
                          [](testing::Trial& trial) { kept = empty({2}, trial.backend()); }};
  report = testing::run_case(keeps, backend);
  CHECK(report.text() == "a case: live_blocks(): expected 0 as before, found 1\n");
  kept = nullptr;
}

TEST_CASE("conformance: of a backend of the Meta device, which has no data, little is asked") {
  MetaBackend without_data;
  CpuBackend with_data;
  CHECK(testing::backend_cases(without_data).size() == 2);
  CHECK(testing::backend_cases(with_data).size() > 20);
  CHECK(testing::check_backend(without_data).text().empty());
}

TEST_CASE("conformance: check_backend names a case before it runs") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    struct Ends final : HonestBackend {
      Error copy_within(void*, const void*, size_t) override { ::_exit(3); }
    } backend;
    ::dup2(ends[1], 2);
    static_cast<void>(testing::check_backend(backend));
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char piece[512];
  for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 3);
  const std::string last = "backend honest: copy_within copies bytes\n";
  INFO(text);
  REQUIRE(text.size() > last.size());
  CHECK(text.substr(text.size() - last.size()) == last);
}

#if UINTPTR_MAX > UINT32_MAX  // with 32 bits any address may be memory
#endif

}  // namespace backend_conformance_test
