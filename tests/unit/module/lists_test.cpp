// SPDX-License-Identifier: MIT
#include "tenon/module/lists.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"

namespace lists_test {

using namespace tenon;
using tenon::detail::ListArg;
using tenon::detail::metadata_backend_for;
using tenon::detail::NameList;
using tenon::detail::StoredArray;
using tenon::detail::Text;

namespace {

int alive = 0;
struct Counted {
  Counted() noexcept { ++alive; }
  Counted(Counted&& other) noexcept : value(other.value) { ++alive; }
  ~Counted() { --alive; }
  int value = 7;
};

}  // namespace

TEST_CASE("Text: it keeps a copy of any text, short and long, through copies") {
  for (const size_t length : {0u, 1u, 47u, 48u, 1000u}) {
    CAPTURE(length);
    std::string source(length, 'x');
    Text text(source);
    if (length != 0) source[0] = 'y';
    const std::string expected(length, 'x');
    CHECK(text.c_str() == expected);
    CHECK(text.size() == length);
    CHECK(text.empty() == (length == 0));
    Text copy(text);
    const Text& alias = copy;
    copy = alias;
    text = Text("another");
    CHECK(copy == expected);
    CHECK(copy.error() == Error::Ok);
  }
  CHECK(Text("literal") == "literal");
  CHECK(Text("a") != "b");
  STATIC_REQUIRE_FALSE(std::is_convertible_v<int, Text>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::vector<std::string>, Text>);
}

TEST_CASE("NameList: it keeps names of braces and ranges, and gives an empty one beyond") {
  const NameList braces{"batch", "", "columns"};
  REQUIRE(braces.size() == 3);
  CHECK(braces[0] == std::string("batch"));
  CHECK(braces[1] == std::string());
  CHECK(braces[2] == std::string("columns"));
  CHECK(braces[3] == std::string());
  std::vector<std::string> source(9, "a name of some length");
  source[8] = "last";
  NameList range(source);
  source.clear();
  REQUIRE(range.size() == 9);
  const NameList copy(range);
  range = NameList();
  CHECK(range.empty());
  CHECK(copy[7] == std::string("a name of some length"));
  CHECK(copy[8] == std::string("last"));
  CHECK(NameList()[0] == std::string());
  const NameList cut{std::string_view("one\0two", 7), "three"};
  CHECK(cut[0] == std::string("one"));
  CHECK(cut[1] == std::string("three"));
  const NameList part{std::string_view("input of a size", 5)};
  CHECK(part[0] == std::string("input"));
}

TEST_CASE("StoredArray: it grows and shrinks, elements keep their values and are destroyed once") {
  {
    StoredArray<Counted> array;
    CHECK(array.size() == 0);
    REQUIRE(array.resize(2) == Error::Ok);
    array[1].value = 8;
    REQUIRE(array.resize(5) == Error::Ok);
    CHECK(array[0].value == 7);
    CHECK(array[1].value == 8);
    CHECK(alive == 5);
    REQUIRE(array.resize(1) == Error::Ok);
    CHECK(alive == 1);
    for (int i = 0; i < 9; ++i) REQUIRE(array.push_back(Counted()) == Error::Ok);
    CHECK(alive == 10);
    const StoredArray<Counted> moved(std::move(array));
    CHECK(moved.size() == 10);
    CHECK(array.size() == 0);  // NOLINT(bugprone-use-after-move)
    CHECK(alive == 10);
  }
  CHECK(alive == 0);
}

TEST_CASE("StoredArray: with an arena it is there, and gives the memory back") {
  alignas(64) unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    StoredArray<int64_t> array(metadata_backend_for(&arena));
    REQUIRE(array.resize(10) == Error::Ok);
    CHECK(arena.used() >= 80);
    const auto* at = reinterpret_cast<const unsigned char*>(array.data());
    CHECK((at >= buffer && at < buffer + sizeof buffer));
    RETURNS(OutOfMemory, "backend arena has no memory for 800", array.resize(10000));
    CHECK(array.size() == 10);
  }
  CHECK(arena.used() == 0);
  CpuBackend cpu;  // keeps no metadata: the heap does
  CHECK(metadata_backend_for(&cpu) == nullptr);
  CHECK(metadata_backend_for(nullptr) == nullptr);
  StoredArray<int64_t> huge;
  RETURNS(OutOfMemory, "out of memory", huge.resize(SIZE_MAX / 16));
  CHECK(huge.size() == 0);
}

}  // namespace lists_test
