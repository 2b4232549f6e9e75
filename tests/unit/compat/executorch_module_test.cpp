// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_module.h"

#include <functional>
#include <new>
#include <stdexcept>

#include "../interop/files.h"
#include "captured_log.h"
#include "support/catch.h"
#include "tenon/module/function_module.h"

namespace executorch_module_test {

using namespace executorch::extension;
using executorch::aten::ScalarType;
using executorch::runtime::Error, executorch::runtime::EValue, executorch::runtime::Result,
    executorch::runtime::Tag;
using tenon::FunctionModule, tenon::TensorSpec, tenon::ValueKind, tenon::ValueSpec;
using tests::contains, tests::log_of, tests::TempFolder;

namespace {

using Values = std::vector<EValue>;

float item(const EValue& value, int64_t i) { return value.toTensor().const_data_ptr<float>()[i]; }

/// forward(x, y) = {x + y, 2}, of pairs; twice(n) = 2 n; nothing() has no output; throws() throws.
std::shared_ptr<FunctionModule> make_model() {
  const ValueSpec pair = TensorSpec{{2}};
  auto model = std::make_shared<FunctionModule>(
      [](tenon::Span<const EValue> in) {
        const float* const x = in[0].toTensor().const_data_ptr<float>();
        const float* const y = in[1].toTensor().const_data_ptr<float>();
        return Values{tenon::make_tensor_ptr({x[0] + y[0], x[1] + y[1]}), 2};
      },
      tenon::ValueSpecs{pair, pair}, tenon::ValueSpecs{pair, ValueKind::Int});
  CHECK(model->add_method("twice", [](tenon::Span<const EValue> in) {
    return Values{in[0].toInt() * 2};
  }) == tenon::Error::Ok);
  CHECK(model->add_method("nothing", [](tenon::Span<const EValue>) { return Values(); }) ==
        tenon::Error::Ok);
  CHECK(model->add_method("throws", [](tenon::Span<const EValue>) -> Values {
    throw std::runtime_error("100%s");
  }) == tenon::Error::Ok);
  return model;
}

const std::vector<EValue>& pairs() {
  static const std::vector<EValue> values = {make_tensor_ptr({1.0f, 2.0f}),
                                             make_tensor_ptr({10.0f, 20.0f})};
  return values;
}

/// Of a runtime for ".test": opens as the file's first byte says, and notes what it was given.
struct Opened {
  tenon::ModelFile file;
  int times = 0;
};
Opened opened;
class TestModule final : public tenon::Module {
 public:
  explicit TestModule(tenon::ModelFile file) : file_(std::move(file)) {}

