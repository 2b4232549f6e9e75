// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/read_double.h"

#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <string>

#include "support/catch.h"

namespace read_double_test {

using namespace tenon;

namespace {

double number(const char* text) {
  double value = 0;
  INFO(text);
  REQUIRE(detail::read_double(text, value));
  return value;
}
/// A C++ locale whose decimal point is a comma.
struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

}  // namespace

TEST_CASE("read_double: numbers as C++ writes them") {
  CHECK(number("2.5") == 2.5);
  CHECK(number("-1e-05") == -1e-05);
  CHECK(number(".5") == 0.5);
  CHECK(number("5.") == 5);
  CHECK(number("-3") == -3);
  CHECK(number("1E+3") == 1000);
  CHECK(number("0.1") == 0.1);
  CHECK(number("5e-324") == 5e-324);
  CHECK(number("1.7976931348623157e308") == (std::numeric_limits<double>::max)());
  CHECK(number("inf") == HUGE_VAL);
  CHECK(number("-inf") == -HUGE_VAL);
  CHECK(std::isnan(number("nan")));
  CHECK((number("-0.0") == 0 && std::signbit(number("-0.0"))));
}

TEST_CASE("read_double: the whole text is a number") {
  for (const char* const text :
       {"", " ", "1 ", " 1", "1,5", "1.5x", "x", "+1", "0x10", "--1", "-", ".", "1e", "1e999"}) {
    INFO(text);
    double value = 0;
    CHECK_FALSE(detail::read_double(text, value));
  }
}

TEST_CASE("read_double: the program's locale does not matter") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* const name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    CHECK(number("2.5") == 2.5);
    CHECK(number("-1e-05") == -1e-05);
  }
  std::setlocale(LC_NUMERIC, before.c_str());
  const std::locale global = std::locale::global(std::locale(std::locale(), new Comma));
  CHECK(number("2.5") == 2.5);
  double value = 0;
  CHECK_FALSE(detail::read_double("2,5", value));
  std::locale::global(global);
}

}  // namespace read_double_test
