// SPDX-License-Identifier: MIT
#include "tenon/module/function_module.h"

#include <stdexcept>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace function_module_test {

using namespace tenon;

namespace {

using Outs = std::vector<EValue>;

TensorPtr pair(float a, float b) { return make_tensor_ptr({a, b}); }
const ValueSpec kPair("x", TensorSpec{{2}, ScalarType::Float, {"items"}});

// Adds two pairs into outputs[0].
Error add(Span<const EValue> inputs, Span<EValue> outputs) {
  const auto x = inputs[0].toTensor().accessor<float, 1>();
  const auto y = inputs[1].toTensor().accessor<float, 1>();
  auto sum = outputs[0].toTensor().accessor<float, 1>();
  for (int64_t i = 0; i < 2; ++i) sum[i] = x[i] + y[i];
  return Error::Ok;
}

float item(const EValue& value, size_t i) { return const_data_ptr<float>(value.toTensor())[i]; }

// The next state, one more, and the last one: read after the next one is written.
void step(Span<const EValue> inputs, Span<EValue> outputs) {
  const float* const state = const_data_ptr<float>(inputs[0].toTensor());
  mutable_data_ptr<float>(outputs[0].toTensor())[0] = state[0] + 1;
  mutable_data_ptr<float>(outputs[1].toTensor())[0] = state[0];
}
const ValueSpec kOne = TensorSpec{{1}};

template <class F>
constexpr bool kWrites = detail::writes_outputs_v<F>;
template <class F>
constexpr bool kReturns = detail::returns_outputs_v<F>;

struct alignas(64) Aligned {
  Outs operator()(Span<const EValue>) const {
    return {reinterpret_cast<uintptr_t>(this) % 64 == 0};
  }
};

template <class F>
EValue call(F f) {
  return FunctionModule(std::move(f)).forward(3)->at(0);
}

// A method of two Ints, which gives both.
FunctionModule ints() {
  return FunctionModule([](Span<const EValue> in) { return in.vec(); },
                        {{"first", ValueKind::Int}, {"second", ValueKind::Int}});
}

// Cannot be moved; the copy that counts down to 0 throws.
struct Fragile {
  explicit Fragile(int* copies_left_) : copies_left(copies_left_) {}
  Fragile(const Fragile& other) : copies_left(other.copies_left) {
    if (--*copies_left == 0) throw std::bad_alloc();
  }
  int* copies_left;
};

}  // namespace

TEST_CASE("FunctionModule: inputs and outputs are checked by the specs, if there are any") {
  FunctionModule unknown([](Span<const EValue> in) { return Outs{in[1], in[0]}; });
  CHECK(unknown.forward({zeros({3}), 5})->at(0).toInt() == 5);
  CHECK(unknown.forward({1, 2}).ok());
  CHECK(*unknown.method_names() == tests::Texts{"forward"});
  CHECK_FALSE(unknown.method_meta()->knows_inputs);
  int calls = 0;
  FunctionModule module(
      [&](Span<const EValue> in) {
        ++calls;
        return Outs{in[1].toInt() == 1 ? EValue(in[0]) : EValue(in[1])};
      },
      {kPair, {"which", ValueKind::Int}}, {{"y", TensorSpec{{2}}}});
  CHECK(module.forward({pair(1, 2), 1}).ok());
  RETURNS(InvalidArgument, "run: input 0 (x): dimension 0 (items) is 3, expected 2",
          module.run("forward", {zeros({3}), 1}));
  CHECK(calls == 1);
  RETURNS(InvalidType, "run: output 0 (y): it is an Int, 2, expected a Tensor",
          module.run("forward", {pair(1, 2), 2}));
  CHECK(module.method_meta()->outputs.size() == 1);
}

TEST_CASE("FunctionModule: a wrong number of outputs is an error") {
  FunctionModule module([](Span<const EValue> in) { return in.vec(); }, {}, kPair);
  CHECK(module.forward().message() == std::string("forward: forward gave 0 outputs, expected 1"));
  FunctionModule one([](Span<const EValue>) { return 1; }, {}, {kPair, kPair});
  CHECK(one.forward().message() == std::string("forward: forward gave 1 output, expected 2"));
}

