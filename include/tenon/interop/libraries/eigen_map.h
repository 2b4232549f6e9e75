// SPDX-License-Identifier: MIT
// as_eigen, as_eigen_map, try_as_eigen, try_as_eigen_map: Eigen's maps over a tensor's memory. Does
// not include <unsupported/Eigen/CXX11/Tensor>.
#pragma once

#include "tenon/config.h"

#if !__has_include(<Eigen/Core>)
#error "tenon: interop/eigen.h needs Eigen's <Eigen/Core> in the include path"
#endif

#include <Eigen/Core>

#include "tenon/core/result.h"
#include "tenon/interop/libraries/host_access.h"

TENON_BEGIN_NAMESPACE
namespace detail {

template <class P, int kOptions, class S>
inline constexpr bool is_nothrow_movable_v<Eigen::Map<P, kOptions, S>> = true;

/// The dtype of Eigen's elements. Eigen's half and bfloat16 have the same bits as tenon's.
template <class Scalar>
constexpr ScalarType eigen_type() noexcept {
  using T = std::remove_const_t<Scalar>;
  constexpr ScalarType type = std::is_same_v<T, Eigen::half>       ? ScalarType::Half
                              : std::is_same_v<T, Eigen::bfloat16> ? ScalarType::BFloat16
                                                                   : scalar_type_of<T>();
  static_assert(type != ScalarType::Undefined, "tenon has no dtype of such elements");
  return type;
}

/// The template arguments of a Map.
template <class M>
struct EigenMap : std::false_type {};
template <class P, int kMapOptions, class S>
struct EigenMap<Eigen::Map<P, kMapOptions, S>> : std::true_type {
  using Stride = S;
  static constexpr int kAlignment = kMapOptions & Eigen::AlignedMask;
};

/// Overloads that tell whether a class is, or derives from, a dense expression (a segment derives
/// from Block), and whether from a Matrix or an Array.
template <class D>
std::true_type is_eigen_dense(const Eigen::DenseBase<D>*);
std::false_type is_eigen_dense(const void*);
template <class D>
std::true_type is_eigen_plain(const Eigen::PlainObjectBase<D>*);
std::false_type is_eigen_plain(const void*);
/// An overload that tells whether a class is a Ref to const, which may hold a copy of its argument.
template <class P, int kOptions, class S>
std::true_type is_eigen_const_ref(const Eigen::Ref<const P, kOptions, S>*);
std::false_type is_eigen_const_ref(const void*);

/// Whether E is a Matrix, Array, Map, Block or another dense expression.
template <class E>
inline constexpr bool is_eigen_dense_v =
    decltype(is_eigen_dense(static_cast<std::remove_reference_t<E>*>(nullptr)))::value;
/// Whether E is a dense expression, or a Tensor, TensorFixedSize or TensorMap.
template <class E, class = void>
inline constexpr bool is_eigen_v = is_eigen_dense_v<E>;
template <class E>
inline constexpr bool
    is_eigen_v<E, std::void_t<decltype(std::declval<E&>().data(), int{E::Layout}, E::NumIndices)>> =
        true;

/// Whether a dense expression has memory that strides describe.
template <class E, class = void>
inline constexpr bool has_eigen_memory_v = false;
template <class E>
inline constexpr bool has_eigen_memory_v<E, std::void_t<decltype(std::declval<E&>().data())>> =
    (int{E::Flags} & Eigen::DirectAccessBit) != 0;

/// Whether an object of type E owns its elements.
template <class E>
constexpr bool owns_elements() noexcept {
  if constexpr (is_eigen_dense_v<E>) {
    return decltype(is_eigen_plain(static_cast<E*>(nullptr)))::value;
  } else {  // a TensorMap can be constructed from a pointer, a Tensor cannot
    return !std::is_constructible_v<E, typename E::Scalar*, typename E::Dimensions>;
  }
}
/// A size of a Tensor. Sizes that the type fixes have no addresses, and their index is signed.
template <class Dimensions>
decltype(auto) eigen_size(Dimensions& dimensions, size_t d) noexcept {
  using Fixed = std::ptrdiff_t;
  if constexpr (std::is_same_v<decltype(dimensions[0]), Fixed>) {
    return dimensions[static_cast<Fixed>(d)];
  } else {
    return (dimensions[d]);
  }
}

template <class E>
void describe_eigen(const E& from, Dims& sizes, Dims& strides) noexcept {
  if constexpr (!is_eigen_dense_v<E>) {
    constexpr size_t rank = E::NumIndices;
    for (size_t d = 0; d < rank; ++d) sizes.push_back(eigen_size(from.dimensions(), d));
    strides = sizes;
    if (strides.size() != rank) return;  // out of memory: check_dims() of the sizes reports it
    int64_t stride = 1;
    for (size_t i = 0; i < rank; ++i) {
      const size_t d = int{E::Layout} == Eigen::ColMajor ? i : rank - 1 - i;
      strides[d] = stride;
      stride *= sizes[d];
    }
  } else if constexpr (E::IsVectorAtCompileTime) {
    sizes = {from.size()};
    strides = {from.innerStride()};
  } else {
    sizes = {from.rows(), from.cols()};
    strides = {from.rowStride(), from.colStride()};
  }
}

/// Makes a Stride object; values that its type fixes are ignored.
template <class S>
S eigen_stride(Eigen::Index outer, Eigen::Index inner) {
  constexpr int kOuter = S::OuterStrideAtCompileTime, kInner = S::InnerStrideAtCompileTime;
  if (kOuter != Eigen::Dynamic) outer = kOuter;
  if (kInner != Eigen::Dynamic) inner = kInner;
  if constexpr (std::is_constructible_v<S, Eigen::Index, Eigen::Index>) {
    return S(outer, inner);
  } else {  // OuterStride or InnerStride: the other stride is 0
    return S(kOuter == 0 ? inner : outer);
  }
}

/// Checks whether a map with elements of type `Scalar` may be made. A const `Scalar` asks for
/// reading only.
template <class Scalar>
Error check_for_eigen(const TensorArg& tensor, size_t rank, int alignment) noexcept {
  TENON_TRY(check_host_access(tensor));
  const TensorFields& from = fields(tensor);
  TENON_TRY(check_access("tensor", view_of(from), eigen_type<Scalar>(), rank));
  if (from.readonly && !std::is_const_v<Scalar>) {
    return fail(Error::InvalidState,
                "the tensor is read-only; map it with elements of a const type");
  }
  if (!std::is_const_v<Scalar> && from.layout.may_overlap()) {
    return fail(Error::NotSupported, "strides ", from.layout.strides(), " of sizes ",
                from.layout.sizes(),
                " let elements share memory; map them with elements of a const type");
  }
  const auto address = reinterpret_cast<uintptr_t>(from.data);
  if (alignment != 0 && address % static_cast<uintptr_t>(alignment) != 0) {
    return fail(Error::InvalidArgument, "the data is not at a multiple of ", alignment,
                " bytes, as the map's type requires; Eigen::Unaligned requires nothing");
  }
  return Error::Ok;
}
/// Checks a size that the map's type fixes to `fixed`.
inline Error check_eigen_size(const Layout& layout, size_t d, int64_t fixed) noexcept {
  if (fixed == layout.sizes()[d]) return Error::Ok;
  return fail(Error::InvalidArgument, "size ", layout.sizes()[d], " of dimension ", d,
              " differs from the size in the map's type, ", fixed);
}
/// Checks that a map's strides equal the tensor's. Strides of dimensions of size 1 are not
/// compared.
template <class M>
Error check_eigen_strides(const M& map, const Layout& layout) noexcept {
  Dims sizes, strides;
  describe_eigen(map, sizes, strides);
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(check_dims("strides", strides));
  for (size_t d = 0; d < strides.size() && layout.numel != 0; ++d) {
    if (sizes[d] != 1 && strides[d] != layout.strides()[d]) {
      return fail(Error::NotSupported, "strides ", layout.strides(), " of sizes ", layout.sizes(),
                  " differ from the strides of the map's type, ", strides,
                  "; as_eigen_map() takes any strides, contiguous(t) makes a row-major copy");
    }
  }
  return Error::Ok;
}

/// Makes a Map of type M. Strides that M does not fix are the tensor's.
template <class M>
M eigen_map_of(const TensorFields& from) {
  constexpr bool kVector = M::IsVectorAtCompileTime;
  constexpr bool kHasRows = !kVector || M::ColsAtCompileTime == 1;
  constexpr bool kHasColumns = !kVector || M::RowsAtCompileTime == 1;
  const Layout& layout = from.layout;
  const size_t rows = 0, columns = kVector ? 0 : 1;  // indices of the dimensions
  const size_t d = M::IsRowMajor ? columns : rows;   // the inner dimension
  const int64_t inner_size = layout.sizes()[d];
  const int64_t inner = inner_size > 1 ? layout.strides()[d] : 1;
  const int64_t outer =
      kVector || layout.sizes()[1 - d] <= 1 ? inner * inner_size : layout.strides()[1 - d];
  return M(static_cast<decltype(std::declval<M&>().data())>(from.data),
           kHasRows ? layout.sizes()[rows] : 1, kHasColumns ? layout.sizes()[columns] : 1,
           eigen_stride<typename EigenMap<M>::Stride>(outer, inner));
}
template <class M>
typename M::Dimensions eigen_dimensions(const Layout& layout) {
  typename M::Dimensions dimensions;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if constexpr (std::is_lvalue_reference_v<decltype(eigen_size(dimensions, d))>) {
      dimensions[d] = static_cast<typename M::Index>(layout.sizes()[d]);
    }
  }
  return dimensions;
}
/// Makes the Map or TensorMap of a tensor that passed check_eigen().
template <class M>
M eigen_of(const TensorFields& from) {
  if constexpr (EigenMap<M>::value) {
    return eigen_map_of<M>(from);
  } else {
    return M(static_cast<decltype(std::declval<M&>().data())>(from.data),
             eigen_dimensions<M>(from.layout));
  }
}

