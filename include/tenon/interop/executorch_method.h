// SPDX-License-Identifier: MIT
// A method of a program, loaded with the memory that it needs: an ExecuTorchModule's method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"
#include "tenon/interop/executorch_error.h"
#include "tenon/interop/executorch_evalue.h"
#include "tenon/interop/executorch_layout.h"
#include "tenon/interop/executorch_memory.h"
#include "tenon/interop/executorch_spec.h"
#include "tenon/module/evalue.h"
#include "tenon/module/names.h"
#include "tenon/module/outputs.h"
#include "tenon/module/stored_array.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

#if defined(TENON_HAS_EXECUTORCH)

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // for writing past set_input()
/// What the runtime has for an input.
inline const ::executorch::runtime::EValue& input_of(const ::executorch::runtime::Method& method,
                                                     size_t i) noexcept {
  return method.get_input(i);
}
#pragma GCC diagnostic pop

/// A run binds every input to the caller's memory, and every output that has none by plan to the
/// caller's or to memory made here: so the runtime never uses a pointer from an earlier run.
/// Afterwards an output may be elsewhere nevertheless: where it was planned, in an input, in a
/// constant. Then it is copied.
///
/// Ownership: the program outlives it.
class ExecutorchMethod {
 public:
  explicit ExecutorchMethod(Backend& memory) noexcept
      : input_specs_(storage_of(&memory)),
        output_specs_(storage_of(&memory)),
        inputs_(storage_of(&memory)),
        outputs_(storage_of(&memory)),
        storage_(memory) {}

  Error load(const ::executorch::runtime::Program& program, const char* name) {
    const auto meta = program.method_meta(name);
    TENON_TRY(check_executorch(meta.error(), "method ", name));
    TENON_TRY(storage_.plan(*meta));
    auto loaded = program.load_method(name, storage_.manager());
    TENON_TRY(check_executorch(loaded.error(), "method ", name, " cannot be loaded"));
    method_.emplace(std::move(*loaded));
    TENON_TRY(describe_inputs(*meta));
    return describe_outputs(*meta);
  }
  void describe(MethodMeta& meta) const noexcept {
    meta.inputs = ArrayRef<ValueSpec>(input_specs_.data(), input_specs_.size());
    meta.outputs = ArrayRef<ValueSpec>(output_specs_.data(), output_specs_.size());
    meta.knows_inputs = meta.knows_outputs = true;
  }

