// SPDX-License-Identifier: MIT
// from_xtensor: makes tensors over the memory of xtensor's containers and views. as_xtensor: makes
// xtensor's strided view over a tensor's memory.
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

/// Whether an expression has memory that strides describe: a container, an adaptor, or a view of
/// these.
template <class E, class = void>
inline constexpr bool is_strided_xtensor_v = false;
template <class E>
inline constexpr bool is_strided_xtensor_v<
    E, std::void_t<decltype(std::declval<E&>().data() + std::declval<E&>().data_offset()),
                   decltype(std::declval<E&>().strides())>> = true;

/// True for types with a fixed number of dimensions: moving them copies std::arrays of sizes and
/// strides.
template <class E, size_t N, xt::layout_type L, class Storage>
inline constexpr bool
    is_nothrow_movable_v<xt::xstrided_view<E, std::array<size_t, N>, L, Storage>> = true;

/// Checks that a view with elements of type T may be made, and computes its sizes and strides. A
/// const T asks for reading only.
template <class T, class Sizes, class Strides>
Error describe_for_xtensor(const TensorArg& tensor, Sizes& sizes, Strides& strides) noexcept {
  TENON_TRY(check_host_access(tensor));
  const TensorFields& from = fields(tensor);
  TENON_TRY(
      check_access("tensor", view_of(from), own_type(CppTypeToScalarType<T>::value), sizes.size()));
  if (from.readonly && !std::is_const_v<T>) {
    return fail(Error::InvalidState,
                "the tensor is read-only; view it with elements of a const type");
  }
  const Layout& layout = from.layout;
  if (!std::is_const_v<T> && layout.may_overlap()) {
    return fail(Error::NotSupported, "strides ", layout.strides(), " of sizes ", layout.sizes(),
                " let elements share memory; view them with elements of a const type");
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = static_cast<size_t>(layout.sizes()[d]);
    // xtensor sets strides of dimensions of size 0 and 1 to 0, and relies on that to broadcast.
    strides[d] = layout.sizes()[d] <= 1 ? 0 : layout.strides()[d];
  }
  return Error::Ok;
}

/// Makes a view, not an adaptor with strides: assignment to such an adaptor ignores its strides
/// when it writes, and then replaces them by those of the right-hand side.
template <class T, class Sizes, class Strides>
auto make_xtensor(const TensorFields& from, Sizes&& sizes, Strides&& strides) {
  const OffsetRange& offsets =
      from.layout.offsets;  // relative to element 0; negative with negative strides
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

/// Makes an xstrided_view over the tensor's memory: `as_xtensor<float, 2>(t)` has 2 dimensions,
/// `as_xtensor<float>(t)` as many as the tensor. For a read-only tensor, T must be const. The view
/// has the tensor's strides, but strides of dimensions of size 0 and 1 become 0, as in xtensor.
///
/// Ownership: none; the view is valid until the tensor is resized or dropped.
/// Errors: InvalidState (undefined; a placeholder; read-only, but T is not const); InvalidType
/// (another dtype); InvalidArgument (another rank; data that is not aligned); NotSupported
/// (elements that share memory, but T is not const; memory that the host cannot reach). Without N,
/// xtensor allocates memory for more than four dimensions, which may throw std::bad_alloc.
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
/// Like as_xtensor() with N dimensions, but returns a Result. (There is no such form without N:
/// moving a view with a dynamic number of dimensions may allocate.)
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

  /// Makes a tensor over the memory of an xarray, xtensor, xtensor_fixed, adaptor or strided view.
  /// The tensor has the same strides; if the elements are const, it is read-only.
  ///
  /// Ownership: borrows lvalues. An rvalue is moved into the tensor's deleter (a const rvalue is
  /// copied). An rvalue view brings along an expression that was moved into the view; an expression
  /// to which the view only refers is borrowed.
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
