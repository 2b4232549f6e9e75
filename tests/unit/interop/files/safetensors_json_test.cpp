// SPDX-License-Identifier: MIT
#include "tenon/interop/files/safetensors_header.h"

#include "support/catch.h"

namespace safetensors_json_test {

using namespace tenon;
using namespace tests;

namespace {

/// Takes lists of lists, down to a depth, and nothing else.
class Lists final : public detail::JsonReader {
 public:
  explicit Lists(int most) : JsonReader(100), most_(most) {}
  bool start_object(size_t) override { return refuse("an object"); }
  bool key(std::string&) override { return refuse("a key"); }
  bool string(std::string& text) override { return refuse("a text:", text); }
  bool number_unsigned(uint64_t) override { return refuse("a number"); }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return ++depth_ <= most_ || refuse("too deep"); }
  bool end_array() override { return --depth_ >= 0; }

 private:
  void describe(detail::Message& where) const noexcept override {
    detail::append(where, "depth ");
    detail::append(where, depth_);
  }
  int most_;
  int depth_ = 0;
};

}  // namespace

TEST_CASE("JSON reader: an error says where it is, in words and in bytes of the file") {
  CHECK(Lists(3).read("[[[]], []]") == Error::Ok);
  RETURNS(InvalidArgument, "depth 2: too deep (byte 102)", Lists(1).read("[[[]]]"));
  RETURNS(InvalidArgument, "depth 1: a text: ab?c (byte 108)", Lists(1).read("[\"ab\\nc\"]"));
  RETURNS(InvalidArgument, "found null (byte ", Lists(1).read("[null]"));
  RETURNS(InvalidArgument, "found a boolean", Lists(1).read("[true]"));
  RETURNS(InvalidArgument, "found a negative number", Lists(1).read("[-1]"));
  RETURNS(InvalidArgument, "not an integer of 64 bits", Lists(1).read("[1.5]"));
  RETURNS(InvalidArgument, "not an integer of 64 bits", Lists(1).read("[18446744073709551616]"));
  RETURNS(InvalidArgument, "a number", Lists(1).read("[18446744073709551615]"));
  RETURNS(InvalidArgument, "1e999", Lists(1).read("[1e999]"));
}

TEST_CASE("JSON reader: depth does not use the stack") {
  const size_t count = 10'000'000;
  RETURNS(InvalidArgument, "depth 10000000: ", Lists(INT32_MAX).read(std::string(count, '[')));
}

}  // namespace safetensors_json_test
