// SPDX-License-Identifier: MIT
// Tensors in a PmrBackend.
#include <memory_resource>
#include <vector>

#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/transfer.h"
#include "tensor/helpers.h"

using namespace tenon;

TEST_CASE("pmr: a tensor's data is in the resource's memory") {
  alignas(64) unsigned char bytes[512];
  std::pmr::monotonic_buffer_resource resource(bytes, sizeof bytes,
                                               std::pmr::null_memory_resource());
  PmrBackend backend(&resource);
  const TensorPtr t = full({2, 3}, 7, ScalarType::Int, backend);
  CHECK(const_data_ptr(t) == bytes);
  CHECK(tests::values<int32_t>(t) == std::vector<int32_t>(6, 7));
  CHECK(&backend_of(t) == &backend);
  CHECK(backend.live_blocks() == 1);
}

TEST_CASE("pmr: a resource without memory makes a creator fail with OutOfMemory and its text") {
  PmrBackend backend(std::pmr::null_memory_resource());
  CHECK_ERROR(Error::OutOfMemory,
              "zeros: backend pmr has no memory for 24 bytes: ", zeros({2, 3}, backend));
  CHECK_ERROR(Error::OutOfMemory, "bad_alloc", zeros({2, 3}, backend));
  CHECK(backend.live_blocks() == 0);
}
