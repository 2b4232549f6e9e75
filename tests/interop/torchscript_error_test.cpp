// SPDX-License-Identifier: MIT
// Needs libtorch, and is built with it by interop/torchscript/CMakeLists.txt.
#include "tenon/interop/torchscript_error.h"

#undef CHECK  // c10's; Catch2's is meant

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/catch.h"

using namespace tenon;
using tenon::detail::call_torchscript;
using tenon::detail::without_traceback;

namespace {

const char* const kTraceback =
    "The following operation failed in the TorchScript interpreter.\n"
    "Traceback of TorchScript (most recent call last):\n"
    "  File \"code/m.py\", line 5, in forward\n"
    "RuntimeError: not this one, it is a line of the script\n"
    "    ~~~~~~~~~~ <--- HERE\n"
    "RuntimeError: list index out of range\n";

template <class F>
Error call(F&& thrower) {
  return call_torchscript(Error::InvalidArgument, [&] {
    thrower();
    return Error::Ok;
  });
}

}  // namespace

TEST_CASE("without_traceback: the error stands behind the traceback") {
  CHECK(without_traceback(kTraceback) == "list index out of range");
}

TEST_CASE("without_traceback: of a text without a traceback, the first line that is not blank") {
  CHECK(without_traceback("one line") == "one line");
  CHECK(without_traceback("\n  first\nsecond\n") == "first");
  CHECK(without_traceback("said so:\nRuntimeError: something") == "said so:");
  CHECK(without_traceback("").empty());
  CHECK(without_traceback(" \n ").empty());
  CHECK(without_traceback("The following operation failed in the TorchScript interpreter.") ==
        "The following operation failed in the TorchScript interpreter.");
}

TEST_CASE("call_torchscript: what is returned is passed on") {
  CHECK(call([] {}) == Error::Ok);
  CHECK_RETURNS(Error::InUse, "said here", call_torchscript(Error::InvalidArgument, [] {
                  return tenon::detail::fail(Error::InUse, {"said here"});
                }));
}

TEST_CASE("call_torchscript: what is thrown becomes one line of text and an error of its kind") {
  CHECK_RETURNS(Error::InvalidArgument, "libtorch: list index out of range",
                call([] { throw std::runtime_error(kTraceback); }));
  CHECK_RETURNS(Error::InvalidArgument, "libtorch: said",
                call([] { throw torch::jit::JITException("said"); }));
  CHECK_RETURNS(Error::InvalidArgument, "libtorch: raised",
                call([] { throw torch::jit::JITException("with more", "a.B", "raised\nmore"); }));
  CHECK(std::string(tenon::last_error_message()).find("more") == std::string::npos);
  CHECK_RETURNS(Error::InvalidArgument, "libtorch: checked 5",
                call([] { TORCH_CHECK(false, "checked ", 5); }));
  CHECK_RETURNS(Error::NotSupported, "libtorch: no kernel",
                call([] { TORCH_CHECK_NOT_IMPLEMENTED(false, "no kernel"); }));
  CHECK_RETURNS(Error::OutOfMemory, "out of memory", call([] { throw std::bad_alloc(); }));
  CHECK_RETURNS(Error::OutOfBounds, "tenon's own",
                call([] { throw tenon::Exception(Error::OutOfBounds, "tenon's own"); }));
}

TEST_CASE("call_torchscript: memory that an operator lacks is known by its text") {
  CHECK_RETURNS(Error::OutOfMemory, "you tried to allocate 8 bytes", call([] {
                  throw std::runtime_error(
                      "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes");
                }));
  CHECK_RETURNS(Error::OutOfMemory, "CUDA out of memory",
                call([] { throw std::runtime_error("CUDA out of memory. Tried to"); }));
}
