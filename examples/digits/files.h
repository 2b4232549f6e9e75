// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

#include "tenon/interop/npy.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tenon.h"

/// Reads folder/name.npy and checks that it is what this program expects; -1 is any size.
inline tenon::TensorPtr load(const std::string& folder, const char* name, tenon::ScalarType type,
                             const tenon::Dims& sizes) {
  const std::string path = folder + "/" + name + ".npy";
  tenon::TensorPtr tensor = tenon::read_npy(path);
  if (tenon::TensorSpec{sizes, type}.check(tensor) != tenon::Error::Ok) {
    throw std::runtime_error(path + ": " + tenon::last_error_message());
  }
  return tensor;
}
