// SPDX-License-Identifier: MIT
// from_executorch of EValues. Needs ExecuTorch, and is built with it by
// interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch_evalue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;
using EEValue = executorch::runtime::EValue;
using executorch::runtime::BoxedEvalueList;

namespace {

namespace theirs = executorch::aten;
using Floats = std::vector<float>;

float memory[4] = {1, 2, 3, 4};
int32_t shape[1] = {4};
uint8_t order[1] = {0};
int32_t strides[1] = {1};

// A tensor of theirs over `memory`, as a method has it.
struct Planned {
  theirs::TensorImpl impl{theirs::ScalarType::Float, 1, shape, memory, order, strides};
  theirs::Tensor tensor{&impl};
};

// An owner whose end is counted.
std::shared_ptr<int> counter(Calls& calls) {
  return std::shared_ptr<int>(new int(0), [&calls](int* p) {
    calls.deleter()(p);
    delete p;
  });
}

}  // namespace

TEST_CASE("from_executorch: None, numbers and flags of an EValue") {
  CHECK(from_executorch(EEValue()).isNone());
  CHECK(from_executorch(EEValue(int64_t{-5})).toInt() == -5);
  CHECK(from_executorch(EEValue(0.5)).toDouble() == 0.5);
  CHECK(from_executorch(EEValue(true)).toBool());
}

TEST_CASE("from_executorch: the text of an EValue is copied") {
  std::string text = "nchw";
  theirs::ArrayRef<char> characters(text.data(), text.size());
  const tenon::EValue value = from_executorch(EEValue(&characters));
  text = "nhwc";
  CHECK(value.toString() == "nchw");
}

TEST_CASE("from_executorch: lists of numbers and flags of an EValue are copied") {
  double doubles[] = {0.5, 1.5};
  bool bools[] = {true, false, true};
  theirs::ArrayRef<double> double_list(doubles, 2);
  theirs::ArrayRef<bool> bool_list(bools, 3);
  const tenon::EValue a = from_executorch(EEValue(&double_list));
  const tenon::EValue b = from_executorch(EEValue(&bool_list));
  doubles[0] = 9;
  bools[0] = false;
  CHECK(std::vector<double>(a.toDoubleList().begin(), a.toDoubleList().end()) ==
        std::vector<double>{0.5, 1.5});
  CHECK(std::vector<bool>(b.toBoolList().begin(), b.toBoolList().end()) ==
        std::vector<bool>{true, false, true});
  EEValue elements[] = {EEValue(int64_t{7}), EEValue(int64_t{8})};
  EEValue* pointers[] = {&elements[0], &elements[1]};
  int64_t room[2] = {};
  BoxedEvalueList<int64_t> ints(pointers, room, 2);
  CHECK(tests::list(from_executorch(EEValue(&ints)).toIntList()) == Vector{7, 8});
}

TEST_CASE("from_executorch: the tensor of an EValue is borrowed") {
  Planned planned;
  const tenon::EValue value = from_executorch(EEValue(planned.tensor));
  CHECK(value.toTensor().ownership() == Ownership::Borrowed);
  CHECK(value.toTensor().const_data_ptr() == memory);
  CHECK(values<float>(value.toTensor()) == Floats{1, 2, 3, 4});
}

TEST_CASE("from_executorch: with an owner, each tensor of an EValue keeps it") {
  Calls calls;
  Planned planned;
  tenon::EValue value = from_executorch(EEValue(planned.tensor), counter(calls));
  tenon::Tensor t = value.toTensor();
  value = tenon::EValue();
  CHECK(calls.count == 0);
  CHECK(t.ownership() == Ownership::Adopted);
  t = tenon::Tensor();
  CHECK(calls.count == 1);
  CHECK(from_executorch(EEValue(int64_t{1}), counter(calls)).toInt() == 1);
  CHECK(calls.count == 2);
}

