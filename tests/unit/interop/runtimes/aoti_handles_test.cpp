// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_handles.h"

#include "support/catch.h"

namespace aoti_handles_test {

using namespace tenon;
using tenon::detail::AotiCall;
using tenon::detail::AotiCallScope;
using tenon::detail::AotiPlacement;

TEST_CASE("aoti handles: an allocation is placed by its number and its shape") {
  Tensor target = *zeros({2, 3});
  AotiPlacement placements[] = {{1, &target}, {2, nullptr}, {detail::kUnknownAllocation, &target}};
  AotiCall call;
  call.placements = placements;
  CHECK(call.next_target(ScalarType::Float, {2, 3}, {3, 1}) == nullptr);
  CHECK(call.next_target(ScalarType::Float, {2, 3}, {3, 1}) == &target);
  CHECK(call.next_target(ScalarType::Float, {2, 3}, {3, 1}) == nullptr);
  for (int wrong = 0; wrong < 3; ++wrong) {
    call.allocations = 1;
    CHECK(call.next_target(wrong == 0 ? ScalarType::Int : ScalarType::Float,
                           wrong == 1 ? Dims{3, 2} : Dims{2, 3},
                           wrong == 2 ? Dims{1, 2} : Dims{3, 1}) == nullptr);
  }
}

TEST_CASE("aoti handles: a tensor goes into a handle and out again") {
  const Tensor tensor = *zeros({2});
  AtenTensorHandle handle = nullptr;
  REQUIRE(detail::make_aoti_handle(tensor, handle) == Error::Ok);
  Tensor* found = nullptr;
  REQUIRE(detail::find_aoti_tensor(handle, found) == Error::Ok);
  CHECK(found->is_alias_of(tensor));
  Tensor taken;
  REQUIRE(detail::take_aoti_tensor(handle, taken) == Error::Ok);
  CHECK(taken.is_alias_of(tensor));
  CHECK(tensor.use_count() == 2);
  RETURNS(InvalidArgument, "the handle is null", detail::find_aoti_tensor(nullptr, found));
#if TENON_IS_CHECKED
  RETURNS(InvalidState, "the handle was deleted, or never made",
          detail::take_aoti_tensor(handle, taken));
#endif
}

}  // namespace aoti_handles_test
