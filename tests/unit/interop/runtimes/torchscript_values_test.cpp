// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torchscript_values.h"

#include <ATen/Functions.h>
#include <new>
#include <optional>
#include <stdexcept>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/helpers.h"

namespace torchscript_values_test {

using namespace tenon;
using tenon::detail::call_torchscript;
using tenon::detail::describe_type;
using tenon::detail::from_ivalue;
using tenon::detail::to_ivalue;
using tenon::detail::without_traceback;
using tests::Doubles;
using tests::Floats;
using tests::Longs;

namespace {

const char* const kTraceback =
    "The following operation failed in the TorchScript interpreter.\n"
    "Traceback of TorchScript (most recent call last):\n"
    "  File \"code/m.py\", line 5, in forward\n"
    "RuntimeError: not this one, it is a line of the script\n"
    "    ~~~~~~~~~~ <--- HERE\n"
    "RuntimeError: list index out of range\n";

template <class F>
Error call(F&& thrower) {
  return call_torchscript([&] {
    thrower();
    return Error::Ok;
  });
}

c10::IValue there(const EValue& value) {
  c10::IValue made;
  REQUIRE(to_ivalue(value, made) == Error::Ok);
  return made;
}
EValue here(const c10::IValue& value) {
  EValue made;
  REQUIRE(from_ivalue(value, made) == Error::Ok);
  return made;
}
EValue and_back(const EValue& value) { return here(there(value)); }

TensorPtr two() { return make_tensor_ptr({2}, {1.0f, 2.0f}); }

ValueSpec described(const c10::TypePtr& type) {
  ValueSpec spec(ValueKind::TensorList);
  REQUIRE(describe_type(*type, spec) == Error::Ok);
  return spec;
}

}  // namespace

TEST_CASE("without_traceback: what stands behind it, else the first line that is not blank") {
  const std::pair<const char*, const char*> rows[] = {
      {kTraceback, "list index out of range"},
      {"one line", "one line"},
      {"\n  first\nsecond\n", "first"},
      {"said so:\nRuntimeError: something", "said so:"},
      {"", ""},
      {" \n ", ""},
      {"The following operation failed in the TorchScript interpreter.",
       "The following operation failed in the TorchScript interpreter."}};
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    CHECK(without_traceback(text) == expected);
  }
}

