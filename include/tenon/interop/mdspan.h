// SPDX-License-Identifier: MIT
// as_mdspan: makes an mdspan of C++23, Kokkos or CUDA's libcu++ over a tensor's memory.
#pragma once

#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/tensor/accessor.h"
#include "tenon/tensor/tensor.h"

// The namespace of the mdspan that as_mdspan<T, N>() returns; not defined if no header has an
// mdspan.
#if __has_include(<mdspan>) && __cplusplus > 202002L
#include <mdspan>
#endif
#if defined(__cpp_lib_mdspan)
#define TENON_MDSPAN_NAMESPACE ::std
#elif __has_include(<mdspan/mdspan.hpp>)
#include <mdspan/mdspan.hpp>
#define TENON_MDSPAN_NAMESPACE ::MDSPAN_IMPL_STANDARD_NAMESPACE
#elif __has_include(<cuda/std/mdspan>)
#include <cuda/std/mdspan>
#define TENON_MDSPAN_NAMESPACE ::cuda::std
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// The type that the mapping's strides() returns: the std::array of its library.
template <class Mapping>
using StridesArray = decltype(std::declval<const Mapping&>().strides());

/// Whether a mapping can be constructed from extents and strides, as that of layout_stride can.
template <class Mapping, class = void>
struct TakesStrides : std::false_type {};
template <class Mapping>
struct TakesStrides<Mapping, std::void_t<StridesArray<Mapping>>>
    : std::is_constructible<Mapping, const typename Mapping::extents_type&, StridesArray<Mapping>> {
};

/// Computes the strides for layout_stride, which requires that strides are positive and nest.
/// Strides of dimensions of size 0 and 1 may have any value, and are replaced.
TENON_TEMPLATE_INLINE Error make_mdspan_strides(const Layout& layout, Dims& strides) noexcept {
  strides = layout.strides();
  TENON_TRY(check_dims("strides", strides));
  int64_t least = 1;
  const ArrayRef<int64_t> sizes = layout.sizes();
  for (size_t i = layout.rank(); i-- > 0;) {
    const size_t d = layout.dim_order()[i];
    if (sizes[d] == 1) {
      strides[d] = 1;
      continue;
    }
    if (layout.numel == 0) strides[d] = least;
    if (strides[d] <= 0) {
      return fail(Error::NotSupported, "stride ", strides[d], " of dimension ", d, " in strides ",
                  layout.strides(), "; an mdspan's layout_stride requires positive strides");
    }
    if (strides[d] < least) {
      return fail(Error::NotSupported, "strides ", layout.strides(), " of sizes ", sizes,
                  " interleave or overlap; an mdspan's layout_stride requires strides that nest");
    }
    if (sizes[d] != 0 && !multiply(strides[d], sizes[d], least)) least = INT64_MAX;
  }
  return Error::Ok;
}

/// Checks that an mdspan's index_type is wide enough. `reach`: the largest index that occurs;
/// `most`: the largest value of the index_type.
TENON_TEMPLATE_INLINE Error check_index_type(ArrayRef<int64_t> sizes, const Dims& strides,
                                             int64_t reach, uint64_t most) noexcept {
  bool fits = static_cast<uint64_t>(reach) <= most;
  for (int64_t size : sizes) fits = fits && static_cast<uint64_t>(size) <= most;
  for (int64_t stride : strides) fits = fits && static_cast<uint64_t>(stride) <= most;
  if (!fits) {
    return fail(Error::InvalidArgument, "sizes ", sizes, " with strides ", strides,
                " do not fit the mdspan's index_type, whose largest value is ", most);
  }
  return Error::Ok;
}

template <class Mapping, size_t... D>
Mapping make_mapping([[maybe_unused]] ArrayRef<int64_t> sizes, [[maybe_unused]] const Dims& strides,
                     std::index_sequence<D...>) noexcept {
  using Extents = typename Mapping::extents_type;
  using Index = typename Extents::index_type;
  const Extents extents(static_cast<Index>(sizes[D])...);
  if constexpr (TakesStrides<Mapping>::value) {
    StridesArray<Mapping> array{};
    ((array[D] = static_cast<Index>(strides[D])), ...);
    return Mapping(extents, array);
  } else {
    return Mapping(extents);
  }
}

template <class M>
typename M::mapping_type mapping_of(const Layout& layout, const Dims& strides) noexcept {
  return make_mapping<typename M::mapping_type>(layout.sizes(), strides,
                                                std::make_index_sequence<M::rank()>());
}

/// Checks that a mapping's strides equal the tensor's.
template <class Mapping>
Error check_mapping(const Mapping& mapping, const Layout& layout) noexcept {
  if constexpr (Mapping::extents_type::rank() != 0) {
    for (size_t d = 0; d < Mapping::extents_type::rank() && layout.numel != 0; ++d) {
      const auto expected = static_cast<int64_t>(mapping.stride(d));
      if (layout.sizes()[d] != 1 && layout.strides()[d] != expected) {
        return fail(Error::NotSupported, "stride ", layout.strides()[d], " of dimension ", d,
                    " in strides ", layout.strides(), " of sizes ", layout.sizes(),
                    " differs from that of the mdspan's layout, ", expected);
      }
    }
  }
  return Error::Ok;
}

