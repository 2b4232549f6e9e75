// SPDX-License-Identifier: MIT
// Modules and their values with what they allocate, call and throw failing.
#include "allocation/failures.h"
#include "tenon/module/function_module.h"
#include "tenon/module/runtimes.h"

namespace module_failure_test {

using namespace tenon;
using tenon::detail::ListArg;
using tenon::detail::NameList;
using tenon::detail::Text;
using namespace tests;

namespace {

Error kind(const EValue& value) { return value.isNone() ? Error::Internal : Error::Ok; }

const char* const kLongName = "a name that is longer than what a Text has room for, in place";

}  // namespace

TEST_CASE("out of memory: EValues of texts and lists") {
  const std::vector<int> numbers(100);
  const std::vector<Tensor> tensors(3);
  const std::vector<std::string> texts(3, "a text");
  const Unchanged given(numbers);
  FAIL_EACH_OF("EValue::EValue", kind("a text"));
  FAIL_EACH_OF("EValue::EValue", kind(numbers));
  FAIL_EACH_OF("EValue::EValue", kind(tensors));
  FAIL_EACH_OF("EValue::EValue", kind(texts));
  FAIL_EACH_OF("EValue::EValue", kind(Dims(kDeep)));
  FAIL_EACH_OF("EValue::EValue", kind(ThrowingRange<int64_t>{5}));
  FAIL_EACH_OF("EValue::optional_tensor_list", kind(EValue::optional_tensor_list(tensors)));
  const std::vector<Tensor> pair{*zeros({2}), *ones({2})};
  FAIL_EACH_OF("EValue::copy_tensors", [&] {
    EValue list(pair);
    return list.copy_tensors([](const Tensor& from, Tensor& to) {
      call_user_code();
      Result<Tensor> copy = try_to(from, ScalarType::Double);
      if (copy.ok()) to = *copy;
      return copy.error();
    });
  }());
}

TEST_CASE("out of memory: specs, texts and lists of names say so") {
  FAIL_EACH_OF("Text::Text, Text::error", Text(kLongName).error());
  FAIL_EACH_OF("Text::operator=", [] {
    const Text from(kLongName);
    Text to;
    to = from;
    return from.error() != Error::Ok ? from.error() : to.error();
  }());
  FAIL_EACH_OF("NameList::NameList", NameList({kLongName, "columns"}).error());
  const Tensor t = make_tensor(kDeep, {1});
  const EValue value(t);
  FAIL_EACH_OF("TensorSpec::check", TensorSpec{kDeep, ScalarType::Int}.check(t));
  FAIL_EACH_OF("ValueSpec::ValueSpec, ValueSpec::check",
               ValueSpec(kLongName, TensorSpec{kDeep, ScalarType::Int}).check(value));
  FAIL_EACH_OF("ListArg::ListArg", [] {
    const EValues list("a text");
    return kind(list[0]);
  }());
}

TEST_CASE("out of memory: Outputs keep what was set, and come to nothing else") {
  const Tensor set = *zeros({2});
  const std::vector<EValue> inputs{*make_tensor_ptr({1.0f, 2.0f})};
  const Unchanged given(set);
  const auto begun = [&](Outputs& outputs) {
    TENON_TRY(outputs.set(1, set));
    return outputs.begin(inputs, 3);
  };
  FAIL_EACH_OF("Outputs::set, Outputs::begin", [&] {
    Outputs outputs;
    return begun(outputs);
  }());
  FAIL_EACH_OF("Outputs::resize", [&] {
    Outputs outputs;
    return outputs.resize(9);
  }());
  FAIL_EACH_OF("Outputs::make", [&] {
    Outputs outputs;
    TENON_TRY(begun(outputs));
    return outputs.make(0, TensorSpec{kDeep});
  }());
  FAIL_EACH_OF_WITH("Outputs::save", Foreign{1}, [&] {
    Outputs outputs;
    TENON_TRY(begun(outputs));
    TENON_TRY(outputs.put(0, set));
    TENON_TRY(outputs.put(2, std::vector<Tensor>{set}));
    TENON_TRY(outputs.save(0));
    return outputs.save(2);
  }());
  FailingBackend gpu;
  const Tensor there = *zeros({2}, gpu);
  const Output written(there);
  FAIL_EACH_OF("Outputs::deliver", [&] {
    Outputs outputs;
    TENON_TRY(outputs.set(0, there));
    TENON_TRY(outputs.begin(inputs, 1));
    TENON_TRY(outputs.put(0, set));
    return outputs.deliver();
  }());
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: each function of a module leaves it as it was") {
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  const auto y = make_tensor_ptr({3.0f, 4.0f});
  const Unchanged given(x, y);
  // Each call is of a module of its own, which has run.
  const auto with_module = [&](const auto& call) -> Error {
    FunctionModule module([](Span<const EValue> in) {
      call_user_code();
      return std::vector<EValue>(in.begin(), in.end());
    });
    TENON_TRY(module.run("forward", {*x, *y}));
    return call(module);
  };
  fail_each("Module::run, FunctionModule::FunctionModule", Expected(), [&] {
    return with_module([&](Module& m) { return m.run("forward", {*x, *y}); });
  });
  fail_each("Module::forward", Expected(), [&] {
    return with_module([&](Module& m) { return m.forward({*x, *y}).error(); });
  });
  fail_each("Module::execute", Expected(), [&] {
    return with_module([&](Module& m) { return m.execute("forward", {*x, *y}).error(); });
  });
  fail_each("Module::set_input", Expected(), [&] {
    return with_module([&](Module& m) {
      TENON_TRY(m.set_input(*x, 7));
      return m.set_input("forward", *y, 30);
    });
  });
  fail_each("Module::set_inputs", Expected(), [&] {
    return with_module([&](Module& m) { return m.set_inputs({*x, *y, *x}); });
  });
  fail_each("Module::set_output", Expected(),
            [&] { return with_module([&](Module& m) { return m.set_output(*x, 1); }); });
  fail_each("Module::get_output", Expected(),
            [&] { return with_module([&](Module& m) { return m.get_output(1).error(); }); });
  fail_each("Module::get_outputs", Expected(),
            [&] { return with_module([&](Module& m) { return m.get_outputs().error(); }); });
  fail_each("Module::method_names", Expected(),
            [&] { return with_module([&](Module& m) { return m.method_names().error(); }); });
  fail_each("Module::method_meta", Expected(),
            [&] { return with_module([&](Module& m) { return m.method_meta().error(); }); });
  fail_each("Module::load_method", Expected(), [&] {
    FunctionModule module([](Span<const EValue>, Span<EValue>) {});
    return module.load_method();
  });
  fail_each("Module::unload_method", Expected(), [&] {
    return with_module([&](Module& m) {
      TENON_TRY(m.set_input(*x));
      return m.unload_method();
    });
  });
  fail_each("Module::describe_inputs", Expected(), [&] {
    return with_module([&](Module& m) {
      const ValueSpec spec(kLongName, TensorSpec{{2}});
      return m.describe_inputs({spec, spec});
    });
  });
  fail_each("FunctionModule::add_method", Expected(), [&] {
    return with_module([&](Module& m) {
      auto& module = static_cast<FunctionModule&>(m);
      return module.add_method(kLongName, [](Span<const EValue>, Span<EValue>) {});
    });
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("failing callables: what they and their copies throw is the run's error") {
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  const auto kept = zeros({2});
  const Unchanged given(x);
  const Output written(kept);
  struct Callable : ThrowingCopies {
    using ThrowingCopies::ThrowingCopies;
    void operator()(Span<const EValue> in, Span<EValue> out) const {
      call_user_code();
      if (in.size() == 1 && out.size() == 1)
        tenon::check(copy_(out[0].toTensor(), in[0].toTensor()));
      call_user_code();
    }
  };
  Calls calls;
  const Callable callable(calls);
  FAIL_EACH_OF("FunctionModule::FunctionModule, Module::run", [&] {
    FunctionModule module(callable);
    TENON_TRY(module.set_output(*kept));
    TENON_TRY(module.add_method("other", callable));
    return module.run("forward", *x);
  }());
  FailingBackend gpu;
  const auto there = backend_copy(x, gpu);
  FAIL_EACH_OF("Module::run, Outputs::make, Outputs::deliver", [&] {
    const ValueSpec any(TensorSpec{{2}, ScalarType::Float, {}, gpu.device()});
    FunctionModule module(callable, {any}, {any}, gpu);
    return module.run("forward", *there);
  }());
}

TEST_CASE("out of memory: a runtime is not registered, or a module not opened; others stay") {
  const ModuleMaker make = [](const ModelFile& file) {
    call_user_code();
    auto module = std::make_shared<FunctionModule>([](Span<const EValue>) { return EValue(1); });
    check(module->add_method(file.path, [](Span<const EValue>) { return EValue(2); }));
    return module;
  };
  const std::string path = "a path that is longer than what a std::string has room for.stays";
  REQUIRE(register_runtime(".stays", make));
  FAIL_EACH(open_module(path).error());
  FAIL_EACH([] {
    // Neither the suffix nor the callable has memory, so that the caller's own part cannot fail.
    const auto none = [](const ModelFile&) { return std::shared_ptr<Module>(); };
    if (!register_runtime(".x", none)) return detail::last_error().error;
    return register_runtime(".x", nullptr) ? Error::Ok : Error::Internal;
  }());
  CHECK(open_module(path).ok());
  REQUIRE(register_runtime(".stays", nullptr));
}

TEST_CASE("failing metadata: a module whose memory is full leaves nothing in it") {
  FailingMetadataBackend arena;
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  const Unchanged given(x, static_cast<const Backend&>(arena));
  FAIL_EACH_OF("FunctionModule::FunctionModule, Module::run, Module::set_input", [&] {
    const ValueSpec two(TensorSpec{{2}});
    FunctionModule module(
        [](Span<const EValue> in, Span<EValue> out) {
          return copy_(out[0].toTensor(), in[0].toTensor());
        },
        {two}, {two}, arena);
    TENON_TRY(module.set_input(*x, 0));
    TENON_TRY(module.run());
    return module.run();
  }());
}

}  // namespace module_failure_test
