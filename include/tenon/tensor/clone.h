// SPDX-License-Identifier: MIT
// clone_tensor_ptr: a copy that owns its memory.
#pragma once

#include "tenon/tensor/creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Copies elements between host memories of the same sizes, the destination dense. `cast` may be
/// null where the types are equal.
TENON_LAZY TENON_COLD Error copy_views(const TensorFields& to, const TensorFields& from,
                                       CastMode mode, CastFunction cast) noexcept {
  const TensorView out = view_of(to);
  const TensorView in = view_of(from);
  for (const Dims* dims : {&out.sizes, &out.strides, &in.sizes, &in.strides}) {
    TENON_TRY(check_dims("a shape", *dims));
  }
  copy_elements(out, in, mode, cast);
  return Error::Ok;
}
TENON_LAZY Error copy_on_host(const TensorFields& to, const TensorFields& from, CastMode mode,
                              CastFunction cast) noexcept {
  if (from.layout.numel == 0) return Error::Ok;
  if (to.type != from.type || !from.layout.is_dense()) return copy_views(to, from, mode, cast);
  move_block(to.data, from.data, from.nbytes());
  return Error::Ok;
}

/// Copies the elements of `from` to a new tensor like it; at least one is in a backend's memory.
TENON_LAZY Error copy_with_backend(const TensorFields& to, const TensorFields& from, CastMode mode,
                                   CastFunction cast) noexcept {
  if (to.is_template()) return Error::Ok;
  Place source;
  TENON_TRY(find_place(from, "the source tensor", source));
  const Place out = place_of_new(to, view_of(to));
  TENON_TRY(check_lists(out.view));
  if (TENON_UNLIKELY(source.view.sizes != out.view.sizes)) {
    return fail(Error::InvalidState, "the source tensor was changed meanwhile");
  }
  if (out.backend == nullptr && source.backend == nullptr) {
    return copy_on_host(to, from, mode, cast);
  }
  return copy_between(out, source, mode, cast);
}

/// Makes the clone if it or the source is in a backend's memory. The backend's code may resize or
/// deallocate the source while it allocates, not while it copies.
TENON_LAZY TENON_NOINLINE Error make_with_backend(const Tensor& source, const Making& making,
                                                  CastMode mode, CastFunction cast,
                                                  Draft& draft) noexcept {
  TENON_TRY(make_new(making, draft));
  const TensorArg from(source);
  Borrow held;
  TENON_TRY(held.hold(from));
  return copy_with_backend(fields(draft), fields(from), mode, cast);
}

/// Finds the clone's backend when the source or the options involve one.
TENON_LAZY TENON_COLD Error find_clone_backend(const TensorFields& from, Backend* given,
                                               bool same_device, Backend*& backend) noexcept {
  if (same_device && given == nullptr && from.backend == nullptr && from.is_host_accessible() &&
      find_backend(from.device) == nullptr) {
    return fail(Error::NotSupported, "the source tensor", " is on ", from.device,
                ", which has no backend; host_backend() clones to cpu");
  }
  TENON_TRY(find_backend_like(from, given, backend));
  const bool has_nothing = from.is_template() || !from.has_data();
  if (has_nothing && (backend == nullptr || backend->device().type() != DeviceType::Template)) {
    Place nowhere;
    return find_place(from, "the source tensor", nowhere);
  }
  return Error::Ok;
}

/// What a clone of another type needs; null in one that keeps its source's, which does not link it.
struct Casting {
  CastFunction cast = nullptr;
  Error (*check)(ScalarType from, ScalarType to, CastMode mode) noexcept = nullptr;
};

/// Where a clone of `source` is to be, and whether it has no elements, as the source has none.
TENON_LAZY Error plan_clone(const TensorArg& source, const CreatorOptions& options, CastMode mode,
                            const Casting& casting, bool same_device, Making& making,
                            bool& placeholder) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  making.like = &from;
  making.lay_out = &lay_out_like<>;
  making.type = options.type.value_or(from.type);
  making.dynamism = from.dynamism;
  if (casting.check != nullptr) TENON_TRY(casting.check(from.type, making.type, mode));
  const bool has_nothing = from.is_template() || !from.has_data();
  if (TENON_UNLIKELY(options.given_backend() != nullptr || from.backend != nullptr ||
                     !(from.device.is_cpu() || has_nothing))) {
    return find_clone_backend(from, options.given_backend(), same_device, making.backend);
  }
  placeholder = has_nothing;
  return Error::Ok;
}

/// The clone, or the error under the name of `function`. Without a backend given it is where the
/// source is; with `same_device`, pinned or managed memory without a backend is an error, not a
/// clone on cpu. `afterwards` is done once nothing else can fail.
template <class Out, class Afterwards = std::nullptr_t>
Out clone(const char* function, const TensorArg& source, const CreatorOptions& options,
          CastMode mode = CastMode::Checked, const Casting& casting = {}, bool same_device = false,
          [[maybe_unused]] const Afterwards& afterwards = {}) {
  Making making;
  bool placeholder = false;
  Error error = plan_clone(source, options, mode, casting, same_device, making, placeholder);
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  const TensorFields& from = *making.like;
  const bool on_heap = making.backend == nullptr && from.backend == nullptr && from.device.is_cpu();
  const Tensor handle = on_heap ? Tensor() : source.tensor();  // a backend's code may drop it
  Made<Out> made(making.backend);
  if (TENON_UNLIKELY(placeholder)) {
    error = make_placeholder(from, making.type, making.dynamism, made.draft());
  } else if (TENON_UNLIKELY(!on_heap)) {
    error = make_with_backend(handle, making, mode, casting.cast, made.draft());
  } else {
    error = make_new(making, made.draft());
    if (error == Error::Ok) error = copy_on_host(fields(made.draft()), from, mode, casting.cast);
  }
  if constexpr (!std::is_same_v<Afterwards, std::nullptr_t>) {
    if (error == Error::Ok) error = made.commit();
    if (error == Error::Ok) error = afterwards();
  }
  return made.finish(function, error, making.backend);
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
    const CreatorOptions asked(options...);
    detail::Casting casting;
    if constexpr (detail::has_type_v<Options...>) {
      casting = {&detail::cast_elements<>, &detail::check_cast};
    }
    return detail::clone<Out>(function, source, asked, CastMode::Checked, casting, true);
  }
};

inline constexpr CloneTensor<TensorPtr> clone_tensor_ptr{"clone_tensor_ptr"};
inline constexpr CloneTensor<Result<TensorPtr>> try_clone_tensor_ptr{"try_clone_tensor_ptr"};

TENON_END_NAMESPACE
