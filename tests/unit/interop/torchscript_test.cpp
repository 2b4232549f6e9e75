// SPDX-License-Identifier: MIT
// Needs libtorch, and is built with it by interop/runtimes/torchscript/CMakeLists.txt, in both modes.
#include "tenon/interop/torchscript.h"

#include <ATen/Functions.h>
#include <optional>

#include "interop/files.h"
#include "interop/models.h"
#include "interop/nested.h"
#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"
#include "threads/threads.h"

namespace torchscript_test {

using namespace tenon;
using tests::Calls;
using tests::Floats;
using tests::model_path;
using tests::Vector;

namespace {

torch::jit::Module script(const char* source) {
  torch::jit::Module module("m");
  module.define(source);
  return module;
}

TensorPtr row() { return make_tensor_ptr({1, 3}, {1.0f, 2.0f, 3.0f}); }

/// The only output.
EValue one(const Result<std::vector<EValue>>& outputs) {
  INFO(outputs.message());
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 1);
  return (*outputs)[0];
}
Floats floats(const EValue& value) { return tests::values<float>(value.toTensor()); }

std::string last_error() { return last_error_message(); }

}  // namespace

TEST_CASE("TorchScriptModule: forward runs a file, whose methods are in its order") {
  TorchScriptModule many(model_path("many.pt"));
  CHECK(floats(one(many.forward(row()))) == Floats{2, 4, 6});
  TorchScriptModule add(model_path("add.pt"));
  CHECK(floats(one(add.execute("forward", {row(), make_tensor_ptr(1.0f)}))) == Floats{2, 3, 4});
  const auto names = many.method_names();
  REQUIRE(names->size() == many.module().get_methods().size());
  REQUIRE(names->size() > 20);
  for (size_t i = 0; i < names->size(); ++i) {
    CHECK((*names)[i] == many.module().get_methods()[i].name());
  }
}

TEST_CASE("TorchScriptModule: several at once, each on its thread",
          "[threads][TorchScriptModule]") {
  std::vector<int> right(2);
  tests::on_threads(2, [&](int i) {
    TorchScriptModule add(model_path("add.pt"));
    for (int n = 0; n < 20; ++n) {
      const auto outputs = add.forward({row(), make_tensor_ptr(static_cast<float>(i))});
      right[static_cast<size_t>(i)] +=
          outputs &&
          const_data_ptr<float>(outputs->at(0).toTensor())[2] == static_cast<float>(3 + i);
    }
  });
  CHECK(right == std::vector<int>{20, 20});
}

TEST_CASE("TorchScriptModule: numbers, flags, texts and lists go in and come out") {
  TorchScriptModule many(model_path("many.pt"));
  CHECK(floats(one(many.execute("scaled", {row(), 0.5, 4, false}))) == Floats{2, 4, 6});
  CHECK(floats(one(many.execute("scaled", {row(), 0.5, 4, true}))) == Floats{-2, -4, -6});
  CHECK(one(many.execute("greet", "you")).toString() == "hello you");
  CHECK(floats(one(many.execute("total", EValue(std::vector<Tensor>{*row(), *row()})))) ==
        Floats{2, 4, 6});
  const std::vector<std::optional<Tensor>> two_of_three{std::nullopt, *row(), *row()};
  CHECK(one(many.execute("count_there", EValue(two_of_three))).toInt() == 2);
  const EValue shaped = one(many.execute("shaped", {row(), std::vector<int>{3, 1}}));
  CHECK(tests::sizes(shaped.toTensor()) == Vector{3, 1});
  CHECK(one(many.execute("mean_of", EValue(tests::Doubles{1, 2}))).toDouble() == 1.5);
  CHECK_FALSE(one(many.execute("all_of", EValue(std::vector<bool>{true, false}))).toBool());
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "TorchScriptModule: nested inputs and outputs are in order, as ExecuTorch's export has it") {
  TorchScriptModule nested(model_path("nested.pt"));
  REQUIRE(nested.split_input("table", {"z", "a"}) == Error::Ok);
  const MethodMeta meta = *nested.method_meta();
  const char* const names[] = {"x",        "state_h",  "state_c", "pair_0",
                               "pair_1_0", "pair_1_1", "table_z", "table_a"};
  REQUIRE(meta.inputs.size() == 8);
  for (size_t i = 0; i < 8; ++i) CHECK(meta.inputs[i].name() == std::string(names[i]));
  CHECK_FALSE(meta.knows_outputs);  // a list may be of any length
  tests::check_nested(nested);
}

