// SPDX-License-Identifier: MIT
#include <onnxruntime_c_api.h>

#include "digits.h"

namespace {

const OrtApi* const api = OrtGetApiBase()->GetApi(ORT_API_VERSION);

void check(OrtStatus* status) {
  if (status != nullptr) fail(api->GetErrorMessage(status));
}

OrtSession* session = nullptr;
OrtMemoryInfo* host = nullptr;
OrtValue* input = nullptr;
OrtValue* output = nullptr;

void wrap(float* data, const int64_t* sizes, size_t rank, OrtValue** value) {
  if (*value != nullptr) api->ReleaseValue(*value);
  size_t bytes = sizeof(float);
  for (size_t d = 0; d < rank; ++d) bytes *= static_cast<size_t>(sizes[d]);
  check(api->CreateTensorWithDataAsOrtValue(host, data, bytes, sizes, rank,
                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, value));
}

}  // namespace

void open(const char* path) {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "digits", &env));
  check(api->CreateSessionOptions(&options));
  check(api->SetIntraOpNumThreads(options, 1));
  check(api->SetInterOpNumThreads(options, 1));
  check(api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
  check(api->CreateSession(env, path, options, &session));
  check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host));
}

void set_rows(int64_t rows) {
  const int64_t sizes[] = {rows, 8, 8};
  const int64_t out_sizes[] = {rows, kDigits};
  wrap(images, sizes, 3, &input);
  wrap(scores, out_sizes, 2, &output);
}

const float* run() {
  static const char* const input_names[] = {"images"};
  static const char* const output_names[] = {"scores"};
  check(api->Run(session, nullptr, input_names, &input, 1, output_names, 1, &output));
  return scores;
}
