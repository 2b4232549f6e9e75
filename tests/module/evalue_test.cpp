// SPDX-License-Identifier: MIT
#include "tenon/module/evalue.h"

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

TensorPtr pair() { return make_tensor_ptr({1.0f, 2.0f}); }

struct NotAPointer {
  int& operator*() const;
};

template <class T>
constexpr bool kConverts = std::is_convertible_v<T, EValue>;

}  // namespace

TEST_CASE("EValue: a default one, none and an empty optional are None") {
  const EValue values[] = {EValue(), none, std::optional<Tensor>(), std::optional<int>()};
  for (const EValue& value : values) {
    CHECK(value.isNone());
    CHECK(value.kind() == ValueKind::None);
    CHECK_FALSE(value.isTensor());
  }
}

TEST_CASE("EValue: a tensor outlives the TensorPtr that it was made of") {
  EValue value;
  const void* data = nullptr;
  {
    TensorPtr x = pair();
    data = const_data_ptr(*x);
    value = x;
    CHECK(x != nullptr);
  }
  REQUIRE(value.isTensor());
  CHECK(const_data_ptr(value.toTensor()) == data);
  CHECK(const_data_ptr<float>(value.toTensor())[1] == 2.0f);
}

TEST_CASE("EValue: a moved TensorPtr is null, and its tensor is in the EValue") {
  TensorPtr x = pair();
  const auto* impl = x->unsafeGetTensorImpl();
  const EValue value(std::move(x));
  CHECK(x == nullptr);
  CHECK(value.toTensor().unsafeGetTensorImpl() == impl);
  CHECK(value.toTensor().use_count() == 1);
}

TEST_CASE("EValue: it shares the tensor, its shape too") {
  TensorPtr x = pair();
  EValue value(x);
  CHECK(x->use_count() == 2);
  CHECK(resize_tensor(value.toTensor(), {1, 2}) == Error::Ok);
  CHECK(x->dim() == 2);
  value = 3;
  CHECK(x->use_count() == 1);
}

