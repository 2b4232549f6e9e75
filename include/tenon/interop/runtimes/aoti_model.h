// SPDX-License-Identifier: MIT
// AotiModel: a loaded model, which several AotiModules may share.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/interop/runtimes/aoti_library.h"
#include "tenon/interop/runtimes/aoti_package.h"
#include "tenon/interop/runtimes/aoti_source.h"

TENON_BEGIN_NAMESPACE

/// How a model is loaded and run.
struct AotiOptions {
  /// The number of concurrent runs. Further runs wait.
  size_t num_models = 1;
  /// The model's name in the package.
  std::string model = "model";
  /// Whether an input whose strides differ from the model's is copied. If false, such an input is
  /// an error. If the model writes to the input, it is always an error.
  bool copies_inputs = true;
  /// Whether the model is assumed to read an input as row-major if neither the package nor the
  /// library's source says with which strides it reads that input. If false, a run with such an
  /// input is an error.
  bool assume_row_major = false;
  /// The number of threads for kernels. 0: the package's number, which examples/aoti/export.py
  /// writes, else 1. The model's own code uses the number that it was compiled for.
  int threads = 0;
};

/// A constant of a model, by its name in the PyTorch module: "conv.weight".
struct AotiConstant {
  std::string name;  ///< in the PyTorch module
  Tensor tensor;     ///< its value
};

/// A model that AOTInductor compiled for the CPU, loaded. Several AotiModules may share it.
///
/// Ownership: a handle, whose copies share the model. The last copy or module that uses it releases
/// it. A package's library is unpacked to a temporary file. The system keeps a library's code until
/// the program ends.
/// Threads: any, except that no module of the model may run during set_constants().
class AotiModel {
 public:
  /// An empty handle.
  AotiModel() noexcept = default;

  /// Loads a library, or a package of torch._inductor.aoti_compile_and_package().
  ///
  /// No code of the library runs before all functions of torch and Sleef that it calls are found.
  /// The program provides them: it includes <tenon/interop/aoti_shim.h>, and exports kernels that
  /// it defines as `extern "C" AOTITorchError aoti_torch_cpu_…(…)`.
  /// Errors: NotFound and AccessFailed, with the path; NotFound (no such model in the package);
  /// InvalidArgument (a file that is not a complete package or library of AOTInductor of torch 2.13
  /// or later; an error of the model itself); NotSupported (functions that the program lacks,
  /// operators that are not registered, all named; another processor; a library linked to libtorch;
  /// weights in one of libtorch's layouts); OutOfMemory.
  /// Source: torch::inductor::AOTIModelPackageLoader.
  static Result<AotiModel> load(const std::string& path, const AotiOptions& options = {}) noexcept {
    AotiModel made;
    const Error error = made.open(path, options);
    if (error != Error::Ok) return detail::add_context("load", error);
    return made;
  }

  /// The functions that a model calls and the program lacks, and the operators that it calls and
  /// nobody registered: load() refuses a model that has any. Operators, such as "aten::median.dim",
  /// are only listed in a program with interop/aoti_proxy.h.
  /// Errors: those of load() for the file.
  static Result<std::vector<std::string>> missing_functions(
      const std::string& path, const AotiOptions& options = {}) noexcept {
    std::vector<std::string> missing;
    const Error error = detail::call_safely([&] {
      detail::AotiPackage package;
      detail::AotiNeeds needs;
      const char* library = nullptr;
      TENON_TRY(find_library(path.c_str(), options, package, library));
      TENON_TRY(detail::read_aoti_file(library, needs));
      std::shared_ptr<AOTIProxyExecutorOpaque> proxy;
      TENON_TRY(read_operators(path.c_str(), package, proxy, missing));
      const std::vector<std::string> functions = detail::missing_aoti_functions(needs);
      missing.insert(missing.end(), functions.begin(), functions.end());
      return Error::Ok;
    });
    if (error != Error::Ok) {
      return detail::add_context("missing_functions", detail::FilePath(path).add_context(error));
    }
    return missing;
  }

  /// Whether there is a model.
  bool is_loaded() const noexcept { return state_ != nullptr; }

