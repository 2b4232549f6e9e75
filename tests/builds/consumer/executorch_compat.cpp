// SPDX-License-Identifier: MIT
// A program for ExecuTorch's headers, which here are tenon's. Exits with 0 when the model runs: that of a file, or
// without one a function.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <tenon/module/function_module.h>
#include <tenon/module/runtimes.h>

using executorch::extension::Module;

static const bool is_registered =
    tenon::register_runtime("a function", [](const tenon::ModelFile&) {
      return std::make_shared<tenon::FunctionModule>(
          [](tenon::Span<const tenon::EValue> in) { return in[0]; });
    });

int main(int argc, char** argv) {
  Module module(argc == 2 ? argv[1] : "a function");
  const auto images = executorch::extension::zeros({3, 8, 8});
  const auto result = module.forward(images);
  return is_registered && result.ok() && result->at(0).toTensor().size(0) == 3 ? 0 : 1;
}