/// Checks that a tensor matches the type M of a Map or TensorMap.
template <class M>
Error check_eigen(const TensorArg& tensor) noexcept {
  using Element = std::remove_pointer_t<decltype(std::declval<M&>().data())>;
  if constexpr (EigenMap<M>::value) {
    constexpr bool kVector = M::IsVectorAtCompileTime;
    constexpr int kRows = M::RowsAtCompileTime, kColumns = M::ColsAtCompileTime;
    TENON_TRY(check_for_eigen<Element>(tensor, kVector ? 1 : 2, EigenMap<M>::kAlignment));
    const Layout& layout = fields(tensor).layout;
    if (kRows != Eigen::Dynamic && (!kVector || kColumns == 1)) {
      TENON_TRY(check_eigen_size(layout, 0, kRows));
    }
    if (kColumns != Eigen::Dynamic && (!kVector || kRows == 1)) {
      TENON_TRY(check_eigen_size(layout, kVector ? 0 : 1, kColumns));
    }
  } else {
    static_assert(is_eigen_v<M> && !owns_elements<M>(),
                  "as_eigen<M>() makes an Eigen::Map or an Eigen::TensorMap");
    constexpr int kAlignment = M::IsAligned ? EIGEN_MAX_ALIGN_BYTES : 0;
    TENON_TRY(check_for_eigen<Element>(tensor, M::NumIndices, kAlignment));
    const Layout& layout = fields(tensor).layout;
    auto dimensions = eigen_dimensions<M>(layout);
    for (size_t d = 0; d < layout.rank(); ++d) {
      TENON_TRY(check_eigen_size(layout, d, eigen_size(dimensions, d)));
    }
  }
  return check_eigen_strides(eigen_of<M>(fields(tensor)), fields(tensor).layout);
}

}  // namespace detail

