// SPDX-License-Identifier: MIT
// Kernels that sort the rows of a tensor, or take elements out of them by their order.
//
// Elements become keys, unsigned numbers in torch's order, so that the algorithms are compiled for
// one type. These are those that torch calls, and so order equal elements as it does, where it is
// built with the same C++ library.
#pragma once

#include <cmath>
#include <cstring>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

struct OrderedElement {
  uint64_t key;
  int64_t index;  // in its row
};
using OrderedRow = std::vector<OrderedElement>;
inline bool comes_before(const OrderedElement& a, const OrderedElement& b) noexcept {
  return a.key < b.key;
}

constexpr uint64_t order_key(uint64_t x) noexcept { return x; }
constexpr uint64_t order_key(int64_t x) noexcept {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
/// -0 equals 0, NaN is the largest.
inline uint64_t order_key(double x) noexcept {
  if (x != x) return UINT64_MAX;
  if (x == 0) x = 0;
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
}

/// Real types but those of 8 floating bits, as torch.
constexpr bool is_sorted_type(ScalarType type) noexcept {
  return !isComplexType(type) && !(isFloatingType(type) && elementSize(type) == 1);
}

/// The rows of a tensor along a dimension.
struct RowsToOrder {
  Tensor dense;
  DenseRows rows{{}, 0};
  size_t dim = 0;
  bool is_expanded = false;  // along the dimension, so that all elements of a row are equal

  /// Errors: those of read_aoti(); OutOfBounds for the dimension.
  Error read(AtenTensorHandle handle, int64_t given_dim) {
    Tensor given;
    TENON_TRY(read_aoti(handle, "the input", given));
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

  /// The row that begins at that element, as keys, which are inverted for descending order. Of a
  /// type that can be sorted.
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

/// Writes elements of a row and their indices, `inner` elements apart.
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

/// Values and indices, two results of the same shape.
struct OrderedResults {
  AotiResult values;
  AotiResult indices;

  Error make(ArrayRef<int64_t> sizes, ScalarType type) {
    TENON_TRY(values.make(sizes, type, type));
    return indices.make(sizes, ScalarType::Long, ScalarType::Long);
  }
  /// Fills `count` elements of each row with those from `pick(row)` on, which gets all of them.
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
    TENON_TRY(values.finish(values_handle));
    return indices.finish(indices_handle);
  }
};

inline Error sort_aoti(AtenTensorHandle self, bool stable, int64_t dim, bool descending,
                       AtenTensorHandle* values, AtenTensorHandle* indices) {
  RowsToOrder from;
  TENON_TRY(from.read(self, dim));
  if (!is_sorted_type(from.type())) {
    return fail(Error::NotSupported, "elements of type ", from.type(), " have no order");
  }
  Tensor* given = nullptr;
  TENON_TRY(find_aoti_tensor(self, given));
  OrderedResults results;
  TENON_TRY(results.values.make_like(*given, from.type(), from.type()));
  TENON_TRY(results.indices.make_like(*given, ScalarType::Long, ScalarType::Long));
  results.fill(from, from.rows.count, descending, [&](OrderedRow& row) {
    if (from.is_expanded) return row.data();
    if (stable) {
      std::stable_sort(row.begin(), row.end(), comes_before);
    } else {
      std::sort(row.begin(), row.end(), comes_before);
    }
    return row.data();
  });
  return results.finish(values, indices);
}

inline Error topk_aoti(AtenTensorHandle self, int64_t k, int64_t dim, bool largest, bool sorted,
                       AtenTensorHandle* values, AtenTensorHandle* indices) {
  RowsToOrder from;
  TENON_TRY(from.read(self, dim));
  TENON_TRY(check_compared_type(from.type(), false));
  const ArrayRef<int64_t> given = from.dense.sizes();
  if (k < 0 || k > from.rows.count) {
    return fail(Error::OutOfBounds, "k is ", k, ", dimension ", dim, " of sizes ", given, " has ",
                from.rows.count, " elements");
  }
  std::vector<int64_t> sizes(given.begin(), given.end());
  if (sizes.empty()) {
    k = 1;  // as in torch
  } else {
    sizes[from.dim] = k;
  }
  OrderedResults results;
  TENON_TRY(results.make(sizes, from.type()));
  results.fill(from, k, largest, [&](OrderedRow& row) {
    const auto end = row.begin() + k;
    if (k <= from.rows.count / 64) {
      std::partial_sort(row.begin(), end, row.end(), comes_before);
    } else if (k != 0) {
      std::nth_element(row.begin(), end - 1, row.end(), comes_before);
      if (sorted) std::sort(row.begin(), end - 1, comes_before);
    }
    return row.data();
  });
  return results.finish(values, indices);
}

/// Moves the element with rank k to place k, by Hoare's selection with the median of three as the
/// pivot; of equal elements it takes the one that torch's kthvalue takes.
inline void select_rank(OrderedRow& row, size_t k) noexcept {
  const auto order = [&](size_t a, size_t b) {
    if (comes_before(row[b], row[a])) std::swap(row[a], row[b]);
  };
  size_t first = 0;
  size_t last = row.size() - 1;
  while (last > first + 1) {
    std::swap(row[first + (last - first) / 2], row[first + 1]);
    order(first + 1, last);
    order(first, last);
    order(first + 1, first);
    const OrderedElement pivot = row[first];
    size_t up = first + 1;
    size_t down = last;
    while (true) {
      do {
        ++up;
      } while (comes_before(row[up], pivot));
      do {
        --down;
      } while (comes_before(pivot, row[down]));
      if (down < up) break;
      std::swap(row[up], row[down]);
    }
    std::swap(row[first], row[down]);
    if (down >= k) last = down - 1;
    if (down <= k) first = up;
  }
  if (last == first + 1) order(first, last);
}

/// The sizes without dimension `dim`, or with 1 for it.
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
/// Answers with one element of each row, which pick(row) returns.
template <class Pick>
Error pick_of_rows(const RowsToOrder& from, bool keeps_dim, AtenTensorHandle* values,
                   AtenTensorHandle* indices, const Pick& pick) {
  OrderedResults results;
  TENON_TRY(results.make(reduced_sizes(from.dense.sizes(), from.dim, keeps_dim), from.type()));
  results.fill(from, 1, false, pick);
  return results.finish(values, indices);
}

inline Error kthvalue_aoti(AtenTensorHandle self, int64_t k, int64_t dim, bool keeps_dim,
                           AtenTensorHandle* values, AtenTensorHandle* indices) {
  RowsToOrder from;
  TENON_TRY(from.read(self, dim));
  TENON_TRY(check_compared_type(from.type(), false));
  TENON_TRY(from.check_has_elements());
  if (k < 1 || k > from.rows.count) {
    return fail(Error::OutOfBounds, "k is ", k, ", dimension ", dim, " of sizes ",
                from.dense.sizes(), " has elements 1 to ", from.rows.count);
  }
  return pick_of_rows(from, keeps_dim, values, indices, [&](OrderedRow& row) {
    const auto rank = static_cast<size_t>(k - 1);
    select_rank(row, rank);
    return &row[rank];
  });
}

/// The smallest of the values that a row has most often. Each NaN is another value.
inline Error mode_aoti(AtenTensorHandle self, int64_t dim, bool keeps_dim, AtenTensorHandle* values,
                       AtenTensorHandle* indices) {
  RowsToOrder from;
  TENON_TRY(from.read(self, dim));
  TENON_TRY(check_compared_type(from.type(), true));
  TENON_TRY(from.check_has_elements());
  const bool has_nan = isFloatingType(from.type());
  return pick_of_rows(from, keeps_dim, values, indices, [&](OrderedRow& row) {
    std::sort(row.begin(), row.end(), comes_before);
    const OrderedElement* best = nullptr;
    size_t most = 0;
    for (size_t begin = 0, i = 0; i < row.size(); ++i) {
      const bool goes_on = i + 1 < row.size() && row[i].key == row[i + 1].key &&
                           !(has_nan && row[i].key == UINT64_MAX);
      if (goes_on) continue;
      if (i + 1 - begin > most) {
        most = i + 1 - begin;
        best = &row[i];
      }
      begin = i + 1;
    }
    return best;
  });
}

/// The lower median of a row. NaN, the first of the row, unless NaNs are ignored.
inline const OrderedElement* pick_median(OrderedRow& row, bool has_nan, bool ignores_nan) {
  const auto is_nan = [&](const OrderedElement& e) { return has_nan && e.key == UINT64_MAX; };
  const auto nans = static_cast<size_t>(std::count_if(row.begin(), row.end(), is_nan));
  if (nans != 0 && (!ignores_nan || nans == row.size())) {
    return &*std::find_if(row.begin(), row.end(), is_nan);
  }
  const auto middle = row.begin() + static_cast<std::ptrdiff_t>((row.size() - nans - 1) / 2);
  std::nth_element(row.begin(), middle, row.end(), comes_before);
  return &*middle;
}
/// The median of all elements. Of none it is NaN, or for integers what torch makes of that.
inline Error median_aoti(AtenTensorHandle self, bool ignores_nan, AtenTensorHandle* ret) {
  RowsToOrder all;
  TENON_TRY(all.read(self, 0));
  const ScalarType type = all.type();
  TENON_TRY(check_compared_type(type, false));
  all.rows = DenseRows({}, 0);
  all.rows.count = all.dense.numel();
  AotiResult result;
  TENON_TRY(result.make({}, type, type));
  if (all.rows.count == 0) {
    TENON_TRY(fill_(result.tensor(), type == ScalarType::Int    ? Scalar(INT32_MIN)
                                     : type == ScalarType::Long ? Scalar(INT64_MIN)
                                     : isFloatingType(type)     ? Scalar(NAN)
                                                                : Scalar(0)));
    return result.finish(ret);
  }
  OrderedRow row;
  all.read_row(0, false, row);
  const size_t size = elementSize(type);
  const int64_t index = pick_median(row, isFloatingType(type), ignores_nan)->index;
  std::memcpy(result.data<char>(), dense_data<char>(all.dense) + index * static_cast<int64_t>(size),
              size);
  return result.finish(ret);
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_sort(AtenTensorHandle self, int64_t dim, int32_t descending,
                                   AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_answer(__func__,
                     [&] { return sort_aoti(self, false, dim, descending != 0, ret0, ret1); });
}
AOTITorchError aoti_torch_cpu_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t dim,
                                          int32_t descending, AtenTensorHandle* ret0,
                                          AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    return sort_aoti(self, stable != nullptr && *stable != 0, dim, descending != 0, ret0, ret1);
  });
}
AOTITorchError aoti_torch_cpu_topk(AtenTensorHandle self, int64_t k, int64_t dim, int32_t largest,
                                   int32_t sorted, AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_answer(
      __func__, [&] { return topk_aoti(self, k, dim, largest != 0, sorted != 0, ret0, ret1); });
}
AOTITorchError aoti_torch_cpu_kthvalue(AtenTensorHandle self, int64_t k, int64_t dim,
                                       int32_t keepdim, AtenTensorHandle* ret0,
                                       AtenTensorHandle* ret1) {
  return aoti_answer(__func__,
                     [&] { return kthvalue_aoti(self, k, dim, keepdim != 0, ret0, ret1); });
}
AOTITorchError aoti_torch_cpu_mode(AtenTensorHandle self, int64_t dim, int32_t keepdim,
                                   AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] { return mode_aoti(self, dim, keepdim != 0, ret0, ret1); });
}
AOTITorchError aoti_torch_cpu_median(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] { return median_aoti(self, false, ret0); });
}
AOTITorchError aoti_torch_cpu_nanmedian(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] { return median_aoti(self, true, ret0); });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
