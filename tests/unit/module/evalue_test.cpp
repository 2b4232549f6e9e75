// SPDX-License-Identifier: MIT
#include "tenon/module/evalue.h"

#include <deque>
#include <optional>
#include <set>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace evalue_test {

using namespace tenon;
using tests::Doubles;
using tests::Longs;

namespace {

TensorPtr pair() { return make_tensor_ptr({1.0f, 2.0f}); }

}  // namespace

TEST_CASE("EValue: a default one, none and an empty optional are None") {
  const EValue values[] = {EValue(), none, std::optional<Tensor>(), std::optional<int>()};
  for (const EValue& value : values) {
    CHECK(value.isNone());
    CHECK(value.kind() == ValueKind::None);
    CHECK_FALSE(value.isTensor());
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("EValue: it shares a tensor, its shape too, which outlives the TensorPtr") {
  TensorPtr x = pair();
  const void* const data = const_data_ptr(*x);
  EValue value(x);
  CHECK(x->use_count() == 2);
  CHECK(resize_tensor(value.toTensor(), {1, 2}) == Error::Ok);
  CHECK(x->dim() == 2);
  x.reset();
  CHECK(const_data_ptr(value.toTensor()) == data);
  CHECK(const_data_ptr<float>(value.toTensor())[1] == 2.0f);
  x = pair();
  const auto* impl = x->unsafeGetTensorImpl();
  value = std::move(x);
  CHECK(x == nullptr);
  CHECK(value.toTensor().unsafeGetTensorImpl() == impl);
  CHECK(value.toTensor().use_count() == 1);
  const Tensor tensor = std::move(value).toTensor();
  CHECK(value.isNone());  // NOLINT(bugprone-use-after-move)
  CHECK(tensor.use_count() == 1);
  value = Tensor();
  CHECK(value.isTensor());
  CHECK_FALSE(value.toTensor().defined());
}

TEST_CASE("EValue: a deleter runs once, when the last EValue goes and the new value is there") {
  float data[2] = {1, 2};
  int calls = 0;
  EValue value;
  const auto lend = [&] {
    calls = 0;
    return from_blob(data, {2}, ScalarType::Float, [&](void*) { calls += value.isInt() ? 1 : 10; });
  };
  value = lend();
  {
    const EValue copy = value;
    const EValue five(5);
    value = five;
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
  value = lend();
  value = EValue(6);
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
  CHECK(EValue(std::make_shared<std::vector<int>>(3, 4)).toIntList() == Longs{4, 4, 4});
  CHECK(EValue(std::make_unique<EValue>(7)).toInt() == 7);
  CHECK(EValue(std::make_unique<TensorPtr>(pair())).toTensor().numel() == 2);
  CHECK(EValue(std::optional<TensorPtr>(pair())).toTensor().numel() == 2);
  CHECK(EValue(try_zeros({2, 3})).toTensor().numel() == 6);
  const TensorImplPtr impl = make_tensor_impl_ptr({2}, {1.0f, 2.0f});
  CHECK(EValue(impl).toTensor().unsafeGetTensorImpl() == impl.get());
}

TEST_CASE("EValue: what it cannot be made of is an error") {
  RAISES(InvalidState, "EValue: the pointer is null", EValue(std::shared_ptr<int>()));
  RAISES(InvalidState, "EValue: the text is null", EValue(static_cast<const char*>(nullptr)));
  RAISES(InvalidArgument, "negative", EValue(try_zeros({-1})));
  RAISES(InvalidArgument, "a complex Scalar", EValue(Scalar(complex<double>(1, 2))));
  const uint64_t most = uint64_t{1} << 63;
  CHECK(EValue(most - 1).toInt() == std::numeric_limits<int64_t>::max());
  RAISES(InvalidArgument, "EValue: 9223372036854775808 does not fit an Int", EValue(most));
  RAISES(InvalidArgument, "9223372036854775808", EValue(std::vector<uint64_t>{1, most}));
  RAISES(InvalidArgument, "EValue: the list has a value above int64_t's range",
         EValue(Dims{most, 2}));
  struct Endless : std::vector<int> {
    size_t size() const { return SIZE_MAX; }
  };
  RAISES(OutOfMemory, "for an IntList of " + std::to_string(SIZE_MAX), EValue(Endless{{1}}));
}

TEST_CASE("EValue: a null pointer to a tensor is an undefined tensor, in a list too") {
  for (const EValue& value :
       {EValue(TensorPtr()), EValue(TensorImplPtr()), EValue(std::shared_ptr<Tensor>()),
        EValue(std::make_unique<TensorPtr>())}) {
    REQUIRE(value.isTensor());
    CHECK_FALSE(value.toTensor().defined());
  }
  std::vector<TensorPtr> pointers;
  pointers.push_back(pair());
  pointers.emplace_back();
  const EValue list(pointers);
  CHECK(list.toTensorList()[0].numel() == 2);
  CHECK_FALSE(list.toTensorList()[1].defined());
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
  CHECK_FALSE(EValue(1).isBool());
  CHECK(EValue(Scalar(3)).toInt() == 3);
  CHECK(EValue(Scalar(0.5)).toDouble() == 0.5);
  CHECK(EValue(Scalar(true)).toBool());
  CHECK(EValue(3).toScalar().to<double>() == 3.0);
  CHECK(EValue(0.5).toScalar().to<double>() == 0.5);
  CHECK(EValue(true).toScalar().isBoolean());
}

TEST_CASE("EValue: texts of every form are Strings, with their zeros") {
  const std::string text("a\0b", 3);
  const EValue value(text);
  CHECK(value.toString() == text);
  CHECK(value.toString().data()[3] == '\0');
  char buffer[] = "chars";
  const char* const pointer = "pointer";
  CHECK(EValue("literal").toString() == "literal");
  CHECK(EValue(std::string_view("view")).toString() == "view");
  CHECK(EValue(buffer).toString() == "chars");
  CHECK(EValue(pointer).toString() == "pointer");
  CHECK(EValue(std::vector<char>{'a', 'b'}).toString() == "ab");
  CHECK(EValue("").toString().empty());
}

TEST_CASE("EValue: a range of texts of every form is a StringList, with their zeros") {
  const auto texts_of = [](const EValue& value) {
    const ArrayRef<std::string_view> texts = value.toStringList();
    return tests::Texts(texts.begin(), texts.end());
  };
  const tests::Texts words{"", std::string("a\0b", 3), "\xff", std::string(1000, 'x'), ""};
  const EValue value(words);
  CHECK(value.isStringList());
  CHECK_FALSE(value.isString());
  CHECK(texts_of(value) == words);
  for (const std::string_view text : value.toStringList()) CHECK(text.data()[text.size()] == '\0');
  CHECK(texts_of(value.toStringList()) == words);
  CHECK(texts_of(std::vector<const char*>{"a", "", "c"}) == tests::Texts{"a", "", "c"});
  CHECK(texts_of(std::array<std::string_view, 2>{"a", {}}) == tests::Texts{"a", ""});
  CHECK(texts_of(std::set<std::string>{"b", "a"}) == tests::Texts{"a", "b"});
  CHECK(texts_of(std::vector<std::vector<char>>{{'a', 'b'}, {}}) == tests::Texts{"ab", ""});
  CHECK(texts_of(std::initializer_list<const char*>{"a"}) == tests::Texts{"a"});
  CHECK(texts_of(std::make_unique<tests::Texts>(2, "a")) == tests::Texts{"a", "a"});
  CHECK(EValue(tests::Texts()).isStringList());
  CHECK(texts_of(tests::Texts()).empty());
  RAISES(InvalidState, "EValue: the text is null", EValue(std::vector<const char*>{"a", nullptr}));
  const std::string_view endless("a", PTRDIFF_MAX);  // of which nothing is read
  RAISES(OutOfMemory, "EValue: out of memory for a StringList of 2",
         EValue(std::vector<std::string_view>{endless, endless}));
}

TEST_CASE("EValue: a String is a list of one text too, and no other value is") {
  const EValue text("text");
  const ArrayRef<std::string_view> list = text.toStringList();
  REQUIRE(list.size() == 1);
  CHECK(list[0].data() == text.toString().data());
  CHECK((*text.tryToStringList())[0] == "text");
  CHECK_FALSE(text.isStringList());
  const EValue one(tests::Texts{"text"});
  RAISES(InvalidType, "toString: the EValue is a StringList of 1", one.toString());
  RETURNS(InvalidType, "tryToStringList: the EValue is an IntList of 2",
          EValue(Longs{1, 2}).tryToStringList().error());
  RAISES(InvalidType, "toStringList: the EValue is None", EValue().toStringList());
}

// A promise of docs/guarantees.md.
TEST_CASE("EValue: a text and a list are copied once, and shared by copies of the EValue") {
  std::string text = "a text that is longer than what a std::string holds in itself";
  EValue value(text);
  text[0] = 'X';
  const EValue copy = value;
  CHECK(copy.toString().substr(0, 6) == "a text");
  CHECK(copy.toString().data() == value.toString().data());
  value = 1;
  CHECK(copy.toString().size() == 61);
  tests::Texts words{text, "b"};
  value = words;
  words.clear();
  const EValue list = value;
  value = 1;
  CHECK(list.toStringList()[0] == text);
}

TEST_CASE("EValue: a range that knows its size is a list of one kind") {
  CHECK(EValue(std::vector<int>{1, -2}).toIntList() == Longs{1, -2});
  CHECK(EValue(std::array<uint8_t, 2>{1, 200}).toIntList() == Longs{1, 200});
  CHECK(EValue(std::set<short>{2, 1}).toIntList() == Longs{1, 2});
  CHECK(EValue(Dims{2, 3}).toIntList() == Longs{2, 3});
  CHECK(EValue(std::vector<float>{0.5f}).toDoubleList() == Doubles{0.5});
  CHECK(EValue(std::deque<double>{0.5}).toDoubleList() == Doubles{0.5});
  CHECK(EValue(Doubles()).toDoubleList().empty());
  const EValue flags(std::vector<bool>{true, false, true});
  CHECK(flags.toBoolList().vec() == std::vector<bool>{true, false, true});
}

TEST_CASE("EValue: a list of optional tensors has undefined ones where there is none") {
  const Tensor x = *pair();
  EValue value(std::vector<std::optional<Tensor>>{x, std::nullopt});
  CHECK(value.isOptionalTensorList());
  CHECK_FALSE(value.isTensorList());
  CHECK(value.toOptionalTensorList()[0].defined());
  CHECK_FALSE(value.toOptionalTensorList()[1].defined());
  const Tensor tensors[] = {Tensor(), x};
  value = EValue::optional_tensor_list(tensors);
  CHECK(value.toOptionalTensorList()[1].unsafeGetTensorImpl() == x.unsafeGetTensorImpl());
  CHECK_FALSE(value.toOptionalTensorList()[0].defined());
}

TEST_CASE("EValue: the wrong toX says what it holds") {
  RAISES(InvalidType, "the EValue is a String, \"ab?cd\"",
         EValue(std::string("ab\0cd", 5)).toInt());
  const EValue list(std::vector<int>{1, 2});
  const std::string text(100, 'x');
  RAISES(InvalidType, "toInt: the EValue is a Tensor, Float {2, 3}", EValue(zeros({2, 3})).toInt());
  RAISES(InvalidType, "toDouble: the EValue is an Int, 5", EValue(5).toDouble());
  RAISES(InvalidType, "toInt: the EValue is a Double, 0.5", EValue(0.5).toInt());
  RAISES(InvalidType, "toInt: the EValue is a Bool, true", EValue(true).toInt());
  RAISES(InvalidType, "toBool: the EValue is an Int, 1", EValue(1).toBool());
  RAISES(InvalidType, "toTensor: the EValue is None", EValue().toTensor());
  RAISES(InvalidType, "toTensor: the EValue is a String, \"abc\"", EValue("abc").toTensor());
  RAISES(InvalidType, "toScalar: the EValue is a String, \"3\"", EValue("3").toScalar());
  RAISES(InvalidType, "toString: the EValue is an IntList of 2", list.toString());
  RAISES(InvalidType, "toDoubleList: the EValue is an IntList of 2", list.toDoubleList());
  RAISES(InvalidType, "toTensorList: the EValue is an IntList of 2", list.toTensorList());
  RAISES(InvalidType, "toIntList: the EValue is a Tensor, undefined", EValue(Tensor()).toIntList());
  RAISES(InvalidType, "\"" + text.substr(0, 40) + "\"...", EValue(text).toInt());
}

#if !TENON_ATEN_MODE
#endif

// A promise of docs/guarantees.md.
TEST_CASE("EValue: it is as large as a tensor's handle and a word, and what cannot fail says so") {
  STATIC_REQUIRE(sizeof(EValue) <= 2 * sizeof(void*) + 8);  // on a 32-bit x86 4 less
  STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_default_constructible_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, const Tensor&>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, uint32_t>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, double>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, bool>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_constructible_v<EValue, uint64_t>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, TensorPtr>);
}

TEST_CASE("EValue: the try forms give the value or the error") {
  const EValue list(std::vector<int>{1, 2});
  CHECK(*EValue(5).tryToInt() == 5);
  CHECK(*EValue(0.5).tryToDouble() == 0.5);
  CHECK(*EValue(true).tryToBool());
  CHECK(EValue("text").tryToString().ok());
  CHECK((*EValue(pair()).tryToTensor()).numel() == 2);
  CHECK((*EValue(3).tryToScalar()).to<int>() == 3);
  CHECK((*list.tryToIntList())[1] == 2);
  RETURNS(InvalidType, "tryToDoubleList: the EValue is an IntList of 2",
          list.tryToDoubleList().error());
  CHECK_FALSE(EValue().tryToInt().ok());
  CHECK_FALSE(EValue().tryToTensor().ok());
  CHECK_FALSE(EValue().tryToScalar().ok());
  CHECK_FALSE(EValue().tryToString().ok());
  CHECK_FALSE(list.tryToBoolList().ok());
  CHECK_FALSE(list.tryToTensorList().ok());
  CHECK_FALSE(list.tryToOptionalTensorList().ok());
}

}  // namespace evalue_test
