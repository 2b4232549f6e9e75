// SPDX-License-Identifier: MIT
// clone_tensor_ptr: a copy that owns its memory.
#pragma once

#include <utility>

#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/core/result.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/make_impl.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A clone of what the host reads on the host's heap.
TENON_LAZY Error clone_on_host(const TensorFields& from, Making<OnHost> making, CastMode mode,
                               Draft& draft) noexcept {
  TENON_TRY(make_like(from, making, Contents::Uninitialized, draft));
  void* const out = fields(draft).data;
  if (!from.layout.is_dense()) {
    const TensorView to = view_of(fields(draft));
    const TensorView view = view_of(from);
    for (const Dims* dims : {&to.sizes, &to.strides, &view.sizes, &view.strides}) {
      TENON_TRY(check_dims("a shape", *dims));
    }
    copy_elements(to, view, mode, &cast_elements<>);
  } else if (making.type != from.type) {
    cast_block(making.type, out, from.type, from.data, from.layout.numel, mode);
  } else if (from.layout.numel != 0) {
    move_block(out, from.data, from.nbytes());
  }
  return Error::Ok;
}

/// Any other clone, of a tensor that has data.
template <class Where>
Error clone_between(const TensorFields& from, Making<Where> making, CastMode mode,
                    Draft& draft) noexcept {
  Place source;
  TENON_TRY(find_place(from, "the source tensor", source));
  TENON_TRY(make_like(from, making, Contents::Uninitialized, draft));
  const Place out = place_of_new(fields(draft), view_of(fields(draft)));
  TENON_TRY(check_dims("sizes", out.view.sizes));
  TENON_TRY(check_dims("strides", out.view.strides));
  if (out.backend == nullptr && source.backend == nullptr) {
    copy_elements(out.view, source.view, mode, &cast_elements<>);
    return Error::Ok;
  }
  return copy_between(out, source, mode, &cast_elements<>);
}

inline bool is_template_backend(OnHost) noexcept { return false; }
inline bool is_template_backend(InBackend where) noexcept {
  return where.backend->device().type() == DeviceType::Template;
}

/// Whether a clone can be on the source's device: memory of the heap is on cpu alone.
TENON_LAZY Error check_same_device(const TensorArg& source) noexcept {
  if (!source.defined()) return Error::Ok;
  const TensorFields& from = fields(source);
  if (from.device.is_cpu() || from.backend != nullptr || !from.is_host_accessible() ||
      !from.has_data() || find_backend(from.device) != nullptr) {
    return Error::Ok;
  }
  return fail(Error::NotSupported,
              {"the source tensor is on ", from.device,
               ", for which no backend is registered; with host_backend() the clone is on cpu"});
}

inline constexpr auto kNothingElse = []() noexcept { return Error::Ok; };

/// A clone that a backend has to do with. `afterwards` is done once it is certain.
template <class Out, class Afterwards>
TENON_NOINLINE Out clone_with_backend(const char* function, const TensorFields& from,
                                      ScalarType type, Backend* given, CastMode mode,
                                      const Afterwards& afterwards) {
  Backend* backend = nullptr;
  Error error = check_cast(from.type, type, mode);
  if (error == Error::Ok) error = find_backend_like(from, given, backend);
  if (error != Error::Ok) return Made<Out>().finish(function, error);
  return create<Out>(
      function, type, from.dynamism, backend,
      [&](const auto& making, auto& made) noexcept -> Error {
        TENON_TRY(is_template_backend(making.where)
                      ? make_like(from, making, Contents::Uninitialized, made.draft())
                      : clone_between(from, making, mode, made.draft()));
        TENON_TRY(made.commit());
        return afterwards();
      });
}

/// A clone of what is on the host's heap, or has no data.
TENON_LAZY Error make_clone(const TensorFields& from, ScalarType type, CastMode mode,
                            Draft& draft) noexcept {
  TENON_TRY(check_cast(from.type, type, mode));
  if (TENON_UNLIKELY(from.is_template() || !from.has_data())) {
    return make_placeholder(from, type, from.dynamism, draft);
  }
  return clone_on_host(from, {type, from.dynamism, {}}, mode, draft);
}

/// The clone, or the error under the name of `function`. Without a backend given it is where the
/// source is.
template <class Out>
Out clone(const char* function, const TensorArg& source, const CreatorOptions& options,
          CastMode mode = CastMode::Checked) {
  const Error error = check_defined(source, "the source tensor");
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  const TensorFields& from = fields(source);
  const ScalarType type = options.type.value_or(from.type);
  const bool has_nothing = from.is_template() || !from.has_data();
  if (TENON_UNLIKELY(options.given_backend() != nullptr || from.backend != nullptr ||
                     !(from.device.is_cpu() || has_nothing))) {
    return clone_with_backend<Out>(function, from, type, options.given_backend(), mode,
                                   kNothingElse);
  }
  Made<Out> made;
  return made.finish(function, make_clone(from, type, mode, made.draft()));
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
    if (asked.given_backend() == nullptr) {
      const Error error = detail::check_same_device(source);
      if (TENON_UNLIKELY(error != Error::Ok)) return detail::Made<Out>().finish(function, error);
    }
    return detail::clone<Out>(function, source, asked);
  }
};

inline constexpr CloneTensor<TensorPtr> clone_tensor_ptr{"clone_tensor_ptr"};
inline constexpr CloneTensor<Result<TensorPtr>> try_clone_tensor_ptr{"try_clone_tensor_ptr"};

TENON_END_NAMESPACE
