// SPDX-License-Identifier: MIT
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include "network.h"

struct Network {
  c10::InferenceMode mode;  // libtorch's fastest
  torch::inductor::AOTIModelPackageLoader loader;
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> results;

  explicit Network(const std::string& path) : loader(path, "model", /*run_single_threaded=*/true) {}

  void set_inputs(const std::vector<tenon::TensorPtr>& tensors) {
    for (const tenon::TensorPtr& tensor : tensors) {
      const at::IntArrayRef sizes(tensor->sizes().data(), tensor->sizes().size());
      const auto type = static_cast<at::ScalarType>(tensor->scalar_type());
      inputs.push_back(at::from_blob(tensor->mutable_data_ptr(), sizes, type));
    }
  }
  void run() { results = loader.run(inputs); }
  std::vector<tenon::TensorPtr> outputs() const {
    std::vector<tenon::TensorPtr> tensors;
    for (const at::Tensor& result : results) {
      const at::Tensor dense = result.contiguous();
      const tenon::ArrayRef<int64_t> sizes(dense.sizes().data(), dense.sizes().size());
      const auto type = static_cast<tenon::ScalarType>(dense.scalar_type());
      tensors.push_back(
          tenon::clone_tensor_ptr(*tenon::from_blob(dense.mutable_data_ptr(), sizes, type)));
    }
    return tensors;
  }
};

int main(int argc, char** argv) {
  at::set_num_threads(1);
  if (argc > 3 && ::dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL) == nullptr) fail(::dlerror());
  return run_network<Network>(argc, argv, ".pt2");
}
