// SPDX-License-Identifier: MIT
// Outputs: receives a method's outputs from a runtime.
#pragma once

#include "tenon/backend/registry.h"
#include "tenon/module/lists.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The index limit if a module does not know its number of outputs.
inline constexpr size_t kMaxValues = 4096;

/// A runtime's description of a method.
struct MethodSpecs {
  explicit MethodSpecs(BackendState* metadata_backend = nullptr) noexcept
      : inputs(metadata_backend), outputs(metadata_backend) {}

  void describe(MethodMeta& meta) const noexcept {
    meta.inputs = inputs;
    meta.outputs = outputs;
    meta.knows_inputs = meta.knows_outputs = true;
  }

  StoredArray<ValueSpec> inputs;
  StoredArray<ValueSpec> outputs;
};

/// The tensors of a value: a tensor, a list's tensors, or no tensors.
inline ArrayRef<Tensor> tensors_of(const EValue& value) noexcept {
  const ValueKind kind = value.kind();
  if (kind == ValueKind::Tensor) return {&value.toTensor(), 1};
  if (kind == ValueKind::TensorList) return value.toTensorList();
  if (kind == ValueKind::OptionalTensorList) return value.toOptionalTensorList();
  return {};
}

/// The addresses of a tensor's memory, up to its capacity; {0, 0} if it has no memory.
inline ByteRange room_of(const TensorArg& arg) noexcept {
  if (!arg.defined() || fields(arg).data == nullptr) return {0, 0};
  const TensorFields& tensor = fields(arg);
  const auto size = static_cast<int64_t>(elementSize(tensor.type));
  const int64_t reach = tensor.layout.required_span_size();
  const int64_t room = reach < tensor.capacity ? tensor.capacity : reach;
  const auto data = reinterpret_cast<uintptr_t>(tensor.data);
  return {data + static_cast<uintptr_t>(tensor.layout.offsets.min * size),
          data + static_cast<uintptr_t>(room * size)};
}

/// Whether two tensors share memory, or may share it after a resize. Compares address ranges, so
/// interleaved strides count as sharing. Handles of the same impl always share.
inline bool overlap(const Tensor& one, const Tensor& another) noexcept {
  return overlap(room_of(one), room_of(another)) ||
         (one.defined() && one.unsafeGetTensorImpl() == another.unsafeGetTensorImpl());
}
inline bool overlap(const EValue& value, const Tensor& tensor) noexcept {
  for (const Tensor& part : tensors_of(value)) {
    if (overlap(part, tensor)) return true;
  }
  return false;
}

TENON_COLD inline Error fail_delivery(const EValue& from, ScalarType to) noexcept {
  return fail(Error::InvalidType, "it is ", from, ", and a tensor of ", to, " was set");
}
TENON_TEMPLATE_INLINE TENON_NOINLINE Error resize_like(const TensorFields& source,
                                                       const Tensor& to) noexcept {
  return add_context_if("resize_tensor", resize_to(to, source.layout.sizes()));
}

/// Whether an output can be copied to its set tensor.
TENON_TEMPLATE_INLINE Error check_delivery(const EValue& from, const Tensor& to) noexcept {
  const TensorArg set(to);
  TENON_TRY(check_defined(set, "the target"));
  const TensorFields& target = fields(set);
  if (!from.isTensor()) return fail_delivery(from, target.type);
  const TensorArg made(from.toTensor());
  TENON_TRY(check_defined(made, "the output"));
  const TensorFields& source = fields(made);
  if (source.type != target.type) return fail_delivery(from, target.type);
  const bool can_never_fit = target.dynamism == TensorShapeDynamism::STATIC ||
                             (target.dynamism == TensorShapeDynamism::DYNAMIC_BOUND &&
                              source.layout.numel > target.capacity);
  if (can_never_fit && source.layout.sizes() != target.layout.sizes()) {
    return resize_like(source, to);  // always fails: sets the error text
  }
  return Error::Ok;
}

