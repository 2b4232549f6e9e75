// SPDX-License-Identifier: MIT
#include "tenon/interop/files/torch_evalue.h"

#include "support/catch.h"

namespace torch_evalue_test {

using namespace tenon;

TEST_CASE("torch_evalue: bytes that protocol 2 has as a text") {
  std::string bytes;
  CHECK(detail::decode_latin1("a\xc2\x80\xc3\xbf", bytes));
  CHECK(bytes == "a\x80\xff");
  CHECK_FALSE(detail::decode_latin1("\xc4\x80", bytes));
  CHECK_FALSE(detail::decode_latin1("\xc3", bytes));
}

TEST_CASE("torch_evalue: what EValue does not have is refused by what it is") {
  detail::PickleGraph graph;
  EValue made;
  CHECK(detail::make_torch_value(graph, graph.add(detail::PickleKind::ComplexNumber), made) ==
        Error::NotSupported);
  CHECK(std::string(last_error_message()).find("a complex number") != std::string::npos);
  CHECK(detail::make_torch_value(graph, graph.add(detail::PickleKind::Device), made) ==
        Error::NotSupported);
  CHECK(detail::make_torch_value(graph, detail::PickleGraph::kTrue, made) == Error::Ok);
  CHECK(made.toBool());
}

}  // namespace torch_evalue_test
