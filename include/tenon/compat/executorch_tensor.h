// SPDX-License-Identifier: MIT
// The vocabulary of executorch::aten and executorch::runtime, and make_tensor_ptr,
// clone_tensor_ptr, resize_tensor_ptr, for_blob and from_blob as ExecuTorch has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

#if TENON_ATEN_MODE
#error "tenon: compat/executorch.h is for plain mode; build without USE_ATEN_LIB"
#endif

namespace executorch {

namespace aten {
using tenon::ArrayRef, tenon::BFloat16, tenon::complex, tenon::Device, tenon::DeviceType,
    tenon::DimOrderType, tenon::Half, tenon::Scalar, tenon::ScalarType, tenon::SizesType,
    tenon::StridesType, tenon::Tensor, tenon::TensorImpl, tenon::TensorShapeDynamism;
using tenon::canCast, tenon::elementSize, tenon::isComplexType, tenon::isFloatingType,
    tenon::isIntegralType, tenon::promoteTypes, tenon::toString;
using IntArrayRef = ArrayRef<int64_t>;
}  // namespace aten

namespace runtime {
using tenon::canCast, tenon::elementSize, tenon::isComplexType, tenon::isFloatingType,
    tenon::isIntegralType, tenon::promoteTypes, tenon::toString;
using tenon::CppTypeToScalarType, tenon::Error, tenon::ScalarTypeToCppType;

/// tenon::Result with the accessor's older name.
template <class T>
class Result : public tenon::Result<T> {
 public:
  using tenon::Result<T>::Result;
  T& get() { return this->value(); }
  const T& get() const { return this->value(); }
};

/// Nothing needs to be set up.
inline void runtime_init() noexcept {}
}  // namespace runtime

namespace extension {

using TensorPtr = std::shared_ptr<aten::Tensor>;
using tenon::TensorImplPtr;

namespace internal {

using aten::ScalarType;
using aten::TensorShapeDynamism;
using tenon::Dims;

/// A pointer to anything. Without a type it takes that of what it points to, Float for void and for
/// what is no element; a type given reinterprets the bytes, as ExecuTorch's void* parameters do.
/// Null is a placeholder.
class AnyPtr {
 public:
  template <class T, std::enable_if_t<!std::is_const_v<T>, int> = 0>
  AnyPtr(T* pointer) noexcept : pointer_(pointer) {
    if constexpr (tenon::detail::is_element_v<T>) type_ = tenon::CppTypeToScalarType<T>::value;
  }
  template <class N, std::enable_if_t<std::is_same_v<N, std::nullptr_t>, int> = 0>
  AnyPtr(N) noexcept {}

