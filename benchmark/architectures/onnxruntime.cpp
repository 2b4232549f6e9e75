// SPDX-License-Identifier: MIT
#include <tenon/interop/onnxruntime.h>

#include "network.h"

namespace {

const OrtSessionOptions* one_thread() {
  const OrtApi* const api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  OrtSessionOptions* options = nullptr;
  if (api->CreateSessionOptions(&options) != nullptr ||
      api->SetIntraOpNumThreads(options, 1) != nullptr) {
    fail("ONNX Runtime: an error");
  }
  return options;
}

struct OneThread : ModuleNetwork<tenon::OnnxModule> {
  explicit OneThread(const std::string& path) : ModuleNetwork(path, one_thread()) {}
};

}  // namespace

int main(int argc, char** argv) { return run_network<OneThread>(argc, argv, ".onnx"); }
