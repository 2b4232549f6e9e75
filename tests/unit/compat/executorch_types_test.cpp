// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_types.h"

#include "support/catch.h"

namespace executorch_types_test {

using executorch::runtime::Error;
using executorch::runtime::Result;

TEST_CASE("executorch: its vocabulary is tenon's") {
  namespace aten = executorch::aten;
  namespace runtime = executorch::runtime;
  CHECK(std::is_same_v<aten::Tensor, tenon::Tensor>);
  CHECK(std::is_same_v<aten::SizesType, int64_t>);
  CHECK(aten::IntArrayRef().empty());
  CHECK(aten::elementSize(aten::ScalarType::Half) == 2);
  CHECK(aten::canCast(aten::ScalarType::Int, aten::ScalarType::Float));
  CHECK(runtime::CppTypeToScalarType<double>::value == aten::ScalarType::Double);

  const runtime::etensor::Device cpu(runtime::etensor::DeviceType::CPU);
  CHECK(cpu.is_cpu());
  CHECK(std::is_same_v<runtime::etensor::Tensor, tenon::Tensor>);
  const int numbers[] = {1, 2};
  CHECK(runtime::ArrayRef<int>(numbers)[1] == 2);
  const aten::Tensor tensors[2];
  CHECK(aten::TensorList(tensors).size() == 2);
  const aten::optional<int> none = aten::nullopt;
  CHECK(!none.has_value());
  CHECK(aten::string_view("text").size() == 4);
}

TEST_CASE("executorch: quantised and bit types have c10's numbers, and are not valid") {
  using executorch::aten::ScalarType;
  CHECK(static_cast<int>(ScalarType::QInt8) == 12);
  CHECK(static_cast<int>(ScalarType::QUInt4x2) == 16);
  CHECK(static_cast<int>(ScalarType::Bits16) == 22);
  CHECK(!tenon::isValidType(ScalarType::QInt8));
  CHECK(executorch::aten::elementSize(ScalarType::QUInt2x4) == 0);
  RAISES(InvalidType, "is not an element type", tenon::zeros({1}, ScalarType::QInt32));
}

TEST_CASE(
    "executorch: errors have ExecuTorch's names and numbers, and tenon's become the nearest") {
  using executorch::runtime::internal::error_of;
  CHECK(static_cast<unsigned>(Error::InvalidProgram) == 0x23);
  CHECK(std::string(to_string(Error::InvalidProgram)) == "Error::InvalidProgram");
  CHECK(std::string(to_string(static_cast<Error>(0x99))) == "Error::Unknown");
  CHECK(error_of(tenon::Error::Ok) == Error::Ok);
  CHECK(error_of(tenon::Error::InvalidArgument) == Error::InvalidArgument);
  CHECK(error_of(tenon::Error::InvalidType) == Error::InvalidType);
  CHECK(error_of(tenon::Error::InvalidState) == Error::InvalidState);
  CHECK(error_of(tenon::Error::NotSupported) == Error::NotSupported);
  CHECK(error_of(tenon::Error::OutOfMemory) == Error::MemoryAllocationFailed);
  CHECK(error_of(tenon::Error::OutOfBounds) == Error::InvalidArgument);
  CHECK(error_of(tenon::Error::InUse) == Error::InvalidState);
  CHECK(error_of(tenon::Error::NotFound) == Error::NotFound);
  CHECK(error_of(tenon::Error::AccessFailed) == Error::AccessFailed);
  CHECK(error_of(tenon::Error::Internal) == Error::Internal);
}

TEST_CASE("executorch: a Result has a value or an error") {
  Result<int> five(5);
  CHECK(five.ok());
  CHECK(five.error() == Error::Ok);
  CHECK(five.get() == 5);
  five.get() = 6;
  const auto& six = five;
  CHECK(six.get() == 6);
  CHECK(*six == 6);
  const Result<std::string> text(std::string("abc"));
  CHECK(text->size() == 3);
  Result<std::unique_ptr<int>> owned(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(*owned);
  CHECK(*taken == 7);
  const Result<int> failed(Error::InvalidProgram);
  CHECK(!failed.ok());
  CHECK(failed.error() == Error::InvalidProgram);
  RAISES(InvalidState, "Result: no value, but Error::InvalidProgram", failed.get());
  CHECK(Result<int>(Error::Ok).error() == Error::Internal);
}

}  // namespace executorch_types_test
