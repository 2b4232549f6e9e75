// SPDX-License-Identifier: MIT
#include "tenon/interop/files/name_index.h"

#include "support/catch.h"

namespace name_index_test {

using namespace tenon;
using tenon::detail::NameIndex;

TEST_CASE("name index: names are found with their numbers, which are in the order of adding") {
  NameIndex index;
  for (const char* name : {"b", "", "a", "b", "ab"}) index.add(name);
  index.sort();
  CHECK(index.find("c").empty());
  CHECK(index.find("aa").empty());
  REQUIRE(index.find("b").size() == 2);
  CHECK(index.find("b")[0].second == 0);
  CHECK(index.find("b")[1].second == 3);
  size_t i = 9;
  CHECK(index.find("tensor", "", i) == Error::Ok);
  CHECK(i == 1);
  RETURNS(NotFound, "there is no tensor \"x\" among the 5", index.find("tensor", "x", i));
  RETURNS(InvalidArgument, "tensors 0 and 3 are both named \"b\"", index.find("tensor", "b", i));
  RETURNS(InvalidArgument, "keys 0 and 3 are both named \"b\"", index.check_unique("key"));
  CHECK(i == 1);
  RETURNS(NotFound, "among the 0", NameIndex().find("tensor", "x", i));
  CHECK(NameIndex().check_unique("tensor") == Error::Ok);
}

TEST_CASE("name index: very many of one name cost no more than few") {
  NameIndex index;
  constexpr size_t kMany = 200'000;
  for (size_t i = 0; i < kMany; ++i) index.add("a");
  index.sort();
  uint64_t found = 0;
  for (size_t i = 0; i < kMany; ++i) found += index.find("a").size();
  CHECK(found == uint64_t{kMany} * kMany);
}

}  // namespace name_index_test