TEST_CASE("TorchScriptModule: the elements of lists and the values of dicts are one output each") {
  TorchScriptModule many(model_path("many.pt"));
  const auto rows = many.execute("rows", make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}));
  REQUIRE(rows->size() == 2);
  CHECK(floats((*rows)[1]) == Floats{3, 4});
  CHECK(many.execute("rows", zeros({0, 2}))->empty());
  const auto sizes = many.execute("sizes", row());
  REQUIRE(sizes->size() == 2);
  CHECK((*sizes)[1].toInt() == 3);
  CHECK(many.execute("texts")->at(1).toString() == "b");
  CHECK(floats(one(many.execute("table", row()))) == Floats{1, 2, 3});
  const auto nested = many.execute("nested", row());
  REQUIRE(nested->size() == 3);
  CHECK(floats((*nested)[1]) == Floats{2, 3, 4});
  CHECK((*nested)[2].toInt() == 2);
  CHECK(many.method_meta("nested")->outputs[2].kind == ValueKind::Int);  // known: tuples alone
  const TensorPtr to = zeros({2});
  REQUIRE(many.set_output("rows", to, 1) == Error::Ok);
  REQUIRE(many.run("rows", ones({3, 2})) == Error::Ok);
  CHECK(tests::values<float>(to) == Floats{1, 1});
  CHECK(many.get_outputs("rows")->size() == 3);
  RETURNS(InvalidArgument, "run: output 1 was set, but there are only 1",
          many.run("rows", ones({1, 2})));
  CHECK(many.run("rows", ones({2, 2})) == Error::Ok);  // nothing is lost
  TorchScriptModule numbers(
      script("def forward(self, n: int):\n    return [i for i in range(n)]\n"));
  CHECK(numbers.forward(10000)->at(9999).toInt() == 9999);
}

TEST_CASE(
    "TorchScriptModule: a number, or a value of any of several types, is what it is in a run") {
  TorchScriptModule item(script("def forward(self, x):\n    return x, x.sum().item()\n"));
  CHECK((*item.forward(row()))[1].toDouble() == 6);
  CHECK((*item.forward(ones({4}, ScalarType::Long)))[1].toInt() == 4);
  CHECK_FALSE(item.method_meta()->knows_outputs);
  TorchScriptModule maybe(script(R"(
def forward(self, x: Tensor, both: bool) -> Optional[Tuple[Tensor, Tensor]]:
    if both:
        return x, x + 1
    return None
)"));
  CHECK(maybe.forward({row(), true})->size() == 2);
  CHECK(one(maybe.forward({row(), false})).isNone());
}

// A promise of docs/guarantees.md.
TEST_CASE("TorchScriptModule: an output that no EValue can be is None, and the others are there") {
  TorchScriptModule many(model_path("many.pt"));
  const auto outputs = many.execute("device_of", row());
  INFO(outputs.message());
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 3);
  CHECK(floats((*outputs)[0]) == Floats{1, 2, 3});
  CHECK((*outputs)[1].isNone());
  CHECK((*outputs)[2].toInt() == 3);
  CHECK(many.method_meta("device_of")->outputs[1].kind == ValueKind::None);
  RETURNS(NotSupported, "get_output: output 1: it is Device, which an EValue cannot be",
          many.get_output("device_of", 1).error());
  CHECK(many.get_output("device_of", 2).ok());
  RETURNS(InvalidType, "expected None", many.set_output("device_of", row(), 1));
  TorchScriptModule any(script("def forward(self, x):\n    return [x.device], {1: x}\n"));
  const auto two = any.forward(row());
  CHECK((two->at(0).isNone() && two->at(1).isTensor()));
  REQUIRE(any.set_output(row(), 0) == Error::Ok);  // asked for
  RETURNS(NotSupported, "run: output 0: it is Device, which", any.run("forward", row()));
  REQUIRE(any.set_output(none, 0) == Error::Ok);
  CHECK(any.run("forward", row()) == Error::Ok);
  TorchScriptModule alone(script("def forward(self, x):\n    return x.device\n"));
  RETURNS(NotSupported, "run: output 0: it is Device, which", alone.run("forward", row()));
}

