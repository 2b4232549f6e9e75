// SPDX-License-Identifier: MIT
// Kernels that count elements (histograms) or reduce them by intervals (segment reductions).
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- Histograms ---------------------------------------------------------------------------------

/// Rounds a number to `type` if that has 16 bits. torch's loops on these types round after each
/// operation.
template <class T>
T round_to(ScalarType type, T x) noexcept {
  if (type == ScalarType::Half) return static_cast<T>(static_cast<float>(Half(float(x))));
  if (type == ScalarType::BFloat16) return static_cast<T>(static_cast<float>(BFloat16(float(x))));
  return x;
}

/// A histogram of points. Each row of `points` is a point, with a coordinate for each dimension.
template <class T>
struct Histogram {
  ScalarType type = ScalarType::Undefined;
  int64_t count = 0;  // number of points
  const T* points = nullptr;
  const T* weights = nullptr;         // null if each weight is 1
  std::vector<std::vector<T>> edges;  // the bins' edges in each dimension, ascending
  // whether the neighbours of the computed bin are tested too, since edges are rounded
  bool searches = true;

  T rounded(T x) const noexcept { return round_to(type, x); }
  /// Computes from + step * count_ as torch's linspace does, which is compiled with fused
  /// multiply-add.
  T step_from(T from, T step, size_t count_) const noexcept {
    const auto steps = static_cast<T>(count_);
    if (elementSize(type) > 2) return std::fma(step, steps, from);
    return rounded(from + rounded(step * steps));
  }

  /// Sets equidistant edges for a dimension.
  /// Errors: InvalidArgument.
  Error set_edges(size_t dim, int64_t bins, double left, double right) {
    if (!std::isfinite(left) || !std::isfinite(right)) {
      return fail(Error::InvalidArgument, "the range ", left, " to ", right, " is not finite");
    }
    if (left > right) {
      return fail(Error::InvalidArgument, "the range begins at ", left, ", after its end, ", right);
    }
    if (bins < 1)
      return fail(Error::InvalidArgument, "the number of bins is ", bins, ", expected 1 or more");
    if (left == right) {
      const double half = searches ? 0.5 : 1;
      left -= half;
      right += half;
    }
    std::vector<T>& to = edges[dim];
    to.resize(static_cast<size_t>(bins) + 1);
    const T first = rounded(static_cast<T>(left));
    const T last = rounded(static_cast<T>(right));
    const T step = rounded(rounded(last - first) / static_cast<T>(bins));
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] =
          i < to.size() / 2 ? step_from(first, step, i) : step_from(last, -step, to.size() - 1 - i);
    }
    return Error::Ok;
  }
  /// Sets equidistant edges from the dimension's least coordinate to its greatest.
  Error set_edges(size_t dim, int64_t bins) {
    double left = count == 0 ? 0 : static_cast<double>(points[dim]);
    double right = count == 0 ? (searches ? 1 : 0) : left;
    for (int64_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(points[static_cast<size_t>(i) * edges.size() + dim]);
      if (x != x) left = x;
      if (x < left) left = x;
      if (x > right) right = x;
    }
    return set_edges(dim, bins, left, right);
  }

  /// The bin of a coordinate; -1 if the coordinate is outside all bins.
  int64_t bin(size_t dim, T x) const noexcept {
    const std::vector<T>& at = edges[dim];
    const auto bins = static_cast<int64_t>(at.size()) - 1;
    if (!(x >= at.front() && x <= at.back())) return -1;
    const T distance = rounded(rounded(x - at.front()) * static_cast<T>(bins));
    auto found = static_cast<int64_t>(rounded(distance / rounded(at.back() - at.front())));
    if (searches) {
      const int64_t begin = (std::max)(found - 1, int64_t{0});
      const int64_t end = (std::min)(found + 2, bins + 1);
      found = std::upper_bound(at.begin() + begin, at.begin() + end, x) - at.begin() - 1;
    }
    return found == bins ? bins - 1 : found;
  }
  void fill(T* to, int64_t size) const noexcept {
    std::fill(to, to + size, T{0});
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < edges.size() && at >= 0; ++d) {
        const int64_t found = bin(d, points[static_cast<size_t>(i) * edges.size() + d]);
        at = found < 0 ? -1 : at * (static_cast<int64_t>(edges[d].size()) - 1) + found;
      }
      if (at >= 0) to[at] = rounded(to[at] + (weights == nullptr ? T{1} : weights[i]));
    }
  }
  /// Divides each count by the sum of all counts and by the volume of its bin.
  void make_density(T* to, int64_t size) const noexcept {
    T sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += to[i];
    sum = rounded(sum);
    for (int64_t i = 0; i < size; ++i) to[i] = rounded(to[i] / sum);
    int64_t inner = size;
    for (const std::vector<T>& at : edges) {
      const auto bins = static_cast<int64_t>(at.size()) - 1;
      inner /= bins;
      for (int64_t i = 0; i < size; ++i) {
        const auto b = static_cast<size_t>(i / inner % bins);
        to[i] = rounded(to[i] / rounded(at[b + 1] - at[b]));
      }
    }
  }
};

