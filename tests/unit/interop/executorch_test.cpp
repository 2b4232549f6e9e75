// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/runtimes/executorch/CMakeLists.txt.
#include "tenon/interop/executorch.h"

#include <executorch/runtime/backend/interface.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "interop/files.h"
#include "interop/models.h"
#include "interop/nested.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/tracking.h"
#include "tenon/module/runtimes.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace executorch_test {

using namespace tenon;
using tests::Floats;
using tests::model_path;
using tests::Vector;

static_assert(std::is_base_of_v<Module, ExecuTorchModule>);

namespace {

using Names = std::vector<std::string>;
using MlockConfig = executorch::extension::MmapDataLoader::MlockConfig;
namespace runtime = executorch::runtime;

Floats floats(const Tensor& tensor) {
  const auto values = tensor.data<const float>();
  return Floats(values.begin(), values.end());
}
Floats floats(const Result<std::vector<EValue>>& outputs, size_t index = 0) {
  if (!outputs) FAIL(outputs.message());
  return floats(outputs->at(index).toTensor());
}

// What external.pte gives for ones, and xnnpack.pte for each of its rows.
const Floats kLinear = {1, 3, 5, 7, 1, 3, 5, 7};

ExecuTorchOptions with_weights(std::optional<MlockConfig> map = {}) {
  ExecuTorchOptions options;
  options.data_files = {model_path("external_weight.ptd"), model_path("external_bias.ptd")};
  options.map = map;
  return options;
}

// Whether a mapping of the file is there. Linux only.
bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

/// Counts the steps, and calls a function in each.
class Tracer final : public runtime::EventTracer {
 public:
  int steps = 0;
  std::function<void(int step)> on_step = [](int) {};

  void create_event_block(const char*) override { step(); }
  runtime::EventTracerEntry start_profiling(const char*, runtime::ChainID,
                                            runtime::DebugHandle) override {
    step();
    return {};
  }
  runtime::EventTracerEntry start_profiling_delegate(const char*,
                                                     runtime::DelegateDebugIntId) override {
    return {};
  }
  void end_profiling_delegate(runtime::EventTracerEntry, const void*, size_t) override {}
  void log_profiling_delegate(const char*, runtime::DelegateDebugIntId, et_timestamp_t,
                              et_timestamp_t, const void*, size_t) override {}
  void end_profiling(runtime::EventTracerEntry) override {}
  void track_allocation(runtime::AllocatorID, size_t) override {}
  runtime::AllocatorID track_allocator(const char*) override { return 0; }
  runtime::Result<bool> log_evalue(const runtime::EValue&, runtime::LoggedEValueType) override {
    return false;
  }
  using Id = runtime::DelegateDebugIntId;
  using Their = executorch::aten::Tensor;
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const Their&) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id,
                                                         runtime::ArrayRef<Their>) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const int&) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const bool&) override {
    return false;
  }
  runtime::Result<bool> log_intermediate_output_delegate(const char*, Id, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(runtime::EventTracerFilterBase*) override {}

 private:
  void step() { on_step(steps++); }
};

/// A delegate that runs xnnpack.pte in XNNPACK's place: it gives the number it was loaded
/// with, 16 rows.
class NumberBackend final : public runtime::BackendInterface {
 public:
  mutable int loaded = 0;
  mutable int destroyed = 0;
  mutable bool throws = false;

  /// The program for it.
  static TensorPtr program() {
    std::vector<uint8_t> bytes = tests::file_bytes(model_path("xnnpack.pte"));
    const std::string from = "XnnpackBackend";
    const auto at = std::search(bytes.begin(), bytes.end(), from.begin(), from.end());
    REQUIRE(at != bytes.end());
    std::copy_n("NumbersBackend", from.size(), at);
    return make_tensor_ptr(std::move(bytes));
  }
  static NumberBackend& instance() {
    static NumberBackend backend;
    static const auto error = runtime::register_backend({"NumbersBackend", &backend});
    REQUIRE(error == runtime::Error::Ok);
    return backend;
  }

