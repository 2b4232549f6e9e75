// SPDX-License-Identifier: MIT
#include "tenon/interop/onnxruntime_error.h"

#include <string>

#include "support/catch.h"

namespace detail = tenon::detail;
using namespace tenon;

namespace {

int released = 0;
void ORT_API_CALL count_release(OrtSession*) { ++released; }

}  // namespace

TEST_CASE("onnxruntime_error: the library has the functions of the header") {
  const OrtApi* const api = detail::onnx_api();
  REQUIRE(api != nullptr);
  CHECK(api == detail::onnx_api());
}

TEST_CASE("onnxruntime_error: a status becomes an error with its text, once for each code") {
  const OrtApi& api = *detail::onnx_api();
  CHECK(detail::check_onnx(api, nullptr) == Error::Ok);
  const auto check = [&](OrtErrorCode code, Error error) {
    CHECK_RETURNS(error, "ONNX Runtime: it broke",
                  detail::check_onnx(api, api.CreateStatus(code, "it broke")));
  };
  check(ORT_INVALID_ARGUMENT, Error::InvalidArgument);
  check(ORT_NO_MODEL, Error::InvalidArgument);
  check(ORT_INVALID_PROTOBUF, Error::InvalidArgument);
  check(ORT_INVALID_GRAPH, Error::InvalidArgument);
  check(ORT_NO_SUCHFILE, Error::NotFound);
  check(ORT_MODEL_LOADED, Error::InvalidState);
  check(ORT_NOT_IMPLEMENTED, Error::NotSupported);
  check(ORT_RUNTIME_EXCEPTION, Error::NotSupported);
  check(ORT_ENGINE_ERROR, Error::NotSupported);
  check(ORT_EP_FAIL, Error::NotSupported);
  check(ORT_FAIL, Error::NotSupported);
}

TEST_CASE("onnxruntime_error: what was made is released once, what was not made never") {
  const OrtApi& api = *detail::onnx_api();
  released = 0;
  auto* const fake = reinterpret_cast<OrtSession*>(&released);
  {
    detail::OnnxHandle<OrtSession> made;
    CHECK(detail::make_onnx(api, &count_release, made, [&](OrtSession** session) -> OrtStatus* {
            *session = fake;
            return nullptr;
          }) == Error::Ok);
    CHECK(made.get() == fake);
    CHECK(released == 0);
  }
  CHECK(released == 1);
  detail::OnnxHandle<OrtSession> failed;
  CHECK_RETURNS(Error::NotSupported, "no luck",
                detail::make_onnx(api, &count_release, failed, [&](OrtSession**) {
                  return api.CreateStatus(ORT_FAIL, "no luck");
                }));
  CHECK(failed == nullptr);
  CHECK(released == 1);
}
