// SPDX-License-Identifier: MIT
#include "tenon/interop/npy/header.h"

#include "support/catch.h"

using namespace tenon;
using tenon::detail::NpyHeader;
using tenon::detail::NpyRange;

namespace {

Error parse(const std::string& text, NpyHeader& header) {
  // On the heap, of exactly this size, so that a sanitizer sees a read beyond it.
  const std::vector<char> copy(text.begin(), text.end());
  return detail::NpyParser({copy.data(), copy.size()}).parse(header);
}
Error parse(const std::string& text) {
  NpyHeader header;
  return parse(text, header);
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
  const size_t count = copy.size() < detail::kNpyPreamble ? copy.size() : detail::kNpyPreamble;
  return detail::parse_npy_preamble(copy.data(), count, copy.size(), text);
}
Error find_text(const std::string& bytes) {
  NpyRange text;
  return find_text(bytes, text);
}

/// A string literal with its zero bytes.
template <size_t N>
std::string raw(const char (&text)[N]) {
  return std::string(text, N - 1);
}

}  // namespace

TEST_CASE("npy header: the text's place is found in versions 1.0, 2.0 and 3.0") {
  NpyRange text;
  REQUIRE(find_text(raw("\x93NUMPY\x01\x00\x03\x00{ }rest"), text) == Error::Ok);
  CHECK(text.begin == 10);
  CHECK(text.end() == 13);
  for (const char version : {'\x02', '\x03'}) {
    std::string bytes = raw("\x93NUMPY\x02\x00\x03\x00\x00\x00{ }rest");
    bytes[6] = version;
    REQUIRE(find_text(bytes, text) == Error::Ok);
    CHECK(text.begin == 12);
    CHECK(text.end() == 15);
  }
}

TEST_CASE("npy header: what is no .npy file, or a later one, is told from a damaged one") {
  CHECK_RETURNS(Error::InvalidArgument, "the first bytes are not", find_text("GIF89a"));
  CHECK_RETURNS(Error::InvalidArgument, "the first bytes are not", find_text("\x93NUMPX"));
  CHECK_RETURNS(Error::InvalidArgument, "the first bytes are not", find_text("a"));
  CHECK_RETURNS(Error::NotSupported, "a zip archive, as .npz files are", find_text("PK\3\4...."));
  CHECK_RETURNS(Error::NotSupported, "version 4.0", find_text(raw("\x93NUMPY\x04\x00\x03\x00{}")));
  CHECK_RETURNS(Error::NotSupported, "version 0.0", find_text(raw("\x93NUMPY\x00\x00\x03\x00{}")));
  CHECK_RETURNS(Error::NotSupported, "version 1.1", find_text(raw("\x93NUMPY\x01\x01\x03\x00{}")));
}

TEST_CASE("npy header: one that is cut off anywhere says after how many bytes") {
  const std::string bytes = raw("\x93NUMPY\x02\x00\x03\x00\x00\x00{ }");
  for (size_t n = 0; n < 12; ++n) {
    CHECK_RETURNS(Error::InvalidArgument, "cut off after " + std::to_string(n) + " bytes",
                  find_text(bytes.substr(0, n)));
  }
  CHECK_RETURNS(Error::InvalidArgument, "length is 3, but only 2 bytes follow",
                find_text(bytes.substr(0, 14)));
  CHECK(find_text(bytes) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "length is 65535, but only 0 bytes follow",
                find_text(raw("\x93NUMPY\x01\x00\xff\xff")));
  CHECK_RETURNS(Error::InvalidArgument, "length is 4294967295, but only 0 bytes follow",
                find_text(raw("\x93NUMPY\x03\x00\xff\xff\xff\xff")));
}

TEST_CASE("npy header: a text too long for any shape is refused before it is read") {
  const std::string start = raw("\x93NUMPY\x02\x00\x01\x00\x10\x00");
  const auto* bytes = reinterpret_cast<const unsigned char*>(start.data());
  NpyRange text;
  CHECK_RETURNS(Error::NotSupported, "a header of 1048577 bytes; expected at most 1048576",
                detail::parse_npy_preamble(bytes, start.size(), 5000000, text));
}