  bool is_available() const override { return true; }
  runtime::Result<runtime::DelegateHandle*> init(
      runtime::BackendInitContext& context, runtime::FreeableBuffer*,
      runtime::ArrayRef<runtime::CompileSpec>) const override {
    const auto number = context.get_runtime_spec<int>("number");
    ++loaded;
    return new int(number.ok() ? *number : -1);
  }
  runtime::Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle* handle,
                         runtime::Span<runtime::EValue*> args) const override {
    if (throws) throw std::runtime_error("the delegate is off");
    const auto out = args[args.size() - 1]->toTensor();
    for (ssize_t i = 0; i < out.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] = static_cast<float>(*static_cast<int*>(handle));
    }
    return runtime::Error::Ok;
  }
  void destroy(runtime::DelegateHandle* handle) const override {
    ++destroyed;
    delete static_cast<int*>(handle);
  }
};

}  // namespace

TEST_CASE("ExecuTorchModule: runs any method by its name, and says which there are") {
  ExecuTorchModule module(model_path("methods.pte"));
  const Names names = *module.method_names();
  CHECK(Names(names.begin(), names.begin() + 4) == Names{"batch", "encode", "forward", "scaled"});
  const TensorPtr x = full({2, 3}, 5);
  CHECK(floats(module.forward(*x)) == Floats(6, 10.0f));
  const auto encoded = module.execute("encode", *x);
  CHECK(floats(encoded, 0) == Floats(6, 6.0f));
  CHECK(floats(encoded, 1) == Floats(6, 4.0f));
  RETURNS(NotFound, "run: there is no method \"decode\"", module.run("decode", *x));
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: nested inputs and outputs are in the order that TorchScript has") {
  ExecuTorchModule nested(model_path("nested.pte"));
  tests::check_nested(nested);
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "ExecuTorchModule: a list of tensors is None and named when it is asked for, as others are") {
  ExecuTorchModule listed(model_path("listed.pte"));
  const auto outputs = listed.forward(full({2}, 1));
  INFO(outputs.message());
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 3);
  CHECK(floats(outputs, 0) == Floats{2, 2});
  CHECK((*outputs)[1].isNone());
  CHECK(floats(outputs, 2) == Floats{3, 3});
  CHECK(listed.method_meta()->outputs[1].kind == ValueKind::None);
  RETURNS(NotSupported, "get_output: output 1: a list of tensors", listed.get_output(1).error());
  RETURNS(InvalidType, "output 1: it is a Tensor", listed.set_output(zeros({2}), 1));
  RETURNS(InvalidType, "run: input 0: it is a StringList of 2, expected a Tensor",
          listed.run("forward", tests::Texts{"a", "b"}));
  RETURNS(NotSupported, "run: input 1: a list of tensors",
          listed.run("take", {zeros({2}), tests::Texts{"a", "b"}}));
  CHECK(listed.method_meta("take")->inputs.size() == 2);  // what it takes can be seen
  RETURNS(NotSupported, "run: input 1: a list of tensors", listed.run("take", zeros({2})));
  RETURNS(NotSupported, "run: input 1: a list of tensors",
          listed.run("take", {zeros({2}), zeros({2})}));
}

TEST_CASE("ExecuTorchModule: methods without inputs give constants of every kind") {
  ExecuTorchModule module(model_path("methods.pte"));
  CHECK(module.execute("get_max_seq_len")->at(0).toInt() == 128);
  CHECK(module.execute("get_rate")->at(0).toDouble() == 0.5);
  CHECK(module.execute("get_flag")->at(0).toBool());
  CHECK(module.execute("get_name")->at(0).toString() == "tenon");
  const auto sizes = module.execute("get_sizes");
  CHECK((sizes->size() == 2 && sizes->at(0).toInt() == 2 && sizes->at(1).toInt() == 3));
  CHECK(floats(module.execute("get_tensor")) == Floats{0, 1, 2});
}

