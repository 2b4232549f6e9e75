// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_specs.h"

#include <cmath>

#include "support/catch.h"

namespace aoti_specs_test {

using namespace tenon;
using namespace tests;

namespace {

Error read_spec(const char* text, ValueSpec& spec) {
  detail::AotiDetails details;
  return detail::read_aoti_spec(text, spec, details);
}
Error read_specs(const char* json, const char* field, std::vector<ValueSpec>& specs) {
  std::vector<detail::AotiDetails> details;
  const Error error = detail::read_aoti_specs(json, field, specs, details);
  if (error == Error::Ok && !details.empty()) CHECK(details.size() == specs.size());
  return error;
}

}  // namespace

TEST_CASE("aoti specs: a tensor is described by its name, its dtype and its dimensions") {
  ValueSpec spec;
  REQUIRE(read_spec("  image float32 batch<=64 1 rows *", spec) == Error::Ok);
  CHECK(spec.tensor.name == "image");
  CHECK(spec.tensor.type == ScalarType::Float);
  CHECK(spec.tensor.sizes == Dims{-1, 1, -1, -1});
  CHECK(spec.tensor.max_sizes == Dims{64, -1, -1, -1});
  CHECK(std::string(spec.tensor.names[0]) == "batch");
  CHECK(std::string(spec.tensor.names[1]).empty());
  CHECK(std::string(spec.tensor.names[2]) == "rows");
  CHECK(std::string(spec.tensor.names[3]).empty());
  REQUIRE(read_spec("scale bfloat16", spec) == Error::Ok);
  CHECK(spec.tensor.sizes.empty());
  CHECK(spec.is_described);
}

TEST_CASE("aoti specs: a dimension may have its size by another's") {
  ValueSpec spec;
  const char* const text = "y float32 2*gr\\u00f6\\u00dfe<=128 3*n-1 4 n+5";
  REQUIRE(read_spec(text, spec) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{-1, -1, 4, -1});
  CHECK(spec.tensor.max_sizes == Dims{128, -1, -1, -1});
  CHECK(std::string(spec.tensor.names[0]) == "2*gr\\u00f6\\u00dfe");
  CHECK(std::string(spec.tensor.names[1]) == "3*n-1");
  const auto fit = [](const char* a, int64_t a_size, const char* b, int64_t b_size) {
    CHECK(detail::fit_together(a, a_size, b, b_size) == detail::fit_together(b, b_size, a, a_size));
    return detail::fit_together(a, a_size, b, b_size);
  };
  CHECK(fit("n", 4, "n", 4));
  CHECK(!fit("n", 4, "n", 5));
  CHECK(fit("n", 4, "m", 5));
  CHECK(fit("3*n-1", 11, "n", 4));
  CHECK(!fit("3*n-1", 12, "n", 4));
  CHECK(fit("3*n-1", 11, "n+5", 9));
  CHECK(!fit("3*n-1", 11, "n+5", 8));
  CHECK(fit("3*n-1", 11, "m+5", 8));
  CHECK(!fit("2*n", 7, "n", 3));
  CHECK(!fit("n", INT64_MAX, "65536*n", INT64_MAX));
  CHECK(!fit("n+5", 3, "n", 3));
  CHECK(fit("rows", 3, "a user's word", 4));
}

TEST_CASE("aoti specs: an output may be a number, or always the same one") {
  struct Case {
    const char* text;
    ValueKind kind;
    EValue constant;
  };
  const Case cases[] = {{"a none", ValueKind::None, {}},
                        {"a Int", ValueKind::Int, {}},
                        {"a Double", ValueKind::Double, {}},
                        {"a Bool", ValueKind::Bool, {}},
                        {"a Int=-9223372036854775808", ValueKind::Int, int64_t{INT64_MIN}},
                        {"a Double=1e-300", ValueKind::Double, 1e-300},
                        {"a Double=-inf", ValueKind::Double, -HUGE_VAL},
                        {"a Bool=0", ValueKind::Bool, false}};
  for (const Case& one : cases) {
    INFO(one.text);
    ValueSpec spec;
    detail::AotiDetails details;
    REQUIRE(detail::read_aoti_spec(one.text, spec, details) == Error::Ok);
    CHECK(spec.kind == one.kind);
    CHECK(spec.name() == std::string("a"));
    REQUIRE(details.constant.kind() == one.constant.kind());
    if (one.kind == ValueKind::Int && one.constant.isInt()) {
      CHECK(details.constant.toInt() == INT64_MIN);
    }
    if (one.constant.isDouble()) CHECK(details.constant.toDouble() == one.constant.toDouble());
    if (one.constant.isBool()) CHECK(!details.constant.toBool());
  }
}

TEST_CASE("aoti specs: a layout stands last, as strides or as the order of a dense tensor") {
  ValueSpec spec;
  REQUIRE(read_spec("image float32 batch<=64 3 8 strides=24,1,3", spec) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{-1, 3, 8});
  CHECK(spec.tensor.strides == Dims{24, 1, 3});
  CHECK(spec.tensor.dim_order.empty());
  REQUIRE(read_spec("rows int64 n 3 strides=*,1", spec) == Error::Ok);
  CHECK(spec.tensor.strides == Dims{-1, 1});
  REQUIRE(read_spec("image float32 n 3 h w order=0,2,3,1", spec) == Error::Ok);
  CHECK(spec.tensor.strides.empty());
  CHECK(spec.tensor.dim_order == Dims{0, 2, 3, 1});
  REQUIRE(read_spec("left none", spec) == Error::Ok);
  CHECK(spec.kind == ValueKind::None);
  CHECK(spec.name() == std::string("left"));
}

TEST_CASE("aoti specs: texts that describe nothing are refused") {
  for (const char* text : {"",
                           "x",
                           "x float33 4",
                           "x float32 <=",
                           "x float32 n<=m",
                           "x float32  4",
                           "x float32 -4",
                           "x float32 3<=4",
                           "x float32 n=4",
                           "x float32 *n",
                           "x float32 9999999999999999999",
                           "x float32 999999999999999999 999999999999999999",
                           "x float32 2 3 strides=3",
                           "x float32 2 3 strides=3,-1",
                           "x float32 2 3 strides=3,x",
                           "x float32 2 3 strides=3,1 4",
                           "x float32 2 3 order=0,0",
                           "x float32 2 3 order=0,*",
                           "x float32 2 3 order=0,2",
                           "x float32 2 strides=1 order=0",
                           "x float32 3<=4<=5",
                           "x float32 3<=n<=",
                           "x float32 0*n",
                           "x float32 n+",
                           "x float32 n+m",
                           "x float32 65537*n",
                           "x float32 n+65537",
                           "x none 2",
                           "x none=2",
                           "x int 2",
                           "x Int=",
                           "x Int=2.5",
                           "x Double=two",
                           "x Bool=true",
                           "none"}) {
    INFO(text);
    ValueSpec spec;
    CHECK(read_spec(text, spec) == Error::InvalidArgument);
  }
}

TEST_CASE("aoti specs: other JSON is an error that names the field") {
  struct Case {
    const char* json;
    const char* field;
  };
  const Case cases[] = {
      {"", ""},
      {"[]", ""},
      {"{", ""},
      {"{} {}", ""},
      {R"({"a"})", "a"},
      {R"({"a": "b",})", ""},
      {R"({"a": "b" "c": "d"})", "a"},
      {R"({"a": "b)", "a"},
      {R"({"a": "b\)", "a"},
      {R"({"a": 1, "tenon_inputs": "x int64 3"})", "a"},
      {R"({"tenon_inputs": ["x int64 3"]})", "tenon_inputs"},
      {R"({"tenon_inputs": "x int8", "tenon_inputs": "x int8"})", "tenon_inputs"}};
  for (const Case& wrong : cases) {
    INFO(wrong.json);
    std::vector<ValueSpec> specs(1);
    RETURNS(InvalidArgument, " on, in the field \"" + std::string(wrong.field) + '"',
            read_specs(wrong.json, "tenon_inputs", specs));
    CHECK(
        contains(last_error_message(), "the package's metadata is not JSON of texts, from byte "));
  }
}

}  // namespace aoti_specs_test
