// SPDX-License-Identifier: MIT
#include "tenon/backend/interface.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/backend.h"

namespace interface_test {

using namespace tenon;
using tests::MinimalBackend;

TEST_CASE("Backend: what is optional is NotSupported unless it is overridden") {
  MinimalBackend backend;
  const ViewWithLists view{nullptr, ScalarType::Float, backend.device(), {2, 3}, {3, 1}};
  const Generator::State start{};
  std::string text = "x";
  char byte = 0;
  for (const Error error :
       {backend.copy(view, view, CastMode::Checked), backend.constant(view, &byte),
        backend.eye(view), backend.iota(view, none), backend.from_binary(view, &byte, 1),
        backend.to_binary(view, 1, &byte), backend.random_uniform(view, 0, 1, start),
        backend.random_normal(view, 0, 1, start), backend.random_integers(view, 0, 1, start),
        backend.inspect(view, 10, text)}) {
    CHECK(error == Error::NotSupported);
  }
  CHECK(text == "x");
  backend.on_made({nullptr, view.type, view.sizes, view.strides, "zeros"});
  CHECK(backend.calls.empty());
  CHECK(&backend.base() == &backend);
  CHECK(backend.metadata_backend() == nullptr);
  CHECK(backend.init({}) == Error::Ok);
  RETURNS(InvalidArgument, "there is no option \"limit\"", backend.init({{"limit", 1}}));
}

TEST_CASE("BackendOptions: read gives a whole number within bounds, else changes nothing") {
  const auto read = [](const BackendOptions& options, int64_t most = INT64_MAX) {
    int64_t number = 5;
    const Error error = options.read("limit", 1, number, most);
    if (error != Error::Ok) CHECK(number == 5);
    return error == Error::Ok ? number : -1;
  };
  CHECK(read({{"limit", 9}}) == 9);
  CHECK(read({{"limit", 1}}) == 1);
  CHECK(read({{"limit", 9}}, 9) == 9);
  CHECK(read({{"limit", INT64_MAX}}) == INT64_MAX);
  CHECK(read({{"other", 9}}) == 5);
  CHECK(read({{"limit", 0}, {"limit", 3}}) == 3);
  CHECK(read({{"limit", 3}, {"limit", 0}}) == -1);
  CHECK(read({{"limit", true}}) == -1);
  int64_t number = 0;
  const auto refused = [&](const BackendOption& option) {
    RETURNS(InvalidArgument, "; expected a whole number from 1 to 16",
            BackendOptions({option}).read("limit", 1, number, 16));
    return std::string(last_error_message());
  };
  CHECK(tests::contains(refused({"limit", 2.5}), "option \"limit\" is the floating value 2.5;"));
  CHECK(tests::contains(refused({"limit", "many"}), "option \"limit\" is the text many;"));
  CHECK(tests::contains(refused({"limit", 0}), "option \"limit\" is 0;"));
  CHECK(tests::contains(refused({"limit", 17}), "option \"limit\" is 17;"));
  CHECK(tests::contains(refused({"limit", UINT64_MAX}), "is 18446744073709551615;"));
}

TEST_CASE("BackendOptions: a null name is an empty one") {
  RETURNS(InvalidArgument, "there is no option \"\"",
          BackendOptions({{nullptr, 1}}).check_names({"limit"}));
  CHECK(BackendOptions({{nullptr, 1}}).find("limit") == nullptr);
}

TEST_CASE("BackendOptions: check_names refuses a name that is not among those given") {
  const auto check = [](const BackendOptions& options) {
    return options.check_names({"limit", "mode"});
  };
  CHECK(check({}) == Error::Ok);
  CHECK(check({{"mode", "eager"}, {"limit", 2}}) == Error::Ok);
  CHECK(check({{"limit", 2}, {"limits", 2}}) == Error::InvalidArgument);
  CHECK(std::string(last_error_message()) == "there is no option \"limits\"");
}

}  // namespace interface_test
