// SPDX-License-Identifier: MIT
// clone_tensor_ptr: a copy that owns its memory.
#pragma once

#include <utility>

#include "tenon/config.h"
#include "tenon/core/result.h"
#include "tenon/kernels/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/make_impl.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// `type` Undefined stands for the source's.
TENON_LAZY Error make_clone(const TensorArg& source, ScalarType type, CastMode mode,
                            Draft& draft) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  if (type == ScalarType::Undefined) type = from.type;
  TENON_TRY(check_cast(from.type, type, mode));
  if (!from.has_data() || from.device.type() == DeviceType::Template) {
    TENON_TRY(start_draft(draft));
    ImplFields& made = fields(draft);
    TENON_TRY(make_layout(from.layout.sizes, Dims(from.layout.dim_order), from.layout.strides,
                          elementSize(type), made.layout));
    made.type = type;
    made.device = from.device;
    made.settle(from.dynamism);
    return Error::Ok;
  }
  if (TENON_UNLIKELY(!from.device.is_host_accessible())) {
    return fail(Error::NotSupported, {"memory on ", from.device, " cannot be read by the host"});
  }
  TENON_TRY(make_like(source, type, from.dynamism, Contents::Uninitialized, draft));
  void* const out = fields(draft).data;
  if (!from.layout.is_dense()) {
    const TensorView to = view_of(fields(draft));
    const TensorView view = view_of(from);
    for (const Dims* dims : {&to.sizes, &to.strides, &view.sizes, &view.strides}) {
      TENON_TRY(check_dims("a shape", *dims));
    }
    copy_elements(to, view, mode);
  } else if (type != from.type) {
    cast_block(type, out, from.type, from.data, from.layout.numel, mode);
  } else if (from.layout.numel != 0) {
    move_block(out, from.data, from.nbytes());
  }
  return Error::Ok;
}

}  // namespace detail

template <class Out>
struct CloneTensor {
  const char* function;

  /// A copy with the source's dtype or with `type`, its dynamism and dim order; dense strides are
  /// kept, others become dense in the same dim order. The clone of a placeholder is a placeholder.
  /// Ownership: owns its memory, which is the host's, and is never read-only.
  /// Errors: InvalidType where canCast refuses; InvalidState for an undefined source; NotSupported
  /// for memory that the host cannot read; OutOfMemory. Integers out of the target's range wrap, as
  /// in C++.
  /// Source: executorch::extension::clone_tensor_ptr; at::Tensor::clone and to.
  Out operator()(TensorArg source) const {
    detail::Made<Out> made;
    return made.finish(function, detail::make_clone(source, own::ScalarType::Undefined,
                                                    CastMode::Checked, made.draft()));
  }
  Out operator()(TensorArg source, ScalarType type) const {
    detail::Made<Out> made;
    Error error = detail::check_type(detail::own_type(type));
    if (error == Error::Ok) {
      error = detail::make_clone(source, detail::own_type(type), CastMode::Checked, made.draft());
    }
    return made.finish(function, error);
  }
};

inline constexpr CloneTensor<TensorPtr> clone_tensor_ptr{"clone_tensor_ptr"};
inline constexpr CloneTensor<Result<TensorPtr>> try_clone_tensor_ptr{"try_clone_tensor_ptr"};

TENON_END_NAMESPACE