TEST_CASE("TorchScriptModule: a sparse tensor is None, the others are there") {
  TorchScriptModule module(
      script("def forward(self, x) -> Tuple[Tensor, Tensor]:\n    return x.to_sparse(), x\n"));
  CHECK(module.method_meta()->outputs[0].kind == ValueKind::Tensor);
  const auto outputs = module.forward(row());
  INFO(outputs.message());
  REQUIRE(outputs.ok());
  CHECK(outputs->at(0).isNone());
  CHECK(floats(outputs->at(1)) == Floats{1, 2, 3});
  RETURNS(NotSupported, "get_output: output 0: ", module.get_output(0).error());
}

TEST_CASE("TorchScriptModule: a result that is nested too deep or of too many parts is refused") {
  const auto deep = [](const char* step) {
    return "def forward(self, x, n: int):\n  l: Any = x\n  for i in range(n):\n    " +
           std::string(step) + "\n    l = t\n  return x, l\n";
  };
  for (const char* const step :
       {"s: List[Any] = []\n    s.append(l)\n    t: Any = s", "t: Any = (l,)",
        "s: Dict[int, Any] = {}\n    s[1] = l\n    t: Any = s"}) {
    CAPTURE(step);
    TorchScriptModule module(script(deep(step).c_str()));
    const auto outputs = module.forward({row(), 63});  // and the tuple around them
    INFO(outputs.message());
    REQUIRE(outputs.ok());
    CHECK(floats(outputs->at(1)) == Floats{1, 2, 3});
    RETURNS(NotSupported, "run: the result: it is nested more than 64 deep",
            module.run("forward", {row(), 64}));
    RETURNS(NotSupported, "nested more than 64 deep", module.run("forward", {row(), 1000}));
    CHECK(module.forward({row(), 1}).ok());  // nothing is lost
  }
  TorchScriptModule list(script(R"(
def forward(self, x):
    l: List[Any] = []
    l.append(x)
    whole: Any = l
    l.append(whole)
    return l
)"));
  RETURNS(NotSupported, "nested more than 64 deep", list.run("forward", row()));
  TorchScriptModule dict(script(R"(
def forward(self, x):
    d: Dict[str, Any] = {}
    d["a"] = d
    return d
)"));
  RETURNS(NotSupported, "nested more than 64 deep", dict.run("forward", row()));

  // Each tuple is twice the one before, at the end of nothing.
  for (const char* const first : {"x", "()"}) {
    TorchScriptModule doubled(
        script(("def forward(self, x, n: int):\n  l: Any = " + std::string(first) +
                "\n  for i in range(n):\n    t: Any = (l, l)\n    l = t\n"
                "  return l\n")
                   .c_str()));
    CHECK(doubled.forward({row(), 3})->size() == (*first == 'x' ? 8 : 0));
    RETURNS(NotSupported, "run: the result: it has more than 1048576 parts",
            doubled.run("forward", {row(), 60}));
  }
}

TEST_CASE("TorchScriptModule: a type that is nested too deep or of too many parts is refused") {
  std::string doubled = "def forward(self, x):\n  a0 = (x, x)\n";
  for (int i = 1; i < 24; ++i) {
    const std::string last = "a" + std::to_string(i - 1);
    doubled += "  a" + std::to_string(i) + " = (" + last + ", " + last + ")\n";
  }
  TorchScriptModule module(script((doubled + "  return a23\n").c_str()));
  RETURNS(NotSupported, "load_method: the result: it has more than 1048576 parts",
          module.load_method());
  std::string type = "Tensor";
  for (int i = 0; i < 70; ++i) type = "Tuple[" + type + "]";
  TorchScriptModule deep(script(("def forward(self, x, y: " + type + "):\n  return x\n").c_str()));
  RETURNS(NotSupported, "load_method: input 1 (y): it is nested more than 64 deep",
          deep.load_method());
}

TEST_CASE("TorchScriptModule: a tuple's elements are inputs; without any, its default stands") {
  TorchScriptModule module(script(R"(
def forward(self, x: Tensor, state: Optional[Tuple[Tensor, Optional[Tensor]]] = None) -> Tensor:
    if state is None:
        return x
    h, c = state
    return x + 10 * h if c is None else x + 10 * h + 100 * c
)"));
  const MethodMeta meta = *module.method_meta();
  REQUIRE(meta.inputs.size() == 3);
  CHECK(meta.inputs[2].name() == std::string("state_1"));
  CHECK((meta.inputs[1].is_optional && meta.inputs[2].is_optional));
  CHECK(floats(one(module.forward(row()))) == Floats{1, 2, 3});
  CHECK(floats(one(module.forward({row(), row()}))) == Floats{11, 22, 33});
  CHECK(floats(one(module.forward({row(), row(), row()}))) == Floats{111, 222, 333});
  RETURNS(InvalidState,
          "run: input 1 (state_0): it is missing, but other parts of the argument are given",
          module.run("forward", {row(), none, row()}));
  REQUIRE(module.set_input(row(), 1) == Error::Ok);
  CHECK(floats(one(module.forward(row()))) == Floats{11, 22, 33});
  RETURNS(InvalidType, "input 2 (state_1): it is an Int, 5", module.set_input(5, 2));
}

// A promise of docs/guarantees.md.
TEST_CASE("TorchScriptModule: a list of texts is an argument, one text too; each is an output") {
  TorchScriptModule module(script(R"(
def forward(self, words: List[str], more: Optional[List[str]] = None) -> Tuple[str, List[str]]:
    if more is not None:
        words = words + more
    return "|".join(words), words
)"));
  const auto meta = *module.method_meta();
  CHECK(meta.inputs[0].kind == ValueKind::StringList);
  CHECK((meta.inputs[1].kind == ValueKind::StringList && meta.inputs[1].is_optional));
  const auto outputs = module.forward({tests::Texts{"a", ""}, tests::Texts{"\xff"}});
  REQUIRE((outputs.ok() && outputs->size() == 4));
  CHECK(outputs->at(0).toString() == "a||\xff");
  CHECK(outputs->at(1).toString() == "a");
  CHECK(outputs->at(3).toString() == "\xff");
  CHECK(module.forward(EValue("one"))->at(0).toString() == "one");
  CHECK(module.forward({"one", "two"})->at(0).toString() == "one|two");
  CHECK(module.forward(tests::Texts())->at(0).toString().empty());
  CHECK(module.run("forward", row()) == Error::InvalidType);
  RETURNS(InvalidType, "input 0 (words): it is an IntList of 2, expected a StringList",
          module.run("forward", EValue(std::vector<int>{1, 2})));
  REQUIRE(module.set_output(zeros({1})) == Error::Ok);
  RETURNS(InvalidType, "run: output 0: it is a String, \"a\", and a tensor of Float was set",
          module.run("forward", tests::Texts{"a"}));
}

TEST_CASE("TorchScriptModule: a dict or a list is one input for each element that is named") {
  const char* const source = R"(
def forward(self, table: Dict[str, Tensor], states: List[Tuple[Tensor, Tensor]]) -> Tensor:
    total = table["y"] - table["x"]
    for h, c in states:
        total = total * 10 + h * c
    return total
)";
  TorchScriptModule module(script(source));
  REQUIRE(module.split_input("table", {"y", "x"}) == Error::Ok);
  REQUIRE(module.split_input("states", {"0", "1"}) == Error::Ok);
  const auto number = [](float value) { return full({1}, value); };
  CHECK(floats(one(module.forward(
            {number(5), number(3), number(2), number(3), number(4), number(1)}))) == Floats{264});
  CHECK(module.method_meta()->inputs[3].name() == std::string("states_0_1"));
  RETURNS(InvalidState, "split_input: forward has been used already",
          module.split_input("table", {"x"}));

  REQUIRE(module.unload_method() == Error::Ok);
  CHECK(floats(one(module.forward(
            {number(5), number(3), number(2), number(3), number(4), number(1)}))) == Floats{264});

  TorchScriptModule whole(script(source));
  RETURNS(NotSupported,
          "run: input 0 (table): it is Dict[str, Tensor], which an EValue cannot be; split_input() "
          "makes",
          whole.run("forward"));
  TorchScriptModule wrong(script(source));
  RETURNS(NotFound,
          "split_input: forward has no list or str-keyed dict input \"tabel\" left to split",
          wrong.split_input("tabel", {"x"}));
  RETURNS(NotFound, "split_input: there is no method \"backward\"",
          wrong.split_input("backward", "table", {"x"}));
  RETURNS(InvalidArgument, "split_input: table is split by the key \"x\" twice",
          wrong.split_input("table", {"x", "y", "x"}));
  REQUIRE(wrong.split_input("table", {"x", "y"}) == Error::Ok);
  RETURNS(NotFound, "\"table\" left to split", wrong.split_input("table", {"x"}));
  REQUIRE(wrong.split_input("states", {"0"}) == Error::Ok);
  CHECK(wrong.method_meta()->inputs.size() == 4);  // nothing is lost
  TorchScriptModule missing(script(source));
  REQUIRE(missing.split_input("table", {"y"}) == Error::Ok);
  REQUIRE(missing.split_input("states", {}) == Error::Ok);
  RETURNS(InvalidArgument, "run: libtorch: KeyError: x", missing.run("forward", number(1)));
}

TEST_CASE(
    "TorchScriptModule: the elements of a tuple are one output each, of None there are none") {
  TorchScriptModule many(model_path("many.pt"));
  const auto pair = many.execute("pair", row());
  REQUIRE(pair.ok());
  REQUIRE(pair->size() == 2);
  CHECK(floats((*pair)[0]) == Floats{2, 3, 4});
  CHECK(floats((*pair)[1]) == Floats{0, 1, 2});
  CHECK(floats(one(many.execute("single", row()))) == Floats{2, 3, 4});
  CHECK(floats((*many.execute("bounds", row()))[1]) == Floats{2, 3, 4});
  CHECK(many.method_meta("bounds")->outputs[0].name() == std::string("low"));
  const auto mixed = many.execute("mixed", row());
  REQUIRE(mixed->size() == 5);
  CHECK((*mixed)[1].toInt() == 2);
  CHECK((*mixed)[2].toDouble() == 0.5);
  CHECK((*mixed)[3].toBool());
  CHECK((*mixed)[4].toString() == "text");
  CHECK(many.execute("nothing", row())->empty());
  TorchScriptModule module(script("def forward(self, x):\n    return torch.max(x, 1)\n"));
  const auto two = module.forward(row());  // an operator with two results
  REQUIRE(two->size() == 2);
  CHECK(floats((*two)[0]) == Floats{3});
  CHECK(tests::values<int64_t>((*two)[1].toTensor()) == Vector{2});
}

TEST_CASE("TorchScriptModule: a default stands for an input that is None or left out") {
  TorchScriptModule many(model_path("many.pt"));
  CHECK(floats(one(many.execute("plus", row()))) == Floats{1.5, 2.5, 3.5});
  CHECK(floats(one(many.execute("plus", {row(), 2.0}))) == Floats{3, 4, 5});
  CHECK(floats(one(many.execute("plus", {row(), none, 4}))) == Floats{3, 4, 5});
  CHECK(floats(one(many.execute("maybe", row()))) == Floats{1, 2, 3});
  CHECK(floats(one(many.execute("maybe", {row(), row()}))) == Floats{2, 4, 6});
  // Without a default None is a value.
  CHECK(floats(one(many.execute("maybe_times", {row(), none}))) == Floats{1, 2, 3});
  CHECK(floats(one(many.execute("maybe_times", {row(), 2}))) == Floats{2, 4, 6});
}

TEST_CASE("TorchScriptModule: method_meta has the arguments' names and kinds, and the outputs'") {
  TorchScriptModule many(model_path("many.pt"));
  const MethodMeta meta = *many.method_meta("scaled");
  CHECK(meta.name == std::string("scaled"));
  CHECK((meta.knows_inputs && meta.knows_outputs));
  const ValueKind kinds[] = {ValueKind::Tensor, ValueKind::Double, ValueKind::Int, ValueKind::Bool};
  const char* const names[] = {"x", "by", "times", "negate"};
  REQUIRE(meta.inputs.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(meta.inputs[i].kind == kinds[i]);
    CHECK(meta.inputs[i].name() == std::string(names[i]));
    CHECK_FALSE((meta.inputs[i].is_optional || meta.inputs[i].is_described));
  }
  REQUIRE(meta.outputs.size() == 1);
  CHECK(meta.outputs[0].kind == ValueKind::Tensor);
  CHECK(many.method_meta("mixed")->outputs[4].kind == ValueKind::String);
  CHECK(many.method_meta("nothing")->outputs.empty());
  CHECK(many.method_meta("nothing")->knows_outputs);
  CHECK(many.method_meta("maybe")->inputs[1].kind == ValueKind::Tensor);
  CHECK(many.method_meta("maybe")->inputs[1].is_optional);
  CHECK(many.method_meta("plus")->inputs[1].is_optional);
}

TEST_CASE("TorchScriptModule: an argument of another type has its default") {
  TorchScriptModule module(script(R"(
def forward(self, x: Tensor, device: Optional[Device] = None, times: int = 2) -> Tensor:
    return x.to(device) * times if device is not None else x * times
)"));
  const MethodMeta meta = *module.method_meta();
  CHECK(meta.inputs[1].kind == ValueKind::None);
  CHECK(floats(one(module.forward(row()))) == Floats{2, 4, 6});
  CHECK(floats(one(module.forward({row(), none, 3}))) == Floats{3, 6, 9});
  RETURNS(NotSupported, "forward: input 1 (device): it is Device, which an EValue cannot be",
          module.forward({row(), "cpu"}).error());
}

TEST_CASE("TorchScriptModule: an input's memory is released when it and the outputs are gone") {
  Calls calls;
  float memory[3] = {1, 2, 3};
  TorchScriptModule many(model_path("many.pt"));
  {
    const EValue same =
        one(many.execute("same", from_blob(memory, {1, 3}, ScalarType::Float, calls.deleter())));
    CHECK(const_data_ptr(same.toTensor()) == memory);
    CHECK(many.run("same", row()) == Error::Ok);
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
  TensorPtr x = ones({2}, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  CHECK(floats(one(many.forward(x))) == Floats{2, 2});
  CHECK(resize_tensor_ptr(x, {1000}) == Error::Ok);  // no output shares it
}

TEST_CASE("TorchScriptModule: an output is copied to the tensor that was set for it") {
  TorchScriptModule many(model_path("many.pt"));
  float memory[4] = {9, 9, 9, 9};
  const TensorPtr to = from_blob(memory, {2, 2});
  CHECK(many.set_output(to) == Error::Ok);
  CHECK(const_data_ptr(one(many.forward(row())).toTensor()) == memory);
  CHECK(Floats(memory, memory + 4) == Floats{2, 4, 6, 9});
  CHECK(tests::sizes(to) == Vector{1, 3});
  RETURNS(InvalidArgument, "output 0", many.run("forward", ones({5})));  // no room for five
  CHECK(many.set_output(zeros({3}, ScalarType::Int)) == Error::Ok);
  RETURNS(InvalidType, "output 0: it is a Tensor, Float {1, 3}, and a tensor of Int was set",
          many.run("forward", row()));
  const TensorPtr second = zeros({1, 3});
  CHECK(many.set_output("pair", second, 1) == Error::Ok);  // of a tuple, one by one
  CHECK(many.run("pair", row()) == Error::Ok);
  CHECK(tests::values<float>(second) == Floats{0, 1, 2});
  CHECK(floats(*many.get_output("pair", 0)) == Floats{2, 3, 4});
  RETURNS(InvalidType, "output 1: it is a Tensor", many.set_output("mixed", second, 1));
}

TEST_CASE("TorchScriptModule: what a script or operator refuses is the text, on one line") {
  TorchScriptModule many(model_path("many.pt"));
  RETURNS(InvalidArgument, "execute: libtorch: the sensor is off",
          many.execute("refuse", row()).error());
  TorchScriptModule asserts(script(
      "def forward(self, x: Tensor):\n    assert x.dim() == 1, \"one row\"\n    return x\n"));
  RETURNS(InvalidArgument, "run: libtorch: AssertionError: one row", asserts.run("forward", row()));
  TorchScriptModule add(model_path("add.pt"));
  RETURNS(InvalidArgument,
          "run: libtorch: The size of tensor a (3) must match the size of tensor b (2)",
          add.run("forward", {row(), ones({2})}));
  CHECK(last_error().find('\n') == std::string::npos);
  CHECK(floats(one(add.forward({row(), row()}))) == Floats{2, 4, 6});
  TorchScriptModule huge(script("def forward(self):\n    return torch.empty([1 << 50])\n"));
  RETURNS(OutOfMemory, "run: libtorch: ", huge.run());
}

TEST_CASE("TorchScriptModule: outputs outlive the module and leave gradients behind") {
  torch::jit::Module module("m");
  module.register_parameter("weight", at::ones({2}).set_requires_grad(true), false);
  module.register_buffer("kept", at::arange(3, at::kFloat));
  module.define(
      "def forward(self):\n    return self.weight * 2, self.weight\n"
      "def table(self):\n    return self.kept\n");
  const void* const memory = module.attr("weight").toTensor().data_ptr();
  Tensor output, weight;
  EValue table;
  {
    TorchScriptModule weights(std::move(module));
    const auto outputs = weights.forward();
    REQUIRE(outputs.ok());
    output = (*outputs)[0].toTensor();
    weight = (*outputs)[1].toTensor();
    table = one(weights.execute("table"));
  }
  CHECK(tests::values<float>(output) == Floats{2, 2});
  CHECK(const_data_ptr(weight) == memory);
  CHECK(floats(table) == Floats{0, 1, 2});
#if TENON_ATEN_MODE
  CHECK_FALSE(output.requires_grad());
  CHECK_FALSE(weight.requires_grad());
  CHECK_FALSE(output.is_inference());  // usable in autograd
#endif
}

TEST_CASE("TorchScriptModule: a file is put into evaluation mode, a loaded module keeps its own") {
  TorchScriptModule from_file(model_path("many.pt"));
  CHECK_FALSE(from_file.module().is_training());
  const TensorPtr ones = tenon::ones({1000});
  CHECK(floats(one(from_file.execute("dropped", ones))) == Floats(1000, 1));
  torch::jit::Module loaded = torch::jit::load(model_path("many.pt"));
  loaded.train();
  TorchScriptModule training(loaded);
  CHECK(training.module().is_training());
  CHECK(floats(one(training.execute("dropped", ones))) != Floats(1000, 1));
  loaded.eval();  // shared
  CHECK(floats(one(training.execute("dropped", ones))) == Floats(1000, 1));
}

TEST_CASE("TorchScriptModule: a file that is missing or no TorchScript, until it is there") {
  const tests::TempFolder folder;
  const std::string path = folder / "late.pt";
  TorchScriptModule is_folder(folder / "");
  RETURNS(AccessFailed, "not a regular file", is_folder.load_method());
  TorchScriptModule module(path);
  RETURNS(NotFound, "run: " + path + ": cannot open: No such file", module.run("forward", row()));
  RAISES(NotFound, "module: ", module.module());
  const std::vector<uint8_t> whole = tests::file_bytes(model_path("many.pt"));
  const std::vector<uint8_t> half(whole.begin(), whole.begin() + 1000);
  const std::vector<uint8_t> contents[] = {{}, {'t', 'e', 'x', 't'}, half};
  for (const std::vector<uint8_t>& content : contents) {
    CAPTURE(content.size());
    tests::put_file(path, content);
    RETURNS(InvalidArgument, path + ": libtorch: PytorchStreamReader failed", module.load_method());
    CHECK(last_error().find('\n') == std::string::npos);
  }
  tests::put_file(path, whole);
  CHECK(floats(one(module.forward(row()))) == Floats{2, 4, 6});
  CHECK(module.module().find_method("forward").has_value());
}

#if TENON_ATEN_MODE

TEST_CASE("TorchScriptModule: in ATen mode inputs and outputs are the at::Tensors themselves") {
  TorchScriptModule many(model_path("many.pt"));
  const at::Tensor x = at::ones({2});
  CHECK(one(many.execute("same", x)).toTensor().is_same(x));
  at::Tensor leaf = at::ones({2});
  leaf.set_requires_grad(true);
  const at::Tensor same = one(many.execute("same", leaf)).toTensor();
  CHECK_FALSE(same.requires_grad());
  CHECK(same.data_ptr() == leaf.data_ptr());
}

#else

TEST_CASE("TorchScriptModule: a read-only tensor may be an input, and views of it are read-only") {
  TorchScriptModule many(model_path("many.pt"));
  const float constant[2] = {1, 2};
  const TensorPtr x = from_blob(constant, {1, 2});
  const Tensor scaled = one(many.forward(x)).toTensor();
  CHECK(tests::values<float>(scaled) == Floats{2, 4});
  CHECK_FALSE(scaled.is_readonly());
  const Tensor same = one(many.execute("same", x)).toTensor();
  CHECK(same.const_data_ptr<float>() == constant);
  CHECK(same.is_readonly());
}

TEST_CASE("TorchScriptModule: what cannot be an at::Tensor is refused by the input's name") {
  TorchScriptModule many(model_path("many.pt"));
  RETURNS(NotSupported, "run: input 0 (x): strides {3, -1} of sizes {1, 3} are negative",
          many.run("forward", flip(*row(), {1})));
  RETURNS(InvalidState, "input 0 (x): the tensor is a placeholder",
          many.run("forward", from_blob(nullptr, {1, 3})));
  RETURNS(NotSupported, "input 0 (tensors): element 1: strides",
          many.run("total", EValue(std::vector<Tensor>{*row(), flip(*row(), {1})})));
}

#endif

}  // namespace torchscript_test
