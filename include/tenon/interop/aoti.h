// SPDX-License-Identifier: MIT
// AotiModule: runs a PyTorch model that AOTInductor compiled, without libtorch.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/interop/runtimes/aoti_model.h"
#include "tenon/interop/runtimes/aoti_specs.h"
#include "tenon/module/module.h"

TENON_BEGIN_NAMESPACE

/// Runs a model that AOTInductor compiled for the CPU. Its one method is `forward`. The model calls
/// torch's C functions, which tenon implements for its own tensors: the program needs no libtorch.
///
/// The file is opened at the first use, which reports the file's errors; after an error, the next
/// use tries again.
/// Inputs: tensors that the host can read; they may be read-only. An input is used in place if it
/// has the strides for which the model was compiled: those of the example at export. An input with
/// other strides is copied or refused, as AotiOptions says. The model's strides are known from the
/// package, from its source, or from describe_inputs(); otherwise assume_row_major is needed.
/// Names, sizes and dtypes are checked as far as they are known: examples/aoti/export.py writes
/// them, and the source has dtypes and fixed sizes. The model itself checks its inputs only with
/// AOTI_RUNTIME_CHECK_INPUTS=1 in the environment; otherwise it reads beyond inputs that are too
/// small. Dimensions with the same name must have the same size.
/// Outputs: from the second run on, an output is computed directly in the tensor that was set for
/// it, if that tensor has the exact shape and shares no memory with an input or an earlier output;
/// otherwise the output is copied there. If no tensor was set, the output is a new tensor in
/// `memory`, which the host must reach (else NotSupported), or without `memory` in the memory of
/// the thread's BackendScope. If the model returns an input, the output shares the input's memory.
/// Ownership: shares the model. Outputs may outlive the module and the model.
/// Errors: those of Module and AotiModel::load(); InvalidState (constants without values);
/// NotSupported (an input whose strides are not known, or that has other strides and cannot be
/// copied); OutOfMemory; errors that the model reports, with their text. The model itself also
/// prints its errors to stderr.
/// Threads: as for Module. Several modules of one AotiModel may run on several threads; num_models
/// of them compute at once. A model that was compiled for several threads computes on OpenMP's
/// threads.
/// Cost: a run makes a handle for each input, and copies inputs with other strides. The model
/// allocates its intermediate tensors; with an ArenaBackend behind a PoolBackend as `memory`, it
/// does so without the heap.
/// Source: torch::inductor::AOTIModelPackageLoader.
class TENON_EXPORT AotiModule final : public Module {
 public:
  /// Makes a module of the model at a path, which the first use reads.
  /// Ownership: borrows `memory`, in which the outputs are made.
  explicit AotiModule(std::string path, Backend* memory = nullptr) noexcept
      : Module(memory), memory_(memory), path_(std::move(path)) {}
  /// Makes a module that shares a loaded model.
  explicit AotiModule(AotiModel model, Backend* memory = nullptr) noexcept
      : Module(memory), memory_(memory), model_(std::move(model)) {}

  /// The model itself. Loads the model if it is not loaded yet.
  /// Errors: those of loading.
  Result<AotiModel> model() noexcept {
    const Error error = load();
    if (error != Error::Ok) return detail::add_context("model", error);
    return model_;
  }
  /// Calls AotiModel::set_constants(), which affects all modules that share the model.
  [[nodiscard]] Error set_constants(detail::ListArg<AotiConstant> values) noexcept {
    return detail::add_context_if("set_constants", detail::call_safely([&] {
                                    TENON_TRY(load());
                                    return model_.set_all(values);
                                  }));
  }

 protected:
  Error load() noexcept override {
    if (model_.is_loaded()) return Error::Ok;
    return path_.empty() ? model_.check_loaded() : model_.open(path_, {});
  }
  size_t count_methods() const noexcept override { return 1; }
  const char* name_of(size_t) const noexcept override { return "forward"; }

  Error prepare(size_t, MethodMeta& meta) override {
    const AotiModel::State& state = *model_.state_;
    inputs_.resize(state.inputs.size());
    outputs_.resize(state.outputs.size());
    placements_.assign(state.outputs.size(), {detail::kUnknownAllocation, nullptr});
    meta.inputs = state.inputs;
    meta.outputs = state.outputs;
    meta.knows_inputs = meta.knows_outputs = true;
    return Error::Ok;
  }

