// SPDX-License-Identifier: MIT
// Kernels that write to positions given by indices along one dimension.
//
// All indices are checked before the first element is written. If an element is written several
// times, the last value stays.
#pragma once

#include <limits>

#include "tenon/interop/runtimes/aoti_kernel_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class AotiReduction { Sum, Prod, Mean, Max, Min };

inline Error read_reduction(const char* name, bool has_sum, AotiReduction& read) {
  const std::string_view given = text_or_empty(name);
  constexpr std::string_view kNames[] = {"sum", "prod", "mean", "amax", "amin"};
  for (size_t i = has_sum ? 0 : 1; i < std::size(kNames); ++i) {
    const bool is_extreme = kNames[i][0] == 'a';  // torch takes "max" wherever it takes "sum"
    if (given != kNames[i] && !(has_sum && is_extreme && given == kNames[i].substr(1))) continue;
    read = static_cast<AotiReduction>(i);
    return Error::Ok;
  }
  return fail(Error::InvalidArgument, "reduce is \"", given, "\", expected ",
              has_sum ? "sum, " : "", "prod, mean, amax or amin");
}

/// Elements of a source, and their positions in a tensor along one dimension. Lists have an entry
/// for each dimension; rank 0 counts as one dimension of size 1.
struct AotiScatter {
  size_t dim = 0;
  AotiDims self_sizes;
  AotiDims sizes;        // sizes of the part of the source that is used
  AotiDims strides;      // strides of the index tensor
  AotiDims src_strides;  // strides of the source; zeros for a single value
  Tensor index;
  // for each row: offset of its first element in the tensor, in the source, in the index tensor
  AotiDims row_places;
  AotiDims row_sources;
  AotiDims row_indices;
  int64_t step = 0;  // distance between a row's elements in the tensor

  static AotiDims list(ArrayRef<int64_t> sizes) {
    return sizes.empty() ? AotiDims{1} : sizes.vec();
  }
  /// Errors: OutOfBounds for an index that is negative or too large.
  Error check() const {
    return check_indices(dense_data<int64_t>(index), index.numel(), 0, self_sizes[dim]);
  }
  /// Reads the arguments of scatter(). `src` has the source's sizes; it is null for a single value.
  Error read(const Tensor& self, int64_t dim_, AtenTensorHandle index_handle,
             const ArrayRef<int64_t>* src) {
    TENON_TRY(read_dim(dim_, self.sizes().size(), dim));
    TENON_TRY(read_indices(index_handle, index));
    self_sizes = list(self.sizes());
    sizes = list(index.sizes());
    if (index.numel() == 0) return Error::Ok;
    const AotiDims from = src == nullptr ? sizes : list(*src);
    bool fits = sizes.size() == self_sizes.size() && sizes.size() == from.size();
    for (size_t d = 0; fits && d < sizes.size(); ++d) {
      fits = sizes[d] <= from[d] && (d == dim || sizes[d] <= self_sizes[d]);
    }
    if (!fits) {
      return fail(Error::InvalidArgument, "the index has sizes ", index.sizes(), ", self ",
                  self.sizes(), ", the source ", ArrayRef<int64_t>(from), "; they do not fit");
    }
    strides = dense_strides(sizes);
    src_strides = src == nullptr ? AotiDims(sizes.size(), 0) : dense_strides(from);
    return check();
  }
  /// Allocates the memory that each() needs. It can fail, so it comes before the output is written.
  void begin() {
    if (index.numel() == 0) return;
    AotiDims row_sizes = sizes;
    row_sizes[dim] = 1;
    const AotiDims own = dense_strides(self_sizes);
    step = own[dim];
    row_places = offsets_of(row_sizes, own);
    row_sources = offsets_of(row_sizes, src_strides);
    row_indices = offsets_of(row_sizes, strides);
  }
  /// Calls f(position in a dense tensor, position in the source).
  template <class F>
  void each(const F& f) const {
    const auto* const indices = dense_data<int64_t>(index);
    for (size_t r = 0; r < row_places.size(); ++r) {
      for (int64_t i = 0; i < sizes[dim]; ++i) {
        f(row_places[r] + indices[row_indices[r] + i * strides[dim]] * step,
          row_sources[r] + i * src_strides[dim]);
      }
    }
  }
};

