// SPDX-License-Identifier: MIT
// Tools of the kernels in aoti_kernels_pointwise.h: inputs are broadcast to one shape, and the
// result has torch's result_type and the strides of torch's TensorIterator.
#pragma once

#include <array>
#include <complex>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Like on_computed_number(), but without int64_t.
/// Errors: NotSupported for integers.
template <class F>
Error on_computed_fraction(ScalarType type, const F& f) {
  if (isFloatingType(type)) return on_floating_type(computed_type(type), f);
  const ScalarType computed = computed_type(type);
  if (computed == ScalarType::ComplexFloat) return f(std::complex<float>());
  if (computed == ScalarType::ComplexDouble) return f(std::complex<double>());
  return fail(Error::NotSupported, "elements of type ", type, " are not supported");
}

inline ScalarType real_type_of(ScalarType type) noexcept {
  return isComplexType(type) ? static_cast<ScalarType>(static_cast<int>(type) - 3) : type;
}
/// The result type of a tensor and a Python float.
inline ScalarType with_fraction(ScalarType type) noexcept {
  return isIntegralType(type, true) ? ScalarType::Float : type;
}

/// One or two inputs, broadcast, and a result that is computed element by element.
class Elementwise {
 public:
  Error read(AtenTensorHandle handle, const char* name) {
    TENON_TRY(read_aoti(handle, name, inputs_[count_]));
    ++count_;
    return Error::Ok;
  }
  /// Adds an input. The host must be able to read it.
  void add(const Tensor& tensor) { inputs_[count_++] = tensor; }
  ScalarType type(size_t i) const noexcept { return inputs_[i].scalar_type(); }
  /// The type to which both inputs are converted.
  ScalarType common_type() const noexcept { return result_type(inputs_[0], inputs_[count_ - 1]); }

  /// Makes the result, and converts the inputs to the computed type of `common`. The result is
  /// row-major with `is_row_major`; else its strides follow the inputs'.
  /// Errors: InvalidArgument for sizes that do not broadcast, NotSupported for an undefined type.
  Error begin(ScalarType common, ScalarType result, bool is_row_major = false);

  /// Sets each element to f(a) or f(a, b). Out and In are the computed types.
  template <class Out, class In, class F>
  void compute(const F& f) {
    if (result_.numel() == 0) return;
    std::vector<int64_t> index(sizes_.size());
    Steps at{};
    do {
      Out* const to = static_cast<Out*>(fields(TensorArg(work_)).data) + at[0];
      const In* const a = dense_data<In>(inputs_[0]) + at[1];
      if constexpr (std::is_invocable_v<const F&, In>) {
        for (int64_t i = 0; i < sizes_[0]; ++i) to[i * steps_[0][0]] = f(a[i * steps_[0][1]]);
      } else {
        compute_row(to, a, dense_data<In>(inputs_[1]) + at[2], f);
      }
    } while (next_row(index, at));
  }
  const Tensor& result() const noexcept { return result_; }
  /// Copies the computed elements to the result, if that has another type.
  Error finish() {
    if (work_.unsafeGetTensorImpl() == result_.unsafeGetTensorImpl()) return Error::Ok;
    return convert(result_, work_);
  }
  Error finish(AtenTensorHandle* handle) {
    TENON_TRY(finish());
    return make_aoti_handle(result_, *handle);
  }

 private:
  using Steps = std::array<int64_t, 3>;  // strides of the result and the inputs, in elements

  std::vector<int64_t> input_strides(const Dims& sizes, size_t k) const;
  Dims result_strides(const Dims& sizes) const;
  void merge_dimensions(const AotiShape& shape);

  template <class Out, class In, class F>
  void compute_row(Out* to, const In* a, const In* b, const F& f) const {
    const auto [to_step, a_step, b_step] = steps_[0];
    if (to_step == 1 && a_step == 1 && b_step == 1) {
      for (int64_t i = 0; i < sizes_[0]; ++i) to[i] = f(a[i], b[i]);
    } else {
      for (int64_t i = 0; i < sizes_[0]; ++i) to[i * to_step] = f(a[i * a_step], b[i * b_step]);
    }
  }
  bool next_row(std::vector<int64_t>& index, Steps& at) const noexcept {
    for (size_t d = 1; d < sizes_.size(); ++d) {
      for (size_t k = 0; k < at.size(); ++k) at[k] += steps_[d][k];
      if (++index[d] < sizes_[d]) return true;
      for (size_t k = 0; k < at.size(); ++k) at[k] -= steps_[d][k] * sizes_[d];
      index[d] = 0;
    }
    return false;
  }

