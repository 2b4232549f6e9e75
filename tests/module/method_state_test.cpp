// SPDX-License-Identifier: MIT
#include "tenon/module/method_state.h"

#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;
using tenon::detail::MethodState;

namespace {

const ValueSpec kSpecs[] = {{"first", ValueKind::Int}, {"second", ValueKind::Int}};

MethodState known() {
  MethodState state;
  state.meta.name = "sum";
  state.meta.inputs = tenon::ArrayRef<ValueSpec>(kSpecs, 2);
  state.meta.knows_inputs = true;
  return state;
}

}  // namespace

TEST_CASE("MethodState: given inputs are passed as they are when none is to stand in") {
  MethodState state = known();
  const std::vector<EValue> given{1, 2};
  Span<const EValue> passed;
  REQUIRE(state.gather(given, passed) == Error::Ok);
  CHECK(passed.data() == given.data());
  CHECK(passed.size() == 2);
}

TEST_CASE("MethodState: inputs that were set stand for those not given and for None") {
  MethodState state = known();
  REQUIRE(state.put_inputs({10, 20}) == Error::Ok);
  Span<const EValue> passed;
  REQUIRE(state.gather({}, passed) == Error::Ok);
  CHECK(passed[0].toInt() == 10);
  REQUIRE(state.gather(1, passed) == Error::Ok);
  CHECK(passed[0].toInt() == 1);
  CHECK(passed[1].toInt() == 20);
  REQUIRE(state.gather({tenon::none, 2}, passed) == Error::Ok);
  CHECK(passed[0].toInt() == 10);
  CHECK(passed[1].toInt() == 2);
}

TEST_CASE("MethodState: an input that is neither given nor set is an error that names it") {
  MethodState state = known();
  Span<const EValue> passed;
  CHECK_RETURNS(Error::InvalidState, "input 1 (second) is not given", state.gather(1, passed));
  CHECK_RETURNS(Error::InvalidArgument, "3 inputs are given, sum has 2",
                state.gather({1, 2, 3}, passed));
  CHECK_RETURNS(Error::InvalidType, "input 0 (first): it is a Bool, true, expected an Int",
                state.gather({true, 2}, passed));
}

TEST_CASE("MethodState: setting inputs sets all of them or none") {
  MethodState state = known();
  CHECK_RETURNS(Error::InvalidType, "input 1 (second): it is a Double, 0.5",
                state.put_inputs({1, 0.5}));
  CHECK(state.inputs.size() == 0);
  CHECK_RETURNS(Error::OutOfBounds, "input 2 is out of range: sum has 2 inputs",
                state.put_input(1, 2));
  CHECK(state.put_input(1, 1) == Error::Ok);
  CHECK(state.put_input(tenon::none, 1) == Error::Ok);
  CHECK(state.inputs[1].isNone());
}

TEST_CASE("MethodState: without specs there are as many inputs as are given or set") {
  MethodState state;
  state.meta.name = "any";
  Span<const EValue> passed;
  REQUIRE(state.put_input("text", 2) == Error::Ok);
  REQUIRE(state.gather({1, 2}, passed) == Error::Ok);
  REQUIRE(passed.size() == 3);
  CHECK(passed[2].toString() == "text");
  REQUIRE(state.put_input(tenon::none, 2) == Error::Ok);
  REQUIRE(state.gather({1}, passed) == Error::Ok);
  CHECK(passed.size() == 1);
  CHECK_RETURNS(Error::OutOfBounds,
                "input 5000 is out of range: how many inputs any has is not known, at most 4096",
                state.put_input(1, 5000));
}

TEST_CASE("MethodState: fewer specs than inputs that were set are refused") {
  MethodState state;
  state.meta.name = "any";
  REQUIRE(state.put_input(1, 5) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "input 5 was set, but 1 spec is given",
                state.describe(kSpecs[0]));
  CHECK_FALSE(state.meta.knows_inputs);
  REQUIRE(state.put_input(tenon::none, 5) == Error::Ok);
  REQUIRE(state.describe(kSpecs[0]) == Error::Ok);
  Span<const EValue> passed;
  REQUIRE(state.gather(7, passed) == Error::Ok);
  CHECK(passed.size() == 1);
}