/// Copies the source's elements, or its single element, to their positions.
inline void scatter_elements(const AotiScatter& scatter, size_t size, char* to, const void* src) {
  const auto* const from = static_cast<const char*>(src);
  const auto item = static_cast<int64_t>(size);
  with_element_copy(size, [&](const auto& copy) {
    scatter.each([&](int64_t t, int64_t f) { copy(to + t * item, from + f * item); });
  });
}

/// An integer wrapped to the type's range.
inline int64_t wrapped(ScalarType type, int64_t value) noexcept {
  const auto unused = 64 - 8 * static_cast<int>(elementSize(type));
  const uint64_t high = static_cast<uint64_t>(value) << unused;
  return type == ScalarType::Byte ? static_cast<int64_t>(high >> unused)
                                  : static_cast<int64_t>(high) >> unused;
}

template <class T>
T number_as(int64_t number) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(number);
  } else {
    return T(static_cast<typename T::value_type>(number));
  }
}
/// Errors: NotSupported for reductions that torch lacks.
inline Error check_reduction(AotiReduction reduction, ScalarType type, int64_t count) {
  const bool compares = reduction == AotiReduction::Max || reduction == AotiReduction::Min;
  const bool is_mean = reduction == AotiReduction::Mean;
  if ((isComplexType(type) && compares && count != 0) || (type == ScalarType::Bool && is_mean)) {
    return fail(Error::NotSupported, is_mean ? "the mean" : "an extreme", " of elements of type ",
                type, " is not supported");
  }
  return Error::Ok;
}
template <class T>
T reduction_start(AotiReduction reduction) noexcept {
  using Limits = std::numeric_limits<T>;
  constexpr bool kHasInfinity = Limits::has_infinity;
  if (reduction == AotiReduction::Max) {
    return kHasInfinity ? -Limits::infinity() : Limits::lowest();
  }
  if (reduction == AotiReduction::Min) return kHasInfinity ? Limits::infinity() : (Limits::max)();
  return reduction == AotiReduction::Prod ? T{1} : T{0};
}

/// Reduces the elements of `from` into `to`. For a mean, `counts` has an entry for each element of
/// `to`.
template <class T>
void scatter_reduced(const AotiScatter& scatter, AotiReduction reduction, bool include_self,
                     ScalarType type, std::vector<int64_t>& counts, const T* from, T* to) {
  if (!include_self) {
    const T start = reduction_start<T>(reduction);
    scatter.each([&](int64_t t, int64_t) { to[t] = start; });
  }
  if (reduction == AotiReduction::Prod) {
    scatter.each([&](int64_t t, int64_t f) { to[t] = multiply_elements(to[t], from[f]); });
    return;
  }
  if constexpr (std::is_arithmetic_v<T>) {
    const bool is_max = reduction == AotiReduction::Max;
    if (is_max || reduction == AotiReduction::Min) {
      scatter.each([&](int64_t t, int64_t f) {
        const bool precedes = is_max ? from[f] > to[t] : from[f] < to[t];
        if (precedes || from[f] != from[f]) to[t] = from[f];  // a NaN stays
      });
      return;
    }
  }
  const bool is_mean = reduction == AotiReduction::Mean;
  scatter.each([&](int64_t t, int64_t f) {
    to[t] = wrapping_sum(to[t], from[f]);
    if (is_mean) ++counts[static_cast<size_t>(t)];
  });
  for (size_t i = 0; i < counts.size(); ++i) {
    int64_t count = counts[i];
    if constexpr (std::is_integral_v<T>) {
      count = wrapped(type, count);
      to[i] = wrapped(type, to[i]);
      if (count == 0) count = 1;
      const int64_t quotient = to[i] / count;
      to[i] = to[i] % count != 0 && (to[i] < 0) != (count < 0) ? quotient - 1 : quotient;
    } else {
      to[i] /= number_as<T>(count == 0 ? 1 : count);
    }
  }
}

