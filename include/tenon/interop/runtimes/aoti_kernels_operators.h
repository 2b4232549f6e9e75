// SPDX-License-Identifier: MIT
// PyTorch's operators that sort or count. They have no C functions: models call them by name
// through interop/aoti_proxy.h.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernels_rows.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"
#include "tenon/tensor/random.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads a tensor argument on the host.
inline Error read_operand(const EValue& value, Tensor& read) {
  read = value.toTensor();
  return check_readable(read, "the tensor");
}
inline Error give_longs(const std::vector<int64_t>& numbers, ArrayRef<int64_t> sizes,
                        std::vector<EValue>& outputs) {
  AotiResult result;
  TENON_TRY(result.make(sizes, ScalarType::Long, ScalarType::Long));
  std::copy(numbers.begin(), numbers.end(), result.data<int64_t>());
  return give(result, outputs);
}
inline Error give_longs(const std::vector<int64_t>& numbers, std::vector<EValue>& outputs) {
  const auto size = static_cast<int64_t>(numbers.size());
  return give_longs(numbers, ArrayRef<int64_t>(&size, 1), outputs);
}

/// median.dim and nanmedian.dim.
inline Error run_median(Span<const EValue> inputs, std::vector<EValue>& outputs, bool ignores_nan) {
  Tensor given;
  RowsToOrder from;
  OrderedResults results;
  TENON_TRY(read_operand(inputs[0], given));
  TENON_TRY(from.read(given, inputs[1].toInt()));
  TENON_TRY(check_compared_type(from.type(), false));
  TENON_TRY(from.check_has_elements());
  const bool keeps_dim = inputs[2].toBool();
  TENON_TRY(results.make(reduced_sizes(given.sizes(), from.dim, keeps_dim), from.type()));
  results.fill(from, 1, false, [&](OrderedRow& row) {
    return pick_median(row, isFloatingType(from.type()), ignores_nan);
  });
  TENON_TRY(give(results.values, outputs));
  return give(results.indices, outputs);
}

inline Error run_bincount(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  Tensor given;
  Tensor bins;
  Tensor weights;
  TENON_TRY(read_operand(inputs[0], given));
  const int64_t least = inputs[2].toInt();
  const ScalarType type = given.scalar_type();
  const int64_t count = given.numel();
  if (least < 0)
    return fail(Error::InvalidArgument, "minlength is ", least, ", expected 0 or more");
  if (given.sizes().size() != 1 || (count != 0 && type > ScalarType::Long)) {
    return fail(Error::InvalidArgument, "the input has sizes ", given.sizes(), " and type ", type,
                ", expected rank 1 and Byte or signed integers");
  }
  TENON_TRY(make_dense(given, ScalarType::Long, bins));
  const auto* const at = dense_data<int64_t>(bins);
  int64_t size = least;
  for (int64_t i = 0; i < count; ++i) {
    if (at[i] < 0)
      return fail(Error::InvalidArgument, "element ", i, " is ", at[i], ", expected 0 or more");
    if (at[i] == INT64_MAX)
      return fail(Error::OutOfBounds, "element ", i, " is ", at[i], ", which is too large");
    size = (std::max)(size, at[i] + 1);
  }
  ScalarType sum_type = ScalarType::Long;
  if (!inputs[1].isNone() && count != 0) {
    TENON_TRY(read_operand(inputs[1], weights));
    if (weights.sizes() != given.sizes()) {
      return fail(Error::InvalidArgument, "weights have sizes ", weights.sizes(), ", expected ",
                  given.sizes());
    }
    sum_type = weights.scalar_type() == ScalarType::Float ? ScalarType::Float : ScalarType::Double;
    TENON_TRY(make_dense(weights, sum_type, weights));
  }
  AotiResult result;
  TENON_TRY(result.make(ArrayRef<int64_t>(&size, 1), sum_type, sum_type));
  TENON_TRY(on_computed_type(sum_type, [&](auto zero) {
    using T = decltype(zero);
    T* const sums = result.data<T>();
    std::fill(sums, sums + size, zero);
    const T* const each = weights.defined() ? dense_data<T>(weights) : nullptr;
    for (int64_t i = 0; i < count; ++i) sums[at[i]] += each == nullptr ? T{1} : each[i];
    return Error::Ok;
  }));
  return give(result, outputs);
}

/// Groups equal slices of a tensor along a dimension, or equal elements.
struct UniqueSlices {
  Tensor dense;                   // the slices, one after the other
  std::vector<int64_t> sizes;     // number of slices, then the sizes of a slice
  size_t dim = 0;                 // position of the number of groups in the result's sizes
  int64_t count = 0;              // number of slices
  int64_t width = 1;              // elements in a slice
  OrderedRow keys;                // keys of all elements
  std::vector<int64_t> order;     // order of the slices
  std::vector<int64_t> firsts;    // first slice of each group
  std::vector<int64_t> group_of;  // the group of each slice
  std::vector<int64_t> group_size;

