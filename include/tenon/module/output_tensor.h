// SPDX-License-Identifier: MIT
// One output of a run: whether it shares memory, its delivery to a tensor, memory to make it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/backend/registry.h"
#include "tenon/module/evalue.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The tensors of a value: one, a list's, or none.
inline ArrayRef<Tensor> tensors_of(const EValue& value) noexcept {
  switch (value.kind()) {
    case ValueKind::Tensor: return {&value.toTensor(), 1};
    case ValueKind::TensorList: return value.toTensorList();
    case ValueKind::OptionalTensorList: return value.toOptionalTensorList();
    default: return {};
  }
}

/// The addresses of a tensor's elements, and of the room that it may be resized to; from 0 to 0 for
/// one without memory.
struct Addresses {
  explicit Addresses(const TensorArg& arg) noexcept {
    if (!arg.defined() || fields(arg).data == nullptr) return;
    const TensorFields& tensor = fields(arg);
    const auto size = static_cast<int64_t>(elementSize(tensor.type));
    const int64_t reach = tensor.layout.reach();
    begin = reinterpret_cast<uintptr_t>(tensor.data);
    end =
        begin + static_cast<uintptr_t>((reach < tensor.capacity ? tensor.capacity : reach) * size);
    begin += static_cast<uintptr_t>(tensor.layout.extent.min * size);
  }
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

/// Whether two tensors share memory, or would once they are resized: by the ranges of addresses, so
/// strides that interleave count. One impl shares its shape, too.
inline bool overlap(const Tensor& one, const Tensor& another) noexcept {
  const Addresses a{TensorArg(one)};
  const Addresses b{TensorArg(another)};
  if (a.begin == 0 || b.begin == 0) return false;
  return one.unsafeGetTensorImpl() == another.unsafeGetTensorImpl() ||
         (a.begin < b.end && b.begin < a.end);
}
inline bool overlap(const EValue& value, const Tensor& tensor) noexcept {
  for (const Tensor& part : tensors_of(value)) {
    if (overlap(part, tensor)) return true;
  }
  return false;
}

/// Whether an output is the tensor that was set for it, or has its memory, type and shape.
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
    return fail(Error::InvalidType, "it is ", from, ", and a tensor was set for it");
  }
  const TensorArg source(from.toTensor());
  const TensorArg target(to);
  TENON_TRY(check_defined(source, "the output"));
  TENON_TRY(check_defined(target, "the tensor that was set for it"));
  if (TENON_UNLIKELY(fields(source).type != fields(target).type)) {
    return fail(Error::InvalidType, "it is ", fields(source).type,
                ", the tensor that was set for it is ", fields(target).type);
  }
  return Error::Ok;
}

/// Copies an output to the tensor that was set for it, which takes its shape.
TENON_LAZY Error deliver(const Tensor& from, Tensor& to) noexcept {
  const TensorArg source(from);
  const Dims& sizes = fields(source).layout.sizes;
  if (sizes != fields(TensorArg(to)).layout.sizes) TENON_TRY(resize_tensor(to, sizes));
  return copy_(to, from);
}

/// Where tensors are made in `memory`, or if it is null in that of the thread's default backend.
inline Device device_of(const Backend* memory) noexcept {
  return memory != nullptr ? memory->device() : default_backend().device();
}

/// Whether there is a tensor, and no other handle or view shares it.
inline bool is_unshared(const Tensor& tensor) noexcept {
  if (!tensor.defined() || tensor.use_count() != 1 || is_borrowed(resizable(tensor)) ||
      fields(TensorArg(tensor)).deallocated) {
    return false;
  }
  // Reading the count orders nothing; dropping a copy does, after all that other threads read.
  static_cast<void>(Tensor(tensor));
  return true;
}

/// Makes `kept` an unshared tensor of that shape: the same one again where possible.
TENON_LAZY Error renew(Tensor& kept, Backend* memory, tenon::ScalarType type, const Dims& sizes,
                       ArrayRef<DimOrderType> dim_order, TensorShapeDynamism dynamism) noexcept {
  if (is_unshared(kept)) {
    const TensorArg arg(kept);
    const TensorFields& last = fields(arg);
    if (last.type == own_type(type) && last.device == device_of(memory) &&
        (last.dynamism == dynamism || sizes.empty()) &&
        (last.layout.sizes == sizes ||
         (dynamism != TensorShapeDynamism::STATIC && resize_tensor(kept, sizes) == Error::Ok))) {
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
  if (TENON_UNLIKELY(!made.ok())) return fail(made.error(), made.message());
  kept = std::move(*made);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
