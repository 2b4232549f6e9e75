// SPDX-License-Identifier: MIT
// Exits with 0 when a model's library finds torch's functions in this program and runs.
#include <tenon/interop/aoti.h>
#include <tenon/interop/aoti_shim.h>
#include <tenon/tenon.h>

#include <cstdio>

int main(int, char** argv) {
  tenon::AotiOptions options;
  options.assume_row_major = true;
  tenon::AotiModule model(tenon::AotiModel::load(argv[1], options).value());  // y = 2 x + bias
  const tenon::Error error = model.set_constants({{"layer.bias", *tenon::ones({4})}});
  const auto outputs = model.forward(tenon::zeros({3, 4}));
  if (error == tenon::Error::Ok && outputs.ok()) {
    return outputs->at(0).toTensor().const_data_ptr<float>()[11] == 1 ? 0 : 1;
  }
  std::puts(tenon::last_error_message());
  return 1;
}
