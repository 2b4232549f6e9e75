// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_operators.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace torch_stable_operators_test {

using namespace tenon;
using detail::StableKey;
using detail::to_stack;
using tests::contains;

namespace {

/// Registers a function as long as this lives.
struct Registered {
  std::string name;
  Registered(const std::string& schema, TorchOperator function)
      : name(schema.substr(0, schema.find('('))) {
    const Error error = register_torch_operator(schema, std::move(function));
    INFO(last_error_message());
    REQUIRE(error == Error::Ok);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { CHECK(unregister_torch_operator(name) == Error::Ok); }
};

/// An operator of a library, which this is.
struct Library {
  explicit Library(const char* schema = nullptr) {
    if (schema == nullptr) return;
    detail::StableSchema read;
    REQUIRE(read.read(schema) == Error::Ok);
    const std::string name = read.name;
    REQUIRE(detail::define_stable_operator(name, std::move(read), this) == Error::Ok);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { detail::remove_stable_operators(this); }
  void add(const char* name, const char* key, detail::StableKernel kernel) const {
    detail::implement_stable_operator(name, {detail::stable_key(key), this, kernel, nullptr});
  }
};

Error call_error(const char* name, std::initializer_list<EValue> inputs) {
  return call_torch_operator(name, inputs).error();
}
Error give_nothing(Span<const EValue>, std::vector<EValue>&) { return Error::Ok; }

}  // namespace

TEST_CASE("operators: one that nobody registered is not found") {
  RETURNS(NotFound, "call_torch_operator: there is no operator nobody::none",
          call_error("nobody::none", {}));
  RETURNS(NotFound, "unregister_torch_operator: no function is registered as nobody::none",
          unregister_torch_operator("nobody::none"));
}

TEST_CASE("operators: a C++ function has all arguments of its schema") {
  std::vector<EValue> seen;
  const Registered registered(
      "tests::all(Tensor x, float a=2, *, int[2] size=1, str mode='mean', Tensor? bias=None, "
      "ScalarType? t=None, Generator? g=None) -> (Tensor, int)",
      [&](Span<const EValue> inputs, std::vector<EValue>& outputs) {
        seen.assign(inputs.begin(), inputs.end());
        outputs.push_back(inputs[0]);
        outputs.push_back(int64_t{7});
        return Error::Ok;
      });
  const TensorPtr x = ones({2});
  const std::vector<EValue> outputs = call_torch_operator("tests::all", {*x}).value();
  REQUIRE(seen.size() == 7);
  CHECK(seen[1].toDouble() == 2);
  CHECK(seen[2].toIntList() == ArrayRef<int64_t>({1, 1}));
  CHECK(seen[3].toString() == "mean");
  CHECK(seen[4].isNone());
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].toTensor().const_data_ptr() == x->const_data_ptr());
  CHECK(outputs[1].toInt() == 7);
  CHECK(call_torch_operator("tests::all", {*x, int64_t{3}, std::vector<int64_t>{4, 5}}).ok());
  CHECK(seen[1].toDouble() == 3);
  CHECK(seen[2].toIntList() == ArrayRef<int64_t>({4, 5}));
  RETURNS(InvalidArgument, "it takes 7 inputs, got 0", call_error("tests::all", {}));
  RETURNS(InvalidType, "input 1 (a): expected a value of type float, not a Tensor",
          call_error("tests::all", {*x, *x}));
}

TEST_CASE("operators: what a C++ function gives is checked by its schema") {
  std::vector<EValue> gives;
  const Registered registered("tests::gives(int n) -> (float, Tensor[])",
                              [&](Span<const EValue> inputs, std::vector<EValue>& outputs) {
                                if (inputs[0].toInt() < 0) {
                                  return detail::fail(Error::OutOfBounds, "n is negative");
                                }
                                outputs = gives;
                                return Error::Ok;
                              });
  const EValue list(std::vector<Tensor>{*ones({1})});
  gives = {int64_t{2}, list};
  CHECK(call_torch_operator("tests::gives", {int64_t{0}}).value()[0].toDouble() == 2);
  gives = {list, list};
  RETURNS(InvalidType, "output 0: expected a value of type float, not a TensorList",
          call_error("tests::gives", {int64_t{0}}));
  gives = {2.0};
  RETURNS(InvalidState, "the operator returned 1 outputs, but its schema has 2",
          call_error("tests::gives", {int64_t{0}}));
  RETURNS(OutOfBounds, "n is negative", call_error("tests::gives", {int64_t{-1}}));
}

