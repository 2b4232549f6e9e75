// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_values.h"

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace torch_stable_values_test {

using namespace tenon;
using detail::from_stack;
using detail::StableArgument;
using detail::StableList;
using detail::StableSlots;
using detail::to_stack;

namespace {

StableArgument argument(const std::string& type) {
  StableArgument made;
  made.type = type;
  return made;
}
/// Pushes a value, reads it, and drops what the slot owns.
EValue there_and_back(const std::string& type, const EValue& value) {
  INFO(type);
  const std::vector<StableArgument> types{argument(type)};
  StableIValue slot = 0;
  EValue back;
  REQUIRE(detail::push_stable(type, value, slot) == Error::Ok);
  REQUIRE(detail::read_stable(type, slot, back) == Error::Ok);
  StableSlots{types, &slot}.drop();
  return back;
}
Error pushing(const char* type, const EValue& value) {
  StableIValue slot = 0;
  return detail::push_stable(type, value, slot);
}
Error reading(const char* type, StableIValue slot) {
  EValue out;
  return detail::read_stable(type, slot, out);
}
StableIValue handle_of(const Tensor& tensor) {
  StableIValue slot = 0;
  REQUIRE(detail::push_stable("Tensor", tensor, slot) == Error::Ok);
  return slot;
}

}  // namespace

TEST_CASE("values: go on the stack and come back") {
  const TensorPtr x = ones({2});
  const void* const data = x->const_data_ptr();
  CHECK(there_and_back("Tensor", *x).toTensor().const_data_ptr() == data);
  CHECK(there_and_back("Tensor?", *x).toTensor().const_data_ptr() == data);
  CHECK(there_and_back("Tensor?", none).isNone());
  CHECK_FALSE(there_and_back("Tensor", Tensor()).toTensor().defined());
  CHECK(there_and_back("int", int64_t{-5}).toInt() == -5);
  CHECK(there_and_back("int?", int64_t{7}).toInt() == 7);
  CHECK(there_and_back("float", 2.5).toDouble() == 2.5);
  CHECK(there_and_back("bool", true).toBool());
  CHECK(there_and_back("str", "some text that is not short").toString() ==
        "some text that is not short");
  CHECK(there_and_back("str?", "a").toString() == "a");
  const EValue texts = there_and_back("str[]", tests::Texts{"", std::string("a\0b", 3)});
  CHECK(texts.toStringList()[0].empty());
  CHECK(texts.toStringList()[1] == std::string_view("a\0b", 3));
  CHECK(there_and_back("str[]", tests::Texts()).isStringList());
  CHECK(there_and_back("ScalarType", int64_t{6}).toInt() == 6);
  CHECK(there_and_back("MemoryFormat?", int64_t{2}).toInt() == 2);
  CHECK(there_and_back("Layout?", none).isNone());
  CHECK(there_and_back("Generator?", none).isNone());
  CHECK(there_and_back("Device", "cpu").toString() == "cpu");
  CHECK(there_and_back("Device?", "cpu:0").toString() == "cpu");
  CHECK(there_and_back("int[]", std::vector<int64_t>{3, -4}).toIntList() ==
        ArrayRef<int64_t>({3, -4}));
  CHECK(there_and_back("int[2]?", std::vector<int64_t>{3, 4}).toIntList().size() == 2);
  CHECK(there_and_back("int[]?", none).isNone());
  CHECK(there_and_back("float[]", std::vector<double>{0.5}).toDoubleList() ==
        ArrayRef<double>({0.5}));
  CHECK(there_and_back("bool[]", std::vector<bool>{true, false}).toBoolList() ==
        ArrayRef<bool>({true, false}));
  const EValue tensors = there_and_back("Tensor[]", std::vector<Tensor>{*x, *x});
  REQUIRE(tensors.toTensorList().size() == 2);
  CHECK(tensors.toTensorList()[1].const_data_ptr() == data);
  CHECK(there_and_back("Tensor[]", std::vector<Tensor>{}).toTensorList().empty());
  const std::vector<Tensor> some{*x, Tensor()};
  const EValue optional = there_and_back("Tensor?[]", EValue::optional_tensor_list(some));
  REQUIRE(optional.toOptionalTensorList().size() == 2);
  CHECK(optional.toOptionalTensorList()[0].const_data_ptr() == data);
  CHECK_FALSE(optional.toOptionalTensorList()[1].defined());
}

TEST_CASE("values: the bytes are those of torch's stable ABI") {
  StableIValue slot = 0;
  REQUIRE(detail::push_stable("Device", "cpu", slot) == Error::Ok);
  CHECK(slot == 0xffffffffU);  // the index -1, the type 0
  REQUIRE(detail::push_stable("Device", "cpu:0", slot) == Error::Ok);
  CHECK(slot == 0);
  REQUIRE(detail::push_stable("ScalarType", int64_t{6}, slot) == Error::Ok);
  CHECK(slot == to_stack(int32_t{6}));
  REQUIRE(detail::push_stable("bool", true, slot) == Error::Ok);
  CHECK(slot == to_stack(true));
}

TEST_CASE("values: what the stack does not have is refused") {
  RETURNS(NotSupported, "torch's stable ABI passes no value of type Scalar",
          pushing("Scalar", int64_t{1}));
  RETURNS(NotSupported, "no value of type str?[]", pushing("str?[]", none));
  RETURNS(NotSupported, "no value of type Generator", reading("Generator", 1));
  RETURNS(NotSupported, "the device is cuda:0, expected cpu", pushing("Device", "cuda:0"));
  RETURNS(NotSupported, "torch's device type is 1", reading("Device", StableIValue{1} << 32));
  RETURNS(InvalidArgument, "the handle of a value of type Tensor is null", reading("Tensor", 0));
  RETURNS(InvalidArgument, "is null", reading("int[]", 0));
  RETURNS(InvalidArgument, "is null", reading("str", 0));
}

// A promise of docs/guarantees.md.
TEST_CASE("values: what several slots own is deleted once") {
  const TensorPtr x = ones({2});
  const std::vector<StableArgument> types{
      argument("Tensor"), argument("Tensor[]"), argument("Tensor?"),  argument("Tensor?[]"),
      argument("str"),    argument("str?"),     argument("Tensor[]"), argument("int[]")};
  const StableIValue handle = handle_of(*x);
  const StableIValue text = to_stack(new std::string("a text that is on the heap, surely"));
  const StableIValue list = to_stack(new StableList{handle, handle_of(*x), handle});
  const StableIValue box = to_stack(new StableIValue(handle));
  StableIValue slots[] = {
      handle, list,
      box,    to_stack(new StableList{box, 0, box, to_stack(new StableIValue(handle))}),
      text,   to_stack(new StableIValue(text)),
      list,   to_stack(new StableList{handle, 1})};  // numbers, by chance the handle's
  CHECK(x->use_count() == 3);
  StableSlots{types, slots}.drop();
  CHECK(x->use_count() == 1);
  for (size_t i = 0; i < types.size(); ++i) CHECK(slots[i] == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("values: every allocation of a push that fails leaves what is dropped") {
#if TENON_IS_CHECKED
  const size_t handles = detail::aoti_handles().count(nullptr);
#endif
  if (!tests::heap_is_counted()) return;
  const TensorPtr x = ones({2});
  const std::vector<Tensor> some{*x, Tensor(), *x};
  const EValue value = EValue::optional_tensor_list(some);
  const int64_t uses = x->use_count();
  const std::vector<StableArgument> types{argument("Tensor?[]?")};
  int failed = 0;
  for (int64_t n = 1; n < 100; ++n) {
    StableIValue slot = 0;
    tests::start_counting(n);
    const Error error =
        detail::call_safely([&] { return detail::push_stable("Tensor?[]?", value, slot); });
    tests::stop_counting();
    StableSlots{types, &slot}.drop();
    CHECK(x->use_count() == uses);
    if (tests::failures() == 0) {
      REQUIRE(error == Error::Ok);
      break;
    }
    CHECK(error == Error::OutOfMemory);
    ++failed;
  }
  CHECK(failed > 5);
#if TENON_IS_CHECKED
  CHECK(detail::aoti_handles().count(nullptr) == handles);
#endif
}

}  // namespace torch_stable_values_test
