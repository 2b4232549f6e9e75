// SPDX-License-Identifier: MIT
// executorch::extension::Module on tenon's modules, with EValue, MethodMeta and the macros: include
// this file instead of <executorch/extension/module/module.h>.
//
// The suffix of a file's path selects the runtime: module/runtimes.h. Errors are logged with
// tenon's text, and returned as ExecuTorch's codes. docs/executorch.md lists the differences.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tenon/compat/executorch.h"
#include "tenon/compat/executorch_data.h"
#include "tenon/compat/executorch_meta.h"
#include "tenon/compat/executorch_options.h"
#include "tenon/compat/executorch_platform.h"
#include "tenon/compat/executorch_switch.h"
#include "tenon/module/runtimes.h"

#define ET_MODULE_NAMESPACE module

namespace executorch {
namespace runtime {
inline namespace tenon_compat {
namespace internal {

// These log an error of a file, of a method's name, or of a value, and return ExecuTorch's code for
// the error.
inline Error report_file(tenon::Error error) noexcept {
  const Error reported = report(error);
  if (reported == Error::NotFound) return Error::AccessFailed;
  return reported == Error::InvalidArgument ? Error::InvalidProgram : reported;
}
inline Error report_method(tenon::Error error) noexcept {
  const Error reported = report(error);
  return reported == Error::NotFound ? Error::InvalidArgument : reported;
}
inline Error report_value(tenon::Error error) noexcept {
  const Error reported = report(error);
  return reported == Error::InvalidType ? Error::InvalidArgument : reported;
}
template <class T>
Result<T> result_of(tenon::Result<T> result) {
  if (!result.ok()) return report_value(result.error());
  return std::move(*result);
}

/// The loader's file; if it has none, a copy of the loader's bytes with the path ".pte".
inline Result<tenon::ModelFile> model_of(const DataLoader& loader) {
  tenon::ModelFile file;
  file.map = loader.maps();
  if (loader.path() != nullptr) {
    file.path = loader.path();
    return file;
  }
  const auto size = loader.size();
  if (!size.ok()) return size.error();
  const auto copy = tenon::try_empty({static_cast<int64_t>(*size)}, tenon::ScalarType::Byte);
  if (!copy.ok()) return report(copy.error());
  ET_CHECK_OK_OR_RETURN_ERROR(
      loader.load_into(0, *size, DataLoader::SegmentInfo(), (*copy)->mutable_data_ptr()));
  file.path = ".pte";
  file.bytes = **copy;
  return file;
}

}  // namespace internal

/// An opened program, which modules can share.
class Program {
 public:
  enum class Verification : uint8_t { Minimal, InternalConsistency };

  explicit Program(tenon::ModelFile file, std::shared_ptr<tenon::Module> model = nullptr)
      : file_(std::move(file)), model_(std::move(model)) {}
  static Result<Program> load(const DataLoader* loader, Verification = Verification::Minimal) {
    auto file = internal::model_of(*loader);
    if (!file.ok()) return file.error();
    return Program(std::move(*file));
  }
  // Not in ExecuTorch: the file; or, if there is no file, the model, which all modules of the
  // program share.

  const tenon::ModelFile& file() const noexcept { return file_; }
  const std::shared_ptr<tenon::Module>& model() const noexcept { return model_; }

 private:
  tenon::ModelFile file_;
  std::shared_ptr<tenon::Module> model_;
};

}  // namespace tenon_compat
}  // namespace runtime

namespace extension {
inline namespace tenon_compat {

using runtime::Kernel, runtime::LoadBackendOptionsMap, runtime::Method, runtime::MethodMeta,
    runtime::NamedDataMap, runtime::Program;

namespace module {

// Not members of Module: a derived class would find them before names of its own namespace.
using runtime::Error, runtime::EValue;
using Values = runtime::Result<std::vector<EValue>>;
using Allocator = std::unique_ptr<runtime::MemoryAllocator>;
using Tracer = std::unique_ptr<runtime::EventTracer>;
using Loader = std::unique_ptr<runtime::DataLoader>;

/// A model file and its methods, run by the runtime that is registered for it.
///
/// Allocators, the tracer, kernels and delegates' options are accepted and not used. Inputs stay
/// for later calls, whether they were set or passed to a call; None in a call stands for the input
/// that stayed.
/// Ownership: outputs may outlive the module, unlike ExecuTorch's. The module shares the inputs
/// that stay and the outputs that were set.
/// Errors: AccessFailed (no such file); NotSupported (no runtime for it, or a tensor of other
/// sizes); InvalidProgram (not a model of that runtime); InvalidArgument (an unknown method or
/// index; an input that is missing, or of another kind or dtype); InvalidState (no outputs yet);
/// the runtime's.
/// Threads: one thread at a time.
/// Source: executorch::extension::Module.
class Module {
 public:
  enum class LoadMode { File, Mmap, MmapUseMlock, MmapUseMlockIgnoreErrors, MmapUseMadvise };

  explicit Module(const std::string& path, LoadMode mode = LoadMode::File, Tracer tracer = nullptr,
                  Allocator = nullptr, Allocator = nullptr, bool share_memory_arenas = false)
      : Module(path, std::vector<std::string>(), mode, std::move(tracer), nullptr, nullptr,
               share_memory_arenas) {}
  explicit Module(const std::string& path, const std::string& data_file,
                  LoadMode mode = LoadMode::File, Tracer tracer = nullptr, Allocator = nullptr,
                  Allocator = nullptr, bool share_memory_arenas = false)
      : Module(path,
               data_file.empty() ? std::vector<std::string>() : std::vector<std::string>{data_file},
               mode, std::move(tracer), nullptr, nullptr, share_memory_arenas) {}
  explicit Module(const std::string& path, std::vector<std::string> data_files,
                  LoadMode mode = LoadMode::File, Tracer tracer = nullptr, Allocator = nullptr,
                  Allocator = nullptr, bool share_memory_arenas = false)
      : tracer_(std::move(tracer)) {
    file_.path = path;
    file_.data_files = std::move(data_files);
    file_.map = mode != LoadMode::File;
    file_.share_arenas = share_memory_arenas;
  }
  explicit Module(Loader loader, Allocator = nullptr, Allocator = nullptr, Tracer tracer = nullptr,
                  Loader data_loader = nullptr, bool share_memory_arenas = false)
      : loader_(std::move(loader)),
        data_loader_(std::move(data_loader)),
        tracer_(std::move(tracer)) {
    file_.share_arenas = share_memory_arenas;
  }
  explicit Module(std::shared_ptr<Program> program, Allocator = nullptr, Allocator = nullptr,
                  Tracer tracer = nullptr, Loader data_loader = nullptr,
                  bool share_memory_arenas = false)
      : data_loader_(std::move(data_loader)),
        program_(std::move(program)),
        tracer_(std::move(tracer)) {
    if (program_ != nullptr) {
      file_ = program_->file();
      model_ = program_->model();
    }
    file_.share_arenas = share_memory_arenas;
  }
  /// Not in ExecuTorch: any of tenon's modules, such as a FunctionModule.
  explicit Module(std::shared_ptr<tenon::Module> model) : model_(std::move(model)) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  [[nodiscard]] virtual Error load(Program::Verification = Program::Verification::Minimal) {
    return is_loaded() ? Error::Ok : open();
  }
  [[nodiscard]] virtual Error load(
      const LoadBackendOptionsMap& options,
      Program::Verification verification = Program::Verification::Minimal) {
    const Error error = load(verification);
    if (error == Error::Ok) options_ = options;
    return error;
  }
  virtual bool is_loaded() const { return program_ != nullptr; }
  const LoadBackendOptionsMap& backend_options() const noexcept { return options_; }
  std::shared_ptr<Program> program() const { return program_; }
  runtime::EventTracer* event_tracer() const noexcept { return tracer_.get(); }

  runtime::Result<std::unordered_set<std::string>> method_names() {
    ET_CHECK_OK_OR_RETURN_ERROR(load_model());
    auto names = model_->method_names();
    if (!names.ok()) return runtime::internal::report_file(names.error());
    return std::unordered_set<std::string>(names->begin(), names->end());
  }
  runtime::Result<size_t> num_methods() {
    const auto names = method_names();
    if (!names.ok()) return names.error();
    return names->size();
  }
  runtime::Result<MethodMeta> method_meta(const std::string& name) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_model());
    const auto meta = model_->method_meta(name);
    if (!meta.ok()) return runtime::internal::report_method(meta.error());
    return MethodMeta(infos_.try_emplace(name, *meta).first->second);
  }

  [[nodiscard]] Error load_method(const std::string& name,
                                  runtime::HierarchicalAllocator* = nullptr,
                                  runtime::EventTracer* = nullptr,
                                  const LoadBackendOptionsMap* = nullptr,
                                  std::vector<Kernel> = {}) {
    if (is_method_loaded(name)) return Error::Ok;
    ET_CHECK_OK_OR_RETURN_ERROR(load_model());
    const Error error = runtime::internal::report(model_->load_method(name));
    if (error == Error::Ok) methods_[name];
    if (error != Error::NotFound) return error;
    // NotFound is ExecuTorch's code for a part of a method, such as a weight.
    const auto names = method_names();
    return names.ok() && names->count(name) == 0 ? Error::InvalidArgument : error;
  }
  [[nodiscard]] Error load_forward(runtime::HierarchicalAllocator* = nullptr,
                                   runtime::EventTracer* = nullptr,
                                   const LoadBackendOptionsMap* = nullptr,
                                   std::vector<Kernel> = {}) {
    return load_method("forward");
  }
  bool is_method_loaded(const std::string& name) const { return methods_.count(name) != 0; }
  /// Forgets the method's inputs and outputs. Returns whether it was loaded and is not in use.
  bool unload_method(const std::string& name) {
    if (!is_method_loaded(name)) return false;
    const Error error = runtime::internal::report_method(model_->unload_method(name));
    return error == Error::Ok && methods_.erase(name) != 0;
  }
  bool unload_forward() { return unload_method("forward"); }

  [[nodiscard]] virtual Values execute(const std::string& name, const std::vector<EValue>& inputs) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    const std::vector<EValue>& kept = methods_[name];
    std::vector<EValue> all = inputs;
    if (all.size() < kept.size()) all.resize(kept.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      if (all[i].isNone()) all[i] = kept[i];
    }
    auto outputs = model_->execute(name, all);
    if (!outputs.ok()) return report_inputs(outputs.error(), name, all, 0, true);
    all.swap(methods_[name]);  // drops the old values last: their deleters may call this module
    return std::move(*outputs);
  }
  [[nodiscard]] Values execute(const std::string& name, const EValue& input) {
    return execute(name, std::vector<EValue>{input});
  }
  [[nodiscard]] Values execute(const std::string& name) {
    return execute(name, std::vector<EValue>());
  }
  /// Runs the method and returns its first output.
  [[nodiscard]] runtime::Result<EValue> get(const std::string& name,
                                            const std::vector<EValue>& inputs) {
    auto outputs = execute(name, inputs);
    if (!outputs.ok()) return outputs.error();
    TENON_DETAIL_ET_CHECK(!outputs->empty(), InvalidArgument, "%s has no output", name.c_str());
    return std::move((*outputs)[0]);
  }
  [[nodiscard]] runtime::Result<EValue> get(const std::string& name, const EValue& input) {
    return get(name, std::vector<EValue>{input});
  }
  [[nodiscard]] runtime::Result<EValue> get(const std::string& name) {
    return get(name, std::vector<EValue>());
  }
  [[nodiscard]] Values forward(const std::vector<EValue>& inputs) {
    return execute("forward", inputs);
  }
  [[nodiscard]] Values forward(const EValue& input) { return execute("forward", input); }
  [[nodiscard]] Values forward() { return execute("forward"); }

