// SPDX-License-Identifier: MIT
#include "tenon/module/names.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.h"

using namespace tenon;

TEST_CASE("Text: it keeps a copy of any text, short and long, through copies and moves") {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{23}, size_t{24}, size_t{1000}}) {
    std::string source(length, 'x');
    Text text(source);
    if (length != 0) source[0] = 'y';
    const std::string expected(length, 'x');
    CHECK(text.c_str() == expected);
    CHECK(text.size() == length);
    CHECK(text.empty() == (length == 0));
    Text copy(text);
    CHECK(copy == expected);
    Text moved(std::move(text));
    CHECK(moved == expected);
    CHECK(text.empty());  // NOLINT(bugprone-use-after-move)
    text = moved;
    copy = std::move(moved);
    CHECK(text == expected);
    CHECK(copy == expected);
    CHECK(copy.error() == Error::Ok);
    const Text& alias = copy;
    copy = alias;
    CHECK(copy == expected);
  }
  CHECK(Text("literal") == "literal");
  CHECK(Text("a") != "b");
}

TEST_CASE("Text: numbers and lists of names are no Texts") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<int, Text>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::vector<std::string>, Text>);
  STATIC_REQUIRE(std::is_convertible_v<std::string, Text>);
}

TEST_CASE("NameList: it keeps names of braces and ranges, and gives an empty one beyond") {
  const NameList braces{"batch", "", "columns"};
  REQUIRE(braces.size() == 3);
  CHECK(std::strcmp(braces[0], "batch") == 0);
  CHECK(std::strcmp(braces[1], "") == 0);
  CHECK(std::strcmp(braces[2], "columns") == 0);
  CHECK(std::strcmp(braces[3], "") == 0);
  std::vector<std::string> source(9, "a name of some length");
  source[8] = "last";
  NameList range(source);
  source.clear();
  REQUIRE(range.size() == 9);
  CHECK(std::strcmp(range[8], "last") == 0);
  const NameList copy(range);
  range = NameList();
  CHECK(range.empty());
  CHECK(std::strcmp(copy[7], "a name of some length") == 0);
  CHECK(std::strcmp(NameList()[0], "") == 0);
}