struct HistogramArguments {
  const int64_t* bins = nullptr;
  int64_t dims = 1;
  const double* range = nullptr;  // if null, the range of the points is used
  int64_t range_size = 0;
  AtenTensorHandle* weight = nullptr;
  bool is_density = false;
  bool is_histc = false;  // whether neighbouring bins are not tested
  // whether a point is a row of the last dimension; else each element is a point
  bool has_columns = false;
};

/// Returns the counts, and the edges unless `edges` is null.
inline Error answer_histogram(AtenTensorHandle self, const HistogramArguments& args,
                              AtenTensorHandle* counts, AtenTensorHandle* edges) {
  Tensor given;
  TENON_TRY(read_aoti(self, "the input", given));
  const ScalarType type = given.scalar_type();
  const ArrayRef<int64_t> sizes = given.sizes();
  if (!isFloatingType(type) || elementSize(type) == 1) {
    return fail(Error::NotSupported, "a histogram of ", type,
                " elements is not supported; convert them to Float");
  }
  if (elementSize(type) == 2 && args.range == nullptr && !args.is_histc) {
    return fail(Error::NotSupported, "the range of ", type,
                " elements is not computed; pass a range");
  }
  if (args.has_columns && (sizes.size() < 2 || sizes[sizes.size() - 1] != args.dims)) {
    return fail(Error::InvalidArgument, "the points have sizes ", sizes,
                ", expected rank 2 or more, and ", args.dims, " as the last size");
  }
  if (args.range != nullptr && args.range_size != 2 * args.dims) {
    return fail(Error::InvalidArgument, "the range has ", args.range_size, " numbers, expected ",
                2 * args.dims);
  }
  return on_floating_type(type, [&](auto zero) -> Error {
    using T = decltype(zero);
    Tensor dense;
    TENON_TRY(make_dense(given, computed_type(type), dense));
    Histogram<T> histogram;
    histogram.type = type;
    histogram.searches = !args.is_histc;
    histogram.count = args.dims == 0 ? 0 : given.numel() / args.dims;
    histogram.points = dense_data<T>(dense);
    histogram.edges.resize(static_cast<size_t>(args.dims));
    for (size_t d = 0; d < histogram.edges.size(); ++d) {
      TENON_TRY(args.range == nullptr ? histogram.set_edges(d, args.bins[d])
                                      : histogram.set_edges(d, args.bins[d], args.range[2 * d],
                                                            args.range[2 * d + 1]));
    }
    Tensor weights;
    if (args.weight != nullptr) {
      TENON_TRY(read_aoti(*args.weight, "the weights", weights));
      const bool fits = args.has_columns
                            ? weights.sizes() == ArrayRef<int64_t>(sizes.data(), sizes.size() - 1)
                            : weights.numel() == histogram.count;
      if (weights.scalar_type() != type || !fits) {
        return fail(Error::InvalidArgument, "the weights have sizes ", weights.sizes(),
                    " and type ", weights.scalar_type(), ", the points sizes ", sizes, " and type ",
                    type, "; expected a weight of that type for each point");
      }
      TENON_TRY(make_dense(weights, computed_type(type), weights));
      histogram.weights = dense_data<T>(weights);
    }
    AotiResult result;
    TENON_TRY(result.make(ArrayRef<int64_t>(args.bins, static_cast<size_t>(args.dims)), type,
                          computed_type(type)));
    histogram.fill(result.data<T>(), result.tensor().numel());
    if (args.is_density) histogram.make_density(result.data<T>(), result.tensor().numel());
    if (edges == nullptr) return result.finish(counts);
    const std::vector<T>& from = histogram.edges[0];
    const auto size = static_cast<int64_t>(from.size());
    AotiResult made;
    TENON_TRY(made.make(ArrayRef<int64_t>(&size, 1), type, computed_type(type)));
    std::copy(from.begin(), from.end(), made.data<T>());
    return finish_all({{&result, counts}, {&made, edges}});
  });
}

