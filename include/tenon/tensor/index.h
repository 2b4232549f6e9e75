// SPDX-License-Identifier: MIT
// index_select, index_select_out and index_copy_, which move rows by their indices.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "tenon/tensor/cat.h"
#include "tenon/tensor/move_rows.h"

TENON_BEGIN_NAMESPACE

/// Indices as an argument: a Long or Int tensor, of rank 1, or of rank 0 for one index; a brace
/// list; or a contiguous container of signed integers of 64 or 32 bits.
///
/// Ownership: refers to the tensor or the list during the call.
class IndicesArg {
  template <class C>
  using Element = std::remove_cv_t<typename detail::ContiguousElement<const C>::type>;
  template <class C>
  static constexpr detail::ScalarType kType = detail::scalar_type_of<Element<C>>();
  template <class C>
  static constexpr bool kIsTaken =
      kType<C> == detail::ScalarType::Long || kType<C> == detail::ScalarType::Int;

 public:
  IndicesArg(const IndicesArg&) = delete;
  IndicesArg& operator=(const IndicesArg&) = delete;
  /// Refers to a tensor of integers, a list such as `{0, 2}`, or a container of int64_t or int32_t.
  IndicesArg(const Tensor& tensor TENON_LIFETIMEBOUND) noexcept : tensor_(tensor) {}
  IndicesArg(const TensorPtr& tensor TENON_LIFETIMEBOUND) noexcept : tensor_(tensor) {}
  IndicesArg(const ConstTensorArg& tensor) noexcept : tensor_(tensor) {}
  IndicesArg(std::initializer_list<detail_values::DimArg> list TENON_LIFETIMEBOUND) noexcept
      : size_(static_cast<int64_t>(list.size())), stride_(sizeof(detail_values::DimArg) / 8) {
    is_list_ = true;
    data_ = list.begin();
    for (const auto& index : list) {
      if (!index.fits && too_large_ < 0) too_large_ = &index - list.begin();
    }
    static_assert(sizeof(detail_values::DimArg) % 8 == 0 &&
                  std::is_standard_layout_v<detail_values::DimArg>);
  }
  template <class C, std::enable_if_t<kIsTaken<C>, int> = 0>
  IndicesArg(const C& container TENON_LIFETIMEBOUND) noexcept
      : data_(container.data()), size_(static_cast<int64_t>(container.size())) {
    is_list_ = true;
    type_ = kType<C>;
  }
  template <class IndicesNeedInt64OrInt32,
            std::enable_if_t<std::is_integral_v<Element<IndicesNeedInt64OrInt32>> &&
                                 !kIsTaken<IndicesNeedInt64OrInt32>,
                             int> = 0>
  IndicesArg(const IndicesNeedInt64OrInt32&)
      TENON_MISTAKE("indices are int64_t or int32_t: std::vector<int64_t>(v.begin(), v.end())");

  /// Whether a list or container was given.
  bool is_list() const noexcept { return is_list_; }
  /// The position of a brace list's first number above int64_t's range, or -1.
  int64_t too_large() const noexcept { return too_large_; }
  /// The tensor, if a tensor was given.
  const ConstTensorArg& tensor() const noexcept { return tensor_; }
  /// A view of the list or container, if one was given.
  TensorView view() const noexcept TENON_LIFETIMEBOUND {
    return {
        const_cast<void*>(data_), detail::public_type(type_), Device(), {&size_, 1}, {&stride_, 1}};
  }

 private:
  ConstTensorArg tensor_ = detail::no_tensor();
  const void* data_ = nullptr;
  detail::ScalarType type_ = detail::ScalarType::Long;
  bool is_list_ = false;
  int64_t size_ = 0;
  int64_t stride_ = 1;  // in elements
  int64_t too_large_ = -1;
};

