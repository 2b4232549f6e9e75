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

template <class... Options>
constexpr bool empty_takes = std::is_invocable_v<decltype(empty), Dims, Options...>;

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

TEST_CASE("plan: the backend given comes before the thread's, the host's heap too") {
  MinimalBackend backend;
  MinimalBackend current;
  const BackendScope scope(current);
  CHECK(create_options_of(kFloat, backend).backend == &backend);
  CHECK(create_options_of(kFloat).backend == &current);
  CHECK(create_options_of(kFloat).requested == nullptr);
  CHECK(create_options_of(kFloat, host_backend()).backend == nullptr);
  CHECK(detail::CreateOptions(kFloat).backend == nullptr);
}

TEST_CASE("plan: a creator takes each option, a backend only when it can be kept") {
  STATIC_REQUIRE(empty_takes<>);
  STATIC_REQUIRE(empty_takes<ScalarType>);
  STATIC_REQUIRE(empty_takes<TensorShapeDynamism, ScalarType>);
  STATIC_REQUIRE(empty_takes<MinimalBackend&>);
  STATIC_REQUIRE(empty_takes<ScalarType, TensorShapeDynamism, Backend&>);
  STATIC_REQUIRE(empty_takes<Device>);
  STATIC_REQUIRE(empty_takes<ScalarType, DeviceType>);
  STATIC_REQUIRE(empty_takes<Strides, DimOrder>);
  STATIC_REQUIRE_FALSE(empty_takes<const char*>);
  STATIC_REQUIRE_FALSE(empty_takes<std::string>);
  STATIC_REQUIRE_FALSE(empty_takes<MinimalBackend>);
  STATIC_REQUIRE_FALSE(empty_takes<const MinimalBackend&>);
  STATIC_REQUIRE_FALSE(empty_takes<MinimalBackend*>);
  STATIC_REQUIRE_FALSE(empty_takes<Generator&>);
  STATIC_REQUIRE_FALSE(empty_takes<double>);
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

TEST_CASE("plan: strides and a dim order are read apart, as options and as lists") {
  const Dims list{1, 2};
  detail::StridesList strides{list};
  detail::DimOrderList numbers{list};
  Strides tag{3, 1};
  DimOrder order{1, 0};
  ScalarType type = ScalarType::Int;
  CHECK(detail::order_and_strides_of(type).strides == nullptr);
  CHECK(detail::order_and_strides_of(type).dim_order == nullptr);
  CHECK(detail::order_and_strides_of(type).order == nullptr);
  CHECK(detail::order_and_strides_of(type, strides).strides == &list);
  CHECK(detail::order_and_strides_of(tag, type).strides == &tag.dims());
  CHECK(detail::order_and_strides_of(numbers, type).dim_order == &list);
  CHECK(detail::order_and_strides_of(order, tag).order == &order);
  CHECK(create_options_of(kFloat, tag, type, order).type == detail::ScalarType::Int);
}

TEST_CASE("plan: a generator besides, else the thread's own") {
  MinimalBackend backend;
  Generator generator(4);
  const ScalarType type = ScalarType::Int;
  const detail::CreateOptions plan = create_options_of(kFloat, type, generator, backend);
  CHECK(plan.generator == &generator);
  CHECK(plan.requested == &backend);
  CHECK(create_options_of(kFloat).generator == nullptr);
}

}  // namespace plan_test
