// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/interop/npy.h"
#include "tenon/tenon.h"

/// Reads folder/name.npy and checks that it is what this program expects; -1 is any size.
inline tenon::TensorPtr load(const std::string& folder, const char* name, tenon::ScalarType type,
                             const tenon::Dims& sizes) {
  const std::string path = folder + "/" + name + ".npy";
  tenon::TensorPtr tensor = tenon::read_npy(path);
  bool fits = tensor->dtype() == type && tensor->sizes().size() == sizes.size();
  for (size_t d = 0; fits && d < sizes.size(); ++d) {
    fits = sizes[d] == -1 || sizes[d] == tensor->sizes()[d];
  }
  TENON_CHECK(fits, tenon::Error::InvalidType, path.c_str(), ": holds ", tensor->dtype(),
              " of sizes ", tensor->sizes(), ", expected ", type, " of sizes ", sizes);
  return tensor;
}
