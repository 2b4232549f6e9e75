// SPDX-License-Identifier: MIT
// MadeOutputs: the tensors that a module makes for outputs where the caller set none.
#pragma once

#include <cstddef>
#include <utility>

#include "tenon/backend/backend.h"
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
#include "tenon/tensor/creators.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

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

/// One tensor an output: the same in each run, unless somebody still has it from the last one.
class MadeOutputs {
 public:
  /// Tensors are made in `memory`, in the thread's default backend if that is null.
  MadeOutputs(BackendState* where, Backend* memory) noexcept : memory_(memory), made_(where) {}

  Error resize(size_t count) noexcept { return made_.resize(count); }

  /// A tensor by the spec of output i, as large as it may be, in that dim order, row-major for
  /// `{}`; DYNAMIC_BOUND where sizes may vary, else STATIC. Undefined where the spec does not say
  /// enough, or asks for another device than the memory's.
  /// Errors: OutOfMemory, InvalidArgument (sizes that overflow).
  template <class = void>
  Error provide(size_t i, const ValueSpec& spec, Tensor& tensor,
                ArrayRef<DimOrderType> dim_order = {}) noexcept {
    tensor = Tensor();
    if (spec.kind != ValueKind::Tensor || !spec.is_described) return Error::Ok;
    const TensorSpec& wanted = spec.tensor;
    Dims sizes;
    bool dynamic = false;
    if (!largest_sizes(wanted, sizes, dynamic)) return Error::Ok;
    const Device device = memory_ == nullptr ? Device() : memory_->device();
    if (device != wanted.device || wanted.type == tenon::ScalarType::Undefined) return Error::Ok;
    Tensor& made = made_[i];
    if (!is_ours(made)) {
      made = Tensor();
      const Error error = make(wanted.type, sizes, dim_order, dynamic, made);
      if (TENON_UNLIKELY(error != Error::Ok)) return blame_value("output", i, spec.name(), error);
    } else if (dynamic) {
      TENON_TRY(resize_tensor(made, sizes));
    }
    tensor = made;
    return Error::Ok;
  }

 private:
  /// Whether there is one that nobody else has, no view of it either.
  static bool is_ours(const Tensor& made) noexcept {
    if (!made.defined() || made.use_count() != 1 || is_borrowed(resizable(made)) ||
        fields(TensorArg(made)).deallocated) {
      return false;
    }
    // Reading the count orders nothing; dropping a copy does, after all that other threads read.
    static_cast<void>(Tensor(made));
    return true;
  }
  template <class = void>
  Error make(tenon::ScalarType type, const Dims& sizes, ArrayRef<DimOrderType> dim_order,
             bool dynamic, Tensor& made) const noexcept {
    CreatorOptions options;
    if (memory_ != nullptr) options = CreatorOptions(*memory_);
    options.type = type;
    options.dynamism = dynamic ? TensorShapeDynamism::DYNAMIC_BOUND : TensorShapeDynamism::STATIC;
    Result<Tensor> result = create<Result<Tensor>>(
        "empty", options, own::ScalarType::Float, [&](const auto& making, auto& draft) noexcept {
          return make_owned(sizes, Dims(dim_order), {}, making, Contents::Uninitialized,
                            draft.draft());
        });
    if (TENON_UNLIKELY(!result.ok())) return fail(result.error(), {result.message()});
    made = std::move(*result);
    return Error::Ok;
  }

  Backend* memory_;
  StoredArray<Tensor> made_;
};

}  // namespace detail
TENON_END_NAMESPACE
