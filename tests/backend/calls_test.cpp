// SPDX-License-Identifier: MIT
#include "tenon/backend/calls.h"
#include "tenon/backend/arena.h"

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

std::string last() { return last_error_message(); }

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
  CHECK(asked([] { return detail::fail(Error::AccessFailed, "the queue is lost"); }) ==
        Error::AccessFailed);
  CHECK(last() == "backend gpu failed in copy_within: the queue is lost");
}

TEST_CASE("ask: an error without a text is not given the text of an earlier one") {
  static_cast<void>(detail::fail(Error::Internal, "something earlier"));
  CHECK(asked([] { return Error::OutOfMemory; }) == Error::OutOfMemory);
  CHECK(last() == "backend gpu failed in copy_within");
}

TEST_CASE("ask: a long text is cut, not lost") {
  const std::string text(2000, 'x');
  CHECK(asked([&] { return detail::fail(Error::Internal, text.c_str()); }) == Error::Internal);
  CHECK(tests::contains(last(), "backend gpu failed in copy_within: xxx"));
  CHECK(last().size() == detail::kMessageCapacity - 1);
}

TEST_CASE("ask: an Exception of tenon's becomes its error") {
  CHECK(asked([]() -> Error { throw Exception(Error::OutOfBounds, "zeros: too far"); }) ==
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
                           []() -> Error { throw Exception(Error::NotSupported, "no"); }));
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
  static_cast<void>(detail::fail(Error::Internal, "something earlier"));
  CHECK(asked([] { return Error::Ok; }) == Error::Ok);
  CHECK(last() == "something earlier");
}

TEST_CASE("upload and download: they are the backend's copies, under those names") {
  MinimalBackend backend("gpu");
  void* p = nullptr;
  REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 4, p) == Error::Ok);
  const int32_t five = 5;
  CHECK(detail::upload(backend, p, &five, 4) == Error::Ok);
  CHECK(backend.get<int32_t>(p, 0) == 5);
  int32_t read = 0;
  CHECK(detail::download(backend, &read, p, 4) == Error::Ok);
  CHECK(read == 5);
  backend.will["copy_from_host"] = Answer::Fails;
  backend.will["copy_to_host"] = Answer::Throws;
  CHECK(detail::upload(backend, p, &five, 4) == Error::AccessFailed);
  CHECK(last() == "backend gpu failed in copy_from_host: the cable is out");
  CHECK(detail::download(backend, &read, p, 4) == Error::Internal);
  CHECK(last() == "backend gpu failed in copy_to_host: thrown on the way");
  detail::release_to(detail::BackendAccess::state(backend), p, 4);
  CHECK(backend.used() == 0);
}

TEST_CASE("allocate_from: without memory it says whose, how much, and what the backend says") {
  MinimalBackend backend("gpu");
  backend.room = 100;
  void* p = &backend;
  CHECK(detail::allocate_from(backend, detail::known_state(backend), 101, p) == Error::OutOfMemory);
  CHECK(p == nullptr);
  CHECK(last() == "backend gpu has no memory for 101 bytes");
  backend.refusal = "it has 100";
  CHECK(detail::allocate_from(backend, detail::known_state(backend), 102, p) == Error::OutOfMemory);
  CHECK(last() == "backend gpu has no memory for 102 bytes: it has 100");
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("allocate_from: without a state what the backend gave goes back") {
  MinimalBackend backend("gpu");
  void* p = &backend;
  CHECK_RETURNS(Error::OutOfMemory, "backend gpu has no memory for 64 bytes",
                detail::allocate_from(backend, nullptr, 64, p));
  CHECK(p == nullptr);
  CHECK(backend.calls["allocate"] == 1);
  CHECK(backend.used() == 0);
}

TEST_CASE("release_to: once the backend is gone, nothing is given back and nothing breaks") {
  const tests::Reports told;
  detail::BackendState* state = nullptr;
  void* p = nullptr;
  {
    MinimalBackend backend;
    state = detail::BackendAccess::state(backend);
    REQUIRE(detail::allocate_from(backend, detail::known_state(backend), 4, p) == Error::Ok);
  }
  detail::ReleaseToBackend{state, 4}(p);
  CHECK(told.count() == 1);
}

TEST_CASE("metadata: from the heap, aligned for pointers and as large as asked") {
  for (size_t nbytes : {size_t{1}, size_t{16}, size_t{1000}}) {
    void* const p = tenon::detail::allocate_metadata(nbytes, nullptr);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % sizeof(void*) == 0);
    std::memset(p, 1, nbytes);
    tenon::detail::release_metadata(p);
  }
}

TEST_CASE("metadata: releasing null does nothing") { tenon::detail::release_metadata(nullptr); }

TEST_CASE("metadata: a block of a backend's counts there, and is given back there") {
  alignas(64) static unsigned char buffer[4096];
  tenon::ArenaBackend arena(buffer, sizeof buffer);
  const int64_t before = arena.live_blocks();
  void* const p = tenon::detail::allocate_metadata(40, tenon::detail::known_state(arena));
  REQUIRE(p != nullptr);
  const size_t used = arena.used();
  CHECK(p > static_cast<void*>(buffer));
  CHECK(p < static_cast<void*>(buffer + sizeof buffer));
  CHECK(arena.live_blocks() == before + 1);
  std::memset(p, 1, 40);
  tenon::detail::release_metadata(p);
  CHECK(arena.live_blocks() == before);
  CHECK(arena.used() < used);
}

TEST_CASE("metadata: null when the backend has none, and nothing is counted") {
  alignas(64) static unsigned char buffer[512];
  tenon::ArenaBackend arena(buffer, sizeof buffer);
  const int64_t before = arena.live_blocks();
  CHECK(tenon::detail::allocate_metadata(1000, tenon::detail::known_state(arena)) == nullptr);
  CHECK(arena.live_blocks() == before);
}
