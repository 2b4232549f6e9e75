// SPDX-License-Identifier: MIT
#include "tenon/backend/host_memory.h"

#include <cstdlib>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/testing/backend_conformance.h"

namespace {

using namespace tenon;

// As little as a user has to write.
class PlainBackend final : public tenon::HostMemoryBackend {
 public:
  const char* name() const noexcept override { return "plain"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return heap_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override { heap_.deallocate(p, nbytes); }

 private:
  tenon::CpuBackend heap_;
};

}  // namespace

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
  const tenon::testing::Report report = tenon::testing::check_backend(backend);
  INFO(report.text());
  CHECK(report.ok());
}
