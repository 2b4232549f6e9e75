// SPDX-License-Identifier: MIT
#include "tenon/interop/files/npy_header.h"

#include "support/catch.h"

namespace npy_header_test {

using namespace tenon;
using tenon::detail::NpyHeader;
using tenon::detail::NpyRange;

namespace {

Error parse(const std::string& text, NpyHeader& header,
            own::ScalarType given = own::ScalarType::Undefined) {
  // On the heap, of exactly this size, so that a sanitizer sees a read beyond it.
  const std::vector<char> copy(text.begin(), text.end());
  return detail::NpyParser({copy.data(), copy.size()}, given).parse(header);
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
  RETURNS(NotSupported, "the header has 1048577 bytes; expected at most 1048576",
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

// Each is what numpy.dtype(spelling) of NumPy 2.4.6 is on x86-64.
TEST_CASE("npy header: a dtype may be spelled in every way that numpy.load reads") {
  const struct {
    own::ScalarType type;
    std::vector<const char*> letters_and_codes;  // with any sign
    std::vector<const char*> names;              // without
  } rows[] = {
      {ScalarType::Bool, {"?", "b1", "b01"}, {"bool", "bool_"}},
      {ScalarType::Char, {"b", "i1"}, {"int8", "byte"}},
      {ScalarType::Short, {"h", "i2", "i02"}, {"int16", "short"}},
      {ScalarType::Int, {"i", "i4"}, {"int32", "intc"}},
      {ScalarType::Long, {"q", "i8"}, {"int64", "longlong"}},
      {ScalarType::Byte, {"B", "u1"}, {"uint8", "ubyte"}},
      {ScalarType::UInt16, {"H", "u2"}, {"uint16", "ushort"}},
      {ScalarType::UInt32, {"I", "u4"}, {"uint32", "uintc"}},
      {ScalarType::UInt64, {"Q", "u8"}, {"uint64", "ulonglong"}},
      {ScalarType::Half, {"e", "f2"}, {"float16", "half"}},
      {ScalarType::Float, {"f", "f4", "f04"}, {"float32", "single"}},
      {ScalarType::Double, {"d", "f8"}, {"float64", "double", "float"}},
      {ScalarType::ComplexFloat, {"F", "c8"}, {"complex64", "csingle"}},
      {ScalarType::ComplexDouble, {"D", "c16"}, {"complex128", "cdouble", "complex"}},
      // C's long and NumPy's index are the host's.
      {sizeof(long) == 8 ? ScalarType::Long : ScalarType::Int, {"l"}, {"long"}},
      {sizeof(long) == 8 ? ScalarType::UInt64 : ScalarType::UInt32, {"L"}, {"ulong"}},
      {sizeof(void*) == 8 ? ScalarType::Long : ScalarType::Int,
       {"p", "n"},
       {"int", "int_", "intp"}},
      {sizeof(void*) == 8 ? ScalarType::UInt64 : ScalarType::UInt32, {"P", "N"}, {"uint", "uintp"}},
  };
  const char other = detail::host_is_big_endian() ? '<' : '>';
  for (const auto& row : rows) {
    for (const std::string code : row.letters_and_codes) {
      for (const std::string sign : {"", "<", ">", "=", "|"}) {
        const NpyHeader header = parsed(with_descr("'" + sign + code + "'"));
        CHECK(header.type == row.type);
        CHECK(header.swapped == (sign[0] == other && elementSize(row.type) > 1));
      }
    }
    for (const std::string name : row.names) {
      const NpyHeader header = parsed(with_descr("'" + name + "'"));
      CHECK((header.type == row.type && !header.swapped));
    }
  }
}

TEST_CASE("npy header: with a type given, elements of other dtypes are so many of that type") {
  struct Row {
    const char* descr;
    own::ScalarType given;
    uint64_t per_item;
  };
  for (const Row& row : {
           Row{"'<V2'", ScalarType::BFloat16, 1},
           Row{"'<V1'", ScalarType::Float8_e4m3fn, 1},
           Row{"'<f1'", ScalarType::Float8_e5m2, 1},  // as ml_dtypes 0.6 writes it
           Row{"'<u2'", ScalarType::BFloat16, 1},
           Row{"'|u1'", ScalarType::Float8_e5m2, 1},
           Row{"'<f4'", ScalarType::Float, 1},
           Row{"'|V6'", ScalarType::Short, 3},
           Row{"'<M8[ns]'", ScalarType::Long, 1},
           Row{"'<m8[25s]'", ScalarType::Byte, 8},
           Row{"'timedelta64[us]'", ScalarType::Long, 1},
           Row{"'|S3'", ScalarType::Byte, 3},
           Row{"'<U5'", ScalarType::UInt32, 5},
           Row{"'<f16'", ScalarType::Byte, 16},
           Row{"[('a', '<f4'), ('b', '<i8', (2, 3))]", ScalarType::Float, 13},
           Row{"[('a', '<f4'), ('b', '|u1', (3,)), ('', '|V1'), ('c', [('x', '<i8'), ('y', '|V2'), "
               "('', '|V6')])]",
               ScalarType::Long, 3},
           Row{"[((\"title\", \"it's\"), '<f4'), ('\\\\ \\'', '|u1', (0,)), ('m', [('k', '<i2', "
               "(2, 2))], (3,)),]",
               ScalarType::Int, 7},
       }) {
    INFO(row.descr);
    NpyHeader header;
    CHECK(parse(with_descr(row.descr), header, row.given) == Error::Ok);
    CHECK((header.type == row.given && header.per_item == row.per_item));
    const bool is_little = row.descr[1] == '<' && row.per_item == 1 && elementSize(row.given) > 1;
    CHECK(header.swapped == (is_little && detail::host_is_big_endian()));
  }
  const bool big = detail::host_is_big_endian();
  NpyHeader header;
  CHECK(parse(with_descr("'>V2'"), header, ScalarType::BFloat16) == Error::Ok);
  CHECK(header.swapped != big);
  CHECK(parse(with_descr("'>M8[D]'"), header, ScalarType::Byte) == Error::Ok);
  CHECK_FALSE(header.swapped);  // bytes stay as they are
}

TEST_CASE("npy header: a type that is not that of the bytes is refused, with both") {
  const struct {
    Error error;
    const char* descr;
    own::ScalarType given;
    const char* words;
  } rows[] = {
      {Error::InvalidType, "'<f8'", ScalarType::Float,
       "dtype <f8 is Double, the type given is Float; read it without a type, and convert it"},
      {Error::InvalidType, "'<f4'", ScalarType::Int, "dtype <f4 is Float, the type given is Int"},
      {Error::InvalidType, "'|b1'", ScalarType::Byte, "dtype |b1 is Bool"},
      {Error::InvalidType, "'<u4'", ScalarType::BFloat16, "dtype <u4 is UInt32"},
      {Error::InvalidArgument, "'|V3'", ScalarType::BFloat16,
       "dtype |V3 has 3 bytes, which are not a multiple of the 2 of BFloat16"},
      {Error::InvalidArgument, "[('a', '<f4'), ('b', '|u1')]", ScalarType::Float,
       "has 5 bytes, which are not a multiple of the 4 of Float"},
      {Error::NotSupported, "'|O'", ScalarType::Byte, "dtype |O; expected one of"},
      {Error::NotSupported, "'|V0'", ScalarType::Byte, "dtype |V0;"},
      {Error::NotSupported, "'|V99999999999'", ScalarType::Byte, "dtype |V99999999999;"},
      {Error::NotSupported, "'V99999999999999999999'", ScalarType::Byte, "dtype V9999"},
      {Error::NotSupported, "'f4,i4'", ScalarType::Byte, "dtype f4,i4;"},
      {Error::NotSupported, "('<f4', (2,))", ScalarType::Byte, "dtype ('<f4', (2,));"},
      {Error::NotSupported, "[]", ScalarType::Byte, "the structured dtype has 0 bytes"},
      {Error::NotSupported, "[('a', '|O')]", ScalarType::Byte, "dtype |O;"},
      {Error::NotSupported, "[('a', '|V2000000000'), ('b', '|V2000000000')]", ScalarType::Byte,
       "the structured dtype has more than 2147483647 bytes"},
      {Error::NotSupported, "[('a', '<f8', (4294967296, 4294967296))]", ScalarType::Byte,
       "the structured dtype has more than"},
      {Error::NotSupported, "[('a', '|u1', (2147483648, 2147483648, 4))]", ScalarType::Byte,
       "the structured dtype has more than"},
      {Error::InvalidArgument, "[('a')]", ScalarType::Byte, "expected ','"},
      {Error::InvalidArgument, "[('a', '<f4'", ScalarType::Byte, "expected ')'"},
      {Error::InvalidArgument, "[('a', '<f4') ('b', '<f4')]", ScalarType::Byte,
       "expected ',' or ']'"},
      {Error::InvalidArgument, "['a']", ScalarType::Byte,
       "expected a field, such as ('x', '<f4'),"},
      {Error::InvalidArgument, "[(('a' 'b'), '<f4')]", ScalarType::Byte, "expected ','"},
      {Error::InvalidArgument, "[(('a', 'b', '<f4')]", ScalarType::Byte, "expected ')'"},
      {Error::InvalidArgument, "[('a', '<f4', (-1,))]", ScalarType::Byte, "expected a size"},
  };
  for (const auto& row : rows) {
    INFO(row.descr);
    NpyHeader header;
    CHECK_RETURNS(row.error, row.words, parse(with_descr(row.descr), header, row.given));
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[('a', ";
  NpyHeader header;
  RETURNS(NotSupported, "more than 16 levels of fields",
          parse(with_descr(deep), header, ScalarType::Byte));
}

TEST_CASE(
    "npy header: a dtype that tenon lacks is refused by its name, with the way to its bytes") {
  const std::string expected = "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16";
  std::vector<Refusal> rows;
  for (const std::string code :
       {"|O", "<i3", "", "<", ">>f4", "<f4 ", "b1b1", "<float32", "Float32", "u", "F8", "i16"}) {
    rows.push_back({with_descr("'" + code + "'"), "dtype " + code + expected});
  }
  const std::string way = expected + "; to read its bytes pass a type, such as ScalarType::";
  const char* const ways[][2] = {
      {"<V2", "BFloat16"}, {"<V1", "Float8_e4m3fn"}, {"<f1", "Float8_e4m3fn"}, {"<M8[ns]", "Long"},
      {"<m8[us]", "Long"}, {"|S3", "Byte"},          {"<U5", "Byte"},          {"|V12", "Byte"},
      {"<f16", "Byte"},    {"<c32", "Byte"}};
  for (const auto& [code, type] : ways) {
    rows.push_back({with_descr(std::string("'") + code + "'"), "dtype " + (code + way) + type});
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

}  // namespace npy_header_test
