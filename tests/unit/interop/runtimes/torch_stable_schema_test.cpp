// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_schema.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace torch_stable_schema_test {

using namespace tenon;
using detail::StableArgument;
using detail::StableSchema;
using tests::Texts;

namespace {

Texts types(const std::vector<StableArgument>& arguments) {
  Texts made;
  for (const StableArgument& each : arguments) made.push_back(each.type);
  return made;
}
Texts names(const std::vector<StableArgument>& arguments) {
  Texts made;
  for (const StableArgument& each : arguments) made.push_back(each.name);
  return made;
}
/// The default of an argument that is all of the schema.
EValue default_of(const std::string& argument) {
  StableSchema schema;
  INFO(argument);
  const Error error = schema.read("(" + argument + ") -> ()");
  INFO(last_error_message());
  REQUIRE(error == Error::Ok);
  REQUIRE(schema.inputs.size() == 1);
  REQUIRE(schema.inputs[0].has_default);
  return schema.inputs[0].default_value;
}
EValue converted(const char* type, const EValue& value) {
  EValue made;
  INFO(type);
  REQUIRE(detail::convert_value(type, value, made) == Error::Ok);
  return made;
}
Error converting(const char* type, const EValue& value) {
  EValue made;
  return detail::convert_value(type, value, made);
}

}  // namespace

TEST_CASE("schema: names and types of its inputs and outputs") {
  StableSchema schema;
  REQUIRE(schema.read("ns::f.out(Tensor x, float a=1.5, *, int? n=None) -> Tensor") == Error::Ok);
  CHECK(schema.name == "ns::f.out");
  CHECK(types(schema.inputs) == Texts{"Tensor", "float", "int?"});
  CHECK(names(schema.inputs) == Texts{"x", "a", "n"});
  CHECK(types(schema.outputs) == Texts{"Tensor"});
  CHECK_FALSE(schema.inputs[0].has_default);
  REQUIRE(schema.read("(Tensor(a!) x, int[2] size=[1, 2], SymInt d) -> (Tensor(a!), bool)") ==
          Error::Ok);
  CHECK(types(schema.inputs) == Texts{"Tensor", "int[2]", "int"});
  CHECK(types(schema.outputs) == Texts{"Tensor", "bool"});
  REQUIRE(schema.read("f(SymInt[2]? a, Tensor(a -> *)[] b, Tensor(b|c)? d) -> (Tensor y, int n)") ==
          Error::Ok);
  CHECK(types(schema.inputs) == Texts{"int[2]?", "Tensor[]", "Tensor?"});
  CHECK(names(schema.outputs) == Texts{"y", "n"});
  REQUIRE(schema.read("() -> ()") == Error::Ok);
  CHECK(schema.inputs.empty());
  CHECK(schema.outputs.empty());
  for (const char* const text : {"", "(Tensor x)", "Tensor -> Tensor", ") -> ("}) {
    CHECK(schema.read(text) == Error::InvalidArgument);
  }
}

TEST_CASE("schema: blanks that are not in quotes separate words alone") {
  StableSchema schema;
  REQUIRE(schema.read("\n f.out(\n\tTensor (a!)  x,\r\n float\tf = 2.5,\n int [2] n=[ 1,\n2 ], "
                      "str s = 'a\n b'\n)\n->\n(Tensor\ta,\n Tensor)\n") == Error::Ok);
  CHECK(schema.name == "f.out");
  CHECK(types(schema.inputs) == Texts{"Tensor", "float", "int[2]", "str"});
  CHECK(names(schema.inputs) == Texts{"x", "f", "n", "s"});
  CHECK(schema.inputs[1].default_value.toDouble() == 2.5);
  CHECK(schema.inputs[2].default_value.toIntList() == ArrayRef<int64_t>({1, 2}));
  CHECK(schema.inputs[3].default_value.toString() == "a\n b");
  CHECK(types(schema.outputs) == Texts{"Tensor", "Tensor"});
  CHECK(names(schema.outputs) == Texts{"a", ""});
  REQUIRE(schema.read("add(Tensor x,\n float f) -> Tensor\n") == Error::Ok);
  CHECK(types(schema.inputs) == Texts{"Tensor", "float"});
  CHECK(types(schema.outputs) == Texts{"Tensor"});
  REQUIRE(schema.read("a :: b . c(Tensor  x,\tint? n=- 3)->Tensor") == Error::Ok);
  CHECK(schema.name == "a::b.c");
  CHECK(schema.inputs[1].default_value.toInt() == -3);
}

TEST_CASE("schema: what is not whole is refused, with the reason") {
  StableSchema schema;
  const auto refuses = [&](const char* text, const char* reason) {
    INFO(text);
    CHECK(schema.read(text) == Error::InvalidArgument);
    INFO(last_error_message());
    CHECK(tests::contains(last_error_message(), text));
    CHECK(tests::contains(last_error_message(), reason));
  };
  for (const char* const name : {"::b", "a::", "a::e 7", "a b::i1", "a::d8.ov.x", "a::b.", ".x",
                                 "a::b::c", "a:b", "1a", "a::b-c", "a::b.2"}) {
    refuses((std::string(name) + "(int x) -> int").c_str(), "is not a name such as");
  }
  refuses("a::b() -> int -> int", "\"int->int\" is not a type");
  refuses("a::b()", "is not the schema of an operator");
  refuses("a::b() x -> int", "is not the schema of an operator");
  refuses("a::b(int x -> int", "is not the schema of an operator");
  refuses("a::b() ->", "nothing follows the arrow");
  refuses("a::b(int x) -> (int a, Tensor b", "not closed");
  refuses("a::b(int x) -> (int a) b", "not closed");
  refuses("a::b(int x) -> int, int", "several results");
  refuses("a::b(int a b) -> int", "\"int a b\" is not a type and a name");
  refuses("a::b(int) -> int", "\"int\" is not a type and a name");
  refuses("a::b(int 1x) -> int", "is not a type and a name");
  refuses("a::b(int x,) -> int", "\"\" is not a type and a name");
  refuses("a::b(,int x) -> int", "\"\" is not a type and a name");
  refuses("a::b(=3) -> int", "is not a type and a name");
  refuses("a::b(int x) -> int a b", "is not a type");
  refuses("a::b(int[] x=[1,]) -> int", "is not a value of type int");
}

