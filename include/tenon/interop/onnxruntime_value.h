// SPDX-License-Identifier: MIT
// A tensor as a value of ONNX Runtime's and back, over the same memory.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"
#include "tenon/interop/onnxruntime_error.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

#if defined(TENON_HAS_ONNXRUNTIME)

TENON_BEGIN_NAMESPACE
namespace detail {

struct OnnxDtype {
  ScalarType own;
  ONNXTensorElementDataType theirs;
};

/// The dtypes that both have. For complex ones the library's header has numbers, but the library no
/// tensors.
inline constexpr OnnxDtype kOnnxDtypes[] = {
    {ScalarType::Float, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
    {ScalarType::Long, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},
    {ScalarType::Int, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32},
    {ScalarType::Byte, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8},
    {ScalarType::Half, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16},
    {ScalarType::BFloat16, ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16},
    {ScalarType::Bool, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL},
    {ScalarType::Double, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE},
    {ScalarType::Char, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8},
    {ScalarType::Short, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16},
    {ScalarType::UInt16, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16},
    {ScalarType::UInt32, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32},
    {ScalarType::UInt64, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64},
    {ScalarType::Float8_e5m2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2},
    {ScalarType::Float8_e4m3fn, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN},
    {ScalarType::Float8_e5m2fnuz, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ},
    {ScalarType::Float8_e4m3fnuz, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ},
};

inline Error to_onnx(ScalarType from, ONNXTensorElementDataType& to) noexcept {
  for (const OnnxDtype& dtype : kOnnxDtypes) {
    if (dtype.own == from) {
      to = dtype.theirs;
      return Error::Ok;
    }
  }
  return fail(Error::NotSupported, {"ONNX Runtime has no tensors of ", from});
}

inline Error from_onnx(ONNXTensorElementDataType from, ScalarType& to) noexcept {
  for (const OnnxDtype& dtype : kOnnxDtypes) {
    if (dtype.theirs == from) {
      to = dtype.own;
      return Error::Ok;
    }
  }
  if (from == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return fail(Error::NotSupported, {"its elements are texts, of which tenon has no tensors"});
  }
  return fail(Error::NotSupported,
              {"tenon has no dtype for ONNX's element type ", static_cast<int>(from)});
}

/// Checks that the library can be given a tensor's memory.
inline Error check_for_onnx(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  if (TENON_UNLIKELY(!tensor.is_host_accessible())) return fail_host_access(tensor);
  if (TENON_UNLIKELY(!tensor.layout.is_contiguous())) {
    return fail(Error::NotSupported,
                {"strides ", tensor.layout.strides, " of sizes ", tensor.layout.sizes,
                 " are not contiguous, as ONNX Runtime's "
                 "tensors are; contiguous() makes a copy"});
  }
  return Error::Ok;
}

/// The values of a call, of which some are over a tensor's memory; released with it.
class OnnxValues {
 public:
  OnnxValues(const OrtApi& api, size_t count) : api_(api), values_(count), lent_(count) {}
  OnnxValues(const OnnxValues&) = delete;
  OnnxValues& operator=(const OnnxValues&) = delete;
  ~OnnxValues() {
    for (OrtValue* const value : values_) {
      if (value != nullptr) api_.ReleaseValue(value);
    }
  }

  OrtValue** data() noexcept { return values_.data(); }
  /// Whether lend() made it.
  bool is_lent(size_t i) const noexcept { return lent_[i]; }
  OnnxHandle<OrtValue> take(size_t i) noexcept {
    return {std::exchange(values_[i], nullptr), OnnxRelease<OrtValue>{api_.ReleaseValue}};
  }

  /// Makes value i one over a tensor's memory, which has to stay. That it may be written to is not
  /// checked.
  /// Errors: those of check_for_onnx(); NotSupported for a dtype that the library lacks.
  /// Source: OrtApi::CreateTensorWithDataAsOrtValue.
  Error lend(size_t i, const OrtMemoryInfo& host, const TensorArg& source) noexcept {
    TENON_TRY(check_defined(source, "the tensor"));
    const TensorFields& tensor = fields(source);
    TENON_TRY(check_for_onnx(tensor));
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    TENON_TRY(to_onnx(tensor.type, type));
    const Dims& sizes = tensor.layout.sizes;
    TENON_TRY(check_onnx(
        api_, api_.CreateTensorWithDataAsOrtValue(&host, tensor.data, tensor.nbytes(), sizes.data(),
                                                  sizes.size(), type, &values_[i])));
    lent_[i] = true;
    return Error::Ok;
  }

 private:
  const OrtApi& api_;
  std::vector<OrtValue*> values_;
  std::vector<bool> lent_;
};

/// A tensor's duty towards the library: the value that has its memory goes first.
struct OnnxOwner {
  std::shared_ptr<OrtEnv> environment;
  OnnxHandle<OrtValue> value;
  void operator()(void*) noexcept { value.reset(); }
};

/// Makes a tensor over the memory of a value that the library made.
///
/// Ownership: the tensor keeps the value and the environment.
/// Errors: NotSupported for what is no tensor, or one of a dtype that tenon lacks; OutOfMemory.
inline Error adopt_from_onnx(const OrtApi& api, OnnxHandle<OrtValue> value,
                             std::shared_ptr<OrtEnv> environment, Tensor& tensor) noexcept {
  int is_tensor = 0;
  if (value != nullptr) TENON_TRY(check_onnx(api, api.IsTensor(value.get(), &is_tensor)));
  if (TENON_UNLIKELY(is_tensor == 0)) return fail(Error::NotSupported, {"it is no tensor"});
  OnnxHandle<OrtTensorTypeAndShapeInfo> info;
  TENON_TRY(make_onnx(api, api.ReleaseTensorTypeAndShapeInfo, info,
                      [&](OrtTensorTypeAndShapeInfo** made) {
                        return api.GetTensorTypeAndShape(value.get(), made);
                      }));
  ONNXTensorElementDataType theirs = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  ScalarType type = ScalarType::Undefined;
  TENON_TRY(check_onnx(api, api.GetTensorElementType(info.get(), &theirs)));
  TENON_TRY(from_onnx(theirs, type));
  size_t rank = 0;
  TENON_TRY(check_onnx(api, api.GetDimensionsCount(info.get(), &rank)));
  Dims sizes;
  if (TENON_UNLIKELY(!sizes.resize_for_overwrite(rank))) return check_dims("sizes", sizes);
  TENON_TRY(check_onnx(api, api.GetDimensions(info.get(), sizes.data(), rank)));
  void* data = nullptr;
  TENON_TRY(check_onnx(api, api.GetTensorMutableData(value.get(), &data)));
  Deleter release(data, OnnxOwner{std::move(environment), std::move(value)});
  Made<Tensor> made;
  TENON_TRY(make_from_pointer(data, sizes, {}, {}, public_type(type),
                              TensorShapeDynamism::DYNAMIC_BOUND, Device(), release, made.draft()));
  TENON_TRY(made.commit());
  tensor = made.finish("forward", Error::Ok);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE

#endif