TEST_CASE("ExecuTorchModule: a kernel's error is reported, and the module goes on") {
  ExecuTorchModule module(model_path("fails.pte"));
  RETURNS(InvalidArgument, "run: method matmul: ExecuTorch says InvalidArgument",
          module.run("matmul", {full({2, 4}, 1), full({5, 2}, 1)}));
  CHECK(module.get_output("matmul").error() == Error::InvalidState);
  CHECK(floats(module.execute("matmul", {full({2, 4}, 1), full({4, 2}, 1)})) == Floats(4, 4.0f));
  const TensorPtr rows = full({2, 4}, 1);
  const auto at = [](int64_t a, int64_t b) {
    return make_tensor_ptr({2}, std::vector<int64_t>{a, b});
  };
  RETURNS(InvalidArgument, "run: method embed: ExecuTorch says",
          module.run("embed", {at(0, 99), *rows}));
  CHECK(floats(module.execute("embed", {at(1, 0), *rows})) == Floats(8, 1.0f));
}

TEST_CASE("ExecuTorchModule: a file that is missing or no program is an error until it is there") {
  const tests::TempFolder folder;
  const std::string path = folder / "add.pte";
  Tensor sum;
  {
    ExecuTorchModule module(path);
    RETURNS(NotFound, "run: " + path + ": cannot open", module.run());
    CHECK(module.method_names().error() == Error::NotFound);
    for (const char* const other : {"README.md", "add.pt"}) {
      tests::put_file(path, tests::file_bytes(model_path(other)));
      RETURNS(InvalidArgument, path + ": it is not a program that can be loaded", module.run());
    }
    tests::put_file(path, tests::file_bytes(model_path("add.pte")));
    REQUIRE(module.load_method() == Error::Ok);
    REQUIRE(std::remove(path.c_str()) == 0);  // needed no more
    sum = module.forward({full({2, 3}, 1), full({2, 3}, 2)})->at(0).toTensor();
  }
  CHECK(floats(sum) == Floats(6, 3.0f));  // outlives the module
  ExecuTorchModule no_file(folder / "");
  RETURNS(AccessFailed, "not a regular file", no_file.run());
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: bytes that are no program's, or where it cannot be, are refused") {
  std::vector<uint8_t> bytes = tests::file_bytes(model_path("add.pte"));
  const auto size = static_cast<int64_t>(bytes.size());
  ExecuTorchModule undefined{TensorPtr()};
  RETURNS(InvalidState, "the program is undefined", undefined.run());
  std::vector<uint8_t> room(bytes.size() + 32);
  std::memcpy(room.data() + 1, bytes.data(), bytes.size());
  ExecuTorchModule shifted(from_blob(room.data() + 1, {size}));
  RETURNS(InvalidArgument, "not contiguous at a multiple of 16", shifted.run());
  ExecuTorchModule strided(from_blob(bytes.data(), {size / 2}, {2}));
  RETURNS(InvalidArgument, "not contiguous", strided.run());
  for (int64_t part = 0; part < size; part += 7) {
    ExecuTorchModule cut(from_blob(bytes.data(), {part}));
    CHECK(cut.method_names().error() == Error::InvalidArgument);
  }
  std::memcpy(bytes.data() + 4, "ET99", 4);  // another version
  ExecuTorchModule other(make_tensor_ptr(std::move(bytes)));
  RETURNS(InvalidArgument, "it is not a program that can be loaded", other.run());
}

TEST_CASE("ExecuTorchModule: memory is the host's, in a scope with another default backend too") {
  MetaBackend nowhere;
  ExecuTorchModule refused(model_path("add.pte"), nowhere);
  RETURNS(NotSupported, "is opaque or not on cpu, expected host memory", refused.run());
  ExecuTorchModule module(model_path("add_unplanned.pte"));
  const TensorPtr x = full({2, 3}, 1);
  const BackendScope scope(nowhere);
  CHECK(floats(module.forward({*x, *x})) == Floats(6, 2.0f));
}