/// Checks that M can describe the tensor, and computes the strides for layout_stride.
template <class M>
Error check_mdspan(const TensorArg& tensor, Dims& strides) noexcept {
  using T = typename M::element_type;
  using Extents = typename M::extents_type;
  using Index = typename Extents::index_type;
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& from = fields(tensor);
  constexpr ScalarType type = own_type(CppTypeToScalarType<T>::value);
  TENON_TRY(check_typed(from, type));
  TENON_TRY(check_access("tensor", view_of(from), type, M::rank()));
  if (from.readonly && !std::is_const_v<T>) {
    return fail(Error::InvalidState,
                "the tensor is read-only; make an mdspan with elements of a const type");
  }
  const ArrayRef<int64_t> sizes = from.layout.sizes();
  for (size_t d = 0; d < M::rank(); ++d) {
    const size_t extent = Extents::static_extent(d);
    if (extent != SIZE_MAX && extent != static_cast<size_t>(sizes[d])) {
      return fail(Error::InvalidArgument, "size ", sizes[d], " of dimension ", d,
                  " is not the mdspan's static extent ", extent);
    }
  }
  if constexpr (TakesStrides<typename M::mapping_type>::value) {
    TENON_TRY(make_mdspan_strides(from.layout, strides));
  }
  const int64_t reach = from.layout.required_span_size();
  TENON_TRY(check_index_type(sizes, strides, reach < from.layout.numel ? from.layout.numel : reach,
                             static_cast<uint64_t>((std::numeric_limits<Index>::max)())));
  if constexpr (TakesStrides<typename M::mapping_type>::value) {
    return Error::Ok;
  } else {
    return check_mapping(mapping_of<M>(from.layout, strides), from.layout);
  }
}

/// Makes the mdspan of a tensor that passed check_mdspan().
template <class M>
M make_mdspan(const TensorArg& tensor, const Dims& strides) {
  const TensorFields& from = fields(tensor);
  return M(static_cast<typename M::element_type*>(from.data), mapping_of<M>(from.layout, strides));
}

}  // namespace detail

/// Makes an mdspan of type M over the tensor's memory. M is of any library that has the standard's
/// interface: `as_mdspan<std::mdspan<float, std::extents<int, 2, 3>>>(tensor)`.
///
/// layout_stride requires strides that are positive and nest; for other layouts, such as
/// layout_right, the tensor must have exactly the layout's strides. Strides of dimensions of size
/// 1, and of tensors without elements, are not compared.
///
/// The try_ form returns a Result.
/// Ownership: none; the mdspan is valid until the tensor is resized or dropped.
/// Errors: InvalidState (undefined; a placeholder; read-only, but M's elements are not const);
/// InvalidType (another element type); InvalidArgument (another rank or static extent; an
/// index_type that is too small; data that is not aligned); NotSupported (strides that M's layout
/// cannot have: zero, negative, overlapping, not contiguous; memory that the host cannot read);
/// OutOfMemory (more dimensions than TENON_INLINE_DIMS).
template <class M>
M as_mdspan(TensorArg tensor TENON_LIFETIMEBOUND) {
  Dims strides;
  detail::raise_if("as_mdspan", detail::check_mdspan<M>(tensor, strides));
  return detail::make_mdspan<M>(tensor, strides);
}
template <class M>
Result<M> try_as_mdspan(TensorArg tensor TENON_LIFETIMEBOUND) noexcept {
  Dims strides;
  TENON_TRY(detail::add_context_if("try_as_mdspan", detail::check_mdspan<M>(tensor, strides)));
  return detail::make_mdspan<M>(tensor, strides);
}

#if defined(TENON_MDSPAN_NAMESPACE)
/// Makes an `mdspan<T, dextents<int64_t, N>, Layout>` over the tensor's memory: `auto m =
/// as_mdspan<float, 2>(tensor)`. The mdspan is that of the standard library, else of Kokkos, else
/// of libcu++. For a read-only tensor, T must be const; for a contiguous tensor, Layout may be
/// layout_right.
/// Ownership and errors: those of as_mdspan<M>().
template <class T, size_t N, class Layout = TENON_MDSPAN_NAMESPACE::layout_stride>
TENON_MDSPAN_NAMESPACE::mdspan<T, TENON_MDSPAN_NAMESPACE::dextents<int64_t, N>, Layout> as_mdspan(
    TensorArg tensor TENON_LIFETIMEBOUND) {
  return as_mdspan<
      TENON_MDSPAN_NAMESPACE::mdspan<T, TENON_MDSPAN_NAMESPACE::dextents<int64_t, N>, Layout>>(
      tensor);
}
template <class T, size_t N, class Layout = TENON_MDSPAN_NAMESPACE::layout_stride>
Result<TENON_MDSPAN_NAMESPACE::mdspan<T, TENON_MDSPAN_NAMESPACE::dextents<int64_t, N>, Layout>>
try_as_mdspan(TensorArg tensor TENON_LIFETIMEBOUND) noexcept {
  return try_as_mdspan<
      TENON_MDSPAN_NAMESPACE::mdspan<T, TENON_MDSPAN_NAMESPACE::dextents<int64_t, N>, Layout>>(
      tensor);
}
#endif

TENON_END_NAMESPACE
