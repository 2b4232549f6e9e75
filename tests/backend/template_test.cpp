// SPDX-License-Identifier: MIT
#include "tenon/backend/template.h"

#include <string>

#include "support/catch.h"

using namespace tenon;

TEST_CASE("TemplateBackend: it is opaque memory of its own device") {
  TemplateBackend backend;
  CHECK(std::string(backend.name()) == "template");
  CHECK(backend.device() == Device("template"));
  CHECK(backend.is_opaque());
  CHECK(&backend.base() == &backend);
  CHECK(backend.metadata_backend() == nullptr);
}

TEST_CASE("TemplateBackend: it has no memory to give, and says what it is") {
  TemplateBackend backend;
  CHECK(backend.allocate(16, 64) == nullptr);
  CHECK(std::string(last_error_message()) == "a template has a type and a shape, no data");
  backend.deallocate(nullptr, 16);
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("TemplateBackend: whatever needs data is refused") {
  TemplateBackend backend;
  char byte = 1;
  const char* const words = "a template has a type and a shape, no data";
  CHECK_RETURNS(Error::NotSupported, words, backend.copy_from_host(nullptr, &byte, 1));
  CHECK_RETURNS(Error::NotSupported, words, backend.copy_to_host(&byte, nullptr, 1));
  CHECK_RETURNS(Error::NotSupported, words, backend.copy_within(nullptr, nullptr, 1));
  CHECK(byte == 1);
  CHECK(backend.synchronize() == Error::Ok);
}

TEST_CASE("TemplateBackend: inspect appends the type and the shape") {
  TemplateBackend backend;
  std::string text = "x: ";
  const TensorView view{nullptr, ScalarType::Float, backend.device(), {2, 3}, {3, 1}};
  CHECK(backend.inspect(view, 1000, text) == Error::Ok);
  CHECK(text == "x: Template Float {2, 3}");
}

TEST_CASE("TemplateBackend: options are refused, it knows none") {
  TemplateBackend backend;
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"limit\"",
                backend.init({{"limit", 3}}));
}
