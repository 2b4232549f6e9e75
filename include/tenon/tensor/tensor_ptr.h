// SPDX-License-Identifier: MIT
// make_tensor_ptr, make_tensor_impl_ptr, make_tensor: tensors made of data, values, impls or
// tensors.
//
// These, like all creators, are function objects. So one set of overloads serves every return type,
// and argument-dependent lookup is not done: if empty() were a function, `empty(std::vector{2, 3})`
// would find std::empty.
#pragma once

#include "tenon/tensor/from_values.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Returns another handle to a tensor's impl, or the error. Declared inline so that GCC inlines it:
/// make_tensor_ptr(t) then takes 222 instructions instead of 250.
template <class Out>
inline Out share(const char* function, Error error, const ConstTensorArg& tensor) {
  typename IsResult<Out>::Value handle;
  if (error == Error::Ok) {
    error = make_handle(Tensor(tensor.tensor()), handle, metadata_backend_like(tensor));
  }
  return return_to_user<Out>(function, error, std::move(handle));
}
template <class Out>
inline Out share(const char* function, const ConstTensorArg& tensor) {
  return share<Out>(function, check_defined(tensor, "the tensor"), tensor);
}

}  // namespace detail

namespace detail {  // function objects

/// Options: in any order, a type, by default the data's; a dynamism, by default DYNAMIC_BOUND (rank
/// 0 is always STATIC); the backend that allocates the memory, or that the pointer's memory belongs
/// to, or the device of the pointer's memory; with sizes also `Strides{3, 1}` and `DimOrder{1, 0}`.
/// ExecuTorch's two lists, the dim order first, are accepted too. An empty dim order follows from
/// the strides and empty strides from the dim order; without both the tensor is row-major.
/// Ownership: the tensor owns its memory, unless it is given a pointer.
/// Errors: InvalidArgument (an invalid shape: more than kMaxDims dimensions, a negative size, a
/// count or an offset that overflows, a dim_order that is not a permutation, strides that do not
/// nest in the dim_order; more or less data than the shape needs; null data for a shape with
/// elements; overlapping or negative strides over memory that the tensor will own; a value, in a
/// container too, that does not fit the type), InvalidType (a type other than the pointer's; a type
/// to which canCast refuses to cast the values; Undefined), NotFound (a device without a registered
/// backend), OutOfMemory.
/// Source: executorch::extension::make_tensor_ptr.
template <class Out>
struct MakeTensor {
  const char* function;

  /// A 0-d tensor of one value.
  template <class T, class... Options, std::enable_if_t<is_element_v<T>, int> = 0,
            IfOptions<Options...> = 0>
  Out operator()(T value, Options&&... options) const {
    constexpr auto type = scalar_type_of<T>();
    const CreateOptions opts = create_options_of(type, options...);
    NewTensor tensor;
    Error error = Error::Ok;
    if constexpr (has_type_v<Options...>) {
      error = check_cast(type, opts.type);
      if (error == Error::Ok) error = of_scalar(value, opts, tensor);
    } else {
      alignas(16) unsigned char element[16] = {};
      std::memcpy(element, &value, sizeof value);
      error = of_element(element, opts, tensor);
    }
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }

  /// A 1-d tensor of the elements of a list or container. Elements of uint8_t are values here, not
  /// raw memory.
  /// Ownership: adopts a moved contiguous container; copies everything else, and values that are
  /// cast.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(Values values, Options&&... options) const {
    values.take();
    NewTensor tensor;
    return of_shape(values, Dims{values.count()}, true, tensor, options...);
  }

