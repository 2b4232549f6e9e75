// SPDX-License-Identifier: MIT
// empty, full, zeros and ones with their _like and _strided forms, and scalar_tensor.
//
// Each is a function object; its try_ form returns a Result. The tensors own their memory, which is
// the host's or a backend's and aligned to TENON_DATA_ALIGNMENT.
#pragma once

#include <initializer_list>

#include "tenon/kernels/fill.h"
#include "tenon/tensor/from_values.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Finds the backend for a tensor like `from`: `requested`, else the backend of its memory, else
/// the one registered for its device; null for the host's heap.
TENON_TEMPLATE_INLINE Error find_backend_like(const TensorFields& from, Backend* requested,
                                              Backend*& backend) noexcept {
  if (requested != nullptr) {
    backend = null_if_heap(requested);
    return Error::Ok;
  }
  TENON_TRY(find_data_backend(from, "the source tensor", backend));
  if (backend != nullptr || from.device.is_cpu() || from.is_meta()) return Error::Ok;
  if (!from.is_host_accessible())
    return find_memory_backend(from.device, "the source tensor", backend);
  backend = find_backend(from.device);
  return Error::Ok;
}

/// Makes a tensor without data that has the layout and device of `from`.
TENON_TEMPLATE_INLINE TENON_COLD Error make_placeholder(const TensorFields& from,
                                                        const CreateOptions& opts,
                                                        NewTensor& tensor) noexcept {
  TENON_TRY(check_type(opts.type));
  TENON_TRY(make_impl(tensor));
  ImplFields& made = fields(tensor);
  made.layout = from.layout;
  TENON_TRY(made.layout.check());
  TENON_TRY(check_nbytes(made.layout.offsets, elementSize(opts.type)));
  made.type = opts.type;
  made.device = from.device;
  if (from.is_meta() && from.ownership != Ownership::Borrowed) made.ownership = Ownership::Owned;
  made.finalize(opts.dynamism);
  return Error::Ok;
}

/// Completes the options of a tensor like `source`: a type or backend that is not given is the
/// source's. Sets `is_placeholder` if the source is on Meta and has no backend.
TENON_TEMPLATE_INLINE Error complete_like(const TensorArg& source, CreateOptions& opts,
                                          bool& is_placeholder) noexcept {
  TENON_TRY(opts.error);
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  // The option ScalarType::Undefined also stands for the source's type, as in ExecuTorch.
  if (opts.type == ScalarType::Undefined) opts.type = from.type;
  is_placeholder = from.is_meta() && from.data_backend == nullptr && opts.requested == nullptr;
  opts.backend = nullptr;
  return is_placeholder ? Error::Ok : find_backend_like(from, opts.requested, opts.backend);
}

/// The first step of a _like creator: finds the layout. If the source is a meta tensor without a
/// backend, makes the whole result instead, as `placeholder`.
TENON_TEMPLATE_INLINE Error begin_like(const TensorArg& source, CreateOptions& opts, Layout& layout,
                                       NewTensor& placeholder) noexcept {
  bool is_placeholder = false;
  TENON_TRY(complete_like(source, opts, is_placeholder));
  const TensorFields& from = fields(source);
  return is_placeholder ? make_placeholder(from, opts, placeholder)
                        : lay_out_like(from.layout, layout);
}

inline constexpr unsigned char kZeroElement[16] = {};

template <class Shape>
Error make_zeros(const Shape& shape, CreateOptions& opts, NewTensor& tensor) noexcept {
  TENON_TRY(make_owned(shape, opts, true, tensor));
  if (opts.backend == nullptr) return Error::Ok;
  return fill_new(
      fields(tensor), opts.count, "constant",
      [](Backend& backend, const auto& out) { return backend.constant(out, kZeroElement); },
      [&](void* out) noexcept {
        std::memset(out, 0, opts.nbytes());
        return Error::Ok;
      });
}
/// Fills all elements with the element in the 16 bytes at `element`.
template <class Shape>
TENON_NOINLINE Error make_full(const Shape& shape, const unsigned char* element,
                               CreateOptions& opts, NewTensor& tensor) noexcept {
  if (std::memcmp(element, kZeroElement, sizeof kZeroElement) == 0) {
    return make_zeros(shape, opts, tensor);
  }
  TENON_TRY(make_owned(shape, opts, false, tensor));
  return fill_new(
      fields(tensor), opts.count, "constant",
      [&](Backend& backend, const auto& out) { return backend.constant(out, element); },
      [&](void* out) noexcept {
        fill_rows({out, element, opts.nbytes(), elementSize(opts.type)});
        return Error::Ok;
      });
}

// The values that creators fill in. kIsFloat: see store_scalar().

