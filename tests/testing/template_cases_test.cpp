// SPDX-License-Identifier: MIT
#include "tenon/testing/template_cases.h"

#include "support/catch.h"
#include "tenon/backend/template.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;

TEST_CASE("template_cases: a template passes") {
  CHECK_PASSES(TemplateBackend, templates_have_shapes);
  CHECK_PASSES(TemplateBackend, templates_have_no_data);
  CHECK_PASSES(TemplateBackend, templates_are_described);
}

TEST_CASE("template_cases: found: a backend whose tensors have data") {
  CHECK_FOUND("expected no data, found some", tests::HonestBackend, templates_have_shapes);
  CHECK_FOUND("expected NotSupported, found Ok", tests::HonestBackend, templates_have_no_data);
  CHECK_FOUND("on template", tests::HonestBackend, templates_are_described);
}
