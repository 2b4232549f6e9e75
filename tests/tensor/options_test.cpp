// SPDX-License-Identifier: MIT
#include "tenon/tensor/options.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kInt = ScalarType::Int;
constexpr auto kStatic = TensorShapeDynamism::STATIC;

template <class... Options>
constexpr bool empty_takes = std::is_invocable_v<decltype(empty), Dims, Options...>;

}  // namespace

TEST_CASE("CreatorOptions: without any the type is the creator's, the shape DYNAMIC_BOUND") {
  const CreatorOptions options;
  CHECK_FALSE(options.type.is_given());
  CHECK(options.dynamism == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(options.given_backend() == nullptr);
}

TEST_CASE("CreatorOptions: each may be given, in any order") {
  MinimalBackend backend;
  const auto check = [&](const CreatorOptions& options) {
    CHECK(options.type.is_given());
    CHECK(options.type.value_or(tenon::own::ScalarType::Float) == tenon::own::ScalarType::Int);
    CHECK(options.dynamism == kStatic);
    CHECK(options.given_backend() == &backend);
  };
  check(CreatorOptions(kInt, kStatic, backend));
  check(CreatorOptions(backend, kStatic, kInt));
  check(CreatorOptions(kStatic, backend, kInt));
  const CreatorOptions last(kInt, backend);
  CHECK(last.dynamism == TensorShapeDynamism::DYNAMIC_BOUND);
}

TEST_CASE("CreatorOptions: a creator takes each, a backend only when it can be kept") {
  STATIC_REQUIRE(empty_takes<>);
  STATIC_REQUIRE(empty_takes<ScalarType>);
  STATIC_REQUIRE(empty_takes<TensorShapeDynamism, ScalarType>);
  STATIC_REQUIRE(empty_takes<MinimalBackend&>);
  STATIC_REQUIRE(empty_takes<Backend&>);
  STATIC_REQUIRE(empty_takes<ScalarType, TensorShapeDynamism, Backend&>);
  STATIC_REQUIRE_FALSE(empty_takes<MinimalBackend>);
  STATIC_REQUIRE_FALSE(empty_takes<const MinimalBackend&>);
  STATIC_REQUIRE_FALSE(empty_takes<MinimalBackend*>);
  STATIC_REQUIRE_FALSE(empty_takes<Generator&>);
  STATIC_REQUIRE_FALSE(empty_takes<double>);
}

TEST_CASE("RandomOptions: a generator besides, else the thread's own") {
  MinimalBackend backend;
  Generator generator(4);
  const RandomOptions options(kInt, generator, backend);
  CHECK(&options.generator() == &generator);
  CHECK(options.given_backend() == &backend);
  const RandomOptions nothing;
  CHECK(&nothing.generator() == &default_generator());
}

TEST_CASE("CreatorOptions: the backend given comes before the thread's") {
  MinimalBackend given;
  MinimalBackend current;
  const BackendScope scope(current);
  CHECK(CreatorOptions(given).given_backend() == &given);
  CHECK(CreatorOptions().given_backend() == nullptr);
  CpuBackend cpu;
  CHECK(CreatorOptions(cpu).given_backend() == &cpu);
}