TEST_CASE("FunctionModule: methods are added by name, each name once, by a callable too") {
  FunctionModule module;
  CHECK(module.forward(1).error() == Error::NotFound);
  REQUIRE(module.add_method(std::string("half"),
                            [](Span<const EValue> in) { return in[0].toInt() / 2; },
                            {{"n", ValueKind::Int}}) == Error::Ok);
  const auto meta = module.method_meta("half");
  const auto forward = [&](Span<const EValue> in) -> EValue {
    for (int i = 0; i < 20; ++i) {
      const Error error =
          module.add_method("m" + std::to_string(i), [i](Span<const EValue>) { return EValue(i); });
      if (error != Error::Ok) return EValue();
    }
    return in[0].toInt() + module.execute("m19")->at(0).toInt();
  };
  REQUIRE(module.add_method("forward", forward) == Error::Ok);
  CHECK(module.forward(1)->at(0).toInt() == 20);
  CHECK(module.execute("half", 42)->at(0).toInt() == 21);
  CHECK(meta->name == std::string("half"));
  CHECK(module.execute("half", 0.5).error() == Error::InvalidType);
  RETURNS(InvalidArgument, "add_method: there is a method \"half\" already",
          module.add_method("half", [](Span<const EValue>) { return 1; }));
  RETURNS(InvalidArgument, "add_method: the name \"half\" has a null character inside",
          module.add_method({"half\0", 5}, [](Span<const EValue>) { return 1; }));
  CHECK(module.method_names()->size() == 22);
}

TEST_CASE("FunctionModule: a spec that cannot be met is an error, and the callable is dropped") {
  const auto kept = std::make_shared<int>(0);
  const auto f = [kept](Span<const EValue>) { return 1; };
  const TensorSpec bad{{2, 3}, ScalarType::Float, {"rows"}};
  RAISES(InvalidArgument, "FunctionModule: input 0 (x): the spec has 1 names",
         FunctionModule(f, {{"x", bad}}));
  RAISES(InvalidArgument, "FunctionModule: input 0: the spec's dimension 0 has size -7",
         FunctionModule(f, TensorSpec{{-7, -1}}));
  FunctionModule module;
  RETURNS(InvalidArgument, "add_method: output 0: the spec has 1 names",
          module.add_method("f", f, {}, bad));
  CHECK(module.method_names()->empty());
  CHECK(kept.use_count() == 2);
}

TEST_CASE("FunctionModule: what a callable reports or throws is the error") {
  FunctionModule throwing([](Span<const EValue>) -> Outs { throw std::runtime_error("broken"); });
  CHECK(throwing.forward().error() == Error::Internal);
  CHECK(throwing.forward().message() == std::string("forward: broken"));
  FunctionModule wrong([](Span<const EValue> in) { return in[0].toTensor(); });
  CHECK(wrong.forward(5).message() == std::string("forward: toTensor: the EValue is an Int, 5"));
  FunctionModule result([](Span<const EValue>) { return try_zeros({-1}); });
  CHECK(result.forward().error() == Error::InvalidArgument);
  FunctionModule null([](Span<const EValue>) { return Result<TensorPtr>(TensorPtr()); });
  RETURNS(InvalidState, "run: output 0: the tensor is undefined", null.run());
  FunctionModule error([](Span<const EValue>,
                          Span<EValue>) { return detail::fail(Error::AccessFailed, "no sensor"); },
                       {}, {});
  RETURNS(AccessFailed, "run: no sensor", error.run());
}