// --- Segments -----------------------------------------------------------------------------------

/// How a segment's elements are reduced.
enum class SegmentReduction { Max, Mean, Min, Sum, Prod };
inline Error read_segment_reduction(const char* name, SegmentReduction& read) {
  constexpr const char* kNames[] = {"max", "mean", "min", "sum", "prod"};
  for (int i = 0; i < 5; ++i) {
    if (std::strcmp(name, kNames[i]) != 0) continue;
    read = static_cast<SegmentReduction>(i);
    return Error::Ok;
  }
  return fail(Error::InvalidArgument, "the reduction is \"", name,
              "\", expected max, mean, min, sum or prod");
}

/// Reduces `count` elements that are `stride` apart.
template <class T>
T reduce_segment(SegmentReduction how, ScalarType type, const double* initial, const T* from,
                 int64_t count, int64_t stride) noexcept {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool is_max = how == SegmentReduction::Max;
  T so_far = initial != nullptr              ? round_to(type, static_cast<T>(*initial))
             : is_max                        ? -kInfinity
             : how == SegmentReduction::Min  ? kInfinity
             : how == SegmentReduction::Prod ? T{1}
                                             : T{0};
  for (int64_t i = 0; i < count; ++i) {
    const T x = from[i * stride];
    if (how == SegmentReduction::Max || how == SegmentReduction::Min) {
      if (x != x || (is_max ? x > so_far : x < so_far)) so_far = x;
    } else {
      so_far = round_to(type, how == SegmentReduction::Prod ? so_far * x : so_far + x);
    }
  }
  if (how != SegmentReduction::Mean) return so_far;
  if (count == 0) return initial != nullptr ? so_far : std::numeric_limits<T>::quiet_NaN();
  return round_to(type, so_far / static_cast<T>(count));
}

/// For each segment, its begin and its end in the row.
struct Segments {
  std::vector<int64_t> begins;
  std::vector<int64_t> ends;
  std::vector<int64_t> sizes;  // of the result
  size_t axis = 0;

  /// Reads the lengths of consecutive segments, or their offsets.
  /// Errors: InvalidArgument; InvalidType; OutOfBounds for a segment outside its row.
  Error read(AtenTensorHandle handle, bool are_offsets, int64_t axis_, bool unsafe,
             ArrayRef<int64_t> data) {
    const char* const name = are_offsets ? "the offsets" : "the lengths";
    Tensor dense;
    TENON_TRY(read_aoti(handle, name, dense));
    TENON_TRY(read_dim(axis_, data.size(), axis));
    const ScalarType type = dense.scalar_type();
    const ArrayRef<int64_t> given = dense.sizes();
    if (type != ScalarType::Int && type != ScalarType::Long) {
      return fail(Error::InvalidType, name, " have type ", type, ", expected Int or Long");
    }
    bool fits = given.size() == axis + 1 && given.size() <= data.size() &&
                (unsafe || are_offsets || dense.numel() != 0) && (!are_offsets || given[axis] > 0);
    for (size_t d = 0; fits && d < axis; ++d) fits = given[d] == data[d];
    if (!fits) {
      return fail(Error::InvalidArgument, name, " have sizes ", given, ", expected rank ", axis + 1,
                  ", and the sizes ", data, " of the data before axis ", axis,
                  are_offsets ? ", and at least one offset" : "");
    }
    TENON_TRY(make_dense(dense, ScalarType::Long, dense));
    sizes.assign(data.begin(), data.end());
    sizes[axis] = given[axis] - (are_offsets ? 1 : 0);
    int64_t outer = 1;
    for (size_t d = 0; d < axis; ++d) outer *= data[d];
    const auto* at = dense_data<int64_t>(dense);
    for (int64_t o = 0; o < outer; ++o) {
      int64_t end = 0;
      for (int64_t i = 0; i < sizes[axis]; ++i) {
        begins.push_back(are_offsets ? at[i] : end);
        if (!are_offsets && (at[i] < 0 || at[i] > data[axis] - end)) {
          return fail(Error::OutOfBounds, "a segment of length ", at[i], " at ", end,
                      " is outside ", data[axis], " elements");
        }
        end = are_offsets ? at[i + 1] : end + at[i];
        ends.push_back(end);
        if (begins.back() < 0 || end < begins.back() || end > data[axis]) {
          return fail(Error::OutOfBounds, "a segment from ", begins.back(), " to ", end,
                      " is not a range of ", data[axis], " elements");
        }
      }
      if (!are_offsets && !unsafe && end != data[axis]) {
        return fail(Error::InvalidArgument, "the lengths add up to ", end, ", expected ",
                    data[axis]);
      }
      at += given[axis];
    }
    return Error::Ok;
  }
};

