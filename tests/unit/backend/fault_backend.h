// SPDX-License-Identifier: MIT
// FaultBackend: a device whose memory faults when the host touches it.
#pragma once

#include "backend/helpers.h"

namespace tests {

struct FaultBackend final : MinimalBackend {
  FaultBackend() : MinimalBackend("fault") { room = size_t{256} << 20; }
};

}  // namespace tests
