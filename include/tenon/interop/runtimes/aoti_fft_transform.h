// SPDX-License-Identifier: MIT
// Fourier transforms of tensors along dimensions, by kissfft (Debian: libkissfft-dev).
//
// Transforms are computed in Double: kissfft's Float factors lose digits in long rows, and Double
// is as fast. Results have the input's precision, and the strides of libtorch with MKL, which
// compiled models expect.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>

#if !__has_include(<kissfft/kissfft.hh>)
#error "tenon: interop/aoti_fft.h needs <kissfft/kissfft.hh> (Debian: libkissfft-dev)"
#endif
#include <kissfft/kissfft.hh>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

using FourierNumber = std::complex<double>;

inline size_t largest_factor(size_t n) noexcept {
  size_t largest = 1;
  for (size_t factor = 2; factor * factor <= n;) {
    if (n % factor == 0) {
      n /= factor;
      largest = factor;
    } else {
      ++factor;
    }
  }
  return (std::max)(n, largest);
}

/// Transforms rows of one length, without scaling.
///
/// kissfft takes time p * n for a prime factor p of the length n. A length with a large prime
/// factor is therefore transformed by Bluestein's method: a convolution whose length is a power of
/// two.
class FourierPlan {
 public:
  // Bluestein's method is faster for prime factors from 40 on
  static constexpr size_t kLargestFactor = 40;

  FourierPlan(size_t length, bool is_inverse)
      : length_(length),
        padded_(largest_factor(length) < kLargestFactor ? length : power_above(2 * length)),
        transform_(padded_, is_inverse && padded_ == length),
        result_(padded_) {
    if (padded_ == length_) return;
    back_.emplace_back(padded_, true);
    chirp_.resize(length_);
    work_.resize(padded_);
    std::vector<FourierNumber> filter(padded_);
    const double half_turn = (is_inverse ? 1 : -1) * 3.14159265358979323846;
    for (size_t k = 0; k < length_; ++k) {
      const size_t square = k * k % (2 * length_);
      const double angle = half_turn * static_cast<double>(square) / static_cast<double>(length_);
      chirp_[k] = {std::cos(angle), std::sin(angle)};
      filter[k] = filter[(padded_ - k) % padded_] = std::conj(chirp_[k]);
    }
    filter_.resize(padded_);
    transform_.transform(filter.data(), filter_.data());
  }

  /// The transform of `row`, valid until the next call.
  const FourierNumber* run(const FourierNumber* row) {
    if (padded_ == length_) {
      transform_.transform(row, result_.data());
      return result_.data();
    }
    std::fill(work_.begin(), work_.end(), FourierNumber());
    for (size_t k = 0; k < length_; ++k) work_[k] = multiply_elements(row[k], chirp_[k]);
    transform_.transform(work_.data(), result_.data());
    for (size_t k = 0; k < padded_; ++k) work_[k] = multiply_elements(result_[k], filter_[k]);
    back_[0].transform(work_.data(), result_.data());
    const double scale = 1 / static_cast<double>(padded_);
    for (size_t k = 0; k < length_; ++k) {
      result_[k] = multiply_elements(result_[k], chirp_[k]) * scale;
    }
    return result_.data();
  }

 private:
  static size_t power_above(size_t n) noexcept {
    size_t power = 1;
    while (power < n) power *= 2;
    return power;
  }

  size_t length_;
  size_t padded_;
  kissfft<double> transform_;
  std::vector<kissfft<double>> back_;  // the inverse transform of Bluestein's method, else empty
  std::vector<FourierNumber> chirp_;
  std::vector<FourierNumber> filter_;
  std::vector<FourierNumber> work_;
  std::vector<FourierNumber> result_;
};

/// The first length / 2 + 1 numbers of a real row's transform; they determine the others.
class RealFourierPlan {
 public:
  explicit RealFourierPlan(size_t length)
      : length_(length),
        is_half_(length % 2 == 0 && largest_factor(length / 2) < FourierPlan::kLargestFactor),
        half_(is_half_ ? length / 2 : 1, false),
        whole_(is_half_ ? 1 : length, false),
        row_(length),
        result_(length / 2 + 1) {}

