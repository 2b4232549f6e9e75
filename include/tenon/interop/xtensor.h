// SPDX-License-Identifier: MIT
// from_xtensor: xtensor's containers and views as tensors over the same memory. as_xtensor: a
// tensor's memory as xtensor's strided view.
#pragma once

#include "tenon/config.h"

#if !TENON_HAS_EXCEPTIONS || !__has_include(<xtensor/xadapt.hpp>)  // xtensor throws
#error "tenon: interop/xtensor.h needs xtensor's <xtensor/xadapt.hpp>, and exceptions"
#endif

#include <array>
#include <memory>
#include <xtensor/xadapt.hpp>
#include <xtensor/xstrided_view.hpp>

#include "tenon/core/result.h"
#include "tenon/interop/libraries/host_access.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether an expression has memory with strides: a container, an adaptor, a view of one.
template <class E, class = void>
inline constexpr bool is_strided_xtensor_v = false;
template <class E>
inline constexpr bool is_strided_xtensor_v<
    E, std::void_t<decltype(std::declval<E&>().data() + std::declval<E&>().data_offset()),
                   decltype(std::declval<E&>().strides())>> = true;

/// True for types with a fixed number of dimensions, whose moves copy arrays.
template <class E, size_t N, xt::layout_type L, class Storage>
inline constexpr bool
    is_nothrow_movable_v<xt::xstrided_view<E, std::array<size_t, N>, L, Storage>> = true;

/// Checks that elements of type T may be viewed, and computes sizes and strides. T is const for
/// reading only.
template <class T, class Sizes, class Strides>
Error describe_for_xtensor(const TensorArg& tensor, Sizes& sizes, Strides& strides) noexcept {
  TENON_TRY(check_host_access(tensor));
  const TensorFields& from = fields(tensor);
  TENON_TRY(
      check_access("tensor", view_of(from), own_type(CppTypeToScalarType<T>::value), sizes.size()));
  if (from.readonly && !std::is_const_v<T>) {
    return fail(Error::InvalidState, "the tensor is read-only; its view has const elements");
  }
  const Layout& layout = from.layout;
  if (!std::is_const_v<T> && layout.may_overlap()) {
    return fail(Error::NotSupported, "strides ", layout.strides(), " of sizes ", layout.sizes(),
                " let elements share memory; a view of const ones takes them");
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = static_cast<size_t>(layout.sizes()[d]);
    // xtensor has stride 0 for sizes 0 and 1, and broadcasts by it.
    strides[d] = layout.sizes()[d] <= 1 ? 0 : layout.strides()[d];
  }
  return Error::Ok;
}

/// A view, not an adaptor with strides: assignment to such an adaptor writes to its memory as if it
/// had no strides, and replaces its strides by those of the right-hand side.
template <class T, class Sizes, class Strides>
auto make_xtensor(const TensorFields& from, Sizes&& sizes, Strides&& strides) {
  const OffsetRange& offsets = from.layout.offsets;  // from element 0; strides may be negative
  const auto span = static_cast<size_t>(offsets.max + 1 - offsets.min);
  T* const lowest = from.data == nullptr ? nullptr : static_cast<T*>(from.data) + offsets.min;
  return xt::strided_view(xt::adapt(lowest, span, xt::no_ownership(), std::array<size_t, 1>{span}),
                          std::forward<Sizes>(sizes), std::forward<Strides>(strides),
                          static_cast<size_t>(-offsets.min), xt::layout_type::dynamic);
}

/// A deleter that keeps an expression.
template <class E>
struct KeepXtensor {
  std::unique_ptr<E> expression;
  void operator()(void*) const noexcept {}
};

}  // namespace detail

