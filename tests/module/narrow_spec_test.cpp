// SPDX-License-Identifier: MIT
#include "tenon/module/narrow_spec.h"

#include <string>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;
using tenon::detail::narrow_spec;

namespace {

// What a runtime says of {at most 16, 3} floats.
ValueSpec batches() {
  TensorSpec own{{-1, 3}};
  own.max_sizes = {16, -1};
  return own;
}

}  // namespace

TEST_CASE("narrow_spec: names are added, and what is left out stays as it was") {
  ValueSpec spec("image", TensorSpec{{-1, -1}, ScalarType::Undefined, {"batch", "pixels"}});
  REQUIRE(narrow_spec(batches(), spec) == Error::Ok);
  CHECK(spec.name() == std::string("image"));
  CHECK(spec.tensor.names[1] == std::string("pixels"));
  CHECK(spec.tensor.type == ScalarType::Float);
  CHECK(spec.tensor.sizes == Dims{-1, 3});
  CHECK(spec.tensor.max_sizes == Dims{16, -1});
}

TEST_CASE("narrow_spec: a name or a kind alone is enough") {
  ValueSpec spec("image", ValueKind::Tensor);
  REQUIRE(narrow_spec(batches(), spec) == Error::Ok);
  CHECK(spec.name() == std::string("image"));
  CHECK(spec.is_described);
  CHECK(spec.tensor.sizes == Dims{-1, 3});
  ValueSpec own("scale", ValueKind::Double);
  own.is_optional = true;
  ValueSpec unnamed(ValueKind::Double);
  REQUIRE(narrow_spec(own, unnamed) == Error::Ok);
  CHECK(unnamed.name() == std::string("scale"));
  CHECK(unnamed.is_optional);
}

TEST_CASE("narrow_spec: open sizes become exact or get a lower bound") {
  ValueSpec exact = TensorSpec{{8, 3}};
  REQUIRE(narrow_spec(batches(), exact) == Error::Ok);
  CHECK(exact.tensor.sizes == Dims{8, 3});
  TensorSpec lower{{-1, -1}};
  lower.max_sizes = {4, -1};
  ValueSpec bounded = lower;
  REQUIRE(narrow_spec(batches(), bounded) == Error::Ok);
  CHECK(bounded.tensor.max_sizes == Dims{4, -1});
  lower.max_sizes = {40, -1};
  bounded = lower;
  REQUIRE(narrow_spec(batches(), bounded) == Error::Ok);
  CHECK(bounded.tensor.max_sizes == Dims{16, -1});
}

TEST_CASE("narrow_spec: what can never pass both is refused") {
  ValueSpec spec = TensorSpec{{-1, 4}};
  CHECK_RETURNS(Error::InvalidArgument, "the spec's dimension 1 is 4, the module's is 3",
                narrow_spec(batches(), spec));
  spec = TensorSpec{{17, 3}, ScalarType::Float, {"batch", ""}};
  CHECK_RETURNS(Error::InvalidArgument,
                "the spec's dimension 0 (batch) is 17, the module's is at most 16",
                narrow_spec(batches(), spec));
  spec = TensorSpec{{3}};
  CHECK_RETURNS(Error::InvalidArgument, "the spec has sizes {3}, the module's are {any, 3}",
                narrow_spec(batches(), spec));
  spec = TensorSpec{{-1, 3}, ScalarType::Int};
  CHECK_RETURNS(Error::InvalidType, "the spec is for Int, the module takes Float",
                narrow_spec(batches(), spec));
  spec = ValueSpec(ValueKind::Int);
  CHECK_RETURNS(Error::InvalidType, "the spec is for an Int, the module takes a Tensor",
                narrow_spec(batches(), spec));
  spec = TensorSpec{{-1, 3}, ScalarType::Float, {"batch"}};
  CHECK_RETURNS(Error::InvalidArgument, "the spec has 1 names for sizes {any, 3}",
                narrow_spec(batches(), spec));
  TensorSpec device{{-1, 3}};
  device.device = tenon::Device("cuda:0");
  spec = device;
  CHECK_RETURNS(Error::InvalidArgument, "the spec is for cuda:0, the module takes cpu",
                narrow_spec(batches(), spec));
}

TEST_CASE("narrow_spec: a bound below the module's exact size is refused, one above it passes") {
  const ValueSpec own = TensorSpec{{8}};
  TensorSpec bound{{-1}};
  bound.max_sizes = {4};
  ValueSpec spec = bound;
  CHECK_RETURNS(Error::InvalidArgument, "the spec's dimension 0 is 8, its max_sizes say at most 4",
                narrow_spec(own, spec));
  bound.max_sizes = {16};
  spec = bound;
  REQUIRE(narrow_spec(own, spec) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{8});
}