  size_t count_ = 0;
  Tensor inputs_[2];
  Tensor result_;
  Tensor work_;  // the result in its computed type
  // sizes of the loops, innermost first; dimensions are merged where possible
  std::vector<int64_t> sizes_;
  std::vector<Steps> steps_;
};

/// The strides of input k along the result's dimensions; 0 where elements repeat.
inline std::vector<int64_t> Elementwise::input_strides(const Dims& sizes, size_t k) const {
  const Layout& layout = fields(TensorArg(inputs_[k])).layout;
  const size_t missing = sizes.size() - layout.rank();
  std::vector<int64_t> strides(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool repeats = d < missing || (layout.sizes()[d - missing] == 1 && sizes[d] != 1);
    strides[d] = repeats ? 0 : layout.strides()[d - missing];
  }
  return strides;
}

/// The strides that torch's TensorIterator gives the result.
inline Dims Elementwise::result_strides(const Dims& sizes) const {
  const Layout& first = fields(TensorArg(inputs_[0])).layout;
  const Layout& last = fields(TensorArg(inputs_[count_ - 1])).layout;
  std::vector<std::vector<int64_t>> strides;
  if (first.sizes() == sizes && last.sizes() == sizes) {
    if (first.is_contiguous() && last.is_contiguous()) return row_major_strides(sizes);
    if (first.strides() == last.strides() && first.is_dense()) return Dims(first.strides());
  }
  for (size_t k = 0; k < count_; ++k) strides.push_back(input_strides(sizes, k));
  return Dims(strides_in_order(sizes, iteration_order(sizes, strides)));
}

/// Sets the loops over all operands, innermost first.
inline void Elementwise::merge_dimensions(const AotiShape& shape) {
  const std::vector<int64_t> of_a = input_strides(shape.sizes, 0);
  const std::vector<int64_t> of_b = input_strides(shape.sizes, count_ - 1);
  for (const size_t d : iteration_order(shape.sizes, {ArrayRef<int64_t>(shape.strides).vec()})) {
    if (shape.sizes[d] == 1) continue;
    const Steps steps = {shape.strides[d], of_a[d], of_b[d]};
    bool follows = !sizes_.empty();
    for (size_t k = 0; k < steps.size() && follows; ++k) {
      follows = steps[k] == steps_.back()[k] * sizes_.back();
    }
    if (follows) {
      sizes_.back() *= shape.sizes[d];
    } else {
      sizes_.push_back(shape.sizes[d]);
      steps_.push_back(steps);
    }
  }
  if (!sizes_.empty()) return;
  sizes_.push_back(1);
  steps_.push_back({});
}

inline Error Elementwise::begin(ScalarType common, ScalarType result, bool is_row_major) {
  if (common == ScalarType::Undefined || result == ScalarType::Undefined) {
    return fail(Error::NotSupported, "elements of types ", type(0), " and ", type(count_ - 1),
                " are not supported");
  }
  AotiShape shape;
  shape.sizes = inputs_[0].sizes();
  TENON_TRY(broadcast_sizes(inputs_[count_ - 1].sizes(), shape.sizes));
  for (size_t k = 0; k < count_; ++k) {
    if (type(k) == common) continue;
    const Layout& layout = fields(TensorArg(inputs_[k])).layout;
    TENON_ASSIGN(const TensorPtr made, try_empty_strided(layout.sizes(), preserved_strides(layout),
                                                         common, host_backend()));
    TENON_TRY(copy_(*made, inputs_[k], CastMode::Truncate));
    inputs_[k] = *made;
  }
  shape.strides = is_row_major ? row_major_strides(shape.sizes) : result_strides(shape.sizes);
  shape.type = result;
  TENON_TRY(aoti_empty(shape, result_));
  work_ = result_;
  if (computed_type(result) != result) {
    TENON_ASSIGN(const TensorPtr made, try_empty_strided(shape.sizes, shape.strides,
                                                         computed_type(result), host_backend()));
    work_ = *made;
  }
  for (size_t k = 0; k < count_; ++k) {
    if (computed_type(common) == common) break;
    TENON_TRY(make_dense(inputs_[k], computed_type(common), inputs_[k]));
  }
  merge_dimensions(shape);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