 private:
  tenon::Error load() override {
    if (!file_.bytes.defined() && !std::filesystem::exists(file_.path)) {
      return tenon::set_error(tenon::Error::NotFound, file_.path, ": cannot open");
    }
    const auto bytes =
        file_.bytes.defined()
            ? tests::Bytes(file_.bytes.const_data_ptr<uint8_t>(),
                           file_.bytes.const_data_ptr<uint8_t>() + file_.bytes.numel())
            : tests::file_bytes(file_.path);
    if (bytes.empty() || bytes[0] != 'T') {
      return tenon::set_error(tenon::Error::InvalidArgument, "not a model of this runtime");
    }
    opened = {file_, opened.times + 1};
    return tenon::Error::Ok;
  }
  size_t count_methods() const noexcept override { return 1; }
  const char* name_of(size_t) const noexcept override { return "forward"; }
  tenon::Error prepare(size_t, tenon::MethodMeta&) override { return tenon::Error::Ok; }
  tenon::Error invoke(size_t, tenon::Span<const EValue> in, tenon::Outputs& outputs) override {
    tenon::Error error = outputs.resize(1);
    if (error == tenon::Error::Ok) error = outputs.put(0, EValue(static_cast<int64_t>(in.size())));
    return error;
  }
  tenon::ModelFile file_;
};
/// Registers TestModule; other tests of this program want none registered.
struct TestRuntimes {
  TestRuntimes() {
    CHECK(tenon::register_runtime(
        ".test", [](const tenon::ModelFile& file) { return std::make_shared<TestModule>(file); }));
    CHECK(tenon::register_runtime(
        ".pte", [](const tenon::ModelFile& file) -> std::shared_ptr<tenon::Module> {
          if (!file.bytes.defined()) return nullptr;
          return std::make_shared<TestModule>(file);
        }));
  }
  ~TestRuntimes() {
    CHECK(tenon::register_runtime(".test", nullptr));
    CHECK(tenon::register_runtime(".pte", nullptr));
  }
};

/// As clients derive for their tests.
class Mock : public Module {
 public:
  using Module::execute;
  using Module::Module;
  Result<Values> execute(const std::string& name, const std::vector<EValue>& inputs) override {
    names.push_back(name);
    if (name == "mocked") return Values{static_cast<int64_t>(inputs.size())};
    return Module::execute(name, inputs);
  }
  Error load(executorch::runtime::Program::Verification) override {
    ++loads;
    return Module::load();
  }
  tests::Texts names;
  int loads = 0;
};

}  // namespace

TEST_CASE("executorch: a Module runs a model's methods") {
  Module module(make_model());
  CHECK(!module.is_loaded());
  CHECK(module.load() == Error::Ok);
  CHECK(module.is_loaded());
  CHECK(module.load() == Error::Ok);
  CHECK(module.event_tracer() == nullptr);
  CHECK(*module.num_methods() == 4);
  CHECK(*module.method_names() ==
        std::unordered_set<std::string>{"forward", "twice", "nothing", "throws"});

  const auto outputs = module.forward(pairs());
  REQUIRE(outputs.ok());
  CHECK(outputs->size() == 2);
  CHECK(item(outputs->at(0), 1) == 22);
  CHECK(outputs->at(1).toInt() == 2);
  CHECK(module.execute("forward", pairs())->size() == 2);
  CHECK(module.execute("twice", EValue(4))->at(0).toInt() == 8);
  CHECK(module.get("twice", EValue(5))->toInt() == 10);
  CHECK(module.get("twice", Values{6})->toInt() == 12);
  CHECK(item(*module.get("forward", pairs()), 0) == 11);
  CHECK(module.execute("nothing")->empty());

  // A TensorPtr is an input, and its copies are the same tensor.
  const TensorPtr x = make_tensor_ptr({3.0f, 4.0f});
  const TensorPtr copy = x;
  CHECK(item(module.forward({x, copy})->at(0), 0) == 6);
  copy->mutable_data_ptr<float>()[0] = 5;
  CHECK(item(module.forward({x, copy})->at(0), 0) == 10);
  CHECK(item(module.forward({*x, EValue(*copy)})->at(0), 0) == 10);

  // Outputs outlive the module.
  const auto kept = Module(make_model()).forward(pairs());
  CHECK(item(kept->at(0), 0) == 11);
}

// A promise of docs/guarantees.md.
TEST_CASE("executorch: a Module's errors are ExecuTorch's codes, and tenon's texts are logged") {
  Module module(make_model());
  const TensorPtr pair = make_tensor_ptr({1.0f, 2.0f});
  struct Row {
    const char* name;
    std::function<Error()> call;
    Error error;
    const char* text;
  };
  const Row rows[] = {
      {"unknown method", [&] { return module.execute("none").error(); }, Error::InvalidArgument,
       "there is no method \"none\""},
      {"load_method", [&] { return module.load_method("none"); }, Error::InvalidArgument,
       "load_method: there is no method"},
      {"meta", [&] { return module.method_meta("none").error(); }, Error::InvalidArgument,
       "there is no method"},
      {"too few inputs", [&] { return Module(make_model()).forward(EValue(pair)).error(); },
       Error::InvalidArgument, "input 1: it is not given"},
      {"too many",
       [&] {
         return module.forward({pair, pair, pair}).error();
       },
       Error::InvalidArgument, "3 inputs are given, forward has 2"},
      {"another dtype",
       [&] {
         return module.forward({pair, make_tensor_ptr({1, 2})}).error();
       },
       Error::InvalidArgument, "input 1: it is Int, expected Float"},
      {"another size",
       [&] {
         return module.forward({pair, zeros({3})}).error();
       },
       Error::NotSupported, "dimension 0 is 3, expected 2"},
      {"set_input's size", [&] { return module.set_input(zeros({3}), 0); }, Error::NotSupported,
       "set_input: input 0"},
      {"another kind",
       [&] {
         return module.forward({pair, 5}).error();
       },
       Error::InvalidArgument, "input 1: it is an Int, 5, expected a Tensor"},
      {"an exception", [&] { return module.execute("throws").error(); }, Error::Internal, "100%s"},
      {"no output", [&] { return module.get("nothing").error(); }, Error::InvalidArgument,
       "nothing has no output"},
      {"set_input's index", [&] { return module.set_input(pair, 2); }, Error::InvalidArgument,
       "set_input: input 2"},
      {"set_input's kind", [&] { return module.set_input(5, 0); }, Error::InvalidArgument,
       "set_input: input 0"},
      {"set_inputs",
       [&] {
         return module.set_inputs({pair, pair, pair});
       },
       Error::InvalidArgument, "3 inputs are given for forward, expected 2"},
      {"fewer set_inputs", [&] { return module.set_inputs({pair}); }, Error::InvalidArgument,
       "1 inputs are given for forward, expected 2"},
      {"set_output's index", [&] { return module.set_output(pair, 2); }, Error::InvalidArgument,
       "set_output: output 2"},
      {"set_output's kind", [&] { return module.set_output(5, 0); }, Error::InvalidArgument,
       "output 0 of forward is no"},
      {"set_outputs' count", [&] { return module.set_outputs({pair}); }, Error::InvalidArgument,
       "1 outputs are given for forward, expected 2"},
      {"get_output's index", [&] { return module.get_output(2).error(); }, Error::InvalidArgument,
       "get_output: output 2"},
      {"before a run", [&] { return module.get_outputs("twice").error(); }, Error::InvalidState,
       "get_outputs"},
  };
  CHECK(module.forward(pairs()).ok());
  for (const Row& row : rows) {
    INFO(row.name);
    Error error = Error::Ok;
    const std::string log = log_of([&] { error = row.call(); });
    CHECK(error == row.error);
    INFO("log: " << log);
    CHECK(contains(log, row.text));
  }
  CHECK(module.forward(pairs()).ok());
}

TEST_CASE("executorch: inputs and outputs that were set stay") {
  Module module(make_model());
  const TensorPtr x = make_tensor_ptr({1.0f, 2.0f});
  const TensorPtr sum = zeros({2});
  CHECK(module.set_input(x, 0) == Error::Ok);
  CHECK(module.set_input("forward", x, 1) == Error::Ok);
  CHECK(module.set_output(sum) == Error::Ok);
  CHECK(item(module.forward()->at(0), 1) == 4);
  CHECK(sum->const_data_ptr<float>()[1] == 4);
  CHECK(module.set_inputs(pairs()) == Error::Ok);
  CHECK(module.execute("forward")->at(0).toTensor().const_data_ptr() == sum->const_data_ptr());
  CHECK(sum->const_data_ptr<float>()[1] == 22);
  CHECK(item(*module.get("forward"), 0) == 11);
  CHECK(item(*module.get_output(), 1) == 22);
  CHECK(module.get_output("forward", 1)->toInt() == 2);
  CHECK(module.get_outputs()->size() == 2);
  CHECK(module.get_outputs("forward")->at(1).toInt() == 2);
  // A call's inputs stay too; None stands for them.
  CHECK(item(module.forward({x, x})->at(0), 0) == 2);
  CHECK(item(module.forward()->at(0), 0) == 2);
  CHECK(item(module.forward(pairs()[1])->at(0), 0) == 11);
  log_of([&] {
    CHECK(module.forward({x, 5}).error() == Error::InvalidArgument);
    CHECK(module.set_input(EValue(), 0) == Error::Ok);
    CHECK(module.forward().error() == Error::InvalidArgument);
  });
  CHECK(item(module.execute("forward", {pairs()[0], EValue()})->at(0), 0) == 2);
  CHECK(module.set_input("twice", 21, 0) == Error::Ok);
  CHECK(module.get("twice")->toInt() == 42);
  log_of([&] {
    CHECK(module.set_outputs({sum, sum}) == Error::InvalidArgument);  // the second one is an Int
    CHECK(module.set_outputs("nothing", {}) != Error::InvalidState);
  });
}

TEST_CASE("executorch: methods are loaded and unloaded by name") {
  Module module(make_model());
  CHECK(!module.is_method_loaded("forward"));
  CHECK(!module.unload_forward());
  CHECK(module.load_forward() == Error::Ok);
  CHECK(module.is_loaded());
  CHECK(module.is_method_loaded("forward"));
  CHECK(module.load_method("twice") == Error::Ok);
  CHECK(module.unload_method("twice"));
  CHECK(!module.unload_method("twice"));
  CHECK(!module.is_method_loaded("twice"));
  CHECK(module.get("twice", EValue(2))->toInt() == 4);
  CHECK(module.is_method_loaded("twice"));
  log_of([&] { CHECK(module.load_method("none") == Error::InvalidArgument); });
  CHECK(!module.is_method_loaded("none"));

  LoadBackendOptionsMap options;
  executorch::runtime::BackendOptions<1> threads;
  CHECK(threads.set_option("threads", 2) == Error::Ok);
  CHECK(options.set_options("delegate", threads.view()) == Error::Ok);
  CHECK(module.load(options) == Error::Ok);
  CHECK(module.backend_options().has_options("delegate"));
}

TEST_CASE("executorch: a file is opened by the runtime that is registered for it") {
  const TestRuntimes runtimes;
  const TempFolder folder;
  const std::string path = folder / "model.test";
  const std::string data = folder / "weights.ptd";
  tests::put_file(path, {'T'});
  tests::put_file(data, {1});
  for (const auto mode :
       {Module::LoadMode::File, Module::LoadMode::Mmap, Module::LoadMode::MmapUseMlock,
        Module::LoadMode::MmapUseMadvise, Module::LoadMode::MmapUseMlockIgnoreErrors}) {
    opened = {};
    Module module(path, mode, std::make_unique<executorch::runtime::EventTracer>(), nullptr,
                  nullptr, true);
    CHECK(opened.times == 0);
    CHECK(module.event_tracer() != nullptr);
    CHECK(module.forward(EValue(1))->at(0).toInt() == 1);
    CHECK(module.forward({1, 2})->at(0).toInt() == 2);
    CHECK(opened.times == 1);
    CHECK(opened.file.path == path);
    CHECK(opened.file.map == (mode != Module::LoadMode::File));
    CHECK(opened.file.share_arenas);
    CHECK(!opened.file.bytes.defined());
  }
  CHECK(Module(path, data).load() == Error::Ok);
  CHECK(opened.file.data_files == tests::Texts{data});
  CHECK(Module(path, tests::Texts{data, path}).load() == Error::Ok);
  CHECK(opened.file.data_files == tests::Texts{data, path});

  // By a loader: files by their paths, memory as a .pte.
  CHECK(Module(std::make_unique<MmapDataLoader>(*MmapDataLoader::from(path.c_str())), nullptr,
               nullptr, nullptr,
               std::make_unique<FileDataLoader>(*FileDataLoader::from(data.c_str())))
            .load() == Error::Ok);
  CHECK(opened.file.path == path);
  CHECK(opened.file.map);
  CHECK(opened.file.data_files == tests::Texts{data});
  std::string bytes = "The program";
  {
    Module module(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()));
    CHECK(module.forward()->at(0).toInt() == 0);
    CHECK(opened.file.path == ".pte");
    CHECK(opened.file.bytes.numel() == 11);
    CHECK(opened.file.bytes.const_data_ptr() != bytes.data());
    log_of([&] {
      CHECK(Module(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()), nullptr, nullptr,
                   nullptr, std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()))
                .load() == Error::NotSupported);
    });
  }

  // A program that several modules share.
  Module first(path);
  CHECK(first.program() == nullptr);
  CHECK(first.load() == Error::Ok);
  Module second(first.program());
  CHECK(second.is_loaded());
  const int before = opened.times;
  CHECK(second.forward()->at(0).toInt() == 0);
  CHECK(opened.times == before + 1);
  CHECK(opened.file.path == path);
  const auto loader = FileDataLoader::from(path.c_str());
  auto program = Program::load(&*loader);
  REQUIRE(program.ok());
  Module third(std::make_shared<Program>(std::move(*program)));
  CHECK(third.forward()->at(0).toInt() == 0);
}