TEST_CASE("npy header: the dict may be written in any way that Python reads") {
  const NpyHeader plain =
      parsed("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }          \n");
  CHECK(plain.type == ScalarType::Short);
  CHECK(plain.fortran_order);
  CHECK(plain.sizes == Dims({2, 3}));

  const NpyHeader other =
      parsed("\t{\"shape\":( 12345678901 ,) ,\r\n \"fortran_order\" :False,\"descr\":\"|u1\"}");
  CHECK(other.type == ScalarType::Byte);
  CHECK_FALSE(other.fortran_order);
  CHECK(other.sizes == Dims({12345678901}));

  CHECK(parsed(with_shape("()")).sizes == Dims());
  CHECK(parsed(with_shape("(0,)")).sizes == Dims({0}));
  CHECK(parsed(with_shape("(2, 3,)")).sizes == Dims({2, 3}));
  CHECK(parsed(with_shape("(2L, 3L)")).sizes == Dims({2, 3}));  // as Python 2 wrote it
}

TEST_CASE("npy header: a byte order counts where an element has several bytes") {
  const bool big = detail::host_is_big_endian();
  CHECK(parsed(with_descr("'<f4'")).swapped == big);
  CHECK(parsed(with_descr("'>f4'")).swapped != big);
  CHECK_FALSE(parsed(with_descr("'=f4'")).swapped);
  CHECK_FALSE(parsed(with_descr("'f4'")).swapped);
  CHECK_FALSE(parsed(with_descr("'>u1'")).swapped);
  CHECK_FALSE(parsed(with_descr("'<b1'")).swapped);
}

TEST_CASE("npy header: a dtype that tenon lacks is refused by its name") {
  const std::string expected = "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16";
  for (const std::string code : {"<U5", "|S3", "|V2", "<M8[ns]", "<m8[us]", "|O", "<f16", "<c32",
                                 "<i3", "f", "", "<", ">>f4", "<f4 ", "b1b1"}) {
    CHECK_RETURNS(Error::NotSupported, "dtype " + code + expected,
                  parse(with_descr("'" + code + "'")));
  }
  for (const std::string descr :
       {"[('a', '<f4'), ('b', '<i8', (2, 3))]", "('<f4', (2,))", "{'names': ['a']}"}) {
    CHECK_RETURNS(Error::NotSupported, "dtype " + descr + expected, parse(with_descr(descr)));
  }
  // Hostile text does not reach a terminal as it is, nor fill the message.
  CHECK_RETURNS(Error::NotSupported, "dtype ?[31m?" + expected,
                parse(with_descr("'\x1b[31m\x80'")));
  CHECK_RETURNS(Error::NotSupported, "dtype " + std::string(60, 'x') + "..." + expected,
                parse(with_descr("'" + std::string(5000, 'x') + "'")));
  CHECK_RETURNS(Error::NotSupported, "dtype [[[[", parse("{'descr': " + std::string(100000, '[')));
}

TEST_CASE("npy header: a size must be an integer from 0 to 2^63 - 1, in a tuple") {
  CHECK(parsed(with_shape("(9223372036854775807,)")).sizes == Dims({INT64_MAX}));
  const std::string size = "expected a size, an integer of 0 or more, at byte ";
  CHECK_RETURNS(Error::InvalidArgument, size + "51 of the header, found -1, 2), }",
                parse(with_shape("(-1, 2)")));
  for (const std::string shape :
       {"(2, -3)", "(+1,)", "(1.5,)", "(True,)", "('2',)", "(None,)", "(,)", "(1,,2)", "((1,),)",
        "(0x10,)", "(1e3,)", "(1_000,)", "(2 3)", "(2;3)", "(3LL,)"}) {
    CHECK_RETURNS(Error::InvalidArgument, "expected ", parse(with_shape(shape)));
  }
  CHECK_RETURNS(Error::InvalidArgument, "expected ',' at byte 52 of the header, found )",
                parse(with_shape("(3)")));
  for (const std::string shape : {"3", "[2, 3]", "2, 3", "None", ""}) {
    CHECK_RETURNS(Error::InvalidArgument, "expected a shape, such as (2, 3), at byte 50",
                  parse(with_shape(shape)));
  }
  for (const std::string digits : {"9223372036854775808", "99999999999999999999999999"}) {
    CHECK_RETURNS(Error::InvalidArgument, "the size " + digits + " of the shape overflows 64 bits",
                  parse(with_shape("(1, " + digits + ")")));
  }
  CHECK_RETURNS(Error::InvalidArgument, "expected a size",
                parse(with_shape(std::string(100000, '('))));
}