TEST_CASE("ExecuTorchModule: several at once, each on its thread", "[threads][ExecuTorchModule]") {
  const auto use = [](float value, int& right) {
    ExecuTorchModule module(model_path("methods.pte"));
    for (int i = 0; i < 50; ++i) {
      const auto outputs = module.execute("batch", full({16, 3}, value));
      if (outputs && floats(outputs->at(0).toTensor()) == Floats(48, value + 1)) ++right;
    }
  };
  int first = 0;
  int second = 0;
  std::thread other([&] { use(10, second); });
  use(1, first);
  other.join();
  CHECK(first == 50);
  CHECK(second == 50);
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: a program with weights in .ptd files, copied or mapped") {
  const TensorPtr x = full({2, 4}, 1);
  for (const auto map :
       {std::optional<MlockConfig>(), std::optional(MlockConfig::NoMlock),
        std::optional(MlockConfig::UseMlockIgnoreErrors), std::optional(MlockConfig::UseMadvise)}) {
    CAPTURE(map.has_value());
    ExecuTorchModule module(model_path("external.pte"), with_weights(map));
    CHECK(floats(module.forward(*x)) == kLinear);
    ExecuTorchModule in_memory(make_tensor_ptr(tests::file_bytes(model_path("external.pte"))),
                               with_weights(map));
    CHECK(floats(in_memory.forward(*x)) == kLinear);
  }
  ExecuTorchModule needless(model_path("add.pte"), with_weights());
  CHECK(floats(needless.forward({full({2, 3}, 1), full({2, 3}, 2)})) == Floats(6, 3.0f));
}

TEST_CASE("ExecuTorchModule: a mapped file is read where it is mapped, as long as the module") {
  const std::string path = model_path("external_weight.ptd");
  if (!std::ifstream("/proc/self/maps").good()) {
    WARN("skipped: needs Linux's list of mappings");
    return;
  }
  {
    ExecuTorchModule copied(model_path("external.pte"), with_weights());
    REQUIRE(copied.load_method() == Error::Ok);
    CHECK_FALSE(is_mapped(path));
    ExecuTorchModule mapped(model_path("external.pte"), with_weights(MlockConfig::NoMlock));
    REQUIRE(mapped.load_method() == Error::Ok);
    CHECK(is_mapped(path));
    CHECK(is_mapped(model_path("external.pte")));
  }
  CHECK_FALSE(is_mapped(path));
}

