// SPDX-License-Identifier: MIT
// The random numbers of aoti_kernels_random.h and aoti_kernels_distributions.h.
//
// The numbers come from the calling thread's default_generator(), which manual_seed() seeds: rand,
// randn and randint return the same numbers as tenon's functions of these names. Models pass no
// generator; if one is passed, it is refused.
#pragma once

#include <numeric>

#include "tenon/interop/runtimes/aoti_tensor_options.h"
#include "tenon/tensor/random.h"

// As in torch/csrc/inductor/aoti_torch/c/macros.h.
extern "C" {
struct AtenGeneratorOpaque;
using AtenGeneratorHandle = AtenGeneratorOpaque*;
}

TENON_BEGIN_NAMESPACE
namespace detail {

/// Refuses a generator: tenon makes no handles of generators.
inline Error check_generator(const AtenGeneratorHandle* generator) noexcept {
  if (generator == nullptr || *generator == nullptr) return Error::Ok;
  return fail(Error::NotSupported,
              "a generator is given, expected none: numbers come from tenon's default_generator()");
}

inline Error check_random_type(ScalarType type, bool is_expected, const char* expected) noexcept {
  if (is_expected) return Error::Ok;
  return fail(Error::InvalidType, "the elements have type ", type, ", expected ", expected);
}
/// If `high` equals `low`, all elements become that number.
inline Error fill_uniform(const Tensor& made, double low, double high) noexcept {
  const ScalarType type = made.scalar_type();
  TENON_TRY(check_random_type(type, !isIntegralType(type, true), "a floating or complex type"));
  if (low != high) return uniform_(made, low, high);
  return fill_(made, isComplexType(type) ? Scalar(complex<double>(low, low)) : Scalar(low));
}
inline Error fill_normal(const Tensor& made, double mean, double deviation) noexcept {
  const ScalarType type = made.scalar_type();
  TENON_TRY(check_random_type(type, !isIntegralType(type, true), "a floating or complex type"));
  return normal_(made, mean, deviation);
}
inline Error fill_rand(const Tensor& made) noexcept { return fill_uniform(made, 0, 1); }
inline Error fill_randn(const Tensor& made) noexcept { return fill_normal(made, 0, 1); }
inline Error fill_integers_below(const Tensor& made, int64_t low, int64_t high) noexcept {
  const ScalarType type = made.scalar_type();
  TENON_TRY(check_random_type(type, !isComplexType(type), "a real type"));
  return random_(made, low, high);
}

/// For rand, randn and randint: makes a tensor of these sizes and calls fill(tensor).
template <class Fill>
AOTITorchError answer_random(const char* function, const int64_t* sizes, int64_t rank,
                             const AotiTensorOptions& options, ScalarType by_default,
                             const AtenGeneratorHandle* generator, AtenTensorHandle* ret,
                             const Fill& fill) noexcept {
  return aoti_answer(function, [&] {
    Tensor made;
    TENON_TRY(check_generator(generator));
    TENON_TRY(make_sized(sizes, rank, options, by_default, made));
    TENON_TRY(fill(made));
    return make_aoti_handle(made, *ret);
  });
}
/// Makes a tensor of another tensor's sizes and calls fill(tensor).
template <class Fill>
AOTITorchError answer_random_like(const char* function, AtenTensorHandle self,
                                  const AotiTensorOptions& options, const int32_t* memory_format,
                                  const AtenGeneratorHandle* generator, AtenTensorHandle* ret,
                                  const Fill& fill) noexcept {
  return aoti_on(function, self, [&](const Tensor& given) {
    TENON_TRY(check_defined(given, "the tensor"));
    ScalarType type;
    Tensor made;
    TENON_TRY(check_generator(generator));
    TENON_TRY(options.read(given.scalar_type(), type));
    TENON_TRY(
        make_sized_like(given, type, memory_format == nullptr ? kPreserve : *memory_format, made));
    TENON_TRY(fill(made));
    return make_aoti_handle(made, *ret);
  });
}
/// The integers from 0 to n - 1 in random order, by the Fisher-Yates shuffle: each order has equal
/// probability. The generator advances by n.
inline std::vector<int64_t> random_permutation(int64_t n) {
  Generator& generator = default_generator();
  const Generator::State start = generator.state();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (uint64_t i = 0; i + 1 < order.size(); ++i) {
    const uint64_t rest = order.size() - i;
    std::swap(order[i], order[i + random_integer(start.seed, start.offset + i, rest, 0)]);
  }
  static_cast<void>(generator.advance(order.size()));
  return order;
}

}  // namespace detail
TENON_END_NAMESPACE