  double* row() noexcept { return row_.data(); }
  /// The transform of row(), valid until the next call.
  const FourierNumber* run() {
    if (is_half_) {
      half_.transform_real(row_.data(), result_.data());
      result_[length_ / 2] = result_[0].imag();
      result_[0] = result_[0].real();
    } else {
      const std::vector<FourierNumber> all(row_.begin(), row_.end());
      const FourierNumber* const made = whole_.run(all.data());
      std::copy(made, made + result_.size(), result_.begin());
    }
    return result_.data();
  }

 private:
  size_t length_;
  bool is_half_;
  kissfft<double> half_;
  FourierPlan whole_;
  std::vector<double> row_;
  std::vector<FourierNumber> result_;
};

/// A row of a tensor: its elements are `step` apart.
template <class T>
struct FourierRow {
  T* data;
  int64_t step;
  T& operator[](size_t i) const noexcept { return data[static_cast<int64_t>(i) * step]; }
};
/// Calls f(from, to) for each row of two tensors, whose shapes are equal except for dimension d.
template <class From, class To, class F>
void each_row(const Tensor& from, const Tensor& to, size_t d, const F& f) {
  const TensorFields& source = fields(TensorArg(from));
  const TensorFields& target = fields(TensorArg(to));
  const ArrayRef<int64_t> sizes = source.layout.sizes();
  const ArrayRef<int64_t> steps = source.layout.strides();
  const ArrayRef<int64_t> to_steps = target.layout.strides();
  std::vector<int64_t> index(sizes.size());
  const auto* read = static_cast<const From*>(source.data);
  auto* written = static_cast<To*>(target.data);
  for (;;) {
    f(FourierRow<const From>{read, steps[d]}, FourierRow<To>{written, to_steps[d]});
    size_t k = sizes.size();
    while (k-- > 0) {
      if (k == d) continue;
      read += steps[k];
      written += to_steps[k];
      if (++index[k] < sizes[k]) break;
      read -= steps[k] * sizes[k];
      written -= to_steps[k] * sizes[k];
      index[k] = 0;
    }
    if (k == SIZE_MAX) return;
  }
}

/// A transform of `self` along `dims`, which are all different.
struct FourierJob {
  Tensor self;
  std::vector<size_t> dims;
  double scale = 1;

  /// Errors: OutOfBounds for a dimension that does not exist; InvalidArgument for a dimension that
  /// is given twice or has no elements, and for rank 0; those of check_readable().
  Error read(const Tensor& tensor, ArrayRef<int64_t> given);
  /// Errors: InvalidArgument.
  Error read_normalization(int64_t normalization, const Dims& sizes);
  Error make_output(const Dims& sizes, ScalarType type, bool keeps_last, Tensor& made) const;
};

inline Error FourierJob::read(const Tensor& tensor, ArrayRef<int64_t> given) {
  TENON_TRY(check_readable(tensor, "the input"));
  self = tensor;
  for (const int64_t dim : given) {
    size_t d = 0;
    TENON_TRY(read_dim(dim, self.sizes().size(), d));
    if (self.dim() == 0 || std::find(dims.begin(), dims.end(), d) != dims.end()) {
      return fail(Error::InvalidArgument, "dimensions ", given, " are given for a tensor of rank ",
                  self.dim(), ", expected different ones");
    }
    if (self.sizes()[d] == 0) {
      return fail(Error::InvalidArgument, "dimension ", d, " has no elements");
    }
    dims.push_back(d);
  }
  return Error::Ok;
}

/// Sets `scale` by torch's number: to 1 for 0, to 1 / sqrt(count) for 1, to 1 / count for 2.
/// `count` is the product of the transformed dimensions' sizes.
inline Error FourierJob::read_normalization(int64_t normalization, const Dims& sizes) {
  if (normalization < 0 || normalization > 2) {
    return fail(Error::InvalidArgument, "normalization is ", normalization, ", expected 0, 1 or 2");
  }
  double count = 1;
  for (const size_t d : dims) count *= static_cast<double>(sizes[d]);
  scale = normalization == 0 ? 1 : 1 / (normalization == 1 ? std::sqrt(count) : count);
  return Error::Ok;
}

