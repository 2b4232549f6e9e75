// SPDX-License-Identifier: MIT
#include "tenon/interop/files/safetensors_header.h"

#include <random>

#include "interop/files/safetensors/headers.h"

#if !defined(TENON_MUTANTS)
#define TENON_MUTANTS 20000
#endif

namespace safetensors_header_test {

using namespace tenon;
using namespace tests;
using tenon::detail::SafeTensorsHeader;

namespace {

Error read(const std::string& file, SafeTensorsHeader& header) {
  // On the heap, of exactly this size, so that a sanitizer sees a read beyond it.
  const std::vector<unsigned char> copy(file.begin(), file.end());
  return detail::read_safetensors_header(copy.data(), copy.size(), header);
}
Error read(const std::string& json, size_t data) {
  SafeTensorsHeader header;
  return read(safetensors_file(json, data), header);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("safetensors header: a wrong one is an error with the tensor, the field and the offset") {
  const std::string ok = entry("a", "U8", "[2]", "[0,2]");
  const struct {
    std::string json;
    size_t data;
    const char* words;
  } rows[] = {
      {"", 0, "the header, at offset 8, does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"[]", 0, "does not begin with '{'"},
      {"{}x", 0, "(byte 11)"},
      {"{\"a\":5}", 0, "tensor \"a\": expected another value, found a number (byte 15)"},
      {"{\"a\":[]}", 0, "tensor \"a\": expected an object, found an array"},
      {"{\"a\":\"x\"}", 0, "tensor \"a\": expected another value, found a text x"},
      {"{\"a\":null}", 0, "tensor \"a\": found null"},
      {"{\"a\":{}}", 0, "tensor \"a\", dtype: it is missing (byte 15)"},
      {"{\"a\":{\"dtype\":\"U8\"}}", 0, "tensor \"a\", shape: it is missing"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 0, "tensor \"a\", data_offsets: it is missing"},
      {"{\"a\":{\"dtype\":8}}", 0, "tensor \"a\", dtype: expected another value, found a number"},
      {"{\"a\":{\"dtype\":{}}}", 0, "tensor \"a\", dtype: expected another value, found an object"},
      {"{\"a\":{\"dtype\":[]}}", 0, "tensor \"a\", dtype: expected a text, found an array"},
      {"{\"a\":{\"dtype\":\"F128\"}}", 0,
       "tensor \"a\", dtype: this version of the format has no such type: F128 (byte "},
      {"{\"a\":{\"shape\":\"x\"}}", 0,
       "tensor \"a\", shape: expected another value, found a text x"},
      {"{\"a\":{\"shape\":[[]]}}", 0, "tensor \"a\", shape: expected a number, found an array"},
      {"{\"a\":{\"shape\":[{}]}}", 0,
       "tensor \"a\", shape: expected another value, found an object"},
      {"{\"a\":{\"shape\":[\"1\"]}}", 0,
       "tensor \"a\", shape: expected another value, found a text 1"},
      {"{\"a\":{\"shape\":[-1]}}", 0, "tensor \"a\", shape: found a negative number"},
      {"{\"a\":{\"shape\":[1.0]}}", 0,
       "tensor \"a\", shape: found a number that is not an integer"},
      {"{\"a\":{\"shape\":[9223372036854775808]}}", 0,
       "tensor \"a\", shape: a size does not fit 63 bits"},
      {"{\"a\":{\"shape\":[true]}}", 0, "tensor \"a\", shape: found a boolean"},
      {"{\"a\":{\"data_offsets\":[0]}}", 0,
       "tensor \"a\", data_offsets: expected two offsets, found fewer"},
      {"{\"a\":{\"data_offsets\":[0,1,2]}}", 0,
       "tensor \"a\", data_offsets: expected two offsets, found more"},
      {"{\"a\":{\"data_offsets\":[0,18446744073709551616]}}", 0,
       "data_offsets: found a number that is not an integer"},
      {"{\"a\":{\"device\":\"x\"}}", 0,
       "tensor \"a\", its keys: expected dtype, shape and data_offsets, found device"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, "tensor \"a\", dtype: it is there twice"},
      {"{\"__metadata__\":[]}", 0, "__metadata__: expected an object, found an array"},
      {"{\"__metadata__\":{\"k\":1}}", 0,
       "__metadata__, \"k\": expected another value, found a number"},
      {"{\"__metadata__\":{\"k\":{}}}", 0,
       "__metadata__, \"k\": expected another value, found an object"},
      {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0,
       "__metadata__, \"k\": the key is there twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__: it is there twice"},
      {"{" + ok + "}", 1,
       "tensor \"a\", data_offsets: ends at 2, but only 1 bytes follow the header (of the data, "
       "which is at offset 61)"},
      {"{" + ok + "}", 3, "the tensors end at byte 2 of the data, which has 3 bytes"},
      {"{}", 1, "the tensors end at byte 0 of the data, which has 1 bytes"},
      {"{" + entry("a", "U8", "[2]", "[1,3]") + "}", 3,
       "tensor \"a\", data_offsets: begins at 1, which leaves a gap"},
      {"{" + ok + "," + entry("b", "U8", "[2]", "[1,3]") + "}", 3,
       "tensor \"b\", data_offsets: begins at 1, in the bytes of another tensor, which end at 2"},
      {"{" + ok + "," + entry("b", "U8", "[2]", "[0,2]") + "}", 2,
       "tensor \"b\", data_offsets: begins at 0, in the bytes of another"},
      {"{" + ok + "," + ok + "}", 2, "tensor \"a\" is there twice"},
      {"{" + entry("a", "U8", "[2]", "[0,0]") + "}", 0,
       "tensor \"a\", data_offsets: holds 0 bytes from 0, but sizes {2} of U8 need 2"},
      {"{" + entry("a", "U8", "[0]", "[0,0]") + "," +
           entry("b", "U8", "[0]", "[0,18446744073709551615]") + "}",
       0, "tensor \"b\", data_offsets: ends at 18446744073709551615, but only 0 bytes"},
      {"{" + ok + "," + entry("b", "U8", "[1]", "[2,1]") + "}", 2,
       "tensor \"b\", data_offsets: ends at 1, before it begins, at 2"},
      {"{" + entry("a", "I32", "[1]", "[0,3]") + "}", 3,
       "tensor \"a\", data_offsets: holds 3 bytes from 0, but sizes {1} of I32 need 4"},
      {"{" + entry("a", "F4", "[3]", "[0,1]") + "}", 1,
       "tensor \"a\", data_offsets: sizes {3} of F4 are not a number of whole bytes"},
      {"{" + entry("a", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0,
       "tensor \"a\", data_offsets: "},
      {"{" + entry("a", "F64", "[2305843009213693952]", "[0,0]") + "}", 0,
       "tensor \"a\", data_offsets: "},
      {"{" + entry("a", "F4", "[9223372036854775807,2]", "[0,0]") + "}", 0,
       "tensor \"a\", data_offsets: "},
  };
  for (const auto& row : rows) {
    INFO(row.json);
    RETURNS(InvalidArgument, row.words, read(row.json, row.data));
  }
  std::string deep = "{\"a\":{\"shape\":[1";
  for (int i = 0; i < 64; ++i) deep += ",1";
  RETURNS(InvalidArgument, "tensor \"a\", shape: there are more than 64 sizes",
          read(deep + "]}}", 0));
}

TEST_CASE("safetensors header: the length is at most 100 MB, and the file's") {
  SafeTensorsHeader header;
  RETURNS(InvalidArgument, "not a safetensors file: it has 7 bytes",
          read(std::string(7, '\0'), header));
  RETURNS(InvalidArgument, "the header's length, at offset 0, is 1, expected at most 0",
          read(std::string("\1\0\0\0\0\0\0\0", 8), header));
  std::string file(8 + 100'000'001, ' ');
  const uint64_t length = 100'000'001;
  std::memcpy(file.data(), &length, 8);
  if (file[0] == '\1') {  // little-endian, as the format
    RETURNS(InvalidArgument, "is 100000001, expected at most 100000000", read(file, header));
  }
  RETURNS(InvalidArgument, "is 18446744073709551615, expected at most 2",
          read(std::string(8, '\xff') + "{}", header));
}

// A promise of docs/guarantees.md.
TEST_CASE("safetensors header: mutated ones are errors, or describe the file") {
  const std::string json =
      "{\"__metadata__\":{\"format\":\"pt\"}," + entry("a", "F32", "[2,3]", "[0,24]") + "," +
      entry("b.c", "BF16", "[]", "[24,26]") + "," + entry("d", "I8", "[0,7]", "[26,26]") + "," +
      entry("e", "F4", "[12]", "[26,32]") + "}   ";
  const std::string whole = safetensors_file(json, 32);
  const std::string bytes = "0123456789{}[]\",: \\eu.-";
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  size_t accepted = 0;
  for (int i = 0; i < TENON_MUTANTS; ++i) {
    std::string file = whole;
    for (size_t k = 1 + below(4); k > 0 && !file.empty(); --k) {
      const size_t at = below(10) == 0 ? below(8) : below(8 + json.size());
      const char c = below(4) == 0 ? static_cast<char>(random()) : bytes[below(bytes.size())];
      switch (below(6)) {
        case 0: file.insert(std::min(at, file.size()), 1, c); break;
        case 1: file.erase(std::min(at, file.size() - 1), 1 + below(8)); break;
        case 2:
          file.insert(std::min(at, file.size()), file.substr(below(file.size()), below(40)));
          break;
        case 3: file.resize(below(8) == 0 ? below(file.size()) : file.size()); break;
        default: file[std::min(at, file.size() - 1)] = c;
      }
    }
    if (below(2) == 0 && file.size() >= 40) {  // so that not all fail for their length
      const uint64_t length = file.size() - 40;
      for (size_t k = 0; k < 8; ++k) file[k] = static_cast<char>(length >> (8 * k));
    }
    SafeTensorsHeader header;
    const Error error = read(file, header);
    if (error != Error::Ok) {
      if (error != Error::InvalidArgument || *last_error_message() == '\0') FAIL(file);
      continue;
    }
    ++accepted;
    uint64_t end = header.infos.empty() ? file.size() : header.infos[0].offset;
    for (const SafeTensorInfo& info : header.infos) {
      REQUIRE(info.offset == end);
      end += info.nbytes;
    }
    REQUIRE(end == file.size());
  }
  CHECK(accepted > TENON_MUTANTS / 200);
}

}  // namespace safetensors_header_test
