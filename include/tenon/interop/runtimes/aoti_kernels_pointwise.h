// SPDX-License-Identifier: MIT
// Kernels that compute each element separately: abs, angle, add, mul, pow, polar and gcd, mainly
// for complex elements, for which AOTInductor generates no code.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernels_elementwise.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline int64_t integer_power(int64_t base, int64_t exponent) noexcept {
  if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 == 0 ? 1 : -1;
  int64_t power = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 == 1) power = multiply_elements(power, base);
    base = multiply_elements(base, base);
  }
  return power;
}
template <class T>
T reciprocal(T x) noexcept {
  return 1 / x;
}
/// Computes 1 / z by Smith's method, as torch does. For 0 and infinities a part may be NaN.
template <class T>
std::complex<T> reciprocal(std::complex<T> z) noexcept {
  const T real = z.real();
  const T imag = z.imag();
  if (real == 0 && imag == 0) return {1 / std::abs(real), 0 / std::abs(imag)};
  if (std::abs(real) >= std::abs(imag)) {
    const T ratio = imag / real;
    const T scale = 1 / (real + imag * ratio);
    return {scale, -ratio * scale};
  }
  const T ratio = real / imag;
  const T scale = 1 / (real * ratio + imag);
  return {ratio * scale, -scale};
}
/// torch's shortcuts for an exponent that is a number, not a tensor. They differ from std::pow()
/// for -0 and infinities.
template <class T>
T fractional_power(T base, double exponent, bool has_roots) {
  if (exponent == 0) return T(1);
  if (exponent == 1) return base;
  if (exponent == 2) return multiply_elements(base, base);
  if (exponent == 3) return multiply_elements(multiply_elements(base, base), base);
  if (exponent == -2) return reciprocal(multiply_elements(base, base));
  if (exponent == 0.5 && has_roots) return std::sqrt(base);
  if (exponent == -0.5 && has_roots) return reciprocal(std::sqrt(base));
  if (exponent == -1) return reciprocal(base);
  return std::pow(base, T(static_cast<decltype(std::abs(base))>(exponent)));
}

inline int64_t abs_of(int64_t x) noexcept { return x < 0 ? multiply_elements(x, int64_t{-1}) : x; }
inline float abs_of(float x) noexcept { return std::abs(x); }
inline double abs_of(double x) noexcept { return std::abs(x); }
inline double abs_of(std::complex<double> z) noexcept { return std::hypot(z.real(), z.imag()); }
/// Computes in Double, in which squares neither overflow nor underflow.
inline float abs_of(std::complex<float> z) noexcept {
  const double real = z.real();
  const double imag = z.imag();
  const auto length = static_cast<float>(std::sqrt(real * real + imag * imag));
  const bool is_infinite = std::isnan(length) && (std::isinf(real) || std::isinf(imag));
  return is_infinite ? std::numeric_limits<float>::infinity() : length;
}

template <class T>
T angle_of(T x) noexcept {
  return std::isnan(x) ? x : x < 0 ? T(3.14159265358979323846) : T(0);
}
template <class T>
T angle_of(std::complex<T> z) noexcept {
  return std::arg(z);
}

inline int64_t common_divisor(int64_t a, int64_t b) noexcept {
  auto greater = static_cast<uint64_t>(abs_of(a));
  auto smaller = static_cast<uint64_t>(abs_of(b));
  while (smaller != 0) greater = std::exchange(smaller, greater % smaller);
  return static_cast<int64_t>(greater);
}

/// How a function of one or two tensors treats types and strides.
struct ElementRules {
  bool widens_integers = false;  // whether integers become Float, as beside a Python float
  bool takes_bool = true;
  bool takes_complex_half = true;
  bool gives_real = false;
  bool is_row_major = false;  // whether the result is row-major, whatever strides the inputs have
  bool complex_is_row_major = false;
};

/// Returns the result of `compute(job, zero)`, computed in the type of `zero`. If kTakesIntegers is
/// false, no code for integers is compiled.
template <bool kTakesIntegers, class Compute>
AOTITorchError answer_elementwise(const char* function, const ElementRules& rules,
                                  AtenTensorHandle a, const AtenTensorHandle* b,
                                  AtenTensorHandle* ret, const Compute& compute) noexcept {
  return aoti_answer(function, [&] {
    Elementwise job;
    TENON_TRY(job.read(a, b == nullptr ? "the input" : "the first input"));
    if (b != nullptr) TENON_TRY(job.read(*b, "the second input"));
    ScalarType type = job.common_type();
    if (rules.widens_integers) type = with_fraction(type);
    const bool is_complex = isComplexType(type);
    if ((type == ScalarType::Bool && !rules.takes_bool) ||
        (type == ScalarType::ComplexHalf && !rules.takes_complex_half) ||
        (isFloatingType(type) && elementSize(type) == 1)) {
      return fail(Error::NotSupported, "elements of type ", type, " are not supported");
    }
    TENON_TRY(job.begin(type, rules.gives_real ? real_type_of(type) : type,
                        rules.is_row_major || (is_complex && rules.complex_is_row_major)));
    const auto run = [&](auto zero) {
      compute(job, zero);
      return Error::Ok;
    };
    if constexpr (kTakesIntegers) {
      TENON_TRY(on_computed_number(type, run));
    } else {
      TENON_TRY(on_computed_fraction(type, run));
    }
    return job.finish(ret);
  });
}

/// The type of T's parts if T is complex, else T.
template <class T>
using PartOf = decltype(abs_of(T()));