TEST_CASE("executorch: what is wrong with a file is told, and may be tried again") {
  const TestRuntimes runtimes;
  const TempFolder folder;
  const std::string path = folder / "model.test";
  Module module(path);
  std::string log = log_of([&] {
    CHECK(module.load() == Error::AccessFailed);
    CHECK(module.forward().error() == Error::AccessFailed);
    CHECK(module.method_names().error() == Error::AccessFailed);
    CHECK(module.num_methods().error() == Error::AccessFailed);
    CHECK(module.method_meta("forward").error() == Error::AccessFailed);
    CHECK(module.set_input(1, 0) == Error::AccessFailed);
    CHECK(module.get_output().error() == Error::AccessFailed);
  });
  CHECK(contains(log, path + ": cannot open"));
  CHECK(!module.is_loaded());
  tests::put_file(path, {'X'});
  log = log_of([&] { CHECK(module.load() == Error::InvalidProgram); });
  CHECK(contains(log, "not a model of this runtime"));
  tests::put_file(path, {'T'});
  CHECK(module.load() == Error::Ok);
  CHECK(module.forward().ok());

  log = log_of([&] { CHECK(Module(folder / "model.unknown").load() == Error::NotSupported); });
  CHECK(contains(log, "no runtime is registered for"));
  CHECK(contains(log, "\".test\""));
  log = log_of([&] {
    CHECK(Module(folder / "model.pte").load() == Error::InvalidState);  // the maker gave none
    CHECK(Module(std::shared_ptr<tenon::Module>()).load() == Error::InvalidArgument);
    CHECK(Module(std::shared_ptr<Program>()).load() == Error::InvalidArgument);
    CHECK(Module(std::make_unique<BufferDataLoader>("X", 1)).load() == Error::InvalidProgram);
    CHECK(Module(std::make_unique<BufferDataLoader>("", 0)).load() == Error::InvalidProgram);
  });
  struct Short final : executorch::runtime::DataLoader {
    explicit Short(size_t size) : size_(size) {}
    Result<executorch::runtime::FreeableBuffer> load(size_t, size_t,
                                                     const SegmentInfo&) const override {
      return executorch::runtime::FreeableBuffer("T", 1, nullptr);
    }
    Result<size_t> size() const override {
      if (size_ == 0) return Error::NotFound;
      return size_;
    }
    size_t size_;
  };
  log_of([&] {
    CHECK(Module(std::make_unique<Short>(1)).load() == Error::Ok);
    CHECK(Module(std::make_unique<Short>(2)).load() == Error::InvalidExternalData);
    CHECK(Module(std::make_unique<Short>(0)).load() == Error::NotFound);
    CHECK(Program::load(std::make_unique<Short>(2).get()).error() == Error::InvalidExternalData);
  });
}

