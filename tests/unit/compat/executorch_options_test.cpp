// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_options.h"

#include "captured_log.h"
#include "support/catch.h"

namespace executorch_options_test {

using namespace executorch::runtime;
using executorch::runtime::Error;

namespace {

template <class Options>
std::string text_of(const Options& options, const char* key) {
  const char* text = "unset";
  CHECK(options.get_option(key, text) == Error::Ok);
  return text;
}

}  // namespace

TEST_CASE("executorch: BackendOptions keeps up to N options of three types") {
  BackendOptions<3> options;
  CHECK(options.view().empty());
  CHECK(options.set_option("threads", 4) == Error::Ok);
  CHECK(options.set_option("fast", true) == Error::Ok);
  CHECK(options.set_option("mode", "eager") == Error::Ok);
  CHECK(options.set_option("more", 1) == Error::InvalidArgument);
  CHECK(options.view().size() == 3);

  int number = 0;
  bool flag = false;
  const char* text = nullptr;
  CHECK(options.get_option("threads", number) == Error::Ok);
  CHECK(number == 4);
  CHECK(options.get_option("fast", flag) == Error::Ok);
  CHECK(flag);
  CHECK(text_of(options, "mode") == "eager");
  CHECK(options.get_option("more", number) == Error::NotFound);
  CHECK(options.get_option("threads", flag) == Error::InvalidArgument);
  CHECK(options.get_option("threads", text) == Error::InvalidArgument);
  CHECK(options.get_option("mode", number) == Error::InvalidArgument);
  CHECK(number == 4);
  CHECK(text == nullptr);

  // Replaced, when all are there too, and by another type.
  CHECK(options.set_option("threads", "many") == Error::Ok);
  CHECK(options.view().size() == 3);
  CHECK(text_of(options, "threads") == "many");

  // A copy has texts of its own.
  const BackendOptions<3> copy = options;
  CHECK(options.set_option("mode", "lazy") == Error::Ok);
  CHECK(text_of(copy, "mode") == "eager");
}

TEST_CASE("executorch: a long option's text is cut, a longer key refused") {
  BackendOptions<2> options;
  const std::string key(63, 'k');
  CHECK(options.set_option(key.c_str(), 1) == Error::Ok);
  CHECK(options.set_option(key.c_str(), 2) == Error::Ok);
  CHECK(options.view().size() == 1);
  CHECK(options.view()[0].key == key);
  CHECK(options.set_option((key + "k").c_str(), 3) == Error::InvalidArgument);
  int number = 0;
  CHECK(options.get_option((key + "k").c_str(), number) == Error::NotFound);
  CHECK(options.get_option(key.c_str(), number) == Error::Ok);
  CHECK(number == 2);
  for (const size_t size : {0u, 254u, 255u, 256u, 1000u}) {
    const std::string text(size, 't');
    CHECK(options.set_option("text", text.c_str()) == Error::Ok);
    CHECK(text_of(options, "text") == text.substr(0, 255));
  }
  CHECK(options.set_option("text", "short") == Error::Ok);
  CHECK(text_of(options, "text") == "short");
}

TEST_CASE("executorch: LoadBackendOptionsMap copies the options of eight delegates") {
  struct Builder {
    BackendOptions<1> options;
    const char* backend_id() const { return "built"; }
    Span<BackendOption> view() { return options.view(); }
  };
  LoadBackendOptionsMap map;
  {
    BackendOptions<2> options;
    CHECK(options.set_option("threads", 4) == Error::Ok);
    CHECK(map.set_options("one", options.view()) == Error::Ok);
    CHECK(options.set_option("threads", 5) == Error::Ok);
    Builder builder;
    CHECK(builder.options.set_option("fast", true) == Error::Ok);
    CHECK(map.set_options(builder) == Error::Ok);
  }
  CHECK(map.size() == 2);
  CHECK(map.has_options("one"));
  CHECK(map.get_options("one").size() == 1);
  CHECK(std::get<int>(map.get_options("one")[0].value) == 4);
  CHECK(std::get<bool>(map.get_options("built")[0].value));
  CHECK(!map.has_options("two"));
  CHECK(!map.has_options(nullptr));
  CHECK(map.get_options("two").empty());
  CHECK(map.get_options(nullptr).empty());

  CHECK(map.set_options(nullptr, {}) == Error::InvalidArgument);
  CHECK(map.set_options("", {}) == Error::InvalidArgument);
  CHECK(map.set_options(std::string(64, 'd').c_str(), {}) == Error::InvalidArgument);
  CHECK(map.set_options(std::string(63, 'd').c_str(), {}) == Error::Ok);
  for (const char* name : {"4", "5", "6", "7", "8"}) CHECK(map.set_options(name, {}) == Error::Ok);
  CHECK(map.set_options("9", {}) == Error::InvalidArgument);
  CHECK(map.set_options("one", {}) == Error::Ok);
  CHECK(map.get_options("one").empty());
  CHECK(map.size() == 8);

  size_t found = 0;
  for (size_t i = 0; i < map.size(); ++i) {
    const auto entry = map.entry_at(i);
    CHECK(map.get_options(entry.backend_id).data() == entry.options.data());
    found += entry.options.size();
  }
  CHECK(found == 1);
  tests::log_of([&] { RAISES(InvalidState, "index < size()", map.entry_at(8)); });
  const LoadBackendOptionsMap copy = map;
  map = {};
  CHECK(copy.get_options("built").size() == 1);

  BackendOption option;
  CHECK(set_option("delegate", BackendOptions<1>().view()) == Error::NotFound);
  CHECK(get_option("delegate", BackendOptions<1>().view()) == Error::NotFound);
  CHECK(set_option("delegate", option) == Error::NotFound);
  CHECK(get_option("delegate", option) == Error::NotFound);
}

}  // namespace executorch_options_test