TEST_CASE("operators: what is registered twice or has no readable schema is refused") {
  const Registered registered("tests::once(Tensor x) -> ()", give_nothing);
  RETURNS(InvalidState, "register_torch_operator: the operator is defined twice: tests::once",
          register_torch_operator("tests::once(int n) -> ()", give_nothing));
  RETURNS(InvalidArgument, "has no namespace",
          register_torch_operator("once(Tensor x) -> ()", give_nothing));
  RETURNS(InvalidArgument, "is not the schema of an operator",
          register_torch_operator("tests::twice", give_nothing));
  for (const char* const schema :
       {"::b() -> int", "tests::() -> int", "tests::e 7(int x) -> int"}) {
    RETURNS(InvalidArgument, "is not a name such as ns::name.overload",
            register_torch_operator(schema, give_nothing));
  }
  RETURNS(InvalidArgument, "inputs 0 and 2 have the same name, x",
          register_torch_operator("tests::b(Tensor x, int y, Tensor x) -> ()", give_nothing));
  RETURNS(InvalidArgument, "the function is empty",
          register_torch_operator("tests::twice(Tensor x) -> ()", nullptr));
  RETURNS(NotSupported, "tenon has no values of type Dict",
          register_torch_operator("tests::twice(Dict(str, int) x) -> ()", give_nothing));
  CHECK(call_error("tests::twice", {}) == Error::NotFound);
  CHECK(register_torch_operator("tests::once.other(Tensor x) -> ()", give_nothing) == Error::Ok);
  CHECK(unregister_torch_operator("tests::once.other") == Error::Ok);
}

TEST_CASE("operators: a kernel for the CPU goes before the others, and goes with its library") {
  const auto gives = [](auto number) -> detail::StableKernel {
    return [](StableIValue* stack, uint64_t, uint64_t) {
      stack[0] = to_stack(int64_t{decltype(number)::value});
    };
  };
  const auto result = [] { return call_torch_operator("tests::which", {}).value()[0].toInt(); };
  const Library definer("tests::which() -> int");
  RETURNS(NotSupported, "tests::which has no kernel for the CPU", call_error("tests::which", {}));
  const Library implicit;
  implicit.add("tests::which", "CatchAll", gives(std::integral_constant<int, 1>()));
  CHECK(result() == 1);
  {
    const Library cpu;
    cpu.add("tests::which", "CPU", gives(std::integral_constant<int, 2>()));
    const Library fallback;
    fallback.add("tests::which", "CompositeExplicitAutograd",
                 gives(std::integral_constant<int, 3>()));
    CHECK(result() == 2);
    {
      const Library later;
      later.add("tests::which", "CPU", gives(std::integral_constant<int, 4>()));
      CHECK(result() == 4);
    }
    CHECK(result() == 2);
  }
  CHECK(result() == 1);
  implicit.add("tests::which", "CompositeExplicitAutograd",
               gives(std::integral_constant<int, 5>()));
  CHECK(result() == 5);
  CHECK(detail::stable_key("CUDA") == StableKey::Other);
  CHECK(detail::stable_key("Meta") == StableKey::Other);
}

TEST_CASE("operators: a library may implement what is registered elsewhere") {
  const auto kernel = [](StableIValue* stack, uint64_t, uint64_t) { stack[0] = to_stack(true); };
  const Library early;
  early.add("tests::flag", "CPU", kernel);
  CHECK(call_error("tests::flag", {}) == Error::NotFound);  // nobody defined it
  {
    const Registered registered("tests::flag() -> bool",
                                [](Span<const EValue>, std::vector<EValue>& outputs) {
                                  outputs.emplace_back(false);
                                  return Error::Ok;
                                });
    CHECK_FALSE(call_torch_operator("tests::flag", {}).value()[0].toBool());
    const Library late;
    late.add("tests::flag", "CPU", kernel);
    CHECK(call_torch_operator("tests::flag", {}).value()[0].toBool());
  }
  CHECK(call_error("tests::flag", {}) == Error::NotFound);
}

