// SPDX-License-Identifier: MIT
#include "tenon/module/module.h"

#include <stdexcept>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

namespace module_test {

using namespace tenon;

namespace {

const std::vector<ValueSpec> kImage{
    {"image", TensorSpec{{-1, 2}, ScalarType::Float, {"batch", "pixels"}}}};
const std::vector<ValueSpec> kDoubled{{"doubled", TensorSpec{{-1, 2}}}, {"count", ValueKind::Int}};

// forward: doubles an image and counts its rows. trouble: throws what its input says.
class Doubler : public Module {
 public:
  int loads = 0;
  int prepared = 0;
  int runs = 0;
  bool is_missing = false;
  const void* seen = nullptr;  // where the last input was

 protected:
  Error load() override {
    ++loads;
    if (is_missing) return detail::fail(Error::NotFound, "no such file");
    return Error::Ok;
  }
  size_t count_methods() const noexcept override { return 2; }
  const char* name_of(size_t method) const noexcept override {
    return method == 0 ? "forward" : "trouble";
  }
  Error prepare(size_t method, MethodMeta& meta) override {
    ++prepared;
    if (method == 1) return Error::Ok;
    meta.inputs = kImage;
    meta.outputs = kDoubled;
    meta.knows_inputs = meta.knows_outputs = true;
    return Error::Ok;
  }
  Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) override {
    ++runs;
    if (method == 1) return make_trouble(inputs[0].toInt());
    const Tensor& image = inputs[0].toTensor();
    seen = const_data_ptr(image);
    Tensor doubled;
    if (Tensor* target = outputs.target(0)) {
      doubled = *target;
      TENON_TRY(resize_tensor(doubled, image.sizes()));
    } else {
      doubled = *empty(image.sizes());
    }
    for (int64_t i = 0; i < image.numel(); ++i) {
      mutable_data_ptr<float>(doubled)[i] = 2 * const_data_ptr<float>(image)[i];
    }
    TENON_TRY(outputs.put(0, std::move(doubled)));
    return outputs.put(1, image.size(0));
  }

 private:
  static Error make_trouble(int64_t which) {
    if (which == 0) throw std::runtime_error("it broke");
    if (which == 1) static_cast<void>(zeros({-1}));
    if (which == 2) throw 5;
    return detail::fail(Error::AccessFailed, "which is ", which);
  }
};

TensorPtr image() { return make_tensor_ptr({1, 2}, {1.0f, 2.0f}); }

}  // namespace

TEST_CASE("Module: forward takes a tensor as it is, one or in braces, and gives the outputs") {
  Doubler module;
  const TensorPtr x = image();
  auto outputs = module.forward(x);
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 2);
  CHECK(const_data_ptr<float>((*outputs)[0].toTensor())[1] == 4.0f);
  CHECK((*outputs)[1].toInt() == 1);
  CHECK(module.seen == const_data_ptr(*x));
  CHECK(module.forward({x}).ok());
  CHECK(module.forward(*x).ok());
  CHECK(module.forward(image()).ok());
  CHECK(module.forward(std::vector<EValue>{x}).ok());
  CHECK(module.execute("forward", x).ok());
  CHECK(module.execute(std::string("forward"), {x}).ok());
  CHECK(module.run("forward", x) == Error::Ok);
  CHECK(x->use_count() == 1);
}

TEST_CASE("Module: run(tensor) gives the output of a model of one tensor, or says what it has") {
  using Inputs = Span<const EValue>;
  FunctionModule fills([](Inputs in) { return full({2}, item<float>(in[0].toTensor()) / 2); });
  const TensorPtr x = make_tensor_ptr({3.0f});
  const Result<Tensor> y = fills.run(x);
  REQUIRE(y.ok());
  CHECK(data<const float>(*y)[1] == 1.5f);
  CHECK(fills.run(*x).ok());
  CHECK(fills.run(x, "forward").ok());
  FAILS(NotFound, "run: ", fills.run(x, "encode"));
  CHECK(fills.run("forward", x) == Error::Ok);
  FAILS(InvalidState, "run: input 0: the tensor is undefined", fills.run(TensorPtr()));
  FAILS(InvalidState, "run: input 0: the tensor is undefined", fills.run(Tensor()));
  // Another number of outputs, known before the run, or only then.
  Doubler two;
  FAILS(InvalidArgument,
        "run: forward has 2 outputs, run(tensor) returns one; forward(tensor) returns all",
        two.run(image()));
  CHECK(two.runs == 0);
  FunctionModule none([](Inputs) { return std::vector<EValue>(); });
  FAILS(InvalidArgument, "run: forward has 0 outputs", none.run(x));
  // Another kind.
  int calls = 0;
  const auto count = [&](Inputs in) { return ++calls, in[0].toTensor().numel(); };
  FunctionModule counts(count);
  FAILS(InvalidType, "run: the output of forward is an Int, run(tensor) returns a tensor",
        counts.run(x));
  FunctionModule described(count, {ValueKind::Tensor}, {ValueKind::Int});
  FAILS(InvalidType, "run: the output of forward is an Int", described.run(x));
  CHECK(calls == 1);
  // Further inputs: missing, or set.
  FunctionModule sums(
      [](Inputs in) {
        return full({1}, item<float>(in[0].toTensor()) + item<float>(in[1].toTensor()));
      },
      {ValueKind::Tensor, ValueKind::Tensor});
  FAILS(InvalidState, "run: input 1: it is not given", sums.run(x));
  CHECK(sums.set_input(full({1}, 2.0f), 1) == Error::Ok);
  CHECK(item<float>(sums.run(x).value()) == 5.0f);
}