/// The transformed dimensions are innermost, in the order of the input's strides; but the last
/// dimension of a real transform stays last.
/// Source: _exec_fft of aten/src/ATen/native/mkl/SpectralOps.cpp.
inline Error FourierJob::make_output(const Dims& sizes, ScalarType type, bool keeps_last,
                                     Tensor& made) const {
  const auto by_stride = [&](size_t a, size_t b) { return self.strides()[a] > self.strides()[b]; };
  std::vector<size_t> inner = dims;
  std::stable_sort(inner.begin(), inner.end() - (keeps_last ? 1 : 0), by_stride);
  std::vector<size_t> order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  std::stable_sort(order.begin(), order.end(), by_stride);
  order.insert(order.end(), inner.begin(), inner.end());
  std::reverse(order.begin(), order.end());
  AotiShape shape;
  shape.sizes = sizes;
  shape.strides = Dims(strides_in_order(sizes, order));
  shape.type = type;
  return aoti_empty(shape, made);
}

/// Transforms rows of complex elements of type C; input and output may be the same.
template <class C>
void transform_complex(const Tensor& from, const Tensor& to, size_t d, bool is_inverse,
                       double scale) {
  if (to.numel() == 0) return;
  const auto length = static_cast<size_t>(from.sizes()[d]);
  FourierPlan plan(length, is_inverse);
  std::vector<FourierNumber> row(length);
  each_row<C, C>(from, to, d, [&](const auto& source, const auto& target) {
    for (size_t i = 0; i < length; ++i) row[i] = FourierNumber(source[i]);
    const FourierNumber* const made = plan.run(row.data());
    for (size_t i = 0; i < length; ++i) target[i] = C(made[i] * scale);
  });
}
/// Transforms real rows. `to` has the first half of each transform, or the whole transform.
template <class T>
void transform_real(const Tensor& from, const Tensor& to, size_t d, double scale) {
  if (to.numel() == 0) return;
  using C = std::complex<T>;
  const auto length = static_cast<size_t>(from.sizes()[d]);
  const auto made_length = static_cast<size_t>(to.sizes()[d]);
  RealFourierPlan plan(length);
  each_row<T, C>(from, to, d, [&](const auto& source, const auto& target) {
    for (size_t i = 0; i < length; ++i) plan.row()[i] = static_cast<double>(source[i]);
    const FourierNumber* const made = plan.run();
    for (size_t i = 0; i < length / 2 + 1; ++i) target[i] = C(made[i] * scale);
    for (size_t i = length / 2 + 1; i < made_length; ++i) {
      target[i] = C(std::conj(made[length - i]) * scale);
    }
  });
}
/// Computes real rows of the length that `to` has, from the first half of each row's transform.
template <class T>
void transform_to_real(const Tensor& from, const Tensor& to, size_t d, double scale) {
  if (to.numel() == 0) return;
  const auto length = static_cast<size_t>(to.sizes()[d]);
  FourierPlan plan(length, true);
  std::vector<FourierNumber> row(length);
  each_row<std::complex<T>, T>(from, to, d, [&](const auto& source, const auto& target) {
    for (size_t i = 0; i < length / 2 + 1; ++i) row[i] = FourierNumber(source[i]);
    row[0] = row[0].real();
    if (length % 2 == 0) row[length / 2] = row[length / 2].real();
    for (size_t i = length / 2 + 1; i < length; ++i) row[i] = std::conj(row[length - i]);
    const FourierNumber* const made = plan.run(row.data());
    for (size_t i = 0; i < length; ++i) target[i] = static_cast<T>(made[i].real() * scale);
  });
}