/// The tensor's memory as an xstrided_view of N dimensions, or of as many as the tensor has:
/// `as_xtensor<float, 2>(t)`, `as_xtensor<float>(t)`. T is const for a read-only tensor. Any
/// strides are kept, except that those of sizes 0 and 1 become 0, as in xtensor.
///
/// Ownership: none; valid until the tensor is resized or dropped.
/// Errors: InvalidState (undefined; a placeholder; read-only, but T is not const), InvalidType
/// (another dtype), InvalidArgument (another rank; data that is not aligned), NotSupported
/// (elements that share memory and are not const; memory that the host cannot reach). xtensor
/// allocates for more than four dimensions that N does not say: std::bad_alloc.
template <class T, size_t N>
auto as_xtensor(TensorArg tensor TENON_LIFETIMEBOUND) {
  std::array<size_t, N> sizes;
  std::array<ptrdiff_t, N> strides;
  detail::raise_if("as_xtensor", detail::describe_for_xtensor<T>(tensor, sizes, strides));
  return detail::make_xtensor<T>(detail::fields(tensor), std::move(sizes), std::move(strides));
}
template <class T>
auto as_xtensor(TensorArg tensor TENON_LIFETIMEBOUND) {
  detail::raise_if("as_xtensor", detail::check_host_access(tensor));
  const size_t rank = detail::fields(tensor).layout.rank();
  xt::dynamic_shape<size_t> sizes(rank);
  xt::dynamic_shape<ptrdiff_t> strides(rank);
  detail::raise_if("as_xtensor", detail::describe_for_xtensor<T>(tensor, sizes, strides));
  return detail::make_xtensor<T>(detail::fields(tensor), std::move(sizes), std::move(strides));
}
/// As as_xtensor() with N dimensions, but returns a Result. (There is no Result of a view with a
/// dynamic number of dimensions, since moving it may allocate.)
template <class T, size_t N>
auto try_as_xtensor(TensorArg tensor TENON_LIFETIMEBOUND) noexcept
    -> Result<decltype(as_xtensor<T, N>(tensor))> {
  std::array<size_t, N> sizes;
  std::array<ptrdiff_t, N> strides;
  TENON_TRY(detail::add_context_if("try_as_xtensor",
                                   detail::describe_for_xtensor<T>(tensor, sizes, strides)));
  return detail::make_xtensor<T>(detail::fields(tensor), std::move(sizes), std::move(strides));
}

namespace detail {  // function objects

template <class Out>
struct FromXtensor {
  const char* function;

  /// The memory of an xarray, xtensor, xtensor_fixed, adaptor, or of a view with strides, as a
  /// tensor with those strides. Const elements give a read-only tensor.
  ///
  /// Ownership: borrows lvalues; the tensor keeps a moved argument, or a copy of a const one. A
  /// moved view keeps the expression that it views if that was moved into it; otherwise it refers
  /// to it.
  /// Errors: OutOfMemory; InvalidArgument (more than kMaxDims dimensions).
  /// Cost: one allocation; for a moved argument two, and a move.
  /// Source: xtensor-python's pyarray, in the other direction.
  template <class E, std::enable_if_t<xt::is_xexpression<E>::value, int> = 0>
  Out operator()(E& from TENON_LIFETIMEBOUND) const {
    Deleter nothing;
    return share(from, nothing);
  }
  template <class E, std::enable_if_t<
                         !std::is_lvalue_reference_v<E> && xt::is_xexpression<E>::value, int> = 0>
  Out operator()(E&& from) const {
    using Kept = std::remove_const_t<E>;
    KeepXtensor<Kept> kept{std::unique_ptr<Kept>(new Kept(std::move(from)))};
    Kept& moved = *kept.expression;
    Deleter keep(nullptr, std::move(kept));
    return share(moved, keep);
  }

 private:
  template <class E>
  Out share(E& from, Deleter& keep) const {
    static_assert(is_strided_xtensor_v<E>,
                  "this expression has no memory; from_xtensor(xt::eval(expression)) computes it");
    using T = std::remove_pointer_t<decltype(from.data())>;
    static_assert(is_element_v<T>, "tenon has no dtype of such elements");
    auto* const data = const_cast<std::remove_const_t<T>*>(from.data() + from.data_offset());
    const CreateOptions opts(scalar_type_of<std::remove_const_t<T>>());
    const Dims sizes(from.shape().begin(), from.shape().end());
    const Dims strides(from.strides().begin(), from.strides().end());
    NewTensor new_tensor;
    const Error error = borrow_checked(DataPtr(static_cast<void*>(data), std::is_const_v<T>), sizes,
                                       {}, strides, opts, &keep, new_tensor);
    return return_to_user<Out>(function, error, new_tensor);
  }
};

}  // namespace detail

inline constexpr detail::FromXtensor<TensorPtr> from_xtensor{"from_xtensor"};
inline constexpr detail::FromXtensor<Result<TensorPtr>> try_from_xtensor{"try_from_xtensor"};

TENON_END_NAMESPACE
