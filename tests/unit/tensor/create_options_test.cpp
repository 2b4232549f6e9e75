// SPDX-License-Identifier: MIT
#include "tenon/tensor/create_options.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace plan_test {

using namespace tenon;
using namespace tests;
using detail::create_options_of;

namespace {

constexpr auto kStatic = TensorShapeDynamism::STATIC;
constexpr auto kFloat = detail::ScalarType::Float;

}  // namespace

TEST_CASE("plan: each option may be given, in any order") {
  const detail::CreateOptions nothing = create_options_of(kFloat);
  CHECK(nothing.type == kFloat);
  CHECK_FALSE(nothing.has_type);
  CHECK(nothing.dynamism == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(nothing.requested == nullptr);
  MinimalBackend backend;
  const ScalarType type = ScalarType::Int;
  for (const detail::CreateOptions& plan : {create_options_of(kFloat, type, kStatic, backend),
                                            create_options_of(kFloat, backend, kStatic, type),
                                            create_options_of(kFloat, kStatic, backend, type)}) {
    CHECK(plan.type == detail::ScalarType::Int);
    CHECK(plan.has_type);
    CHECK(plan.dynamism == kStatic);
    CHECK(plan.requested == &backend);
  }
  CHECK(create_options_of(kFloat, type, backend).dynamism == TensorShapeDynamism::DYNAMIC_BOUND);
}

TEST_CASE("plan: a device is the backend that is registered for it, the CPU the heap") {
  MinimalBackend backend("gpu", Device("cuda:1"));
  register_backend(backend);
  Device device("cuda:1");
  const detail::CreateOptions on_device = create_options_of(kFloat, device);
  CHECK(on_device.backend == &backend);
  CHECK(on_device.requested == &backend);
  CHECK(on_device.error == Error::Ok);
  MinimalBackend current;
  const BackendScope scope(current);
  DeviceType cpu = DeviceType::CPU;
  CHECK(create_options_of(kFloat, cpu).backend == nullptr);
  CHECK(create_options_of(kFloat, cpu).requested == &host_backend());
  Device other("cuda:0");
  CHECK(create_options_of(kFloat, other).error == Error::NotFound);
  // Of existing memory it is not a request.
  const detail::CreateOptions borrowed = create_options_of<false>(kFloat, other);
  CHECK(borrowed.error == Error::Ok);
  CHECK(borrowed.requested == nullptr);
  CHECK(borrowed.device == other);
}

}  // namespace plan_test
