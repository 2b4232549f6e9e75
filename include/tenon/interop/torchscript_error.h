// SPDX-License-Identifier: MIT
// What TorchScript throws as tenon's errors, and whether there is TorchScript:
// TENON_HAS_TORCHSCRIPT.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/module/names.h"

#if defined(__has_include)
#if __has_include(<torch/csrc/jit/runtime/jit_exception.h>) && TENON_HAS_EXCEPTIONS
#define TENON_HAS_TORCHSCRIPT 1
#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#endif
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// What went wrong, of a text that the interpreter puts a traceback of the script in front of, or
/// of any other: its first line.
inline std::string_view without_traceback(std::string_view text) noexcept {
  constexpr std::string_view kTraceback =
      "The following operation failed in the TorchScript interpreter.";
  constexpr std::string_view kError = "\nRuntimeError: ";
  if (text.substr(0, kTraceback.size()) == kTraceback) {
    const size_t at = text.rfind(kError);
    if (at != std::string_view::npos) text.remove_prefix(at + kError.size());
  }
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  return text.substr(0, text.find('\n'));
}

#if defined(TENON_HAS_TORCHSCRIPT)

/// What libtorch said, as an error. Only by its text can be told that the interpreter ran out of
/// memory.
TENON_COLD inline Error fail_torchscript(Error error, std::string_view text) noexcept {
  text = without_traceback(text);
  for (const char* const sign : {"can't allocate memory", "out of memory"}) {
    if (text.find(sign) != std::string_view::npos) error = Error::OutOfMemory;
  }
  return fail(error, {"libtorch: ", TextPart{text}});
}

/// Calls `f`, which returns an Error and may throw what libtorch and scripts throw: `otherwise`,
/// unless memory is out or there is no such operator.
template <class F>
Error call_torchscript(Error otherwise, F&& f) noexcept {
  try {
    return f();
  } catch (const Exception& e) {  // ours
    return fail(e.error(), {e.what()});
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, {"out of memory in libtorch"});
  } catch (const c10::NotImplementedError& e) {
    return fail_torchscript(Error::NotSupported, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return fail_torchscript(otherwise, e.what_without_backtrace());
  } catch (const torch::jit::JITException& e) {  // raised by the script
    return fail_torchscript(otherwise, e.getOriginalMsg().value_or(e.what()));
  } catch (const std::exception& e) {
    return fail_torchscript(otherwise, e.what());
  }
}

#endif

}  // namespace detail
TENON_END_NAMESPACE
