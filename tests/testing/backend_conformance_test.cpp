// SPDX-License-Identifier: MIT
#include "tenon/testing/backend_conformance.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory_resource>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/fault_backend.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/template.h"
#include "tenon/backend/tracking.h"
#include "tenon/tensor/expr.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::FaultBackend;
using tests::HonestBackend;

namespace {

/// What a user's test of a backend looks like.
void run_all(Backend& backend, const BackendTraits& traits = BackendTraits()) {
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

TEST_CASE("conformance: CpuBackend") {
  CpuBackend backend;
  run_all(backend);
}

TEST_CASE("conformance: ArenaBackend") {
  std::vector<char> buffer(size_t{16} << 20);
  ArenaBackend backend(buffer.data(), buffer.size());
  BackendTraits traits;
  traits.largest = size_t{4} << 20;
  run_all(backend, traits);
  CHECK(backend.used() == 0);
}

TEST_CASE("conformance: PmrBackend") {
  LimitedResource resource;
  PmrBackend backend(&resource);
  run_all(backend);
}

TEST_CASE("conformance: PmrBackend over a pool resource") {
  LimitedResource heap;
  std::pmr::synchronized_pool_resource resource(&heap);
  PmrBackend backend(&resource);
  run_all(backend);
}

TEST_CASE("conformance: PoolBackend over CpuBackend") {
  CpuBackend cpu;
  PoolBackend backend(cpu);
  run_all(backend);
}

TEST_CASE("conformance: TrackingBackend over PoolBackend over ArenaBackend") {
  std::vector<char> buffer(size_t{64} << 20);
  ArenaBackend arena(buffer.data(), buffer.size());
  {
    PoolBackend pool(arena);
    TrackingBackend backend(pool);
    BackendTraits traits;
    traits.largest = size_t{4} << 20;
    run_all(backend, traits);
    CHECK(backend.live_bytes() == 0);
  }
  CHECK(arena.used() == 0);
}

TEST_CASE("conformance: TemplateBackend") {
  TemplateBackend backend;
  run_all(backend);
}

TEST_CASE("conformance: ExprBackend") {
  ExprBackend backend;
  BackendTraits traits;
  traits.reuses_addresses = false;
  run_all(backend, traits);
}

TEST_CASE("conformance: memory that faults when the host touches it") {
  FaultBackend backend;
  run_all(backend);
  CHECK(backend.used() == 0);
  CHECK(backend.wrong_deallocations() == 0);
  CHECK(backend.counts().allocate - backend.counts().deallocate > 0);  // those that were refused
  CHECK(backend.counts().copy_within > 0);
}

TEST_CASE("conformance: TrackingBackend over PoolBackend over memory that faults") {
  FaultBackend device;
  {
    PoolBackend pool(device);
    TrackingBackend backend(pool);
    run_all(backend);
    CHECK(backend.live_bytes() == 0);
  }
  CHECK(device.used() == 0);
}

TEST_CASE("conformance: a backend that does everything itself") {
  HonestBackend backend;
  run_all(backend);
}

TEST_CASE("conformance: a backend that calls its memory opaque, on the CPU") {
  struct Opaque final : HonestBackend {
    Device device() const noexcept override { return Device(); }
  } backend;
  run_all(backend);
}

TEST_CASE("conformance: memory of another device that the host reaches") {
  struct Pinned final : HonestBackend {
    Device device() const noexcept override { return Device(DeviceType::CUDAHost); }
    bool is_opaque() const noexcept override { return false; }
  } backend;
  run_all(backend);
}

TEST_CASE("conformance: a backend that copies later") {
  // Begins copies and does them when it must.
  struct Later final : HonestBackend {
    std::mutex mutex;
    std::vector<std::function<void()>> begun;
    void finish() {
      const std::lock_guard<std::mutex> lock(mutex);
      for (const auto& work : begun) work();
      begun.clear();
    }
    void deallocate(void* p, size_t nbytes) noexcept override {
      finish();
      HonestBackend::deallocate(p, nbytes);
    }
    Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
      finish();
      return HonestBackend::copy_from_host(dst, src, nbytes);
    }
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      finish();
      return HonestBackend::copy_to_host(dst, src, nbytes);
    }
    Error copy_within(void* dst, const void* src, size_t nbytes) override {
      const std::lock_guard<std::mutex> lock(mutex);
      begun.push_back([=] { std::memcpy(dst, src, nbytes); });
      return Error::Ok;
    }
    Error synchronize() override {
      finish();
      return Error::Ok;
    }
    Error copy(const View&, const View&, CastMode) override { return Error::NotSupported; }
    Error constant(const View&, const void*) override { return Error::NotSupported; }
    Error eye(const View&) override { return Error::NotSupported; }
    Error iota(const View&, OptionalIndex) override { return Error::NotSupported; }
    Error from_binary(const View&, const void*, size_t) override { return Error::NotSupported; }
    Error to_binary(const View&, int64_t, void*) override { return Error::NotSupported; }
    Error random_uniform(const View&, double, double, const Generator::State&) override {
      return Error::NotSupported;
    }
    Error random_normal(const View&, double, double, const Generator::State&) override {
      return Error::NotSupported;
    }
  } backend;
  run_all(backend);
}

