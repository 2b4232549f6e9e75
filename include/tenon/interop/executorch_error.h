// SPDX-License-Identifier: MIT
// ExecuTorch's errors as tenon's, and whether there is an ExecuTorch: TENON_HAS_EXECUTORCH.
//
// What its runtime logs beside an error goes to the program's platform layer, which tenon leaves to
// the program: by default it is on stderr.
#pragma once

#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/error.h"

// In ATen mode its headers mean at::Tensor by Tensor, and want another build of ExecuTorch.
#if defined(__has_include) && !TENON_ATEN_MODE
#if __has_include(<executorch/runtime/core/error.h>)
#define TENON_HAS_EXECUTORCH 1
#include <executorch/runtime/core/error.h>
#endif
#endif

#if defined(TENON_HAS_EXECUTORCH)

TENON_BEGIN_NAMESPACE
namespace detail {

/// The kind of error that it is here. Of a program or of data that is broken: InvalidArgument.
constexpr Error own_error(::executorch::runtime::Error error) noexcept {
  using Theirs = ::executorch::runtime::Error;
  switch (error) {
    case Theirs::Ok: return Error::Ok;
    case Theirs::InvalidState:
    case Theirs::EndOfMethod:
    case Theirs::AlreadyLoaded:
    case Theirs::RegistrationAlreadyRegistered:
    case Theirs::DelegateInvalidHandle: return Error::InvalidState;
    case Theirs::NotSupported:
    case Theirs::NotImplemented:
    case Theirs::OperatorMissing:
    case Theirs::RegistrationExceedingMaxKernels:
    case Theirs::DelegateInvalidCompatibility: return Error::NotSupported;
    case Theirs::InvalidArgument:
    case Theirs::InvalidProgram:
    case Theirs::InvalidExternalData: return Error::InvalidArgument;
    case Theirs::InvalidType: return Error::InvalidType;
    case Theirs::NotFound: return Error::NotFound;
    case Theirs::AccessFailed: return Error::AccessFailed;
    case Theirs::MemoryAllocationFailed:
    case Theirs::OutOfResources:
    case Theirs::DelegateMemoryAllocationFailed: return Error::OutOfMemory;
    case Theirs::Internal: break;
  }
  return Error::Internal;
}

/// As its headers and logs have it: "InvalidArgument (0x12)".
inline void append(Message& out, ::executorch::runtime::Error error) noexcept {
  constexpr size_t kScope = sizeof "Error::" - 1;
  out.put(::executorch::runtime::to_string(error) + kScope);
  out.put(" (0x");
  const auto number = static_cast<uint32_t>(error);
  int digits = 1;
  while (digits < 8 && number >> 4 * digits != 0) ++digits;
  while (digits-- > 0) out.put("0123456789abcdef"[number >> 4 * digits & 0xf]);
  out.put(')');
}

/// Ok, or the error with the message "<what>: ExecuTorch says InvalidArgument (0x12)".
template <class... Parts>
Error check_executorch(::executorch::runtime::Error error, const Parts&... what) noexcept {
  if (error == ::executorch::runtime::Error::Ok) return Error::Ok;
  return fail(own_error(error), {what..., ": ExecuTorch says ", error});
}

}  // namespace detail
TENON_END_NAMESPACE

#endif
