// SPDX-License-Identifier: MIT
#include "tenon/backend/calls.h"

#include <new>
#include <stdexcept>

#include "backend/helpers.h"
#include "support/catch.h"

namespace calls_test {

using namespace tenon;
using namespace tests;

namespace {

std::string last() { return last_error_message(); }

/// What a function of a backend's may do, and what becomes of it.
struct Row {
  std::function<Error()> call;
  Error error;
  const char* text;
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE(
    "call_backend: what a backend returns or throws is an error with its name, the operation, a "
    "text") {
  const Row rows[] = {
      {[] { return detail::fail(Error::AccessFailed, "the queue is lost"); }, Error::AccessFailed,
       ": the queue is lost"},
      {[] { return Error::OutOfMemory; }, Error::OutOfMemory, ""},  // and no earlier text
      {[]() -> Error { throw Exception(Error::OutOfBounds, "zeros: too far"); }, Error::OutOfBounds,
       ": zeros: too far"},
      {[]() -> Error { throw std::bad_alloc(); }, Error::OutOfMemory, ": std::bad_alloc"},
      {[]() -> Error { throw std::runtime_error("no such kernel"); }, Error::Internal,
       ": no such kernel"},
      {[]() -> Error { throw 5; }, Error::Internal,
       ": it threw something that is not a std::exception"},
      {[] { return Error::NotSupported; }, Error::NotSupported, ""},
  };
  MinimalBackend backend("gpu");
  for (const Row& row : rows) {
    INFO(row.text);
    static_cast<void>(detail::fail(Error::Internal, "something earlier"));
    CHECK(detail::call_backend(backend, "copy_within", row.call) == row.error);
    CHECK(last() == std::string("backend gpu failed in copy_within") + row.text);
    Error error = Error::Ok;
    const bool is_done = detail::call_optional(backend, "eye", error, row.call);
    CHECK(is_done == (row.error != Error::NotSupported));
    CHECK(error == row.error);
    if (is_done) CHECK(last() == std::string("backend gpu failed in eye") + row.text);
  }
}

TEST_CASE("call_backend: a text that the backend left and went on from is not a later code's") {
  MinimalBackend backend("gpu");
  const auto handles = [] {
    CHECK(!Result<int>(detail::fail(Error::AccessFailed, "the first queue is lost")).ok());
    return Error::AccessFailed;
  };
  CHECK(detail::call_backend(backend, "copy_within", handles) == Error::AccessFailed);
  CHECK(last() == "backend gpu failed in copy_within");
  const auto other = [] {
    static_cast<void>(detail::fail(Error::OutOfMemory, "the first pool is full"));
    return Error::AccessFailed;
  };
  CHECK(detail::call_backend(backend, "copy_within", other) == Error::AccessFailed);
  CHECK(last() == "backend gpu failed in copy_within");
  const auto goes_on = [] {
    static_cast<void>(detail::fail(Error::AccessFailed, "the first queue is lost"));
    return Error::Ok;
  };
  CHECK(detail::call_backend(backend, "copy_within", goes_on) == Error::Ok);
  CHECK(last() == "the first queue is lost");
  CHECK(std::string(last_error_message(Error::AccessFailed)) == "AccessFailed");
}

TEST_CASE("call_safely: an error has the text that the code left, else its name") {
  static_cast<void>(detail::fail(Error::NotFound, "something earlier"));
  const Error error = detail::call_safely([] { return Error::NotFound; });
  CHECK(std::string(last_error_message(error)) == "NotFound");
  CHECK(last() == "NotFound");
  static_cast<void>(detail::fail(Error::NotFound, "something earlier"));
  CHECK(detail::call_safely([] { return Error::Ok; }) == Error::Ok);
  CHECK(std::string(last_error_message(Error::NotFound)) == "something earlier");
}

TEST_CASE("call_backend: what went well leaves the thread's last error as it was") {
  MinimalBackend backend;
  Error error = Error::Internal;
  static_cast<void>(detail::fail(Error::Internal, "something earlier"));
  CHECK(detail::call_backend(backend, "eye", [] { return Error::Ok; }) == Error::Ok);
  CHECK(detail::call_optional(backend, "eye", error, [] { return Error::Ok; }));
  CHECK(error == Error::Ok);
  CHECK_FALSE(detail::call_optional(backend, "eye", error, [] { return Error::NotSupported; }));
  CHECK(last() == "something earlier");
  CHECK_FALSE(detail::call_optional(backend, "eye", error,
                                    []() -> Error { throw Exception(Error::NotSupported, "no"); }));
}

}  // namespace calls_test
