// SPDX-License-Identifier: MIT
// make_tensor_ptr, clone_tensor_ptr, resize_tensor_ptr, for_blob and from_blob as ExecuTorch has
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/compat/executorch_types.h"

namespace executorch {
namespace extension {
inline namespace tenon_compat {

using TensorPtr = std::shared_ptr<aten::Tensor>;
using tenon::TensorImplPtr;

namespace internal {

using aten::ScalarType;
using aten::TensorShapeDynamism;
using tenon::Dims;
using tenon::detail::DataPtr, tenon::detail::Layout, tenon::detail::TypeArg;

/// Any pointer. If no type is given, the dtype is that of the pointee, or Float for void and other
/// pointees. A given type reinterprets the bytes, as for ExecuTorch's void* parameters. Null makes
/// a placeholder.
class AnyPtr {
 public:
  template <class T, std::enable_if_t<!std::is_const_v<T>, int> = 0>
  AnyPtr(T* pointer) noexcept : pointer_(pointer) {
    if constexpr (tenon::detail::is_element_v<T>) type_ = tenon::CppTypeToScalarType<T>::value;
  }
  template <class N, std::enable_if_t<std::is_same_v<N, std::nullptr_t>, int> = 0>
  AnyPtr(N) noexcept {}

  DataPtr data() const noexcept {
    return pointer_ != nullptr ? DataPtr(pointer_) : DataPtr(nullptr);
  }
  void* get() const noexcept { return pointer_; }
  ScalarType type() const noexcept { return type_; }

 private:
  void* pointer_ = nullptr;
  ScalarType type_ = ScalarType::Float;
};

inline TensorPtr share(aten::Tensor tensor) {
  return std::make_shared<aten::Tensor>(std::move(tensor));
}

/// The arguments after the shape, all optional: dtype, device, dynamism and deleter.
template <class T>
inline constexpr bool is_option_v =
    std::is_same_v<T, ScalarType> || std::is_same_v<T, aten::Device> ||
    std::is_same_v<T, aten::DeviceType> || std::is_same_v<T, TensorShapeDynamism> ||
    tenon::detail::is_deleter_v<T>;

struct Options {
  explicit Options(AnyPtr d) noexcept : data(d), opts(d.type()) {}

  void set(ScalarType value) noexcept { opts.type = value; }
  void set(aten::Device value) noexcept {
    opts.device = value;
    check_borrowed = &tenon::detail::check_borrowed<>;
  }
  void set(TensorShapeDynamism value) noexcept { opts.dynamism = value; }
  template <class F, std::enable_if_t<tenon::detail::is_deleter_v<F>, int> = 0>
  void set(F f) {
    if (deleters++ == 0) deleter = tenon::Deleter(data.get(), std::move(f));
  }

  AnyPtr data;
  tenon::detail::CreateOptions opts;
  // Points to check_borrowed() if a device is given.
  tenon::Error (*check_borrowed)(const tenon::detail::TensorFields&) noexcept = nullptr;
  tenon::Deleter deleter;
  int deleters = 0;
};

/// Makes all tensors over foreign memory. For dimensions of size 1 ExecuTorch stores the dense
/// stride, whichever stride was given.
inline aten::Tensor make(const char* function, const Dims& sizes, Dims dim_order, Dims strides,
                         Options& options) {
  Layout layout;
  if (!strides.empty() &&
      tenon::detail::make_layout(sizes, dim_order, strides, tenon::elementSize(options.opts.type),
                                 layout) == tenon::Error::Ok &&
      layout.is_dense()) {
    dim_order = Dims(layout.dim_order());
    strides = Dims();
  }
  tenon::detail::NewTensor new_tensor;
  auto error = options.deleters > 1
                   ? tenon::detail::fail(tenon::Error::InvalidArgument, options.deleters,
                                         " deleters are given, expected at most one")
                   : tenon::detail::borrow_checked(options.data.data(), sizes, dim_order, strides,
                                                   options.opts, &options.deleter, new_tensor);
  if (error == tenon::Error::Ok && options.check_borrowed != nullptr) {
    error = tenon::detail::call_stored<&tenon::detail::check_borrowed<>>(
        options.check_borrowed, tenon::detail::fields(new_tensor));
  }
  return tenon::detail::return_to_user<aten::Tensor>(function, error, new_tensor);
}
template <class... Args>
aten::Tensor make(const char* function, AnyPtr data, const Dims& sizes, const Dims& dim_order,
                  const Dims& strides, Args&&... args) {
  Options options(data);
  (options.set(std::forward<Args>(args)), ...);
  return make(function, sizes, dim_order, strides, options);
}

inline constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;

/// Values that are passed as an argument.
struct Data {
  tenon::detail::Values values;
  bool is_memory = false;  // with sizes, raw memory: Float unless a type is given
  bool is_typed = false;   // the type is explicit: never raw memory
};
/// Values of any element type; a std::vector<uint8_t> is raw memory, as in ExecuTorch.
struct AnyData : Data {
  AnyData() noexcept = default;
  template <class T, std::enable_if_t<tenon::detail::is_element_v<T>, int> = 0>
  AnyData(std::initializer_list<T> list) : Data{list} {}
  template <class C, std::enable_if_t<std::is_convertible_v<C&&, tenon::detail::Values>, int> = 0>
  AnyData(C&& container)
      : Data{std::forward<C>(container), std::is_same_v<std::decay_t<C>, std::vector<uint8_t>>} {}
};
/// Values of an explicit type: `make_tensor_ptr<float>({2}, {1, 2})`.
template <class T>
struct DataOf : Data {
  DataOf(std::initializer_list<T> list = {}) : Data{list} {}
  DataOf(const std::vector<T>& container) : Data{container, false, true} {}
  DataOf(std::vector<T>&& container) : Data{std::move(container), false, true} {}
};
template <class T>
using DataArg = std::conditional_t<std::is_void_v<T>, AnyData, DataOf<T>>;

/// The default dtype: that of T, or that of the values if T is void.
template <class T>
inline constexpr ScalarType kTypeOf = tenon::CppTypeToScalarType<T>::value;
template <>
inline constexpr ScalarType kTypeOf<void> = ScalarType::Undefined;
constexpr TypeArg type_or_deduced(ScalarType type) noexcept {
  return type == ScalarType::Undefined ? TypeArg::deduced() : TypeArg(type);
}

/// Casts that only ExecuTorch allows: it does not count UInt16, UInt32 and UInt64 as integral.
constexpr bool is_to_unsigned(ScalarType from, ScalarType to) noexcept {
  return tenon::isFloatingType(from) && to >= ScalarType::UInt16 && to <= ScalarType::UInt64;
}
inline tenon::Error check_cast(ScalarType from, ScalarType to, tenon::CastMode) noexcept {
  return is_to_unsigned(from, to) ? tenon::Error::Ok : tenon::detail::check_cast(from, to);
}
/// Tensors without data can have any type.
inline tenon::Error check_type(ScalarType, ScalarType to, tenon::CastMode) noexcept {
  return tenon::detail::check_type(to);
}
inline aten::Tensor cast(const char* function, const aten::Tensor& source, ScalarType type) {
  const bool has_data = !source.defined() || tenon::detail::fields(source).data != nullptr;
  return tenon::detail::clone<aten::Tensor>(
      function, source, tenon::detail::create_options_of(type, type), tenon::CastMode::Truncate,
      {&tenon::detail::cast_elements<>, has_data ? &check_cast : &check_type}, true);
}

/// Integers wrap, as in ExecuTorch.
inline tenon::Error convert_values(ScalarType type, void* out,
                                   const tenon::detail::Values& values) noexcept {
  tenon::detail::convert_elements(type, out, values.type(), values.data(),
                                  static_cast<int64_t>(values.count()), tenon::CastMode::Checked);
  return tenon::Error::Ok;
}

/// Makes all tensors of values; 1-d tensors if `sizes` is null.
inline aten::Tensor make(const char* function, const Dims* sizes, Data&& data,
                         const Dims& dim_order, const Dims& strides, TypeArg type,
                         TensorShapeDynamism dynamism) {
  if (data.is_memory && sizes != nullptr) type = type.value_or(ScalarType::Float);
  const ScalarType from = data.values.type();
  const ScalarType to = type.value_or(from);
  // make_tensor() refuses casts of the first case, and takes the second case's values as memory.
  const bool cast_after =
      is_to_unsigned(from, to) || (to != from && data.is_typed && data.values.is_bytes());
  if (cast_after) type = from;
  data.values.take();
  const Dims flat{data.values.count()};
  Layout layout;
  tenon::detail::CreateOptions opts = tenon::detail::create_options_of(from, type, dynamism);
  tenon::detail::NewTensor tensor;
  tenon::Error error = tenon::detail::lay_out_new(sizes == nullptr ? flat : *sizes,
                                                  {&dim_order, &strides}, from, layout);
  if (error == tenon::Error::Ok) {
    error = tenon::detail::make_of_values(data.values, layout, sizes == nullptr,
                                          {&tenon::detail::check_cast<>, &convert_values}, opts,
                                          tensor);
  }
  const auto made =
      tenon::detail::return_to_user<aten::Tensor>(function, error, tensor, opts.backend);
  return cast_after ? cast(function, made, to) : made;
}

/// A 0-d tensor of a value, converted to T unless T is void.
template <class T, class V>
aten::Tensor make_scalar(const char* function, V value, TypeArg type) {
  const auto element = static_cast<std::conditional_t<std::is_void_v<T>, V, T>>(value);
  return tenon::detail::MakeTensor<aten::Tensor>{function}(element, type);
}

/// A tensor, or a TensorPtr, which may be null.
struct Source {
  Source(const aten::Tensor& t) : tensor(t) {}
  Source(const TensorPtr& p) : tensor(p != nullptr ? *p : aten::Tensor()) {}
  aten::Tensor tensor;
};

}  // namespace internal

// ---- make_tensor_ptr over foreign memory ----

/// `(sizes, data, type, device, dynamism, deleter)`, or with dim_order and strides after `data`.
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::AnyPtr data, Args... args) {
  return internal::share(
      internal::make("make_tensor_ptr", data, sizes, {}, {}, std::move(args)...));
}
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::AnyPtr data,
                          const tenon::Dims& dim_order, const tenon::Dims& strides, Args... args) {
  return internal::share(
      internal::make("make_tensor_ptr", data, sizes, dim_order, strides, std::move(args)...));
}

// ---- make_tensor_ptr of values ----

/// An explicit T is the element type, and kType its dtype, the default `type`:
/// `make_tensor_ptr<double>({2}, {1, 2})`. Otherwise both follow from the values.
template <class T = void, aten::ScalarType kType = internal::kTypeOf<T>>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::DataArg<T> values,
                          internal::TypeArg type = internal::type_or_deduced(kType),
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::share(
      internal::make("make_tensor_ptr", &sizes, std::move(values), {}, {}, type, dynamism));
}
template <class T = void, aten::ScalarType kType = internal::kTypeOf<T>>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::DataArg<T> values,
                          const tenon::Dims& dim_order, const tenon::Dims& strides = {},
                          internal::TypeArg type = internal::type_or_deduced(kType),
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::share(internal::make("make_tensor_ptr", &sizes, std::move(values), dim_order,
                                        strides, type, dynamism));
}
template <class T = void, aten::ScalarType kType = internal::kTypeOf<T>>
TensorPtr make_tensor_ptr(internal::DataArg<T> values,
                          internal::TypeArg type = internal::type_or_deduced(kType),
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::share(
      internal::make("make_tensor_ptr", nullptr, std::move(values), {}, {}, type, dynamism));
}
/// V is deduced even if T is explicit, so that a braced argument is a list.
template <class T = void, class V, std::enable_if_t<tenon::detail::is_element_v<V>, int> = 0>
TensorPtr make_tensor_ptr(V value, internal::TypeArg type = internal::TypeArg::deduced()) {
  return internal::share(internal::make_scalar<T>("make_tensor_ptr", value, type));
}

