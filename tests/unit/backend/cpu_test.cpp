// SPDX-License-Identifier: MIT
#include "tenon/backend/cpu.h"

#include "support/catch.h"

namespace cpu_test {

using namespace tenon;

TEST_CASE("CpuBackend: it is the host's memory, which everybody reads") {
  CpuBackend cpu;
  CHECK(std::string(cpu.name()) == "cpu");
  CHECK(cpu.device() == Device());
  CHECK_FALSE(cpu.is_opaque());
  CHECK(&cpu.base() == &cpu);
  CHECK(cpu.metadata_backend() == nullptr);
  RETURNS(InvalidArgument, "there is no option \"arenas\"", cpu.init({{"arenas", 2}}));
  CHECK(&host_backend() == &host_backend());
  CHECK(std::string(host_backend().name()) == "cpu");
  CHECK(host_backend().live_blocks() == 0);
}

TEST_CASE("CpuBackend: memory is aligned as asked, and can be written to its last byte") {
  CpuBackend cpu;
  for (size_t alignment : {1u, 2u, 8u, 64u, 4096u}) {
    for (size_t nbytes : {1u, 7u, 64u, 100000u}) {
      void* const p = cpu.allocate(nbytes, alignment);
      REQUIRE(p != nullptr);
      CHECK(reinterpret_cast<uintptr_t>(p) % alignment == 0);
      std::memset(p, 1, nbytes);
      cpu.deallocate(p, nbytes);
    }
  }
  for (size_t nbytes : {SIZE_MAX, SIZE_MAX - 64, size_t{PTRDIFF_MAX} - 60}) {
    CHECK(cpu.allocate(nbytes, 64) == nullptr);
  }
}

TEST_CASE("HostMemoryBackend: its copies are the same in all directions") {
  CpuBackend cpu;
  const char from[] = "abcdef";
  char a[7] = {};
  char b[7] = {};
  char c[7] = {};
  CHECK(cpu.copy_from_host(a, from, 7) == Error::Ok);
  CHECK(cpu.copy_within(b, a, 5) == Error::Ok);
  CHECK(cpu.copy_to_host(c, b, 7) == Error::Ok);
  CHECK(cpu.synchronize() == Error::Ok);
  CHECK(std::string(c) == "abcde");
}

}  // namespace cpu_test
