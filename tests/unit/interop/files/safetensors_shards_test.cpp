// SPDX-License-Identifier: MIT
#include "tenon/interop/files/safetensors_shards.h"

#include "support/catch.h"

namespace safetensors_shards_test {

using namespace tenon;
using namespace tests;

namespace {

Error read(const std::string& text) {
  detail::SafeTensorsMap files;
  return detail::read_safetensors_index(text, files);
}

}  // namespace

TEST_CASE("safetensors index: names the file of each tensor, and may say more") {
  detail::SafeTensorsMap files;
  REQUIRE(detail::read_safetensors_index(
              R"({"metadata": {"total_size": 8, "x": [1, -2.5, null, true, {"weight_map": "s"}]},
                  "weight_map": {"a": "1.safetensors", "": "2.safetensors"}, "more": []})",
              files) == Error::Ok);
  CHECK(files == detail::SafeTensorsMap{{"a", "1.safetensors"}, {"", "2.safetensors"}});
}

TEST_CASE("safetensors index: a wrong one is an error that says why") {
  const char* const rows[][2] = {
      {"{}", "the index has no weight_map"},
      {"[]", "the index: found an array"},
      {"5", "the index: found a number"},
      {"\"x\"", "the index: found a text"},
      {"null", "the index: found null"},
      {"{\"weight_map\": []}", "weight_map: found an array"},
      {"{\"weight_map\": 5}", "weight_map: found a number"},
      {"{\"weight_map\": \"x\"}", "weight_map: found a text x"},
      {"{\"weight_map\": {\"a\": 5}}", "weight_map, tensor \"a\": found a number"},
      {"{\"weight_map\": {\"a\": null}}", "weight_map, tensor \"a\": found null"},
      {"{\"weight_map\": {\"a\": {}}}",
       "weight_map, tensor \"a\": expected a file's name, found an object"},
      {"{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}",
       "weight_map, tensor \"a\": the tensor is there twice"},
      {"{\"weight_map\": {}, \"weight_map\": {}}", "weight_map: it is there twice"},
      {"{\"weight_map\": {\"a\": \"../x\"}}",
       "expected the name of a file beside the index, found ../x"},
      {"{\"weight_map\": {\"a\": \"/etc/x\"}}", "found /etc/x"},
      {"{\"weight_map\": {\"a\": \"b\\\\x\"}}", "found b\\x"},
      {R"({"weight_map": {"a": "x\u0000y"}})", "expected the name of a file"},
      {"{\"weight_map\": {\"a\": \"\"}}", "expected the name of a file"},
      {"{\"weight_map\": {\"a\": \".\"}}", "found ."},
      {"{\"weight_map\": {", "(byte "},
  };
  for (const auto& row : rows) {
    INFO(row[0]);
    RETURNS(InvalidArgument, row[1], read(row[0]));
  }
  std::string deep = "{\"x\":";
  deep.append(1'000'000, '[');
  RETURNS(InvalidArgument, "nested more than 64 deep", read(deep));
}

}  // namespace safetensors_shards_test