// ---- make_tensor_impl_ptr ----

// Makes the shared impl of ExecuTorch's releases before 0.5, from the same arguments.
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorImplPtr make_tensor_impl_ptr(const tenon::Dims& sizes, internal::AnyPtr data, Args... args) {
  return internal::make("make_tensor_impl_ptr", data, sizes, {}, {}, std::move(args)...).impl();
}
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorImplPtr make_tensor_impl_ptr(const tenon::Dims& sizes, internal::AnyPtr data,
                                   const tenon::Dims& dim_order, const tenon::Dims& strides,
                                   Args... args) {
  return internal::make("make_tensor_impl_ptr", data, sizes, dim_order, strides, std::move(args)...)
      .impl();
}
template <class T = void, aten::ScalarType kType = internal::kTypeOf<T>>
TensorImplPtr make_tensor_impl_ptr(const tenon::Dims& sizes, internal::DataArg<T> values,
                                   internal::TypeArg type = internal::type_or_deduced(kType),
                                   aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::make("make_tensor_impl_ptr", &sizes, std::move(values), {}, {}, type, dynamism)
      .impl();
}
template <class T = void, aten::ScalarType kType = internal::kTypeOf<T>>
TensorImplPtr make_tensor_impl_ptr(const tenon::Dims& sizes, internal::DataArg<T> values,
                                   const tenon::Dims& dim_order, const tenon::Dims& strides = {},
                                   internal::TypeArg type = internal::type_or_deduced(kType),
                                   aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::make("make_tensor_impl_ptr", &sizes, std::move(values), dim_order, strides, type,
                        dynamism)
      .impl();
}
template <class T = void, aten::ScalarType kType = internal::kTypeOf<T>>
TensorImplPtr make_tensor_impl_ptr(internal::DataArg<T> values,
                                   internal::TypeArg type = internal::type_or_deduced(kType),
                                   aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::make("make_tensor_impl_ptr", nullptr, std::move(values), {}, {}, type, dynamism)
      .impl();
}
template <class T = void, class V, std::enable_if_t<tenon::detail::is_element_v<V>, int> = 0>
TensorImplPtr make_tensor_impl_ptr(V value, internal::TypeArg type = internal::TypeArg::deduced()) {
  return internal::make_scalar<T>("make_tensor_impl_ptr", value, type).impl();
}

