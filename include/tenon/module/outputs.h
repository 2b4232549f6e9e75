// SPDX-License-Identifier: MIT
// Outputs: where a runtime puts what a method gives.
#pragma once

#include <cstddef>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/module/evalue.h"
#include "tenon/module/stored_array.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Inputs and outputs beyond that many are refused: such an index is a mistake.
inline constexpr size_t kMaxValues = 4096;

/// Copies an output to the tensor that was set for it, which takes its shape.
TENON_LAZY Error deliver(const Tensor& from, Tensor& to) noexcept {
  const TensorArg source(from);
  TENON_TRY(check_defined(source, "the output"));
  const TensorArg target(to);
  TENON_TRY(check_defined(target, "the tensor that was set for it"));
  if (TENON_UNLIKELY(fields(source).type != fields(target).type)) {
    return fail(Error::InvalidType, {"it is ", fields(source).type,
                                     ", the tensor that was set for it is ", fields(target).type});
  }
  if (ArrayRef<int64_t>(fields(source).layout.sizes) !=
      ArrayRef<int64_t>(fields(target).layout.sizes)) {
    TENON_TRY(resize_tensor(to, fields(source).layout.sizes));
  }
  return copy_(to, from);
}

}  // namespace detail

/// The outputs of a run, as many as the module says or, where it does not know, as the runtime
/// makes them.
///
/// Ownership: shares tensors.
class Outputs {
 public:
  Outputs(detail::StoredArray<EValue>& values, const detail::StoredArray<Tensor>& set) noexcept
      : values_(values), set_(set) {}

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
  /// The tensor that the caller set for output i, to be written to; null where there is none.
  Tensor* target(size_t i) noexcept {
    return i < values_.size() && i < set_.size() && set_[i].defined() ? &values_[i].toTensor()
                                                                      : nullptr;
  }
  /// Makes `value` output i. Where a tensor was set and this is another one, it is copied there.
  /// Errors: OutOfBounds; InvalidType (no tensor where one was set, or one of another dtype), and
  /// those of resize_tensor() and copy_() for that copy.
  template <class = void>  // compiled where it is used, as copy_() is
  Error put(size_t i, EValue value) noexcept {
    if (TENON_UNLIKELY(i >= values_.size())) {
      return detail::fail(Error::OutOfBounds, {"output ", i, " of ", values_.size()});
    }
    if (i >= set_.size() || !set_[i].defined()) {
      values_[i] = std::move(value);
      return Error::Ok;
    }
    if (TENON_UNLIKELY(!value.isTensor())) {
      return detail::fail(Error::InvalidType,
                          {"output ", i, ": it is ", value, ", and a tensor was set for it"});
    }
    Tensor to = set_[i];
    const Tensor& from = value.toTensor();
    if (from.unsafeGetTensorImpl() != to.unsafeGetTensorImpl()) {
      const Error error = detail::deliver(from, to);
      if (TENON_UNLIKELY(error != Error::Ok)) {
        return detail::fail(error, {"output ", i, ": ", last_error_message()});
      }
    }
    values_[i] = std::move(to);
    return Error::Ok;
  }
  /// All of them, to be assigned to. Those that were set hold their tensors; assigning another one
  /// there copies nothing: that is what put() is for.
  Span<EValue> values() noexcept { return {values_.data(), values_.size()}; }

 private:
  detail::StoredArray<EValue>& values_;
  const detail::StoredArray<Tensor>& set_;
};

TENON_END_NAMESPACE
