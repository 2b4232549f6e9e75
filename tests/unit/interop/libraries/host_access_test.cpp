// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/host_access.h"

#include "support/catch.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"

namespace host_access_test {

using namespace tenon;
using detail::check_host_access;

TEST_CASE(
    "check_host_access: takes what the host reaches, read-only, strided and empty tensors too") {
  float data[4] = {};
  const float constant[4] = {};
  float* const null = nullptr;
  CHECK(check_host_access(from_blob(data, {2, 2})) == Error::Ok);
  CHECK(check_host_access(from_blob(data + 3, {2, 2}, {-2, -1})) == Error::Ok);
  CHECK(check_host_access(from_blob(constant, {4})) == Error::Ok);
  CHECK(check_host_access(from_blob(null, {0, 4})) == Error::Ok);
}

TEST_CASE("check_host_access: refuses what has no memory, or not the host's") {
  RETURNS(InvalidState, "the tensor is undefined", check_host_access(TensorPtr()));
  RETURNS(InvalidState, "placeholder", check_host_access(make_tensor_ptr({2}, nullptr)));
  char bytes[9] = {};
  char* const odd = bytes + (reinterpret_cast<uintptr_t>(bytes) % 2 == 0 ? 1 : 0);
  RETURNS(InvalidArgument, "after a multiple of 4, which Float needs",
          check_host_access(from_blob(odd, {2}, ScalarType::Float)));
  float data[2] = {};
  RETURNS(NotSupported, "the tensor is on cuda:0, which the host cannot reach",
          check_host_access(for_blob(data, {2}).device("cuda").make_tensor_ptr()));
  RETURNS(NotSupported, "the tensor is a meta tensor",
          check_host_access(for_blob(nullptr, {2}).device("meta").make_tensor_ptr()));
  TensorPtr gone = make_tensor_ptr({1.0f, 2.0f});
  REQUIRE(backend_deallocate(gone) == Deallocation::Ok);
  RETURNS(InvalidState, "was deallocated", check_host_access(gone));
}

}  // namespace host_access_test