// ---- make_tensor_ptr of impls and tensors ----

template <class P, std::enable_if_t<std::is_same_v<P, TensorImplPtr>, int> = 0>
TensorPtr make_tensor_ptr(P impl) {
  return internal::share(
      tenon::detail::MakeTensor<aten::Tensor>{"make_tensor_ptr"}(std::move(impl)));
}
/// A view, which keeps the source's memory alive. The deleter, if one is given, runs when the view
/// is gone.
template <class S, class F = std::nullptr_t,
          std::enable_if_t<(std::is_same_v<S, aten::Tensor> || std::is_same_v<S, TensorPtr>)&&  //
                           tenon::detail::is_deleter_v<F>,
                           int> = 0>
TensorPtr make_tensor_ptr(const S& source, const tenon::Dims& sizes = {},
                          const tenon::Dims& dim_order = {}, const tenon::Dims& strides = {},
                          F deleter = nullptr) {
  const aten::Tensor tensor = internal::Source(source).tensor;
  // Not mutable_data(), which would refuse a read-only source before the deleter is taken.
  void* const data = tensor.defined() ? const_cast<void*>(tensor.const_data_ptr()) : nullptr;
  tenon::Deleter release(data, std::move(deleter));
  aten::Tensor view =
      tenon::detail::MakeTensor<aten::Tensor>{"make_tensor_ptr"}(tensor, sizes, dim_order, strides);
  tenon::detail::fields(view).deleter = std::move(release);
  return internal::share(std::move(view));
}

