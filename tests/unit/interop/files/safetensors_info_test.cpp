// SPDX-License-Identifier: MIT
#include "tenon/interop/files/safetensors_info.h"

#include "support/catch.h"

namespace safetensors_info_test {

using namespace tenon;

TEST_CASE("safetensors info: a dtype of tenon's has its size, and no two rows are of one") {
  std::vector<own::ScalarType> seen;
  for (const detail::SafeTensorsDtype& dtype : detail::kSafeTensorsDtypes) {
    INFO(dtype.name);
    if (dtype.type == own::ScalarType::Undefined) {
      CHECK(std::string(detail::kSafeTensorsNames).find(dtype.name) == std::string::npos);
      continue;
    }
    CHECK(elementSize(dtype.type) * 8 == dtype.bits);
    CHECK(std::count(seen.begin(), seen.end(), dtype.type) == 0);
    seen.push_back(dtype.type);
    const std::string names = std::string(" ") + detail::kSafeTensorsNames + " ";
    CHECK(names.find(std::string(" ") + dtype.name + " ") != std::string::npos);
  }
  CHECK(seen.size() == 18);
}

}  // namespace safetensors_info_test