/// Copies elements between tensors of equal type and sizes that do not overlap.
TENON_TEMPLATE_INLINE Error copy_output(const Tensor& from, const Tensor& to) noexcept {
  const TensorArg set(to);
  const TensorArg made(from);
  MemoryLocation target;
  MemoryLocation source;
  TENON_TRY(find_destination(set, "the target", target));
  TENON_TRY(find_location(fields(made), "the output", source));
  if (target.view.sizes != source.view.sizes) {
    return fail(Error::InvalidState, "the tensor was changed meanwhile");
  }
  MemoryHold holds[2];
  TENON_TRY(holds[0].hold(set));
  TENON_TRY(holds[1].hold(made));
  return copy_alike(target, source);
}

/// Copies an output to its set tensor, which is resized to the output's shape.
TENON_TEMPLATE_INLINE Error deliver(const Tensor& from, Tensor& to) noexcept {
  const TensorArg source(from);
  if (fields(source).layout.sizes() != fields(TensorArg(to)).layout.sizes()) {
    TENON_TRY(resize_like(fields(source), to));
  }
  return copy_output(from, to);
}

/// Whether the tensor is defined, and no other handle or view shares it.
inline bool is_unshared(const Tensor& tensor) noexcept {
  if (!tensor.defined() || tensor.use_count() != 1 || is_borrowed(resizable(tensor)) ||
      fields(TensorArg(tensor)).deallocated) {
    return false;
  }
  // use_count() is a relaxed load; dropping a copy synchronises with the last reads of other
  // threads.
  if constexpr (TENON_HAS_THREADS) static_cast<void>(Tensor(tensor));
  return true;
}

/// Makes `kept` an unshared tensor of these sizes: reuses the tensor if possible, else makes a new
/// one. `shape` has any type that count_elements() takes.
template <class Shape>
Error renew(Tensor& kept, const Shape& shape, CreateOptions& opts) noexcept {
  const ArrayRef<int64_t> sizes = sizes_of(shape);
  BackendState* const state =
      opts.backend != nullptr ? BackendAccess::state(*opts.backend) : nullptr;
  if (is_unshared(kept)) {
    const TensorArg arg(kept);
    const TensorFields& last = fields(arg);
    if (last.type == opts.type && last.data_backend == state &&
        (last.dynamism == opts.dynamism || sizes.empty()) &&
        (last.layout.sizes() == sizes || (opts.dynamism != TensorShapeDynamism::STATIC &&
                                          detail::resize(kept, sizes) == Error::Ok))) {
      return Error::Ok;
    }
  }
  kept = Tensor();
  NewTensor new_tensor;
  Error error = make_owned(shape, opts, false, new_tensor);
  if (error == Error::Ok) error = make_first_handle(new_tensor, kept);
  TENON_TRY(add_context_if("empty", error));
  if (opts.backend != nullptr) notify_created(*opts.backend, fields(TensorArg(kept)), "empty");
  return Error::Ok;
}

}  // namespace detail

/// The outputs of a run: as many as the module says or, if it does not know, as the runtime makes.
/// After the run the outputs are copied to the set tensors, as if all at once: an output that an
/// earlier copy would overwrite is first copied aside.
///
/// Ownership: shares tensors. Makes new tensors in the module's memory; the next run reuses them
/// unless they are still shared.
/// Threads: as Module's. An output that other threads hold is reused only after they have dropped
/// it.
class Outputs {
 public:
  /// New tensors are made in `memory`; if that is null, on the heap: a BackendScope's arena may be
  /// destroyed before them.
  explicit Outputs(Backend* memory = nullptr) noexcept : memory_(memory) {}