/// Errors: NotSupported for types other than Float and Double, or with `is_complex` ComplexFloat
/// and ComplexDouble.
inline Error check_fourier_type(ScalarType type, bool is_complex) noexcept {
  const ScalarType expected[] = {is_complex ? ScalarType::ComplexFloat : ScalarType::Float,
                                 is_complex ? ScalarType::ComplexDouble : ScalarType::Double};
  if (type == expected[0] || type == expected[1]) return Error::Ok;
  return fail(Error::NotSupported, "the elements have type ", type, ", expected ", expected[0],
              " or ", expected[1]);
}

inline Error transform_c2c(FourierJob& job, int64_t normalization, bool is_inverse, Tensor& made) {
  const ScalarType type = job.self.scalar_type();
  TENON_TRY(check_fourier_type(type, true));
  TENON_TRY(job.read_normalization(normalization, Dims(job.self.sizes())));
  if (job.dims.empty()) {
    AotiResult copy;
    TENON_TRY(copy.make_like(job.self, type, type));
    made = copy.tensor();
    return copy_(made, job.self);
  }
  TENON_TRY(job.make_output(Dims(job.self.sizes()), type, false, made));
  Tensor from = job.self;
  for (const size_t d : job.dims) {
    const double scale = from.unsafeGetTensorImpl() == made.unsafeGetTensorImpl() ? 1 : job.scale;
    if (type == ScalarType::ComplexFloat) {
      transform_complex<std::complex<float>>(from, made, d, is_inverse, scale);
    } else {
      transform_complex<std::complex<double>>(from, made, d, is_inverse, scale);
    }
    from = made;
  }
  return Error::Ok;
}

inline Error transform_r2c(FourierJob& job, int64_t normalization, bool is_onesided, Tensor& made) {
  const ScalarType type = job.self.scalar_type();
  TENON_TRY(check_fourier_type(type, false));
  if (job.dims.empty()) return fail(Error::InvalidArgument, "no dimension is given");
  const size_t last = job.dims.back();
  Dims sizes(job.self.sizes());
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(job.read_normalization(normalization, sizes));
  if (is_onesided) sizes[last] = sizes[last] / 2 + 1;
  const bool is_float = type == ScalarType::Float;
  const ScalarType result = is_float ? ScalarType::ComplexFloat : ScalarType::ComplexDouble;
  TENON_TRY(job.make_output(sizes, result, true, made));
  is_float ? transform_real<float>(job.self, made, last, job.scale)
           : transform_real<double>(job.self, made, last, job.scale);
  for (size_t i = 0; i + 1 < job.dims.size(); ++i) {
    is_float ? transform_complex<std::complex<float>>(made, made, job.dims[i], false, 1)
             : transform_complex<std::complex<double>>(made, made, job.dims[i], false, 1);
  }
  return Error::Ok;
}

inline Error transform_c2r(FourierJob& job, int64_t normalization, int64_t length, Tensor& made) {
  TENON_TRY(check_fourier_type(job.self.scalar_type(), true));
  if (job.dims.empty()) return fail(Error::InvalidArgument, "no dimension is given");
  const size_t last = job.dims.back();
  if (length < 1 || job.self.sizes()[last] < length / 2 + 1) {
    return fail(Error::InvalidArgument, "the real length is ", length, " for ",
                job.self.sizes()[last], " complex numbers, expected 1 to ",
                2 * job.self.sizes()[last] - 1);
  }
  job.dims.pop_back();
  if (!job.dims.empty()) {
    Tensor made_first;
    TENON_TRY(transform_c2c(job, normalization, true, made_first));
    job.self = made_first;
  }
  job.dims = {last};
  Dims sizes(job.self.sizes());
  TENON_TRY(check_dims("sizes", sizes));
  sizes[last] = length;
  TENON_TRY(job.read_normalization(normalization, sizes));
  const bool is_float = job.self.scalar_type() == ScalarType::ComplexFloat;
  TENON_TRY(job.make_output(sizes, is_float ? ScalarType::Float : ScalarType::Double, true, made));
  is_float ? transform_to_real<float>(job.self, made, last, job.scale)
           : transform_to_real<double>(job.self, made, last, job.scale);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
