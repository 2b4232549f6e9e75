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

}  // namespace cpu_test