  /// The constants that set_constants() takes. Their sizes are known, and is_described is set, if
  /// the library's source is available, or once they have values.
  /// Errors: InvalidState for an empty handle; OutOfMemory.
  Result<std::vector<ValueSpec>> constants() const noexcept {
    std::vector<ValueSpec> specs;
    const Error error = detail::call_safely([&] {
      TENON_TRY(check_loaded());
      for (const Constant& constant : state_->constants) specs.push_back(constant.spec);
      return Error::Ok;
    });
    if (error != Error::Ok) return detail::add_context("constants", error);
    return specs;
  }

  /// Replaces constants: all that are given or, after an error, none. Of a constant that is not
  /// described yet only the dtype and the number of bytes are checked.
  ///
  /// Ownership: no copies. The model reads the tensors' memory, and keeps the tensors until they
  /// are replaced or the model is released.
  /// Errors: NotFound (an unknown constant; the text names a known one); InvalidType and
  /// InvalidArgument for a tensor of another dtype or shape, or on another device; NotSupported
  /// unless its strides are the model's, or if these are unknown; InvalidState for a placeholder
  /// and for an empty handle; OutOfMemory.
  /// Source: AOTInductorModelContainerUpdateUserManagedConstantBufferPairs.
  [[nodiscard]] Error set_constants(detail::ListArg<AotiConstant> values) noexcept {
    return detail::add_context_if("set_constants", detail::call_safely([&] {
                                    TENON_TRY(check_loaded());
                                    return set_all(values);
                                  }));
  }

 private:
  friend class AotiModule;

  struct Constant {
    std::string name;  // in the model
    ValueSpec spec;    // with the name in PyTorch
    Dims strides;
    size_t nbytes = 0;
    bool has_value = false;
    bool is_written = false;  // whether the model writes to it

    void describe(const Tensor& value) noexcept {
      const detail::Layout& layout = detail::fields(TensorArg(value)).layout;
      spec.tensor.sizes = layout.sizes();
      strides = layout.strides();
      spec.is_described = has_value = true;
    }
  };
  struct State {
    detail::AotiLibrary library;
    std::vector<ValueSpec> inputs;
    std::vector<ValueSpec> outputs;
    std::vector<detail::AotiDetails> input_details;   // empty if the package has no description
    std::vector<detail::AotiDetails> output_details;  // likewise
    std::vector<bool> is_input_written;               // whether the model writes to it
    std::vector<Constant> constants;
    bool knows_layouts = true;  // whether the layouts of all inputs are known
    bool assume_row_major = false;
    int threads = 1;                                 // for kernels
    std::vector<AtenTensorHandle> constant_handles;  // handles of the model's constants, sorted
    std::shared_ptr<AOTIProxyExecutorOpaque> proxy;  // calls operators; null if it needs none

    bool is_constant(AtenTensorHandle handle) const noexcept {
      return std::binary_search(constant_handles.begin(), constant_handles.end(), handle,
                                std::less<>());
    }
    /// Errors: InvalidState for constants without values, with the first one's name.
    Error check_constants() const noexcept {
      for (const Constant& constant : constants) {
        if (constant.has_value || constant.nbytes == 0) continue;
        return detail::fail(Error::InvalidState, "the constant ", constant.spec.name(),
                            " has no value; set_constants() gives it one");
      }
      return Error::Ok;
    }
  };

  static constexpr int kMostThreads = 4096;

