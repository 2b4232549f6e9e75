// SPDX-License-Identifier: MIT
// Layout: the checked sizes, strides and dim order of a tensor, in one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/core/strides.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Arguments of make_layout(). If `dim_order` is empty, it follows from the strides, or is
/// row-major without strides. If `strides` is empty, the strides are dense in the dim order.
struct LayoutArgs {
  ArrayRef<int64_t> sizes;
  ArrayRef<int64_t> strides = {};
  ArrayRef<int64_t> dim_order = {};
  /// Whether strides that do not nest in `dim_order` replace it by the order that they imply;
  /// otherwise such strides are an error.
  bool may_reorder = false;
};

/// Checked sizes, strides and dim order, and values derived from them.
///
/// Up to TENON_INLINE_DIMS dimensions are held inline, more in one heap block.
/// Source: c10::impl::SizesAndStrides, with a dim order.
class Layout {
 public:
  ptrdiff_t numel = 1;
  OffsetRange offsets{0, 0};
  /// Whether strides and dim order are row-major.
  bool row_major = true;

  /// Rank 0. Not `= default`: Layout() would zero the lists first.
  Layout() noexcept {}
  /// If memory runs out, the copy has rank 0: see check().
  Layout(const Layout& other) noexcept {
    copy_bytes(other);
    if (is_on_heap()) copy_heap_lists(other);
  }
  /// Afterwards the source can only be destroyed or assigned to.
  Layout(Layout&& other) noexcept {
    copy_bytes(other);
    other.rank_ = 0;
  }
  Layout& operator=(const Layout& other) noexcept { return *this = Layout(other); }
  Layout& operator=(Layout&& other) noexcept {
    if (this == &other) return *this;
    if (is_on_heap()) heap_release(block_);
    copy_bytes(other);
    other.rank_ = 0;
    return *this;
  }
  ~Layout() {
    if (is_on_heap()) heap_release(block_);
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
  /// How many elements an owning tensor allocates: those from element 0 to the highest one.
  /// Source: std::layout_stride::mapping::required_span_size.
  ptrdiff_t required_span_size() const noexcept { return offsets.max + 1; }
  /// Checks that a copy's lists were allocated.
  /// Errors: OutOfMemory.
  Error check() const noexcept { return has_lists_ ? Error::Ok : fail_shape_memory(); }

  /// The common resize, in one pass: sets row-major sizes of the same rank that have 1 to `most`
  /// elements. For all other sizes it returns false and changes nothing.
  bool resize_in_place(ArrayRef<int64_t> sizes, ptrdiff_t most) noexcept {
    if (!row_major || sizes.size() != rank_ || is_on_heap()) return false;
    int64_t count = 1;
    for (const int64_t size : sizes) {
      if (size < 1 || !multiply(count, size, count)) return false;
    }
    if (count > most) return false;  // they fit the memory, so that their bytes fit ptrdiff_t
    const int64_t counted = count;   // see multiply_offset()
    int64_t stride = 1;
    for (size_t d = rank_; d-- > 0;) {
      lists_.sizes[d] = sizes[d];
      lists_.strides[d] = stride;
      stride *= sizes[d];
    }
    set_count(static_cast<ptrdiff_t>(counted));
    return true;
  }
  /// Checks sizes and makes their row-major layout.
  /// Errors: those of make_layout().
  // Inlined: for a shape known at compile time the checks and their texts are dropped. A program
  // with a TensorImpl gets 3.1 KB smaller at -Os.
  TENON_ALWAYS_INLINE Error make_row_major(ArrayRef<int64_t> sizes, size_t element_size) noexcept {
    TENON_TRY(set_rank(sizes.size()));
    ShapeProduct pass = write(sizes.data());
    if (!pass.valid(element_size)) return fail_shape(sizes, element_size);
    set_count(pass.numel());
    return Error::Ok;
  }
  /// Sets other sizes, row-major. `count` is their number of elements (compute_numel()).
  /// Errors: OutOfMemory; nothing is changed.
  Error set_sizes(ArrayRef<int64_t> sizes, ptrdiff_t count) noexcept {
    TENON_TRY(set_rank(sizes.size()));
    write(sizes.data());
    set_count(count);
    return Error::Ok;
  }
  /// set_sizes(), but keeps the dim order unless the rank changes.
  TENON_NOINLINE Error resize(ArrayRef<int64_t> sizes, ptrdiff_t count) noexcept {
    if (row_major || sizes.size() != rank_) return set_sizes(sizes, count);
    const Pointers to = lists();
    for (size_t d = 0; d < rank_; ++d) to.sizes[d] = sizes[d];
    nest();
    set_count(count);
    return Error::Ok;
  }

 private:
  friend Error make_layout(const LayoutArgs& args, size_t element_size, Layout& layout) noexcept;

  struct Lists {
    int64_t sizes[TENON_INLINE_DIMS];
    int64_t strides[TENON_INLINE_DIMS];
  };
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

  /// Allocates the lists of `rank` dimensions, uninitialised.
  TENON_ALWAYS_INLINE Error set_rank(size_t rank) noexcept {
    if (rank > TENON_INLINE_DIMS || is_on_heap()) return change_block(rank);
    rank_ = static_cast<uint8_t>(rank);
    return Error::Ok;
  }
  TENON_COLD Error change_block(size_t rank) noexcept {
    if (rank == rank_) return Error::Ok;
    if (rank > kMaxDims) return fail_dims("sizes", Error::InvalidArgument);
    void* block = nullptr;
    if (rank > TENON_INLINE_DIMS) {
      block = heap_allocate(block_nbytes(rank));
      if (block == nullptr) return fail_shape_memory();
    }
    if (is_on_heap()) heap_release(block_);
    if (block != nullptr) block_ = static_cast<int64_t*>(block);
    rank_ = static_cast<uint8_t>(rank);
    return Error::Ok;
  }
  TENON_COLD void copy_heap_lists(const Layout& other) noexcept {
    void* const block = heap_allocate(block_nbytes(rank_));
    has_lists_ = block != nullptr;
    if (has_lists_) {
      std::memcpy(block, other.block_, block_nbytes(rank_));
      block_ = static_cast<int64_t*>(block);
    } else {
      rank_ = 0;
    }
  }

  /// Copies all fields as bytes: faster than copying only the entries in use.
  void copy_bytes(const Layout& other) noexcept {
    std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof *this);
  }

