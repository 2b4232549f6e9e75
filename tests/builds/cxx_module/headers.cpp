// SPDX-License-Identifier: MIT
// Includes tenon's headers, in a program whose other file may import the module.
#include <tenon/tenon.h>

#include <string>

tenon::TensorPtr counted_by_headers() {
  TENON_CHECK(tenon::kMaxDims > 0, tenon::Error::InvalidState, "kMaxDims is ", tenon::kMaxDims);
  return tenon::arange(3);
}
std::string text_by_headers(const tenon::Tensor& tensor) { return to_string(tensor); }
tenon::Backend* host_backend_of_headers() { return &tenon::host_backend(); }
void throw_by_headers() { tenon::ones({1}, tenon::ScalarType::Undefined); }