TEST_CASE("executorch: a class derived from Module sees each call") {
  Mock mock(make_model());
  CHECK(mock.execute("mocked", {1, 2, 3})->at(0).toInt() == 3);
  CHECK(mock.execute("mocked", EValue(1))->at(0).toInt() == 1);
  CHECK(mock.get("mocked")->toInt() == 0);
  CHECK(mock.forward(pairs())->size() == 2);
  CHECK(mock.names == tests::Texts{"mocked", "mocked", "mocked", "forward"});
  CHECK(mock.loads == 1);
  const std::unique_ptr<Module> base = std::make_unique<Mock>("no file");
  CHECK(base->execute("mocked")->at(0).toInt() == 0);
  log_of([&] { CHECK(base->forward().error() == Error::NotSupported); });
}

namespace {

/// Twice `x`, of up to 4 rows, plus an Int; `inside` is called in each run.
std::shared_ptr<FunctionModule> make_double(std::function<void()> inside = [] {}) {
  TensorSpec rows = {{-1, 2}};
  rows.max_sizes = {4, 2};
  const auto run = [inside](tenon::Span<const EValue> in, tenon::Span<EValue> out) {
    inside();
    const tenon::Tensor& x = in[0].toTensor();
    const tenon::Tensor& y = out[0].toTensor();
    tenon::detail::raise_if("run", tenon::resize_tensor(y, x.sizes()));
    for (int64_t i = 0; i < x.numel(); ++i) {
      y.mutable_data_ptr<float>()[i] =
          2 * x.const_data_ptr<float>()[i] + static_cast<float>(in[1].toInt());
    }
  };
  auto model = std::make_shared<FunctionModule>(
      run, tenon::ValueSpecs{ValueSpec("x", rows), ValueSpec("plus", ValueKind::Int)},
      tenon::ValueSpecs{ValueSpec("y", rows)});
  const auto answer = [](tenon::Span<const EValue>) { return 42; };
  REQUIRE(model->add_method("answer", answer, {}, {ValueKind::Int}) == tenon::Error::Ok);
  return model;
}
const auto kRow = [] { return make_tensor_ptr({1, 2}, {1.0f, 2.0f}); };

Values inputs() { return {kRow(), int64_t{1}}; }
float first(const Result<Values>& outputs) {
  REQUIRE(outputs.ok());
  return outputs->at(0).toTensor().const_data_ptr<float>()[0];
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("executorch: a method that throws gives a code, and runs again") {
  int fails = 3;
  Module module(make_double([&] {
    if (fails == 3) throw std::runtime_error("out of paper");
    if (fails == 2) throw tenon::Exception(tenon::Error::NotFound, "no such word");
    if (fails == 1) throw std::bad_alloc();
  }));
  CHECK(module.set_inputs(inputs()) == Error::Ok);
  CHECK(module.forward().error() == Error::Internal);
  --fails;
  CHECK(module.forward().error() == Error::NotFound);
  --fails;
  CHECK(module.forward().error() == Error::MemoryAllocationFailed);
  CHECK(module.get_output().error() == Error::InvalidState);
  --fails;
  CHECK(first(module.forward()) == 3);  // the inputs are still set
}

TEST_CASE("executorch: a method may use its own module, but not run or unload itself") {
  Module* self = nullptr;
  std::vector<Error> errors;
  int answer = 0;
  Module module(make_double([&] {
    errors.push_back(self->forward(inputs()).error());
    errors.push_back(self->forward().error());
    errors.push_back(self->set_input(EValue(int64_t{5}), 1));
    answer = static_cast<int>(self->execute("answer")->at(0).toInt());
    CHECK(!self->unload_method("forward"));
    CHECK(self->is_method_loaded("forward"));
  }));
  self = &module;
  CHECK(module.set_inputs(inputs()) == Error::Ok);
  CHECK(first(module.forward()) == 3);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0] == Error::InvalidState);
  CHECK(errors[1] == Error::InvalidState);  // forward() without inputs: as if they were missing
  CHECK(answer == 42);
  CHECK(module.unload_method("forward"));
}

}  // namespace executorch_module_test