TEST_CASE("Module: the model is loaded and a method prepared once, when it is first used") {
  Doubler module;
  CHECK(module.loads == 0);
  module.is_missing = true;
  RETURNS(NotFound, "forward: no such file", module.forward(image()).error());
  CHECK(module.method_names().message() == std::string("method_names: no such file"));
  CHECK(module.loads == 2);  // each use tries again
  module.is_missing = false;
  CHECK(module.load_method() == Error::Ok);
  CHECK(module.forward(image()).ok());
  CHECK(module.method_meta("forward").ok());
  CHECK(module.loads == 3);
  CHECK(module.prepared == 1);
  CHECK(module.method_meta("trouble").ok());
  CHECK(module.prepared == 2);
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: an input that is not what the method takes never gets to the runtime") {
  Doubler module;
  const auto check = [&](Error error, const char* words, const EValues& inputs) {
    const auto refused = module.forward(Span<const EValue>(inputs));
    CHECK(refused.error() == error);
    CHECK(refused.message() == std::string(words));
  };
  check(Error::InvalidArgument, "forward: input 0 (image): dimension 1 (pixels) is 3, expected 2",
        zeros({1, 3}));
  check(Error::InvalidType, "forward: input 0 (image): it is Double, expected Float",
        zeros({1, 2}, ScalarType::Double));
  check(Error::InvalidType, "forward: input 0 (image): it is an Int, 5, expected a Tensor", 5);
  check(Error::InvalidState, "forward: input 0 (image): it is not given", {});
  check(Error::InvalidArgument, "forward: 2 inputs are given, forward has 1", {image(), image()});
  CHECK(module.runs == 0);
}

TEST_CASE("Module: an unknown method is an error that names it") {
  Doubler module;
  auto refused = module.execute("backward", image());
  CHECK(refused.error() == Error::NotFound);
  CHECK(refused.message() ==
        std::string("execute: there is no method \"backward\"; the first method: forward"));
  CHECK(module.set_input("backward", 1, 0) == Error::NotFound);
  CHECK(module.set_output("backward", image(), 0) == Error::NotFound);
  CHECK(module.get_output("backward").error() == Error::NotFound);
  CHECK(module.method_meta("backward").error() == Error::NotFound);
}