TEST_CASE("FunctionModule: where there is nothing to write to, the error says what to do") {
  FunctionModule unknown(add);
  RETURNS(InvalidState, "run: forward writes its outputs, but their number is unknown",
          unknown.run("forward", {pair(1, 2), pair(3, 4)}));
  const std::vector<ValueSpec> open = {{"sum", TensorSpec{{-1}}}};
  const std::string advice =
      "output 0 (sum) is None: its spec, sizes {-1}, does not say what tensor to make; use "
      "set_output(tensor, 0) or max_sizes in the spec, or assign a tensor";
  FunctionModule sum(add, none, open);
  RETURNS(InvalidType, "run: toTensor: the EValue is None; " + advice,
          sum.run("forward", {pair(1, 2), pair(3, 4)}));
  REQUIRE(sum.set_output(pair(0, 0)) == Error::Ok);
  CHECK(sum.run("forward", {pair(1, 2), pair(3, 4)}) == Error::Ok);
  FunctionModule forgetful([](Span<const EValue>, Span<EValue>) {}, none, open);
  RETURNS(InvalidType, "run: " + advice, forgetful.run());
  FunctionModule failing(
      [](Span<const EValue>, Span<EValue>) {
        return detail::fail(Error::AccessFailed, "no sensor");
      },
      none, open);
  RETURNS(AccessFailed, "run: no sensor", failing.run());
  CHECK(std::string(last_error_message()) == "run: no sensor");
  FunctionModule answering([](Span<const EValue> in, Span<EValue> out) { out[0] = in[0]; }, none,
                           open);
  CHECK(answering.forward(pair(1, 2))->at(0).toTensor().numel() == 2);
}

TEST_CASE(
    "FunctionModule: with an arena everything it keeps is there, an error if it is too small") {
  alignas(64) static unsigned char buffer[1 << 14];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    FunctionModule module(add, {kPair, kPair}, kPair, arena);
    REQUIRE(module.set_inputs({pair(1, 2), pair(3, 4)}) == Error::Ok);
    REQUIRE(module.run() == Error::Ok);
    {
      const auto output = module.get_output();
      const auto* at = static_cast<const unsigned char*>(const_data_ptr(output->toTensor()));
      CHECK((at >= buffer && at < buffer + sizeof buffer));
    }
    const size_t used = arena.used();
    for (int i = 0; i < 100; ++i) REQUIRE(module.run() == Error::Ok);
    CHECK(arena.used() == used);
    const TensorSpec large{{100, 100}};
    FunctionModule too_large([](Span<const EValue>, Span<EValue>) {}, {}, {{"large", large}},
                             arena);
    RETURNS(OutOfMemory, "run: output 0 (large): empty: ", too_large.run());
  }
  CHECK(arena.used() == 0);
  alignas(64) unsigned char tiny[512];
  ArenaBackend small(tiny, sizeof tiny);
  RAISES(OutOfMemory, "FunctionModule: backend arena has no memory for ",
         FunctionModule(add, {kPair, kPair}, kPair, small));
}

TEST_CASE("FunctionModule: without a backend its outputs outlive the scope of a run") {
  FunctionModule module(add, {kPair, kPair}, kPair);
  alignas(64) unsigned char buffer[4096];
  Tensor first;
  {
    ArenaBackend arena(buffer, sizeof buffer);
    const BackendScope scope(arena);
    REQUIRE(module.run("forward", {pair(1, 2), pair(3, 4)}) == Error::Ok);
    first = module.get_output()->toTensor();
    CHECK(arena.used() == 0);
  }
  CHECK(item(first, 1) == 6.0f);
}

// A promise of docs/guarantees.md.
TEST_CASE("FunctionModule: a writing callable gets a copy of a set output that is an input") {
  alignas(64) static unsigned char buffer[1 << 14];
  ArenaBackend arena(buffer, sizeof buffer);
  FunctionModule known(step, kOne, {kOne, kOne}, arena);
  FunctionModule unknown(step, arena);
  for (FunctionModule* const module : {&known, &unknown}) {
    const TensorPtr state = zeros({1});
    const TensorPtr delayed = zeros({1});
    REQUIRE(module->set_input(state, 0) == Error::Ok);
    REQUIRE(module->set_output(state, 0) == Error::Ok);
    REQUIRE(module->set_output(delayed, 1) == Error::Ok);
    size_t used = 0;
    for (int t = 0; t < 3; ++t) {
      REQUIRE(module->run() == Error::Ok);
      CHECK(item(state, 0) == static_cast<float>(t + 1));
      CHECK(item(delayed, 0) == static_cast<float>(t));
      CHECK(module->get_output()->toTensor().unsafeGetTensorImpl() == state->unsafeGetTensorImpl());
      if (t == 0) used = arena.used();
      CHECK(arena.used() == used);
    }
  }
}