TEST_CASE("npy header: 64 dimensions are read, 65 are too many") {
  std::string shape = "(";
  for (int d = 0; d < 64; ++d) shape += "1, ";
  CHECK(parsed(with_shape(shape + ")")).sizes.size() == 64);
  CHECK_RETURNS(Error::InvalidArgument, "the shape has more than 64 dimensions",
                parse(with_shape(shape + "1)")));
  CHECK_RETURNS(Error::InvalidArgument, "the shape has more than 64 dimensions",
                parse(with_shape(shape + std::string(100000, '1') + ")")));
}

TEST_CASE("npy header: each key must be there, once, and no other") {
  const std::string expected = "; expected 'descr', 'fortran_order' and 'shape' once each";
  CHECK_RETURNS(Error::InvalidArgument, "lacks the key 'descr'", parse("{}"));
  CHECK_RETURNS(Error::InvalidArgument, "lacks the key 'descr'",
                parse("{'fortran_order': True, 'shape': ()}"));
  CHECK_RETURNS(Error::InvalidArgument, "lacks the key 'fortran_order'",
                parse("{'descr': '<f4', 'shape': ()}"));
  CHECK_RETURNS(Error::InvalidArgument, "lacks the key 'shape'",
                parse("{'descr': '<f4', 'fortran_order': False}"));
  CHECK_RETURNS(Error::InvalidArgument, "has the key 'shape' twice" + expected,
                parse("{'shape': (1,), 'shape': (1,), 'descr': '<f4', 'fortran_order': False}"));
  CHECK_RETURNS(Error::InvalidArgument, "has the key 'Shape'" + expected,
                parse("{'Shape': (1,), 'descr': '<f4', 'fortran_order': False}"));
}

TEST_CASE("npy header: what is no dict of literals is an error that says where") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK_RETURNS(Error::InvalidArgument, "expected '{' where the header ends", parse(""));
  CHECK_RETURNS(Error::InvalidArgument, "expected '{' at byte 0 of the header, found garbage",
                parse("garbage"));
  CHECK_RETURNS(Error::InvalidArgument,
                "expected nothing but spaces after the dict at byte 58 of the header, found x",
                parse(good + " x"));
  CHECK_RETURNS(Error::InvalidArgument, "expected nothing but spaces", parse(good + good));
  CHECK_RETURNS(Error::InvalidArgument, "expected nothing but spaces after the dict at byte 57",
                parse(good + '\0'));
  CHECK_RETURNS(Error::InvalidArgument, "expected a key at byte 1", parse("{,}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected a key", parse("{descr: '<f4'}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected a key", parse("{'descr"));
  CHECK_RETURNS(Error::InvalidArgument, "expected ':'", parse("{'descr', '<f4'}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected a dtype", parse("{'descr': float}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected a dtype", parse("{'descr': '<\\x664'}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected a dtype", parse("{'descr': '<f4\"}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected ',' or '}'",
                parse("{'descr': '<f4' 'shape': ()"));
  CHECK_RETURNS(Error::InvalidArgument, "expected True or False", parse("{'fortran_order': 0}"));
  CHECK_RETURNS(Error::InvalidArgument, "expected ',' or '}'",
                parse("{'fortran_order': Falsehood"));
}

TEST_CASE("npy header: with a byte cut off or changed it is an error or a header") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  for (size_t n = 0; n + 2 <= good.size(); ++n) {
    CHECK(parse(good.substr(0, n)) == Error::InvalidArgument);
  }
  int accepted = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = good;
      changed[i] = static_cast<char>(byte);
      NpyHeader header;
      if (parse(changed, header) != Error::Ok) continue;
      ++accepted;
      CHECK(isValidType(header.type));
      for (int64_t size : header.sizes) CHECK(size >= 0);
    }
  }
  CHECK(accepted > static_cast<int>(good.size()));
}

TEST_CASE("npy header: what is written is read again, whatever the shape") {
  std::vector<Dims> shapes = {Dims(), Dims({0}), Dims({7}), Dims({2, 3}), Dims({INT64_MAX, 0, 9})};
  shapes.push_back(Dims(std::vector<int64_t>(64, INT64_MAX)));
  for (const detail::NpyType& type : detail::kNpyTypes) {
    for (const Dims& sizes : shapes) {
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
        CHECK(header.type == type.type);
        CHECK_FALSE(header.swapped);
        CHECK(header.fortran_order == fortran_order);
        CHECK(header.sizes == sizes);
      }
    }
  }
}
