// SPDX-License-Identifier: MIT
// Outputs: where a runtime puts what a method gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/module/evalue.h"
#include "tenon/module/stored_array.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Inputs and outputs beyond that many are refused: such an index is a mistake.
inline constexpr size_t kMaxValues = 4096;

/// The tensors of a value: one, a list's, or none.
inline ArrayRef<Tensor> tensors_of(const EValue& value) noexcept {
  switch (value.kind()) {
    case ValueKind::Tensor: return {&value.toTensor(), 1};
    case ValueKind::TensorList: return value.toTensorList();
    case ValueKind::OptionalTensorList: return value.toOptionalTensorList();
    default: return {};
  }
}

/// Whether two tensors share memory, or would once they are resized: by the ranges of addresses,
/// so strides that interleave count. One impl shares its shape, too.
inline bool overlap(const Tensor& one, const Tensor& another) noexcept {
  const TensorArg args[] = {one, another};
  uintptr_t begin[2];
  uintptr_t end[2];
  for (size_t i = 0; i < 2; ++i) {
    if (!args[i].defined()) return false;
    const TensorFields& tensor = fields(args[i]);
    if (tensor.data == nullptr) return false;
    const auto size = static_cast<int64_t>(elementSize(tensor.type));
    const int64_t reach = tensor.layout.reach();
    const auto data = reinterpret_cast<uintptr_t>(tensor.data);
    begin[i] = data + static_cast<uintptr_t>(tensor.layout.extent.min * size);
    end[i] =
        data + static_cast<uintptr_t>((reach < tensor.capacity ? tensor.capacity : reach) * size);
  }
  return one.unsafeGetTensorImpl() == another.unsafeGetTensorImpl() ||
         (begin[0] < end[1] && begin[1] < end[0]);
}
inline bool overlap(const EValue& value, const Tensor& tensor) noexcept {
  for (const Tensor& part : tensors_of(value)) {
    if (overlap(part, tensor)) return true;
  }
  return false;
}

/// Whether an output is the tensor that was set for it, or lies there as it should.
inline bool is_delivered(const Tensor& from, const Tensor& to) noexcept {
  if (from.unsafeGetTensorImpl() == to.unsafeGetTensorImpl()) return true;
  const TensorArg args[] = {from, to};
  if (!args[0].defined() || !args[1].defined()) return false;
  const TensorFields& source = fields(args[0]);
  const TensorFields& target = fields(args[1]);
  return source.data == target.data && source.type == target.type &&
         source.layout.sizes == target.layout.sizes &&
         source.layout.strides == target.layout.strides;
}

/// Whether an output can be copied to the tensor that was set for it.
inline Error check_delivery(const EValue& from, const Tensor& to) noexcept {
  if (TENON_UNLIKELY(!from.isTensor())) {
    return fail(Error::InvalidType, {"it is ", from, ", and a tensor was set for it"});
  }
  const TensorArg source(from.toTensor());
  TENON_TRY(check_defined(source, "the output"));
  const TensorArg target(to);
  TENON_TRY(check_defined(target, "the tensor that was set for it"));
  if (TENON_UNLIKELY(fields(source).type != fields(target).type)) {
    return fail(Error::InvalidType, {"it is ", fields(source).type,
                                     ", the tensor that was set for it is ", fields(target).type});
  }
  return Error::Ok;
}

/// Copies an output to the tensor that was set for it, which takes its shape.
TENON_LAZY Error deliver(const Tensor& from, Tensor& to) noexcept {
  const TensorArg source(from);
  if (ArrayRef<int64_t>(fields(source).layout.sizes) !=
      ArrayRef<int64_t>(fields(TensorArg(to)).layout.sizes)) {
    TENON_TRY(resize_tensor(to, fields(source).layout.sizes));
  }
  return copy_(to, from);
}

/// The sizes to make a tensor of: those of the spec, or where they may vary, the largest. False
/// where the spec does not say them all.
inline bool largest_sizes(const TensorSpec& spec, Dims& sizes, bool& dynamic) noexcept {
  sizes = spec.sizes;
  dynamic = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] >= 0) continue;
    if (spec.max_sizes.empty() || spec.max_sizes[d] < 0) return false;
    sizes[d] = spec.max_sizes[d];
    dynamic = true;
  }
  return true;
}

/// Whether there is a tensor that nobody else has, no view of it either.
inline bool is_unshared(const Tensor& tensor) noexcept {
  if (!tensor.defined() || tensor.use_count() != 1 || is_borrowed(resizable(tensor)) ||
      fields(TensorArg(tensor)).deallocated) {
    return false;
  }
  // Reading the count orders nothing; dropping a copy does, after all that other threads read.
  static_cast<void>(Tensor(tensor));
  return true;
}

/// Where tensors are made in `memory`, or if it is null in that of the thread's default backend.
inline Device device_of(const Backend* memory) noexcept {
  return memory != nullptr ? memory->device() : default_backend().device();
}