TEST_CASE("schema: defaults") {
  CHECK(default_of("int n=-3").toInt() == -3);
  CHECK(default_of("float x=1e-05").toDouble() == 1e-05);
  CHECK(default_of("float x=2").toDouble() == 2);
  CHECK(default_of("float x=.5").toDouble() == 0.5);
  CHECK(default_of("Scalar x=1").toInt() == 1);
  CHECK(default_of("Scalar? x=0.5").toDouble() == 0.5);
  CHECK(default_of("bool b=True").toBool());
  CHECK_FALSE(default_of("bool b=False").toBool());
  CHECK(default_of("Tensor? t=None").isNone());
  CHECK(default_of("Generator? g=None").isNone());
  CHECK(default_of("str mode='a, (b]'").toString() == "a, (b]");
  CHECK(default_of("str mode=\"it's\"").toString() == "it's");
  CHECK(default_of("str mode='it\\'s'").toString() == "it's");
  CHECK(default_of("str? mode=\"mean\"").toString() == "mean");
  CHECK(default_of("str[] modes=['a, b', \"c\"]").toStringList()[0] == "a, b");
  CHECK(default_of("str[] modes=['a, b', \"c\"]").toStringList()[1] == "c");
  CHECK(default_of("str[] modes=[]").isStringList());
  CHECK(default_of("int[2] size=[1, 2]").toIntList() == ArrayRef<int64_t>({1, 2}));
  CHECK(default_of("int[3] size=4").toIntList() == ArrayRef<int64_t>({4, 4, 4}));
  CHECK(default_of("int[1]? size=[]").toIntList().empty());
  CHECK(default_of("int[] size=[]").toIntList().empty());
  CHECK(default_of("float[] x=[1, 2.5]").toDoubleList() == ArrayRef<double>({1, 2.5}));
  CHECK(default_of("bool[2] x=[True, False]").toBoolList() == ArrayRef<bool>({true, false}));
  CHECK(default_of("Tensor?[] l=[]").toOptionalTensorList().empty());
  CHECK(default_of("Tensor[] l=[]").toTensorList().empty());
  CHECK(default_of("int reduction=Mean").toInt() == 1);
  CHECK(default_of("MemoryFormat f=contiguous_format").toInt() == 0);
  CHECK(default_of("ScalarType t=long").toInt() == 4);
  CHECK(default_of("ScalarType? t=float64").toInt() == 7);
  CHECK(default_of("Device d=cpu").toString() == "cpu");
  StableSchema schema;
  for (const char* const text :
       {"(int n=None) -> ()", "(int n=x) -> ()", "(int n=[1]) -> ()", "(str s='a) -> ()",
        "(int[] n=[1) -> ()", "(Tensor t=[) -> ()", "(int n=) -> ()", "(int n=1.5) -> ()",
        "(float x=1e999) -> ()", "(float x=+3) -> ()", "(float x=1,5) -> ()",
        "(int[] n=[1,]) -> ()"}) {
    INFO(text);
    CHECK(schema.read(text) != Error::Ok);
  }
  RETURNS(InvalidArgument, "the schema \"f(int n=two) -> ()\": \"two\" is not a value of type int",
          schema.read("f(int n=two) -> ()"));
}

TEST_CASE("schema: values become those of a type") {
  const Tensor x = *ones({2});
  CHECK(converted("float", int64_t{2}).toDouble() == 2);
  CHECK(converted("Scalar", true).toBool());
  CHECK(converted("ScalarType", int64_t{6}).toInt() == 6);
  CHECK(converted("Tensor?", none).isNone());
  CHECK(converted("Tensor?", Tensor()).isNone());
  CHECK(converted("Tensor", Tensor()).isTensor());
  CHECK(converted("Tensor?[]", std::vector<Tensor>{x, x}).toOptionalTensorList().size() == 2);
  CHECK(converted("float[]", std::vector<int64_t>{1, 2}).toDoubleList() ==
        ArrayRef<double>({1, 2}));
  CHECK(converted("int[2]?", int64_t{5}).toIntList() == ArrayRef<int64_t>({5, 5}));
  CHECK(converted("Generator?", none).isNone());
  RETURNS(InvalidType, "expected a value of type int, not a Double, 2.5", converting("int", 2.5));
  RETURNS(InvalidType, "expected a value of type int[], not an Int, 5",
          converting("int[]", int64_t{5}));
  RETURNS(InvalidType, "expected a value of type Tensor, not None", converting("Tensor", none));
  RETURNS(InvalidType, "expected a value of type Generator?", converting("Generator?", int64_t{1}));
  RETURNS(InvalidType, "expected a value of type bool, not an Int", converting("bool", int64_t{1}));
  RETURNS(NotSupported, "tenon has no values of type str?[]", converting("str?[]", none));
  RETURNS(NotSupported, "tenon has no values of type Device[]", converting("Device[]", none));
  RETURNS(NotSupported, "tenon has no values of type Dict(str, int)",
          converting("Dict(str, int)", none));
  RETURNS(NotSupported, "tenon has no values of type Generator", converting("Generator", none));
}

}  // namespace torch_stable_schema_test