  Error check_loaded() const noexcept {
    return state_ != nullptr ? Error::Ok
                             : detail::fail(Error::InvalidState, "the model is not loaded");
  }
  Error open(const std::string& path, const AotiOptions& options) noexcept {
    const Error error = detail::call_safely([&] { return open_file(path.c_str(), options); });
    return error != Error::Ok ? detail::FilePath(path).add_context(error) : error;
  }
  /// Finds the library's file: `path` itself, or the file to which a package's library is unpacked.
  static Error find_library(const char* path, const AotiOptions& options,
                            detail::AotiPackage& package, const char*& library) {
    char begin[2] = {};
    detail::InputFile file;
    TENON_TRY(file.open(path));
    if (file.size() >= sizeof begin) TENON_TRY(file.read(0, begin, sizeof begin));
    library = path;
    if (begin[0] != 'P' || begin[1] != 'K') return Error::Ok;
    TENON_TRY(detail::read_aoti_package(path, options.model, package));
    library = package.library.path();
    return Error::Ok;
  }
  Error open_file(const char* path, const AotiOptions& options) {
    if (options.num_models == 0) return detail::fail(Error::InvalidArgument, "num_models is 0");
    detail::AotiPackage package;
    const char* library = nullptr;
    TENON_TRY(find_library(path, options, package, library));
    const bool is_package = library != path;
    auto state = std::make_shared<State>();
    std::vector<std::string> missing;
    TENON_TRY(read_operators(path, package, state->proxy, missing));
    if (!missing.empty()) {
      return detail::fail(Error::NotSupported, "nobody registered ", missing.size(),
                          missing.size() == 1 ? " operator" : " operators",
                          " that the model calls: ", detail::join_missing(missing),
                          "; see \"Operators without a C function\" in docs/aoti.md");
    }
    const Error error = state->library.open(library, options.num_models);
    if (error != Error::Ok && is_package) {
      return detail::fail(error, last_error_message(), " (unpacked to ",
                          package.library.folder().c_str(), ")");
    }
    TENON_TRY(error);
    package.library.remove();
    if (!is_package) {
      TENON_TRY(read_beside(path, "_weights.blob", package.weights));
    }
    state->assume_row_major = options.assume_row_major;
    TENON_TRY(describe(*state, package, options));
    TENON_TRY(read_constants(*state, package.source));
    if (!package.weights.empty()) TENON_TRY(load_weights(*state, package.weights));
    TENON_TRY(describe_constants(*state));
    state_ = std::move(state);
    return Error::Ok;
  }
  /// Reads the calls of operators that have no C function, if the program can run them.
  static Error read_operators(const char* path, detail::AotiPackage& package,
                              std::shared_ptr<AOTIProxyExecutorOpaque>& proxy,
                              std::vector<std::string>& missing) {
    if (package.library.path()[0] == '\0') {  // not a package
      TENON_TRY(read_beside(path, ".cpp", package.source));
      if (detail::ends_with(path, "wrapper.so")) {
        TENON_TRY(read_beside(path, ".json", package.operators));
      }
    }
    if (package.operators.empty() || detail::aoti_proxy_reader == nullptr) return Error::Ok;
    return detail::aoti_proxy_reader(package.operators, package.source, proxy, missing);
  }
  /// Reads the file beside "model.wrapper.so" whose name has another end, such as
  /// "model.wrapper_weights.blob", if it exists.
  template <class Bytes>
  static Error read_beside(const std::string& path, const char* end, Bytes& bytes) {
    const std::string beside = path.substr(0, path.rfind(".so")) + end;
    if (::access(beside.c_str(), F_OK) != 0) return Error::Ok;
    detail::InputFile file;
    TENON_TRY(file.open(beside.c_str()));
    const uint64_t size = file.size();
    bytes.resize(static_cast<size_t>(size));
    return bytes.empty() ? Error::Ok : file.read(0, bytes.data(), bytes.size());
  }
  static Error describe(State& state, const detail::AotiPackage& package,
                        const AotiOptions& options) {
    const detail::AotiLibrary& library = state.library;
    const detail::AotiFunctions& f = library.functions();
    const auto names = [&](auto count_them, auto name_one, std::vector<ValueSpec>& specs) {
      size_t count = 0;
      TENON_TRY(library.get(count, count_them));
      for (size_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        TENON_TRY(library.get(name, name_one, i));
        specs.emplace_back(detail::Text(std::string_view(name)), ValueKind::Tensor);
      }
      return Error::Ok;
    };
    TENON_TRY(names(f.count_inputs, f.input_name, state.inputs));
    TENON_TRY(names(f.count_outputs, f.output_name, state.outputs));
    std::vector<ValueSpec> compiled = state.inputs;  // as the source describes them
    for (size_t i = 0; i < compiled.size(); ++i) {
      TENON_TRY(detail::read_source_input(package.source, i, compiled[i]));
      state.is_input_written.push_back(
          detail::is_source_tensor_written(package.source, state.inputs[i].name()));
      compiled[i].copies_strides = options.copies_inputs && !state.is_input_written[i];
    }
    std::vector<ValueSpec> inputs = compiled;
    TENON_TRY(
        detail::read_aoti_specs(package.metadata, "tenon_inputs", inputs, state.input_details));
    for (size_t i = 0; i < inputs.size(); ++i) {
      TensorSpec& spec = inputs[i].tensor;
      if (inputs[i].kind != ValueKind::Tensor) {
        return detail::fail(Error::InvalidArgument, "the package describes input ", i, " as ",
                            inputs[i].kind, ", expected a tensor");
      }
      inputs[i].copies_strides = compiled[i].copies_strides;
      if (detail::has_layout(compiled[i].tensor)) {  // the strides that it was compiled for
        spec.strides = compiled[i].tensor.strides;
        spec.dim_order = compiled[i].tensor.dim_order;
      }
      TENON_TRY(detail::add_context_if("input", i, inputs[i].name(), detail::check_spec(spec)));
      const bool is_number = inputs[i].is_described && spec.sizes.empty();
      state.knows_layouts = state.knows_layouts && (is_number || detail::has_layout(spec));
    }
    state.inputs = std::move(inputs);
    std::optional<std::string_view> threads;
    TENON_TRY(detail::find_aoti_text(package.metadata, "tenon_threads", threads));
    const int64_t count = options.threads != 0 ? options.threads
                          : threads            ? detail::aoti_number(*threads)
                                               : 1;
    if (count < 1 || count > kMostThreads) {
      return detail::fail(Error::InvalidArgument, "the number of threads is ", count,
                          ", expected 1 to ", kMostThreads);
    }
    state.threads = static_cast<int>(count);
    return detail::read_aoti_specs(package.metadata, "tenon_outputs", state.outputs,
                                   state.output_details);
  }
  /// Reads the container's list of constants.
  static Error read_constants(State& state, std::string_view source) {
    const detail::AotiLibrary& library = state.library;
    const detail::AotiFunctions& f = library.functions();
    size_t count = 0;
    TENON_TRY(library.get(count, f.count_constants));
    for (size_t i = 0; i < count; ++i) {
      bool is_folded = false;
      TENON_TRY(library.get(is_folded, f.constant_is_folded, i));
      if (is_folded) continue;  // computed from other constants
      Constant constant;
      const char* name = nullptr;
      const char* original = nullptr;
      int32_t type = 0;
      TENON_TRY(library.get(name, f.constant_name, i));
      TENON_TRY(library.get(original, f.constant_original_name, i));
      TENON_TRY(library.get(type, f.constant_type, i));
      TENON_TRY(library.get(constant.nbytes, f.constant_nbytes, i));
      constant.name = name;
      constant.is_written = detail::is_source_tensor_written(source, constant.name);
      constant.spec = ValueSpec(detail::Text(std::string_view(original)), ValueKind::Tensor);
      constant.spec.tensor.type = detail::type_of_torch_number(type);
      constant.spec.is_described =
          detail::read_source_constant(source, i, constant.spec.tensor.sizes, constant.strides);
      state.constants.push_back(std::move(constant));
    }
    return Error::Ok;
  }
  /// Passes weights to the library, which copies as many bytes as its constants have.
  static Error load_weights(State& state, const std::vector<uint8_t>& weights) {
    size_t expected = 0;
    for (const Constant& constant : state.constants) expected += constant.nbytes;
    if (weights.size() < expected) {
      return detail::fail(Error::InvalidArgument, "the weights have ", weights.size(),
                          " bytes, but the model's constants have ", expected);
    }
    detail::AotiCall context;
    return state.library.call(context, state.library.functions().load_constants,
                              state.library.container(), weights.data());
  }
  /// Reads from the container which constants have values, and their handles.
  static Error describe_constants(State& state) {
    state.constant_handles.clear();
    const detail::AotiLibrary& library = state.library;
    const AOTInductorConstantMapEntry* given = nullptr;
    size_t set = 0;
    detail::AotiCall context;
    TENON_TRY(library.call(context, library.functions().get_constants, library.container(), &given,
                           &set, false));
    const auto* const entries = reinterpret_cast<const detail::AotiConstantEntry*>(given);
    state.constant_handles.reserve(set);
    for (size_t i = 0; i < set; ++i) state.constant_handles.push_back(entries[i].handle);
    std::sort(state.constant_handles.begin(), state.constant_handles.end(), std::less<>());
    for (size_t i = 0; i < set; ++i) {
      Tensor* tensor = nullptr;
      TENON_TRY(detail::find_aoti_tensor(entries[i].handle, tensor));
      for (Constant& constant : state.constants) {
        if (constant.spec.tensor.name == entries[i].name) constant.describe(*tensor);
      }
    }
    return Error::Ok;
  }
  Error set_all(const detail::ListArg<AotiConstant>& values) {
    std::vector<Constant*> targets;
    std::vector<std::string> names;
    std::vector<Tensor> tensors;
    for (const AotiConstant& value : values) {
      const size_t before = targets.size();
      // several constants may have the same name in PyTorch
      for (Constant& target : state_->constants) {
        if (target.spec.tensor.name != value.name) continue;
        if (std::count(targets.begin(), targets.end(), &target) != 0) {
          return detail::fail(Error::InvalidArgument, value.name.c_str(), " is given twice");
        }
        const Error error = check_constant(target, value.tensor, state_->assume_row_major);
        if (error != Error::Ok) {
          return detail::fail(error, value.name.c_str(), ": ", detail::message_of(error));
        }
        targets.push_back(&target);
        names.push_back(target.name);
        tensors.push_back(value.tensor);
      }
      if (targets.size() == before) {
        const bool has_none = state_->constants.empty();
        return detail::fail(Error::NotFound, "there is no constant \"", value.name.c_str(),
                            "\"; the model's first constant is ",
                            has_none ? "none" : state_->constants[0].spec.name());
      }
    }
    state_->constant_handles.reserve(state_->constants.size());
    TENON_TRY(state_->library.set_constants(names, tensors));
    for (size_t i = 0; i < targets.size(); ++i) targets[i]->describe(tensors[i]);
    // The constants are set already, so this must not fail. If the model does not list them, an
    // output that is a constant is not recognised as one; few models have such outputs.
    if (detail::call_safely([&] { return describe_constants(*state_); }) != Error::Ok) {
      state_->constant_handles.clear();
    }
    return Error::Ok;
  }
  static Error check_constant(const Constant& constant, const Tensor& tensor,
                              bool is_row_major) noexcept {
    const TensorArg arg(tensor);
    TENON_TRY(detail::check_defined(arg, "the tensor"));
    const detail::TensorFields& given = detail::fields(arg);
    TENON_TRY(detail::check_has_data(given));
    if (constant.is_written) TENON_TRY(detail::check_may_be_written(given));
    TensorSpec spec = constant.spec.tensor;
    if (!constant.spec.is_described) spec.sizes = given.layout.sizes();
    TENON_TRY(detail::check_tensor(spec, arg));
    // Without a value a constant's shape is unknown, and its bytes are rounded up to a multiple of
    // 64.
    const bool has_bytes =
        given.nbytes() <= constant.nbytes && constant.nbytes < given.nbytes() + 64;
    if (!constant.spec.is_described && !has_bytes) {
      return detail::fail(Error::InvalidArgument, "it has ", given.nbytes(), " bytes, expected ",
                          constant.nbytes, " or up to 63 less");
    }
    const ArrayRef<int64_t> strides = given.layout.strides();
    if (!constant.spec.is_described && !is_row_major && given.layout.numel > 1) {
      return detail::fail(Error::NotSupported,
                          "the strides by which the model reads it are unknown: it has no value, "
                          "and the library's source is not there; set "
                          "AotiOptions::assume_row_major if they are row-major");
    }
    bool fits = constant.spec.is_described || given.layout.is_contiguous();
    for (size_t d = 0; constant.spec.is_described && d < strides.size(); ++d) {
      // Strides of dimensions of size 1 do not matter.
      fits = fits && (spec.sizes[d] == 1 || strides[d] == constant.strides[d]);
    }
    if (fits || given.layout.numel == 0) return Error::Ok;
    return detail::fail(Error::NotSupported, "its strides are ", strides,
                        ", the model reads it by ", constant.strides,
                        "; copy it to a tensor that empty_strided() makes with these strides");
  }

  std::shared_ptr<State> state_;
};

TENON_END_NAMESPACE