TEST_CASE("EValue: a deleter runs once, when the last EValue goes") {
  float data[2] = {1, 2};
  int calls = 0;
  {
    EValue last;
    {
      const EValue first = from_blob(data, {2}, ScalarType::Float, [&](void*) { ++calls; });
      const EValue copy = first;
      last = copy;
    }
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
}

TEST_CASE("EValue: any smart pointer, optional or Result gives what it holds") {
  const auto shared = std::make_shared<Tensor>(*pair());
  CHECK(EValue(shared).toTensor().unsafeGetTensorImpl() == shared->unsafeGetTensorImpl());
  CHECK(shared.use_count() == 1);
  CHECK(EValue(std::make_unique<int>(3)).toInt() == 3);
  CHECK(EValue(std::make_unique<bool>(true)).toBool());
  CHECK(EValue(std::make_shared<const double>(0.5)).toDouble() == 0.5);
  CHECK(EValue(std::make_unique<std::string>("text")).toString() == "text");
  CHECK(EValue(std::make_shared<std::vector<int>>(3, 4)).toIntList() ==
        std::vector<int64_t>{4, 4, 4});
  CHECK(EValue(std::make_unique<EValue>(7)).toInt() == 7);
  CHECK(EValue(std::make_unique<TensorPtr>(pair())).toTensor().numel() == 2);
  CHECK(EValue(std::optional<TensorPtr>(pair())).toTensor().numel() == 2);
  CHECK(EValue(try_zeros({2, 3})).toTensor().numel() == 6);
  const TensorImplPtr impl = make_tensor_impl_ptr({2}, {1.0f, 2.0f});
  CHECK(EValue(impl).toTensor().unsafeGetTensorImpl() == impl.get());
}

TEST_CASE("EValue: a null pointer is an error, and so is a null text") {
  CHECK_ERROR(Error::InvalidState, "EValue: the pointer is null", EValue(TensorPtr()));
  CHECK_ERROR(Error::InvalidState, "EValue: the pointer is null", EValue(std::shared_ptr<int>()));
  CHECK_ERROR(Error::InvalidState, "EValue: the pointer is null", EValue(TensorImplPtr()));
  CHECK_ERROR(Error::InvalidState, "EValue: the text is null",
              EValue(static_cast<const char*>(nullptr)));
  CHECK_ERROR(Error::InvalidArgument, "negative", EValue(try_zeros({-1})));
}

TEST_CASE("EValue: a raw pointer, a character and what it cannot hold do not convert") {
  STATIC_REQUIRE_FALSE(kConverts<Tensor*>);
  STATIC_REQUIRE_FALSE(kConverts<const float*>);
  STATIC_REQUIRE_FALSE(kConverts<bool*>);
  STATIC_REQUIRE_FALSE(kConverts<void*>);
  STATIC_REQUIRE_FALSE(kConverts<int[3]>);
  STATIC_REQUIRE_FALSE(kConverts<std::nullptr_t>);
  STATIC_REQUIRE_FALSE(kConverts<char>);
  STATIC_REQUIRE_FALSE(kConverts<std::unique_ptr<void*>>);
  STATIC_REQUIRE_FALSE(kConverts<std::unique_ptr<int*>>);
  STATIC_REQUIRE_FALSE(kConverts<NotAPointer>);
  STATIC_REQUIRE_FALSE(kConverts<std::vector<int>::iterator>);
  STATIC_REQUIRE_FALSE(kConverts<std::vector<char>::iterator>);
  STATIC_REQUIRE_FALSE(kConverts<std::vector<EValue>>);
  STATIC_REQUIRE_FALSE(kConverts<std::vector<std::vector<int>>>);
  STATIC_REQUIRE_FALSE(kConverts<ScalarType>);
  STATIC_REQUIRE(kConverts<TensorPtr>);
  STATIC_REQUIRE(kConverts<TensorPtr&>);
  STATIC_REQUIRE(kConverts<const TensorPtr&>);
  STATIC_REQUIRE(kConverts<Tensor&>);
}

TEST_CASE("EValue: integers of every type are Ints, floating ones Doubles, a bool is a Bool") {
  CHECK(EValue(5).toInt() == 5);
  CHECK(EValue(int8_t{-5}).toInt() == -5);
  CHECK(EValue(uint8_t{200}).toInt() == 200);
  CHECK(EValue(short{6}).toInt() == 6);
  CHECK(EValue(7u).toInt() == 7);
  CHECK(EValue(8L).toInt() == 8);
  CHECK(EValue(9LL).toInt() == 9);
  CHECK(EValue(size_t{10}).toInt() == 10);
  CHECK(EValue(std::numeric_limits<int64_t>::min()).toInt() == std::numeric_limits<int64_t>::min());
  CHECK(EValue(0.5f).toDouble() == 0.5);
  CHECK(EValue(0.25).toDouble() == 0.25);
  CHECK(EValue(true).toBool());
  CHECK_FALSE(EValue(false).toBool());
  CHECK(EValue(true).isBool());
  CHECK_FALSE(EValue(1).isBool());
}

TEST_CASE("EValue: an unsigned integer beyond int64_t is an error") {
  const uint64_t most = uint64_t{1} << 63;
  CHECK(EValue(most - 1).toInt() == std::numeric_limits<int64_t>::max());
  CHECK_ERROR(Error::InvalidArgument, "EValue: 9223372036854775808 does not fit an Int",
              EValue(most));
  CHECK_ERROR(Error::InvalidArgument, "9223372036854775808",
              EValue(std::vector<uint64_t>{1, most}));
}

TEST_CASE("EValue: a Scalar keeps its kind, toScalar takes any number, a complex one is none") {
  CHECK(EValue(Scalar(3)).toInt() == 3);
  CHECK(EValue(Scalar(0.5)).toDouble() == 0.5);
  CHECK(EValue(Scalar(true)).toBool());
  CHECK(EValue(3).toScalar().to<double>() == 3.0);
  CHECK(EValue(0.5).toScalar().to<double>() == 0.5);
  CHECK(EValue(true).toScalar().isBoolean());
  CHECK_ERROR(Error::InvalidArgument, "a complex Scalar", EValue(Scalar(complex<double>(1, 2))));
  CHECK_ERROR(Error::InvalidType, "toScalar: the EValue is a String, \"3\"",
              EValue("3").toScalar());
}

TEST_CASE("EValue: texts of every form are Strings, with their zeros") {
  const std::string text("a\0b", 3);
  EValue value(text);
  CHECK(value.toString() == text);
  CHECK(value.toString().data()[3] == '\0');
  CHECK(EValue("literal").toString() == "literal");
  CHECK(EValue(std::string_view("view")).toString() == "view");
  char buffer[] = "chars";
  CHECK(EValue(buffer).toString() == "chars");
  CHECK(EValue("").toString().empty());
  const char* const pointer = "pointer";
  CHECK(EValue(pointer).isString());
}

TEST_CASE("EValue: a text and a list are copied once, and shared by copies of the EValue") {
  EValue value;
  {
    std::string text = "a text that is longer than what a std::string holds in itself";
    value = text;
    text[0] = 'X';
  }
  const EValue copy = value;
  CHECK(copy.toString().substr(0, 6) == "a text");
  CHECK(copy.toString().data() == value.toString().data());
  value = 1;
  CHECK(copy.toString().size() == 61);
}

TEST_CASE("EValue: ranges of numbers and flags are lists of one kind") {
  CHECK(EValue(std::vector<int>{1, -2}).toIntList() == std::vector<int64_t>{1, -2});
  CHECK(EValue(std::array<uint8_t, 2>{1, 200}).toIntList() == std::vector<int64_t>{1, 200});
  CHECK(EValue(Dims{2, 3}).toIntList() == std::vector<int64_t>{2, 3});
  CHECK(EValue(std::vector<float>{0.5f}).toDoubleList() == std::vector<double>{0.5});
  const auto flags = EValue(std::vector<bool>{true, false, true});
  REQUIRE(flags.toBoolList().size() == 3);
  CHECK(flags.toBoolList()[0]);
  CHECK_FALSE(flags.toBoolList()[1]);
  const EValue empty_one(std::vector<double>{});
  CHECK(empty_one.isDoubleList());
  CHECK(empty_one.toDoubleList().empty());
}

TEST_CASE("EValue: a list of tensors shares them, given as Tensors or by pointers") {
  EValue value;
  {
    std::vector<Tensor> tensors{*pair(), *make_tensor_ptr({3})};
    value = tensors;
    CHECK(tensors[0].use_count() == 2);
  }
  REQUIRE(value.toTensorList().size() == 2);
  CHECK(value.toTensorList()[0].use_count() == 1);
  CHECK(value.toTensorList()[1].item<int>() == 3);
  std::vector<TensorPtr> pointers;
  pointers.push_back(pair());
  pointers.push_back(pair());
  value = pointers;
  CHECK(value.toTensorList()[1].unsafeGetTensorImpl() == pointers[1]->unsafeGetTensorImpl());
}

TEST_CASE("EValue: a null pointer in a list is an error, and drops the tensors before it") {
  std::vector<TensorPtr> pointers;
  pointers.push_back(pair());
  pointers.emplace_back();
  CHECK_ERROR(Error::InvalidState, "EValue: element 1 of the list is a null pointer",
              EValue(pointers));
  CHECK(pointers[0]->use_count() == 1);
}

TEST_CASE("EValue: a list of optional tensors has undefined ones where there is none") {
  const Tensor x = *pair();
  EValue value(std::vector<std::optional<Tensor>>{x, std::nullopt});
  CHECK(value.isOptionalTensorList());
  CHECK_FALSE(value.isTensorList());
  CHECK(value.toOptionalTensorList()[0].defined());
  CHECK_FALSE(value.toOptionalTensorList()[1].defined());
  CHECK_ERROR(Error::InvalidType, "toTensorList: the EValue is an OptionalTensorList of 2",
              value.toTensorList());
  const Tensor tensors[] = {Tensor(), x};
  value = EValue::optional_tensor_list(tensors);
  CHECK(value.toOptionalTensorList()[1].unsafeGetTensorImpl() == x.unsafeGetTensorImpl());
  CHECK_FALSE(value.toOptionalTensorList()[0].defined());
}

TEST_CASE("EValue: the wrong toX says what it holds") {
  const EValue tensor = zeros({2, 3});
  CHECK_ERROR(Error::InvalidType, "toInt: the EValue is a Tensor, Float {2, 3}", tensor.toInt());
  CHECK_ERROR(Error::InvalidType, "toDouble: the EValue is an Int, 5", EValue(5).toDouble());
  CHECK_ERROR(Error::InvalidType, "toInt: the EValue is a Double, 0.5", EValue(0.5).toInt());
  CHECK_ERROR(Error::InvalidType, "toInt: the EValue is a Bool, true", EValue(true).toInt());
  CHECK_ERROR(Error::InvalidType, "toBool: the EValue is an Int, 1", EValue(1).toBool());
  CHECK_ERROR(Error::InvalidType, "toTensor: the EValue is None", EValue().toTensor());
  CHECK_ERROR(Error::InvalidType, "toTensor: the EValue is a String, \"abc\"",
              EValue("abc").toTensor());
  CHECK_ERROR(Error::InvalidType, "toString: the EValue is an IntList of 2",
              EValue(std::vector<int>{1, 2}).toString());
  CHECK_ERROR(Error::InvalidType, "toDoubleList: the EValue is an IntList of 2",
              EValue(std::vector<int>{1, 2}).toDoubleList());
  CHECK_ERROR(Error::InvalidType, "toIntList: the EValue is a Tensor, undefined",
              EValue(Tensor()).toIntList());
  const std::string text(100, 'x');
  CHECK_ERROR(Error::InvalidType, "\"" + text.substr(0, 40) + "\"...", EValue(text).toInt());
}

TEST_CASE("EValue: the try forms give the value or the error") {
  CHECK(*EValue(5).tryToInt() == 5);
  CHECK(*EValue(0.5).tryToDouble() == 0.5);
  CHECK(*EValue(true).tryToBool());
  CHECK(EValue("text").tryToString().ok());
  CHECK((*EValue(pair()).tryToTensor()).numel() == 2);
  CHECK((*EValue(3).tryToScalar()).to<int>() == 3);
  const EValue list(std::vector<int>{1, 2});
  CHECK((*list.tryToIntList())[1] == 2);
  const auto refused = list.tryToDoubleList();
  CHECK(refused.error() == Error::InvalidType);
  CHECK(refused.message() == std::string("tryToDoubleList: the EValue is an IntList of 2"));
  CHECK_FALSE(EValue().tryToInt().ok());
  CHECK_FALSE(EValue().tryToTensor().ok());
  CHECK_FALSE(EValue().tryToScalar().ok());
  CHECK_FALSE(EValue().tryToString().ok());
  CHECK_FALSE(list.tryToBoolList().ok());
  CHECK_FALSE(list.tryToTensorList().ok());
  CHECK_FALSE(list.tryToOptionalTensorList().ok());
}

TEST_CASE("EValue: a tensor that is moved out leaves None") {
  EValue value(pair());
  const Tensor tensor = std::move(value).toTensor();
  CHECK(value.isNone());  // NOLINT(bugprone-use-after-move)
  CHECK(tensor.use_count() == 1);
}

TEST_CASE("EValue: copies, moves and assignments of every kind keep the value, also to itself") {
  const std::vector<EValue> values{none, pair(), 5, 0.5, true, "text", std::vector<int>{1}};
  for (const EValue& from : values) {
    for (const EValue& before : values) {
      EValue copy(before);
      copy = from;
      CHECK(copy.kind() == from.kind());
      EValue moved(before);
      moved = std::move(copy);
      CHECK(moved.kind() == from.kind());
      CHECK(copy.isNone());  // NOLINT(bugprone-use-after-move)
      EValue& alias = moved;
      moved = alias;
      moved = std::move(alias);
      CHECK(moved.kind() == from.kind());
    }
  }
  CHECK(values[1].toTensor().use_count() == 1);
  CHECK(values[2].toInt() == 5);
  CHECK(values[5].toString() == "text");
}

TEST_CASE("EValue: an undefined tensor is a tensor") {
  const EValue value{Tensor()};
  CHECK(value.isTensor());
  CHECK_FALSE(value.toTensor().defined());
}

TEST_CASE("EValue: a tensor over an impl on the stack is borrowed as it is", "[plain]") {
#if !TENON_ATEN_MODE
  float data[2] = {1, 2};
  const int64_t sizes[] = {2};
  TensorImpl impl(ScalarType::Float, 1, sizes, data);
  const EValue value{Tensor(&impl)};
  CHECK(value.toTensor().unsafeGetTensorImpl() == &impl);
#endif
}

TEST_CASE("EValue: it is as large as a tensor's handle and a word, and what cannot fail says so") {
  STATIC_REQUIRE(sizeof(EValue) == 24);
  STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_default_constructible_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, const Tensor&>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, uint32_t>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, double>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, bool>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_constructible_v<EValue, uint64_t>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_constructible_v<EValue, TensorPtr>);
}