TEST_CASE("from_executorch: lists of tensors, optional ones too") {
  Calls calls;
  Planned planned;
  EEValue elements[] = {EEValue(planned.tensor), EEValue()};
  EEValue* pointers[] = {&elements[0], &elements[0]};
  std::vector<theirs::Tensor> room(2, theirs::Tensor(nullptr));
  BoxedEvalueList<theirs::Tensor> tensors(pointers, room.data(), 2);
  tenon::EValue list = from_executorch(EEValue(&tensors), counter(calls));
  REQUIRE(list.toTensorList().size() == 2);
  CHECK(list.toTensorList()[0].const_data_ptr() == memory);
  CHECK(values<float>(list.toTensorList()[1]) == Floats{1, 2, 3, 4});
  CHECK(calls.count == 0);
  list = tenon::EValue();
  CHECK(calls.count == 1);

  EEValue* mixed[] = {&elements[1], &elements[0]};
  std::vector<std::optional<theirs::Tensor>> optional_room(2);
  BoxedEvalueList<std::optional<theirs::Tensor>> optionals(mixed, optional_room.data(), 2);
  const tenon::EValue some = from_executorch(EEValue(&optionals));
  REQUIRE(some.toOptionalTensorList().size() == 2);
  CHECK_FALSE(some.toOptionalTensorList()[0].defined());
  CHECK(some.toOptionalTensorList()[1].const_data_ptr() == memory);
  CHECK(some.toOptionalTensorList()[1].ownership() == Ownership::Borrowed);
}

TEST_CASE("from_executorch: what an EValue cannot give is an error, and the owner is dropped") {
  Calls calls;
  Planned planned;
  theirs::TensorImpl unbound(theirs::ScalarType::Float, 1, shape, nullptr);
  CHECK_ERROR(Error::InvalidState, "from_executorch: ExecuTorch's tensor has no memory yet",
              from_executorch(EEValue(theirs::Tensor(&unbound)), counter(calls)));
  CHECK(calls.count == 1);

  EEValue elements[] = {EEValue(planned.tensor), EEValue(theirs::Tensor(&unbound)), EEValue(0.5)};
  std::vector<theirs::Tensor> room(2, theirs::Tensor(nullptr));
  EEValue* second[] = {&elements[0], &elements[1]};
  BoxedEvalueList<theirs::Tensor> one_bad(second, room.data(), 2);
  const auto refused = try_from_executorch(EEValue(&one_bad), counter(calls));
  CHECK(refused.error() == Error::InvalidState);
  CHECK(std::string(refused.message()) ==
        "try_from_executorch: element 1 of a ListTensor: ExecuTorch's tensor has no memory yet");
  CHECK(calls.count == 2);

  EEValue* other_type[] = {&elements[0], &elements[2]};
  BoxedEvalueList<theirs::Tensor> mistyped(other_type, room.data(), 2);
  const auto wrong = try_from_executorch(EEValue(&mistyped));
  CHECK(wrong.error() == Error::InvalidType);
  CHECK(std::string(wrong.message()) ==
        "try_from_executorch: reading a ListTensor: ExecuTorch says InvalidType (0x13)");

  EEValue scalars;
  scalars.tag = executorch::runtime::Tag::ListScalar;
  CHECK_ERROR(Error::NotSupported, "tag number 10", from_executorch(scalars));
}

TEST_CASE("from_executorch: when memory for a text or a list is out, that is the error") {
  if (!tests::heap_is_counted()) return;  // sanitizers have their own heap
  Planned planned;
  double doubles[] = {0.5, 1.5};
  theirs::ArrayRef<double> double_list(doubles, 2);
  const EEValue list(&double_list);
  tests::start_counting(1);
  const auto made = try_from_executorch(list);
  tests::stop_counting();
  CHECK(made.error() == Error::OutOfMemory);
  const EEValue tensor(planned.tensor);
  tests::start_counting(1);
  const auto borrowed = try_from_executorch(tensor);
  tests::stop_counting();
  CHECK(borrowed.error() == Error::OutOfMemory);
}