/// Makes an Eigen::Map or Eigen::TensorMap of type M over the tensor's memory:
/// `as_eigen<Eigen::Map<Eigen::Matrix3f>>(t)`. The tensor must have one dimension for a Map of a
/// vector, two for other Maps, and for a TensorMap as many as the TensorMap. Its strides must be
/// those of M. The try_ form returns a Result.
///
/// Ownership: none; the map is valid until the tensor is resized or dropped.
/// Errors: InvalidState (undefined; a placeholder; read-only, but M's elements are not const);
/// InvalidType (another dtype); InvalidArgument (another rank or fixed size; data that is not
/// aligned as M requires); NotSupported (other strides; elements that share memory, but M's
/// elements are not const; memory that the host cannot reach); OutOfMemory (more dimensions than
/// TENON_INLINE_DIMS).
template <class M>
M as_eigen(TensorArg tensor TENON_LIFETIMEBOUND) {
  detail::raise_if("as_eigen", detail::check_eigen<M>(tensor));
  return detail::eigen_of<M>(detail::fields(tensor));
}
template <class M>
Result<M> try_as_eigen(TensorArg tensor TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::add_context_if("try_as_eigen", detail::check_eigen<M>(tensor)));
  return detail::eigen_of<M>(detail::fields(tensor));
}