TEST_CASE("FunctionModule: what a set output holds, a writing callable may add to, shared or not") {
  FunctionModule module([](Span<const EValue> in, Span<EValue> out) {
    mutable_data_ptr<float>(out[0].toTensor())[0] += item(in[0], 0);
  });
  const TensorPtr sum = full({1}, 5);
  REQUIRE(module.set_output(sum) == Error::Ok);
  REQUIRE(module.run("forward", ones({1})) == Error::Ok);
  CHECK(item(sum, 0) == 6.0f);
  REQUIRE(module.run("forward", sum) == Error::Ok);
  CHECK(item(sum, 0) == 12.0f);
  MetaBackend backend;  // a copy is where the output is, whatever the default
  const BackendScope scope(backend);
  REQUIRE(module.run("forward", sum) == Error::Ok);
  CHECK(item(sum, 0) == 24.0f);
}

// A promise of docs/guarantees.md.
TEST_CASE("FunctionModule: a method that runs or describes itself is refused, its inputs stay") {
  FunctionModule module;
  const auto forward = [&](Span<const EValue> in) {
    RETURNS(InvalidState, "execute: forward is running",
            module.execute("forward", {in[0].toInt() - 1}).error());
    RETURNS(InvalidState, "describe_inputs: forward is running",
            module.describe_inputs({ValueKind::Int, ValueKind::Int, ValueKind::Int}));
    CHECK(module.get_output().error() == Error::InvalidState);
    CHECK(module.set_input(7, 30) == Error::Ok);  // of the next run
    return in[0].toInt() + in[1].toInt();
  };
  REQUIRE(module.add_method("forward", forward) == Error::Ok);
  REQUIRE(module.set_input(10, 1) == Error::Ok);
  const auto outputs = module.forward(1);
  REQUIRE(outputs.ok());
  CHECK((*outputs)[0].toInt() == 11);
  CHECK(module.forward(2).ok());  // it ended
}

TEST_CASE("FunctionModule: a deleter that runs the method which drops its tensor is refused") {
  EValue value;
  FunctionModule module([&](Span<const EValue>) {
    value = EValue();  // the module has the last handle
    return 1;
  });
  Error inner = Error::Ok;
  float memory[1] = {};
  value = from_blob(memory, {1}, ScalarType::Float, [&](void*) {
    inner = module.run("forward", {1, 2, 3, 4, 5, 6});
  });
  REQUIRE(module.set_input(5, 1) == Error::Ok);
  CHECK(module.run("forward", value) == Error::Ok);
  CHECK(inner == Error::InvalidState);
}

