// SPDX-License-Identifier: MIT
#include "tenon/interop/npy/header.h"

#include "support/catch.h"

namespace header_test {

using namespace tenon;
using tenon::detail::NpyHeader;
using tenon::detail::NpyRange;

namespace {

Error parse(const std::string& text, NpyHeader& header) {
  // On the heap, of exactly this size, so that a sanitizer sees a read beyond it.
  const std::vector<char> copy(text.begin(), text.end());
  return detail::NpyParser({copy.data(), copy.size()}).parse(header);
}
NpyHeader parsed(const std::string& text) {
  NpyHeader header;
  INFO(text);
  REQUIRE(parse(text, header) == Error::Ok);
  return header;
}

std::string with_shape(const std::string& shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
}
std::string with_descr(const std::string& descr) {
  return "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }\n";
}

Error find_text(const std::string& bytes, NpyRange& text) {
  const std::vector<unsigned char> copy(bytes.begin(), bytes.end());
  const size_t count = std::min(copy.size(), detail::kNpyPreamble);
  return detail::parse_npy_preamble(copy.data(), count, copy.size(), text);
}

/// A string literal with its zero bytes.
template <size_t N>
std::string raw(const char (&text)[N]) {
  return std::string(text, N - 1);
}

struct Refusal {
  std::string text;
  std::string words;
};
void check_refusals(Error error, const std::vector<Refusal>& rows) {
  for (const Refusal& row : rows) {
    INFO(row.text.substr(0, 100));
    NpyHeader header;
    CHECK_RETURNS(error, row.words, parse(row.text, header));
  }
}

}  // namespace

TEST_CASE("npy header: the text's place is found in versions 1.0, 2.0 and 3.0") {
  NpyRange text;
  REQUIRE(find_text(raw("\x93NUMPY\x01\x00\x03\x00{ }rest"), text) == Error::Ok);
  CHECK((text.begin == 10 && text.end() == 13));
  for (const char version : {'\x02', '\x03'}) {
    std::string bytes = raw("\x93NUMPY\x02\x00\x03\x00\x00\x00{ }rest");
    bytes[6] = version;
    REQUIRE(find_text(bytes, text) == Error::Ok);
    CHECK((text.begin == 12 && text.end() == 15));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("npy header: other files, later versions and damaged files are told apart") {
  NpyRange text;
  const struct {
    Error error;
    std::string bytes;
    const char* words;
  } rows[] = {
      {Error::InvalidArgument, "GIF89a", "the first bytes are not"},
      {Error::InvalidArgument, "\x93NUMPX", "the first bytes are not"},
      {Error::InvalidArgument, "a", "the first bytes are not"},
      {Error::NotSupported, "PK\3\4....", "a zip archive, as .npz files are"},
      {Error::NotSupported, raw("\x93NUMPY\x04\x00\x03\x00{}"), "version 4.0"},
      {Error::NotSupported, raw("\x93NUMPY\x05\x00"), "version 5.0"},  // cut off as well
      {Error::NotSupported, raw("\x93NUMPY\x00\x00\x03\x00{}"), "version 0.0"},
      {Error::NotSupported, raw("\x93NUMPY\x01\x01\x03\x00{}"), "version 1.1"},
      {Error::InvalidArgument, raw("\x93NUMPY\x01\x00\xff\xff"),
       "length is 65535, but only 0 bytes follow"},
      {Error::InvalidArgument, raw("\x93NUMPY\x03\x00\xff\xff\xff\xff"),
       "length is 4294967295, but only 0 bytes follow"},
  };
  for (const auto& row : rows) {
    INFO(row.bytes);
    CHECK_RETURNS(row.error, row.words, find_text(row.bytes, text));
  }
  const std::string bytes = raw("\x93NUMPY\x02\x00\x03\x00\x00\x00{ }");
  for (size_t n = 0; n < 12; ++n) {
    RETURNS(InvalidArgument, "cut off after " + std::to_string(n) + " bytes",
            find_text(bytes.substr(0, n), text));
  }
  RETURNS(InvalidArgument, "length is 3, but only 2 bytes follow",
          find_text(bytes.substr(0, 14), text));
  CHECK(find_text(bytes, text) == Error::Ok);
  // A text too long for any shape is refused before it is read.
  const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 1, 0, 16, 0};
  RETURNS(NotSupported, "a header of 1048577 bytes; expected at most 1048576",
          detail::parse_npy_preamble(start, sizeof start, 5000000, text));
}

TEST_CASE("npy header: the dict may be written in any way that Python reads") {
  const NpyHeader plain =
      parsed("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }          \n");
  CHECK(plain.type == ScalarType::Short);
  CHECK(plain.fortran_order);
  const NpyHeader other =
      parsed("\t{\"shape\":( 12345678901 ,) ,\r\n \"fortran_order\" :False,\"descr\":\"|u1\"}");
  CHECK(other.type == ScalarType::Byte);
  CHECK_FALSE(other.fortran_order);
  CHECK(other.sizes == Dims({12345678901}));

  CHECK(parsed(with_shape("()")).sizes == Dims());
  CHECK(parsed(with_shape("(0,)")).sizes == Dims({0}));
  CHECK(parsed(with_shape("(9223372036854775807,)")).sizes == Dims({INT64_MAX}));
  for (const char* shape : {"(2, 3)", "(2, 3,)", "(2L, 3L)"}) {  // L as Python 2 wrote it
    CHECK(parsed(with_shape(shape)).sizes == Dims({2, 3}));
  }
}

TEST_CASE("npy header: a byte order counts where an element has several bytes") {
  const bool big = detail::host_is_big_endian();
  CHECK(parsed(with_descr("'<f4'")).swapped == big);
  CHECK(parsed(with_descr("'>f4'")).swapped != big);
  for (const char* descr : {"'=f4'", "'f4'", "'>u1'", "'<b1'"}) {
    INFO(descr);
    CHECK_FALSE(parsed(with_descr(descr)).swapped);
  }
}

TEST_CASE("npy header: a dtype that tenon lacks is refused by its name") {
  const std::string expected = "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16";
  std::vector<Refusal> rows;
  for (const std::string code : {"<U5", "|S3", "|V2", "<M8[ns]", "<m8[us]", "|O", "<f16", "<c32",
                                 "<i3", "f", "", "<", ">>f4", "<f4 ", "b1b1"}) {
    rows.push_back({with_descr("'" + code + "'"), "dtype " + code + expected});
  }
  for (const std::string descr :
       {"[('a', '<f4'), ('b', '<i8', (2, 3))]", "('<f4', (2,))", "{'names': ['a']}"}) {
    rows.push_back({with_descr(descr), "dtype " + descr + expected});
  }
  // Hostile text does not reach a terminal as it is, nor fill the message.
  rows.push_back({with_descr("'\x1b[31m\x80'"), "dtype ?[31m?" + expected});
  rows.push_back({with_descr("'" + std::string(5000, 'x') + "'"),
                  "dtype " + std::string(60, 'x') + "..." + expected});
  rows.push_back({"{'descr': " + std::string(100000, '['), "dtype [[[["});
  check_refusals(Error::NotSupported, rows);
}

TEST_CASE("npy header: a size must be an integer from 0 to 2^63 - 1, in a tuple") {
  std::vector<Refusal> rows = {
      {with_shape("(-1, 2)"), "expected a size, an integer of 0 or more, in the header, found '-1"},
      {with_shape("(3)"), "expected ',' in the header, found ')"},
      {with_shape(std::string(100000, '(')), "expected a size"}};
  for (const std::string shape :
       {"(2, -3)", "(+1,)", "(1.5,)", "(True,)", "('2',)", "(None,)", "(,)", "(1,,2)", "((1,),)",
        "(0x10,)", "(1e3,)", "(1_000,)", "(2 3)", "(2;3)", "(3LL,)", "(07, 3)"}) {
    rows.push_back({with_shape(shape), "expected "});
  }
  for (const std::string shape : {"3", "[2, 3]", "2, 3", "None", ""}) {
    rows.push_back({with_shape(shape), "expected a shape, such as (2, 3),"});
  }
  for (const std::string digits : {"9223372036854775808", "99999999999999999999999999"}) {
    rows.push_back({with_shape("(1, " + digits + ")"),
                    "the size " + digits + " of the shape overflows 64 bits"});
  }
  std::string shape = "(";
  for (int d = 0; d < 64; ++d) shape += "1, ";
  CHECK(parsed(with_shape(shape + ")")).sizes.size() == 64);
  rows.push_back({with_shape(shape + "1)"), "the shape has more than 64 entries"});
  check_refusals(Error::InvalidArgument, rows);
}

// A promise of docs/guarantees.md.
TEST_CASE("npy header: what is no dict of these keys, once each, is an error that says why") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::string once = "; expected 'descr', 'fortran_order' and 'shape' once each";
  const std::string trailing = "expected nothing but spaces after the dict";
  check_refusals(
      Error::InvalidArgument,
      {{"{}", "lacks the key 'descr'"},
       {"{'fortran_order': True, 'shape': ()}", "lacks the key 'descr'"},
       {"{'descr': '<f4', 'shape': ()}", "lacks the key 'fortran_order'"},
       {"{'descr': '<f4', 'fortran_order': False}", "lacks the key 'shape'"},
       {"{'shape': (1,), 'shape': (1,), 'descr': '<f4', 'fortran_order': False}",
        "has the key 'shape'" + once},
       {"{'Shape': (1,), 'descr': '<f4', 'fortran_order': False}", "has the key 'Shape'" + once},
       {"", "expected '{' in the header, found ''"},
       {"garbage", "expected '{' in the header, found 'garbage'"},
       {good + " x", trailing + " in the header, found 'x'"},
       {good + good, trailing},
       {good + '\0', trailing},
       {"{,}", "expected a key in the header, found ',}'"},
       {"{descr: '<f4'}", "expected a key"},
       {"{'descr", "expected a key"},
       {"{'descr', '<f4'}", "expected ':'"},
       {"{'descr': float}", "expected a dtype"},
       {"{'descr': '<\\x664'}", "expected a dtype"},
       {"{'descr': '<f4\"}", "expected a dtype"},
       {"{'descr': '<f4' 'shape': ()", "expected ',' or '}'"},
       {"{'fortran_order': 0}", "expected True or False"},
       {"{'fortran_order': Falsehood", "expected ',' or '}'"}});
}

TEST_CASE("npy header: what is written is read again, whatever the shape") {
  for (const Dims& sizes : {Dims(), Dims({0}), Dims({7}), Dims({2, 3}), Dims({INT64_MAX, 0, 9}),
                            Dims(std::vector<int64_t>(64, INT64_MAX))}) {
    for (const detail::NpyType& type : detail::kNpyTypes) {
      for (const bool fortran_order : {false, true}) {
        char out[detail::kNpyHeaderRoom];
        const size_t size = detail::format_npy_header(type, fortran_order, sizes, out);
        CHECK(size % 64 == 0);
        CHECK(out[size - 1] == '\n');
        const std::string bytes(out, size);
        NpyRange text;
        REQUIRE(find_text(bytes, text) == Error::Ok);
        CHECK(text.end() == size);
        const NpyHeader header = parsed(bytes.substr(text.begin));
        CHECK((header.type == type.type && !header.swapped));
        CHECK(header.fortran_order == fortran_order);
        CHECK(header.sizes == sizes);
      }
    }
  }
}

}  // namespace header_test
