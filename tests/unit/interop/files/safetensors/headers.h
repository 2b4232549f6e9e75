// SPDX-License-Identifier: MIT
// What the tests of safetensors files share: files of a JSON text and data.
#pragma once

#include <string>

#include "support/catch.h"

namespace tests {

/// A file with this header, as it is, and `data` bytes of 0, 1, 2, ...
inline std::string safetensors_file(const std::string& json, size_t data = 0) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i));
  file += json;
  for (size_t i = 0; i < data; ++i) file += static_cast<char>(i);
  return file;
}

/// A tensor's entry in the header.
inline std::string entry(const std::string& name, const std::string& dtype,
                         const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

}  // namespace tests
