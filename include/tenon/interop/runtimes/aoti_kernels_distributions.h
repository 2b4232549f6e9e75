// SPDX-License-Identifier: MIT
// Kernels that fill a tensor, or a new tensor like it, with numbers of a distribution: bernoulli_,
// exponential, normal, uniform, and native_dropout.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_random_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes a new tensor like `self`, calls fill(tensor), and returns it.
template <class Fill>
AOTITorchError answer_filled(const char* function, AtenTensorHandle self,
                             const AtenGeneratorHandle* generator, AtenTensorHandle* ret,
                             const Fill& fill) noexcept {
  return answer_random_like(function, self, {nullptr, nullptr, nullptr}, nullptr, generator, ret,
                            fill);
}

/// Uniform Doubles in [0, 1), row-major.
inline Error make_uniform(ArrayRef<int64_t> sizes, Tensor& made) {
  TENON_ASSIGN(const TensorPtr numbers, try_empty(sizes, ScalarType::Double, host_backend()));
  TENON_TRY(uniform_(*numbers));
  made = *numbers;
  return Error::Ok;
}
inline Span<double> doubles_of(const Tensor& tensor) noexcept {
  const TensorFields& all = fields(TensorArg(tensor));
  return {static_cast<double*>(all.data), static_cast<size_t>(all.layout.numel)};
}

/// Sets each element to 1 with its probability in `p`, or with `p_of_all` if `p` is null; else to
/// 0.
inline Error fill_bernoulli(const Tensor& tensor, const Tensor* p, double p_of_all) {
  const ScalarType type = tensor.scalar_type();
  TENON_TRY(check_random_type(type, !isComplexType(type), "a real type"));
  const auto check = [](double value) {
    if (value >= 0 && value <= 1) return Error::Ok;
    return fail(Error::InvalidArgument, "a probability is ", value, ", expected 0 to 1");
  };
  Tensor numbers;
  Tensor wanted;
  if (p == nullptr) {
    TENON_TRY(check(p_of_all));
  } else {
    const ScalarType given = p->scalar_type();
    TENON_TRY(check_random_type(given, isFloatingType(given), "a floating type"));
    TENON_ASSIGN(const TensorPtr all,
                 try_empty(tensor.sizes(), ScalarType::Double, host_backend()));
    TENON_TRY(copy_(*all, *p));
    for (const double value : doubles_of(*all)) TENON_TRY(check(value));
    wanted = *all;
  }
  TENON_TRY(check_writable(fields(TensorArg(tensor))));
  TENON_TRY(make_uniform(tensor.sizes(), numbers));
  const Span<double> values = doubles_of(numbers);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = values[i] < (p == nullptr ? p_of_all : doubles_of(wanted)[i]) ? 1 : 0;
  }
  return copy_(tensor, numbers, CastMode::Truncate);
}

/// Multiplies elements where `mask` is true by 1 / (1 - p), and sets the others to 0.
inline Error drop_elements(const Tensor& tensor, const Tensor& mask, double p) {
  const ScalarType type = tensor.scalar_type();
  const bool is_complex = isComplexType(type);
  Tensor values;
  Tensor kept;
  TENON_TRY(make_dense(mask, ScalarType::Double, kept));
  TENON_TRY(
      make_dense(tensor, is_complex ? ScalarType::ComplexDouble : ScalarType::Double, values));
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  auto* const all = static_cast<double*>(fields(TensorArg(values)).data);
  const Span<double> factors = doubles_of(kept);
  for (size_t i = 0; i < factors.size() * (is_complex ? 2 : 1); ++i) {
    all[i] *= factors[is_complex ? i / 2 : i] * scale;
  }
  if (values.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl()) return Error::Ok;
  return copy_(tensor, values, CastMode::Truncate);
}

