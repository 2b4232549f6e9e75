// SPDX-License-Identifier: MIT
// clone_tensor_ptr: a copy that owns its memory.
#pragma once

#include "tenon/kernels/convert_block.h"
#include "tenon/tensor/creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Copies the elements of `from` to a new tensor like it.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error copy_to_new(const TensorFields& made,
                                                       const TensorFields& from, CastMode mode,
                                                       CastFunction cast) noexcept {
  if (made.is_meta()) return Error::Ok;
  MemoryLocation source;
  TENON_TRY(find_location(from, "the source tensor", source));
  const MemoryLocation out = locate_new(made);
  if (source.view.sizes != out.view.sizes) {
    return fail(Error::InvalidState, "the source tensor was changed meanwhile");
  }
  return copy(out, source, mode, cast);
}
/// copy_to_new() for host memory; one block if the source is dense and of the same type.
TENON_TEMPLATE_INLINE Error copy_on_heap(const TensorFields& made, const TensorFields& from,
                                         CastMode mode, CastFunction cast) noexcept {
  if (made.type != from.type || !from.layout.is_dense() || from.layout.numel == 0) {
    return copy_to_new(made, from, mode, cast);
  }
  move_dense(made.data, from.data, from.nbytes());  // it lies like the source
  return Error::Ok;
}

/// Makes the clone if it or the source is in a backend's memory. The backend's code may resize or
/// deallocate the source while it allocates, not while it copies.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error clone_with_backend(const TensorArg& source,
                                                              CreateOptions& opts, CastMode mode,
                                                              CastFunction cast,
                                                              NewTensor& tensor) noexcept {
  // The backend's code may drop the source.
  const Tensor kept = source.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
  Layout layout;
  TENON_TRY(lay_out_like(fields(source).layout, layout));
  TENON_TRY(check_shape(layout, opts));
  TENON_TRY(make_owned(layout, opts, false, tensor));
  const ConstTensorArg from(kept);  // as it is now
  MemoryHold hold;
  TENON_TRY(hold.hold(from));
  return copy_to_new(fields(tensor), fields(from), mode, cast);
}

/// Finds the clone's backend when the source or the options involve one.
TENON_TEMPLATE_INLINE TENON_COLD Error find_clone_backend(const TensorFields& from,
                                                          Backend* requested, bool same_device,
                                                          Backend*& backend) noexcept {
  if (same_device && requested == nullptr && from.data_backend == nullptr &&
      from.is_host_accessible() && find_backend(from.device) == nullptr) {
    return fail(Error::NotSupported, "the source tensor", " is on ", from.device,
                ", which has no backend; host_backend() clones to cpu");
  }
  TENON_TRY(find_backend_like(from, requested, backend));
  const bool has_nothing = from.is_meta() || !from.has_data();
  if (has_nothing && (backend == nullptr || backend->device().type() != DeviceType::Meta)) {
    MemoryLocation nowhere;
    return find_location(from, "the source tensor", nowhere);  // which says why
  }
  return Error::Ok;
}

/// The options of a clone in a backend's memory, or on the heap for the host's.
inline CreateOptions options_in(Backend& backend) noexcept {
  return create_options_of(ScalarType::Undefined, backend);
}

/// The functions that a clone to another type needs. Null in other clones, which do not link them.
struct Casting {
  CastFunction cast = nullptr;
  Error (*check)(ScalarType from, ScalarType to, CastMode mode) noexcept = nullptr;
};

/// Completes the options of a clone: `is_placeholder` where it has no elements, like the source.
TENON_TEMPLATE_INLINE Error plan_clone(const TensorArg& source, CastMode mode,
                                       const Casting& casting, bool same_device,
                                       CreateOptions& opts, bool& is_placeholder) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  if (!opts.has_type) opts.type = from.type;
  opts.dynamism = from.dynamism;
  opts.backend = nullptr;  // whatever BackendScope there is
  if (casting.check != nullptr) TENON_TRY(casting.check(from.type, opts.type, mode));
  const bool has_nothing = from.is_meta() || !from.has_data();
  if (opts.requested != nullptr || from.data_backend != nullptr ||
      !(from.device.is_cpu() || has_nothing)) {
    return find_clone_backend(from, opts.requested, same_device, opts.backend);
  }
  is_placeholder = has_nothing;
  return Error::Ok;
}

