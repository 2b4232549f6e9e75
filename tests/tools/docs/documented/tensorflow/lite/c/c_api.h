// SPDX-License-Identifier: MIT
// TensorFlow Lite's C functions that docs/recipes_libraries.md uses, as documented. The model is always the
// same: Float {1, 2, 2, 3} to Char {1, 1}, the first element with the scale 0.1 and the zero point -2.
#pragma once

#include <cstddef>
#include <cstdint>

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 };
enum TfLiteType {
  kTfLiteNoType = 0,
  kTfLiteFloat32 = 1,
  kTfLiteInt32 = 2,
  kTfLiteUInt8 = 3,
  kTfLiteInt64 = 4,
  kTfLiteString = 5,
  kTfLiteBool = 6,
  kTfLiteInt16 = 7,
  kTfLiteInt8 = 9,
  kTfLiteFloat16 = 10
};
struct TfLiteQuantizationParams {
  float scale;
  int32_t zero_point;
};

struct TfLiteModel {};
struct TfLiteInterpreterOptions {};
struct TfLiteTensor {
  TfLiteType type;
  int32_t dims;
  int32_t sizes[4];
  void* data;
};
struct TfLiteInterpreter {
  float in[12] = {};
  int8_t out[1] = {};
  TfLiteTensor input = {kTfLiteFloat32, 4, {1, 2, 2, 3}, nullptr};
  TfLiteTensor output = {kTfLiteInt8, 2, {1, 1, 0, 0}, nullptr};
};

inline TfLiteModel* TfLiteModelCreateFromFile(const char*) { return new TfLiteModel(); }
inline void TfLiteModelDelete(TfLiteModel* model) { delete model; }
inline TfLiteInterpreter* TfLiteInterpreterCreate(const TfLiteModel*,
                                                  const TfLiteInterpreterOptions*) {
  return new TfLiteInterpreter();
}
inline void TfLiteInterpreterDelete(TfLiteInterpreter* interpreter) { delete interpreter; }
inline TfLiteStatus TfLiteInterpreterAllocateTensors(TfLiteInterpreter* interpreter) {
  interpreter->input.data = interpreter->in;
  interpreter->output.data = interpreter->out;
  return kTfLiteOk;
}
inline TfLiteStatus TfLiteInterpreterInvoke(TfLiteInterpreter* interpreter) {
  interpreter->out[0] = static_cast<int8_t>(interpreter->in[0] * 10 - 2 + 0.5f);
  return kTfLiteOk;
}
inline TfLiteTensor* TfLiteInterpreterGetInputTensor(const TfLiteInterpreter* interpreter,
                                                     int32_t) {
  return const_cast<TfLiteTensor*>(&interpreter->input);
}
inline const TfLiteTensor* TfLiteInterpreterGetOutputTensor(const TfLiteInterpreter* interpreter,
                                                            int32_t) {
  return &interpreter->output;
}
inline TfLiteType TfLiteTensorType(const TfLiteTensor* tensor) { return tensor->type; }
inline int32_t TfLiteTensorNumDims(const TfLiteTensor* tensor) { return tensor->dims; }
inline int32_t TfLiteTensorDim(const TfLiteTensor* tensor, int32_t i) { return tensor->sizes[i]; }
inline void* TfLiteTensorData(const TfLiteTensor* tensor) { return tensor->data; }
inline TfLiteQuantizationParams TfLiteTensorQuantizationParams(const TfLiteTensor*) {
  return {0.1f, -2};
}
