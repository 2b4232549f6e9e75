// SPDX-License-Identifier: MIT
#include "tenon/interop/executorch.h"
#include "runtimes.h"

std::unique_ptr<tenon::Module> open_executorch(const std::string& folder) {
  return std::make_unique<tenon::ExecuTorchModule>(folder + "/digits.pte");
}
