// SPDX-License-Identifier: MIT
// How to_string() writes the elements of each dtype.
#include "tenon/tensor/format_numbers.h"

#include <clocale>
#include <complex>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

FormatOptions precision(int digits) {
  FormatOptions options;
  options.precision = digits;
  return options;
}

/// The text without its last line.
std::string elements(const TensorPtr& t, const FormatOptions& options = {}) {
  const std::string text = to_string(t, options);
  return text.substr(0, text.rfind('\n'));
}
/// One element, or a row of them.
template <class T>
std::string print(T value, const FormatOptions& options = {}) {
  return elements(make_tensor_ptr(value), options);
}
template <class T>
std::string print(std::initializer_list<T> values, const FormatOptions& options = {}) {
  return elements(make_tensor_ptr(std::vector<T>(values)), options);
}

}  // namespace

TEST_CASE("to_string: integers are right-aligned") {
  CHECK(print({1, -20, 300}) == "[  1 -20 300]");
  CHECK(print({int16_t{-32768}, int16_t{32767}}) == "[-32768  32767]");
}

TEST_CASE("to_string: 8-bit integers are numbers, not characters") {
  CHECK(print({uint8_t{0}, uint8_t{65}, uint8_t{255}}) == "[  0  65 255]");
  CHECK(print({int8_t{-128}, int8_t{10}}) == "[-128   10]");
}

TEST_CASE("to_string: 64-bit integers are exact") {
  CHECK(print({INT64_MIN, int64_t{0}, INT64_MAX}) ==
        "[-9223372036854775808                    0  9223372036854775807]");
  CHECK(print({uint64_t{0}, UINT64_MAX}) == "[                   0 18446744073709551615]");
  CHECK(print({uint32_t{4294967295u}}) == "[4294967295]");
  CHECK(print({uint16_t{65535}}) == "[65535]");
}

TEST_CASE("to_string: Bool is True or False, in a column wide enough for both") {
  CHECK(elements(make_tensor_ptr({true, false})) == "[ True False]");
  CHECK(elements(make_tensor_ptr({true, true})) == "[ True  True]");
  CHECK(elements(make_tensor_ptr(true)) == "True");
  CHECK(elements(make_tensor_ptr(false)) == "False");
}

TEST_CASE("to_string: a Bool of any byte but 0 is True") {
  unsigned char bytes[3] = {0, 1, 7};
  CHECK(elements(from_blob(static_cast<void*>(bytes), {3}, ScalarType::Bool)) ==
        "[False  True  True]");
}

TEST_CASE("to_string: floating numbers have a point, and no more digits than they need") {
  CHECK(print({1.0, 2.0}) == "[1. 2.]");
  CHECK(print({1.0, 2.5, -10.125}) == "[  1.      2.5   -10.125]");
  CHECK(print({0.0, 0.0}) == "[0. 0.]");
}

TEST_CASE("to_string: at most `precision` digits follow the point, the last one rounded") {
  CHECK(print(2.0 / 3.0) == "0.6667");
  CHECK(print(2.0 / 3.0, precision(1)) == "0.7");
  CHECK(print(2.0 / 3.0, precision(0)) == "1.");
  CHECK(print({1.99999, 3.0}) == "[2. 3.]");
  // Exactly between two: to the even one.
  CHECK(print({0.125, 0.375}, precision(2)) == "[0.12 0.38]");
}

TEST_CASE("to_string: digits beyond those that identify the number in its dtype are not shown") {
  const FormatOptions all = precision(24);
  CHECK(print(0.1, all) == "0.1");
  CHECK(print(0.1f, all) == "0.1");
  CHECK(print(Half(0.1f), all) == "0.1");
  CHECK(print(BFloat16(0.1f), all) == "0.1");
  CHECK(print(1.0 / 3.0, all) == "0.3333333333333333");
  CHECK(print(1.0f / 3.0f, all) == "0.33333334");
  CHECK(print(Half(1.0f / 3.0f), all) == "0.3333");
  CHECK(print(BFloat16(1.0f / 3.0f), all) == "0.334");
  CHECK(print(0.30000000000000004, all) == "0.30000000000000004");
  // 1.125 and 1.25 are neighbours of the first, 0.3125 and 0.375 of the others.
  CHECK(print(Float8_e4m3fn(1.125f), all) == "1.1");
  CHECK(print(Float8_e4m3fnuz(0.34375f), all) == "0.34");
  CHECK(print(Float8_e5m2(0.4375f), all) == "0.44");
  CHECK(print(Float8_e5m2fnuz(1.75f), all) == "1.8");
}

TEST_CASE("to_string: digits before the point are exact") {
  CHECK(print(Half(65504.0f)) == "65504.");
  CHECK(print(99999992.0f) == "99999992.");
}

TEST_CASE("to_string: negative zero keeps its sign") {
  CHECK(print({0.0, -0.0}) == "[ 0. -0.]");
  CHECK(print(-0.004, precision(2)) == "-0.");
}

TEST_CASE("to_string: exponents begin at 1e8") {
  CHECK(print(99999999.0) == "99999999.");
  CHECK(print(1e8) == "1.e+08");
  CHECK(print(-1e8f) == "-1.e+08");
}

TEST_CASE("to_string: exponents begin below 1e-4") {
  CHECK(print(0.0001) == "0.0001");
  CHECK(print(0.0001f) == "0.0001");
  CHECK(print(0.00009) == "9.e-05");
}

TEST_CASE("to_string: exponents begin where the largest is over 1000 times the smallest") {
  CHECK(print({1.0, 1000.0}) == "[   1. 1000.]");
  CHECK(print({1.0, 1001.0}) == "[1.000e+00 1.001e+03]");
  CHECK(print({0.0, -1.0, 1000.0, kInfinity}) == "[   0.   -1. 1000.   inf]");
}