  [[nodiscard]] Error set_input(const std::string& name, const EValue& value, size_t index) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    ET_CHECK_OK_OR_RETURN_ERROR(
        report_inputs(model_->set_input(name, value, index), name, {&value, 1}, index));
    keep(name, {&value, 1}, index);
    return Error::Ok;
  }
  [[nodiscard]] Error set_input(const EValue& value, size_t index) {
    return set_input("forward", value, index);
  }
  [[nodiscard]] Error set_inputs(const std::string& name, const std::vector<EValue>& values) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    const auto meta = model_->method_meta(name);
    TENON_DETAIL_ET_CHECK(!meta.ok() || !meta->knows_inputs || values.size() == meta->inputs.size(),
                          InvalidArgument, "%zu inputs are given for %s, expected %zu",
                          values.size(), name.c_str(), meta->inputs.size());
    ET_CHECK_OK_OR_RETURN_ERROR(report_inputs(model_->set_inputs(name, values), name, values));
    keep(name, values);
    return Error::Ok;
  }
  [[nodiscard]] Error set_inputs(const std::vector<EValue>& values) {
    return set_inputs("forward", values);
  }
  [[nodiscard]] Error set_output(const std::string& name, EValue value, size_t index = 0) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    TENON_DETAIL_ET_CHECK(value.isTensor(), InvalidArgument, "output %zu of %s is not a tensor",
                          index, name.c_str());
    return runtime::internal::report_value(model_->set_output(name, value.toTensor(), index));
  }
  [[nodiscard]] Error set_output(EValue value, size_t index = 0) {
    return set_output("forward", std::move(value), index);
  }
  [[nodiscard]] Error set_outputs(const std::string& name, const std::vector<EValue>& values) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    const auto meta = model_->method_meta(name);
    TENON_DETAIL_ET_CHECK(
        !meta.ok() || !meta->knows_outputs || values.size() == meta->outputs.size(),
        InvalidArgument, "%zu outputs are given for %s, expected %zu", values.size(), name.c_str(),
        meta->outputs.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(set_output(name, values[i], i));
    }
    return Error::Ok;
  }
  [[nodiscard]] Error set_outputs(const std::vector<EValue>& values) {
    return set_outputs("forward", values);
  }
  [[nodiscard]] Values get_outputs(const std::string& name = "forward") {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    return runtime::internal::result_of(model_->get_outputs(name));
  }
  [[nodiscard]] runtime::Result<EValue> get_output(const std::string& name, size_t index = 0) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(name));
    return runtime::internal::result_of(model_->get_output(name, index));
  }
  [[nodiscard]] runtime::Result<EValue> get_output(size_t index = 0) {
    return get_output("forward", index);
  }

 private:
  Error load_model() {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    return open();
  }
  /// Keeps the inputs for later runs, as ExecuTorch does.
  void keep(const std::string& name, tenon::Span<const EValue> values, size_t first = 0) {
    std::vector<EValue> all = methods_[name];
    if (all.size() < first + values.size()) all.resize(first + values.size());
    std::copy(values.begin(), values.end(), all.begin() + static_cast<ptrdiff_t>(first));
    all.swap(methods_[name]);  // drops the old values last, as in execute()
  }
  /// As report_value(), but returns ExecuTorch's codes: NotSupported for a tensor of other sizes,
  /// and InvalidArgument if a run lacks inputs.
  Error report_inputs(tenon::Error error, const std::string& name, tenon::Span<const EValue> inputs,
                      size_t first = 0, bool is_run = false) {
    const Error reported = runtime::internal::report_value(error);
    if (reported != Error::InvalidArgument && reported != Error::InvalidState) return reported;
    const auto meta = model_->method_meta(name);
    for (size_t i = first; meta.ok() && i < meta->inputs.size(); ++i) {
      const bool is_given = i - first < inputs.size();
      if (!is_given && !is_run) break;
      const EValue& value = is_given ? inputs[i - first] : EValue();
      const tenon::Error found = meta->inputs[i].check(value);
      const bool is_missing = value.isNone() && found != tenon::Error::Ok;
      if (reported == Error::InvalidState && is_missing) return Error::InvalidArgument;
      const bool has_other_sizes = found == tenon::Error::InvalidArgument;
      if (reported == Error::InvalidArgument && has_other_sizes) return Error::NotSupported;
    }
    return reported;
  }
  /// Makes the runtime's module, which opens the file.
  Error open() {
    if (model_ != nullptr && program_ != nullptr) return Error::Ok;
    if (model_ == nullptr) {
      ET_CHECK_OK_OR_RETURN_ERROR(find_file());
      auto made = tenon::open_module(file_);
      if (!made.ok()) return runtime::internal::report_file(made.error());
      model_ = std::move(*made);
    }
    const auto names = model_->method_names();
    if (!names.ok()) {
      const Error error = runtime::internal::report_file(names.error());
      if (!file_.path.empty()) model_.reset();
      return error;
    }
    if (program_ == nullptr) {
      program_ = std::make_shared<Program>(file_, file_.path.empty() ? model_ : nullptr);
    }
    return Error::Ok;
  }
  Error find_file() {
    if (loader_ != nullptr) {
      auto found = runtime::internal::model_of(*loader_);
      if (!found.ok()) return found.error();
      found->share_arenas = file_.share_arenas;
      file_ = std::move(*found);
    }
    if (data_loader_ != nullptr) {
      TENON_DETAIL_ET_CHECK(data_loader_->path() != nullptr, NotSupported,
                            "the data loader has no path, expected a loader of a file");
      file_.data_files = {data_loader_->path()};
    }
    TENON_DETAIL_ET_CHECK(!file_.path.empty(), InvalidArgument,
                          "there is no path, loader, program or model");
    return Error::Ok;
  }

  tenon::ModelFile file_;
  Loader loader_;
  Loader data_loader_;
  std::shared_ptr<Program> program_;
  std::shared_ptr<tenon::Module> model_;
  Tracer tracer_;
  LoadBackendOptionsMap options_;
  std::unordered_map<std::string, std::vector<EValue>> methods_;  // loaded, with kept inputs
  std::map<std::string, runtime::internal::MethodInfo> infos_;    // for method_meta()
};

}  // namespace module
using module::Module;
}  // namespace tenon_compat
}  // namespace extension
}  // namespace executorch

namespace c10 {
using tenon::BFloat16, tenon::Half;
}  // namespace c10

namespace torch {
namespace executor {
using executorch::extension::Module, executorch::extension::TensorPtr;
using executorch::runtime::EValue, executorch::runtime::EventTracer, executorch::runtime::LogLevel,
    executorch::runtime::MemoryAllocator, executorch::runtime::MethodMeta,
    executorch::runtime::Program, executorch::runtime::Span, executorch::runtime::Tag,
    executorch::runtime::TensorInfo, executorch::runtime::runtime_init;
}  // namespace executor
}  // namespace torch
