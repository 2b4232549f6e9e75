// SPDX-License-Identifier: MIT
#include "tenon/backend/options.h"

#include <cstdint>
#include <string>

#include "support/catch.h"

using namespace tenon;

namespace {

/// Reads "limit", which is 5 before, and at least 1.
Error read(const BackendOptions& options, int64_t& number) {
  number = 5;
  return options.read("limit", 1, number);
}

}  // namespace

TEST_CASE("BackendOptions: find gives the option of a name, the last of several") {
  const auto check = [](const BackendOptions& options) {
    CHECK(options.size() == 3);
    CHECK(options.end() - options.begin() == 3);
    REQUIRE(options.find("limit") != nullptr);
    CHECK(options.find("limit")->value.to<int64_t>() == 8);
    CHECK(options.find("limit")->text == nullptr);
    REQUIRE(options.find("mode") != nullptr);
    CHECK(std::string(options.find("mode")->text) == "eager");
    CHECK(options.find("lim") == nullptr);
    CHECK(options.find("") == nullptr);
  };
  check({{"limit", 4}, {"mode", "eager"}, {"limit", 8}});
}

TEST_CASE("BackendOptions: there may be none") {
  const BackendOptions options{};
  CHECK(options.size() == 0);
  CHECK(options.begin() == options.end());
  CHECK(options.find("limit") == nullptr);
}

TEST_CASE("BackendOptions: read gives a whole number, or leaves what was there") {
  int64_t number = 0;
  CHECK(read({{"limit", 9}}, number) == Error::Ok);
  CHECK(number == 9);
  CHECK(read({{"limit", 1}}, number) == Error::Ok);
  CHECK(number == 1);
  CHECK(read({{"limit", INT64_MAX}}, number) == Error::Ok);
  CHECK(number == INT64_MAX);
  CHECK(read({{"other", 9}}, number) == Error::Ok);
  CHECK(number == 5);
}

TEST_CASE("BackendOptions: read refuses what is no whole number, and changes nothing") {
  int64_t number = 0;
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is 2.5; expected a whole number from 1",
                read({{"limit", 2.5}}, number));
  CHECK(number == 5);
  CHECK_RETURNS(Error::InvalidArgument,
                "option \"limit\" is \"many\"; expected a whole number from 1",
                read({{"limit", "many"}}, number));
  CHECK(number == 5);
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is ", read({{"limit", true}}, number));
  CHECK(number == 5);
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is 18446744073709551615",
                read({{"limit", UINT64_MAX}}, number));
  CHECK(number == 5);
}

TEST_CASE("BackendOptions: read refuses a number below the least, and says both") {
  int64_t number = 0;
  CHECK_RETURNS(Error::InvalidArgument, "option \"limit\" is 0; expected a whole number from 1",
                read({{"limit", 0}}, number));
  CHECK(number == 5);
}

TEST_CASE("BackendOptions: read looks at the last of several") {
  int64_t number = 0;
  CHECK(read({{"limit", 0}, {"limit", 3}}, number) == Error::Ok);
  CHECK(number == 3);
  CHECK(read({{"limit", 3}, {"limit", 0}}, number) == Error::InvalidArgument);
}

TEST_CASE("BackendOptions: check_names refuses a name that is not among those given") {
  const auto check = [](const BackendOptions& options) {
    return options.check_names({"limit", "mode"});
  };
  CHECK(check({}) == Error::Ok);
  CHECK(check({{"mode", "eager"}, {"limit", 2}}) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"limits\"",
                check({{"limit", 2}, {"limits", 2}}));
  CHECK(std::string(tenon::last_error_message()) == "there is no option \"limits\"");
}

TEST_CASE("BackendOptions: check_names of a backend without options says so") {
  const BackendOptions none{};
  CHECK(none.check_names({}) == Error::Ok);
  const auto check = [](const BackendOptions& options) { return options.check_names({}); };
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"x\"; this backend has none",
                check({{"x", 1}}));
}