TEST_CASE("to_string: numbers with exponents have equally many digits, of both parts") {
  CHECK(print({1.0, -2.5e10}) == "[ 1.0e+00 -2.5e+10]");
  CHECK(print({1e100, 0.0, 1e-5}) == "[1.e+100 0.e+000 1.e-005]");
  // The digits that fill up are those of the number, 0.0625, not zeros.
  CHECK(print({0.0625, 1234.0}, precision(3)) == "[6.250e-02 1.234e+03]");
  CHECK(print({Half(0.00024414062f), Half(2.001953125f)}) == "[2.441e-04 2.002e+00]");
}

TEST_CASE("to_string: the extremes of double") {
  CHECK(print(std::numeric_limits<double>::max()) == "1.7977e+308");
  CHECK(print(std::numeric_limits<double>::max(), precision(24)) == "1.7976931348623157e+308");
  CHECK(print(std::numeric_limits<double>::denorm_min(), precision(24)) == "5.e-324");
}

TEST_CASE("to_string: nan and infinities are right-aligned among the numbers") {
  CHECK(print({1.5, kNan, kInfinity, -kInfinity}) == "[ 1.5  nan  inf -inf]");
  CHECK(print({kNan, 10.0}) == "[nan 10.]");
  CHECK(print({kNan, 1.0}) == "[nan  1.]");
  CHECK(print({1e10, kNan, -kInfinity}) == "[1.e+10    nan   -inf]");
}

TEST_CASE("to_string: without a finite number, nan and infinities align with each other") {
  CHECK(print({kNan, kInfinity}) == "[nan inf]");
  CHECK(print({kNan, -kInfinity}) == "[ nan -inf]");
  CHECK(print(-kNan) == "nan");
}

TEST_CASE("to_string: every small floating type has its own nan and infinity") {
  CHECK(print({Half(1.0f), Half(kInfinity)}) == "[ 1. inf]");
  CHECK(print({BFloat16(1.0f), BFloat16(kNan)}) == "[ 1. nan]");
  CHECK(print({Float8_e5m2(1.0f), Float8_e5m2(-kInfinity)}) == "[  1. -inf]");
  CHECK(print({Float8_e4m3fn(1.0f), Float8_e4m3fn(kNan)}) == "[ 1. nan]");
  CHECK(print({Float8_e4m3fnuz(-0.0f), Float8_e4m3fnuz(240.0f)}) == "[  0. 240.]");
}

TEST_CASE("to_string: a Float8_e4m3fn beyond its range is nan", "[plain]") {
  CHECK(print({Float8_e4m3fn(1.0f), Float8_e4m3fn(1000.0f)}) == "[ 1. nan]");
}

TEST_CASE("to_string: a complex number is its two parts") {
  CHECK(print(complex<float>(1.0f, 2.0f)) == "1.+2.j");
  CHECK(print(complex<double>(-0.5, -1.0)) == "-0.5-1.j");
  CHECK(print(std::complex<double>(0.0, -0.0)) == "0.-0.j");
}

TEST_CASE("to_string: the parts of complex numbers are two columns") {
  CHECK(print({complex<double>(1.0, 2.0), complex<double>(-1.5, -10.25)}) ==
        "[ 1.  +2.j   -1.5-10.25j]");
  CHECK(print({complex<double>(1e9, 0.5), complex<double>(1.0, -1.0)}) ==
        "[1.e+09+0.5j 1.e+00-1.j ]");
  CHECK(print({complex<double>(1.0, 1e9), complex<double>(kNan, -kInfinity)}) ==
        "[ 1.+1.e+09j nan   -infj]");
}

TEST_CASE("to_string: each part of a complex number has the digits that its type needs") {
  const FormatOptions all = precision(24);
  CHECK(print(complex<Half>(Half(0.1f), Half(0.3f)), all) == "0.1+0.3j");
  CHECK(print(complex<float>(0.1f, 0.3f), all) == "0.1+0.3j");
  CHECK(print(complex<double>(0.1, 0.30000000000000004), all) == "0.1+0.30000000000000004j");
}

TEST_CASE("to_string: complex nan and infinity have room for their signs") {
  CHECK(print({complex<float>(1.0f, float(kNan)), complex<float>(2.0f, float(kInfinity))}) ==
        "[1.+nanj 2.+infj]");
}

TEST_CASE("to_string: whatever the C locale has for a point is read over") {
  const auto pieces = [](const char* printed, bool plus) {
    detail::FloatText text;
    std::strcpy(text.text, printed);
    detail::split_digits(text, plus);
    return std::vector<std::string>{{text.whole.begin, text.whole.size},
                                    {text.fraction.begin, text.fraction.size},
                                    {text.exponent.begin, text.exponent.size}};
  };
  using Pieces = std::vector<std::string>;
  CHECK(pieces("+12.50", false) == Pieces{"12", "50", ""});
  CHECK(pieces("-12,50", false) == Pieces{"-12", "50", ""});
  CHECK(pieces("+1\xd9\xab"
               "5e-07",
               true) == Pieces{"+1", "5", "07"});
  CHECK(pieces("+3", true) == Pieces{"+3", "", ""});
  CHECK(pieces("-3e+10", true) == Pieces{"-3", "", "10"});
}

TEST_CASE("to_string: a C locale with another point makes no difference") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  // Commas, and U+066B; none of them need be there.
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8", "German"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    const std::string fixed = print({0.1f, 2.5f, -1.0f / 3.0f});
    const std::string exponents = print({1.5e10, 0.5});
    std::setlocale(LC_NUMERIC, before.c_str());
    CHECK(fixed == "[ 0.1     2.5    -0.3333]");
    CHECK(exponents == "[1.5e+10 5.0e-01]");
  }
}