/// Makes a clone, by default where the source is. With `same_device`, pinned or managed memory
/// without a backend is an error, not a clone on cpu.
TENON_TEMPLATE_INLINE Error make_clone(const TensorArg& source, CreateOptions& opts, CastMode mode,
                                       const Casting& casting, bool same_device,
                                       NewTensor& tensor) noexcept {
  bool is_placeholder = false;
  TENON_TRY(plan_clone(source, mode, casting, same_device, opts, is_placeholder));
  const TensorFields& from = fields(source);
  if (is_placeholder) return make_placeholder(from, opts, tensor);
  if (opts.backend != nullptr || from.data_backend != nullptr || !from.device.is_cpu()) {
    return clone_with_backend(source, opts, mode, casting.cast, tensor);
  }
  Layout nested;  // of a source that is not dense
  const bool is_dense = from.layout.is_dense();
  if (!is_dense) TENON_TRY(lay_out_like(from.layout, nested));
  const ShapeArg shape(is_dense ? from.layout : nested);
  TENON_TRY(check_shape(shape, opts));
  Error error = make_owned(shape, opts, false, tensor);
  if (error == Error::Ok) error = copy_on_heap(fields(tensor), from, mode, casting.cast);
  clear_after_baseline();  // with -Og GCC omits this after it copied the layout
  return error;
}
/// make_clone(), returned to the caller of `function`.
template <class Out>
Out clone(const char* function, const TensorArg& source,
          CreateOptions opts = CreateOptions(ScalarType::Undefined),
          CastMode mode = CastMode::Checked, const Casting& casting = {},
          bool same_device = false) {
  NewTensor tensor;
  const Error error = make_clone(source, opts, mode, casting, same_device, tensor);
  return return_to_user<Out>(function, error, tensor, opts.backend);
}

}  // namespace detail

template <class Out>
struct CloneTensor {
  const char* function;

  /// A copy with the source's dtype or another, its dynamism and dim order; dense strides are kept,
  /// others become dense in the same dim order. It is in the memory of the source's backend, of the
  /// one registered for the source's device, or of one that is given. The clone of a placeholder is
  /// a placeholder.
  ///
  /// Options: a type, a backend.
  /// Ownership: owns its memory, and is never read-only.
  /// Errors: InvalidType where canCast refuses; InvalidState for an undefined or a deallocated
  /// source; NotSupported for memory of a device other than cpu, pinned and managed memory too,
  /// without a backend; OutOfMemory. Integers out of the target's range wrap, as in C++.
  /// Source: executorch::extension::clone_tensor_ptr; at::Tensor::clone and to.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(detail::ConstTensorArg source, Options&&... options) const {
    static_assert((... && !std::is_same_v<std::decay_t<Options>, TensorShapeDynamism>),
                  "a clone has its source's dynamism");
    detail::Casting casting;
    if constexpr (detail::has_type_v<Options...>) {
      casting = {&detail::cast_elements<>, &detail::check_cast<>};
    }
    detail::CreateOptions opts = detail::create_options_of(own::ScalarType::Undefined, options...);
    detail::NewTensor tensor;
    const Error error = detail::make_clone(source, opts, CastMode::Checked, casting, true, tensor);
    return detail::return_to_user<Out>(function, error, tensor, opts.backend);
  }
};

inline constexpr CloneTensor<TensorPtr> clone_tensor_ptr{"clone_tensor_ptr"};
inline constexpr CloneTensor<Result<TensorPtr>> try_clone_tensor_ptr{"try_clone_tensor_ptr"};

TENON_END_NAMESPACE
