// SPDX-License-Identifier: MIT
// Layout: the checked sizes, strides and dim order of a tensor, in one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/core/strides.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// The fields of a Layout, copied as bytes: faster than copying only the entries in use.
struct LayoutFields {
  ptrdiff_t numel = 1;
  OffsetRange offsets{0, 0};
  /// Whether strides and dim order are those that the sizes alone imply.
  bool row_major = true;

 protected:
  struct Lists {
    int64_t sizes[TENON_INLINE_DIMS];
    int64_t strides[TENON_INLINE_DIMS];
  };
  LayoutFields() noexcept {}

  bool has_lists_ = true;
  uint8_t rank_ = 0;
  DimOrderType order_[TENON_INLINE_DIMS];
  union {
    Lists lists_;
    int64_t* block_;  // of the heap: all sizes, then all strides, then the dim order
  };
};

}  // namespace detail

/// Checked sizes, strides and dim order, and values computed from them.
///
/// Up to TENON_INLINE_DIMS dimensions are held inline, more in one heap block.
/// Source: c10::impl::SizesAndStrides, with a dim order.
class Layout : public detail::LayoutFields {
 public:
  /// Rank 0. Not `= default`: Layout() would zero the lists first.
  Layout() noexcept {}
  /// Out of memory, the copy has rank 0: see check().
  Layout(const Layout& other) noexcept : LayoutFields(other) {
    if (is_on_heap()) copy_block(other);
  }
  /// The source can only be destroyed or assigned to.
  Layout(Layout&& other) noexcept : LayoutFields(other) { other.rank_ = 0; }
  Layout& operator=(const Layout& other) noexcept { return *this = Layout(other); }
  Layout& operator=(Layout&& other) noexcept {
    if (this == &other) return *this;
    if (is_on_heap()) detail::heap_release(block_);
    LayoutFields::operator=(other);
    other.rank_ = 0;
    return *this;
  }
  ~Layout() {
    if (is_on_heap()) detail::heap_release(block_);
  }

  /// Makes the dense layout of the sizes, nested in `dim_order`, a permutation, or row-major where
  /// that is null. The lists must not be `made`'s own.
  /// Errors: those of make_layout() about sizes.
  static Error dense(ArrayRef<int64_t> sizes, const DimOrderType* dim_order, size_t element_size,
                     Layout& made) noexcept {
    bool is_row_major = true;
    TENON_TRY(made.fill(sizes, nullptr, element_size, is_row_major));
    if (dim_order != nullptr) made.nest(dim_order, made.lists());
    return Error::Ok;
  }
  /// make_layout() of lists whose error() is Ok, which must not be `made`'s own.
  template <class Dim = int64_t>
  static Error strided(ArrayRef<int64_t> sizes, ArrayRef<Dim> dim_order, ArrayRef<int64_t> strides,
                       size_t element_size, Layout& made) noexcept {
    const size_t rank = sizes.size();
    if (!strides.empty() && strides.size() != rank) {
      return detail::fail(Error::InvalidArgument, "strides ", strides, " and sizes ", sizes,
                          " differ in length");
    }
    if (!dim_order.empty() && dim_order.size() != rank) {
      return detail::fail(Error::InvalidArgument, "dim_order ", dim_order, " and sizes ", sizes,
                          " differ in length");
    }
    bool is_row_major = true;
    TENON_TRY(
        made.fill(sizes, strides.empty() ? nullptr : strides.data(), element_size, is_row_major));
    for (size_t i = 0; i < dim_order.size(); ++i) {
      is_row_major &= dim_order[i] == static_cast<Dim>(i);
    }
    return is_row_major ? Error::Ok : made.restride(dim_order, strides, element_size);
  }

  size_t rank() const noexcept { return rank_; }
  ArrayRef<int64_t> sizes() const noexcept TENON_LIFETIMEBOUND {
    return {is_on_heap() ? block_ : lists_.sizes, rank_};
  }
  ArrayRef<int64_t> strides() const noexcept TENON_LIFETIMEBOUND {
    return {is_on_heap() ? block_ + rank_ : lists_.strides, rank_};
  }
  ArrayRef<DimOrderType> dim_order() const noexcept TENON_LIFETIMEBOUND {
    return {const_cast<Layout*>(this)->lists().order, rank_};
  }

