// SPDX-License-Identifier: MIT
#include "tenon/backend/pmr.h"

#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <vector>

#include "support/catch.h"
#include "tenon/core/error.h"

using namespace tenon;
using tests::contains;

namespace {

/// Records what it is asked for, and throws on request.
class Recorder : public std::pmr::memory_resource {
 public:
  enum class Throws { Nothing, BadAlloc, Text, Number };

  Throws throws = Throws::Nothing;
  int allocations = 0;
  int deallocations = 0;
  size_t nbytes = 0;
  size_t alignment = 0;
  void* released = nullptr;

 private:
  void* do_allocate(size_t n, size_t a) override {
    if (throws == Throws::BadAlloc) throw std::bad_alloc();
    if (throws == Throws::Text) throw std::runtime_error("the quota is used up");
    if (throws == Throws::Number) throw 7;
    ++allocations;
    nbytes = n;
    alignment = a;
    return std::pmr::new_delete_resource()->allocate(n, a);
  }
  void do_deallocate(void* p, size_t n, size_t a) override {
    ++deallocations;
    nbytes = n;
    alignment = a;
    released = p;
    std::pmr::new_delete_resource()->deallocate(p, n, a);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

TEST_CASE("pmr: it is host memory of the name pmr") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  CHECK(std::strcmp(backend.name(), "pmr") == 0);
  CHECK(backend.device() == Device());
  CHECK_FALSE(backend.is_opaque());
  CHECK(backend.metadata_backend() == nullptr);
  CHECK(backend.resource() == &recorder);
}

TEST_CASE("pmr: without an argument it is the program's default resource") {
  Recorder recorder;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&recorder);
  PmrBackend backend;
  std::pmr::set_default_resource(before);
  CHECK(backend.resource() == &recorder);
}

TEST_CASE("pmr: a null resource is refused") {
  CHECK_ERROR(Error::InvalidArgument, "PmrBackend: the memory resource is null",
              PmrBackend(nullptr).name());
}

TEST_CASE("pmr: the resource gets back the bytes and the alignment that it was asked for") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  for (size_t alignment : {size_t{1}, size_t{8}, size_t{64}}) {
    void* const p = backend.allocate(100, alignment);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
    CHECK(recorder.nbytes == 128);
    CHECK(recorder.alignment == 64);
    recorder.nbytes = recorder.alignment = 0;
    backend.deallocate(p, 100);
    CHECK(recorder.released == p);
    CHECK(recorder.nbytes == 128);
    CHECK(recorder.alignment == 64);
  }
  CHECK(recorder.allocations == 3);
  CHECK(recorder.deallocations == 3);
}

TEST_CASE("pmr: memory of a pool resource is aligned, whatever its size") {
  std::pmr::unsynchronized_pool_resource resource;
  PmrBackend backend(&resource);
  int misaligned = 0;
  std::vector<void*> blocks;
  for (size_t nbytes = 1; nbytes <= 600; ++nbytes) {
    blocks.push_back(backend.allocate(nbytes, 64));
    misaligned += reinterpret_cast<uintptr_t>(blocks.back()) % 64 != 0;
  }
  CHECK(misaligned == 0);
  for (size_t i = 0; i < blocks.size(); ++i) backend.deallocate(blocks[i], i + 1);
}

TEST_CASE("pmr: an alignment above 64 is refused without asking the resource") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  CHECK(backend.allocate(100, 128) == nullptr);
  CHECK(contains(last_error_message(), "alignment 128"));
  CHECK(contains(last_error_message(), "up to 64"));
  CHECK(recorder.allocations == 0);
}

TEST_CASE("pmr: more bytes than an object can have are refused without asking the resource") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  CHECK(backend.allocate(SIZE_MAX, 64) == nullptr);
  CHECK(contains(last_error_message(), "no object is that large"));
  CHECK(recorder.allocations == 0);
}

TEST_CASE("pmr: what the resource throws becomes a refusal with its text") {
  Recorder recorder;
  PmrBackend backend(&recorder);
  recorder.throws = Recorder::Throws::BadAlloc;
  CHECK(backend.allocate(100, 64) == nullptr);
  CHECK(contains(last_error_message(), "bad_alloc"));
  recorder.throws = Recorder::Throws::Text;
  CHECK(backend.allocate(100, 64) == nullptr);
  CHECK(contains(last_error_message(), "the memory resource threw the quota is used up"));
  recorder.throws = Recorder::Throws::Number;
  CHECK(backend.allocate(100, 64) == nullptr);
  CHECK(contains(last_error_message(), "something that is no std::exception"));
}

TEST_CASE("pmr: a resource over a buffer runs out of memory without the heap") {
  alignas(64) unsigned char bytes[256];
  std::pmr::monotonic_buffer_resource resource(bytes, sizeof bytes,
                                               std::pmr::null_memory_resource());
  PmrBackend backend(&resource);
  CHECK(backend.allocate(100, 64) == bytes);
  CHECK(backend.allocate(100, 64) == bytes + 128);
  CHECK(backend.allocate(100, 64) == nullptr);
  CHECK(contains(last_error_message(), "bad_alloc"));
}

TEST_CASE("pmr: bytes are copied in, within and out") {
  PmrBackend backend;
  void* const a = backend.allocate(8, 8);
  void* const b = backend.allocate(8, 8);
  char out[8] = {};
  CHECK(backend.copy_from_host(a, "tenon..", 8) == Error::Ok);
  CHECK(backend.copy_within(b, a, 8) == Error::Ok);
  CHECK(backend.copy_to_host(out, b, 8) == Error::Ok);
  CHECK(backend.synchronize() == Error::Ok);
  CHECK(std::strcmp(out, "tenon..") == 0);
  backend.deallocate(a, 8);
  backend.deallocate(b, 8);
}