  /// Writes the row-major layout of sizes of this rank, in one pass. The ShapeProduct tells whether
  /// the sizes are valid.
  TENON_ALWAYS_INLINE ShapeProduct write(const int64_t* sizes) noexcept {
    const Pointers to = lists();
    ShapeProduct pass;
    for (size_t d = rank_; d-- > 0;) {
      to.sizes[d] = sizes[d];
      to.strides[d] = pass.product;
      to.order[d] = static_cast<DimOrderType>(d);
      pass.multiply_by(sizes[d]);
    }
    row_major = true;
    has_lists_ = true;
    return pass;
  }
  void set_count(ptrdiff_t count) noexcept {
    numel = count;
    offsets = {0, count - 1};
  }
  /// Writes the strides that are dense in the current dim order.
  void nest() noexcept {
    const Pointers to = lists();
    ptrdiff_t product = 1;
    for (size_t i = rank_; i-- > 0;) {
      const size_t d = to.order[i];
      to.strides[d] = product;
      const int64_t size = to.sizes[d];
      if (size != 0) product *= static_cast<ptrdiff_t>(size);
    }
    row_major = false;
  }
  /// Makes a layout that may have another dim order and strides of any kind.
  Error make_strided(const LayoutArgs& args, size_t element_size) noexcept {
    const size_t rank = args.sizes.size();
    if (!args.strides.empty() && args.strides.size() != rank) {
      return fail(Error::InvalidArgument, "strides ", args.strides, " and sizes ", args.sizes,
                  " differ in length");
    }
    if (!args.dim_order.empty() && args.dim_order.size() != rank) {
      return fail(Error::InvalidArgument, "dim_order ", args.dim_order, " and sizes ", args.sizes,
                  " differ in length");
    }
    TENON_TRY(set_rank(rank));
    TENON_TRY(set_order(args.dim_order));
    const Pointers to = lists();
    const int64_t* const sizes = args.sizes.data();
    const int64_t* const strides = args.strides.empty() ? nullptr : args.strides.data();
    ShapeProduct pass;
    bool is_dense_in_order = true;
    bool is_sorted = true;
    for (size_t i = rank; i-- > 0;) {
      const size_t d = to.order[i];
      const int64_t stride = strides == nullptr ? pass.product : strides[d];
      is_sorted &= d == i;
      is_dense_in_order &= stride == pass.product;
      to.sizes[d] = sizes[d];
      to.strides[d] = stride;
      pass.multiply_by(sizes[d]);
    }
    if (!pass.valid(element_size)) return fail_shape(args.sizes, element_size);
    set_count(pass.numel());
    row_major = is_dense_in_order && is_sorted;
    has_lists_ = true;
    return is_dense_in_order ? Error::Ok : check_strides(args, element_size);
  }
  /// Computes the dim order and the extent of strides that are not dense.
  Error check_strides(const LayoutArgs& args, size_t element_size) noexcept {
    const Pointers to = lists();
    bool nests = true;
    int64_t outer = INT64_MAX;
    for (size_t i = 0; i < rank_; ++i) {
      const size_t d = to.order[i];
      if (to.sizes[d] == 1) continue;
      nests &= magnitude(to.strides[d]) <= outer;
      outer = magnitude(to.strides[d]);
    }
    if (!nests && args.dim_order.empty()) {
      dim_order_from_strides(args.sizes, args.strides, {to.order, rank_});
    } else if (!nests && numel != 0) {
      if (args.may_reorder) return make_strided({args.sizes, args.strides}, element_size);
      return fail(Error::InvalidArgument, "strides ", args.strides,
                  " do not nest in the order of dim_order ", args.dim_order, " for sizes ",
                  args.sizes);
    }
    TENON_TRY(compute_offset_range(args.sizes, args.strides, offsets));
    return check_nbytes(offsets, element_size);
  }
  /// Sets the dim order; an empty one is row-major. The list is passed by reference: copying a list
  /// that was just written waits for the store buffer, some 5 ns.
  Error set_order(const ArrayRef<int64_t>& dim_order) noexcept {
    const Pointers to = lists();
    if (dim_order.empty()) {
      for (size_t d = 0; d < rank_; ++d) to.order[d] = static_cast<DimOrderType>(d);
      return Error::Ok;
    }
    uint64_t seen = 0;
    DimOrderType* order = to.order;
    for (const int64_t d : dim_order) {
      if (d < 0 || d >= int64_t{rank_} || (seen >> d & 1) != 0) {
        return fail(Error::InvalidArgument, "dim_order ", dim_order,
                    " is not a permutation of the ", size_t{rank_}, " dimensions");
      }
      seen |= uint64_t{1} << d;
      *order++ = static_cast<DimOrderType>(d);
    }
    return Error::Ok;
  }

