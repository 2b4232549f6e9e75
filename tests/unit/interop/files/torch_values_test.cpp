// SPDX-License-Identifier: MIT
#include "tenon/interop/files/torch_values.h"

#include <string>

#include "support/catch.h"

namespace torch_values_test {

using namespace tenon;
using detail::PickleGraph;
using detail::PickleKind;
using detail::TorchMaker;

TEST_CASE("torch_values: what is no function, and arguments that do not fit, are errors") {
  PickleGraph graph;
  TorchMaker maker(graph);
  const uint32_t none = graph.add(PickleKind::List);
  uint32_t made = 0;
  CHECK(maker.call(PickleGraph::kTrue, none, made) == Error::InvalidArgument);
  detail::PickleValue value;
  value.kind = PickleKind::Global;
  value.text = "f";
  value.size = 1;
  value.global.global = detail::TorchGlobal::Dict;
  const uint32_t dict = graph.add(value);
  REQUIRE(maker.call(dict, none, made) == Error::Ok);
  CHECK(graph.kind(made) == PickleKind::Dict);
  CHECK(maker.call(dict, PickleGraph::kTrue, made) == Error::InvalidArgument);
  for (int i = static_cast<int>(detail::TorchGlobal::Tensor);
       i <= static_cast<int>(detail::TorchGlobal::Wrapper); ++i) {
    value.global.global = static_cast<detail::TorchGlobal>(i);
    CHECK(maker.call(graph.add(value), none, made) == Error::InvalidArgument);
  }
  CHECK(maker.make_storage(none, made) == Error::InvalidArgument);
}

}  // namespace torch_values_test