/// Scatters to `result`, which is first set to a copy of `self`.
inline Error finish_reduced(AotiScatter& scatter, AotiReduction reduction, bool include_self,
                            const Tensor& self, const Tensor& src, AotiResult& result) {
  const Tensor& made = result.tensor();
  const ScalarType type = made.scalar_type();
  std::vector<int64_t> counts;
  if (reduction == AotiReduction::Mean) {
    counts.assign(static_cast<size_t>(made.numel()), include_self ? 1 : 0);
  }
  scatter.begin();
  TENON_TRY(result.copy_from(self));
  TENON_TRY(on_computed_number(type, [&](auto zero) {
    using T = decltype(zero);
    scatter_reduced<T>(scatter, reduction, include_self, type, counts, dense_data<T>(src),
                       result.data<T>());
    return Error::Ok;
  }));
  return result.finish();
}

/// The tensors of a function that scatters along `dim` into an output.
struct AotiScatterCall {
  Tensor out;
  Tensor self;
  Tensor src;
  AotiScatter scatter;
  AotiResult result;

  /// `reduction` is null if elements are replaced.
  Error read(AtenTensorHandle out_handle, AtenTensorHandle self_handle, int64_t dim,
             AtenTensorHandle index, const AtenTensorHandle* src_handle,
             const AotiReduction* reduction) {
    TENON_TRY(read_aoti(out_handle, "the output", out));
    TENON_TRY(read_aoti(self_handle, "the input", self));
    const ScalarType type = self.scalar_type();
    const ScalarType work = reduction != nullptr ? computed_type(type) : type;
    TENON_TRY(check_out(out, self.sizes(), type));
    if (src_handle != nullptr) {
      TENON_TRY(read_aoti(*src_handle, "the source", src));
      if (src.scalar_type() != type) {
        return fail(Error::InvalidType, "the source has type ", src.scalar_type(), ", expected ",
                    type);
      }
      const ArrayRef<int64_t> sizes = src.sizes();
      TENON_TRY(scatter.read(self, dim, index, &sizes));
      TENON_TRY(make_dense(src, work, src));
      TENON_TRY(separate(out, src));
    } else {
      TENON_TRY(scatter.read(self, dim, index, nullptr));
    }
    if (reduction != nullptr) {
      TENON_TRY(check_reduction(*reduction, type, scatter.index.numel()));
    }
    TENON_TRY(separate(out, scatter.index));
    return result.use(out, work);
  }
  /// Copies the input to the output, then the elements of `from` to their positions.
  Error finish(const void* from) {
    scatter.begin();
    TENON_TRY(result.copy_from(self));
    scatter_elements(scatter, elementSize(self.scalar_type()), result.data<char>(), from);
    return result.finish();
  }
};