TEST_CASE("FunctionModule: a deleter of an output may set others") {
  const auto spare = pair(0, 0);
  SECTION("of the last run's, when the next one begins") {
    float memory[1] = {};
    bool first = true;
    FunctionModule module([&](Span<const EValue>) -> EValue {
      if (!std::exchange(first, false)) return 1;
      return from_blob(memory, {1}, ScalarType::Float,
                       [&](void*) { CHECK(module.set_output(spare, 500) == Error::Ok); });
    });
    REQUIRE(module.run() == Error::Ok);
    CHECK(module.run() == Error::InvalidArgument);
    REQUIRE(module.set_output(none, 500) == Error::Ok);
    CHECK(module.run() == Error::Ok);
  }
  SECTION("of one that was set, when it grows") {
    FunctionModule module([](Span<const EValue>) { return ones({100}); });
    float memory[1] = {};
    bool released = false;
    const auto set = from_blob(
        memory, {1}, ScalarType::Float,
        [&](void*) {
          released = true;
          CHECK(module.set_output(spare, 500) == Error::Ok);
        },
        TensorShapeDynamism::DYNAMIC_UNBOUND);
    REQUIRE(module.set_output(set) == Error::Ok);
    REQUIRE(module.run() == Error::Ok);
    CHECK(released);
    CHECK(const_data_ptr<float>(set)[99] == 1);
  }
  SECTION("of the last run's, for a callable that writes") {
    float memory[2] = {};
    FunctionModule module([&](Span<const EValue>, Span<EValue> out) {
      if (!out[0].isNone()) return;
      out[0] = from_blob(memory, {2}, ScalarType::Float,
                         [&](void*) { CHECK(module.set_output(spare, 0) == Error::Ok); });
    });
    REQUIRE(module.set_output(pair(0, 0), 1) == Error::Ok);
    REQUIRE(module.run() == Error::Ok);
    memory[0] = 3;
    CHECK(module.run() == Error::Ok);  // output 0 is None still when the run begins
    CHECK(const_data_ptr<float>(spare)[0] == 3);
  }
  SECTION("of one that was set, when it grows: the next one's") {
    float memory[6] = {};
    TensorPtr other;
    FunctionModule module([&](Span<const EValue>) -> Outs {
      return {ones({4}), EValue(from_blob(memory, {3}))};
    });
    const auto set_growing = [&] {
      return module.set_output(
          for_blob(memory, {1})
              .dynamism(TensorShapeDynamism::DYNAMIC_UNBOUND)
              .deleter([&](void*) { CHECK(module.set_output(other, 1) == Error::Ok); })
              .make_tensor_ptr(),
          0);
    };
    for (const ScalarType type : {ScalarType::Double, ScalarType::Byte}) {
      other = zeros({3}, type);
      REQUIRE(set_growing() == Error::Ok);
      REQUIRE(module.set_output(zeros({3}), 1) == Error::Ok);
      CHECK(module.run() == Error::InvalidType);
    }
    other = from_blob(memory + 1, {3});  // over the output's own elements
    REQUIRE(set_growing() == Error::Ok);
    REQUIRE(module.set_output(zeros({3}), 1) == Error::Ok);
    for (int i = 0; i < 6; ++i) memory[i] = static_cast<float>(i);
    REQUIRE(module.run() == Error::Ok);
    CHECK(std::vector<float>(memory, memory + 6) == std::vector<float>{0, 0, 1, 2, 4, 5});
  }
}

TEST_CASE("FunctionModule: a callable whose copy throws is an error, and nothing is kept") {
  int copies_left = 0;
  const Fragile fragile(&copies_left);
  const auto kept = std::make_shared<int>(0);
  const auto f = [fragile, kept](Span<const EValue>) { return 1; };
  copies_left = 2;  // the parameter's, and the one that the module keeps
  RAISES(OutOfMemory, "FunctionModule: std::bad_alloc", FunctionModule(f));
  FunctionModule module;
  copies_left = 2;
  RETURNS(OutOfMemory, "add_method: std::bad_alloc", module.add_method("f", f));
  CHECK(module.method_names()->empty());
  CHECK(kept.use_count() == 2);
}

