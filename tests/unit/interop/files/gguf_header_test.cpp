// SPDX-License-Identifier: MIT
#include "tenon/interop/files/gguf_header.h"

#include <random>

#include "interop/files/gguf/content.h"
#include "support/catch.h"

#if !defined(TENON_MUTANTS)
#define TENON_MUTANTS 20000
#endif

namespace gguf_header_test {

using namespace tenon;
using namespace tests;
using detail::GgufHeader;

namespace {

/// Reads from memory whose end a sanitizer knows.
struct Read {
  std::vector<char> bytes;
  GgufHeader header;
  Error error;
  explicit Read(const std::string& file)
      : bytes(file.begin(), file.end()),
        error(detail::read_gguf_header(reinterpret_cast<const unsigned char*>(bytes.data()),
                                       bytes.size(), header)) {}
};
Error read(const std::string& file) { return Read(file).error; }

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("gguf header: a wrong one is an error with the key or the tensor, and the byte") {
  const std::string k = gguf_key("k", Kind::Uint8, "\1");
  const std::string t = gguf_tensor("t", {4}, 24, 0);
  const auto type_key = gguf_key("k", 13, "");
  const auto nested = gguf_key("k", Kind::Array, gguf_array(Kind::Array, 0, ""));
  const struct {
    std::string file;
    const char* words;
    Error error = Error::InvalidArgument;
  } rows[] = {
      {"", "not a GGUF file: it does not begin with \"GGUF\""},
      {"GGU", "not a GGUF file"},
      {"PK\3\4" + std::string(30, 'a'), "a zip archive, as .npz files are; expected a GGUF file"},
      {"GGUF", "expected 4 bytes at byte 4, where the file ends at 4"},
      {GgufContent{{}, {}, 0, 1}.bytes().substr(0, 20), "expected 8 bytes at byte 16"},
      {GgufContent{{}, {}, 0, 1, 1}.bytes(), "of version 1, which llama.cpp", Error::NotSupported},
      {GgufContent{{}, {}, 0, 1, 4}.bytes(), "version 4, expected 2 or 3", Error::NotSupported},
      {GgufContent{{}, {}, 0, 1, 0}.bytes(), "version 0, expected 2 or 3", Error::NotSupported},
      {GgufContent{{}, {}, 0, 1, 3u << 24}.bytes(), "a big-endian GGUF file", Error::NotSupported},
      {"GGUF" + little(3u) + little(uint64_t{1}) + little(uint64_t{0}),
       "1 tensors (byte 8) cannot be in the 0 bytes from byte 24"},
      {"GGUF" + little(3u) + little(UINT64_MAX) + little(uint64_t{0}) + std::string(100, '\0'),
       "18446744073709551615 tensors (byte 8) cannot be in the 100 bytes"},
      {"GGUF" + little(3u) + little(uint64_t{0}) + little(UINT64_MAX / 13) + std::string(100, '\0'),
       " keys (byte 16) cannot be in the 100 bytes from byte 24"},
      {"GGUF" + little(3u) + little(uint64_t{0}) + little(uint64_t{1}) + little(UINT64_MAX) +
           std::string(9, 'a'),
       "a text of 18446744073709551615 bytes (byte 24) goes beyond the file's end at 41"},
      {GgufContent{{k, k}, {}}.bytes(), "keys 0 and 1 are both named \"k\""},
      {GgufContent{{type_key}, {}}.bytes(),
       "key \"k\" (byte 24): it has type 13, which the format does not have"},
      {GgufContent{{nested}, {}}.bytes(), "key \"k\" (byte 24): it is an array of arrays",
       Error::NotSupported},
      {GgufContent{{gguf_key("k", Kind::Array, gguf_array(Kind::Int64, UINT64_MAX / 8 + 1, ""))},
                   {}}
           .bytes(),
       "2305843009213693952 numbers cannot be in the "},
      {GgufContent{{gguf_key("k", Kind::Array, gguf_array(Kind::String, 1u << 30, ""))}, {}}
           .bytes(),
       "1073741824 texts cannot be in the "},
      {GgufContent{{gguf_key("k", Kind::Array, gguf_array(Kind::String, 1, little(uint64_t{500})))},
                   {}}
           .bytes(),
       "key \"k\" (byte 24): a text of 500 bytes (byte 49) goes beyond the file's end at 64"},
      {GgufContent{{gguf_key("general.alignment", Kind::Int32, little(32))}, {}}.bytes(),
       "general.alignment (byte 53) is INT32, expected UINT32"},
      {GgufContent{
           {gguf_key("general.alignment", Kind::Array, gguf_array(Kind::Uint32, 1, little(32u)))},
           {}}
           .bytes(),
       "is an array of UINT32, expected UINT32"},
      {GgufContent{{gguf_key("general.alignment", Kind::Uint32, little(0u))}, {}}.bytes(),
       "is 0, expected a power of two"},
      {GgufContent{{gguf_key("general.alignment", Kind::Uint32, little(48u))}, {}}.bytes(),
       "is 48, expected a power of two"},
      {GgufContent{{}, {t, t}, 8}.bytes(), "tensor \"t\" begins at byte 96, in the bytes of \"t\""},
      {GgufContent{{}, {gguf_tensor("t", {4}, 24, 0), gguf_tensor("u", {4}, 24, 3)}, 8}.bytes(),
       "tensor \"u\" begins at byte 99, in the bytes of \"t\", which end at 100"},
      {GgufContent{{}, {t}, 3}.bytes(),
       "tensor \"t\" (byte 24): its 4 bytes from offset 0 of the data, which begins at byte 64, go "
       "beyond "
       "the file's end at 67; the file may have been cut: fetch it again"},
      {GgufContent{{}, {gguf_tensor("t", {4}, 24, UINT64_MAX - 1)}, 32}.bytes(), "go beyond"},
      {GgufContent{{}, {gguf_tensor("t", {0}, 24, 33)}, 32}.bytes(), "its 0 bytes from offset 33"},
      {GgufContent{{gguf_key("general.alignment", Kind::Uint32, little(1u << 31))}, {t}, 4}.bytes(),
       "which begins at byte 2147483648, go beyond"},
      {GgufContent{{}, {gguf_tensor("t", {UINT64_MAX}, 0, 0)}, 32}.bytes(),
       "tensor \"t\" (byte 24): size 18446744073709551615 does not fit 63 bits (byte 37)"},
      {GgufContent{{}, {gguf_tensor("t", {INT64_MAX}, 0, 0)}, 32}.bytes(),
       "need more than 2^63 - 1 bytes"},
      {GgufContent{{}, {gguf_tensor("t", {1u << 31, 1u << 31, 2}, 24, 0)}, 32}.bytes(),
       "tensor \"t\" (byte 24): "},
      {GgufContent{{}, {gguf_tensor("t", {33}, 2, 0)}, 64}.bytes(),
       "a row of 33 elements is not a multiple of Q4_0's block of 32"},
      {GgufContent{{}, {gguf_tensor("t", {}, 12, 0)}, 256}.bytes(),
       "a row of 1 elements is not a multiple of Q4_K's block of 256"},
      {GgufContent{{}, {gguf_text("t") + little(65u) + std::string(65 * 8 + 12, '\0')}}.bytes(),
       "tensor \"t\" (byte 24): 65 dimensions, expected at most 64"},
  };
  for (const auto& row : rows) {
    INFO(row.words);
    CHECK_RETURNS(row.error, row.words, read(row.file));
  }
  // Each cut of a file is an error, that names no byte beyond it.
  const std::string whole =
      GgufContent{
          {k, gguf_key("s", Kind::Array, gguf_array(Kind::String, 1, gguf_text("ab")))}, {t}, 4}
          .bytes();
  REQUIRE(read(whole) == Error::Ok);
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(read(whole.substr(0, size)) == Error::InvalidArgument);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("gguf header: mutated ones are errors, or describe the file") {
  const std::string whole =
      GgufContent{
          {gguf_key("general.alignment", Kind::Uint32, little(16u)),
           gguf_key("a", Kind::String, gguf_text("text")),
           gguf_key("n", Kind::Array, gguf_array(Kind::Int16, 3, std::string(6, '\1'))),
           gguf_key("t", Kind::Array, gguf_array(Kind::String, 2, gguf_text("x") + gguf_text("")))},
          {gguf_tensor("w", {3, 2}, 0, 0), gguf_tensor("q", {64}, 2, 32),
           gguf_tensor("h", {1, 4}, 1, 80)},
          88,
          16}
          .bytes();
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  const size_t header_size = whole.size() - 88;
  size_t accepted = 0;
  for (int i = 0; i < TENON_MUTANTS; ++i) {
    std::string file = whole;
    for (size_t k = 1 + below(3); k > 0 && !file.empty(); --k) {
      const size_t at = std::min(below(header_size), file.size() - 1);
      switch (below(8)) {
        case 0: file.insert(at, 1, static_cast<char>(below(20))); break;
        case 1: file.erase(at, 1 + below(8)); break;
        case 2: file.insert(at, file.substr(below(file.size()), below(40))); break;
        case 3: file.resize(below(8) == 0 ? below(file.size()) : file.size()); break;
        case 4: file[at] = static_cast<char>(random()); break;
        default: file[at] = static_cast<char>(file[at] + static_cast<char>(below(5)) - 2);
      }
    }
    const Read result(file);
    const GgufHeader& header = result.header;
    if (result.error != Error::Ok) {
      const bool is_known =
          result.error == Error::InvalidArgument || result.error == Error::NotSupported;
      if (!is_known || *last_error_message() == '\0') FAIL(file);
      continue;
    }
    ++accepted;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const GgufInfo& info : header.infos) {
      REQUIRE(info.offset <= file.size());
      REQUIRE(info.nbytes <= file.size() - info.offset);
      if (info.nbytes != 0) ranges.emplace_back(info.offset, info.offset + info.nbytes);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t k = 1; k < ranges.size(); ++k) REQUIRE(ranges[k - 1].second <= ranges[k].first);
    for (const GgufEntry& entry : header.metadata) {
      REQUIRE(entry.offset <= file.size());
      REQUIRE(entry.count <= file.size());
    }
  }
  CHECK(accepted > TENON_MUTANTS / 200);
}

}  // namespace gguf_header_test