TEST_CASE("EValue: what was there goes only after the new value is there") {
  // A deleter that looks at the EValue while it is being assigned to.
  float data[1] = {1};
  EValue value;
  bool was_int = false;
  const auto lend = [&] {
    was_int = false;
    return from_blob(data, {1}, ScalarType::Float, [&](void*) { was_int = value.isInt(); });
  };
  value = lend();
  const EValue five(5);
  value = five;
  CHECK(was_int);
  value = lend();
  value = EValue(6);
  CHECK(was_int);
}

TEST_CASE("EValue: any range that knows its size is a list") {
  CHECK(EValue(std::deque<double>{0.5}).isDoubleList());
  CHECK(EValue(std::set<short>{2, 1}).toIntList() == std::vector<int64_t>{1, 2});
  CHECK(EValue(std::vector<std::shared_ptr<Tensor>>()).isTensorList());
  CHECK(EValue(std::vector<char>{'a', 'b'}).toString() == "ab");
}

TEST_CASE("ValueKind: its names are those of the enumerators, in a text with an article") {
  CHECK(toString(ValueKind::OptionalTensorList) == std::string("OptionalTensorList"));
  CHECK(toString(ValueKind::BoolList) == std::string("BoolList"));
  char text[64];
  const auto shown = [&](ValueKind kind) {
    detail::Message message(text, sizeof text);
    detail::append(message, kind);
    return std::string(text);
  };
  CHECK(shown(ValueKind::Int) == "an Int");
  CHECK(shown(ValueKind::OptionalTensorList) == "an OptionalTensorList");
  CHECK(shown(ValueKind::Tensor) == "a Tensor");
  CHECK(shown(ValueKind::None) == "None");
}
