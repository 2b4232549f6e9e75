// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/onnxruntime_values.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace onnxruntime_values_test {

using namespace tenon;
using detail::MadeOnnx;
using detail::OnnxHandle;
using detail::OnnxValues;

namespace {

const OrtApi& api() { return *detail::onnx_api(); }

OnnxHandle<OrtMemoryInfo> host() {
  OnnxHandle<OrtMemoryInfo> made;
  REQUIRE(api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, MadeOnnx(made)) ==
          nullptr);
  return made;
}

/// A value of the library's own.
OnnxHandle<OrtValue> make_value(const Dims& sizes, ONNXTensorElementDataType type) {
  OrtAllocator* allocator = nullptr;
  REQUIRE(api().GetAllocatorWithDefaultOptions(&allocator) == nullptr);
  OnnxHandle<OrtValue> made;
  REQUIRE(api().CreateTensorAsOrtValue(allocator, sizes.data(), sizes.size(), type,
                                       MadeOnnx(made)) == nullptr);
  return made;
}

int environments = 0;  // that are released
std::shared_ptr<OrtEnv> environment() {
  environments = 0;
  return {reinterpret_cast<OrtEnv*>(&environments), [](OrtEnv*) { ++environments; }};
}

}  // namespace

TEST_CASE("onnxruntime_error: a status becomes an error with its text, once for each code") {
  CHECK(detail::check_onnx(nullptr) == Error::Ok);
  const std::pair<OrtErrorCode, Error> rows[] = {{ORT_INVALID_ARGUMENT, Error::InvalidArgument},
                                                 {ORT_NO_MODEL, Error::InvalidArgument},
                                                 {ORT_INVALID_PROTOBUF, Error::InvalidArgument},
                                                 {ORT_INVALID_GRAPH, Error::InvalidArgument},
                                                 {ORT_NO_SUCHFILE, Error::NotFound},
                                                 {ORT_MODEL_LOADED, Error::InvalidState},
                                                 {ORT_NOT_IMPLEMENTED, Error::NotSupported},
                                                 {ORT_RUNTIME_EXCEPTION, Error::NotSupported},
                                                 {ORT_ENGINE_ERROR, Error::NotSupported},
                                                 {ORT_EP_FAIL, Error::NotSupported},
                                                 {ORT_FAIL, Error::NotSupported}};
  for (const auto& [code, error] : rows) {
    CAPTURE(code);
    CHECK_RETURNS(error, "ONNX Runtime: it broke",
                  detail::check_onnx(api().CreateStatus(code, "it broke")));
  }
}

TEST_CASE("onnxruntime_value: a dtype that one of both lacks is refused") {
  ONNXTensorElementDataType theirs = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  ScalarType own = ScalarType::Undefined;
  RETURNS(NotSupported, "ONNX Runtime has no tensors of ComplexFloat",
          detail::to_onnx(ScalarType::ComplexFloat, theirs));
  RETURNS(NotSupported, "element type 8, texts",
          detail::from_onnx(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, own));
  RETURNS(NotSupported, "tenon has no dtype for ONNX's element type 21",
          detail::from_onnx(ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, own));
}

TEST_CASE("onnxruntime_value: what the library cannot read is not lent") {
  const OnnxHandle<OrtMemoryInfo> info = host();
  OnnxValues values(1);
  float memory[2] = {};
  RETURNS(InvalidState, "the tensor is undefined", values.lend(0, *info, Tensor()));
  RETURNS(NotSupported, "no tensors of ComplexDouble",
          values.lend(0, *info, zeros({2}, ScalarType::ComplexDouble)));
  RETURNS(NotSupported, "the tensor is on cuda:0, which the host cannot reach",
          values.lend(0, *info, for_blob(memory, {2}).device("cuda:0").make_tensor()));
  CHECK_FALSE(values.is_lent(0));
}

TEST_CASE("onnxruntime_value: a tensor adopts a value, and drops it before the environment") {
  Tensor tensor;
  {
    OnnxHandle<OrtValue> value = make_value({2, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32);
    void* data = nullptr;
    REQUIRE(api().GetTensorMutableData(value.get(), &data) == nullptr);
    REQUIRE(detail::adopt_from_onnx(std::move(value), environment(), tensor) == Error::Ok);
    CHECK(tensor.const_data_ptr() == data);
  }
  CHECK(tensor.sizes() == Dims{2, 3});
  CHECK(tensor.scalar_type() == ScalarType::Int);
  CHECK(tensor.ownership() == Ownership::Adopted);
  std::memset(tensor.mutable_data_ptr(), 0, tensor.nbytes());
  CHECK(environments == 0);
  const Tensor view = select(tensor, 0, 1);
  tensor = Tensor();
  CHECK(environments == 0);
  CHECK(view.const_data_ptr<int32_t>()[2] == 0);
}

TEST_CASE("onnxruntime_value: a value that cannot be adopted is released") {
  Tensor tensor;
  RETURNS(NotSupported, "element type 8, texts",
          detail::adopt_from_onnx(make_value({1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING),
                                  environment(), tensor));
  CHECK(environments == 1);
  RETURNS(NotSupported, "it is not a tensor", detail::adopt_from_onnx({}, environment(), tensor));
  CHECK(environments == 1);
  CHECK_FALSE(tensor.defined());
}

}  // namespace onnxruntime_values_test
