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
  STATIC_REQUIRE_FALSE(empty_takes<MinimalBackend>);
  STATIC_REQUIRE_FALSE(empty_takes<const MinimalBackend&>);
  STATIC_REQUIRE_FALSE(empty_takes<MinimalBackend*>);
  STATIC_REQUIRE_FALSE(empty_takes<Generator&>);
  STATIC_REQUIRE_FALSE(empty_takes<double>);
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