/// Makes `kept` a tensor that nobody else has: the same one again where that will do.
TENON_LAZY Error renew(Tensor& kept, Backend* memory, tenon::ScalarType type, const Dims& sizes,
                       ArrayRef<DimOrderType> dim_order, TensorShapeDynamism dynamism) noexcept {
  if (is_unshared(kept)) {
    const TensorArg arg(kept);
    const TensorFields& last = fields(arg);
    if (last.type == own_type(type) && last.device == device_of(memory) &&
        (last.layout.sizes == sizes || (last.dynamism != TensorShapeDynamism::STATIC &&
                                        resize_tensor(kept, sizes) == Error::Ok))) {
      return Error::Ok;
    }
  }
  kept = Tensor();
  CreatorOptions options;
  if (memory != nullptr) options = CreatorOptions(*memory);
  options.type = type;
  options.dynamism = dynamism;
  Result<Tensor> made = create<Result<Tensor>>(
      "empty", options, own::ScalarType::Float, [&](const auto& making, auto& draft) noexcept {
        return make_owned(sizes, Dims(dim_order), {}, making, Contents::Uninitialized,
                          draft.draft());
      });
  if (TENON_UNLIKELY(!made.ok())) return fail(made.error(), {made.message()});
  kept = std::move(*made);
  return Error::Ok;
}

}  // namespace detail

/// The outputs of a run: as many as the module says or, where it does not know, as the runtime
/// makes. Once the runtime is done, they are copied to the tensors that were set, as if all at
/// once: one that an earlier copy would overwrite is copied aside first.
///
/// Ownership: shares tensors. What it makes itself is in the module's memory, and is used again in
/// the next run unless somebody still has it.
class Outputs {
 public:
  /// Of a module with that memory; of the thread's default backend if it is null.
  explicit Outputs(Backend* memory = nullptr) noexcept
      : memory_(memory),
        values_(detail::storage_of(memory)),
        set_(detail::storage_of(memory)),
        made_(detail::storage_of(memory)),
        saved_(detail::storage_of(memory)) {}

  size_t size() const noexcept { return values_.size(); }
  /// For a module that does not know how many there are.
  /// Errors: OutOfMemory; InvalidArgument for more than 4096, or for less than were set.
  Error resize(size_t count) noexcept {
    if (TENON_UNLIKELY(count > detail::kMaxValues)) {
      return detail::fail(Error::InvalidArgument, {count, " outputs are too many"});
    }
    for (size_t i = count; i < set_.size(); ++i) {
      if (TENON_UNLIKELY(set_[i].defined())) {
        return detail::fail(Error::InvalidArgument,
                            {"output ", i, " was set, but there are only ", count});
      }
    }
    return values_.resize(count);
  }
  /// The tensor that the caller set for output i, to be written to from now on; null where there is
  /// none, and where it shares memory with an input or with what was set for an earlier output.
  Tensor* target(size_t i) noexcept {
    if (i >= values_.size() || !is_set(i) || !values_[i].isTensor()) return nullptr;
    for (const EValue& input : inputs_) {
      if (detail::overlap(input, set_[i])) return nullptr;
    }
    for (size_t k = 0; k < i; ++k) {
      if (is_set(k) && detail::overlap(set_[k], set_[i])) return nullptr;
    }
    return &values_[i].toTensor();
  }
  /// Makes `value` output i. Where a tensor was set and this is another one, it is copied there
  /// when the runtime is done.
  /// Errors: OutOfBounds. The run fails with InvalidType (no tensor where one was set, or one of
  /// another dtype), and with those of resize_tensor() and copy_() for that copy.
  Error put(size_t i, EValue value) noexcept {
    if (TENON_UNLIKELY(i >= values_.size())) {
      return detail::fail(Error::OutOfBounds, {"output ", i, " of ", values_.size()});
    }
    values_[i] = std::move(value);
    return Error::Ok;
  }
  /// All of them, to be assigned to, as by put(). Those that were set hold their tensors at first.
  Span<EValue> values() noexcept { return {values_.data(), values_.size()}; }

  // For modules that come with tenon.

