// SPDX-License-Identifier: MIT
#include "tenon/interop/files/torch_names.h"

#include "interop/files/torch/pickles.h"
#include "support/catch.h"

namespace torch_names_test {

using namespace tenon;
using namespace tests;

TEST_CASE("torch_names: keys of every kind, and lists of numbers as one value") {
  detail::TorchArchive from;
  REQUIRE(from.open(detail::FileContent(memory(file(dict(
              {integer(-3), text("a"), "N", text("b"), "\x88", text("c"), integers({1}), text("d"),
               text("l"), integers({1, 2}), text("m"), list({integer(1), "\x88"}), text("s"),
               list({text("x"), text("y")}), text("t"), floats()}))))) == Error::Ok);
  std::vector<TorchTensorInfo> infos;
  std::vector<detail::TorchValue> values;
  REQUIRE(detail::TorchLister(from, infos, values).list() == Error::Ok);
  std::vector<std::string> names;
  for (const detail::TorchValue& value : values) names.push_back(value.name);
  CHECK(names == std::vector<std::string>{"-3", "None", "True", "#3", "l", "m.0", "m.1", "s"});
  REQUIRE(infos.size() == 1);
  CHECK(infos[0].name == "t");
  CHECK_FALSE(infos[0].is_copied);
}

}  // namespace torch_names_test