namespace detail {

/// The arguments of a move.
struct IndexedMove {
  HeldLocation to;
  HeldLocation from;
  HeldLocation places;  // where the indices are
  HostElements copied;  // a copy of the indices, if a backend or the move could change them
  size_t dim = 0;
  RowMove rows;
};

/// A tensor of rank 0 has one row, as in ATen.
inline void make_rows(TensorView& view) noexcept {
  static constexpr int64_t kOne = 1;
  if (view.sizes.empty()) view.sizes = view.strides = {&kOne, 1};
}

TENON_TEMPLATE_INLINE Error find_indices(const IndicesArg& indices, IndexedMove& move) noexcept {
  if (indices.too_large() >= 0) {
    return fail(Error::OutOfBounds, "the index at position ", indices.too_large(),
                " is above int64_t's range");
  }
  if (indices.is_list()) {
    move.places.view = indices.view();
  } else {
    TENON_TRY(find_source(indices.tensor(), "the index tensor", move.places));
  }
  TensorView& view = move.places.view;
  const ScalarType type = own_type(view.type);
  if (type != ScalarType::Long && type != ScalarType::Int) {
    return fail(Error::InvalidType, "the indices are ", type, ", expected Long or Int",
                type == ScalarType::Bool ? "; flatten(nonzero(mask)) makes indices of a mask" : "");
  }
  if (view.sizes.size() > 1) {
    return fail(Error::InvalidArgument, "the indices have sizes ", view.sizes,
                ", expected one dimension");
  }
  make_rows(view);
  move.rows.indices.count = view.sizes[0];
  return Error::Ok;
}

/// Makes the indices readable, and checks them against the `size` of the dimension.
TENON_TEMPLATE_INLINE Error check_indices(IndexedMove& move, bool copies, int64_t size) noexcept {
  if (copies || move.places.backend != nullptr) {
    TENON_TRY(move.copied.make(move.places.view));
    TENON_TRY(copy(move.copied.location, move.places));
    move.places.view = move.copied.location.view;
    move.places.backend = nullptr;
  }
  const TensorView& view = move.places.view;
  Indices& indices = move.rows.indices;
  indices.data = static_cast<const char*>(view.data);
  indices.is_int = own_type(view.type) == ScalarType::Int;
  if (indices.count > 1) {
    indices.stride = static_cast<ptrdiff_t>(view.strides[0]) * (indices.is_int ? 4 : 8);
  }
  uint64_t signs = 0;  // the highest bit is set if an index is out of range
  indices.for_each(0, indices.count, [&](int64_t, int64_t index) noexcept {
    const auto i = static_cast<uint64_t>(index);
    signs |= i | (static_cast<uint64_t>(size - 1) - i);
  });
  for (int64_t k = 0; signs >> 63 != 0 && k < indices.count; ++k) {
    const int64_t index = indices[k];
    if (index >= 0 && index < size) continue;
    return fail(Error::OutOfBounds, "index ", index, " at position ", k,
                " is out of range for dimension ", move.dim, " of size ", size,
                index < 0 ? "; negative indices do not count from the end" : "");
  }
  return Error::Ok;
}

/// Moves the rows, after all checks. A backend moves each run of consecutive indices by one call.
TENON_TEMPLATE_INLINE Error move_indexed(IndexedMove& move, const MemoryLocation& to,
                                         const MemoryLocation& from, CastMode mode,
                                         CastFunction cast) noexcept {
  const Indices& indices = move.rows.indices;
  move.rows.cast = cast;
  if (to.backend == nullptr && from.backend == nullptr) {
    return move_rows(move.rows, to.view, from.view, move.dim, mode);
  }
  for (const int64_t size : from.view.sizes) {
    if (size == 0) return Error::Ok;
  }
  MemoryLocation sides[] = {to, from};
  ViewWithLists lists[2];
  ptrdiff_t steps[2] = {};
  for (int side = 0; side < 2; ++side) {
    TensorView& view = sides[side].view;
    TENON_TRY(copy_lists(view, lists[side]));
    if (view.sizes[move.dim] > 1) {
      steps[side] = static_cast<ptrdiff_t>(view.strides[move.dim]) *
                    static_cast<ptrdiff_t>(elementSize(own_type(view.type)));
    }
  }
  const int indexed = move.rows.scatters ? 0 : 1;
  for (int64_t k = 0, n = 1; k < indices.count; k += n) {
    for (n = 1; k + n < indices.count && indices[k + n] == indices[k] + n;) ++n;
    for (int side = 0; side < 2; ++side) {
      const int64_t first = side == indexed ? indices[k] : k;
      lists[side].sizes[move.dim] = n;
      lists[side].data =
          static_cast<char*>((side == 0 ? to : from).view.data) + first * steps[side];
      sides[side].view = lists[side];
    }
    TENON_TRY(copy(sides[0], sides[1], mode, cast));
  }
  return Error::Ok;
}

/// Prepares the conversion, which is the same for all rows.
TENON_TEMPLATE_INLINE void set_conversion(IndexedMove& move, const MemoryLocation& to,
                                          const MemoryLocation& from, CastMode mode,
                                          Conversion& conversion) noexcept {
  if (to.view.type == from.view.type) return;
  make_conversion(conversion, own_type(to.view.type), own_type(from.view.type), mode);
  move.rows.plan.conversion = &conversion;
}

/// Whether two memories may share elements.
inline bool may_share(const MemoryLocation& a, const MemoryLocation& b) noexcept {
  for (const MemoryLocation* side : {&a, &b}) {
    for (const int64_t size : side->view.sizes) {
      if (size == 0) return false;
    }
  }
  return a.backend == b.backend && overlap(byte_range(a.view), byte_range(b.view));
}

/// Holds all tensors if a backend's code may run meanwhile. `asks_other`: whether another backend's
/// code may run too.
TENON_TEMPLATE_INLINE Error keep_sides(IndexedMove& move, const TensorArg* to,
                                       const TensorArg& from, const IndicesArg& indices,
                                       bool asks_other) noexcept {
  bool asks = is_backend_asked(fields(from), asks_other);
  if (to != nullptr) asks = is_backend_asked(fields(*to), asks);
  if (!indices.is_list()) asks = is_backend_asked(fields(indices.tensor()), asks);
  if (!asks) return Error::Ok;
  if (to != nullptr) TENON_TRY(move.to.keep(*to));
  TENON_TRY(move.from.keep(from));
  return indices.is_list() ? Error::Ok : move.places.keep(indices.tensor());
}

/// The sizes of a tensor with one row for each index.
TENON_TEMPLATE_INLINE Error list_sizes(const IndexedMove& move, ArrayRef<int64_t> from,
                                       Dims& sizes) noexcept {
  const int64_t count = move.rows.indices.count;
  sizes = Dims(from.begin(), from.end());
  TENON_TRY(check_dims("sizes", sizes));
  if (!from.empty()) {
    sizes[move.dim] = count;
  } else if (count != 1) {
    return fail(Error::InvalidArgument, count,
                " indices are given for a tensor of rank 0, expected 1");
  }
  return Error::Ok;
}

/// Finds the tensor and the indices; sets the result's sizes.
TENON_TEMPLATE_INLINE Error find_selection(IndexedMove& move, const TensorArg& t, int64_t dim,
                                           const IndicesArg& indices, Dims& sizes) noexcept {
  TENON_TRY(find_source(t, "the tensor", move.from));
  TENON_TRY(wrap_dim_or_scalar(dim, move.from.view.sizes.size(), move.dim));
  TENON_TRY(find_indices(indices, move));
  TENON_TRY(list_sizes(move, move.from.view.sizes, sizes));
  make_rows(move.from.view);
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error select_to(const TensorArg& out, const TensorArg& t, int64_t dim,
                                      const IndicesArg& indices, CastMode mode,
                                      CastFunction cast) noexcept {
  IndexedMove move;
  Dims sizes;
  TENON_TRY(find_destination(out, "the output", move.to));
  TENON_TRY(find_selection(move, t, dim, indices, sizes));
  MemoryLocation& to = move.to;
  MemoryLocation& from = move.from;
  TENON_TRY(check_cast(own_type(from.view.type), own_type(to.view.type), mode));
  if (to.view.sizes != sizes) {
    return fail(Error::InvalidArgument, "the output has sizes ", to.view.sizes, ", the result has ",
                sizes, "; they have to be equal");
  }
  make_rows(to.view);
  TENON_TRY(keep_sides(move, &out, t, indices, false));
  const bool asks = to.backend != nullptr || from.backend != nullptr;
  TENON_TRY(check_indices(move, asks || may_share(to, move.places), from.view.sizes[move.dim]));
  Conversion conversion;
  set_conversion(move, to, from, mode, conversion);
  // With a backend, lists on the heap are allocated for each run of rows; if that failed, some rows
  // would have been written.
  if (!may_share(to, from) && !(asks && sizes.size() > Dims::kInlineSize)) {
    return move_indexed(move, to, from, mode, cast);
  }
  HostElements here;
  TENON_TRY(here.make(to.view));
  TENON_TRY(move_indexed(move, here.location, from, mode, cast));
  return copy(to, here.location);
}

TENON_TEMPLATE_INLINE Error make_selection(const TensorArg& t, int64_t dim,
                                           const IndicesArg& indices, Backend*& backend,
                                           NewTensor& made) noexcept {
  IndexedMove move;
  Dims sizes;
  TENON_TRY(find_selection(move, t, dim, indices, sizes));
  TENON_TRY(find_backend_like(fields(t), nullptr, backend));
  const ScalarType type = fields(t).type;
  TENON_TRY(keep_sides(move, nullptr, t, indices, backend != nullptr));
  const int64_t size = move.from.view.sizes[move.dim];
  TENON_TRY(check_indices(move, move.from.backend != nullptr, size));
  CreateOptions opts(type);
  opts.backend = backend;
  TENON_TRY(make_owned_row_major(sizes, opts, false, made));
  if (backend != nullptr) TENON_TRY(check_indices(move, false, size));  // its code has run
  MemoryLocation to = locate_new(fields(made));
  make_rows(to.view);
  return move_indexed(move, to, move.from, CastMode::Checked, nullptr);
}

template <class Out>
Out select_rows(const char* function, const TensorArg& t, int64_t dim, const IndicesArg& indices) {
  NewTensor made;
  Backend* backend = nullptr;
  const Error error = make_selection(t, dim, indices, backend, made);
  return return_to_user<Out>(function, error, made, backend);
}

TENON_TEMPLATE_INLINE Error copy_to_rows(const TensorArg& t, int64_t dim, const IndicesArg& indices,
                                         const TensorArg& source, CastMode mode,
                                         CastFunction cast) noexcept {
  IndexedMove move;
  move.rows.scatters = true;
  Dims sizes;
  MemoryLocation& to = move.to;
  MemoryLocation& from = move.from;
  TENON_TRY(find_destination(t, "the tensor", move.to));
  TENON_TRY(find_source(source, "the source", move.from));
  TENON_TRY(wrap_dim_or_scalar(dim, to.view.sizes.size(), move.dim));
  TENON_TRY(find_indices(indices, move));
  TENON_TRY(check_cast(own_type(from.view.type), own_type(to.view.type), mode));
  make_rows(to.view);
  make_rows(from.view);
  TENON_TRY(list_sizes(move, to.view.sizes, sizes));
  if (from.view.sizes != sizes) {
    return fail(Error::InvalidArgument, "the source has sizes ", from.view.sizes, ", expected ",
                sizes, " for ", move.rows.indices.count, " indices of dimension ", move.dim,
                " of sizes ", to.view.sizes);
  }
  TENON_TRY(keep_sides(move, &t, source, indices, false));
  const bool asks = to.backend != nullptr || from.backend != nullptr;
  TENON_TRY(check_indices(move, asks || may_share(to, move.places), to.view.sizes[move.dim]));
  Conversion conversion;
  set_conversion(move, to, from, mode, conversion);
  HostElements staged;
  if (may_share(to, from)) {
    TENON_TRY(staged.make(from.view));
    TENON_TRY(copy(staged.location, from));
    from = staged.location;
  }
  if (!asks || sizes.size() <= Dims::kInlineSize) return move_indexed(move, to, from, mode, cast);
  HostElements here;  // used as in select_to()
  TENON_TRY(here.make(to.view));
  TENON_TRY(copy(here.location, to));
  TENON_TRY(move_indexed(move, here.location, from, mode, cast));
  return copy(to, here.location);
}

}  // namespace detail

/// The rows of `t` at the given indices along a dimension, in the order of the indices. An index
/// may occur several times. The result is row-major, owns its memory, has t's dtype, is
/// DYNAMIC_BOUND, and is in t's backend. The try_ form returns a Result.
///
/// Shapes: the result has t's sizes, except that `dim` has one row for each index. A tensor of rank
/// 0 has one row, 0.
/// Errors: OutOfBounds (a dimension that t does not have; an index that is negative or too large),
/// InvalidType (indices that are neither Long nor Int), InvalidArgument (indices of rank 2 or more;
/// not exactly one index for a tensor of rank 0; sizes or bytes that overflow), InvalidState (an
/// undefined tensor, a placeholder), NotSupported (a meta tensor; memory that neither the host nor
/// a registered backend can reach), OutOfMemory.
/// Cost: one memcpy a row where rows are dense. A backend copies a run of consecutive indices by
/// one call.
/// Source: at::index_select; numpy.take with mode="raise", which allows negative indices.
TENON_TEMPLATE_INLINE TensorPtr index_select(ConstTensorArg t, int64_t dim,
                                             const IndicesArg& indices) {
  return detail::select_rows<TensorPtr>("index_select", t, dim, indices);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_index_select(ConstTensorArg t, int64_t dim,
                                                         const IndicesArg& indices) {
  return detail::select_rows<Result<TensorPtr>>("try_index_select", t, dim, indices);
}

/// Does what index_select() does, but writes the result to an existing tensor, of any strides, on
/// any device. Converts as copy_() does.
///
/// The result is as if all rows and indices were read before the output is written. Uses a
/// temporary if the tensor or the indices may overlap the output, or are in a backend's memory that
/// the host cannot reach. Otherwise allocates nothing for shapes of up to TENON_INLINE_DIMS
/// dimensions.
/// Errors: those of index_select(); those of copy_() for the output and the dtypes; InvalidArgument
/// for an output of other sizes than the result's. Nothing is changed then. If a backend fails, the
/// output may be partly written.
/// Threads: the caller locks out other users of the output, and writers of the tensor and the
/// indices.
/// Source: at::index_select_out, which resizes the output and refuses overlap and other dtypes.
template <class = void>
[[nodiscard]] Error index_select_out(TensorArg out, ConstTensorArg t, int64_t dim,
                                     const IndicesArg& indices,
                                     CastMode mode = CastMode::Checked) noexcept {
  return detail::add_context_if(
      "index_select_out", detail::select_to(out, t, dim, indices, mode, &detail::cast_elements<>));
}

/// Copies row k of `source` to row indices[k] of `t` along a dimension, for all k in order: where
/// an index occurs twice, the last row stays. Converts as copy_() does. This is the inverse of
/// index_select().
///
/// Shapes: source has t's sizes, except that `dim` has one row for each index. A `t` of rank 0 is
/// one row, and takes any number of indices. Errors, overlap, temporaries and threads: those of
/// index_select_out() with `t` as the output.
/// Source: at::Tensor::index_copy_, which refuses Int indices, overlap and other dtypes.
template <class = void>
[[nodiscard]] Error index_copy_(TensorArg t, int64_t dim, const IndicesArg& indices,
                                ConstTensorArg source, CastMode mode = CastMode::Checked) noexcept {
  return detail::add_context_if(
      "index_copy_", detail::copy_to_rows(t, dim, indices, source, mode, &detail::cast_elements<>));
}

TENON_END_NAMESPACE