  bool is_contiguous() const noexcept {
    return row_major || tenon::is_contiguous(sizes(), strides());
  }
  bool is_dense() const noexcept {
    return row_major || tenon::is_dense(sizes(), strides(), dim_order());
  }
  bool may_overlap() const noexcept { return tenon::may_overlap(sizes(), strides(), dim_order()); }
  /// Elements from element 0 to the end of the highest one: what an owning tensor allocates,
  /// and what a shape laid from element 0 upward may use.
  /// Source: std::layout_stride::mapping::required_span_size.
  ptrdiff_t required_span_size() const noexcept { return offsets.max + 1; }
  /// Whether a copy has its lists, and whether its elements, of `element_size`, fit.
  /// Errors: OutOfMemory, InvalidArgument.
  Error check(size_t element_size) const noexcept {
    if (!has_lists_) return detail::fail_shape_memory();
    return detail::check_nbytes(offsets, element_size);
  }

  /// The usual resize, in one pass: a row-major layout takes other sizes of the same rank that hold
  /// 1 to `most` elements. False, with nothing changed, in any other case.
  bool resize_in_place(ArrayRef<int64_t> sizes, ptrdiff_t most) noexcept {
    if (!row_major || sizes.size() != rank_ || is_on_heap()) return false;
    detail::ShapeProduct pass;
    for (size_t d = rank_; d-- > 0;) pass.multiply_by(sizes[d]);
    // Room for the elements implies that their bytes do not overflow.
    if (pass.overflow || pass.signs < 0 || pass.count == 0 || pass.product > most) return false;
    write_row_major(sizes.data(), pass.product);
    return true;
  }
  /// Takes other sizes, of `count` elements, as compute_numel() says: row-major.
  /// Errors: OutOfMemory; then nothing has changed.
  Error set_sizes(ArrayRef<int64_t> sizes, ptrdiff_t count) noexcept {
    TENON_TRY(set_rank(sizes.size()));
    write_row_major(sizes.data(), count);
    return Error::Ok;
  }
  /// Sets sizes and keeps the dim order, unless the rank changes.
  Error resize(ArrayRef<int64_t> sizes, ptrdiff_t count) noexcept {
    if (row_major || sizes.size() != rank_) return set_sizes(sizes, count);
    const Pointers to = lists();
    for (size_t d = 0; d < rank_; ++d) to.sizes[d] = sizes[d];
    nest(to.order, to);
    numel = count;
    offsets = {0, count - 1};
    return Error::Ok;
  }
  /// Takes another dim order, in which the strides nest.
  void set_dim_order(ArrayRef<DimOrderType> dim_order) noexcept {
    const Pointers to = lists();
    for (size_t i = 0; i < rank_; ++i) to.order[i] = dim_order[i];
    row_major = false;
  }

 private:
  struct Pointers {
    int64_t* sizes;
    int64_t* strides;
    DimOrderType* order;
  };
  bool is_on_heap() const noexcept { return TENON_HEAP && rank_ > TENON_INLINE_DIMS; }
  Pointers lists() noexcept {
    if (is_on_heap()) {
      const size_t rank = rank_;
      return {block_, block_ + rank, reinterpret_cast<DimOrderType*>(block_ + 2 * rank)};
    }
    return {lists_.sizes, lists_.strides, order_};
  }
  static constexpr size_t block_nbytes(size_t rank) noexcept {
    return rank * (2 * sizeof(int64_t) + sizeof(DimOrderType));
  }

  /// Makes room for the lists of `rank` dimensions, to be filled in.
  TENON_ALWAYS_INLINE Error set_rank(size_t rank) noexcept {
    if (rank > TENON_INLINE_DIMS || is_on_heap()) return change_block(rank);
    rank_ = static_cast<uint8_t>(rank);
    return Error::Ok;
  }
  TENON_COLD Error change_block(size_t rank) noexcept {
    if (rank == rank_) return Error::Ok;
    if (rank > kMaxDims) return detail::fail_dims("sizes", Error::InvalidArgument);
    void* block = nullptr;
    if (rank > TENON_INLINE_DIMS) {
      block = detail::heap_allocate(block_nbytes(rank));
      if (block == nullptr) return detail::fail_shape_memory();
    }
    if (is_on_heap()) detail::heap_release(block_);
    if (block != nullptr) block_ = static_cast<int64_t*>(block);
    rank_ = static_cast<uint8_t>(rank);
    return Error::Ok;
  }
  TENON_COLD void copy_block(const Layout& other) noexcept {
    void* const block = detail::heap_allocate(block_nbytes(rank_));
    has_lists_ = block != nullptr;
    if (has_lists_) {
      std::memcpy(block, other.block_, block_nbytes(rank_));
      block_ = static_cast<int64_t*>(block);
    } else {
      rank_ = 0;
    }
  }