/// Fills a tensor with numbers of the exponential distribution with mean 1 / lambda. All are above
/// 0.
inline Error fill_exponential(const Tensor& made, double lambda) {
  const ScalarType type = made.scalar_type();
  TENON_TRY(check_random_type(type, isFloatingType(type), "a floating type"));
  if (!(lambda > 0)) {
    return fail(Error::InvalidArgument, "lambda is ", lambda, ", expected a number above 0");
  }
  Tensor numbers;
  TENON_TRY(make_uniform(made.sizes(), numbers));
  // Uses the middles of the generator's 2^53 intervals, so that the logarithm's argument is neither
  // 0 nor 1.
  for (double& value : doubles_of(numbers)) value = -std::log(value + 0x1p-54) / lambda;
  return copy_(made, numbers);
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_bernoulli__Tensor(AtenTensorHandle self, AtenTensorHandle p,
                                                AtenGeneratorHandle* generator) {
  return aoti_answer(__func__, [&] {
    Tensor filled;
    Tensor probabilities;
    TENON_TRY(check_generator(generator));
    TENON_TRY(read_aoti(self, "the tensor", filled));
    TENON_TRY(read_aoti(p, "p", probabilities));
    return fill_bernoulli(filled, &probabilities, 0);
  });
}
AOTITorchError aoti_torch_cpu_bernoulli__float(AtenTensorHandle self, double p,
                                               AtenGeneratorHandle* generator) {
  return aoti_answer(__func__, [&] {
    Tensor filled;
    TENON_TRY(check_generator(generator));
    TENON_TRY(read_aoti(self, "the tensor", filled));
    return fill_bernoulli(filled, nullptr, p);
  });
}

// These functions fill a new tensor like `self`.
AOTITorchError aoti_torch_cpu_exponential(AtenTensorHandle self, double lambd,
                                          AtenGeneratorHandle* generator, AtenTensorHandle* ret0) {
  return answer_filled(__func__, self, generator, ret0,
                       [&](const Tensor& made) { return fill_exponential(made, lambd); });
}
AOTITorchError aoti_torch_cpu_normal_functional(AtenTensorHandle self, double mean, double std,
                                                AtenGeneratorHandle* generator,
                                                AtenTensorHandle* ret0) {
  return answer_filled(__func__, self, generator, ret0,
                       [&](const Tensor& made) { return fill_normal(made, mean, std); });
}
AOTITorchError aoti_torch_cpu_uniform(AtenTensorHandle self, double from, double to,
                                      AtenGeneratorHandle* generator, AtenTensorHandle* ret0) {
  return answer_filled(__func__, self, generator, ret0,
                       [&](const Tensor& made) { return fill_uniform(made, from, to); });
}

/// Result 0 has the input's elements: those that are dropped are 0, the others are multiplied by 1
/// / (1 - p). Result 1 is a Bool mask of the elements that are kept.
AOTITorchError aoti_torch_cpu_native_dropout(AtenTensorHandle input, double p, int32_t* train,
                                             AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(input, "the input", given));
    const ScalarType type = given.scalar_type();
    if (given.numel() == 0) {  // as in torch, the mask then has the input's type
      AotiResult empty[2];
      for (AotiResult& each : empty) TENON_TRY(each.make_like(given, type, type));
      return finish_all({{&empty[0], ret0}, {&empty[1], ret1}});
    }
    const bool is_training = train == nullptr || *train != 0;
    TENON_TRY(check_random_type(type, !is_training || !isIntegralType(type, true),
                                "a floating or complex type"));
    AotiResult output;
    AotiResult mask;
    TENON_TRY(output.make_like(given, type, type));
    TENON_TRY(mask.make_like(given, ScalarType::Bool, ScalarType::Bool));
    TENON_TRY(output.copy_from(given));
    TENON_TRY(fill_bernoulli(mask.work(), nullptr, is_training ? 1 - p : 1));
    if (is_training) TENON_TRY(drop_elements(output.work(), mask.work(), p));
    return finish_all({{&output, ret0}, {&mask, ret1}});
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