  tenon::DataPtr data() const noexcept {
    return pointer_ != nullptr ? tenon::DataPtr(pointer_) : tenon::DataPtr(nullptr);
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

/// The arguments behind the shape: dtype, device, dynamism and deleter, any of them left out.
template <class T>
inline constexpr bool is_option_v =
    std::is_same_v<T, ScalarType> || std::is_same_v<T, aten::Device> ||
    std::is_same_v<T, aten::DeviceType> || std::is_same_v<T, TensorShapeDynamism> ||
    tenon::detail::is_deleter_v<T>;

struct Options {
  explicit Options(AnyPtr d) noexcept : data(d), type(d.type()) {}

  void set(ScalarType value) noexcept { type = value; }
  void set(aten::Device value) noexcept {
    device = value;
    check_memory = &tenon::detail::check_and_name_backend<>;
  }
  void set(TensorShapeDynamism value) noexcept { dynamism = value; }
  template <class F, std::enable_if_t<tenon::detail::is_deleter_v<F>, int> = 0>
  void set(F f) {
    if (deleters++ == 0) deleter = tenon::Deleter(data.get(), std::move(f));
  }

  AnyPtr data;
  ScalarType type;
  aten::Device device;
  // check_and_name_backend() where a device was given.
  runtime::Error (*check_memory)(tenon::Backend*, tenon::detail::Draft&) noexcept = nullptr;
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  tenon::Deleter deleter;
  int deleters = 0;
};

/// The one way a tensor over foreign memory is made here. ExecuTorch stores the dense stride for a
/// size-1 dimension, whatever stride was given.
inline TensorPtr make(const char* function, const Dims& sizes, Dims dim_order, Dims strides,
                      Options& options) {
  tenon::Layout layout;
  if (!strides.empty() &&
      tenon::make_layout(sizes, dim_order, strides, tenon::elementSize(options.type), layout) ==
          tenon::Error::Ok &&
      layout.is_dense()) {
    dim_order = Dims(layout.dim_order);
    strides = Dims();
  }
  tenon::detail::Made<aten::Tensor> made;
  auto error = options.deleters > 1
                   ? tenon::detail::fail(runtime::Error::InvalidArgument, options.deleters,
                                         " deleters; memory is released once")
                   : tenon::detail::make_from_pointer(
                         options.data.data(), sizes, dim_order, strides, options.type,
                         options.dynamism, options.device, options.deleter, made.draft());
  if (error == runtime::Error::Ok && options.check_memory != nullptr) {
    error = options.check_memory(nullptr, made.draft());
  }
  return share(made.finish(function, error));
}
template <class... Args>
TensorPtr make(const char* function, AnyPtr data, const Dims& sizes, const Dims& dim_order,
               const Dims& strides, Args&&... args) {
  Options options(data);
  (options.set(std::forward<Args>(args)), ...);
  return make(function, sizes, dim_order, strides, options);
}

inline constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
inline constexpr tenon::MakeTensor<aten::Tensor> make_tensor{"make_tensor_ptr"};

/// Values; a std::vector<uint8_t> is raw memory, as in ExecuTorch: Float unless a type is given.
struct Data {
  template <class T, std::enable_if_t<tenon::detail::is_element_v<T>, int> = 0>
  Data(std::initializer_list<T> list) noexcept : values(list) {}
  template <class C, std::enable_if_t<std::is_convertible_v<C&&, tenon::Values>, int> = 0>
  Data(C&& container)
      : values(std::forward<C>(container)),
        is_bytes(std::is_same_v<std::decay_t<C>, std::vector<uint8_t>>) {}
  Data(Data&& other) noexcept : values(other.values.pass()), is_bytes(other.is_bytes) {}

  tenon::TypeArg type(tenon::TypeArg given) const noexcept {
    return is_bytes ? given.value_or(ScalarType::Float) : given;
  }
  tenon::Values values;
  bool is_bytes = false;
};

template <class T, class Any>
using ListOr = std::conditional_t<std::is_void_v<T>, Any, std::initializer_list<T>>;

/// A parameter, as the next function takes it.
inline tenon::Values pass(tenon::Values& values) { return values.pass(); }
template <class List>
List&& pass(List& list) {
  return std::move(list);
}

/// A tensor, or a TensorPtr, which may be null.
struct Source {
  Source(const aten::Tensor& t) : tensor(t) {}
  Source(const TensorPtr& p) : tensor(p != nullptr ? *p : aten::Tensor()) {}
  aten::Tensor tensor;
};

}  // namespace internal

// ---- make_tensor_ptr over foreign memory ----

/// `(sizes, data, type, device, dynamism, deleter)`, and the same behind dim_order and strides.
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::AnyPtr data, Args... args) {
  return internal::make("make_tensor_ptr", data, sizes, {}, {}, std::move(args)...);
}
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::AnyPtr data,
                          const tenon::Dims& dim_order, const tenon::Dims& strides, Args... args) {
  return internal::make("make_tensor_ptr", data, sizes, dim_order, strides, std::move(args)...);
}

// ---- make_tensor_ptr of values ----

/// T is the element type where that is spelled out: `make_tensor_ptr<double>({2}, {1, 2})`.
template <class T = void>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::ListOr<T, internal::Data> values,
                          tenon::TypeArg type = tenon::TypeArg::deduced(),
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  internal::Data data(std::move(values));
  return internal::share(
      internal::make_tensor(sizes, data.values.pass(), data.type(type), dynamism));
}
template <class T = void>
TensorPtr make_tensor_ptr(const tenon::Dims& sizes, internal::ListOr<T, internal::Data> values,
                          const tenon::Dims& dim_order, const tenon::Dims& strides = {},
                          tenon::TypeArg type = tenon::TypeArg::deduced(),
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  internal::Data data(std::move(values));
  return internal::share(internal::make_tensor(sizes, data.values.pass(), dim_order, strides,
                                               data.type(type), dynamism));
}
template <class T = void>
TensorPtr make_tensor_ptr(internal::ListOr<T, tenon::Values> values,
                          tenon::TypeArg type = tenon::TypeArg::deduced(),
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  return internal::share(internal::make_tensor(internal::pass(values), type, dynamism));
}
template <class T, std::enable_if_t<tenon::detail::is_element_v<T>, int> = 0>
TensorPtr make_tensor_ptr(T value, tenon::TypeArg type = tenon::TypeArg::deduced()) {
  return internal::share(internal::make_tensor(value, type));
}

// ---- make_tensor_ptr of impls and tensors ----

/// The shared impl of releases before 0.5. An object, so without `<T>`: the type is the values'.
inline constexpr tenon::MakeTensor<TensorImplPtr> make_tensor_impl_ptr{"make_tensor_impl_ptr"};

template <class P, std::enable_if_t<std::is_same_v<P, TensorImplPtr>, int> = 0>
TensorPtr make_tensor_ptr(P impl) {
  return internal::share(internal::make_tensor(std::move(impl)));
}
/// A view, which keeps the source's memory alive; with a deleter, that runs when the view is gone.
template <class S, class F = std::nullptr_t,
          std::enable_if_t<(std::is_same_v<S, aten::Tensor> || std::is_same_v<S, TensorPtr>)&&  //
                           tenon::detail::is_deleter_v<F>,
                           int> = 0>
TensorPtr make_tensor_ptr(const S& source, const tenon::Dims& sizes = {},
                          const tenon::Dims& dim_order = {}, const tenon::Dims& strides = {},
                          F deleter = nullptr) {
  const aten::Tensor tensor = internal::Source(source).tensor;
  // Not mutable_data(): that refuses a read-only source, before the deleter has an owner.
  void* const data = tensor.defined() ? const_cast<void*>(tensor.const_data_ptr()) : nullptr;
  tenon::Deleter release(data, std::move(deleter));
  TensorPtr view = internal::share(internal::make_tensor(tensor, sizes, dim_order, strides));
  tenon::detail::fields(view->impl()).deleter = std::move(release);
  return view;
}

/// With a type, the elements are cast to it.
template <class... Type>
TensorPtr clone_tensor_ptr(const internal::Source& source, Type... type) {
  return tenon::clone_tensor_ptr(source.tensor, type...);
}
/// Between any two devices, and on one.
inline TensorPtr clone_tensor_ptr_to(const internal::Source& source, aten::Device target) {
  return tenon::clone_tensor_ptr_to(source.tensor, target);
}

/// Ok for the sizes that the tensor has, STATIC or not; NotSupported beyond its bound and for
/// another number of dimensions, as ExecuTorch reports it.
[[nodiscard]] inline runtime::Error resize_tensor_ptr(TensorPtr& tensor, const tenon::Dims& sizes) {
  using tenon::detail::blame;
  using tenon::detail::fail;
  if (tensor != nullptr && tensor->defined() && sizes.error() == runtime::Error::Ok) {
    if (tensor->sizes() == sizes) return runtime::Error::Ok;
    if (tensor->sizes().size() != sizes.size()) {
      return blame("resize_tensor_ptr", fail(runtime::Error::NotSupported, "sizes ", sizes,
                                             " are not of ", tensor->dim(), " dimensions"));
    }
  }
  aten::Tensor none;
  const runtime::Error error = tenon::resize_tensor(tensor != nullptr ? *tensor : none, sizes);
  if (error != runtime::Error::InvalidArgument) return error;
  return tenon::detail::last_error().error = runtime::Error::NotSupported;
}

// ---- for_blob and from_blob ----

class TensorPtrMaker {
 public:
  TensorPtrMaker(TensorPtrMaker&&) = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) = default;