  /// Fills in the row-major layout of the sizes, in one walk. `is_same` becomes false where
  /// `strides`, which may be null, are others.
  TENON_ALWAYS_INLINE Error fill(ArrayRef<int64_t> sizes, const int64_t* strides,
                                 size_t element_size, bool& is_same) noexcept {
    const size_t rank = sizes.size();
    TENON_TRY(set_rank(rank));
    const int64_t* const from = sizes.data();
    const Pointers to = lists();
    detail::ShapeProduct pass;
    for (size_t d = rank; d-- > 0;) {
      if (strides != nullptr) is_same &= strides[d] == pass.product;
      to.sizes[d] = from[d];
      to.strides[d] = pass.product;
      to.order[d] = static_cast<DimOrderType>(d);
      pass.multiply_by(from[d]);
    }
    if (!pass.valid(element_size)) return detail::fail_shape(sizes, element_size);
    numel = pass.numel();
    offsets = {0, numel - 1};
    row_major = true;
    has_lists_ = true;
    return Error::Ok;
  }
  /// Writes the lists of a row-major layout of this rank, whose sizes were checked.
  void write_row_major(const int64_t* sizes, ptrdiff_t count) noexcept {
    const Pointers to = lists();
    ptrdiff_t step = 1;
    for (size_t d = rank_; d-- > 0;) {
      to.sizes[d] = sizes[d];
      to.strides[d] = step;
      to.order[d] = static_cast<DimOrderType>(d);
      if (sizes[d] != 0) step *= static_cast<ptrdiff_t>(sizes[d]);
    }
    numel = count;
    offsets = {0, count - 1};
    row_major = true;
  }

  /// Nests the dimensions in another order.
  void nest(const DimOrderType* order, Pointers to) noexcept {
    ptrdiff_t product = 1;
    for (size_t i = rank_; i-- > 0;) {
      const DimOrderType d = order[i];
      to.order[i] = d;
      to.strides[d] = product;
      const int64_t size = to.sizes[d];
      if (size != 0) product *= static_cast<ptrdiff_t>(size);
    }
    row_major = false;
  }
  /// Takes a dim order and strides of any kind. One of them may be empty.
  template <class Dim>
  TENON_NOINLINE Error restride(ArrayRef<Dim> new_order, ArrayRef<int64_t> new_strides,
                                size_t element_size) noexcept {
    const Pointers to = lists();
    row_major = false;
    if (new_order.empty()) {
      // As the dimensions come is the usual case: the sort takes 30 to 70 instructions more.
      bool nests = true;
      int64_t previous = INT64_MAX;
      for (size_t d = 0; d < rank_; ++d) {
        if (to.sizes[d] == 1) continue;
        const int64_t stride = detail::magnitude(new_strides[d]);
        nests &= stride <= previous;
        previous = stride;
      }
      if (!nests) dim_order_from_strides(sizes(), new_strides, {to.order, rank_});
    } else {
      uint64_t seen = 0;
      for (size_t i = 0; i < rank_; ++i) {
        const int64_t d = new_order[i];
        if (d < 0 || d >= int64_t{rank_} || (seen >> d & 1) != 0) {
          return detail::fail(Error::InvalidArgument, "dim_order ", new_order,
                              " is not a permutation of the ", size_t{rank_}, " dimensions");
        }
        seen |= uint64_t{1} << d;
        to.order[i] = static_cast<DimOrderType>(d);
      }
      nest(to.order, to);
      if (new_strides.empty() || new_strides == strides()) return Error::Ok;
      if (!strides_agree_with(sizes(), new_strides, dim_order())) {
        return detail::fail(Error::InvalidArgument, "strides ", new_strides,
                            " do not nest in the order of dim_order ", new_order, " for sizes ",
                            sizes());
      }
    }
    for (size_t d = 0; d < rank_; ++d) to.strides[d] = new_strides[d];
    TENON_TRY(compute_offset_range(sizes(), new_strides, offsets));
    return detail::check_nbytes(offsets, element_size);
  }
};

/// Checks a shape and makes its Layout.
///
/// An empty dim_order is implied by the strides, or row-major; empty strides are the dense ones of
/// the dim order. Sizes without elements may come with any strides.
/// Errors: InvalidArgument (more than kMaxDims dimensions; a negative size; an overflowing element
/// count, offset or byte count; a dim_order that is not a permutation; lengths that differ; strides
/// that do not nest in the dim order), OutOfMemory (a shape of more
/// dimensions than TENON_INLINE_DIMS).
inline Error make_layout(const Dims& sizes, const Dims& dim_order, const Dims& strides,
                         size_t element_size, Layout& layout) noexcept {
  TENON_TRY(detail::check_dims("sizes", sizes));
  TENON_TRY(detail::check_dims("dim_order", dim_order));
  TENON_TRY(detail::check_dims("strides", strides));
  return Layout::strided(sizes, ArrayRef<int64_t>(dim_order), strides, element_size, layout);
}

TENON_END_NAMESPACE
