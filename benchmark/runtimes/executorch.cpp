// SPDX-License-Identifier: MIT
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/threadpool/threadpool_guard.h>

#include "digits.h"

namespace {

namespace et = executorch::extension;

void check(executorch::runtime::Error error) {
  if (error != executorch::runtime::Error::Ok) fail("ExecuTorch: an error");
}

struct Network {
  et::Module module;
  et::TensorPtr input;
  et::TensorPtr output = et::from_blob(scores, {kMostRows, kDigits});  // as the model has it

  explicit Network(const char* path) : module(path, et::Module::LoadMode::Mmap) {}
};

Network* network = nullptr;

}  // namespace

void open(const char* path) {
  network = new Network(path);
  check(network->module.load_forward());
  check(network->module.set_output(network->output));
}

void set_rows(int64_t rows) {
  network->input = et::from_blob(images, {static_cast<int>(rows), 8, 8});
}

const float* run() {
  static const et::threadpool::NoThreadPoolGuard one_thread;
  // The input of a run is an argument: one that was set once keeps its first shape.
  if (!network->module.forward(network->input).ok()) fail("ExecuTorch: forward failed");
  return scores;
}