  Error invoke(size_t, Span<const EValue> inputs, Outputs& outputs) override {
    const AotiModel::State& state = *model_.state_;
    TENON_TRY(state.check_constants());
    ArrayRef<ValueSpec> specs = state.inputs;
    if (!state.knows_layouts) {  // describe_inputs() may have added the strides
      const Result<MethodMeta> meta = method_meta();
      TENON_TRY(meta);
      specs = meta->inputs;
    }
    TENON_TRY(check_inputs(state, specs, inputs));
    const BackendScope scope(memory_ != nullptr ? *memory_ : default_backend());
    const Handles handles{state, inputs_, outputs_};
    detail::AotiCall call;
    bool places = false;
    for (size_t i = 0; i < placements_.size(); ++i) {
      placements_[i].target = outputs.target(i);
      places = places || placements_[i].target != nullptr;
    }
    call.placements = placements_;
    allocations_.clear();  // the addresses are those of an older run's tensors
    if (places && !knows_allocations_) call.made = &allocations_;
    call.owner = &state.library;
    call.threads = state.threads;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueSpec& spec = specs[i];
      const Tensor& given = inputs[i].toTensor();
      Tensor handed;
      Error error = detail::hand_over(spec, state.assume_row_major, given, handed);
      if (error == Error::Ok && state.is_input_written[i]) {
        error = detail::check_may_be_written(detail::fields(TensorArg(given)));
      }
      TENON_TRY(detail::add_context_if("input", i, spec.name(), error));
      const detail::AotiCallScope made_by_the_model(call);
      TENON_TRY(detail::make_aoti_handle(std::move(handed), inputs_[i]));
    }
    TENON_TRY(state.library.call(call, state.library.functions().run, state.library.container(),
                                 inputs_.data(), inputs_.size(), outputs_.data(), outputs_.size(),
                                 nullptr, state.proxy.get()));
    return take_outputs(inputs, outputs);
  }

 private:
  /// Deletes the handles that a run left, each only once: a model may return the same handle for
  /// several outputs, or the handle of an input or a constant.
  struct Handles {
    const AotiModel::State& state;
    std::vector<AtenTensorHandle>& inputs;
    std::vector<AtenTensorHandle>& outputs;
    ~Handles() {
      std::sort(outputs.begin(), outputs.end(), std::less<>());
      for (AtenTensorHandle& handle : outputs) {
        const AtenTensorHandle own = std::exchange(handle, nullptr);
        const bool is_last = &handle == &outputs.back() || *(&handle + 1) != own;
        const bool is_input = std::find(inputs.begin(), inputs.end(), own) != inputs.end();
        if (is_last && !is_input && !state.is_constant(own)) drop(own);
      }
      for (AtenTensorHandle& handle : inputs) drop(std::exchange(handle, nullptr));
    }
    static void drop(AtenTensorHandle handle) noexcept {
      if (handle == nullptr) return;
      static_cast<void>(detail::tenon_aoti_shim.delete_tensor_object(handle));
    }
  };

  static Error check_inputs(const AotiModel::State& state, ArrayRef<ValueSpec> specs,
                            Span<const EValue> inputs) noexcept {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const detail::TensorFields& input = detail::fields(TensorArg(inputs[i].toTensor()));
      const Error error = input.is_host_accessible() ? check_dimensions(state, specs, inputs, i)
                                                     : detail::fail_host_access(input);
      TENON_TRY(detail::add_context_if("input", i, specs[i].name(), error));
    }
    return Error::Ok;
  }
  /// Checks that no dimension is too small (a dimension with a name must not be empty), and that
  /// dimensions with the same name have the same size.
  static Error check_dimensions(const AotiModel::State& state, ArrayRef<ValueSpec> specs,
                                Span<const EValue> inputs, size_t i) noexcept {
    const detail::NameList& names = specs[i].tensor.names;
    const ArrayRef<int64_t> sizes = inputs[i].toTensor().sizes();
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool has_name = d < names.size() && *names[d] != '\0';
      int64_t least = has_name ? 1 : 0;  // models divide by such a size
      if (i < state.input_details.size() && d < state.input_details[i].least.size() &&
          state.input_details[i].least[d] >= 0) {
        least = state.input_details[i].least[d];
      }
      if (sizes[d] < least) {
        return detail::fail(Error::InvalidArgument, "dimension ",
                            detail::Numbered{d, has_name ? names[d] : ""}, " is ", sizes[d],
                            ", expected at least ", least);
      }
      if (!has_name) continue;
      for (size_t k = 0; k <= i; ++k) {
        const detail::NameList& others = specs[k].tensor.names;
        for (size_t e = 0; e < others.size() && (k < i || e < d); ++e) {
          const int64_t size = inputs[k].toTensor().sizes()[e];
          if (*others[e] == '\0' || detail::fit_together(names[d], sizes[d], others[e], size)) {
            continue;
          }
          const bool is_same = detail::is_name(others[e], names[d]);
          return detail::fail(Error::InvalidArgument, "dimension ", detail::Numbered{d, names[d]},
                              " is ", sizes[d], ", in input ", detail::Numbered{k, specs[k].name()},
                              is_same ? " it is " : " ", is_same ? "" : others[e],
                              is_same ? "" : " is ", size);
        }
      }
    }
    return Error::Ok;
  }

  /// Reads the element of a one-element tensor as a number of this kind.
  static Error read_number(const Tensor& tensor, ValueKind kind, EValue& number) noexcept {
    const detail::TensorFields& from = detail::fields(TensorArg(tensor));
    TENON_TRY(detail::check_has_data(from));
    const Scalar value =
        from.layout.numel == 1 ? detail::load_scalar(from.type, from.data) : Scalar();
    if (from.layout.numel != 1 || !(kind == ValueKind::Int    ? value.fits<int64_t>()
                                    : kind == ValueKind::Bool ? value.fits<bool>()
                                                              : value.fits<double>())) {
      return detail::fail(Error::InvalidType, "it is a tensor of ", from.type, " with sizes ",
                          from.layout.sizes(), ", expected ", kind);
    }
    number = kind == ValueKind::Int    ? EValue(value.to<int64_t>())
             : kind == ValueKind::Bool ? EValue(value.to<bool>())
                                       : EValue(value.to<double>());
    return Error::Ok;
  }

  Error take_outputs(Span<const EValue> inputs, Outputs& outputs) {
    bool all_in_place = true;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Tensor tensor;  // undefined for None
      if (outputs_[i] != nullptr) {
        Tensor* made = nullptr;
        TENON_TRY(detail::find_aoti_tensor(outputs_[i], made));
        tensor = *made;  // a second handle: another output may have the same one
      }
      const AotiModel::State& state = *model_.state_;
      const ValueKind kind = state.outputs[i].kind;
      if (!tensor.defined()) {
        const bool has_constant = i < state.output_details.size();
        TENON_TRY(outputs.put(i, has_constant ? state.output_details[i].constant : EValue()));
        continue;
      }
      if (kind != ValueKind::Tensor && kind != ValueKind::None) {
        EValue number;
        const Error error = read_number(tensor, kind, number);
        TENON_TRY(detail::add_context_if("output", i, state.outputs[i].name(), error));
        TENON_TRY(outputs.put(i, std::move(number)));
        continue;
      }
      detail::AotiPlacement& placement = placements_[i];
      const void* const impl = tensor.unsafeGetTensorImpl();
      if (placement.target != nullptr && placement.target->unsafeGetTensorImpl() != impl) {
        all_in_place = false;
        for (size_t k = 0; k < allocations_.size(); ++k) {
          if (allocations_[k] == impl) placement.allocation = k;
        }
      }
      TENON_TRY(outputs.put(i, std::move(tensor)));
    }
    knows_allocations_ = all_in_place;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs.is_set(i) && is_lent(outputs, i, inputs)) TENON_TRY(outputs.save(i));
    }
    return Error::Ok;
  }
  /// Whether an output that was not set shares memory that a later run may write to: memory of a
  /// set tensor, or of the model.
  bool is_lent(Outputs& outputs, size_t i, Span<const EValue> inputs) const noexcept {
    const EValue& value = outputs.values()[i];
    if (!value.isTensor()) return false;
    for (const detail::AotiPlacement& placement : placements_) {
      if (placement.target != nullptr && detail::overlap(value, *placement.target)) return true;
    }
    const Tensor& tensor = value.toTensor();
    const detail::TensorImplPtr& base = detail::memory_base(TensorArg(tensor));
    if (base == nullptr || detail::fields(base).ownership != Ownership::Borrowed) return false;
    for (const EValue& input : inputs) {
      if (tensor.is_alias_of(input.toTensor())) return false;
    }
    return true;
  }

  Backend* memory_;
  std::string path_;
  AotiModel model_;
  std::vector<AtenTensorHandle> inputs_;  // handles of a run's inputs; null between runs
  std::vector<AtenTensorHandle> outputs_;
  std::vector<detail::AotiPlacement> placements_;  // one for each output
  std::vector<const void*> allocations_;           // addresses in the last run that recorded them
  bool knows_allocations_ = false;
};

TENON_END_NAMESPACE
