// SPDX-License-Identifier: MIT
// OnnxModule: runs a .onnx model on ONNX Runtime, by its C API.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "tenon/interop/files/file.h"
#include "tenon/interop/runtimes/onnxruntime_values.h"
#include "tenon/module/module.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The functions of a session that describe its inputs, its outputs, or its inputs with defaults.
struct OnnxPortFunctions {
  decltype(OrtApi::SessionGetInputCount) count;
  decltype(OrtApi::SessionGetInputName) name;
  decltype(OrtApi::SessionGetInputTypeInfo) type;
};

/// The inputs of a model, or its outputs: its ports.
struct OnnxPorts {
  std::vector<ValueSpec> specs;
  std::map<size_t, std::string> refusals;  // why ports have the kind None

  const char* name(size_t i) const noexcept { return specs[i].name(); }
  /// Fails with the reason why EValue cannot hold port i; Ok if it can.
  Error explain_none(size_t i) const noexcept {
    const auto found = refusals.find(i);
    return found == refusals.end() ? Error::Ok : fail(Error::NotSupported, found->second.c_str());
  }
  /// Appends ports.
  Error describe(const OrtSession& session, const char* role, const OnnxPortFunctions& get,
                 bool has_default = false) {
    OrtAllocator* allocator = nullptr;  // owned by ONNX Runtime
    TENON_TRY(check_onnx(onnx_api()->GetAllocatorWithDefaultOptions(&allocator)));
    size_t count = 0;
    TENON_TRY(check_onnx(get.count(&session, &count)));
    for (size_t i = 0; i < count; ++i) {
      const size_t at = specs.size();
      ValueSpec& spec = specs.emplace_back(ValueKind::Tensor);
      char* text = nullptr;
      TENON_TRY(check_onnx(get.name(&session, i, allocator, &text)));
      const Text name(text);
      spec.tensor.name = name;
      TENON_TRY(check_onnx(onnx_api()->AllocatorFree(allocator, text)));
      OnnxHandle<OrtTypeInfo> info;
      TENON_TRY(check_onnx(get.type(&session, i, MadeOnnx(info))));
      const Error error = describe_onnx(*info, spec);
      if (error == Error::NotSupported) {
        refusals.emplace(at, message_of(error));
        const bool is_optional = spec.is_optional;
        spec = ValueSpec(name, ValueKind::None);
        spec.is_optional = is_optional;
      } else {
        TENON_TRY(add_context_if(role, at, name.c_str(), error));
      }
      spec.is_optional = spec.is_optional || has_default;
      TENON_TRY(check_spec(spec.tensor));  // may have only a name
    }
    return Error::Ok;
  }
  size_t count(std::string_view name) const noexcept {
    size_t found = 0;
    for (const ValueSpec& spec : specs) found += spec.tensor.name == name ? 1u : 0u;
    return found;
  }
  /// Finds the ports of these names.
  /// Errors: NotFound.
  Error find(const std::vector<std::string>& names, std::vector<size_t>& indices) const {
    for (const std::string& name : names) {
      size_t i = 0;
      while (i < specs.size() && specs[i].tensor.name != name) ++i;
      if (i == specs.size()) {
        return fail(Error::NotFound, "there is no output \"", name,
                    specs.empty() ? "" : "\"; the model's first output is \"",
                    specs.empty() ? "" : this->name(0), '"');
      }
      indices.push_back(i);
    }
    return Error::Ok;
  }
  /// Keeps only these ports, in that order.
  /// Errors: OutOfBounds; NotSupported (a port that EValue cannot hold).
  Error select(const std::vector<size_t>& indices) {
    OnnxPorts chosen;
    for (const size_t i : indices) {
      if (i >= specs.size()) {
        return fail(Error::OutOfBounds, "output ", i, " is out of range, expected below ",
                    specs.size());
      }
      TENON_TRY(add_context_if("output", i, name(i), explain_none(i)));
      chosen.specs.push_back(specs[i]);
    }
    *this = std::move(chosen);
    return Error::Ok;
  }
};

}  // namespace detail

