// SPDX-License-Identifier: MIT
// Turns libtorch's exceptions into tenon's errors.
#pragma once

#include "tenon/core/error.h"

#if __has_include(<c10/util/Exception.h>) && TENON_HAS_EXCEPTIONS  // which libtorch throws
#include <c10/util/Exception.h>

#include <exception>
#include <new>

TENON_BEGIN_NAMESPACE
namespace detail {

/// Calls `f`, which returns an Error and may throw what libtorch throws.
template <class F>
Error call_libtorch(F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, "out of memory in libtorch");
  } catch (const c10::Error& e) {
    return fail(Error::NotSupported, "libtorch: ", e.what_without_backtrace());
  } catch (const std::exception& e) {
    return fail(Error::NotSupported, "libtorch: ", e.what());
  }
}

}  // namespace detail
TENON_END_NAMESPACE

#endif
