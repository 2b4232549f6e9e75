// SPDX-License-Identifier: MIT
#include "tenon/backend/calls.h"

#include <new>
#include <stdexcept>
#include <string>

#include "backend/helpers.h"
#include "support/catch.h"

using namespace tenon;
using tenon::detail::ask;
using tenon::detail::ask_optional;
using namespace tests;

namespace {

std::string last() { return tenon::last_error_message(); }

/// Asks for "copy_within" and does `f` instead.
template <class F>
Error asked(const F& f) {
  MinimalBackend backend("gpu");
  return ask(backend, "copy_within", f);
}

}  // namespace

TEST_CASE("ask: what a backend does well is Ok") {
  CHECK(asked([] { return Error::Ok; }) == Error::Ok);
}

TEST_CASE("ask: an error is passed on, with the backend, the operation and its text") {
  CHECK(asked([] { return tenon::detail::fail(Error::AccessFailed, {"the queue is lost"}); }) ==
        Error::AccessFailed);
  CHECK(last() == "backend gpu failed in copy_within: the queue is lost");
}

TEST_CASE("ask: an error without a text is not given the text of an earlier one") {
  static_cast<void>(tenon::detail::fail(Error::Internal, {"something earlier"}));
  CHECK(asked([] { return Error::OutOfMemory; }) == Error::OutOfMemory);
  CHECK(last() == "backend gpu failed in copy_within");
}

TEST_CASE("ask: a long text is cut, not lost") {
  const std::string text(2000, 'x');
  CHECK(asked([&] { return tenon::detail::fail(Error::Internal, {text.c_str()}); }) ==
        Error::Internal);
  CHECK(tests::contains(last(), "backend gpu failed in copy_within: xxx"));
  CHECK(last().size() == tenon::detail::kMessageCapacity - 1);
}

TEST_CASE("ask: an Exception of tenon's becomes its error") {
  CHECK(asked([]() -> Error { throw tenon::Exception(Error::OutOfBounds, "zeros: too far"); }) ==
        Error::OutOfBounds);
  CHECK(last() == "backend gpu failed in copy_within: zeros: too far");
}

TEST_CASE("ask: std::bad_alloc becomes OutOfMemory") {
  CHECK(asked([]() -> Error { throw std::bad_alloc(); }) == Error::OutOfMemory);
  CHECK(last() == "backend gpu failed in copy_within: std::bad_alloc");
}

TEST_CASE("ask: any other exception becomes Internal, with what it says") {
  CHECK(asked([]() -> Error { throw std::runtime_error("no such kernel"); }) == Error::Internal);
  CHECK(last() == "backend gpu failed in copy_within: no such kernel");
  CHECK(asked([]() -> Error { throw 5; }) == Error::Internal);
  CHECK(last() ==
        "backend gpu failed in copy_within: it threw something that is no std::exception");
}

TEST_CASE("ask: NotSupported of what every backend has is an error") {
  CHECK(asked([] { return Error::NotSupported; }) == Error::NotSupported);
  CHECK(last() == "backend gpu failed in copy_within");
}

TEST_CASE("ask_optional: NotSupported means that the backend does not do it") {
  MinimalBackend backend;
  Error error = Error::Internal;
  CHECK_FALSE(ask_optional(backend, "eye", error, [] { return Error::NotSupported; }));
}

TEST_CASE("ask_optional: an Exception that says NotSupported means the same") {
  MinimalBackend backend;
  Error error = Error::Internal;
  CHECK_FALSE(ask_optional(backend, "eye", error,
                           []() -> Error { throw tenon::Exception(Error::NotSupported, "no"); }));
}

TEST_CASE("ask_optional: every other outcome is the outcome") {
  MinimalBackend backend("gpu");
  Error error = Error::Internal;
  CHECK(ask_optional(backend, "eye", error, [] { return Error::Ok; }));
  CHECK(error == Error::Ok);
  CHECK(ask_optional(backend, "eye", error, [] { return Error::AccessFailed; }));
  CHECK(error == Error::AccessFailed);
  CHECK(last() == "backend gpu failed in eye");
  CHECK(ask_optional(backend, "eye", error, []() -> Error { throw std::runtime_error("no"); }));
  CHECK(error == Error::Internal);
  CHECK(last() == "backend gpu failed in eye: no");
}

TEST_CASE("ask: what went well leaves the thread's last error as it was") {
  static_cast<void>(tenon::detail::fail(Error::Internal, {"something earlier"}));
  CHECK(asked([] { return Error::Ok; }) == Error::Ok);
  CHECK(last() == "something earlier");
}

TEST_CASE("upload and download: they are the backend's copies, under those names") {
  MinimalBackend backend("gpu");
  void* p = nullptr;
  REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 4, p) ==
          Error::Ok);
  const int32_t five = 5;
  CHECK(tenon::detail::upload(backend, p, &five, 4) == Error::Ok);
  CHECK(backend.get<int32_t>(p, 0) == 5);
  int32_t read = 0;
  CHECK(tenon::detail::download(backend, &read, p, 4) == Error::Ok);
  CHECK(read == 5);
  backend.will["copy_from_host"] = Answer::Fails;
  backend.will["copy_to_host"] = Answer::Throws;
  CHECK(tenon::detail::upload(backend, p, &five, 4) == Error::AccessFailed);
  CHECK(last() == "backend gpu failed in copy_from_host: the cable is out");
  CHECK(tenon::detail::download(backend, &read, p, 4) == Error::Internal);
  CHECK(last() == "backend gpu failed in copy_to_host: thrown on the way");
  tenon::detail::release_to(tenon::detail::BackendAccess::state(backend), p, 4);
  CHECK(backend.used() == 0);
}

TEST_CASE("allocate_from: without memory it says whose, how much, and what the backend says") {
  MinimalBackend backend("gpu");
  backend.room = 100;
  void* p = &backend;
  CHECK(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 101, p) ==
        Error::OutOfMemory);
  CHECK(p == nullptr);
  CHECK(last() == "backend gpu has no memory for 101 bytes");
  backend.refusal = "it has 100";
  CHECK(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 102, p) ==
        Error::OutOfMemory);
  CHECK(last() == "backend gpu has no memory for 102 bytes: it has 100");
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("allocate_from: without a state what the backend gave goes back") {
  MinimalBackend backend("gpu");
  void* p = &backend;
  CHECK_RETURNS(Error::OutOfMemory, "backend gpu has no memory for 64 bytes",
                tenon::detail::allocate_from(backend, nullptr, 64, p));
  CHECK(p == nullptr);
  CHECK(backend.calls["allocate"] == 1);
  CHECK(backend.used() == 0);
}

TEST_CASE("release_to: once the backend is gone, nothing is given back and nothing breaks") {
  const tests::Reports told;
  tenon::detail::BackendState* state = nullptr;
  void* p = nullptr;
  {
    MinimalBackend backend;
    state = tenon::detail::BackendAccess::state(backend);
    REQUIRE(tenon::detail::allocate_from(backend, tenon::detail::known_state(backend), 4, p) ==
            Error::Ok);
  }
  tenon::detail::ReleaseToBackend{state, 4}(p);
  CHECK(told.count() == 1);
}