/// Runs a model in ONNX's format by ONNX Runtime. Its one method, `forward`, has the inputs and
/// outputs of the model's graph.
///
/// The file is opened at the first use, which reports the file's errors; after an error, the next
/// use tries again. A dimension that the model leaves open is -1 in the specs, and has its symbol
/// as its name. ONNX Runtime's C API does not distinguish rank 0 from unknown rank: a spec of such
/// a tensor has only its dtype, which ONNX Runtime checks.
///
/// Inputs: contiguous tensors, which are used in place, even if they are read-only; lists of such
/// tensors for sequences. Inputs with a default (an initializer) come after the others. They may be
/// None or left out, like optional inputs. Texts: a tensor of texts is a StringList in row-major
/// order, or a String if it has one element; an input may be given as either. If one size of an
/// input is open, it is computed from the number of texts; if several are open, describe_inputs()
/// must give all but one. If the model states no sizes (rank 0 or unknown), a String becomes a
/// tensor of rank 0 and a StringList one of rank 1. text_sizes() returns an output's sizes. ONNX
/// Runtime copies texts. They may contain any bytes, but some operators require UTF-8.
/// Outputs: an output is written directly to the tensor that was set for it, if that tensor has the
/// sizes of the model (the inputs determine the symbols), is contiguous, and shares no memory with
/// an input or an earlier output. Otherwise the output is copied to that tensor, as are outputs
/// that are inputs, optional, or selected twice. If no tensor was set, the output is an Adopted
/// tensor over memory of ONNX Runtime. A later run writes only to outputs that were set. A sequence
/// of tensors becomes a TensorList of copies; an optional output without a value is None. Any other
/// output, such as a map or a sequence of texts, is None, and get_output() returns an error that
/// names it; a model that has only such outputs cannot be run.
/// Ownership: a file is read when it is opened, with the weights in files beside it. A model in
/// memory is shared until it is opened; with options, as long as the module exists. The caller
/// keeps the options (null for defaults) until the model is open. Outputs may outlive the module.
/// Errors: those of Module; NotFound and AccessFailed, with the path; InvalidArgument (no model, or
/// a broken one); NotSupported (a tensor that is not contiguous; memory off the host; a required
/// input or requested output that EValue cannot hold; an empty list of tensors; errors for which
/// ONNX Runtime has no code). The message has ONNX Runtime's text. ONNX Runtime logs nothing,
/// unless the program made an OrtEnv that logs before.
/// Threads: as for Module; several modules may run on several threads. ONNX Runtime computes on its
/// own threads, by default one per core.
/// Cost: a run allocates a few small objects for each input and output, and memory for each output
/// that is not written in place.
/// Source: OrtApi::Run.
class TENON_EXPORT OnnxModule final : public Module {
 public:
  /// Makes a module of the model at a path, which the first use reads.
  explicit OnnxModule(std::string path, const OrtSessionOptions* options = nullptr) noexcept
      : path_(std::move(path)), options_(options) {}
  /// Makes a module of a model in memory: a contiguous tensor of its bytes.
  explicit OnnxModule(const TensorArg& model, const OrtSessionOptions* options = nullptr)
      : model_(model.defined() ? model.tensor() : Tensor()),
        is_in_memory_(true),
        options_(options) {}

  /// Selects outputs of the model by name or by index, in the given order; the module has no
  /// others. Call this before the first use. The first use fails with NotFound for an unknown name,
  /// with OutOfBounds for an index that does not exist, and with NotSupported for an output that
  /// EValue cannot hold.
  /// Errors: InvalidState (after the first use); InvalidArgument (no output is selected);
  /// OutOfMemory.
  [[nodiscard]] Error select_outputs(const std::vector<std::string>& names) {
    return select(names, {});
  }
  [[nodiscard]] Error select_outputs(std::initializer_list<size_t> indices) {
    return select({}, indices);
  }

  /// The sizes of a text output of the last run; its texts are in row-major order.
  /// Errors: those of get_output(); InvalidType (an output that does not hold texts).
  Result<Dims> text_sizes(size_t index = 0) {
    const Result<EValue> output = get_output(index);
    if (!output) return detail::add_context("text_sizes", output.error());
    if (!output->isString() && !output->isStringList()) {
      return detail::add_context(
          "text_sizes", detail::add_context("output", index, outputs_.name(index),
                                            detail::fail(Error::InvalidType, "it is ", *output,
                                                         ", expected texts")));
    }
    return text_sizes_[index];
  }