#pragma GCC visibility push(default)
extern "C" {

/// The magnitudes of complex elements are real.
AOTITorchError aoti_torch_cpu_abs(AtenTensorHandle self, AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.takes_bool = false;
  rules.gives_real = true;
  return answer_elementwise<true>(__func__, rules, self, nullptr, ret0, [](auto& job, auto zero) {
    using T = decltype(zero);
    job.template compute<PartOf<T>, T>([](T x) { return abs_of(x); });
  });
}
AOTITorchError aoti_torch_cpu_angle(AtenTensorHandle self, AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.widens_integers = true;
  rules.takes_complex_half = false;
  rules.gives_real = true;
  rules.complex_is_row_major = true;
  return answer_elementwise<false>(__func__, rules, self, nullptr, ret0, [](auto& job, auto zero) {
    using T = decltype(zero);
    job.template compute<PartOf<T>, T>([](T x) { return angle_of(x); });
  });
}

AOTITorchError aoti_torch_cpu_add_Scalar(AtenTensorHandle self, double other, double alpha,
                                         AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.widens_integers = true;
  return answer_elementwise<false>(__func__, rules, self, nullptr, ret0, [&](auto& job, auto zero) {
    using T = decltype(zero);
    const T addend = static_cast<PartOf<T>>(other * alpha);
    job.template compute<T, T>([&](T x) { return x + addend; });
  });
}
/// Refuses integers, as libtorch's function does: alpha is a double.
AOTITorchError aoti_torch_cpu_add_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                         double alpha, AtenTensorHandle* ret0) {
  return answer_elementwise<false>(__func__, {}, self, &other, ret0, [&](auto& job, auto zero) {
    using T = decltype(zero);
    const T factor = static_cast<PartOf<T>>(alpha);
    job.template compute<T, T>([&](T a, T b) { return a + multiply_elements(factor, b); });
  });
}

AOTITorchError aoti_torch_cpu_mul_Scalar(AtenTensorHandle self, double other,
                                         AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.widens_integers = true;
  return answer_elementwise<false>(__func__, rules, self, nullptr, ret0, [&](auto& job, auto zero) {
    using T = decltype(zero);
    const T factor = static_cast<PartOf<T>>(other);
    job.template compute<T, T>([&](T x) { return multiply_elements(x, factor); });
  });
}
AOTITorchError aoti_torch_cpu_mul_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                         AtenTensorHandle* ret0) {
  return answer_elementwise<true>(__func__, {}, self, &other, ret0, [](auto& job, auto zero) {
    using T = decltype(zero);
    job.template compute<T, T>([](T a, T b) { return multiply_elements(a, b); });
  });
}

AOTITorchError aoti_torch_cpu_pow_Scalar(double self, AtenTensorHandle exponent,
                                         AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.widens_integers = true;
  rules.takes_complex_half = self == 1;
  rules.is_row_major = true;
  return answer_elementwise<false>(
      __func__, rules, exponent, nullptr, ret0, [&](auto& job, auto zero) {
        using T = decltype(zero);
        const T base = static_cast<PartOf<T>>(self);
        job.template compute<T, T>([&](T x) { return self == 1 ? T(1) : std::pow(base, x); });
      });
}
AOTITorchError aoti_torch_cpu_pow_Tensor_Scalar(AtenTensorHandle self, double exponent,
                                                AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.widens_integers = true;
  rules.takes_complex_half = exponent == 0 || exponent == 1;
  return answer_elementwise<false>(__func__, rules, self, nullptr, ret0, [&](auto& job, auto zero) {
    using T = decltype(zero);
    const bool has_roots = job.result().scalar_type() != ScalarType::Half;
    job.template compute<T, T>([&](T x) { return fractional_power(x, exponent, has_roots); });
  });
}
AOTITorchError aoti_torch_cpu_pow_Tensor_Tensor(AtenTensorHandle self, AtenTensorHandle exponent,
                                                AtenTensorHandle* ret0) {
  ElementRules rules;
  rules.takes_bool = false;
  rules.takes_complex_half = false;
  return answer_elementwise<true>(__func__, rules, self, &exponent, ret0, [](auto& job, auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      job.template compute<T, T>(integer_power);
    } else {
      job.template compute<T, T>([](T a, T b) { return std::pow(a, b); });
    }
  });
}

AOTITorchError aoti_torch_cpu_polar(AtenTensorHandle abs, AtenTensorHandle angle,
                                    AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Elementwise job;
    TENON_TRY(job.read(abs, "abs"));
    TENON_TRY(job.read(angle, "angle"));
    const ScalarType type = job.type(0);
    const ScalarType result = isComplexType(type) ? ScalarType::Undefined : complex_type_of(type);
    if (type != job.type(1) || result == ScalarType::Undefined) {
      return fail(Error::InvalidArgument, "the elements have types ", type, " and ", job.type(1),
                  ", expected Half, Float or Double for both");
    }
    TENON_TRY(job.begin(type, result));
    on_floating_type(type, [&](auto zero) {
      using T = decltype(zero);
      job.compute<std::complex<T>, T>([](T length, T turn) {
        return std::complex<T>(length * std::cos(turn), length * std::sin(turn));
      });
    });
    return job.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu_gcd(AtenTensorHandle self, AtenTensorHandle other,
                                  AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Elementwise job;
    TENON_TRY(job.read(self, "the first input"));
    TENON_TRY(job.read(other, "the second input"));
    const ScalarType type = job.common_type();
    if (!isIntegralType(type, false)) {
      return fail(Error::NotSupported, "the elements have type ", type,
                  ", expected an integer type");
    }
    TENON_TRY(job.begin(type, type));
    job.compute<int64_t, int64_t>(common_divisor);
    return job.finish(ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
