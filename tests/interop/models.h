// SPDX-License-Identifier: MIT
// Where the models are that models/make_models.py writes, and the digits'.
#pragma once

#include <filesystem>
#include <string>

namespace tests {

inline std::string model_path(const std::string& name) {
  return (std::filesystem::path(__FILE__).parent_path() / "models" / name).string();
}

/// examples/digits/data.
inline std::string digits_path(const std::string& name) {
  return (std::filesystem::path(__FILE__).parent_path() / "../../examples/digits/data" / name)
      .string();
}

}  // namespace tests
