// SPDX-License-Identifier: MIT
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <vector>

#include "digits.h"

namespace {

struct Network {
  c10::InferenceMode mode;  // libtorch's fastest
  torch::inductor::AOTIModelPackageLoader loader;
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;

  explicit Network(const char* path) : loader(path, "model", /*run_single_threaded=*/true) {}
};

Network* network = nullptr;

}  // namespace

void open(const char* path) {
  at::set_num_threads(1);
  network = new Network(path);
}

void set_rows(int64_t rows) { network->inputs = {at::from_blob(images, {rows, 8, 8})}; }

const float* run() {
  network->outputs = network->loader.run(network->inputs);
  return network->outputs[0].const_data_ptr<float>();
}
