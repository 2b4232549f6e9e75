// SPDX-License-Identifier: MIT
// Kernels that sort the rows of a tensor, or select elements by rank.
#pragma once

#include <cmath>
#include <cstring>

#include "tenon/interop/runtimes/aoti_kernels_rows.h"
#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline AOTITorchError answer_sort(const char* function, AtenTensorHandle self, bool stable,
                                  int64_t dim, int32_t descending, AtenTensorHandle* values,
                                  AtenTensorHandle* indices) noexcept {
  return aoti_answer(function, [&] {
    Tensor given;
    OrderedResults results;
    TENON_TRY(read_aoti(self, "the input", given));
    TENON_TRY(sort_rows(given, stable, dim, descending != 0, results));
    return results.finish(values, indices);
  });
}

inline Error topk_aoti(AtenTensorHandle self, int64_t k, int64_t dim, bool largest, bool sorted,
                       AtenTensorHandle* values, AtenTensorHandle* indices) {
  RowsToOrder from;
  TENON_TRY(from.read(self, dim));
  TENON_TRY(check_compared_type(from.type(), false));
  const ArrayRef<int64_t> given = from.dense.sizes();
  if (k < 0 || k > from.rows.count) {
    return fail(Error::OutOfBounds, "k is ", k, ", but dimension ", dim, " of sizes ", given,
                " has ", from.rows.count, " elements");
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

/// Moves the element with rank k to position k, by Hoare's selection with the median of three as
/// the pivot. Of equal elements it chooses the one that torch's kthvalue chooses.
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

/// Returns from each row the element that pick(row) chooses.
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
    return fail(Error::OutOfBounds, "k is ", k, ", but dimension ", dim, " of sizes ",
                from.dense.sizes(), " has elements 1 to ", from.rows.count);
  }
  return pick_of_rows(from, keeps_dim, values, indices, [&](OrderedRow& row) {
    const auto rank = static_cast<size_t>(k - 1);
    select_rank(row, rank);
    return &row[rank];
  });
}

/// The smallest of a row's most frequent values. Each NaN counts as a separate value.
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

/// The median of all elements. If there are none it is NaN; for integers, the number to which torch
/// converts NaN.
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
  return answer_sort(__func__, self, false, dim, descending, ret0, ret1);
}
AOTITorchError aoti_torch_cpu_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t dim,
                                          int32_t descending, AtenTensorHandle* ret0,
                                          AtenTensorHandle* ret1) {
  const bool is_stable = stable != nullptr && *stable != 0;
  return answer_sort(__func__, self, is_stable, dim, descending, ret0, ret1);
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
