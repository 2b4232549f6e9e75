// SPDX-License-Identifier: MIT
#include "tenon/backend/cpu.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "support/catch.h"

using namespace tenon;

TEST_CASE("CpuBackend: it is the host's memory, which everybody reads") {
  CpuBackend cpu;
  CHECK(std::string(cpu.name()) == "cpu");
  CHECK(cpu.device() == Device());
  CHECK_FALSE(cpu.is_opaque());
  CHECK(&cpu.base() == &cpu);
  CHECK(cpu.metadata_backend() == nullptr);
  CHECK(cpu.synchronize() == Error::Ok);
}

TEST_CASE("CpuBackend: memory is aligned as asked, and can be written to its last byte") {
  CpuBackend cpu;
  for (size_t alignment : {size_t{1}, size_t{2}, size_t{8}, size_t{64}, size_t{4096}}) {
    for (size_t nbytes : {size_t{1}, size_t{7}, size_t{64}, size_t{100000}}) {
      void* const p = cpu.allocate(nbytes, alignment);
      REQUIRE(p != nullptr);
      CHECK(reinterpret_cast<uintptr_t>(p) % alignment == 0);
      std::memset(p, 1, nbytes);
      cpu.deallocate(p, nbytes);
    }
  }
}

TEST_CASE("CpuBackend: what no memory can hold is null") {
  CpuBackend cpu;
  CHECK(cpu.allocate(SIZE_MAX, 64) == nullptr);
  CHECK(cpu.allocate(SIZE_MAX - 64, 64) == nullptr);
  CHECK(cpu.allocate(size_t{PTRDIFF_MAX} - 70, 64) == nullptr);
}

TEST_CASE("CpuBackend: its copies are the same in all directions") {
  CpuBackend cpu;
  const char from[] = "abcdef";
  char a[7] = {};
  char b[7] = {};
  char c[7] = {};
  CHECK(cpu.copy_from_host(a, from, 7) == Error::Ok);
  CHECK(cpu.copy_within(b, a, 7) == Error::Ok);
  CHECK(cpu.copy_to_host(c, b, 7) == Error::Ok);
  CHECK(std::string(c) == "abcdef");
}

TEST_CASE("CpuBackend: it has no options") {
  CpuBackend cpu;
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"arenas\"; this backend has none",
                cpu.init({{"arenas", 2}}));
}

TEST_CASE("host_backend: one of them is always there") {
  CHECK(&host_backend() == &host_backend());
  CHECK(std::string(host_backend().name()) == "cpu");
  CHECK(host_backend().live_blocks() == 0);
}
