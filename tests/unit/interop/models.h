// SPDX-License-Identifier: MIT
// Where the models are that models/make_models.py writes, and the digits'.
#pragma once

#include <filesystem>
#include <string>

#include "tests_folder.h"

namespace tests {

inline std::string model_path(const std::string& name) {
  return (std::filesystem::path(kTestsFolder) / "unit/interop/models" / name).string();
}

/// examples/digits/data.
inline std::string digits_path(const std::string& name) {
  return (std::filesystem::path(kTestsFolder) / "../examples/digits/data" / name).string();
}

}  // namespace tests