TEST_CASE("FunctionModule: a callable returns its outputs or writes them, by what it takes") {
  STATIC_REQUIRE(kReturns<Outs (*)(Span<const EValue>)>);
  STATIC_REQUIRE(kReturns<Outs (*)(const EValues&)>);
  STATIC_REQUIRE(kWrites<void (*)(Span<const EValue>, Span<EValue>)>);
  STATIC_REQUIRE_FALSE(kReturns<void (*)(Span<const EValue>, Span<EValue>)>);
  STATIC_REQUIRE_FALSE(kReturns<Outs (*)(int*)>);
  const auto count = std::make_shared<int>(4);
  CHECK(call([](Span<const EValue> in) { return Outs{in[0]}; }).toInt() == 3);
  CHECK(call([](const Outs& in) { return in; }).toInt() == 3);
  CHECK(call([](Span<const EValue>) { return zeros({2}); }).toTensor().numel() == 2);
  CHECK(call([](Span<const EValue>) { return 0.5; }).toDouble() == 0.5);
  CHECK(call([](Span<const EValue>) { return try_zeros({2}); }).toTensor().numel() == 2);
  CHECK(call([](Span<const EValue>) { return Result<Outs>(Outs{true}); }).toBool());
  CHECK(call([](auto in) { return Outs{in[0]}; }).toInt() == 3);
  CHECK(call([owned = std::make_unique<int>(5), count](Span<const EValue>) {
          return *owned + *count;
        }).toInt() == 9);
  CHECK(count.use_count() == 1);
  CHECK(call(Aligned()).toBool());
}

TEST_CASE("Module: inputs that were set stand for those not given and for None") {
  FunctionModule module = ints();
  const auto check = [&](const EValues& inputs, int64_t first, int64_t second) {
    const auto outputs = module.forward(Span<const EValue>(inputs));
    REQUIRE(outputs.ok());
    CHECK(outputs->at(0).toInt() == first);
    CHECK(outputs->at(1).toInt() == second);
  };
  RETURNS(InvalidState, "run: input 1 (second): it is not given", module.run("forward", 1));
  REQUIRE(module.set_inputs({10, 20}) == Error::Ok);
  check({}, 10, 20);
  check(1, 1, 20);
  check({none, 2}, 10, 2);
  RETURNS(InvalidType, "set_inputs: input 1 (second): it is a Double, 0.5",
          module.set_inputs({1, 0.5}));
  check({}, 10, 20);
  RETURNS(InvalidArgument, "run: 3 inputs are given, forward has 2",
          module.run("forward", {1, 2, 3}));
  RETURNS(OutOfBounds, "set_input: input 2 of forward is out of range, expected below 2",
          module.set_input(1, 2));
  REQUIRE(module.set_input(none, 1) == Error::Ok);
  CHECK(module.run("forward", 1) == Error::InvalidState);
}

TEST_CASE("Module: without specs there are as many inputs as are given or set") {
  const EValue* passed = nullptr;
  FunctionModule module([&](Span<const EValue> in) {
    passed = in.data();
    return static_cast<int64_t>(in.size());
  });
  const std::vector<EValue> given{1, 2};
  CHECK(module.forward(given)->at(0).toInt() == 2);
  CHECK(passed == given.data());
  const TensorPtr x = pair(1, 2);
  REQUIRE(module.set_input(EValue("text"), 2) == Error::Ok);
  CHECK(module.forward({x, 2})->at(0).toInt() == 3);
  CHECK(x->use_count() == 1);  // it was for that run alone
  RETURNS(InvalidArgument, "describe_inputs: 1 specs are given for at least 3 inputs",
          module.describe_inputs(ValueKind::Int));
  CHECK_FALSE(module.method_meta()->knows_inputs);
  REQUIRE(module.set_input(none, 2) == Error::Ok);
  CHECK(module.forward(1)->at(0).toInt() == 1);
  RETURNS(OutOfBounds, "input 5000 of forward is out of range, expected below 4096",
          module.set_input(1, 5000));
  RETURNS(OutOfBounds, "output 5000 of forward is out of range", module.set_output(x, 5000));
  REQUIRE(module.describe_inputs(ValueKind::Int) == Error::Ok);
  CHECK(module.forward(7)->at(0).toInt() == 1);
}