TEST_CASE("ExecuTorchModule: weights that are missing or none are an error until they are there") {
  const tests::TempFolder folder;
  const TensorPtr x = full({2, 4}, 1);
  for (const auto map : {std::optional<MlockConfig>(), std::optional(MlockConfig::NoMlock)}) {
    CAPTURE(map.has_value());
    const std::string path = folder / "weight.ptd";
    ExecuTorchOptions options = with_weights(map);
    options.data_files[0] = path;
    ExecuTorchModule module(model_path("external.pte"), options);
    RETURNS(NotFound, "run: " + path + ": cannot open", module.run());
    std::vector<uint8_t> bytes = tests::file_bytes(model_path("external_weight.ptd"));
    for (const char* const other : {"README.md", "add.pte"}) {
      tests::put_file(path, tests::file_bytes(model_path(other)));
      RETURNS(InvalidArgument, path + ": it has no weights that can be loaded", module.run());
    }
    for (size_t size = 0; size < bytes.size(); size += 16) {
      tests::put_file(path, {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
      CAPTURE(size);
      RETURNS(InvalidArgument, path + ": it has no weights that can be loaded", module.run());
    }
    tests::put_file(path, bytes);
    CHECK(floats(module.forward(*x)) == kLinear);
    std::remove(path.c_str());
  }
  ExecuTorchOptions options;
  ExecuTorchModule without(model_path("external.pte"), options);
  RETURNS(InvalidState, "run: method forward cannot be loaded; if its weights are in a .ptd file",
          without.run());
  CHECK(without.method_names()->size() == 1);
  options.data_files = {model_path("external_weight.ptd")};
  ExecuTorchModule half(model_path("external.pte"), options);
  RETURNS(NotFound, "forward cannot be loaded; none of data_files has one of its weights",
          half.run());
  options.data_files.push_back(options.data_files[0]);
  ExecuTorchModule twice(model_path("external.pte"), options);
  RETURNS(InvalidArgument, "run: the data files cannot be merged", twice.run());
  options.data_files = {folder / ""};
  ExecuTorchModule no_file(model_path("external.pte"), options);
  RETURNS(AccessFailed, "not a regular file", no_file.run());
  options.map = MlockConfig::NoMlock;
  ExecuTorchModule no_program(folder / "missing.pte", options);
  RETURNS(NotFound, "run: " + (folder / "missing.pte") + ": cannot open", no_program.run());
}

TEST_CASE("ExecuTorchModule: a delegate gets its options, which the module has copied") {
  NumberBackend& backend = NumberBackend::instance();
  const TensorPtr x = full({2, 4}, 1);
  std::optional<ExecuTorchModule> module;
  {
    runtime::BackendOptions<1> numbers;
    REQUIRE(numbers.set_option("number", 7) == runtime::Error::Ok);
    ExecuTorchOptions options;
    REQUIRE(options.backend_options.set_options("NumbersBackend", numbers.view()) ==
            runtime::Error::Ok);
    module.emplace(NumberBackend::program(), options);
    REQUIRE(numbers.set_option("number", 8) == runtime::Error::Ok);
  }
  CHECK(floats(module->forward(*x)) == Floats(64, 7.0f));
  ExecuTorchModule plain(NumberBackend::program());
  CHECK(floats(plain.forward(*x)) == Floats(64, -1.0f));
  module.reset();
  CHECK(backend.destroyed < backend.loaded);
}

TEST_CASE("ExecuTorchModule: unload_method frees what was loaded; the next use loads it again") {
  NumberBackend& backend = NumberBackend::instance();
  TrackingBackend memory(host_backend());
  {
    ExecuTorchModule module(NumberBackend::program(), memory);
    REQUIRE(module.method_names().ok());
    const auto before = memory.live_bytes();
    const int destroyed = backend.destroyed;
    const Tensor kept = module.forward(full({2, 4}, 1))->at(0).toTensor();
    CHECK(module.is_method_loaded());
    REQUIRE(module.unload_method() == Error::Ok);
    CHECK_FALSE(module.is_method_loaded());
    CHECK(backend.destroyed == destroyed + 1);
    CHECK(memory.live_bytes() < before + 16 * 4 * sizeof(float) + 1024);  // the output's alone
    CHECK(floats(kept) == Floats(64, -1.0f));
    CHECK(floats(module.forward(full({1, 4}, 1))) == Floats(64, -1.0f));
    REQUIRE(module.unload_method() == Error::Ok);
    REQUIRE(module.unload_method() == Error::Ok);
    CHECK(backend.destroyed == destroyed + 2);
  }
  CHECK(memory.live_bytes() == 0);
}

TEST_CASE("ExecuTorchModule: what is freed by unload_method may use the module") {
  class Asking final : public WrapperBackend {
   public:
    explicit Asking(Backend& inner) : WrapperBackend(inner) {}
    std::function<void()> on_free = [] {};
    const char* name() const noexcept override { return "asking"; }
    void deallocate(void* p, size_t nbytes) noexcept override {
      WrapperBackend::deallocate(p, nbytes);
      on_free();
    }
  } memory(host_backend());
  ExecuTorchModule module(model_path("listed.pte"), memory);
  const TensorPtr x = full({2}, 1);
  REQUIRE(module.run("forward", *x) == Error::Ok);
  int asked = 0;
  memory.on_free = [&] {
    if (++asked > 1) return;
    CHECK(module.get_output(1)->isNone());
    CHECK(floats(module.get_output()->toTensor()) == Floats{2, 2});
    RETURNS(InvalidState, "run: forward is running", module.run("forward", *x));
    RETURNS(InvalidState, "unload_method: forward is running", module.unload_method());
    CHECK(module.load_method("take") == Error::Ok);
  };
  REQUIRE(module.unload_method() == Error::Ok);
  CHECK(asked > 0);
  memory.on_free = [] {};
  CHECK(floats(module.forward(*x)) == Floats{2, 2});
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: after a tracer or a delegate has thrown, the next run is right") {
  const std::vector<EValue> inputs(8, full({2}, 1));
  const Floats expected = floats(ExecuTorchModule(model_path("nested.pte")).forward(inputs));
  bool is_over = false;
  for (int at = 0; !is_over; ++at) {
    CAPTURE(at);
    Tracer tracer;
    tracer.on_step = [at](int step) {
      if (step == at) throw std::runtime_error("the tracer is off");
    };
    ExecuTorchOptions options;
    options.event_tracer = &tracer;
    ExecuTorchModule module(model_path("nested.pte"), options);
    const auto specs = module.method_meta();
    const Error error = module.run("forward", inputs);
    is_over = error == Error::Ok && tracer.steps <= at;
    tracer.on_step = [](int) {};
    CHECK(floats(module.forward(inputs)) == expected);
    if (specs.ok()) CHECK(specs->inputs[0].tensor.sizes == Dims{2});
    REQUIRE(at < 1000);
  }
  NumberBackend& backend = NumberBackend::instance();
  ExecuTorchModule module(NumberBackend::program());
  const TensorPtr x = full({2, 4}, 1);
  REQUIRE(module.set_input(*x) == Error::Ok);
  backend.throws = true;
  RETURNS(Internal, "run: the delegate is off", module.run());
  backend.throws = false;
  CHECK(module.get_output().error() == Error::InvalidState);
  CHECK(floats(module.forward()) == Floats(64, -1.0f));
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: methods in one arena give what they give alone, in any order") {
  const auto live = [](bool share_arenas) {
    TrackingBackend memory(host_backend());
    ExecuTorchOptions options;
    options.share_arenas = share_arenas;
    ExecuTorchModule module(model_path("methods.pte"), options, memory);
    const TensorPtr x = full({2, 3}, 5);
    for (int i = 0; i < 2; ++i) {
      const auto doubled = module.forward(*x);
      const auto encoded = module.execute("encode", *x);
      const auto batch = module.execute("batch", full({16, 3}, 1));
      CHECK(floats(doubled) == Floats(6, 10.0f));
      CHECK(floats(encoded, 0) == Floats(6, 6.0f));
      CHECK(floats(encoded, 1) == Floats(6, 4.0f));
      CHECK(floats(batch) == Floats(48, 2.0f));
      CHECK(floats(module.get_output()->toTensor()) == Floats(6, 10.0f));
    }
    CHECK(module.execute("get_name")->at(0).toString() == "tenon");
    REQUIRE(module.unload_method("encode") == Error::Ok);
    CHECK(floats(module.forward(*x)) == Floats(6, 10.0f));
    CHECK(floats(module.execute("encode", *x), 1) == Floats(6, 4.0f));
    return memory.live_bytes();
  };
  CHECK(live(true) < live(false));
}

TEST_CASE("ExecuTorchModule: state that methods share is one where they share arenas") {
  for (const bool share : {true, false}) {
    CAPTURE(share);
    ExecuTorchOptions options;
    options.share_arenas = share;
    ExecuTorchModule module(model_path("shared.pte"), options);
    REQUIRE(module.load_method("get") == Error::Ok);
    CHECK(floats(module.execute("add", full({2, 3}, 2))) == Floats(6, 2.0f));
    CHECK(floats(module.execute("add", full({2, 3}, 3))) == Floats(6, 5.0f));
    CHECK(floats(module.execute("get")) == Floats(6, share ? 5.0f : 0.0f));
  }
}

TEST_CASE("ExecuTorchModule: a method is refused in arenas that a running one uses") {
  Tracer tracer;
  ExecuTorchOptions options;
  options.event_tracer = &tracer;
  options.share_arenas = true;
  ExecuTorchModule module(model_path("methods.pte"), options);
  const TensorPtr x = full({2, 3}, 5);
  REQUIRE(module.run("encode", *x) == Error::Ok);
  int refused = 0;
  tracer.on_step = [&](int) {
    RETURNS(InvalidState, "run: another method is running", module.run("encode", *x));
    RETURNS(InvalidState, "load_method: another method is running", module.load_method("batch"));
    CHECK(module.unload_method("encode") == Error::Ok);
    CHECK(module.load_method("encode") == Error::InvalidState);
    ++refused;
  };
  CHECK(floats(module.forward(*x)) == Floats(6, 10.0f));
  CHECK(refused > 1);
  tracer.on_step = [](int) {};
  CHECK(floats(module.execute("encode", *x)) == Floats(6, 6.0f));
}

TEST_CASE("ExecuTorchModule: options are in an arena that was given, an error if too small") {
  alignas(64) static unsigned char buffer[1 << 15];
  ExecuTorchOptions options = with_weights();
  options.share_arenas = true;
  size_t failures = 0;
  for (size_t size = 256; size <= sizeof buffer; size += 128) {
    CAPTURE(size);
    ArenaBackend arena(buffer, size);
    {
      ExecuTorchModule module(model_path("external.pte"), options, arena);
      const auto outputs = module.forward(full({2, 4}, 1));
      if (outputs.ok()) {
        CHECK(floats(outputs) == kLinear);
      } else {
        CHECK(outputs.error() == Error::OutOfMemory);
        ++failures;
      }
    }
    REQUIRE(arena.reset() == Error::Ok);
  }
  CHECK((failures > 0 && failures < 200));
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorchModule: says in which dim order a method takes and gives tensors") {
  ExecuTorchModule module(model_path("layouts.pte"));
  const Dims order{0, 2, 3, 1};
  for (const char* const name : {"channels_last", "channels_last_batch", "channels_last_one"}) {
    CAPTURE(name);
    const MethodMeta meta = *module.method_meta(name);
    CHECK(meta.inputs[0].tensor.dim_order == order);
    CHECK(meta.outputs[0].tensor.dim_order == order);
  }
  CHECK(module.method_meta("scalar")->inputs[0].tensor.dim_order.empty());
  CHECK(ExecuTorchModule(model_path("add.pte")).method_meta()->inputs[0].tensor.dim_order.empty());

  // What is laid out alike passes, whatever its strides of size 1 are.
  const auto run = [&](const char* name, const Dims& sizes, const Dims& strides) {
    const TensorPtr x = full_strided(sizes, strides, 2);
    const MethodMeta meta = *module.method_meta(name);
    const Error error = module.run(name, *x);
    CHECK((error == Error::Ok) == (meta.inputs[0].check(*x) == Error::Ok));
    if (error == Error::Ok) {
      const Tensor out = module.get_output(name)->toTensor();
      CHECK(tests::sizes(out) == Vector(sizes.begin(), sizes.end()));
      for (int64_t i = 0; i < out.numel(); ++i) CHECK(out.const_data_ptr<float>()[i] == 4.0f);
    }
    return error;
  };
  CHECK(run("channels_last", {2, 3, 4, 5}, {60, 1, 15, 3}) == Error::Ok);
  CHECK(run("channels_last", {2, 3, 4, 5}, {60, 20, 5, 1}) == Error::InvalidArgument);
  CHECK(run("channels_last_batch", {1, 3, 4, 5}, {7, 1, 15, 3}) == Error::Ok);
  CHECK(run("channels_last_batch", {16, 3, 4, 5}, {60, 1, 15, 3}) == Error::Ok);
  CHECK(run("channels_last_batch", {0, 3, 4, 5}, {60, 20, 5, 1}) == Error::Ok);
  CHECK(run("channels_last_batch", {2, 1, 4, 5}, {20, 20, 5, 1}) == Error::Ok);
  CHECK(run("channels_last_batch", {2, 3, 1, 1}, {3, 1, 1, 1}) == Error::Ok);
  CHECK(run("channels_last_batch", {2, 3, 4, 5}, {60, 20, 5, 1}) == Error::InvalidArgument);
  CHECK(run("channels_last_one", {1, 3, 4, 5}, {60, 1, 15, 3}) == Error::Ok);
  CHECK(run("channels_last_one", {1, 3, 4, 5}, {7, 1, 15, 3}) == Error::Ok);
  CHECK(run("channels_last_one", {1, 3, 4, 5}, {60, 20, 5, 1}) == Error::InvalidArgument);
}

TEST_CASE("ExecuTorchModule: open_module makes it of a .pte file, and of bytes") {
  ModelFile file;
  file.path = model_path("external.pte");
  file.data_files = with_weights().data_files;
  for (const bool is_on : {false, true}) {
    file.map = file.share_arenas = is_on;
    const auto module = open_module(file);
    REQUIRE(module.ok());
    CHECK(floats((*module)->forward(full({2, 4}, 1))) == kLinear);
    CHECK(is_mapped(file.path) == is_on);
  }
  file.bytes = *make_tensor_ptr(tests::file_bytes(file.path));
  file.path = ".pte";
  CHECK(floats((*open_module(file))->forward(full({2, 4}, 1))) == kLinear);
}

}  // namespace executorch_test
