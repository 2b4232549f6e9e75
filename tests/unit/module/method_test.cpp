// SPDX-License-Identifier: MIT
// What a module keeps of a method, and that unload_method() drops all of it, when nobody is at work
// on it.
#include "tenon/module/method.h"

#include <functional>
#include <stdexcept>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

namespace method_test {

using namespace tenon;

namespace {

using Calls = std::vector<std::string>;

// Two methods that give their input; notes what it is asked to do.
class Recorder : public Module {
 public:
  Calls calls;
  std::function<Error()> on_unload;

 protected:
  Error load() override {
    calls.emplace_back("load");
    return Error::Ok;
  }
  size_t count_methods() const noexcept override { return 2; }
  const char* name_of(size_t method) const noexcept override {
    return method == 0 ? "forward" : "encode";
  }
  Error prepare(size_t method, MethodMeta& meta) override {
    calls.push_back(std::string("prepare ") + name_of(method));
    meta.inputs = specs_;
    meta.knows_inputs = true;
    return Error::Ok;
  }
  Error invoke(size_t, Span<const EValue> inputs, Outputs& outputs) override {
    TENON_TRY(outputs.resize(1));
    return outputs.put(0, inputs[0]);
  }
  Error unload(size_t method) override {
    calls.push_back(std::string("unload ") + name_of(method));
    return on_unload ? on_unload() : Error::Ok;
  }