inline TensorPtr clone_tensor_ptr(const internal::Source& source) {
  return tenon::clone_tensor_ptr(source.tensor);
}
/// Casts the elements; for a tensor without data changes only the type.
inline TensorPtr clone_tensor_ptr(const internal::Source& source, aten::ScalarType type) {
  return internal::share(internal::cast("clone_tensor_ptr", source.tensor, type));
}
/// Copies between any two devices, or on the same device.
inline TensorPtr clone_tensor_ptr_to(const internal::Source& source, aten::Device target) {
  return tenon::clone_tensor_ptr_to(source.tensor, target);
}

/// As in ExecuTorch, returns Ok for unchanged sizes, even of a STATIC tensor, and NotSupported for
/// sizes beyond the bound and for another rank.
[[nodiscard]] inline runtime::Error resize_tensor_ptr(TensorPtr& tensor, const tenon::Dims& sizes) {
  using tenon::Error;
  Error error = Error::Ok;
  if (tensor != nullptr && tensor->defined() && sizes.error() == Error::Ok) {
    if (tensor->sizes() == sizes) return runtime::Error::Ok;
    if (tensor->sizes().size() != sizes.size()) {
      error = tenon::detail::fail(Error::NotSupported, "sizes ", sizes, " do not have ",
                                  tensor->dim(), " dimensions");
      return runtime::internal::error_of(tenon::detail::add_context("resize_tensor_ptr", error));
    }
  }
  aten::Tensor none;
  error = tenon::resize_tensor(tensor != nullptr ? *tensor : none, sizes);
  if (error == Error::InvalidArgument) {
    error = tenon::detail::last_error().error = Error::NotSupported;
  }
  return runtime::internal::error_of(error);
}

