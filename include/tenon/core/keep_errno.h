// SPDX-License-Identifier: MIT
// KeepErrno: for functions that call the system and leave errno as it was.
#pragma once

#include <cerrno>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Leaves errno as it was.
struct KeepErrno {
  const int before = errno;
  ~KeepErrno() { errno = before; }
};

}  // namespace detail
TENON_END_NAMESPACE
