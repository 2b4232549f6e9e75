// SPDX-License-Identifier: MIT
#include "tenon/backend/template.h"

#include "support/catch.h"

namespace template_test {

using namespace tenon;

TEST_CASE("MetaBackend: opaque memory of its own device, of which there is none") {
  MetaBackend backend;
  CHECK(std::string(backend.name()) == "meta");
  CHECK(backend.device() == Device("meta"));
  STATIC_REQUIRE(std::is_same_v<TemplateBackend, MetaBackend>);
  CHECK(backend.is_opaque());
  CHECK(&backend.base() == &backend);
  CHECK(backend.metadata_backend() == nullptr);
  const std::string words = "a meta tensor has a type and a shape, no data";
  CHECK(backend.allocate(16, 64) == nullptr);
  CHECK(last_error_message() == words);
  backend.deallocate(nullptr, 16);
  CHECK(backend.live_blocks() == 0);
  char byte = 1;
  RETURNS(NotSupported, words, backend.copy_from_host(nullptr, &byte, 1));
  RETURNS(NotSupported, words, backend.copy_to_host(&byte, nullptr, 1));
  RETURNS(NotSupported, words, backend.copy_within(nullptr, nullptr, 1));
  CHECK(byte == 1);
  CHECK(backend.synchronize() == Error::Ok);
  RETURNS(InvalidArgument, "there is no option \"limit\"", backend.init({{"limit", 3}}));
}

TEST_CASE("MetaBackend: inspect appends the type and the shape") {
  MetaBackend backend;
  std::string text = "x: ";
  const ViewWithLists view{nullptr, ScalarType::Float, backend.device(), {2, 3}, {3, 1}};
  CHECK(backend.inspect(view, 1000, text) == Error::Ok);
  CHECK(text == "x: Meta Float {2, 3}");
}

}  // namespace template_test