  /// How many outputs are known so far.
  size_t size() const noexcept { return values_.size(); }
  /// Sets the number of outputs, for a module that does not know it.
  /// Errors: OutOfMemory; InvalidArgument if a tensor was set beyond the first `count`.
  Error resize(size_t count) noexcept {
    for (size_t i = count; i < set_.size(); ++i) {
      if (is_set(i)) {
        return detail::fail(Error::InvalidArgument, "output ", i, " was set, but there are only ",
                            count);
      }
    }
    return values_.resize(count);
  }
  /// The tensor that the caller set for output i, to write to. Null if no tensor was set, or if the
  /// set tensor shares memory with an input or an earlier set output.
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
  /// Sets output i. If a tensor was set for it, the value is copied there after the run.
  /// Errors: OutOfBounds. If the copy fails, the run fails: with InvalidType (the value is not a
  /// tensor, or has another dtype), or with an error of resize_tensor() or copy_().
  Error put(size_t i, EValue value) noexcept {
    if (i >= values_.size()) {
      return detail::fail(Error::OutOfBounds, "output ", i, " is out of range, expected below ",
                          values_.size());
    }
    values_[i] = std::move(value);
    return Error::Ok;
  }
  /// All outputs; assigning to one is like put(). Initially the set tensors.
  Span<EValue> values() noexcept { return values_; }

  // For tenon's modules.