  /// Inputs have been checked by their specs.
  Error run(const char* name, Span<const EValue> inputs, Outputs& outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Error error = set_input(i, inputs[i]);
      if (TENON_UNLIKELY(error != Error::Ok)) {
        return blame_value("input", i, input_specs_[i].name(), error);
      }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) TENON_TRY(bind_output(i, outputs));
    TENON_TRY(check_executorch(method_->execute(), "method ", name));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Error error = take_output(i, outputs);
      if (TENON_UNLIKELY(error != Error::Ok)) {
        return blame_value("output", i, output_specs_[i].name(), error);
      }
    }
    return Error::Ok;
  }

 private:
  using TheirValue = ::executorch::runtime::EValue;
  using TheirTensor = ::executorch::aten::Tensor;
  using TheirImpl = ::executorch::aten::TensorImpl;

  struct Input {
    ArrayRef<DimOrderType> dim_order;
    bool is_planned = true;  // a run copies it
    bool is_set = false;     // once
  };
  struct Output {
    ArrayRef<DimOrderType> dim_order;
    size_t nbytes = 0;          // the most that it takes
    TheirImpl* free = nullptr;  // without memory of its own: to be given some
  };

  Error describe_inputs(const ::executorch::runtime::MethodMeta& meta) {
    TENON_TRY(input_specs_.resize(method_->inputs_size()));
    TENON_TRY(inputs_.resize(method_->inputs_size()));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      // The runtime aborts where that would be an error, for a broken program.
      TENON_TRY(check_executorch(meta.input_tag(i).error(), "input ", i));
      const Error error = describe_value(input_of(*method_, i), input_specs_[i]);
      if (TENON_UNLIKELY(error != Error::Ok)) return blame_value("input", i, "", error);
      if (input_specs_[i].kind != ValueKind::Tensor) continue;
      const auto info = meta.input_tensor_meta(i);
      TENON_TRY(check_executorch(info.error(), "input ", i));
      input_specs_[i].tensor.name = Text(info->name());
      inputs_[i] = {order_of(*info), info->is_memory_planned(), false};
    }
    return Error::Ok;
  }
  Error describe_outputs(const ::executorch::runtime::MethodMeta& meta) {
    TENON_TRY(output_specs_.resize(method_->outputs_size()));
    TENON_TRY(outputs_.resize(method_->outputs_size()));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TENON_TRY(check_executorch(meta.output_tag(i).error(), "output ", i));
      const TheirValue& value = method_->get_output(i);
      const Error error = describe_value(value, output_specs_[i]);
      if (TENON_UNLIKELY(error != Error::Ok)) return blame_value("output", i, "", error);
      if (output_specs_[i].kind != ValueKind::Tensor) continue;
      const auto info = meta.output_tensor_meta(i);
      TENON_TRY(check_executorch(info.error(), "output ", i));
      output_specs_[i].tensor.name = Text(info->name());
      TheirImpl* const impl = value.toTensor().unsafeGetTensorImpl();
      const bool is_free = !info->is_memory_planned() && !is_input(impl);
      outputs_[i] = {order_of(*info), info->nbytes(), is_free ? impl : nullptr};
    }
    return Error::Ok;
  }
  static ArrayRef<DimOrderType> order_of(const ::executorch::runtime::TensorInfo& info) noexcept {
    return {info.dim_order().data(), info.dim_order().size()};
  }
  bool is_input(const TheirImpl* impl) const noexcept {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const TheirValue& value = input_of(*method_, i);
      if (value.isTensor() && value.toTensor().unsafeGetTensorImpl() == impl) return true;
    }
    return false;
  }

  Error set_input(size_t i, const EValue& value) {
    switch (value.kind()) {
      case ValueKind::Tensor: return set_tensor(i, value.toTensor());
      case ValueKind::None: return set_constant(i, value, {});
      case ValueKind::Int: return set_constant(i, value, value.toInt());
      case ValueKind::Double: return set_constant(i, value, value.toDouble());
      case ValueKind::Bool: return set_constant(i, value, value.toBool());
      case ValueKind::String: {
        const auto text = value.toString();
        ::executorch::aten::ArrayRef<char> characters(text.data(), text.size());
        return set_constant(i, value, &characters);
      }
      default:
        return fail(Error::NotSupported, {"it is ", value, ", which ExecuTorch cannot take"});
    }
  }
  /// The runtime takes no other than the value that was there at export.
  Error set_constant(size_t i, const EValue& value, const TheirValue& theirs) {
    if (method_->set_input(theirs, i) == ::executorch::runtime::Error::Ok) return Error::Ok;
    EValue expected;
    TENON_TRY(copy_value(input_of(*method_, i), input_specs_[i].kind, expected));
    return fail(Error::InvalidArgument,
                {"it is ", value, ", expected ", expected, ", as when the program was exported"});
  }
  Error set_tensor(size_t i, const Tensor& tensor) noexcept {
    const TensorFields& from = fields(TensorArg(tensor));
    if (inputs_[i].is_set && from.has_data() && replace_elements(i, from)) return Error::Ok;
    ExecutorchLayout layout;
    TENON_TRY(make_executorch_layout(tensor, ReadOnly::Pass, layout));
    const ArrayRef<DimOrderType> wanted = inputs_[i].dim_order;
    if (TENON_UNLIKELY(from.layout.numel != 0 &&
                       !is_same_order(from.layout.sizes, wanted, from.layout.dim_order))) {
      return fail(Error::InvalidArgument, {"its dim order is ", Dims(from.layout.dim_order),
                                           ", the program was exported for ", Dims(wanted),
                                           "; copy_() into a tensor of that order rearranges it"});
    }
    TheirImpl impl = layout.make_impl();
    TENON_TRY(check_executorch(method_->set_input(TheirValue(TheirTensor(&impl)), i), "sizes ",
                               from.layout.sizes));
    inputs_[i].is_set = true;
    return Error::Ok;
  }
  /// What set_input() would do for a tensor of the shape that the runtime's has, without asking the
  /// program again what that is. False for another shape.
  bool replace_elements(size_t i, const TensorFields& from) noexcept {
    const TheirValue& value = input_of(*method_, i);
    if (!value.isTensor()) return false;
    TheirImpl& to = *value.toTensor().unsafeGetTensorImpl();
    if (from.layout.numel == 0 || !is_same_shape(from.layout.sizes, to) ||
        !is_dense_in(from.layout, from.layout.sizes, inputs_[i].dim_order)) {
      return false;
    }
    if (inputs_[i].is_planned) {
      if (to.data() == nullptr) return false;
      std::memcpy(to.mutable_data(), from.data, from.nbytes());
    } else {
      to.set_data(from.data);
    }
    return true;
  }
  static bool is_same_shape(const Dims& sizes, const TheirImpl& theirs) noexcept {
    if (sizes.size() != static_cast<size_t>(theirs.dim())) return false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != theirs.sizes()[d]) return false;
    }
    return true;
  }
  /// Whether a shape is dense in that dim order; also once it has become `sizes`.
  static bool is_dense_in(const Layout& layout, const Dims& sizes,
                          ArrayRef<DimOrderType> dim_order) noexcept {
    return layout.is_dense() && is_same_order(sizes, dim_order, layout.dim_order);
  }

  /// Has the tensor for output i ready in outputs, and gives memory to the runtime where that takes
  /// any.
  Error bind_output(size_t i, Outputs& outputs) {
    const ValueSpec& spec = output_specs_[i];
    if (spec.kind != ValueKind::Tensor) return Error::Ok;
    Tensor* const target = outputs.target(i);
    if (target == nullptr) TENON_TRY(outputs.make(i, spec, outputs_[i].dim_order));
    // A branch may have moved another tensor there, which has memory.
    const TheirValue& value = method_->get_output(i);
    if (outputs_[i].free == nullptr || !value.isTensor() ||
        value.toTensor().unsafeGetTensorImpl() != outputs_[i].free) {
      return Error::Ok;
    }
    Tensor to = outputs.values()[i].toTensor();
    if (target != nullptr && !has_room(i, to)) {
      TENON_TRY(outputs.make(i, spec, outputs_[i].dim_order));
      to = outputs.values()[i].toTensor();
    }
    // As set_output_data_ptr() does, which asks the program again how much there has to be.
    outputs_[i].free->set_data(fields(TensorArg(to)).data);
    return Error::Ok;
  }
  /// Whether the runtime may write an output right into the tensor that was set for it, whatever
  /// its size will be.
  bool has_room(size_t i, const Tensor& target) const noexcept {
    const TensorFields& to = fields(TensorArg(target));
    const size_t element_size = elementSize(to.type);
    if (static_cast<size_t>(to.capacity) < outputs_[i].nbytes / element_size) return false;
    if (reinterpret_cast<uintptr_t>(to.data) % element_size != 0) return false;
    const TensorSpec& spec = output_specs_[i].tensor;
    const Dims& sizes = spec.max_sizes.empty() ? spec.sizes : spec.max_sizes;
    return is_dense_in(to.layout, sizes, outputs_[i].dim_order);
  }

  Error take_output(size_t i, Outputs& outputs) {
    const TheirValue& value = method_->get_output(i);
    const ValueKind kind = output_specs_[i].kind;
    if (kind != ValueKind::Tensor || !value.isTensor()) {
      return copy_value(value, kind, outputs.values()[i]);
    }
    return take_tensor(value.toTensor(), outputs.values()[i].toTensor());
  }
  /// For what is no tensor: its memory would be the runtime's.
  static Error copy_value(const TheirValue& from, ValueKind expected, EValue& to) noexcept {
    ValueKind kind = ValueKind::None;
    TENON_TRY(find_kind(from.tag, kind));
    if (TENON_UNLIKELY(kind != expected)) {
      return fail(Error::Internal, {"the runtime made it ", kind, ", not ", expected});
    }
    const std::shared_ptr<const void> nobody;
    EValue copy;
    TENON_TRY(ExecutorchReader(nobody).read(from, copy));
    to = std::move(copy);
    return Error::Ok;
  }
  static Error take_tensor(const TheirTensor& from, Tensor& to) {
    const auto rank = static_cast<size_t>(from.dim());
    const ArrayRef<DimOrderType> dim_order(from.dim_order().data(), rank);
    const Layout& layout = fields(TensorArg(to)).layout;
    if (!is_same_shape(layout.sizes, *from.unsafeGetTensorImpl())) {
      TENON_TRY(resize_tensor(to, Dims(from.sizes().data(), from.sizes().data() + rank)));
    }
    if (layout.numel == 0) return Error::Ok;
    if (from.const_data_ptr() == fields(TensorArg(to)).data &&
        is_dense_in(layout, layout.sizes, dim_order)) {
      return Error::Ok;  // it was written there
    }
    TensorImpl source(static_cast<ScalarType>(from.scalar_type()), static_cast<int64_t>(rank),
                      layout.sizes.data(), from.mutable_data_ptr(), dim_order.data());
    return deliver(Tensor(&source), to);
  }

  StoredArray<ValueSpec> input_specs_;
  StoredArray<ValueSpec> output_specs_;
  StoredArray<Input> inputs_;
  StoredArray<Output> outputs_;
  ExecutorchStorage storage_;  // what the method lives in
  std::optional<::executorch::runtime::Method> method_;
};

}  // namespace detail
TENON_END_NAMESPACE

#endif