  TensorPtrMaker&& type(aten::ScalarType type) { return set(type); }
  TensorPtrMaker&& dynamism(aten::TensorShapeDynamism dynamism) { return set(dynamism); }
  TensorPtrMaker&& device(aten::Device device) { return set(device); }
  template <class F, std::enable_if_t<tenon::detail::is_deleter_v<F>, int> = 0>
  TensorPtrMaker&& deleter(F deleter) {
    return set(std::move(deleter));
  }
  TensorPtrMaker&& dim_order(tenon::Dims dim_order) {
    dim_order_ = std::move(dim_order);
    return std::move(*this);
  }
  TensorPtrMaker&& strides(tenon::Dims strides) {
    strides_ = std::move(strides);
    return std::move(*this);
  }

  TensorPtr make_tensor_ptr() && {
    return internal::make("for_blob", sizes_, std::move(dim_order_), std::move(strides_), options_);
  }
  operator TensorPtr() && { return std::move(*this).make_tensor_ptr(); }

 private:
  friend TensorPtrMaker for_blob(internal::AnyPtr data, tenon::Dims sizes, tenon::TypeArg type);
  TensorPtrMaker(internal::AnyPtr data, tenon::Dims sizes, tenon::TypeArg type)
      : options_(data), sizes_(std::move(sizes)) {
    options_.type = type.value_or(options_.type);
  }
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

inline TensorPtrMaker for_blob(internal::AnyPtr data, tenon::Dims sizes,
                               tenon::TypeArg type = tenon::TypeArg::deduced()) {
  return TensorPtrMaker(data, std::move(sizes), type);
}

/// `(data, sizes, type, device, deleter, dynamism)`, and the same behind strides.
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr from_blob(internal::AnyPtr data, const tenon::Dims& sizes, Args... args) {
  return internal::make("from_blob", data, sizes, {}, {}, std::move(args)...);
}
template <class... Args, std::enable_if_t<(internal::is_option_v<Args> && ...), int> = 0>
TensorPtr from_blob(internal::AnyPtr data, const tenon::Dims& sizes, const tenon::Dims& strides,
                    Args... args) {
  return internal::make("from_blob", data, sizes, {}, strides, std::move(args)...);
}

}  // namespace extension
}  // namespace executorch
