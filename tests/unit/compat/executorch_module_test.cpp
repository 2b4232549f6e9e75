// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_module.h"

#include <fstream>
#include <stdexcept>

#include "interop/files.h"
#include "support/catch.h"
#include "tenon/module/function_module.h"

namespace executorch_module_test {

using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::LoadBackendOptionsMap;
using executorch::extension::make_tensor_ptr;
using executorch::extension::MmapDataLoader;
using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Tag;
using tenon::FunctionModule;
using tenon::ModelFile;
using tenon::Span;
using tenon::TensorSpec;
using tenon::ValueKind;
using tenon::ValueSpec;
using tenon::ValueSpecs;

namespace {

using Values = std::vector<EValue>;

/// Twice `x`, of up to 4 rows, plus an Int; `inside` is called in each run.
std::shared_ptr<FunctionModule> make_double(std::function<void()> inside = [] {}) {
  TensorSpec rows = {{-1, 2}};
  rows.max_sizes = {4, 2};
  const auto run = [inside](Span<const EValue> in, Span<EValue> out) {
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
      run, ValueSpecs{ValueSpec("x", rows), ValueSpec("plus", ValueKind::Int)},
      ValueSpecs{ValueSpec("y", rows)});
  const auto answer = [](Span<const EValue>) { return 42; };
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

TEST_CASE("executorch::Module: runs a function's methods, as ExecuTorch's Module does") {
  Module module(make_double());
  CHECK(!module.is_loaded());
  CHECK(module.load() == Error::Ok);
  CHECK(module.is_loaded());
  CHECK(*module.method_names() == std::unordered_set<std::string>{"forward", "answer"});
  CHECK(*module.num_methods() == 2);
  CHECK(!module.is_method_loaded("forward"));
  CHECK(first(module.forward(inputs())) == 3);
  CHECK(module.is_method_loaded("forward"));
  CHECK(module.execute("answer")->at(0).toInt() == 42);
  CHECK(module.get("answer")->toInt() == 42);
  CHECK(module.get_output()->toTensor().const_data_ptr<float>()[1] == 5);
  CHECK(module.get_outputs("answer")->size() == 1);
}

TEST_CASE("executorch::Module: what a method takes and gives") {
  Module module(make_double());
  const auto meta = module.method_meta("forward");
  REQUIRE(meta.ok());
  CHECK(!module.is_method_loaded("forward"));
  CHECK(std::string(meta->name()) == "forward");
  CHECK((meta->num_inputs() == 2 && meta->num_outputs() == 1));
  CHECK(*meta->input_tag(0) == Tag::Tensor);
  CHECK(*meta->input_tag(1) == Tag::Int);
  CHECK(meta->input_tag(2).error() == Error::InvalidArgument);
  CHECK(meta->input_tensor_meta(1).error() == Error::InvalidArgument);
  const auto info = meta->input_tensor_meta(0);
  REQUIRE(info.ok());
  CHECK((info->sizes().size() == 2 && info->sizes()[0] == 4));
  CHECK(info->nbytes() == 32);
  CHECK(info->name() == "x");
  CHECK(module.method_meta("other").error() == Error::InvalidArgument);
  CHECK(module.unload_method("forward") == false);
  CHECK(meta->num_inputs() == 2);  // still there
}

TEST_CASE("executorch::Module: dim orders are those of the model") {
  TensorSpec images = {{2, 3, 4, 5}};
  images.dim_order = {0, 2, 3, 1};
  Module module(std::make_shared<FunctionModule>([](Span<const EValue> in) { return in[0]; },
                                                 ValueSpecs{images}, ValueSpecs{images}));
  const auto order = module.method_meta("forward")->output_tensor_meta(0)->dim_order();
  CHECK(std::vector<int>(order.begin(), order.end()) == std::vector<int>{0, 2, 3, 1});
}

TEST_CASE("executorch::Module: wrong inputs have ExecuTorch's codes, and nothing is lost") {
  Module module(make_double());
  const auto code = [&](Values values) { return module.forward(values).error(); };
  CHECK(code({kRow(), int64_t{1}, 1.0}) == Error::InvalidArgument);  // too many
  CHECK(code({kRow()}) == Error::InvalidArgument);                   // too few
  CHECK(code({}) == Error::InvalidArgument);
  CHECK(code({EValue(), int64_t{1}}) == Error::InvalidArgument);
  CHECK(code({int64_t{1}, int64_t{1}}) == Error::InvalidArgument);  // another kind
  CHECK(code({kRow(), 1.0}) == Error::InvalidArgument);
  CHECK(code({make_tensor_ptr({1, 2}, std::vector<int>{1, 2}), int64_t{1}}) ==
        Error::InvalidArgument);                                                    // another dtype
  CHECK(code({make_tensor_ptr({1.0f, 2.0f}), int64_t{1}}) == Error::NotSupported);  // another rank
  CHECK(code({make_tensor_ptr({5, 2}, std::vector<float>(10)), int64_t{1}}) ==
        Error::NotSupported);  // too large
  CHECK(module.execute("other", inputs()).error() == Error::InvalidArgument);

  CHECK(module.set_input(EValue(int64_t{1}), 1) == Error::Ok);
  CHECK(module.set_input(EValue(1.0), 1) == Error::InvalidArgument);
  CHECK(module.set_input(EValue(int64_t{1}), 2) == Error::InvalidArgument);
  CHECK(module.set_input(make_tensor_ptr({1.0f}), 0) == Error::NotSupported);
  CHECK(module.set_input("other", EValue(1.0), 0) == Error::InvalidArgument);
  CHECK(module.set_inputs({kRow()}) == Error::InvalidArgument);
  CHECK(module.set_inputs({kRow(), int64_t{1}, 1.0}) == Error::InvalidArgument);
  CHECK(first(module.forward(kRow())) == 3);  // with the input that was set
  CHECK(code({}) == Error::InvalidArgument);
  CHECK(module.set_inputs(inputs()) == Error::Ok);
  CHECK(first(module.forward()) == 3);
}

TEST_CASE("executorch::Module: outputs are written where they were set") {
  Module module(make_double());
  CHECK(module.get_output().error() == Error::InvalidState);
  const auto y =
      make_tensor_ptr({4, 2}, std::vector<float>(8), {}, {}, executorch::aten::ScalarType::Float);
  CHECK(module.set_output(y) == Error::Ok);
  CHECK(module.set_output(y, 1) == Error::InvalidArgument);
  CHECK(module.set_output(EValue(1.0)) == Error::InvalidArgument);
  CHECK(module.set_output(make_tensor_ptr({1.0f})) == Error::InvalidArgument);
  CHECK(module.set_output("other", y) == Error::InvalidArgument);
  CHECK(module.set_outputs({}) == Error::InvalidArgument);
  CHECK(module.set_outputs({y, y}) == Error::InvalidArgument);
  CHECK(module.set_outputs({y}) == Error::Ok);
  CHECK(first(module.forward(inputs())) == 3);
  CHECK(y->const_data_ptr<float>()[1] == 5);
  CHECK(module.get_output(1).error() == Error::InvalidArgument);
  // A function that does not say what it gives may be given any number.
  Module open(std::make_shared<FunctionModule>([](Span<const EValue>, Span<EValue> out) {
    for (const EValue& value : out) value.toTensor().mutable_data_ptr<float>()[0] = 7;
  }));
  const auto one = make_tensor_ptr({1.0f});
  CHECK(open.set_outputs({one, make_tensor_ptr({1.0f})}) == Error::Ok);
  CHECK(open.forward()->size() == 2);
  CHECK(one->const_data_ptr<float>()[0] == 7);
}

TEST_CASE("executorch::Module: a method that throws gives a code, and runs again") {
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

TEST_CASE("executorch::Module: a method may use its own module, but not run or unload itself") {
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
  CHECK(errors[1] == Error::InvalidState);
  CHECK(answer == 42);
  CHECK(module.unload_method("forward"));
}

TEST_CASE("executorch::Module: unload_method() forgets inputs and outputs") {
  Module module(make_double());
  CHECK(!module.unload_forward());
  CHECK(!module.unload_method("other"));
  CHECK(module.set_inputs(inputs()) == Error::Ok);
  CHECK(module.forward().ok());
  CHECK(module.unload_forward());
  CHECK(!module.is_method_loaded("forward"));
  CHECK(!module.unload_forward());
  CHECK(module.get_output().error() == Error::InvalidState);
  CHECK(module.forward().error() == Error::InvalidArgument);
  CHECK(first(module.forward(inputs())) == 3);
}

TEST_CASE("executorch::Module: a file that appears after a first try") {
  const tests::TempFolder folder;
  const std::string path = folder / "late.compat_late";
  tenon::register_runtime(".compat_late", [](const ModelFile& model) {
    const bool is_there = std::ifstream(model.path).good();
    if (!is_there) static_cast<void>(tenon::set_error(tenon::Error::NotFound, "no such file"));
    return is_there ? make_double() : nullptr;
  });
  Module module(path);
  LoadBackendOptionsMap options;
  executorch::runtime::BackendOptions<1> option;
  CHECK(option.set_option("threads", 2) == Error::Ok);
  CHECK(options.set_options("delegate", option.view()) == Error::Ok);
  CHECK(module.load(options) == Error::AccessFailed);
  CHECK(module.backend_options().size() == 0);
  CHECK(module.forward(inputs()).error() == Error::AccessFailed);
  CHECK(module.method_names().error() == Error::AccessFailed);
  CHECK(module.program() == nullptr);
  std::ofstream(path) << "a model";
  CHECK(!module.is_loaded());
  CHECK(module.load(options) == Error::Ok);
  CHECK(module.backend_options().size() == 1);
  CHECK(first(module.forward(inputs())) == 3);
}

TEST_CASE("executorch::Module: no runtime for a file") {
  Module module("model.compat_unknown");
  CHECK(module.load() == Error::NotSupported);
  CHECK(!module.is_loaded());
}

TEST_CASE("executorch::Module: what a runtime is told of a file") {
  static std::vector<ModelFile> files;
  files.clear();
  const auto remember = [](const ModelFile& file) {
    files.push_back(file);
    return make_double();
  };
  tenon::register_runtime(".compat_file", remember);
  using Mode = Module::LoadMode;
  using Paths = std::vector<std::string>;
  const auto opened = [](Module&& module) {
    CHECK(module.load_forward() == Error::Ok);
    return files.back();
  };
  CHECK(opened(Module("a.compat_file")).data_files.empty());
  CHECK(!opened(Module("a.compat_file")).map);
  CHECK(opened(Module("a.compat_file", Mode::MmapUseMlock)).map);
  CHECK(opened(Module("a.compat_file", "b.ptd")).data_files == Paths{"b.ptd"});
  CHECK(opened(Module("a.compat_file", "")).data_files.empty());  // as ExecuTorch
  CHECK(opened(Module("a.compat_file", Paths{"b.ptd", "c.ptd"}, Mode::Mmap)).data_files.size() ==
        2);
  CHECK(opened(Module("a.compat_file", Mode::File, nullptr, nullptr, nullptr, true)).share_arenas);

  const tests::TempFolder folder;
  const std::string path = folder / "loader.compat_file";
  std::ofstream(path) << "a model";
  auto read = FileDataLoader::from(path.c_str());
  REQUIRE(read.ok());
  CHECK(opened(Module(std::make_unique<FileDataLoader>(std::move(*read)))).path == path);
  auto mapped = MmapDataLoader::from(path.c_str());
  REQUIRE(mapped.ok());
  CHECK(opened(Module(std::make_unique<MmapDataLoader>(std::move(*mapped)))).map);
  CHECK(FileDataLoader::from("no/such.file").error() == Error::AccessFailed);
}

TEST_CASE("executorch::Module: modules of one program have their own methods") {
  tenon::register_runtime(".compat_shared", [](const ModelFile&) { return make_double(); });
  auto module = std::make_unique<Module>("a.compat_shared");
  CHECK(module->program() == nullptr);
  CHECK(module->load_forward() == Error::Ok);
  Module other(module->program());
  CHECK(other.is_loaded());
  CHECK(!other.is_method_loaded("forward"));
  CHECK(module->set_inputs(inputs()) == Error::Ok);
  CHECK(other.forward().error() == Error::InvalidArgument);
  module.reset();
  CHECK(first(other.forward(inputs())) == 3);
}

TEST_CASE("executorch::Module: a derived class may load and execute in its own way") {
  struct Counting : Module {
    using Module::execute;
    using Module::Module;
    Error load(Program::Verification how = Program::Verification::Minimal) override {
      ++loads;
      return can_load ? Module::load(how) : Error::AccessFailed;
    }
    Result<Values> execute(const std::string& name, const Values& values) override {
      ++runs;
      return Module::execute(name, values);
    }
    bool can_load = false;
    int loads = 0;
    int runs = 0;
  };
  Counting module(make_double());
  CHECK(module.method_names().error() == Error::AccessFailed);
  CHECK(module.method_meta("forward").error() == Error::AccessFailed);
  CHECK(module.forward(inputs()).error() == Error::AccessFailed);
  CHECK(module.loads == 3);
  module.can_load = true;
  CHECK(first(module.forward(inputs())) == 3);
  CHECK(module.get("answer")->toInt() == 42);
  CHECK(module.runs == 3);
}

}  // namespace executorch_module_test
