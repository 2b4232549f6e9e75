// SPDX-License-Identifier: MIT
// ExecuTorch's EValue, which is tenon's, and MethodMeta and TensorInfo over tenon's MethodMeta.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/compat/executorch_platform.h"
#include "tenon/module/module.h"

namespace executorch {
namespace runtime {
inline namespace tenon_compat {

using tenon::EValue;

namespace internal {

/// Tag::None for a list of texts, a kind that ExecuTorch does not have.
constexpr Tag tag_of(tenon::ValueKind kind) noexcept {
  constexpr Tag kTags[] = {Tag::None,    Tag::Tensor,     Tag::Int,        Tag::Double,
                           Tag::Bool,    Tag::String,     Tag::ListTensor, Tag::ListOptionalTensor,
                           Tag::ListInt, Tag::ListDouble, Tag::ListBool,   Tag::None};
  return kTags[static_cast<size_t>(kind)];
}
/// A value's description. Sizes are the largest that the value may have, as in ExecuTorch.
struct ValueInfo {
  explicit ValueInfo(const tenon::ValueSpec& spec)
      : tag(tag_of(spec.kind)), name(spec.name()), is_described(spec.is_described) {
    if (!is_described) return;
    const tenon::TensorSpec& tensor = spec.tensor;
    type = tensor.type;
    nbytes = aten::elementSize(type == aten::ScalarType::Undefined ? aten::ScalarType::Byte : type);
    for (size_t d = 0; d < tensor.sizes.size(); ++d) {
      const int64_t size = tenon::detail::limit_of(tensor, d);
      sizes.push_back(size);
      dim_order.push_back(static_cast<uint8_t>(tensor.dim_order.empty() ? static_cast<int64_t>(d)
                                                                        : tensor.dim_order[d]));
      const auto count = static_cast<uint64_t>(size);
      is_bounded = is_bounded && size >= 0 && (count == 0 || nbytes <= SIZE_MAX / count);
      if (is_bounded) nbytes *= static_cast<size_t>(size);
    }
  }

  Tag tag;
  std::string name;
  bool is_described;
  bool is_bounded = true;
  aten::ScalarType type = aten::ScalarType::Undefined;
  std::vector<aten::SizesType> sizes;
  std::vector<uint8_t> dim_order;
  size_t nbytes = 0;
};
struct MethodInfo {
  explicit MethodInfo(const tenon::MethodMeta& meta) : name(meta.name) {
    for (const auto& spec : meta.inputs) inputs.emplace_back(spec);
    for (const auto& spec : meta.outputs) outputs.emplace_back(spec);
  }
  std::string name;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

}  // namespace internal

/// The description of a tensor that is an input or an output of a method.
/// Ownership: borrows from the Module that returned it.
class TensorInfo {
 public:
  explicit TensorInfo(const internal::ValueInfo& info) noexcept : info_(&info) {}

  /// The largest sizes.
  Span<const aten::SizesType> sizes() const noexcept {
    return {info_->sizes.data(), info_->sizes.size()};
  }
  Span<const uint8_t> dim_order() const noexcept {
    return {info_->dim_order.data(), info_->dim_order.size()};
  }
  aten::ScalarType scalar_type() const noexcept { return info_->type; }
  /// Always false: tenon's runtimes do not report planned memory.
  bool is_memory_planned() const noexcept { return false; }
  /// The bytes that a tensor of the largest sizes needs.
  size_t nbytes() const noexcept { return info_->nbytes; }
  std::string_view name() const noexcept { return info_->name; }

 private:
  const internal::ValueInfo* info_;
};

/// The description of a method's inputs and outputs.
/// Ownership: borrows from the Module that made it.
class MethodMeta {
 public:
  explicit MethodMeta(const internal::MethodInfo& info) noexcept : info_(&info) {}

  const char* name() const noexcept { return info_->name.c_str(); }
  size_t num_inputs() const noexcept { return info_->inputs.size(); }
  size_t num_outputs() const noexcept { return info_->outputs.size(); }
  /// Errors: InvalidArgument for an index out of range.
  Result<Tag> input_tag(size_t index) const { return tag(info_->inputs, index); }
  Result<Tag> output_tag(size_t index) const { return tag(info_->outputs, index); }
  /// Errors: also InvalidArgument for a value that is not a tensor; NotSupported for a tensor that
  /// the runtime does not describe, or whose sizes have no limit or overflow.
  Result<TensorInfo> input_tensor_meta(size_t index) const { return tensor(info_->inputs, index); }
  Result<TensorInfo> output_tensor_meta(size_t index) const {
    return tensor(info_->outputs, index);
  }

  // tenon's runtimes do not report planned memory or backends.

  size_t num_memory_planned_buffers() const noexcept { return 0; }
  Result<int64_t> memory_planned_buffer_size(size_t) const { return Error::InvalidArgument; }
  bool uses_backend(const char*) const noexcept { return false; }
  size_t num_backends() const noexcept { return 0; }
  Result<const char*> get_backend_name(size_t) const { return Error::InvalidArgument; }

 private:
  using Infos = std::vector<internal::ValueInfo>;

  static Result<Tag> tag(const Infos& infos, size_t index) {
    TENON_DETAIL_ET_CHECK(index < infos.size(), InvalidArgument,
                          "index %zu is out of range, expected below %zu", index, infos.size());
    return infos[index].tag;
  }
  static Result<TensorInfo> tensor(const Infos& infos, size_t index) {
    const auto found = tag(infos, index);
    if (!found.ok()) return found.error();
    TENON_DETAIL_ET_CHECK(*found == Tag::Tensor, InvalidArgument, "value %zu is %s, not a tensor",
                          index, tag_to_string(*found));
    TENON_DETAIL_ET_CHECK(infos[index].is_described, NotSupported,
                          "tensor %zu is not described by its runtime", index);
    TENON_DETAIL_ET_CHECK(
        infos[index].is_bounded, NotSupported,
        "the sizes of tensor %zu have no limit, or overflow; tenon's describe_inputs() or the "
        "model's specs can give max_sizes",
        index);
    return TensorInfo(infos[index]);
  }

  const internal::MethodInfo* info_;
};

}  // namespace tenon_compat
}  // namespace runtime
}  // namespace executorch