  /// Whether a tensor was set for output i.
  bool is_set(size_t i) const noexcept { return i < set_.size() && set_[i].defined(); }
  /// Sets the tensor for output i; an undefined tensor removes it.
  Error set(size_t i, const Tensor& tensor) noexcept {
    if (set_.size() <= i) TENON_TRY(set_.resize(i + 1));
    deliver_ = &copy_to_set<>;
    set_[i] = tensor;
    return Error::Ok;
  }
  /// Drops the last run's outputs, and begins a run with at least `count` outputs. `inputs` must
  /// not change until the run ends.
  Error begin(Span<const EValue> inputs, size_t count) noexcept {
    if (set_.size() < count) TENON_TRY(set_.resize(count));
    TENON_TRY(values_.resize(set_.size()));
    // Dropping the last outputs may run a deleter that sets more outputs.
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = is_set(i) ? EValue(set_[i]) : EValue();
    }
    inputs_ = inputs;
    return Error::Ok;
  }
  /// Drops the outputs of the last run.
  void clear() noexcept {
    for (EValue& value : values_) value = EValue();
  }

  /// Makes output i a tensor to write to, as its spec says: with the maximum sizes, in `dim_order`
  /// (`{}` is row-major), DYNAMIC_BOUND if sizes may vary, else STATIC. Makes output i None if the
  /// spec leaves too much open, or is for another device than that of the memory.
  /// Errors: OutOfMemory, InvalidArgument (sizes that overflow).
  template <class = void>  // compiled only if used, like copy_()
  Error make(size_t i, const ValueSpec& spec, ArrayRef<DimOrderType> dim_order = {}) noexcept {
    values_[i] = EValue();
    if (!spec.is_described || spec.tensor.type == tenon::ScalarType::Undefined ||
        spec.tensor.device != (memory_ != nullptr ? memory_->device() : Device()) ||
        detail::is_open(spec.tensor)) {
      return Error::Ok;
    }
    Dims sizes = spec.tensor.sizes;
    TENON_TRY(detail::check_dims("sizes", sizes));
    const Dims order(dim_order);
    detail::CreateOptions opts(detail::own_type(spec.tensor.type), TensorShapeDynamism::STATIC);
    opts.backend = detail::null_if_heap(memory_);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] >= 0) continue;
      sizes[d] = detail::limit_of(spec.tensor, d);
      opts.dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
    }
    if (own_.size() <= i) TENON_TRY(own_.resize(values_.size()));
    TENON_TRY(add_context_if(i, spec.name(), detail::check_type(opts.type)));
    detail::Layout layout;
    TENON_TRY(add_context_if(i, spec.name(),
                             detail::lay_out_new(sizes, {&order, nullptr}, opts.type, layout)));
    TENON_TRY(add_context_if(i, spec.name(), detail::renew(own_[i], layout, opts)));
    values_[i] = own_[i];
    return Error::Ok;
  }
  /// Replaces output i, a tensor or a list of tensors, by a copy.
  /// Errors: OutOfMemory; NotSupported (memory on a device for which no backend is registered).
  template <class = void>
  Error save(size_t i) {
    return add_context_if(i, "", save_silently(i));
  }
  /// Copies outputs to their set tensors, which become the outputs.
  Error deliver() {
    return deliver_ == nullptr ? Error::Ok
                               : detail::call_stored<&Outputs::copy_to_set<>>(deliver_, *this);
  }

 private:
  template <class = void>
  static Error copy_to_set(Outputs& outputs) {
    size_t i = 0;
    const Error error = outputs.copy_each(i);
    return add_context_if(i, "", error);
  }
  /// On error `i` is the output that failed. Inline, to keep `i` in a register.
  template <class = void>
  TENON_ALWAYS_INLINE Error copy_each(size_t& i) {
    for (i = 0; i < values_.size(); ++i) {
      if (is_pending(i)) TENON_TRY(detail::check_delivery(values_[i], set_[i]));
    }
    for (i = 0; i < values_.size(); ++i) {
      if (is_overwritten(i)) TENON_TRY(save_silently(i));
    }
    for (i = 0; i < values_.size(); ++i) {
      if (!is_set(i)) continue;
      Tensor to = set_[i];  // growth may run a deleter that sets another tensor
      if (is_pending(i)) {
        // An earlier output's growth may have run such a deleter.
        TENON_TRY(detail::check_delivery(values_[i], to));
        if (is_overwritten(i)) TENON_TRY(save_silently(i));
        const Tensor from = values_[i].toTensor();  // a backend's code may replace the output
        TENON_TRY(detail::deliver(from, to));
      }
      values_[i] = std::move(to);
    }
    return Error::Ok;
  }
  /// save(), without the output's number in error texts.
  template <class = void>
  Error save_silently(size_t i) {
    if (values_[i].isTensor()) {
      if (own_.size() <= i) TENON_TRY(own_.resize(values_.size()));
      TENON_TRY(copy_aside(values_[i].toTensor(), own_[i]));
      values_[i] = own_[i];
      return Error::Ok;
    }
    return values_[i].copy_tensors(
        [&](const Tensor& from, Tensor& to) { return copy_aside(from, to); });
  }
  static Error add_context_if(size_t i, const char* name, Error error) noexcept {
    return detail::add_context_if("output", i, name, error);
  }
  /// Whether output i is still to be copied to its set tensor.
  bool is_pending(size_t i) const noexcept {
    return is_set(i) && !(values_[i].isTensor() && values_[i].toTensor().unsafeGetTensorImpl() ==
                                                       set_[i].unsafeGetTensorImpl());
  }
  /// Whether the delivery of another output would overwrite output i, before or after output i is
  /// delivered.
  bool is_overwritten(size_t i) const noexcept {
    for (size_t k = 0; k < (is_set(i) ? i + 1 : values_.size()); ++k) {
      if (is_pending(k) && detail::overlap(values_[i], set_[k])) return true;
    }
    return false;
  }
  /// Makes `copy` a copy of `from`, in the module's memory; on `from`'s device if that is another.
  template <class = void>
  Error copy_aside(const Tensor& from, Tensor& copy) const noexcept {
    const TensorArg arg(from);
    const detail::TensorFields& source = detail::fields(arg);
    const bool is_ours = memory_ != nullptr && memory_->device() == source.device;
    detail::CreateOptions opts(source.type, TensorShapeDynamism::DYNAMIC_UNBOUND);
    TENON_TRY(detail::find_backend_like(source, is_ours ? memory_ : nullptr, opts.backend));
    const Dims sizes = source.layout.sizes();
    TENON_TRY(detail::check_dims("sizes", sizes));
    TENON_TRY(detail::renew(copy, sizes, opts));
    return detail::copy_output(from, copy);
  }

  Backend* memory_;
  // Set when a tensor is first set for an output. On bare metal copy_to_set() is not linked if none
  // ever is.
  Error (*deliver_)(Outputs&) = nullptr;
  Span<const EValue> inputs_;
  detail::StoredArray<EValue> values_{detail::metadata_backend_for(memory_)};  // the last run's
  detail::StoredArray<Tensor> set_{detail::metadata_backend_for(memory_)};
  detail::StoredArray<Tensor> own_{detail::metadata_backend_for(memory_)};  // made by spec or copy
};

TENON_END_NAMESPACE
