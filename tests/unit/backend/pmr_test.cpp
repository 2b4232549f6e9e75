// SPDX-License-Identifier: MIT
#include "tenon/backend/pmr.h"

#include <memory_resource>
#include <new>
#include <stdexcept>

#include "support/catch.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/creators.h"
#include "tensor/helpers.h"

namespace pmr_test {

using namespace tenon;
using tests::contains;

namespace {

/// Records what it is asked for, and throws on request.
struct Recorder : std::pmr::memory_resource {
  std::function<void()> before = [] {};
  int allocations = 0;
  int deallocations = 0;
  size_t nbytes = 0;
  size_t alignment = 0;
  void* last = nullptr;

 private:
  void* do_allocate(size_t n, size_t a) override {
    before();
    ++allocations;
    nbytes = n;
    alignment = a;
    return last = std::pmr::new_delete_resource()->allocate(n, a);
  }
  void do_deallocate(void* p, size_t n, size_t a) override {
    ++deallocations;
    CHECK((p == last && n == nbytes && a == alignment));
    std::pmr::new_delete_resource()->deallocate(p, n, a);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

TEST_CASE("pmr: it is host memory of the name pmr, of the default resource if none is given") {
  Recorder recorder;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&recorder);
  PmrBackend backend;
  std::pmr::set_default_resource(before);
  CHECK(backend.resource() == &recorder);
  CHECK(std::string(backend.name()) == "pmr");
  CHECK(backend.device() == Device());
  CHECK_FALSE(backend.is_opaque());
  CHECK(backend.metadata_backend() == nullptr);
  CHECK(PmrBackend(&recorder).resource() == &recorder);
  RAISES(InvalidArgument, "PmrBackend: the memory resource is null", PmrBackend(nullptr).name());
}

TEST_CASE("pmr: the resource gets back the bytes and the alignment that it was asked for") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  for (size_t alignment : {1u, 8u, 64u}) {
    void* const p = backend.allocate(100, alignment);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
    CHECK(recorder.nbytes == 128);
    CHECK(recorder.alignment == 64);
    backend.deallocate(p, 100);
  }
  CHECK(recorder.allocations == 3);
  CHECK(recorder.deallocations == 3);
}

TEST_CASE("pmr: what it cannot give is refused without asking the resource") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  CHECK(backend.allocate(100, 128) == nullptr);
  CHECK(contains(last_error_message(), "at multiples of at most 64"));
  CHECK(backend.allocate(SIZE_MAX, 64) == nullptr);
  CHECK(contains(last_error_message(),
                 "a PmrBackend allocates at most " + std::to_string(PTRDIFF_MAX).substr(0, 7)));
  CHECK(recorder.allocations == 0);
}

TEST_CASE("pmr: what the resource throws becomes a refusal with its text") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  const auto check = [&](const char* words, const std::function<void()>& before) {
    recorder.before = before;
    CHECK(backend.allocate(100, 64) == nullptr);
    CHECK(contains(last_error_message(), words));
    RAISES(OutOfMemory, "zeros: backend pmr has no memory for 24 bytes: ", zeros({2, 3}, backend));
    CHECK(contains(last_error_message(), words));
  };
  check("bad_alloc", [] { throw std::bad_alloc(); });
  check("the quota is used up", [] { throw std::runtime_error("the quota is used up"); });
  check("something that is not a std::exception", [] { throw 7; });
  CHECK(backend.live_blocks() == 0);
}

}  // namespace pmr_test
