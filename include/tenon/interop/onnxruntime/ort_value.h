// SPDX-License-Identifier: MIT
// ONNX Runtime's C API: its errors as tenon's, and a tensor as one of its values and back, over the
// same memory.
#pragma once

#if !__has_include(<onnxruntime_c_api.h>)
#error "tenon: interop/onnxruntime.h needs ONNX Runtime's <onnxruntime_c_api.h> in the include path"
#endif

#include <vector>

#include <onnxruntime_c_api.h>

#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The library's functions, as the header at hand lists them; null from a library that is older.
/// Cost: asking is as cheap as keeping what it says.
inline const OrtApi* onnx_api() noexcept { return OrtGetApiBase()->GetApi(ORT_API_VERSION); }

/// The kind of error that it is here. Of a model that is broken: InvalidArgument; of a run that
/// went wrong, for which the library has no finer kinds: NotSupported.
constexpr Error own_error(OrtErrorCode code) noexcept {
  switch (code) {
    case ORT_OK: return Error::Ok;
    case ORT_INVALID_ARGUMENT:
    case ORT_NO_MODEL:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH: return Error::InvalidArgument;
    case ORT_NO_SUCHFILE: return Error::NotFound;
    case ORT_MODEL_LOADED: return Error::InvalidState;
    default: return Error::NotSupported;
  }
}

/// The status of a call, which is released: Ok, or the error with the message "ONNX Runtime: <its
/// text>".
inline Error check_onnx(const OrtApi& api, OrtStatus* status) noexcept {
  if (status == nullptr) return Error::Ok;
  const Error error =
      fail(own_error(api.GetErrorCode(status)), "ONNX Runtime: ", api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return error;
}

struct OnnxRelease {
  void operator()(OrtEnv* object) const noexcept { onnx_api()->ReleaseEnv(object); }
  void operator()(OrtMemoryInfo* object) const noexcept { onnx_api()->ReleaseMemoryInfo(object); }
  void operator()(OrtSession* object) const noexcept { onnx_api()->ReleaseSession(object); }
  void operator()(OrtTypeInfo* object) const noexcept { onnx_api()->ReleaseTypeInfo(object); }
  void operator()(OrtTensorTypeAndShapeInfo* object) const noexcept {
    onnx_api()->ReleaseTensorTypeAndShapeInfo(object);
  }
  void operator()(OrtValue* object) const noexcept { onnx_api()->ReleaseValue(object); }
};

/// Owns one of the library's objects.
template <class T>
using OnnxHandle = std::unique_ptr<T, OnnxRelease>;

/// Gives a handle what a function of the library's makes: `Create(…, MadeOnnx(handle))`.
/// Source: std::out_ptr.
template <class T>
class MadeOnnx {
 public:
  explicit MadeOnnx(OnnxHandle<T>& handle) noexcept : handle_(handle) {}
  ~MadeOnnx() { handle_.reset(object_); }
  operator T**() noexcept { return &object_; }

 private:
  OnnxHandle<T>& handle_;
  T* object_ = nullptr;
};

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
    if (dtype.own == from) return to = dtype.theirs, Error::Ok;
  }
  return fail(Error::NotSupported, "ONNX Runtime has no tensors of ", from);
}

inline Error from_onnx(ONNXTensorElementDataType from, ScalarType& to) noexcept {
  for (const OnnxDtype& dtype : kOnnxDtypes) {
    if (dtype.theirs == from) return to = dtype.own, Error::Ok;
  }
  return fail(Error::NotSupported, "tenon has no dtype for ONNX's element type ",
              static_cast<int>(from),
              from == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING ? ", texts" : "");
}

/// The element type and sizes of a tensor, -1 for an open one.
inline Error read_onnx_shape(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info,
                             ScalarType& type, Dims& sizes) noexcept {
  ONNXTensorElementDataType theirs = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  TENON_TRY(check_onnx(api, api.GetTensorElementType(&info, &theirs)));
  TENON_TRY(from_onnx(theirs, type));
  size_t rank = 0;
  TENON_TRY(check_onnx(api, api.GetDimensionsCount(&info, &rank)));
  if (TENON_UNLIKELY(!sizes.resize_for_overwrite(rank))) return check_dims("sizes", sizes);
  return check_onnx(api, api.GetDimensions(&info, sizes.data(), rank));
}

/// Checks that the library can be given a tensor's memory.
inline Error check_for_onnx(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  if (TENON_UNLIKELY(!tensor.is_host_accessible())) return fail_host_access(tensor);
  if (TENON_UNLIKELY(!tensor.layout.is_contiguous())) {
    return fail(Error::NotSupported, "strides ", tensor.layout.strides, " of sizes ",
                tensor.layout.sizes,
                " are not contiguous, as ONNX Runtime's "
                "tensors are; contiguous() makes a copy");
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
    return OnnxHandle<OrtValue>(std::exchange(values_[i], nullptr));
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

/// Makes a tensor over the memory of a value that the library made.
///
/// Ownership: the tensor keeps the value and the environment.
/// Errors: NotSupported for what is no tensor, or one of a dtype that tenon lacks; OutOfMemory.
inline Error adopt_from_onnx(const OrtApi& api, OnnxHandle<OrtValue> value,
                             std::shared_ptr<OrtEnv> environment, Tensor& tensor) noexcept {
  int is_tensor = 0;
  if (value != nullptr) TENON_TRY(check_onnx(api, api.IsTensor(value.get(), &is_tensor)));
  if (TENON_UNLIKELY(is_tensor == 0)) return fail(Error::NotSupported, "it is no tensor");
  OnnxHandle<OrtTensorTypeAndShapeInfo> info;
  TENON_TRY(check_onnx(api, api.GetTensorTypeAndShape(value.get(), MadeOnnx(info))));
  ScalarType type = ScalarType::Undefined;
  Dims sizes;
  TENON_TRY(read_onnx_shape(api, *info, type, sizes));
  void* data = nullptr;
  TENON_TRY(check_onnx(api, api.GetTensorMutableData(value.get(), &data)));
  // The value goes before the environment.
  Deleter release(data, [environment = std::move(environment),
                         kept = std::move(value)](void*) mutable noexcept { kept.reset(); });
  Made<Tensor> made;
  TENON_TRY(make_from_pointer(data, sizes, {}, {}, public_type(type),
                              TensorShapeDynamism::DYNAMIC_BOUND, Device(), release, made.draft()));
  TENON_TRY(made.commit());
  tensor = made.finish("forward", Error::Ok);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
