// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/arrow_types.h"

#include "support/catch.h"
#include "support/shapes.h"

namespace arrow_tensor_type_test {

using namespace tenon;
using namespace tests;
using detail::ArrowTensorShape;
using detail::parse_arrow_tensor;

namespace {

Vector list(const Dims& dims) { return Vector(dims.begin(), dims.end()); }

// As a schema has it: a number, then texts after their lengths.
std::string metadata(std::initializer_list<std::string> texts) {
  std::string bytes;
  const auto put = [&bytes](size_t value) {
    const auto number = static_cast<int32_t>(value);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  put(texts.size() / 2);
  for (const std::string& text : texts) {
    put(text.size());
    bytes += text;
  }
  return bytes;
}

}  // namespace

TEST_CASE("arrow metadata: finds a key's value among others, and says when there is none") {
  const std::string bytes = metadata({"a", "", "key", "the value", "key", "another"});
  bool found = false;
  std::string_view value;
  CHECK(detail::find_arrow_metadata(bytes.data(), "key", found, value) == Error::Ok);
  CHECK(found);
  CHECK(value == "the value");
  CHECK(detail::find_arrow_metadata(bytes.data(), "ke", found, value) == Error::Ok);
  CHECK_FALSE(found);
  CHECK(detail::find_arrow_metadata(nullptr, "key", found, value) == Error::Ok);
  CHECK_FALSE(found);
  CHECK(detail::find_arrow_metadata(metadata({}).data(), "key", found, value) == Error::Ok);
  CHECK_FALSE(found);
  std::string negative = metadata({"key", "value"});
  negative.replace(4, 4, "\xff\xff\xff\xff");  // the first length, in either byte order
  RETURNS(InvalidArgument, "negative length",
          detail::find_arrow_metadata(negative.data(), "key", found, value));
}

TEST_CASE("arrow tensors: the shape and the permutation of the JSON") {
  const struct {
    const char* json;
    Vector shape;
    Vector permutation;
  } rows[] = {
      {R"({"shape":[2,3]})", {2, 3}, {}},
      {R"( { "shape" : [ 100 , 200,500 ] , "permutation":[2,0,1] } )", {100, 200, 500}, {2, 0, 1}},
      {R"({"dim_names":["C","H\"}"],"shape":[0,1]})", {0, 1}, {}},
      {R"({"dim_names":[null,"a"],"other":[],"shape":[]})", {}, {}},
      {R"({"shape":[2,3],"dim_names":null,"permutations":null})", {2, 3}, {}},
      {R"({"shape":[2,3],"permutations":[1,0],"other":null})", {2, 3}, {1, 0}},
      {"{\n\t\"permutation\": [0],\r\n\"shape\": [9]}", {9}, {0}},
      {R"({"shape":[9223372036854775807]})", {INT64_MAX}, {}}};
  for (const auto& row : rows) {
    CAPTURE(row.json);
    ArrowTensorShape made;
    CHECK(parse_arrow_tensor(row.json, made) == Error::Ok);
    CHECK(list(made.shape) == row.shape);
    CHECK(list(made.permutation) == row.permutation);
  }
}

TEST_CASE("arrow tensors: what is not that JSON is refused, at every byte") {
  const char* const faults[] = {"",
                                "{}",
                                "[]",
                                "{\"shape\":[2,3]",
                                "{\"shape\":[2,3]}}",
                                "{\"shape\":[2,3]} x",
                                "{\"shape\":[2,]}",
                                "{\"shape\":[,2]}",
                                "{\"shape\":[-1]}",
                                "{\"shape\":[1.5]}",
                                "{\"shape\":[01]}",
                                "{\"shape\":[\"2\"]}",
                                "{\"shape\":[9223372036854775808]}",
                                "{\"shape\":2}",
                                "{\"shape\":null}",
                                "{\"shape\":[2],\"shape\":[2]}",
                                "{\"shape\":[2],\"permutation\":[0],\"permutation\":[0]}",
                                "{\"shape\":[2],}",
                                "{\"shape\":[2],\"dim_names\":[1]}",
                                "{\"shape\":[2],\"dim_names\":[\"a]}",
                                "{\"shape\":[2],\"dim_names\":[\"a\\",
                                "{\"dim_names\":[\"a\"]}",
                                "{shape:[2]}"};
  for (const char* fault : faults) {
    CAPTURE(fault);
    ArrowTensorShape made;
    RETURNS(InvalidArgument, "malformed at byte", parse_arrow_tensor(fault, made));
  }
  const std::string valid = R"({"shape":[2,3],"dim_names":["a","b"],"permutation":[1,0]})";
  for (size_t n = 0; n < valid.size(); ++n) {
    // In a block of just that length, so that AddressSanitizer sees what is read beyond.
    const std::vector<char> cut(valid.begin(), valid.begin() + static_cast<ptrdiff_t>(n));
    ArrowTensorShape made;
    CHECK(parse_arrow_tensor({cut.data(), cut.size()}, made) == Error::InvalidArgument);
  }
  ArrowTensorShape made;
  std::string deep = "{\"shape\":[1";
  for (int i = 0; i < 64; ++i) deep += ",1";
  RETURNS(InvalidArgument, "shape", parse_arrow_tensor(deep + "]}", made));
}

TEST_CASE("arrow tensors: a permutation is one of all dimensions") {
  for (const char* permutation : {"[0]", "[0,0]", "[1,2]", "[0,1,2]", "[5,0]"}) {
    CAPTURE(permutation);
    ArrowTensorShape made;
    const std::string json = "{\"shape\":[2,3],\"permutation\":" + std::string(permutation) + "}";
    RETURNS(InvalidArgument,
            "of arrow.fixed_shape_tensor does not permute the dimensions of shape {2, 3}",
            parse_arrow_tensor(json, made));
  }
}

}  // namespace arrow_tensor_type_test