TEST_CASE(
    "call_torchscript: what is returned or thrown becomes one line and an error of its kind") {
  CHECK(call([] {}) == Error::Ok);
  RETURNS(InUse, "said here",
          call_torchscript([] { return detail::fail(Error::InUse, "said here"); }));
  RETURNS(InvalidArgument, "libtorch: list index out of range",
          call([] { throw std::runtime_error(kTraceback); }));
  RETURNS(InvalidArgument, "libtorch: said", call([] { throw torch::jit::JITException("said"); }));
  RETURNS(InvalidArgument, "libtorch: raised",
          call([] { throw torch::jit::JITException("with more", "a.B", "raised\nmore"); }));
  CHECK(std::string(last_error_message()).find("more") == std::string::npos);
  RETURNS(InvalidArgument, "libtorch: checked 5", call([] { TORCH_CHECK(false, "checked ", 5); }));
  RETURNS(NotSupported, "libtorch: no kernel",
          call([] { TORCH_CHECK_NOT_IMPLEMENTED(false, "no kernel"); }));
  RETURNS(OutOfMemory, "out of memory", call([] { throw std::bad_alloc(); }));
  RETURNS(OutOfBounds, "tenon's own",
          call([] { throw Exception(Error::OutOfBounds, "tenon's own"); }));
  RETURNS(OutOfMemory, "you tried to allocate 8 bytes", call([] {
            throw std::runtime_error(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes");
          }));
  RETURNS(OutOfMemory, "CUDA out of memory",
          call([] { throw std::runtime_error("CUDA out of memory. Tried to"); }));
}

TEST_CASE("to_ivalue: texts with zeros, and lists of a type without elements") {
  CHECK(there(std::string("a\0b", 3)).toStringRef() == std::string("a\0b", 3));
  CHECK(there(std::vector<int>{}).isIntList());
  CHECK(there(std::vector<float>{}).isDoubleList());
  CHECK(there(std::vector<bool>{}).isBoolList());
  CHECK(there(std::vector<Tensor>{}).isTensorList());
  CHECK(there(std::vector<std::optional<Tensor>>{}).type()->annotation_str() ==
        "List[Optional[Tensor]]");
}

TEST_CASE("to_ivalue: an undefined tensor is refused, and in a list its place is named") {
  c10::IValue value;
  RETURNS(InvalidState, "the source tensor is undefined", to_ivalue(EValue(Tensor()), value));
  RETURNS(InvalidState, "element 1: the source tensor is undefined",
          to_ivalue(std::vector<Tensor>{*two(), Tensor()}, value));
  CHECK(value.isNone());
}

TEST_CASE("from_ivalue: None, numbers, flags, texts and tensors come back as they went") {
  CHECK(and_back({}).isNone());
  CHECK(and_back(-5).toInt() == -5);
  CHECK(and_back(0.25).toDouble() == 0.25);
  CHECK(and_back(true).toBool());
  CHECK(and_back("text").toString() == "text");
  const TensorPtr x = two();
  CHECK(there(x).toTensor().data_ptr() == const_data_ptr(x));
  CHECK(const_data_ptr(and_back(x).toTensor()) == const_data_ptr(x));
  CHECK(here(at::Tensor()).isNone());
}

TEST_CASE("from_ivalue: a conjugation or negation that was put off is done") {
  const at::Tensor value = at::complex(at::ones({1}), at::full({1}, 2.0f));
  const Tensor conjugated = here(at::conj(value)).toTensor();
  const float* const data = static_cast<const float*>(const_data_ptr(conjugated));
  CHECK(data[0] == 1);
  CHECK(data[1] == -2);
  const Tensor negated = here(at::imag(at::conj(value))).toTensor();
  CHECK(tests::values<float>(negated) == Floats{-2});
}

TEST_CASE("describe_type: the kinds of values that there are") {
  const c10::TypePtr tensor = c10::TensorType::get();
  const std::vector<std::pair<c10::TypePtr, ValueKind>> rows{
      {tensor, ValueKind::Tensor},
      {c10::NoneType::get(), ValueKind::None},
      {c10::IntType::get(), ValueKind::Int},
      {c10::FloatType::get(), ValueKind::Double},
      {c10::BoolType::get(), ValueKind::Bool},
      {c10::StringType::get(), ValueKind::String},
      {c10::ListType::create(tensor), ValueKind::TensorList},
      {c10::ListType::create(c10::OptionalType::create(tensor)), ValueKind::OptionalTensorList},
      {c10::ListType::create(c10::IntType::get()), ValueKind::IntList},
      {c10::ListType::create(c10::FloatType::get()), ValueKind::DoubleList},
      {c10::ListType::create(c10::BoolType::get()), ValueKind::BoolList},
      {c10::ListType::create(c10::StringType::get()), ValueKind::StringList},
  };
  for (const auto& [type, kind] : rows) {
    INFO(type->annotation_str());
    CHECK(described(type).kind == kind);
    CHECK_FALSE(described(type).is_optional);
    CHECK_FALSE(described(type).is_described);
    if (kind == ValueKind::None) continue;
    CHECK(described(c10::OptionalType::create(type)).kind == kind);
    CHECK(described(c10::OptionalType::create(type)).is_optional);
  }
}

#if !TENON_ATEN_MODE

TEST_CASE("from_ivalue: a dtype that tenon lacks is refused by its name") {
  EValue value;
  RETURNS(NotSupported, "tenon has no dtype QInt8",
          from_ivalue(at::_empty_affine_quantized({2}, at::kQInt8), value));
}

#if !__has_include(<c10/util/Float8_e4m3fnuz.h>)
TEST_CASE("to_ivalue: a dtype that an older libtorch lacks is refused by its name") {
  c10::IValue value;
  RETURNS(NotSupported, "this libtorch has no dtype UInt16",
          to_ivalue(zeros({2}, ScalarType::UInt16), value));
  RETURNS(NotSupported, "this libtorch has no dtype Float8_e5m2",
          to_ivalue(zeros({2}, ScalarType::Float8_e5m2), value));
}
#endif

#endif

}  // namespace torchscript_values_test
