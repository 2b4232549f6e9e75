// SPDX-License-Identifier: MIT
// tests/unit/tensor/backend_copy_test.cpp has the copies, which copy_() makes by this header.
#include "tenon/backend/copy_between.h"

#include "backend/helpers.h"
#include "support/catch.h"

namespace copy_between_test {

using namespace tenon;
using namespace tests;

TEST_CASE("copy: without elements nobody is asked") {
  CountingBackend b;
  const ViewWithLists nothing{nullptr, ScalarType::Int, b.device(), {0, 3}, {3, 1}};
  const detail::MemoryLocation there{nothing, &b, detail::state_of(b)};
  CHECK(detail::copy(there, {nothing, nullptr, nullptr}) == Error::Ok);
  CHECK(b.calls.empty());
}

TEST_CASE("HostBuffer: it is aligned, and released with it") {
  detail::HostBuffer buffer;
  REQUIRE(buffer.allocate(100) == Error::Ok);
  CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0);
  std::memset(buffer.data(), 1, 100);
  detail::HostBuffer huge;
  RETURNS(OutOfMemory, "out of memory for a temporary of ", huge.allocate(SIZE_MAX / 2));
}

}  // namespace copy_between_test