TEST_CASE("Module: an input is set as the first one where no index is given, as an output is") {
  Doubler module;
  CHECK(module.set_input(image()) == Error::Ok);
  CHECK(module.run() == Error::Ok);
  CHECK(const_data_ptr<float>(module.get_output()->toTensor())[1] == 4);
  CHECK(module.set_input("forward", full({1, 2}, 3)) == Error::Ok);
  CHECK(module.run() == Error::Ok);
  CHECK(const_data_ptr<float>(module.get_output()->toTensor())[1] == 6);
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: an output that is None is named by what it is only when it is asked for") {
  class Maps : public Module {
   protected:
    size_t count_methods() const noexcept override { return 1; }
    const char* name_of(size_t) const noexcept override { return "forward"; }
    Error prepare(size_t, MethodMeta&) override { return Error::Ok; }
    Error invoke(size_t, Span<const EValue>, Outputs& outputs) override {
      TENON_TRY(outputs.resize(3));
      return outputs.put(0, 5);
    }
    Error explain_none(size_t, size_t output) const noexcept override {
      return output == 1 ? detail::fail(Error::NotSupported, "it is a map") : Error::Ok;
    }
  } module;
  const auto outputs = module.forward();
  REQUIRE(outputs->size() == 3);
  CHECK((outputs->at(1).isNone() && outputs->at(2).isNone()));
  CHECK(module.get_output()->toInt() == 5);
  RETURNS(NotSupported, "get_output: output 1: it is a map", module.get_output(1).error());
  CHECK(module.get_output(2)->isNone());
  CHECK(module.get_outputs()->size() == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: an input without data is refused before the runtime sees it, described or not") {
  struct Taker final : Module {
    int runs = 0;
    size_t count_methods() const noexcept override { return 1; }
    const char* name_of(size_t) const noexcept override { return "forward"; }
    Error prepare(size_t, MethodMeta&) override { return Error::Ok; }
    Error invoke(size_t, Span<const EValue>, Outputs&) override {
      ++runs;
      return Error::Ok;
    }
  };
  struct Case {
    EValue value;
    std::string words;
  };
  std::vector<Case> cases = {{TensorPtr(), "the tensor is undefined"},
                             {Tensor(), "the tensor is undefined"}};
#if !TENON_ATEN_MODE
  cases.push_back({make_tensor_ptr({1, 2}, nullptr), "the tensor is a placeholder without data"});
#endif
  Doubler known;
  Taker unknown;
  for (const Case& bad : cases) {
    const std::string text = "input 0 (image): " + bad.words;
    RETURNS(InvalidState, "forward: " + text, known.forward(bad.value).error());
    RETURNS(InvalidState, "set_input: " + text, known.set_input(bad.value, 0));
    RETURNS(InvalidState, "run: input 1: " + bad.words,
            unknown.run("forward", {image(), bad.value}));
    const std::vector<Tensor> list = {*image(), bad.value.toTensor()};
    RETURNS(InvalidState, "run: input 0: element 1: " + bad.words, unknown.run("forward", list));
  }
  MetaBackend shapes;
  RETURNS(NotSupported, "run: input 0: the tensor is a meta tensor",
          unknown.run("forward", zeros({1, 2}, shapes)));
  CHECK(known.runs + unknown.runs == 0);
  CHECK(unknown.run("forward", EValue::optional_tensor_list(std::vector<Tensor>(1))) == Error::Ok);
  CHECK(unknown.run("forward", zeros({0, 2})) == Error::Ok);  // no elements, so no data is missing
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: an output that is set is what the runtime writes to") {
  Doubler module;
  float memory[8] = {};
  const TensorPtr out = from_blob(memory, {4, 2});
  REQUIRE(module.set_output(out) == Error::Ok);
  auto outputs = module.forward(image());
  REQUIRE(outputs.ok());
  CHECK(const_data_ptr((*outputs)[0].toTensor()) == memory);
  CHECK(memory[1] == 4.0f);
  CHECK(out->size(0) == 1);
  CHECK(module.get_output()->toTensor().unsafeGetTensorImpl() == out->unsafeGetTensorImpl());
  CHECK(module.set_output(none) == Error::Ok);
  REQUIRE(module.forward(image()).ok());
  CHECK(const_data_ptr(module.get_output()->toTensor()) != memory);
}

TEST_CASE("Module: an output that cannot be written to is refused when it is set") {
  Doubler module;
  RETURNS(InvalidArgument, "set_output: output 0 (doubled): dimension 1 is 3, expected 2",
          module.set_output(zeros({1, 3})));
  RETURNS(InvalidType, "set_output: output 1 (count): it is a Tensor",
          module.set_output(image(), 1));
  RETURNS(OutOfBounds, "set_output: output 2 of forward is out of range, expected below 2",
          module.set_output(image(), 2));
  RETURNS(InvalidState, "set_output: the tensor is undefined", module.set_output(TensorPtr()));
#if !TENON_ATEN_MODE
  const float memory[2] = {};
  RETURNS(InvalidState, "set_output: the tensor is read-only",
          module.set_output(from_blob(memory, {1, 2})));
  RETURNS(InvalidState, "placeholder", module.set_output(make_tensor_ptr({1, 2}, nullptr)));
#endif
  REQUIRE(module.forward(image()).ok());
}

TEST_CASE("Module: outputs of the last run can be got again, until one fails") {
  Doubler module;
  RETURNS(InvalidState, "get_output: forward has not run yet, or failed",
          module.get_output().error());
  REQUIRE(module.forward(image()).ok());
  CHECK(module.get_output(1)->toInt() == 1);
  CHECK(module.get_output("forward", 0)->isTensor());
  CHECK(module.get_outputs()->size() == 2);
  CHECK(module.get_output(2).message() ==
        std::string("get_output: output 2 of forward is out of range, expected below 2"));
  CHECK(module.get_outputs("trouble").error() == Error::InvalidState);
  CHECK_FALSE(module.execute("trouble", 3).ok());
  CHECK(module.get_output("trouble").error() == Error::InvalidState);
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: what a runtime reports or throws is the error") {
  Doubler module;
  const auto trouble = [&](int which) { return module.execute("trouble", which); };
  CHECK(trouble(0).error() == Error::Internal);
  CHECK(trouble(0).message() == std::string("execute: it broke"));
  CHECK(trouble(1).error() == Error::InvalidArgument);
  CHECK(tests::contains(trouble(1).message(), "execute: zeros: size -1"));
  CHECK(trouble(2).error() == Error::Internal);
  CHECK(trouble(3).error() == Error::AccessFailed);
  CHECK(trouble(3).message() == std::string("execute: which is 3"));
  RETURNS(AccessFailed, "run: which is 4", module.run("trouble", 4));
}

namespace {

// A runtime whose functions return a bare code: which one does is said by `where`.
class Refuses : public Module {
 public:
  enum Where { Load, Prepare, Invoke, InvokeHandled, Explain, Nowhere };
  explicit Refuses(Where where) : where_(where) {}

 protected:
  Error load() override { return code(Load); }
  size_t count_methods() const noexcept override { return 1; }
  const char* name_of(size_t) const noexcept override { return "forward"; }
  Error prepare(size_t, MethodMeta&) override { return code(Prepare); }
  Error invoke(size_t, Span<const EValue>, Outputs& outputs) override {
    if (where_ == InvokeHandled) {
      CHECK(!try_zeros({-5}).ok());
      return Error::InvalidArgument;
    }
    TENON_TRY(outputs.resize(1));
    return code(Invoke);
  }
  Error explain_none(size_t, size_t) const noexcept override { return code(Explain); }

 private:
  Error code(Where where) const noexcept {
    return where == where_ ? Error::InvalidArgument : Error::Ok;
  }
  Where where_;
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("Module: a bare code of a runtime has its name as its text, never an older error's") {
  const auto fail_before = [](int how) {
    if (how == 0) CHECK(copy_(*ones({2}), *ones({3})) == Error::InvalidArgument);
    if (how == 1) CHECK(!try_zeros({-1}).ok());
    if (how == 2) CHECK(tests::caught([] { return zeros({-1}); }).error == Error::InvalidArgument);
  };
  const std::pair<Refuses::Where, std::string> rows[] = {
      {Refuses::Load, "InvalidArgument"},
      {Refuses::Prepare, "InvalidArgument"},
      {Refuses::Invoke, "InvalidArgument"},
      {Refuses::InvokeHandled, "InvalidArgument"}};
  for (const auto& [where, text] : rows) {
    Refuses module(where);
    for (int how = 0; how < 3; ++how) {
      for (int again = 0; again < 2; ++again) {
        if (again == 0) fail_before(how);
        CHECK(module.run() == Error::InvalidArgument);
        CHECK(last_error_message() == "run: " + text);
        CHECK(module.forward().message() == "forward: " + text);
      }
    }
  }
  Refuses explains(Refuses::Explain);
  REQUIRE(explains.run() == Error::Ok);
  for (int how = 0; how < 3; ++how) {
    fail_before(how);
    CHECK(explains.get_output().message() == std::string("get_output: output 0: InvalidArgument"));
  }
  // A run that goes well leaves the thread's last text, and what belongs to an error that is kept.
  Refuses works(Refuses::Nowhere);
  const Error kept = copy_(*ones({2}), *ones({3}));
  const std::string text = last_error_message();
  REQUIRE(works.run() == Error::Ok);
  CHECK(last_error_message() == text);
  CHECK(last_error_message(kept) == text);
}

TEST_CASE("Module: what its user says of the inputs is checked and shown, or changes nothing") {
  Doubler module;
  RETURNS(InvalidArgument, "describe_inputs: input 0 (photo): the spec's dimension 1 (pixels) is 3",
          module.describe_inputs({{"photo", TensorSpec{{-1, 3}}}}));
  RETURNS(InvalidArgument, "describe_inputs: 2 specs are given for 1 inputs",
          module.describe_inputs({TensorSpec{{-1, 2}}, ValueKind::Int}));
  RETURNS(NotFound, "describe_inputs: there is no method \"decode\"",
          module.describe_inputs("decode", ValueKind::Int));
  CHECK(module.method_meta()->inputs[0].name() == std::string("image"));
  REQUIRE(module.describe_inputs({{"photo", TensorSpec{{4, -1}, ScalarType::Float, {"n", ""}}}}) ==
          Error::Ok);
  CHECK(module.method_meta()->inputs[0].name() == std::string("photo"));
  CHECK(module.method_meta()->inputs[0].tensor.sizes == Dims{4, 2});
  RETURNS(InvalidArgument, "run: input 0 (photo): dimension 0 (n) is 3, expected 4",
          module.run("forward", ones({3, 2})));
  CHECK(module.forward(ones({4, 2})).ok());
  REQUIRE(module.describe_inputs("trouble", {{"text", ValueKind::String}}) == Error::Ok);
  CHECK(module.method_meta("trouble")->knows_inputs);
  RETURNS(InvalidType, "run: input 0 (text): it is an Int, 5, expected a String",
          module.run("trouble", 5));
}

}  // namespace module_test
