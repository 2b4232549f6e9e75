// SPDX-License-Identifier: MIT
#include "tenon/interop/torchscript.h"
#include "runtimes.h"

std::unique_ptr<tenon::Module> open_torchscript(const std::string& folder) {
  return std::make_unique<tenon::TorchScriptModule>(folder + "/digits.pt");
}