  bool has_lists_ = true;
  uint8_t rank_ = 0;
  DimOrderType order_[TENON_INLINE_DIMS];
  union {
    Lists lists_;
    int64_t* block_;  // on the heap: sizes, strides, dim order
  };
};

/// Checks a shape and writes its Layout. The lists in `args` must not be the layout's own.
///
/// A shape without elements may have any strides.
/// Errors: InvalidArgument (more than kMaxDims dimensions; a negative size; an overflowing element
/// count, offset or byte count; a dim_order that is not a permutation; lengths that differ; strides
/// that do not nest in the dim order), OutOfMemory (a shape of more dimensions than
/// TENON_INLINE_DIMS).
TENON_ALWAYS_INLINE Error make_layout(const LayoutArgs& args, size_t element_size,
                                      Layout& layout) noexcept {
  // A program that passes only sizes does not link make_strided().
  return args.strides.empty() && args.dim_order.empty()
             ? layout.make_row_major(args.sizes, element_size)
             : layout.make_strided(args, element_size);
}
/// Does what make_layout() does, for Dims; checks their error() first.
inline Error make_layout(const Dims& sizes, const Dims& dim_order, const Dims& strides,
                         size_t element_size, Layout& layout) noexcept {
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(check_dim_order(dim_order.error()));
  TENON_TRY(check_dims("strides", strides));
  return make_layout({sizes, strides, dim_order}, element_size, layout);
}

}  // namespace detail
TENON_END_NAMESPACE