struct Uninitialized {
  template <bool kIsFloat, class Shape>
  static Error make(const Shape& shape, CreateOptions& opts, NewTensor& tensor) noexcept {
    if constexpr (!kIsFloat) TENON_TRY(check_type(opts.type));
    return make_owned(shape, opts, false, tensor);
  }
};
struct Filled {
  template <bool kIsFloat, class Shape>
  static Error make(const Shape& shape, CreateOptions& opts, NewTensor& tensor,
                    const Scalar& value) noexcept {
    unsigned char element[16] = {};
    TENON_TRY(store_scalar<kIsFloat>(opts.type, value, element));
    return make_full(shape, element, opts, tensor);
  }
};
template <int64_t kValue>
struct AllOf {
  template <bool kIsFloat, class Shape>
  static Error make(const Shape& shape, CreateOptions& opts, NewTensor& tensor) noexcept {
    if constexpr (kValue == 0) {
      if constexpr (!kIsFloat) TENON_TRY(check_type(opts.type));
      return make_zeros(shape, opts, tensor);
    } else {
      return Filled::make<kIsFloat>(shape, opts, tensor, kValue);
    }
  }
};

}  // namespace detail

namespace detail {  // function objects

// The three forms of creators, with or without a value.

/// Options: in any order, a type, by default Float; a dynamism, by default DYNAMIC_BOUND; a
/// backend, by default the thread's, or a device, which stands for the backend registered for it
/// (the CPU for the host's heap); `Strides{3, 1}` and `DimOrder{1, 0}`.
/// Ownership: owns its memory.
/// Errors: InvalidArgument (an invalid shape, see make_tensor_ptr(); overlapping or negative
/// strides; a value that does not fit the type), InvalidType (Undefined; a floating value for an
/// integral type, a complex one for a real type), NotFound (a device without a registered backend),
/// OutOfMemory.
/// Cost: one allocation for up to 1 KiB on the host's heap, else two.
template <class Out, class Elements, class... Value>
struct Creator {
  const char* function;

  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, const Value&... value, Options&&... options) const {
    constexpr bool kIsFloat = !has_type_v<Options...>;
    CreateOptions opts = create_options_of(own::ScalarType::Float, options...);
    NewTensor tensor;
    Error error = Error::Ok;
    if constexpr (has_layout_v<Options...>) {
      Layout layout;
      error = lay_out_new(sizes, order_and_strides_of(options...), opts.type, layout);
      if (error == Error::Ok) {
        error = Elements::template make<kIsFloat>(layout, opts, tensor, value...);
      }
    } else {
      error = Elements::template make<kIsFloat>(sizes, opts, tensor, value...);
    }
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
  template <class NumberNeedsBraces, class... More, IfInteger<NumberNeedsBraces> = 0>
  Out operator()(NumberNeedsBraces, More&&...) const
      TENON_MISTAKE("sizes need braces, as in ones({3})");
  template <class SizesComeBeforeValue,
            std::enable_if_t<std::is_arithmetic_v<SizesComeBeforeValue> && sizeof...(Value) != 0,
                             int> = 0>
  Out operator()(SizesComeBeforeValue, const Dims&) const
      TENON_MISTAKE("the sizes come before the value: full({3}, 1.5)");
  template <
      class ListNeedsStrides, class... More,
      std::enable_if_t<std::is_arithmetic_v<ListNeedsStrides> && sizeof...(Value) == 0, int> = 0>
  Out operator()(const Dims&, std::initializer_list<ListNeedsStrides>, const More&...) const
      TENON_MISTAKE("strides are Strides{3, 1}; make_tensor_ptr(sizes, values) takes values");
  template <class TensorNeedsLike, class... More, IfTensor<TensorNeedsLike> = 0>
  Out operator()(const TensorNeedsLike&, const More&...) const
      TENON_MISTAKE("ones_like(t) makes a tensor of t's sizes; so do zeros_like and the others");
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(const Dims&, const Value&..., TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class... TypeDynamismBackendOrDevice, IfNotOptions<TypeDynamismBackendOrDevice...> = 0>
  Out operator()(const Dims&, const Value&..., TypeDynamismBackendOrDevice&&...) const
      TENON_MISTAKE("options are types, dynamisms, backends with a name, and Device(\"cuda\")");
};

/// Gaps between the elements are allocated and filled too.
/// Options: those of empty(), except Strides.
/// Ownership: owns its memory.
/// Errors: those of empty().
/// Cost: that of empty().
template <class Out, class Elements, class... Value>
struct StridedCreator {
  const char* function;

  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, const StridesArg& strides, const Value&... value,
                 Options&&... options) const {
    const StridesList list{strides};
    return Creator<Out, Elements, Value...>{function}(sizes, value..., list, options...);
  }
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(const Dims&, const Dims&, const Value&..., TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class... TypeDynamismBackendOrDevice, IfNotOptions<TypeDynamismBackendOrDevice...> = 0>
  Out operator()(const Dims&, const StridesArg&, const Value&...,
                 TypeDynamismBackendOrDevice&&...) const
      TENON_MISTAKE("options are types, dynamisms, backends with a name, and Device(\"cuda\")");
};

/// The strides are the source's if those are dense, else dense strides in its dim order.
/// Options: in any order, a type, by default the source's; a dynamism, by default DYNAMIC_BOUND; a
/// backend or a device, by default the source's.
/// Ownership: owns its memory. A tensor like a placeholder has no memory.
/// Errors: those of empty(); InvalidState for an undefined source.
/// Cost: that of empty().
template <class Out, class Elements, class... Value>
struct LikeCreator {
  const char* function;

  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(ConstTensorArg source, const Value&... value, Options&&... options) const {
    CreateOptions opts = create_options_of(own::ScalarType::Undefined, options...);
    NewTensor tensor;
    Layout layout;
    Error error = begin_like(source, opts, layout, tensor);
    if (error == Error::Ok && tensor == nullptr) {
      error = Elements::template make<false>(layout, opts, tensor, value...);
    }
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(ConstTensorArg, const Value&..., TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class... TypeDynamismBackendOrDevice, IfNotOptions<TypeDynamismBackendOrDevice...> = 0>
  Out operator()(ConstTensorArg, const Value&..., TypeDynamismBackendOrDevice&&...) const
      TENON_MISTAKE("options are types, dynamisms, backends with a name, and Device(\"cuda\")");
};

template <class Out>
using Empty = Creator<Out, Uninitialized>;
template <class Out, int64_t kValue>
using Constant = Creator<Out, AllOf<kValue>>;

template <class Out>
struct ScalarTensor {
  const char* function;

  /// A 0-d STATIC tensor of a value, Float unless a type is given.
  /// Ownership: owns its memory.
  /// Errors: those of full().
  /// Cost: one allocation.
  /// Source: at::scalar_tensor.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(const tenon::Scalar& value, Options&&... options) const {
    const CreateOptions opts = create_options_of(own::ScalarType::Float, options...);
    NewTensor tensor;
    const Error error = of_scalar(value, opts, tensor);
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
};

}  // namespace detail

// A creator and its try_ form, which returns a Result.
#define TENON_CREATOR(name, Form, ...)                               \
  inline constexpr detail::Form<TensorPtr, __VA_ARGS__> name{#name}; \
  inline constexpr detail::Form<Result<TensorPtr>, __VA_ARGS__> try_##name { "try_" #name }

/// Uninitialised elements: the memory is not touched.
/// Source: at::empty.
TENON_CREATOR(empty, Creator, detail::Uninitialized);
/// empty() with the strides after the sizes, as in ATen.
/// Source: at::empty_strided.
TENON_CREATOR(empty_strided, StridedCreator, detail::Uninitialized);
/// empty() of the sizes of `source`.
/// Source: at::empty_like.
TENON_CREATOR(empty_like, LikeCreator, detail::Uninitialized);

/// Every element is `value`, which must fit the type. The type is Float unless given, even if the
/// value is an integer.
/// Source: executorch::extension::full; at::full, which takes the value's type and wraps what does
/// not fit.
TENON_CREATOR(full, Creator, detail::Filled, Scalar);
/// full() with the strides after the sizes, as in ATen.
TENON_CREATOR(full_strided, StridedCreator, detail::Filled, Scalar);
/// full() of the sizes of `source`, and of its type unless one is given.
/// Source: at::full_like.
TENON_CREATOR(full_like, LikeCreator, detail::Filled, Scalar);

/// Every element is 0. A large tensor's memory is the system's zero pages, which are not touched.
/// Source: at::zeros.
TENON_CREATOR(zeros, Creator, detail::AllOf<0>);
/// zeros() with the strides after the sizes, as in ATen.
TENON_CREATOR(zeros_strided, StridedCreator, detail::AllOf<0>);
/// zeros() of the sizes of `source`.
/// Source: at::zeros_like.
TENON_CREATOR(zeros_like, LikeCreator, detail::AllOf<0>);
/// Every element is 1.
/// Source: at::ones.
TENON_CREATOR(ones, Creator, detail::AllOf<1>);
/// ones() with the strides after the sizes, as in ATen.
TENON_CREATOR(ones_strided, StridedCreator, detail::AllOf<1>);
/// ones() of the sizes of `source`.
/// Source: at::ones_like.
TENON_CREATOR(ones_like, LikeCreator, detail::AllOf<1>);
#undef TENON_CREATOR

inline constexpr detail::ScalarTensor<TensorPtr> scalar_tensor{"scalar_tensor"};
inline constexpr detail::ScalarTensor<Result<TensorPtr>> try_scalar_tensor{"try_scalar_tensor"};

TENON_END_NAMESPACE
