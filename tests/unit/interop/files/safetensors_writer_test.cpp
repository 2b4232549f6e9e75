// SPDX-License-Identifier: MIT
#include "tenon/interop/files/safetensors_writer.h"

#include "interop/files/safetensors/headers.h"
#include "tenon/tenon.h"

namespace safetensors_writer_test {

using namespace tenon;
using namespace tests;

namespace {

std::string format(const std::vector<NamedTensor>& tensors,
                   const std::map<std::string, std::string>& metadata, uint64_t& data) {
  std::vector<detail::SafeTensorsEntry> entries;
  REQUIRE(detail::order_for_safetensors(tensors, entries) == Error::Ok);
  std::string header;
  REQUIRE(detail::format_safetensors_header(entries, metadata, header, data) == Error::Ok);
  return header;
}

}  // namespace

TEST_CASE("safetensors writer: the header's bytes; the widest numbers come first") {
  uint64_t data = 0;
  const std::string header = format({{"b", zeros({3}, ScalarType::Byte)},
                                     {"a\"\n", zeros({2, 1})},
                                     {"c", zeros({1}, ScalarType::ComplexFloat)},
                                     {"d", zeros({}, ScalarType::Double)},
                                     {"e", zeros({0, 2}, ScalarType::BFloat16)}},
                                    {{"k", "v"}, {"l", "\x01"}}, data);
  const std::string json =
      R"({"__metadata__":{"k":"v","l":"\u0001"},)" + entry("d", "F64", "[]", "[0,8]") + "," +
      entry("a\\\"\\n", "F32", "[2,1]", "[8,16]") + "," + entry("c", "C64", "[1]", "[16,24]") +
      "," + entry("e", "BF16", "[0,2]", "[24,24]") + "," + entry("b", "U8", "[3]", "[24,27]") + "}";
  CHECK(header.substr(8, json.size()) == json);
  CHECK(header.size() % 64 == 0);
  CHECK(header.size() - 8 - json.size() < 64);
  CHECK(header.find_first_not_of(' ', 8 + json.size()) == std::string::npos);
  CHECK(static_cast<unsigned char>(header[0]) + 256 * static_cast<unsigned char>(header[1]) ==
        static_cast<int>(header.size() - 8));
  CHECK(data == 27);
  CHECK(format({}, {}, data).substr(8, 3) == "{} ");
}

TEST_CASE("safetensors writer: what the format cannot say is refused, by name") {
  std::vector<detail::SafeTensorsEntry> entries;
  const auto order = [&](const std::vector<NamedTensor>& tensors) {
    return detail::order_for_safetensors(tensors, entries);
  };
  const TensorPtr t = ones({1});
  RETURNS(InvalidArgument, "two tensors are named \"a\"", order({{"a", t}, {"a", t}}));
  RETURNS(InvalidArgument, "is not UTF-8", order({{"\xff", t}}));
  RETURNS(InvalidArgument, "tensor \"__metadata__\": the format uses this name for the metadata",
          order({{"__metadata__", t}}));
  RETURNS(NotSupported, "tensor \"z\": the format has no dtype ComplexDouble, only BOOL",
          order({{"a", t}, {"z", zeros({1}, ScalarType::ComplexDouble)}}));
  RETURNS(InvalidState, "tensor \"n\": it is undefined", order({{"n", TensorPtr()}}));
  RETURNS(InvalidState, "tensor \"p\": it is a placeholder",
          order({{"p", from_blob(nullptr, {2})}}));
  std::string header;
  uint64_t data = 0;
  RETURNS(InvalidArgument, "the text \"?\" is not UTF-8",
          detail::format_safetensors_header({}, {{"k", "\xff"}}, header, data));
}

}  // namespace safetensors_writer_test
