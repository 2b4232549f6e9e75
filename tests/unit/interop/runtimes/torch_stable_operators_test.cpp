// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_operators.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace torch_stable_operators_test {

using namespace tenon;
using detail::StableSchema;
using tests::Texts;

TEST_CASE("operators: the types of a schema's inputs and outputs") {
  StableSchema schema;
  REQUIRE(schema.read("(Tensor x, float a=1.5, *, int? n=None) -> Tensor") == Error::Ok);
  CHECK(schema.inputs == Texts{"Tensor", "float", "int?"});
  CHECK(schema.outputs == Texts{"Tensor"});
  REQUIRE(schema.read("(Tensor(a!) x, int[2] size=[1, 2], SymInt d) -> (Tensor(a!), bool)") ==
          Error::Ok);
  CHECK(schema.inputs == Texts{"Tensor", "int[2]", "int"});
  CHECK(schema.outputs == Texts{"Tensor", "bool"});
  REQUIRE(schema.read("() -> ()") == Error::Ok);
  CHECK(schema.inputs.empty());
  CHECK(schema.outputs.empty());
  for (const char* const text : {"", "(Tensor x)", "Tensor -> Tensor", ") -> ("}) {
    CHECK(schema.read(text) == Error::InvalidArgument);
  }
}

TEST_CASE("operators: values go on the stack and come back") {
  const auto there_and_back = [](const std::string& type, const EValue& value) {
    StableIValue slot = 0;
    EValue back;
    REQUIRE(detail::push_stable(type, value, slot) == Error::Ok);
    REQUIRE(detail::pop_stable(type, slot, back) == Error::Ok);
    return back;
  };
  const TensorPtr x = ones({2});
  CHECK(there_and_back("Tensor", *x).toTensor().const_data_ptr() == x->const_data_ptr());
  CHECK(there_and_back("Tensor?", *x).toTensor().const_data_ptr() == x->const_data_ptr());
  CHECK(there_and_back("Tensor?", EValue()).isNone());
  CHECK(there_and_back("int", int64_t{-5}).toInt() == -5);
  CHECK(there_and_back("int?", int64_t{7}).toInt() == 7);
  CHECK(there_and_back("float", 2.5).toDouble() == 2.5);
  CHECK(there_and_back("float", int64_t{2}).toDouble() == 2);
  CHECK(there_and_back("bool", true).toBool());
  StableIValue slot = 0;
  RETURNS(NotSupported, "values of type str", detail::push_stable("str", "x", slot));
  RETURNS(InvalidType, "the operator takes a int, not a Double",
          detail::push_stable("int", 2.5, slot));
}

TEST_CASE("operators: one that nobody registered is not found") {
  CHECK(call_torch_operator("nobody::none", {}).error() == Error::NotFound);
  CHECK(tests::contains(last_error_message(),
                        "call_torch_operator: there is no operator nobody::none"));
}

TEST_CASE("operators: one handle for several outputs is one tensor, which is taken once") {
  const auto add = [](const char* name, const char* schema, detail::StableKernel kernel) {
    detail::StableOperator made;
    made.schema = schema;
    made.kernel = kernel;
    detail::stable_operators().all[name] = made;
  };
  const auto twice = [](StableIValue* stack, uint64_t, uint64_t) { stack[1] = stack[0]; };
  add("tests::twice", "(Tensor x) -> (Tensor, Tensor)", twice);
  add("tests::twice_optional", "(Tensor? x) -> (Tensor?, Tensor?)", twice);
  add("tests::twice_number", "(int x) -> (int, int)", twice);
  const TensorPtr x = ones({2});
  for (const char* const name : {"tests::twice", "tests::twice_optional"}) {
    const auto outputs = call_torch_operator(name, {*x}).value();
    CHECK(outputs[0].toTensor().const_data_ptr() == x->const_data_ptr());
    CHECK(outputs[1].toTensor().const_data_ptr() == x->const_data_ptr());
  }
  CHECK(x->use_count() == 1);
  CHECK(call_torch_operator("tests::twice_optional", {none}).value()[1].isNone());
  CHECK(call_torch_operator("tests::twice_number", {int64_t{7}}).value()[1].toInt() == 7);
}

}  // namespace torch_stable_operators_test
