// SPDX-License-Identifier: MIT
// The same network on four runtimes, each a tenon::Module: `forward` takes images × 8 × 8 floats
// from 0 to 16 and gives images × 10 scores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "network.h"
#include "tenon/module/module.h"

constexpr int64_t kMostImages = 64;  // at once; digits.pte was exported for no more

/// Loops of this program's own over the weights in folder/*.npy.
std::unique_ptr<tenon::Module> open_plain(const std::string& folder);
/// folder/digits.pte on ExecuTorch.
std::unique_ptr<tenon::Module> open_executorch(const std::string& folder);
/// folder/digits.pt on libtorch.
std::unique_ptr<tenon::Module> open_torchscript(const std::string& folder);
/// digits.pt2, compiled by AOTInductor: the build's, or folder/digits.pt2.
std::unique_ptr<tenon::Module> open_aoti(const std::string& folder);
