// SPDX-License-Identifier: MIT
// ExecuTorch's errors. Needs ExecuTorch, and is built with it by interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch_error.h"

#include <string>

#include "support/catch.h"

using namespace tenon;
using tenon::detail::check_executorch;
using tenon::detail::own_error;
using Theirs = executorch::runtime::Error;

TEST_CASE("executorch errors: each is of the kind that a caller can act on") {
  CHECK(own_error(Theirs::Ok) == Error::Ok);
  CHECK(own_error(Theirs::Internal) == Error::Internal);
  for (const Theirs error :
       {Theirs::InvalidState, Theirs::EndOfMethod, Theirs::AlreadyLoaded,
        Theirs::RegistrationAlreadyRegistered, Theirs::DelegateInvalidHandle}) {
    CHECK(own_error(error) == Error::InvalidState);
  }
  for (const Theirs error :
       {Theirs::NotSupported, Theirs::NotImplemented, Theirs::OperatorMissing,
        Theirs::RegistrationExceedingMaxKernels, Theirs::DelegateInvalidCompatibility}) {
    CHECK(own_error(error) == Error::NotSupported);
  }
  for (const Theirs error :
       {Theirs::InvalidArgument, Theirs::InvalidProgram, Theirs::InvalidExternalData}) {
    CHECK(own_error(error) == Error::InvalidArgument);
  }
  CHECK(own_error(Theirs::InvalidType) == Error::InvalidType);
  CHECK(own_error(Theirs::NotFound) == Error::NotFound);
  CHECK(own_error(Theirs::AccessFailed) == Error::AccessFailed);
  for (const Theirs error : {Theirs::MemoryAllocationFailed, Theirs::OutOfResources,
                             Theirs::DelegateMemoryAllocationFailed}) {
    CHECK(own_error(error) == Error::OutOfMemory);
  }
}

TEST_CASE("executorch errors: a number that is none of them is Internal") {
  CHECK_RETURNS(Error::Internal, "execute: ExecuTorch says Unknown (0x7e5)",
                check_executorch(static_cast<Theirs>(0x7e5), "execute"));
  CHECK_RETURNS(Error::Internal, "(0xffffffff)",
                check_executorch(static_cast<Theirs>(0xffffffff), "execute"));
}

TEST_CASE("executorch errors: the message has what was done, the runtime's name and its number") {
  CHECK(check_executorch(Theirs::InvalidArgument, "set_input of input ", 0) ==
        Error::InvalidArgument);
  CHECK(std::string(last_error_message()) ==
        "set_input of input 0: ExecuTorch says InvalidArgument (0x12)");
  CHECK(check_executorch(Theirs::InvalidState, "execute") == Error::InvalidState);
  CHECK(std::string(last_error_message()) == "execute: ExecuTorch says InvalidState (0x2)");
}

TEST_CASE("executorch errors: Ok leaves the last message alone") {
  CHECK(check_executorch(Theirs::NotFound, "method forward") == Error::NotFound);
  CHECK(check_executorch(Theirs::Ok, "execute") == Error::Ok);
  CHECK(std::string(last_error_message()) == "method forward: ExecuTorch says NotFound (0x20)");
}
