// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti/specs.h"

#include "support/catch.h"

namespace aoti_specs_test {

using namespace tenon;
using namespace tests;

TEST_CASE("aoti specs: a tensor is described by its name, its dtype and its dimensions") {
  ValueSpec spec;
  REQUIRE(detail::read_aoti_spec("  image float32 batch<=64 1 rows *", spec) == Error::Ok);
  CHECK(spec.tensor.name == "image");
  CHECK(spec.tensor.type == ScalarType::Float);
  CHECK(spec.tensor.sizes == Dims{-1, 1, -1, -1});
  CHECK(spec.tensor.max_sizes == Dims{64, -1, -1, -1});
  CHECK(std::string(spec.tensor.names[0]) == "batch");
  CHECK(std::string(spec.tensor.names[1]).empty());
  CHECK(std::string(spec.tensor.names[2]) == "rows");
  CHECK(std::string(spec.tensor.names[3]).empty());
  REQUIRE(detail::read_aoti_spec("scale bfloat16", spec) == Error::Ok);
  CHECK(spec.tensor.sizes.empty());
  CHECK(spec.is_described);
}

TEST_CASE("aoti specs: texts that describe nothing are refused") {
  for (const char* text : {"", "x", "x float33 4", "x float32 <=", "x float32 n<=m", "x float32  4",
                           "x float32 999999999999999999 999999999999999999"}) {
    ValueSpec spec;
    CHECK(detail::read_aoti_spec(text, spec) == Error::InvalidArgument);
  }
}

TEST_CASE("aoti specs: several are read from the package's JSON, if it has them") {
  const char* const json = R"({"other": "1", "tenon_inputs": "x float32 2; rows int64 n"})";
  std::vector<ValueSpec> specs(2);
  REQUIRE(detail::read_aoti_specs(json, "tenon_inputs", specs) == Error::Ok);
  CHECK(specs[1].tensor.name == "rows");
  CHECK(specs[1].tensor.type == ScalarType::Long);
  specs.resize(3);
  REQUIRE(detail::read_aoti_specs(json, "tenon_outputs", specs) == Error::Ok);
  CHECK(specs.size() == 3);
  RETURNS(InvalidArgument, "the package describes 2 tensors, the model has 3",
          detail::read_aoti_specs(json, "tenon_inputs", specs));
}

}  // namespace aoti_specs_test