 private:
  std::vector<ValueSpec> specs_{{"image", TensorSpec{{-1}}}};
};

/// A tensor whose deleter calls `f`.
template <class F>
TensorPtr calling(F f) {
  static float element = 1;
  return from_blob(&element, {1}, ScalarType::Float, [f](void*) { f(); });
}

}  // namespace

TEST_CASE("Method: an index is checked against the method's number, or the limit without one") {
  detail::Method method(nullptr, 3);
  method.meta.name = "encode";
  CHECK(method.number == 3);
  CHECK(method.check_index("input", detail::kMaxValues - 1, false, 0) == Error::Ok);
  RETURNS(OutOfBounds, "input 4096 of encode is out of range, expected below 4096",
          method.check_index("input", detail::kMaxValues, false, 0));
  RETURNS(OutOfBounds, "output 2 of encode is out of range, expected below 2",
          method.check_index("output", 2, true, 2));
}

TEST_CASE("Module: a method is loaded from its first use until it is unloaded") {
  Recorder module;
  CHECK_FALSE(module.is_method_loaded());
  CHECK_FALSE(module.is_method_loaded("decode"));
  CHECK(module.calls.empty());  // the question loads nothing
  REQUIRE(module.set_input("encode", ones({2})) == Error::Ok);
  CHECK(module.is_method_loaded("encode"));
  CHECK_FALSE(module.is_method_loaded("forward"));
  CHECK_FALSE(module.is_method_loaded("encod"));
  REQUIRE(module.unload_method("encode") == Error::Ok);
  CHECK_FALSE(module.is_method_loaded("encode"));
  REQUIRE(module.load_method("encode") == Error::Ok);
  CHECK(module.is_method_loaded("encode"));
  CHECK(module.calls == Calls{"load", "prepare encode", "unload encode", "prepare encode"});
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: unload_method drops set inputs, outputs and specs; the next use begins anew") {
  Recorder module;
  int dropped = 0;
  const auto count = [&] { ++dropped; };
  REQUIRE(module.set_input(calling(count)) == Error::Ok);
  REQUIRE(module.set_output(calling(count)) == Error::Ok);
  REQUIRE(module.describe_inputs({{"photo", TensorSpec{{1}}}}) == Error::Ok);
  REQUIRE(module.run() == Error::Ok);
  REQUIRE(module.set_input("encode", ones({5})) == Error::Ok);
  CHECK(dropped == 0);
  REQUIRE(module.unload_method() == Error::Ok);
  CHECK(dropped == 2);
  RETURNS(InvalidState, "get_output: forward has not run yet", module.get_output().error());
  RETURNS(InvalidState, "run: input 0 (image): it is not given", module.run());
  CHECK(module.forward(ones({3})).value()[0].toTensor().numel() == 3);
  CHECK(module.execute("encode").value()[0].toTensor().numel() == 5);  // another's stays
}

TEST_CASE("Module: a method that is not loaded is unloaded already, an unknown one is NotFound") {
  Recorder module;
  CHECK(module.unload_method() == Error::Ok);
  CHECK(module.load_method() == Error::Ok);
  CHECK(module.unload_method() == Error::Ok);
  CHECK(module.unload_method() == Error::Ok);
  CHECK(module.calls == Calls{"load", "prepare forward", "unload forward"});
  RETURNS(NotFound, "unload_method: there is no method \"decode\"; the first method: forward",
          module.unload_method("decode"));
  FunctionModule none_at_all;
  RETURNS(NotFound, "unload_method: there is no method \"forward\"; the first method: none",
          none_at_all.unload_method());
}

TEST_CASE("Module: where the runtime cannot unload a method, it stays as it was") {
  Recorder module;
  REQUIRE(module.set_input(ones({2})) == Error::Ok);
  module.on_unload = [] { return set_error(Error::AccessFailed, "the device is busy"); };
  RETURNS(AccessFailed, "unload_method: the device is busy", module.unload_method());
  module.on_unload = []() -> Error { throw std::runtime_error("it broke"); };
  RETURNS(Internal, "unload_method: it broke", module.unload_method());
  CHECK(module.is_method_loaded());
  CHECK(module.forward().value()[0].toTensor().numel() == 2);
  module.on_unload = nullptr;
  CHECK(module.unload_method() == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("Module: a method that a function is at work on is not unloaded") {
  SECTION("during its run") {
    FunctionModule* self = nullptr;
    Error forward = Error::Ok;
    Error other = Error::Internal;
    FunctionModule module([&](Span<const EValue> inputs) {
      forward = self->unload_method("forward");
      CHECK(last_error_message() ==
            std::string("unload_method: forward is running, or being changed"));
      other = self->unload_method("other");
      return inputs[0];
    });
    self = &module;
    REQUIRE(module.add_method("other", [](Span<const EValue>) { return EValue(1); }) == Error::Ok);
    REQUIRE(module.load_method("other") == Error::Ok);
    CHECK(module.forward(5).value()[0].toInt() == 5);
    CHECK(forward == Error::InvalidState);
    CHECK(other == Error::Ok);
    CHECK(module.is_method_loaded("forward"));
    CHECK_FALSE(module.is_method_loaded("other"));
    CHECK(module.unload_method() == Error::Ok);
    CHECK(module.forward(6).value()[0].toInt() == 6);
  }
  SECTION("by the deleter of an input, an output or a result that a function replaces") {
    Recorder module;
    std::vector<Error> errors;
    const auto unload = [&] { errors.push_back(module.unload_method()); };
    REQUIRE(module.set_inputs(calling(unload)) == Error::Ok);
    REQUIRE(module.set_inputs(ones({1})) == Error::Ok);
    REQUIRE(module.set_output(calling(unload)) == Error::Ok);
    REQUIRE(module.set_output(none) == Error::Ok);
    REQUIRE(module.run("forward", calling(unload)) == Error::Ok);
    REQUIRE(module.run() == Error::Ok);  // drops the last output
    CHECK((errors == std::vector<Error>(3, Error::InvalidState)));
  }
  SECTION("by the runtime that unloads it") {
    Recorder module;
    std::vector<Error> errors;
    REQUIRE(module.load_method() == Error::Ok);
    module.on_unload = [&] {
      errors.push_back(module.unload_method());
      errors.push_back(module.run("forward", ones({1})));
      errors.push_back(module.describe_inputs(TensorSpec{{1}}));
      errors.push_back(module.load_method("encode"));  // the list of methods grows
      return Error::Ok;
    };
    CHECK(module.unload_method() == Error::Ok);
    CHECK((errors == std::vector<Error>{Error::InvalidState, Error::InvalidState,
                                        Error::InvalidState, Error::Ok}));
    CHECK_FALSE(module.is_method_loaded());
    CHECK(module.is_method_loaded("encode"));
  }
}

TEST_CASE("Module: a deleter that unloading runs may load the method again") {
  Recorder module;
  Error loaded = Error::Internal;
  REQUIRE(module.set_input(calling([&] { loaded = module.set_input(full({2}, 7)); })) == Error::Ok);
  REQUIRE(module.unload_method() == Error::Ok);
  CHECK(loaded == Error::Ok);
  CHECK(module.is_method_loaded());
  CHECK(module.forward().value()[0].toTensor().numel() == 2);
}

TEST_CASE("Module: methods in an arena are unloaded, and others loaded in their place") {
  std::vector<unsigned char> memory(1 << 14);
  ArenaBackend arena(memory.data(), memory.size());
  FunctionModule module([](Span<const EValue> in) { return in[0]; }, TensorSpec{{-1}}, arena);
  for (int i = 0; i < 1000; ++i) {  // far more than the arena has room for at once
    REQUIRE(module.set_input(ones({2})) == Error::Ok);
    REQUIRE(module.unload_method() == Error::Ok);
  }
}

}  // namespace method_test