// ---- for_blob and from_blob ----

class TensorPtrMaker {
 public:
  /// For for_blob().
  TensorPtrMaker(internal::AnyPtr data, tenon::Dims sizes, internal::TypeArg type)
      : options_(data), sizes_(std::move(sizes)) {
    options_.opts.take(type);
  }
  TensorPtrMaker(TensorPtrMaker&&) = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) = default;

  TensorPtrMaker&& type(aten::ScalarType type) { return set(type); }
  TensorPtrMaker&& dynamism(aten::TensorShapeDynamism dynamism) { return set(dynamism); }
  TensorPtrMaker&& device(aten::Device device) { return set(device); }
  template <class F, std::enable_if_t<tenon::detail::is_deleter_v<F>, int> = 0>
  TensorPtrMaker&& deleter(F deleter) {
    return set(std::move(deleter));
  }
  // The parameters are values: a moved vector is left empty, as in ExecuTorch.
  template <class List = tenon::Dims>
  TensorPtrMaker&& dim_order(List dim_order) {
    dim_order_ = dim_order;
    return std::move(*this);
  }
  template <class List = tenon::Dims>
  TensorPtrMaker&& strides(List strides) {
    strides_ = strides;
    return std::move(*this);
  }

  TensorPtr make_tensor_ptr() && {
    return internal::share(
        internal::make("for_blob", sizes_, std::move(dim_order_), std::move(strides_), options_));
  }
  operator TensorPtr() && { return std::move(*this).make_tensor_ptr(); }

 private:
  template <class T>
  TensorPtrMaker&& set(T value) {
    options_.set(std::move(value));
    return std::move(*this);
  }

  internal::Options options_;
  tenon::Dims sizes_;
  tenon::Dims strides_;
  tenon::Dims dim_order_;
};

template <class List = tenon::Dims>
TensorPtrMaker for_blob(internal::AnyPtr data, List sizes,
                        internal::TypeArg type = internal::TypeArg::deduced()) {
  return TensorPtrMaker(data, sizes, type);
}

/// `(data, sizes, type, device, deleter, dynamism)`, or with strides after sizes.
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr from_blob(internal::AnyPtr data, const tenon::Dims& sizes, Args... args) {
  return internal::share(internal::make("from_blob", data, sizes, {}, {}, std::move(args)...));
}
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr from_blob(internal::AnyPtr data, const tenon::Dims& sizes, const tenon::Dims& strides,
                    Args... args) {
  return internal::share(internal::make("from_blob", data, sizes, {}, strides, std::move(args)...));
}

}  // namespace tenon_compat
}  // namespace extension
}  // namespace executorch