  Error read_elements(const Tensor& given) {
    TENON_TRY(make_dense(given, given.scalar_type(), dense));
    count = given.numel();
    sizes = {count};
    return read_keys();
  }
  Error read_slices(const Tensor& given, int64_t given_dim) {
    const ArrayRef<int64_t> of = given.sizes();
    if (of.empty()) return fail(Error::InvalidArgument, "a tensor of rank 0 has no dimension");
    TENON_TRY(read_dim(given_dim, of.size(), dim));
    count = of[dim];
    sizes = {count};
    for (size_t d = 0; d < of.size(); ++d) {
      if (d == dim) continue;
      if (of[d] == 0) {
        return fail(Error::InvalidArgument, "sizes ", of, " have a 0 in another dimension than ",
                    dim);
      }
      sizes.push_back(of[d]);
      width *= of[d];
    }
    std::vector<int64_t> from{static_cast<int64_t>(dim)};
    for (size_t d = 0; d < of.size(); ++d) {
      if (d != dim) from.push_back(static_cast<int64_t>(d));
    }
    TENON_ASSIGN(const Tensor moved, try_permute(given, from));
    TENON_TRY(make_dense(moved, given.scalar_type(), dense));
    return read_keys();
  }
  Error read_keys() {
    if (!is_sorted_type(dense.scalar_type())) {
      return fail(Error::NotSupported, "elements of type ", dense.scalar_type(), " have no order");
    }
    RowsToOrder all;
    all.dense = dense;
    all.rows.count = dense.numel();
    all.read_row(0, false, keys);
    order.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
    return Error::Ok;
  }
  const OrderedElement* slice(int64_t i) const noexcept { return keys.data() + i * width; }

  void sort() {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(slice(a), slice(a) + width, slice(b), slice(b) + width,
                                          comes_before);
    });
  }
  /// Puts equal slices that follow each other into one group. NaN does not equal NaN.
  void group() {
    const bool has_nan = isFloatingType(dense.scalar_type());
    const auto are_equal = [&](const OrderedElement& a, const OrderedElement& b) {
      return a.key == b.key && !(has_nan && a.key == UINT64_MAX);
    };
    group_of.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 ||
          !std::equal(slice(order[i]), slice(order[i]) + width, slice(order[i - 1]), are_equal)) {
        firsts.push_back(order[i]);
        group_size.push_back(0);
      }
      ++group_size.back();
      group_of[static_cast<size_t>(order[i])] = static_cast<int64_t>(firsts.size()) - 1;
    }
  }
  /// Returns the first slice of each group, in torch's strides: the groups are outermost.
  Error give_values(std::vector<EValue>& outputs) const {
    AotiShape shape;
    std::vector<int64_t> to = sizes;
    std::vector<int64_t> strides(sizes.size());
    to[0] = static_cast<int64_t>(firsts.size());
    for (size_t d = to.size(); d-- > 0;) {
      strides[d] = d + 1 == to.size() ? 1 : strides[d + 1] * (std::max)(to[d + 1], int64_t{1});
    }
    std::rotate(to.begin(), to.begin() + 1, to.begin() + 1 + static_cast<std::ptrdiff_t>(dim));
    std::rotate(strides.begin(), strides.begin() + 1,
                strides.begin() + 1 + static_cast<std::ptrdiff_t>(dim));
    shape.sizes = ArrayRef<int64_t>(to.data(), to.size());
    shape.strides = ArrayRef<int64_t>(strides.data(), strides.size());
    shape.type = dense.scalar_type();
    Tensor made;
    TENON_TRY(aoti_empty(shape, made));
    const size_t bytes = static_cast<size_t>(width) * elementSize(shape.type);
    auto* target = static_cast<char*>(fields(TensorArg(made)).data);
    for (const int64_t first : firsts) {
      std::memcpy(target, dense_data<char>(dense) + static_cast<size_t>(first) * bytes, bytes);
      target += bytes;
    }
    outputs.push_back(EValue(made));
    return Error::Ok;
  }
};

inline Error run_unique2(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  Tensor given;
  UniqueSlices slices;
  TENON_TRY(read_operand(inputs[0], given));
  TENON_TRY(slices.read_elements(given));
  slices.sort();
  slices.group();
  TENON_TRY(slices.give_values(outputs));
  TENON_TRY(inputs[2].toBool() ? give_longs(slices.group_of, given.sizes(), outputs)
                               : give_longs({}, outputs));
  return give_longs(inputs[3].toBool() ? slices.group_size : std::vector<int64_t>(), outputs);
}
/// As in torch, returns positions and counts even if they are not requested.
inline Error run_unique_dim(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  Tensor given;
  UniqueSlices slices;
  TENON_TRY(read_operand(inputs[0], given));
  TENON_TRY(slices.read_slices(given, inputs[1].toInt()));
  slices.sort();
  slices.group();
  TENON_TRY(slices.give_values(outputs));
  TENON_TRY(give_longs(slices.group_of, outputs));
  return give_longs(slices.group_size, outputs);
}
inline Error run_unique_consecutive(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  Tensor given;
  UniqueSlices slices;
  TENON_TRY(read_operand(inputs[0], given));
  const bool is_flat = inputs[3].isNone();
  TENON_TRY(is_flat ? slices.read_elements(given) : slices.read_slices(given, inputs[3].toInt()));
  slices.group();
  TENON_TRY(slices.give_values(outputs));
  const bool gives_places = inputs[1].toBool() || !is_flat;
  TENON_TRY(!gives_places ? give_longs({}, outputs)
            : is_flat     ? give_longs(slices.group_of, given.sizes(), outputs)
                          : give_longs(slices.group_of, outputs));
  const bool gives_counts = inputs[2].toBool() || !is_flat;
  return give_longs(gives_counts ? slices.group_size : std::vector<int64_t>(), outputs);
}