inline AOTITorchError answer_scatter(const char* function, AtenTensorHandle out,
                                     AtenTensorHandle self, int64_t dim, AtenTensorHandle index,
                                     AtenTensorHandle src) noexcept {
  return aoti_answer(function, [&] {
    AotiScatterCall call;
    TENON_TRY(call.read(out, self, dim, index, &src, nullptr));
    return call.finish(dense_data<char>(call.src));
  });
}
inline AOTITorchError answer_scatter_reduce(const char* function, AtenTensorHandle out,
                                            AtenTensorHandle self, int64_t dim,
                                            AtenTensorHandle index, AtenTensorHandle src,
                                            const char* reduce, int32_t include_self) noexcept {
  return aoti_answer(function, [&] {
    AotiReduction reduction{};
    AotiScatterCall call;
    TENON_TRY(read_reduction(reduce, true, reduction));
    TENON_TRY(call.read(out, self, dim, index, &src, &reduction));
    return finish_reduced(call.scatter, reduction, include_self != 0, call.self, call.src,
                          call.result);
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_scatter_src_out(AtenTensorHandle out, AtenTensorHandle self,
                                              int64_t dim, AtenTensorHandle index,
                                              AtenTensorHandle src) {
  return answer_scatter(__func__, out, self, dim, index, src);
}
AOTITorchError aoti_torch_scatter_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                      AtenTensorHandle index, AtenTensorHandle src) {
  return answer_scatter(__func__, out, self, dim, index, src);
}
AOTITorchError aoti_torch_cpu_scatter_value_out(AtenTensorHandle out, AtenTensorHandle self,
                                                int64_t dim, AtenTensorHandle index, double value) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    const ScalarType type = given.scalar_type();
    alignas(16) char element[16];
    Scalar number;
    TENON_TRY(read_number(type, value, number));
    TENON_TRY(store_scalar(type, number, element));
    AotiScatterCall call;
    TENON_TRY(call.read(out, self, dim, index, nullptr, nullptr));
    return call.finish(element);
  });
}
AOTITorchError aoti_torch_cpu_scatter_reduce_two_out(AtenTensorHandle out, AtenTensorHandle self,
                                                     int64_t dim, AtenTensorHandle index,
                                                     AtenTensorHandle src, const char* reduce,
                                                     int32_t include_self) {
  return answer_scatter_reduce(__func__, out, self, dim, index, src, reduce, include_self);
}
AOTITorchError aoti_torch_scatter_reduce_out(AtenTensorHandle out, AtenTensorHandle self,
                                             int64_t dim, AtenTensorHandle index,
                                             AtenTensorHandle src, const char* reduce,
                                             int32_t include_self) {
  return answer_scatter_reduce(__func__, out, self, dim, index, src, reduce, include_self);
}

/// Reduces row i of the source into row index[i].
AOTITorchError aoti_torch_cpu_index_reduce(AtenTensorHandle self, int64_t dim,
                                           AtenTensorHandle index, AtenTensorHandle source,
                                           const char* reduce, int32_t include_self,
                                           AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    AotiReduction reduction{};
    Tensor given;
    Tensor src;
    AotiScatter scatter;
    TENON_TRY(read_reduction(reduce, false, reduction));
    TENON_TRY(read_aoti(self, "the input", given));
    TENON_TRY(read_aoti(source, "the source", src));
    const ScalarType type = given.scalar_type();
    TENON_TRY(read_dim(dim, given.sizes().size(), scatter.dim));
    TENON_TRY(read_indices(index, scatter.index));
    scatter.self_sizes = AotiScatter::list(given.sizes());
    scatter.sizes = AotiScatter::list(src.sizes());
    AotiDims expected = scatter.self_sizes;
    expected[scatter.dim] = scatter.index.numel();
    if (src.scalar_type() != type || scatter.index.dim() > 1 || scatter.sizes != expected) {
      return fail(Error::InvalidArgument, "types or sizes do not fit: the source has type ",
                  src.scalar_type(), " and sizes ", src.sizes(), ", the index sizes ",
                  scatter.index.sizes(), ", self type ", type, " and sizes ", given.sizes());
    }
    TENON_TRY(scatter.check());
    if (type == ScalarType::Bool || isComplexType(type)) {
      return fail(Error::NotSupported, "elements of type ", type, " are not supported");
    }
    scatter.strides.assign(scatter.sizes.size(), 0);
    scatter.strides[scatter.dim] = 1;
    scatter.src_strides = dense_strides(scatter.sizes);
    TENON_TRY(make_dense(src, computed_type(type), src));
    AotiResult result;
    TENON_TRY(result.make(given.sizes(), type, computed_type(type)));
    TENON_TRY(finish_reduced(scatter, reduction, include_self != 0, given, src, result));
    return make_aoti_handle(result.tensor(), *ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