  bool is_set(size_t i) const noexcept { return i < set_.size() && set_[i].defined(); }
  /// Sets the tensor for output i; an undefined one takes it away.
  Error set(size_t i, const Tensor& tensor) noexcept {
    if (set_.size() <= i) TENON_TRY(set_.resize(i + 1));
    set_[i] = tensor;
    return Error::Ok;
  }
  /// Forgets the last run, and gets ready for one on these inputs, which stay as they are until it
  /// ends. With `count` there are at least so many outputs.
  Error begin(Span<const EValue> inputs, size_t count) noexcept {
    if (set_.size() < count) TENON_TRY(set_.resize(count));
    TENON_TRY(values_.resize(set_.size()));
    // Dropping the last outputs may run a deleter that sets more.
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = is_set(i) ? EValue(set_[i]) : EValue();
    }
    inputs_ = inputs;
    return Error::Ok;
  }
  void clear() noexcept {
    for (EValue& value : values_) value = EValue();
  }

  /// Makes output i a tensor to be written to, by its spec: as large as it may be, in that dim
  /// order, row-major for `{}`; DYNAMIC_BOUND where sizes may vary, else STATIC. Makes it None if
  /// the spec does not say enough, or asks for another device than the memory's.
  /// Errors: OutOfMemory, InvalidArgument (sizes that overflow).
  template <class = void>  // compiled where it is used, as copy_() is
  Error make(size_t i, const ValueSpec& spec, ArrayRef<DimOrderType> dim_order = {}) noexcept {
    values_[i] = EValue();
    const TensorSpec& wanted = spec.tensor;
    Dims sizes;
    bool dynamic = false;
    if (spec.kind != ValueKind::Tensor || !spec.is_described ||
        detail::device_of(memory_) != wanted.device ||
        wanted.type == tenon::ScalarType::Undefined ||
        !detail::largest_sizes(wanted, sizes, dynamic)) {
      return Error::Ok;
    }
    if (made_.size() <= i) TENON_TRY(made_.resize(values_.size()));
    const Error error =
        detail::renew(made_[i], memory_, wanted.type, sizes, dim_order,
                      dynamic ? TensorShapeDynamism::DYNAMIC_BOUND : TensorShapeDynamism::STATIC);
    TENON_TRY(blamed(i, error, spec.name()));
    values_[i] = made_[i];
    return Error::Ok;
  }
  /// Makes output i, a tensor or a list of tensors, a copy of itself.
  /// Errors: OutOfMemory; NotSupported (memory on a device for which no backend is registered).
  template <class = void>
  Error save(size_t i) {
    return blamed(i, values_[i].isTensor() ? save_tensor(i) : save_list(i));
  }
  /// Copies outputs to the tensors that were set for them, which become the outputs.
  template <class = void>
  Error deliver() {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (is_pending(i)) TENON_TRY(blamed(i, detail::check_delivery(values_[i], set_[i])));
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      if (is_written_over(i)) TENON_TRY(save(i));
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!is_set(i)) continue;
      Tensor to = set_[i];  // a deleter that runs when it grows may set another one
      if (is_pending(i)) TENON_TRY(blamed(i, detail::deliver(values_[i].toTensor(), to)));
      values_[i] = std::move(to);
    }
    return Error::Ok;
  }

 private:
  static Error blamed(size_t i, Error error, const char* name = "") noexcept {
    return TENON_UNLIKELY(error != Error::Ok) ? detail::blame_value("output", i, name, error)
                                              : error;
  }
  /// Whether output i is still to be copied to the tensor that was set for it.
  bool is_pending(size_t i) const noexcept {
    return is_set(i) &&
           !(values_[i].isTensor() && detail::is_delivered(values_[i].toTensor(), set_[i]));
  }
  /// Whether delivery would change output i before it is where it belongs, or afterwards.
  bool is_written_over(size_t i) const noexcept {
    const bool is_kept = !is_set(i);
    if (!is_kept && !is_pending(i)) return false;
    for (size_t k = 0; k < (is_kept ? values_.size() : i + 1); ++k) {
      if (is_pending(k) && detail::overlap(values_[i], set_[k])) return true;
    }
    return false;
  }

  /// Makes `copy` one of `from`, in the module's memory, or where `from` is if that is elsewhere.
  template <class = void>
  Error copy_aside(const Tensor& from, Tensor& copy) const noexcept {
    const TensorArg arg(from);
    const detail::TensorFields& source = detail::fields(arg);
    Backend* where = memory_;
    if (source.device != (memory_ == nullptr ? Device() : memory_->device()))
      TENON_TRY(detail::find_backend_like(source, nullptr, where));
    if (where == nullptr) where = &host_backend();  // whatever the thread's default is
    TENON_TRY(detail::renew(copy, where, detail::public_type(source.type), source.layout.sizes, {},
                            TensorShapeDynamism::DYNAMIC_UNBOUND));
    return copy_(copy, from);
  }
  template <class = void>
  Error save_tensor(size_t i) noexcept {
    if (saved_.size() <= i) TENON_TRY(saved_.resize(values_.size()));
    TENON_TRY(copy_aside(values_[i].toTensor(), saved_[i]));
    values_[i] = saved_[i];
    return Error::Ok;
  }
  template <class = void>
  Error save_list(size_t i) {
    detail::StoredArray<Tensor> copies(values_.where());
    for (const Tensor& tensor : detail::tensors_of(values_[i])) {
      TENON_TRY(copies.push_back(Tensor()));
      if (tensor.defined()) TENON_TRY(copy_aside(tensor, copies[copies.size() - 1]));
    }
    const ArrayRef<Tensor> list(copies.data(), copies.size());
    values_[i] = values_[i].isTensorList() ? EValue(list) : EValue::optional_tensor_list(list);
    return Error::Ok;
  }

  Backend* memory_;
  Span<const EValue> inputs_;
  detail::StoredArray<EValue> values_;  // of the last run
  detail::StoredArray<Tensor> set_;
  detail::StoredArray<Tensor> made_;   // by a spec
  detail::StoredArray<Tensor> saved_;  // copies
};

TENON_END_NAMESPACE