/// Draws `drawn` indices by their weights. `uniform` has random numbers from 0 to 1.
inline void draw_by_weight(const double* weights, const double* uniform, int64_t count,
                           int64_t drawn, bool replaces, int64_t* to) {
  if (replaces) {
    std::vector<double> sums(weights, weights + count);
    for (size_t i = 1; i < sums.size(); ++i) sums[i] += sums[i - 1];
    for (int64_t i = 0; i < drawn; ++i) {
      const double x = uniform[i] * sums.back();
      to[i] = std::upper_bound(sums.begin(), sums.end() - 1, x) - sums.begin();
      while (weights[to[i]] == 0) --to[i];  // rounded sums may reach past the last weight
    }
    return;
  }
  // Without replacement: draws an exponentially distributed time for each index, with its weight as
  // the rate. The indices with the smallest times are drawn.
  OrderedRow row(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double time = -std::log1p(-uniform[i]) / weights[i];
    row[static_cast<size_t>(i)] = {order_key(time), i};
  }
  std::partial_sort(row.begin(), row.begin() + drawn, row.end(), comes_before);
  for (int64_t i = 0; i < drawn; ++i) to[i] = row[static_cast<size_t>(i)].index;
}
inline Error run_multinomial(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  Tensor weights;
  TENON_TRY(read_operand(inputs[0], weights));
  const int64_t drawn = inputs[1].toInt();
  const bool replaces = inputs[2].toBool();
  const ScalarType type = weights.scalar_type();
  std::vector<int64_t> sizes(weights.sizes().begin(), weights.sizes().end());
  if (sizes.empty() || sizes.size() > 2 || !isFloatingType(type) || elementSize(type) == 1) {
    return fail(Error::InvalidArgument, "the weights have sizes ", weights.sizes(), " and type ",
                type, ", expected rank 1 or 2 and a floating type of 16 bits or more");
  }
  const int64_t count = sizes.back();
  if (drawn < 1 || count == 0 || (!replaces && drawn > count)) {
    return fail(Error::InvalidArgument, drawn, " samples cannot be drawn from ", count, " weights",
                replaces ? "" : " without replacement");
  }
  TENON_TRY(make_dense(weights, ScalarType::Double, weights));
  const auto* const data = dense_data<double>(weights);
  for (int64_t row = 0; row < weights.numel() / count; ++row) {
    double sum = 0;
    for (int64_t i = row * count; i < (row + 1) * count; ++i) {
      if (!std::isfinite(data[i]) || data[i] < 0) {
        return fail(Error::InvalidArgument, "a weight is ", data[i], ", expected 0 or more");
      }
      sum += data[i];
    }
    if (sum <= 0) return fail(Error::InvalidArgument, "the weights of row ", row, " are all 0");
  }
  sizes.back() = drawn;
  const int64_t per_row = replaces ? drawn : count;
  TENON_ASSIGN(const TensorPtr uniform,
               try_rand({weights.numel() / count, per_row}, ScalarType::Double));
  AotiResult result;
  TENON_TRY(result.make(sizes, ScalarType::Long, ScalarType::Long));
  for (int64_t row = 0; row < weights.numel() / count; ++row) {
    draw_by_weight(data + row * count, uniform->const_data_ptr<double>() + row * per_row, count,
                   drawn, replaces, result.data<int64_t>() + row * drawn);
  }
  return give(result, outputs);
}

inline constexpr AtenOperator kAotiOperators[] = {
    {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
     [](Span<const EValue> in, std::vector<EValue>& out) { return run_median(in, out, false); }},
    {"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
     [](Span<const EValue> in, std::vector<EValue>& out) { return run_median(in, out, true); }},
    {"aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
     run_bincount},
    {"aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
     "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
     run_unique2},
    {"aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
     "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
     run_unique_dim},
    {"aten::unique_consecutive(Tensor self, bool return_inverse=False, "
     "bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
     run_unique_consecutive},
    {"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "
     "Generator? generator=None) -> Tensor",
     run_multinomial},
};

}  // namespace detail
TENON_END_NAMESPACE