TEST_CASE("outputs: elements that two outputs share are the last one's, where it lies in place") {
  float memory[6] = {};
  const TensorPtr a = from_blob(memory, {4});
  const TensorPtr b = from_blob(memory + 2, {4});
  FunctionModule module(
      [](Span<const EValue>, Span<EValue> out) {
        out[0] = EValue(full({4}, 1));
        return copy_(out[1].toTensor(), arange(10.0f, 14.0f, 1.0f));
      },
      ValueSpecs{}, ValueSpecs{ValueSpec("a", TensorSpec{{4}}), ValueSpec("b", TensorSpec{{4}})});
  REQUIRE(module.set_output(a, 0) == Error::Ok);
  REQUIRE(module.set_output(b, 1) == Error::Ok);
  REQUIRE(module.run() == Error::Ok);
  CHECK(std::vector<float>(memory, memory + 6) == std::vector<float>{1, 1, 10, 11, 12, 13});
}

TEST_CASE("outputs: one without elements has the shape that it was returned with") {
  FunctionModule module([](Span<const EValue> in) { return in.vec(); });
  const TensorPtr source = zeros({0});
  const TensorPtr first = make_tensor_ptr({0, 1}, nullptr);  // set, and returned as the second
  const TensorPtr second = zeros({0, 1});
  REQUIRE(module.set_output(first, 0) == Error::Ok);
  REQUIRE(module.set_output(second, 1) == Error::Ok);
  REQUIRE(module.forward({source, first}).ok());
  CHECK(first->sizes() == source->sizes());
  CHECK(second->sizes() == Dims{0, 1});
}

// A promise of docs/guarantees.md.
TEST_CASE("FunctionModule: a deleter that runs after an error does not replace its text") {
  static float memory[2];
  FunctionModule module(
      [](Span<const EValue>, Span<EValue> out) -> Error {
        out[0] = EValue(
            from_blob(memory, {2}, ScalarType::Float, [](void*) { CHECK(!try_zeros({-5}).ok()); }));
        return detail::fail(Error::OutOfMemory, "no memory for weights");
      },
      ValueSpecs{}, ValueSpec("out", TensorSpec{}));
  CHECK(module.run() == Error::OutOfMemory);
  CHECK(last_error_message() == std::string("run: no memory for weights"));
}

TEST_CASE("FunctionModule: an Error without a text never has an earlier one's of its own kind") {
  const auto writes = [](Span<const EValue>, Span<EValue>) { return Error::InvalidArgument; };
  const auto handles = [](Span<const EValue>, Span<EValue>) {
    CHECK(!try_zeros({-5}).ok());
    CHECK_THROWS_AS(zeros({-5}), Exception);
    return Error::InvalidArgument;
  };
  const auto returns = [](Span<const EValue>) -> Result<EValue> { return Error::InvalidArgument; };
  const auto returns_all = [](const std::vector<EValue>&) -> Result<std::vector<EValue>> {
    TENON_TRY(Error::InvalidArgument);
    return std::vector<EValue>{};
  };
  FunctionModule module;
  REQUIRE(module.add_method("writes", writes, ValueSpecs{}, ValueSpecs{}) == Error::Ok);
  REQUIRE(module.add_method("handles", handles, ValueSpecs{}, ValueSpecs{}) == Error::Ok);
  REQUIRE(module.add_method("returns", returns) == Error::Ok);
  REQUIRE(module.add_method("returns_all", returns_all) == Error::Ok);
  REQUIRE(module.add_method("says", [](Span<const EValue>) -> Result<EValue> {
    return set_error(Error::InvalidArgument, "the lens is ", "covered");
  }) == Error::Ok);
  for (const char* const method : {"writes", "handles", "returns", "returns_all"}) {
    INFO(method);
    for (int run = 0; run < 3; ++run) {
      if (run == 1) CHECK(!try_zeros({-1}).ok());
      if (run == 2) CHECK(copy_(*ones({2}), *ones({3})) == Error::InvalidArgument);
      CHECK(module.run(method) == Error::InvalidArgument);
      CHECK(last_error_message() == std::string("run: InvalidArgument"));
      CHECK(module.execute(method).message() == std::string("execute: InvalidArgument"));
    }
  }
  RETURNS(InvalidArgument, "run: the lens is covered", module.run("says"));
}

}  // namespace function_module_test