TEST_CASE("operators: one handle for several outputs is one tensor, which is taken once") {
  const auto twice = [](StableIValue* stack, uint64_t, uint64_t) { stack[1] = stack[0]; };
  const Library tensors("tests::twice(Tensor x) -> (Tensor, Tensor)");
  const Library optional("tests::twice_optional(Tensor? x) -> (Tensor?, Tensor?)");
  const Library lists("tests::twice_list(Tensor[] x) -> (Tensor[], Tensor[])");
  const Library numbers("tests::twice_number(int x) -> (int, int)");
  for (const char* const name : {"twice", "twice_optional", "twice_list", "twice_number"}) {
    tensors.add((std::string("tests::") + name).c_str(), "CPU", twice);
  }
  const TensorPtr x = ones({2});
  for (const char* const name : {"tests::twice", "tests::twice_optional"}) {
    const auto outputs = call_torch_operator(name, {*x}).value();
    CHECK(outputs[0].toTensor().const_data_ptr() == x->const_data_ptr());
    CHECK(outputs[1].toTensor().const_data_ptr() == x->const_data_ptr());
  }
  {
    const auto outputs =
        call_torch_operator("tests::twice_list", {std::vector<Tensor>{*x, *x}}).value();
    CHECK(outputs[1].toTensorList()[1].const_data_ptr() == x->const_data_ptr());
  }
  CHECK(x->use_count() == 1);
  CHECK(call_torch_operator("tests::twice_optional", {none}).value()[1].isNone());
  CHECK(call_torch_operator("tests::twice_number", {int64_t{7}}).value()[1].toInt() == 7);
}

// A promise of docs/guarantees.md.
TEST_CASE("operators: after an error nothing is left of the inputs and outputs") {
#if TENON_IS_CHECKED
  const size_t handles = detail::aoti_handles().count(nullptr);
#endif
  const Library library("tests::refuses(Tensor x, Tensor[] y, Scalar z) -> Tensor");
  const auto kernel = [](StableIValue*, uint64_t, uint64_t) {};
  library.add("tests::refuses", "CPU", kernel);
  const TensorPtr x = ones({2});
  RETURNS(NotSupported, "input 2 (z): torch's stable ABI passes no value of type Scalar",
          call_error("tests::refuses", {*x, std::vector<Tensor>{*x}, int64_t{1}}));
  const Library gives("tests::breaks(Tensor x, Tensor y) -> (Tensor, Tensor, str)");
  library.add("tests::breaks", "CPU", [](StableIValue* stack, uint64_t, uint64_t) {
    stack[2] = 0;  // a text's handle that is null
  });
  RETURNS(InvalidArgument, "output 2: the handle of a value of type str is null",
          call_error("tests::breaks", {*x, *x}));
  const Library lists("tests::gives_texts() -> str[]");
  library.add("tests::gives_texts", "CPU", kernel);
  RETURNS(InvalidArgument, "output 0: the handle of a value of type str",
          call_error("tests::gives_texts", {}));
  CHECK(x->use_count() == 1);
#if TENON_IS_CHECKED
  CHECK(detail::aoti_handles().count(nullptr) == handles);
#endif
}