/// The return type of as_eigen_map().
template <class T, int kOrder,
          class Matrix =
              Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, kOrder>>
using EigenMapOf = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Matrix, Matrix>,
                              Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

namespace detail {

/// A tensor as rows and columns; a tensor of one dimension is a column.
struct EigenGrid {
  void* data;
  Eigen::Index rows, columns, row_stride, column_stride;
};

/// Checks a tensor and describes it as rows and columns. A const `Scalar` asks for reading only.
template <class Scalar>
Error make_eigen_grid(const TensorArg& tensor, EigenGrid& made) noexcept {
  TENON_TRY(check_host_access(tensor));
  const TensorFields& from = fields(tensor);
  const size_t rank = from.layout.rank();
  if (rank != 1 && rank != 2) {
    return fail(Error::InvalidArgument, "the tensor has ", rank,
                " dimensions, expected 2, or 1 for a column; view(t, {rows, columns}) may "
                "reshape it, as_eigen<Eigen::TensorMap<...>>() takes any number");
  }
  TENON_TRY(check_for_eigen<Scalar>(tensor, rank, 0));
  const ArrayRef<int64_t> sizes = from.layout.sizes(), strides = from.layout.strides();
  made = {from.data, sizes[0], 1, strides[0], 1};
  if (rank == 2) {
    made.columns = sizes[1];
    made.column_stride = strides[1];
  }
  // The strides of dimensions of size 1 have no meaning.
  if (made.columns <= 1) made.column_stride = 1;
  if (made.rows <= 1) made.row_stride = 1;
  return Error::Ok;
}

template <class Map>
Map make_eigen_map(const EigenGrid& from) {
  const bool is_row_major = Map::IsRowMajor;
  using Stride = typename EigenMap<Map>::Stride;
  return Map(static_cast<decltype(std::declval<Map&>().data())>(from.data), from.rows, from.columns,
             is_row_major ? Stride(from.row_stride, from.column_stride)
                          : Stride(from.column_stride, from.row_stride));
}

}  // namespace detail

/// Makes a Map of a matrix over a tensor of two dimensions and any strides:
/// `as_eigen_map<float>(t)`. A tensor of one dimension is a column. (For Eigen's functions on
/// vectors, such as rowwise(), use `as_eigen<Eigen::Map<Eigen::VectorXf>>(t)`.) For a read-only
/// tensor, T must be const. Eigen does not vectorise such Maps: if rows are contiguous, as_eigen()
/// with Eigen::OuterStride<> is faster.
/// Ownership and errors: those of as_eigen(), except for strides.
template <class T, int kOrder = Eigen::RowMajor>
EigenMapOf<T, kOrder> as_eigen_map(TensorArg tensor TENON_LIFETIMEBOUND) {
  detail::EigenGrid grid{};
  detail::raise_if("as_eigen_map", detail::make_eigen_grid<T>(tensor, grid));
  return detail::make_eigen_map<EigenMapOf<T, kOrder>>(grid);
}
template <class T, int kOrder = Eigen::RowMajor>
Result<EigenMapOf<T, kOrder>> try_as_eigen_map(TensorArg tensor TENON_LIFETIMEBOUND) noexcept {
  detail::EigenGrid grid{};
  TENON_TRY(detail::add_context_if("try_as_eigen_map", detail::make_eigen_grid<T>(tensor, grid)));
  return detail::make_eigen_map<EigenMapOf<T, kOrder>>(grid);
}

TENON_END_NAMESPACE