  /// A tensor of nested containers, such as std::vector<std::vector<float>>, or of an array, such
  /// as float[2][3]. It has as many dimensions as they nest. Chars and std::bytes are elements too.
  /// With sizes, the elements of the containers get these sizes, and an array is a pointer to the
  /// caller's memory, as in all other overloads.
  /// Ownership: copies.
  /// Errors, besides: InvalidArgument for rows of different lengths.
  template <class Rows, class... Options, IfNested<Rows> = 0, IfOptions<Options...> = 0>
  Out operator()(const Rows& rows, Options&&... options) const {
    return make_nested(rows, nullptr, options...);
  }
  template <class Rows, class... Options, IfNested<Rows> = 0,
            std::enable_if_t<!std::is_array_v<Rows>, int> = 0,  // an array is a pointer
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, const Rows& rows, Options&&... options) const {
    return make_nested(rows, &sizes, options...);
  }

  /// A tensor of the elements of a list or container. There must be exactly as many elements as the
  /// sizes have or, if strides leave gaps, as the strides reach. If a type is given, the bytes of a
  /// container of uint8_t, char (a std::string) or std::byte are taken as elements of that type; in
  /// a list {…} of uint8_t they are values.
  /// Ownership: adopts a moved contiguous container; copies everything else, and values that are
  /// cast.
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, Values values, Options&&... options) const {
    NewTensor tensor;
    return of_values(sizes, values, tensor, options...);
  }
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, Values values, const DimOrderArg& dim_order,
                 Options&&... options) const {
    const DimOrderList order{dim_order};
    NewTensor tensor;
    return of_values(sizes, values, tensor, order, options...);
  }
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, Values values, const DimOrderArg& dim_order,
                 const Dims& strides, Options&&... options) const {
    const DimOrderList order{dim_order};
    const StridesList list{strides};
    NewTensor tensor;
    return of_values(sizes, values, tensor, order, list, options...);
  }

  /// A tensor over the caller's memory. For the literal nullptr, a placeholder.
  /// Ownership: borrows `data`. With a deleter, takes `data`: `deleter(data)` runs once, when the
  /// tensor releases the memory, or before this call returns if it fails.
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, DataPtr data, Options&&... options) const {
    return make_borrowed<Out>(function, data, sizes, nullptr, options...);
  }
  template <class F, class... Options, std::enable_if_t<is_deleter_v<F>, int> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, DataPtr data, TypeArg type, TensorShapeDynamism dynamism,
                 F deleter, Options&&... options) const {
    Deleter release(data.get(), std::move(deleter));
    return make_borrowed<Out>(function, data, sizes, &release, type, dynamism, options...);
  }
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, DataPtr data, const DimOrderArg& dim_order,
                 Options&&... options) const {
    const DimOrderList order{dim_order};
    return make_borrowed<Out>(function, data, sizes, nullptr, order, options...);
  }
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, DataPtr data, const DimOrderArg& dim_order, const Dims& strides,
                 Options&&... options) const {
    const DimOrderList order{dim_order};
    const StridesList list{strides};
    return make_borrowed<Out>(function, data, sizes, nullptr, order, list, options...);
  }
  template <class F, class... Options, std::enable_if_t<is_deleter_v<F>, int> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, DataPtr data, const DimOrderArg& dim_order, const Dims& strides,
                 TypeArg type, TensorShapeDynamism dynamism, F deleter,
                 Options&&... options) const {
    Deleter release(data.get(), std::move(deleter));
    const DimOrderList order{dim_order};
    const StridesList list{strides};
    return make_borrowed<Out>(function, data, sizes, &release, order, list, type, dynamism,
                              options...);
  }

  template <class StridesOrOrder, class F, class... Options,
            std::enable_if_t<is_deleter_v<F>, int> = 0, IfLayout<StridesOrOrder> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, DataPtr data, const StridesOrOrder& layout, TypeArg type,
                 TensorShapeDynamism dynamism, F deleter, Options&&... options) const {
    return (*this)(sizes, data, type, dynamism, std::move(deleter), layout, options...);
  }

  template <class... DeleterTakesVoidPointer, IfWrongDeleter<DeleterTakesVoidPointer...> = 0>
  Out operator()(const Dims&, DataPtr, DeleterTakesVoidPointer&&...) const
      TENON_MISTAKE("a deleter takes a void*, as in [](void* data) {}");
  template <class... DeleterTakesVoidPointer, IfWrongDeleter<DeleterTakesVoidPointer...> = 0>
  Out operator()(const Dims&, DataPtr, const Dims&, const Dims&, DeleterTakesVoidPointer&&...) const
      TENON_MISTAKE("a deleter takes a void*, as in [](void* data) {}");

  template <class... TypeDynamismDeleterThenOptions,
            IfMisplacedDeleter<Option::Dynamism, false, TypeDynamismDeleterThenOptions...> = 0>
  Out operator()(const Dims&, DataPtr, TypeDynamismDeleterThenOptions&&...) const TENON_MISTAKE(
      "type, dynamism, deleter is the order, or from_blob(data, sizes, type, deleter); "
      "Strides or DimOrder may stand before the type, other options follow the deleter");
  template <class SmartPointerNeedsGet, class... More, IfSmartPointer<SmartPointerNeedsGet> = 0>
  Out operator()(const Dims&, const SmartPointerNeedsGet&, const More&...) const
      TENON_MISTAKE("give data.get(); for_blob(data.get(), sizes).owner(data) keeps data alive");
  template <class VoidPointerAndTypeNeeded, class... More, IfStruct<VoidPointerAndTypeNeeded> = 0>
  Out operator()(const Dims&, const VoidPointerAndTypeNeeded*, More&&...) const TENON_MISTAKE(
      "no dtype has such elements: make_tensor_ptr(sizes, static_cast<void*>(data), type)");
  template <class SizesNeedBraces, class... More, IfInteger<SizesNeedBraces> = 0,
            IfNotOptions<More...> = 0>
  Out operator()(SizesNeedBraces, More&&...) const
      TENON_MISTAKE("sizes need braces: make_tensor_ptr({2, 3}, data)");
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(const Dims&, DataPtr, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(const Dims&, Values, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class CharactersNeedStdString, class... More, IfCharacters<CharactersNeedStdString> = 0>
  Out operator()(const CharactersNeedStdString&, More&&...) const
      TENON_MISTAKE("characters are elements in a std::string, as numbers in int8_t{97}");
  template <class SizesComeBeforeData, class... Options, IfData<SizesComeBeforeData> = 0>
  Out operator()(const SizesComeBeforeData&, const Dims&, Options&&...) const
      TENON_MISTAKE("the sizes come before the data: make_tensor_ptr(sizes, data)");
  template <class SizesComeBeforeData,
            std::enable_if_t<std::is_constructible_v<DataPtr, SizesComeBeforeData*>, int> = 0>
  Out operator()(SizesComeBeforeData* const&) const
      TENON_MISTAKE("the sizes come before the data: make_tensor_ptr(sizes, data)");
  template <class VoidPointerAndTypeNeeded, IfStruct<VoidPointerAndTypeNeeded> = 0>
  Out operator()(const VoidPointerAndTypeNeeded*) const TENON_MISTAKE(
      "no dtype has such elements: make_tensor_ptr(sizes, static_cast<void*>(data), type)");
  template <class PointeeNeeded, class... More, IfPointee<PointeeNeeded> = 0>
  Out operator()(const PointeeNeeded*, const More&...) const
      TENON_MISTAKE("containers and tensors come by themselves: make_tensor_ptr(*pointer)");
  template <class PointeeNeeded, class... More, IfPointee<PointeeNeeded> = 0>
  Out operator()(const Dims&, const PointeeNeeded*, const More&...) const
      TENON_MISTAKE("containers come by themselves: make_tensor_ptr(sizes, *pointer)");
  template <class NumberNeedsFull, class... More, IfNumber<NumberNeedsFull> = 0>
  Out operator()(const Dims&, NumberNeedsFull, const More&...) const
      TENON_MISTAKE("full({3}, 5.0f) makes a tensor of one number; values need braces");
  template <class SizesComeBeforeData, IfSmartPointer<SizesComeBeforeData> = 0>
  Out operator()(const SizesComeBeforeData&) const
      TENON_MISTAKE("the sizes come before the data: make_tensor_ptr(sizes, data.get())");

  /// A handle to an impl.
  /// Ownership: shares the impl.
  /// Errors: InvalidState for a null impl.
  template <class P, std::enable_if_t<std::is_same_v<P, tenon::TensorImplPtr>, int> = 0>
  Out operator()(P impl) const {
    const Error error = impl != nullptr ? Error::Ok : fail(Error::InvalidState, "the impl is null");
    return share<Out>(function, error, Tensor(std::move(impl)));
  }
  /// ExecuTorch's form of share(tensor).
  /// Ownership: shares the impl.
  template <class P, std::enable_if_t<std::is_same_v<P, TensorPtr>, int> = 0>
  Out operator()(const P& tensor) const {
    return share<Out>(function, tensor);
  }

  /// A view, ExecuTorch's form of view(source) and as_strided(source, …): new metadata over the
  /// memory of `source`, which the view keeps alive. Empty lists stand for the source's lists;
  /// `storage_offset` is in elements, from the source's element 0. The view has the source's
  /// dynamism, but cannot grow. While the view lives, the source cannot grow either.
  /// Options: `Strides{3, 1}` and `DimOrder{1, 0}`.
  /// Ownership: shares the source's memory.
  /// Errors: OutOfBounds if the view would reach beyond the source's elements, InvalidState for an
  /// undefined source.
  template <class S,
            std::enable_if_t<std::is_same_v<S, Tensor> || std::is_same_v<S, TensorPtr>, int> = 0>
  Out operator()(const S& source, const Dims& sizes, const DimOrderArg& dim_order = {},
                 const StridesArg& strides = {}, int64_t storage_offset = 0) const {
    NewView tensor;
    const Error error = make_view(source, sizes, dim_order, strides, storage_offset, tensor);
    return return_to_user<Out>(function, error, tensor);
  }
  template <class S, class... Options,
            std::enable_if_t<std::is_same_v<S, Tensor> || std::is_same_v<S, TensorPtr>, int> = 0,
            IfLayout<Options...> = 0>
  Out operator()(const S& source, const Dims& sizes, Options&&... options) const {
    const OrderAndStrides given = order_and_strides_of(options...);
    const auto order = given.order != nullptr ? DimOrderArg(*given.order) : DimOrderArg();
    const auto strides = given.strides != nullptr ? StridesArg(*given.strides) : StridesArg();
    return (*this)(source, sizes, order, strides);
  }
  template <class S, std::enable_if_t<std::is_same_v<S, Tensor>, int> = 0>
  Out operator()(const S& source) const {
    return (*this)(source, Dims());
  }

 private:
  // `tensor` is null, or has memory with the values.
  template <class... Options>
  Out of_values(const Dims& sizes, Values& values, NewTensor& tensor, Options&... options) const {
    values.take();
    if constexpr (!has_layout_v<Options...>) {
      return of_shape(values, sizes, false, tensor, options...);
    } else {
      Layout layout;
      const Error error =
          lay_out_new(sizes, order_and_strides_of(options...), values.type(), layout);
      if (error != Error::Ok) return return_to_user<Out>(function, error);
      return of_shape(values, layout, false, tensor, options...);
    }
  }
  template <class Shape, class... Options>
  Out of_shape(Values& values, const Shape& shape, bool is_flat, NewTensor& tensor,
               Options&... options) const {
    CreateOptions opts = create_options_of(values.type(), options...);
    const Error error =
        make_of_values(values, shape, is_flat, value_cast<Options...>(), opts, tensor);
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
  template <class Rows, class... Options>
  Out make_nested(const Rows& rows, const Dims* sizes, Options&... options) const {
    NestedValues<InnermostElement<Rows>> nested;
    NewTensor tensor;
    const Error error = nested.gather(rows, tensor);
    if (error != Error::Ok) return return_to_user<Out>(function, error);
    Values values(nested.values);
    if (sizes != nullptr) return of_values(*sizes, values, tensor, options...);
    values.take();
    return of_shape(values, nested.sizes, true, tensor, options...);
  }
};

}  // namespace detail

/// Makes a tensor of a value, of a list or container of values, or over existing memory.
/// Cost: one allocation holds the handle, the metadata and small data.
inline constexpr detail::MakeTensor<TensorPtr> make_tensor_ptr{"make_tensor_ptr"};
/// The same as make_tensor_ptr(), but returns the impl, which several handles can share.
inline constexpr detail::MakeTensor<TensorImplPtr> make_tensor_impl_ptr{"make_tensor_impl_ptr"};
/// The same as make_tensor_ptr(), but returns a Tensor by value: the handle can be on the stack, or
/// in another object.
inline constexpr detail::MakeTensor<Tensor> make_tensor{"make_tensor"};

inline constexpr detail::MakeTensor<Result<TensorPtr>> try_make_tensor_ptr{"try_make_tensor_ptr"};
inline constexpr detail::MakeTensor<Result<TensorImplPtr>> try_make_tensor_impl_ptr{
    "try_make_tensor_impl_ptr"};
inline constexpr detail::MakeTensor<Result<Tensor>> try_make_tensor{"try_make_tensor"};

/// Makes another handle to the tensor's impl: data and every later resize show in all handles.
/// view(t) shares only the data.
///
/// Ownership: the handles own the impl together. Up to one allocation.
/// Errors: InvalidState for an undefined tensor.
template <class = void>
TensorPtr share(ConstTensorArg t) {
  return detail::share<TensorPtr>("share", t);
}
template <class = void>
Result<TensorPtr> try_share(ConstTensorArg t) {
  return detail::share<Result<TensorPtr>>("try_share", t);
}

namespace detail {  // function objects

template <class Out>
struct FromBytes {
  const char* function;

  /// A tensor of the elements that `bytes` represents in the host's byte order. There must be
  /// exactly as many bytes as the sizes and `type` need.
  ///
  /// `bytes` is a container of uint8_t, char or std::byte, such as a std::string, or a brace list.
  /// Ownership: adopts a moved container if the move keeps the bytes where they are; copies any
  /// other container.
  /// Errors: those of make_tensor_ptr().
  /// Cost: one allocation, and the copy, if any.
  template <class Bytes = std::vector<uint8_t>, class... Options,
            std::enable_if_t<is_byte_container_v<std::decay_t<Bytes>>, int> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(const Dims& sizes, Bytes&& bytes, tenon::ScalarType type,
                 Options&&... options) const {
    return MakeTensor<Out>{function}(sizes, std::forward<Bytes>(bytes), type, options...);
  }
  template <class BytesNeeded, class... More,
            std::enable_if_t<!is_byte_container_v<BytesNeeded>, int> = 0>
  Out operator()(const Dims&, const BytesNeeded&, const More&...) const TENON_MISTAKE(
      "from_bytes takes a container of bytes; make_tensor_ptr(sizes, data) takes values");
};

}  // namespace detail

inline constexpr detail::FromBytes<TensorPtr> from_bytes{"from_bytes"};
inline constexpr detail::FromBytes<Result<TensorPtr>> try_from_bytes{"try_from_bytes"};

TENON_END_NAMESPACE