TEST_CASE("operators: libraries call C++ functions by their stack, which is taken") {
  const Registered registered("tests::sum(Tensor[] x, float factor, str mode) -> (Tensor, str)",
                              [](Span<const EValue> inputs, std::vector<EValue>& outputs) {
                                if (inputs[2].toString() == "fail")
                                  return detail::fail(Error::InvalidArgument, "asked to");
                                outputs.push_back(inputs[0].toTensorList()[0]);
                                outputs.push_back(inputs[2]);
                                return Error::Ok;
                              });
  const TensorPtr x = ones({2});
  const auto fill = [&](StableIValue* stack, const char* mode) {
    REQUIRE(detail::push_stable("Tensor[]", std::vector<Tensor>{*x, *x}, stack[0]) == Error::Ok);
    REQUIRE(detail::push_stable("float", 2.0, stack[1]) == Error::Ok);
    REQUIRE(detail::push_stable("str", mode, stack[2]) == Error::Ok);
  };
  const detail::StableCall call = detail::look_up_stable("tests::sum");
  StableIValue stack[3];
  fill(stack, "a");
  REQUIRE(detail::call_on_stack(call, stack) == Error::Ok);
  CHECK(x->use_count() == 2);
  EValue text;
  REQUIRE(detail::read_stable("str", stack[1], text) == Error::Ok);
  CHECK(text.toString() == "a");
  detail::StableSlots{call.schema->outputs, stack}.drop();
  fill(stack, "fail");
  RETURNS(InvalidArgument, "asked to", detail::call_on_stack(call, stack));
  CHECK(x->use_count() == 1);
  // Without an implementation the stack is taken too.
  const Library library("tests::none(Tensor x) -> ()");
  REQUIRE(detail::push_stable("Tensor", *x, stack[0]) == Error::Ok);
  RETURNS(NotSupported, "tests::none has no kernel for the CPU",
          detail::call_on_stack(detail::look_up_stable("tests::none"), stack));
  CHECK(x->use_count() == 1);
}

TEST_CASE("operators: tenon's own give way to those of the program and of libraries") {
  const auto gives = [](int64_t number) {
    return [number](Span<const EValue>, std::vector<EValue>& outputs) {
      outputs.emplace_back(number);
      return Error::Ok;
    };
  };
  const auto result = [](std::initializer_list<EValue> inputs) {
    return call_torch_operator("tests::own", inputs).value()[0].toInt();
  };
  REQUIRE(detail::provide_operator("tests::own(int n=0) -> int", gives(1)) == Error::Ok);
  REQUIRE(detail::provide_operator("tests::own(int n=0) -> int", gives(9)) == Error::Ok);
  CHECK(result({}) == 1);
  {
    const Registered registered("tests::own(str s, int n=0) -> int", gives(2));
    CHECK(result({"a"}) == 2);  // with its schema
    CHECK(call_error("tests::own", {}) == Error::InvalidArgument);
    REQUIRE(detail::provide_operator("tests::own(int n=0) -> int", gives(9)) == Error::Ok);
    CHECK(result({"a"}) == 2);
    RETURNS(InvalidState, "defined twice",
            register_torch_operator("tests::own(int n=0) -> int", gives(3)));
  }
  CHECK(result({}) == 1);
  CHECK(unregister_torch_operator("tests::own") == Error::NotFound);
  const auto three = [](StableIValue* stack, uint64_t, uint64_t) { stack[0] = 3; };
  {
    const Library library;  // a kernel for the schema that is there
    library.add("tests::own", "CompositeImplicitAutograd", three);
    CHECK(result({}) == 1);
    library.add("tests::own", "CPU", three);
    CHECK(result({}) == 3);
  }
  CHECK(result({}) == 1);
  {
    const Library library("tests::own(int a, int b) -> int");
    CHECK(call_error("tests::own", {int64_t{1}, int64_t{2}}) == Error::NotSupported);
    library.add("tests::own", "CompositeImplicitAutograd", three);
    CHECK(result({int64_t{1}, int64_t{2}}) == 3);
  }
  CHECK(result({}) == 1);
}

TEST_CASE("operators: a function may register and remove operators, itself too") {
  REQUIRE(register_torch_operator("tests::outer() -> int",
                                  [](Span<const EValue>, std::vector<EValue>& outputs) {
                                    TENON_TRY(unregister_torch_operator("tests::outer"));
                                    outputs.emplace_back(int64_t{3});
                                    return Error::Ok;
                                  }) == Error::Ok);
  CHECK(call_torch_operator("tests::outer", {}).value()[0].toInt() == 3);
  CHECK(call_error("tests::outer", {}) == Error::NotFound);
}

}  // namespace torch_stable_operators_test