 protected:
  Error load() override {
    if (detail::onnx_api() == nullptr) {
      return detail::fail(Error::NotSupported, "ONNX Runtime ", OrtGetApiBase()->GetVersionString(),
                          " is older than version ", ORT_API_VERSION,
                          " of its C API, whose header this program was built with");
    }
    // The process has one OrtEnv, which is reference-counted.
    detail::OnnxHandle<OrtEnv> environment;
    TENON_TRY(detail::check_onnx(detail::onnx_api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "tenon",
                                                               detail::MadeOnnx(environment))));
    environment_ = std::move(environment);
    TENON_TRY(detail::check_onnx(detail::onnx_api()->CreateCpuMemoryInfo(
        OrtDeviceAllocator, OrtMemTypeDefault, detail::MadeOnnx(host_))));
    if (!is_in_memory_) {
      detail::InputFile file;  // its errors are more specific
      Error error = file.open(path_.c_str());
      if (error == Error::Ok) {
        error = detail::check_onnx(detail::onnx_api()->CreateSession(
            environment_.get(), path_.c_str(), options_, detail::MadeOnnx(session_)));
      }
      return error != Error::Ok ? detail::FilePath(path_).add_context(error) : error;
    }
    const TensorArg arg(model_);
    TENON_TRY(detail::check_defined(arg, "the model"));
    const detail::TensorFields& bytes = detail::fields(arg);
    TENON_TRY(detail::check_for_onnx(bytes));
    TENON_TRY(detail::check_onnx(detail::onnx_api()->CreateSessionFromArray(
        environment_.get(), bytes.data, bytes.nbytes(), options_, detail::MadeOnnx(session_))));
    if (options_ == nullptr) model_ = Tensor();  // with options, the session may use the bytes
    return Error::Ok;
  }

  size_t count_methods() const noexcept override { return 1; }
  const char* name_of(size_t) const noexcept override { return "forward"; }

  Error prepare(size_t, MethodMeta& meta) override {
    const OrtApi& api = *detail::onnx_api();
    inputs_ = outputs_ = {};
    TENON_TRY(inputs_.describe(
        *session_, "input",
        {api.SessionGetInputCount, api.SessionGetInputName, api.SessionGetInputTypeInfo}));
    TENON_TRY(inputs_.describe(
        *session_, "input",
        {api.SessionGetOverridableInitializerCount, api.SessionGetOverridableInitializerName,
         api.SessionGetOverridableInitializerTypeInfo},
        true));
    for (const auto& [i, text] : inputs_.refusals) inputs_.specs[i].is_supported = false;
    TENON_TRY(outputs_.describe(
        *session_, "output",
        {api.SessionGetOutputCount, api.SessionGetOutputName, api.SessionGetOutputTypeInfo}));
    std::vector<size_t> selected = selected_indices_;
    TENON_TRY(outputs_.find(selected_names_, selected));
    if (!selected.empty()) TENON_TRY(outputs_.select(selected));
    text_sizes_.resize(outputs_.specs.size());
    is_written_.assign(outputs_.specs.size(), true);
    for (size_t i = 0; i < is_written_.size(); ++i) {
      const ValueSpec& spec = outputs_.specs[i];
      is_written_[i] =
          !spec.is_optional && inputs_.count(spec.name()) == 0 && outputs_.count(spec.name()) == 1;
    }
    meta.inputs = inputs_.specs;
    meta.outputs = outputs_.specs;
    meta.knows_inputs = meta.knows_outputs = true;
    is_described_ = true;
    return Error::Ok;
  }

  Error invoke(size_t, Span<const EValue> inputs, Outputs& outputs) override {
    detail::OnnxValues passed(inputs.size());
    std::vector<const char*> input_names;  // names of the inputs that are given
    std::vector<Dims> sizes(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t at = input_names.size();
      const EValue& input = inputs[i];
      if (input.isNone() && inputs_.specs[i].is_optional) continue;
      Error error = inputs_.explain_none(i);
      if (error == Error::Ok && inputs_.specs[i].kind == ValueKind::StringList) {
        error = size_texts(i, input, sizes[i]);
        if (error == Error::Ok) error = passed.make(at, input.toStringList(), sizes[i]);
      } else if (error == Error::Ok && input.isTensor()) {
        sizes[i] = input.toTensor().sizes();
        error = passed.lend(at, *host_, input.toTensor());
      } else if (error == Error::Ok) {
        error = passed.lend(at, *host_, input.toTensorList());
      }
      TENON_TRY(detail::add_context_if("input", i, inputs_.name(i), error));
      input_names.push_back(inputs_.name(i));
    }
    std::vector<const char*> output_names;  // names of the outputs that are requested
    std::vector<size_t> asked;
    for (size_t i = 0; i < outputs_.specs.size(); ++i) {
      if (outputs_.specs[i].kind == ValueKind::None) continue;
      output_names.push_back(outputs_.name(i));
      asked.push_back(i);
    }
    if (asked.empty()) {
      return detail::add_context_if("output", 0, outputs_.name(0), outputs_.explain_none(0));
    }
    detail::OnnxValues made(asked.size());
    for (size_t k = 0; k < asked.size(); ++k) {
      const size_t i = asked[k];
      const Tensor* const target = outputs.target(i);
      if (target == nullptr || !is_written_[i] || !fits(*target, outputs_.specs[i], sizes)) {
        continue;
      }
      TENON_TRY(
          detail::add_context_if("output", i, outputs_.name(i), made.lend(k, *host_, *target)));
    }
    TENON_TRY(detail::check_onnx(detail::onnx_api()->Run(
        session_.get(), nullptr, input_names.data(), passed.data(), input_names.size(),
        output_names.data(), asked.size(), made.data())));
    for (size_t k = 0; k < asked.size(); ++k) {
      if (made.is_lent(k)) continue;
      const size_t i = asked[k];
      EValue value;
      TENON_TRY(
          detail::add_context_if("output", i, outputs_.name(i),
                                 detail::take_from_onnx(made.take(k), outputs_.specs[i].kind,
                                                        environment_, value, text_sizes_[i])));
      const Tensor tensor = value.isTensor() ? value.toTensor() : Tensor();
      TENON_TRY(outputs.put(i, std::move(value)));
      for (const EValue& input : inputs) {  // an output may be an input
        if (!tensor.defined() || !detail::overlap(input, tensor)) continue;
        TENON_TRY(outputs.save(i));
        break;
      }
    }
    return Error::Ok;
  }

  Error explain_none(size_t, size_t output) const noexcept override {
    return outputs_.explain_none(output);
  }

 private:
  Error select(const std::vector<std::string>& names, std::initializer_list<size_t> indices) {
    return detail::add_context_if(
        "select_outputs", detail::call_safely([&] {
          if (is_described_)
            return detail::fail(Error::InvalidState, "forward has been used already");
          if (names.empty() && indices.size() == 0)
            return detail::fail(Error::InvalidArgument, "no output is named");
          std::vector<std::string> copy = names;
          selected_indices_ = indices;
          selected_names_.swap(copy);
          return Error::Ok;
        }));
  }
  /// Whether ONNX Runtime may write an output to this tensor.
  bool fits(const Tensor& target, const ValueSpec& spec, const std::vector<Dims>& inputs) const {
    const TensorArg arg(target);
    const detail::TensorFields& to = detail::fields(arg);
    const ArrayRef<int64_t> sizes = to.layout.sizes();
    if (!spec.is_described || sizes.size() != spec.tensor.sizes.size() ||
        !to.is_host_accessible() || !to.layout.is_contiguous()) {
      return false;
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t size = spec.tensor.sizes[d];
      if (sizes[d] != (size >= 0 ? size : size_of(spec.tensor.names[d], inputs))) return false;
    }
    return true;
  }
  /// The value of a symbolic dimension, from the inputs' sizes; -1 if no input has it.
  int64_t size_of(std::string_view symbol, const std::vector<Dims>& inputs) const {
    for (size_t i = 0; i < inputs.size() && !symbol.empty(); ++i) {
      const TensorSpec& spec = inputs_.specs[i].tensor;
      for (size_t d = 0; d < inputs[i].size() && d < spec.names.size(); ++d) {
        if (symbol == spec.names[d]) return inputs[i][d];
      }
    }
    return -1;
  }
  /// Computes the sizes of the tensor for an input's texts.
  Error size_texts(size_t i, const EValue& input, Dims& sizes) {
    TENON_ASSIGN(const MethodMeta meta, method_meta());  // includes what describe_inputs() added
    return detail::size_texts(meta.inputs[i].tensor, input.toStringList().size(),
                              input.isStringList(), sizes);
  }

  std::string path_;
  Tensor model_;
  bool is_in_memory_ = false;
  const OrtSessionOptions* options_;
  std::shared_ptr<OrtEnv> environment_;  // destroyed last
  detail::OnnxHandle<OrtMemoryInfo> host_;
  detail::OnnxHandle<OrtSession> session_;
  std::vector<std::string> selected_names_;  // or selected_indices_
  std::vector<size_t> selected_indices_;
  bool is_described_ = false;
  detail::OnnxPorts inputs_;
  detail::OnnxPorts outputs_;
  std::vector<Dims> text_sizes_;  // of the last run's outputs that are texts
  // Whether ONNX Runtime writes an output to a given value. It does not if the output is an input,
  // is selected twice, or has no value.
  std::vector<bool> is_written_;
};

TENON_END_NAMESPACE