TEST_CASE("conformance: what a case throws is a failure of it") {
  CpuBackend backend;
  const BackendCase test{"a case", [](testing::Trial&) { throw std::runtime_error("oh"); }};
  const Report report = testing::run_case(test, backend);
  REQUIRE(report.failures().size() == 1);
  CHECK(report.failures()[0] == "a case: unexpectedly thrown: oh");
}

TEST_CASE("conformance: memory that a case keeps is a failure of it") {
  static TensorPtr kept;
  HonestBackend backend;
  const BackendCase test{"a case",
                         [](testing::Trial& trial) { kept = empty({2}, trial.backend()); }};
  const Report report = testing::run_case(test, backend);
  REQUIRE(report.failures().size() == 1);
  CHECK(report.failures()[0] == "a case: live_blocks(): expected 0 as before, found 1");
  kept = nullptr;
}

TEST_CASE("conformance: check_backend runs all cases") {
  TemplateBackend backend;
  const Report report = testing::check_backend(backend);
  CHECK(report.ok());
  CHECK(report.text().empty());
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

TEST_CASE("conformance: of a backend of the device template, which has no data, little is asked") {
  TemplateBackend without_data;
  CpuBackend with_data;
  CHECK(testing::backend_cases(without_data).size() == 2);
  CHECK(testing::backend_cases(with_data).size() > 20);
}

TEST_CASE("FaultBackend: the host cannot read its memory") {
  FaultBackend backend;
  void* const p = backend.allocate(100, 64);
  REQUIRE(p != nullptr);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(::write(ends[1], p, 1) == -1);  // EFAULT where a load would end the program
  ::close(ends[0]);
  ::close(ends[1]);
  backend.deallocate(p, 100);
}

TEST_CASE("FaultBackend: it refuses bytes beyond a block, and overlap") {
  FaultBackend backend;
  char* const p = static_cast<char*>(backend.allocate(100, 64));
  REQUIRE(p != nullptr);
  char bytes[100] = {};
  CHECK_RETURNS(Error::OutOfBounds, "not within one block",
                backend.copy_from_host(p + 1, bytes, 100));
  CHECK_RETURNS(Error::OutOfBounds, "not within one block", backend.copy_to_host(bytes, p - 1, 2));
  CHECK_RETURNS(Error::InvalidArgument, "overlap", backend.copy_within(p, p + 1, 10));
  CHECK(backend.counts().copy_from_host == 1);
  backend.deallocate(p, 99);
  CHECK(backend.wrong_deallocations() == 1);
  backend.deallocate(p, 100);
  CHECK(backend.used() == 0);
}
