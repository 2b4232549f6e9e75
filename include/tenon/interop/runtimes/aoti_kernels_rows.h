// SPDX-License-Identifier: MIT
// Sort keys for the rows of a tensor along a dimension.
//
// Keys are unsigned numbers in torch's order, so that the algorithms are compiled for one type.
// torch uses the same algorithms of the C++ library. Equal elements are therefore in torch's order
// if torch was built with the same C++ library.
#pragma once

#include <cstring>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

struct OrderedElement {
  uint64_t key;
  int64_t index;  // in its row
};
using OrderedRow = std::vector<OrderedElement>;
/// A function object, so that the algorithms inline it.
inline constexpr auto comes_before = [](const OrderedElement& a, const OrderedElement& b) noexcept {
  return a.key < b.key;
};

constexpr uint64_t order_key(uint64_t x) noexcept { return x; }
constexpr uint64_t order_key(int64_t x) noexcept {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
/// The key of a number: -0 and 0 have equal keys, NaN has the largest key.
inline uint64_t order_key(double x) noexcept {
  if (x != x) return UINT64_MAX;
  if (x == 0) x = 0;
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
}

/// Whether elements of the type can be sorted: as in torch, real types except the 8-bit floating
/// types.
constexpr bool is_sorted_type(ScalarType type) noexcept {
  return !isComplexType(type) && !(isFloatingType(type) && elementSize(type) == 1);
}

/// The rows of a tensor along a dimension.
struct RowsToOrder {
  Tensor dense;
  DenseRows rows{{}, 0};
  size_t dim = 0;
  // whether the dimension was expanded, so that a row's elements are equal
  bool is_expanded = false;

  /// Errors: those of read_aoti(); OutOfBounds for the dimension.
  Error read(AtenTensorHandle handle, int64_t given_dim) {
    Tensor given;
    TENON_TRY(read_aoti(handle, "the input", given));
    return read(given, given_dim);
  }
  Error read(const Tensor& given, int64_t given_dim) {
    TENON_TRY(read_dim(given_dim, given.sizes().size(), dim));
    rows = DenseRows(given.sizes(), dim);
    is_expanded = given.sizes().size() != 0 && given.strides()[dim] == 0;
    return make_dense(given, given.scalar_type(), dense);
  }
  ScalarType type() const noexcept { return dense.scalar_type(); }
  Error check_has_elements() const {
    if (rows.count != 0) return Error::Ok;
    return fail(Error::InvalidArgument, "dimension ", dim, " of sizes ", dense.sizes(),
                " has no elements");
  }

  /// Reads the row that begins at element `begin` as keys, which are inverted for descending order.
  /// is_sorted_type() must be true for the type.
  void read_row(int64_t begin, bool descending, OrderedRow& row) const {
    row.resize(static_cast<size_t>(rows.count));
    const auto read_typed = [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (is_sorted_type(scalar_type_of<T>())) {
        const T* from = dense_data<T>(dense) + begin;
        const uint64_t flip = descending ? UINT64_MAX : 0;
        for (size_t i = 0; i < row.size(); ++i, from += rows.inner) {
          row[i].key = order_key(static_cast<ExactType<T>>(*from)) ^ flip;
          row[i].index = static_cast<int64_t>(i);
        }
      }
    };
    visit(type(), read_typed, [] {});
  }
};

/// Writes `count` elements of a row, and their indices, to positions that are `inner` apart.
template <class Bytes>
void write_row(const OrderedElement* row, int64_t count, int64_t inner, const void* from,
               void* values, int64_t* indices) noexcept {
  const auto* const source = static_cast<const Bytes*>(from);
  auto* const target = static_cast<Bytes*>(values);
  for (int64_t i = 0; i < count; ++i) {
    target[i * inner] = source[row[i].index * inner];
    indices[i * inner] = row[i].index;
  }
}

/// Values and indices: two results of equal shape.
struct OrderedResults {
  AotiResult values;
  AotiResult indices;

  Error make(ArrayRef<int64_t> sizes, ScalarType type) {
    TENON_TRY(values.make(sizes, type, type));
    return indices.make(sizes, ScalarType::Long, ScalarType::Long);
  }
  /// For each row, writes `count` elements, beginning with the one to which pick(row) points.
  template <class Pick>
  void fill(const RowsToOrder& from, int64_t count, bool descending, const Pick& pick) {
    if (from.dense.numel() == 0) return;
    const auto size = static_cast<int64_t>(elementSize(from.type()));
    const auto write = size == 1   ? write_row<uint8_t>
                       : size == 2 ? write_row<uint16_t>
                       : size == 4 ? write_row<uint32_t>
                                   : write_row<uint64_t>;
    const int64_t inner = from.rows.inner;
    const int64_t outer_stride = from.rows.count * inner;
    OrderedRow row;
    from.rows.each([&](int64_t begin) {
      from.read_row(begin, descending, row);
      const int64_t to = begin / outer_stride * count * inner + begin % outer_stride;
      write(pick(row), count, inner, dense_data<char>(from.dense) + begin * size,
            values.data<char>() + to * size, indices.data<int64_t>() + to);
    });
  }
  Error finish(AtenTensorHandle* values_handle, AtenTensorHandle* indices_handle) {
    return finish_all({{&values, values_handle}, {&indices, indices_handle}});
  }
};

inline Error sort_rows(const Tensor& given, bool stable, int64_t dim, bool descending,
                       OrderedResults& results) {
  RowsToOrder from;
  TENON_TRY(from.read(given, dim));
  if (!is_sorted_type(from.type())) {
    return fail(Error::NotSupported, "elements of type ", from.type(), " have no order");
  }
  TENON_TRY(results.values.make_like(given, from.type(), from.type()));
  TENON_TRY(results.indices.make_like(given, ScalarType::Long, ScalarType::Long));
  results.fill(from, from.rows.count, descending, [&](OrderedRow& row) {
    if (from.is_expanded) return row.data();
    if (stable) {
      std::stable_sort(row.begin(), row.end(), comes_before);
    } else {
      std::sort(row.begin(), row.end(), comes_before);
    }
    return row.data();
  });
  return Error::Ok;
}

/// The sizes without dimension `dim`, or with size 1 for it.
inline std::vector<int64_t> reduced_sizes(ArrayRef<int64_t> given, size_t dim, bool keeps_dim) {
  std::vector<int64_t> sizes(given.begin(), given.end());
  if (sizes.empty()) return sizes;
  if (keeps_dim) {
    sizes[dim] = 1;
  } else {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  }
  return sizes;
}
/// The lower median of a row; or the row's first NaN, unless NaNs are ignored.
inline const OrderedElement* pick_median(OrderedRow& row, bool has_nan, bool ignores_nan) {
  const auto is_nan = [&](const OrderedElement& e) { return has_nan && e.key == UINT64_MAX; };
  const auto nans = static_cast<size_t>(std::count_if(row.begin(), row.end(), is_nan));
  if (nans != 0 && (!ignores_nan || nans == row.size())) {
    return &*std::find_if(row.begin(), row.end(), is_nan);
  }
  const auto middle = row.begin() + static_cast<std::ptrdiff_t>((row.size() - nans - 1) / 2);
  std::nth_element(row.begin(), middle, row.end(), [](auto& a, auto& b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
  });
  return &*middle;
}

}  // namespace detail
TENON_END_NAMESPACE