inline Error answer_segments(const Tensor& data, SegmentReduction how, const Segments& segments,
                             const double* initial, AtenTensorHandle* ret) {
  const ScalarType type = data.scalar_type();
  if (!isFloatingType(type) || elementSize(type) == 1) {
    return fail(Error::NotSupported, "segments of ", type,
                " elements are not supported; convert them to Float");
  }
  AotiResult result;
  TENON_TRY(result.make(segments.sizes, type, computed_type(type)));
  Tensor dense;
  TENON_TRY(make_dense(data, computed_type(type), dense));
  on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    const DenseRows from(data.sizes(), segments.axis);
    const int64_t per_row = segments.sizes[segments.axis];
    T* to = result.data<T>();
    for (int64_t s = 0; s < from.outer * per_row; ++s) {
      const int64_t begin = segments.begins[static_cast<size_t>(s)];
      const int64_t end = segments.ends[static_cast<size_t>(s)];
      const T* const row = dense_data<T>(dense) + (s / per_row * from.count + begin) * from.inner;
      for (int64_t i = 0; i < from.inner; ++i) {
        *to++ = reduce_segment(how, type, initial, row + i, end - begin, from.inner);
      }
    }
  });
  return result.finish(ret);
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_histc(AtenTensorHandle self, int64_t bins, double min, double max,
                                    AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    const double range[] = {min, max};
    HistogramArguments args;
    args.bins = &bins;
    args.is_histc = true;
    if (min != max) {
      args.range = range;
      args.range_size = 2;
    }
    return answer_histogram(self, args, ret0, nullptr);
  });
}
AOTITorchError aoti_torch_cpu_histogram_bin_ct(AtenTensorHandle self, int64_t bins,
                                               const double** range, int64_t range_len_,
                                               AtenTensorHandle* weight, int32_t density,
                                               AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    HistogramArguments args;
    args.bins = &bins;
    args.range = range == nullptr ? nullptr : *range;
    args.range_size = range_len_;
    args.weight = weight;
    args.is_density = density != 0;
    return answer_histogram(self, args, ret0, ret1);
  });
}
AOTITorchError aoti_torch_cpu__histogramdd_from_bin_cts(AtenTensorHandle self, const int64_t* bins,
                                                        int64_t bins_len_, const double** range,
                                                        int64_t range_len_,
                                                        AtenTensorHandle* weight, int32_t density,
                                                        AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    HistogramArguments args;
    ArrayRef<int64_t> counts;
    TENON_TRY(read_values("bins", bins, bins_len_, counts));
    args.bins = bins;
    args.dims = bins_len_;
    args.range = range == nullptr ? nullptr : *range;
    args.range_size = range_len_;
    args.weight = weight;
    args.is_density = density != 0;
    args.has_columns = true;
    return answer_histogram(self, args, ret0, nullptr);
  });
}

AOTITorchError aoti_torch_cpu_segment_reduce(AtenTensorHandle data, const char* reduce,
                                             AtenTensorHandle* lengths, AtenTensorHandle* indices,
                                             AtenTensorHandle* offsets, int64_t axis,
                                             int32_t unsafe, double* initial,
                                             AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    SegmentReduction how{};
    Segments segments;
    TENON_TRY(read_aoti(data, "the data", given));
    TENON_TRY(read_segment_reduction(text_or_empty(reduce), how));
    if (indices != nullptr || (lengths == nullptr && offsets == nullptr)) {
      return fail(Error::InvalidArgument,
                  "expected the segments' lengths or offsets, and no indices");
    }
    TENON_TRY(segments.read(offsets != nullptr ? *offsets : *lengths, offsets != nullptr, axis,
                            unsafe != 0, given.sizes()));
    return answer_segments(given, how, segments, initial, ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
