// SPDX-License-Identifier: MIT
// Kernels that make tensors of random numbers: rand, randn, randint and randperm; also hann_window
// and _efficientzerotensor, which take the same options.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_random_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {

// The unnamed parameters are torch's device index and pin_memory.
AOTITorchError aoti_torch_cpu_rand(const int64_t* size, int64_t size_len_, int32_t* dtype,
                                   int32_t* layout, int32_t* device, int32_t, int32_t*,
                                   AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Float,
                       nullptr, ret0, fill_rand);
}
AOTITorchError aoti_torch_cpu_rand_generator(const int64_t* size, int64_t size_len_,
                                             AtenGeneratorHandle* generator, int32_t* dtype,
                                             int32_t* layout, int32_t* device, int32_t, int32_t*,
                                             AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Float,
                       generator, ret0, fill_rand);
}
AOTITorchError aoti_torch_cpu_rand_like(AtenTensorHandle self, int32_t* dtype, int32_t* layout,
                                        int32_t* device, int32_t, int32_t*, int32_t* memory_format,
                                        AtenTensorHandle* ret0) {
  return answer_random_like(__func__, self, {dtype, layout, device}, memory_format, nullptr, ret0,
                            fill_rand);
}
AOTITorchError aoti_torch_cpu_rand_like_generator(AtenTensorHandle self,
                                                  AtenGeneratorHandle* generator, int32_t* dtype,
                                                  int32_t* layout, int32_t* device, int32_t,
                                                  int32_t*, int32_t* memory_format,
                                                  AtenTensorHandle* ret0) {
  return answer_random_like(__func__, self, {dtype, layout, device}, memory_format, generator, ret0,
                            fill_rand);
}

AOTITorchError aoti_torch_cpu_randn(const int64_t* size, int64_t size_len_, int32_t* dtype,
                                    int32_t* layout, int32_t* device, int32_t, int32_t*,
                                    AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Float,
                       nullptr, ret0, fill_randn);
}
AOTITorchError aoti_torch_cpu_randn_generator(const int64_t* size, int64_t size_len_,
                                              AtenGeneratorHandle* generator, int32_t* dtype,
                                              int32_t* layout, int32_t* device, int32_t, int32_t*,
                                              AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Float,
                       generator, ret0, fill_randn);
}
AOTITorchError aoti_torch_cpu_randn_like(AtenTensorHandle self, int32_t* dtype, int32_t* layout,
                                         int32_t* device, int32_t, int32_t*, int32_t* memory_format,
                                         AtenTensorHandle* ret0) {
  return answer_random_like(__func__, self, {dtype, layout, device}, memory_format, nullptr, ret0,
                            fill_randn);
}
AOTITorchError aoti_torch_cpu_randn_like_generator(AtenTensorHandle self,
                                                   AtenGeneratorHandle* generator, int32_t* dtype,
                                                   int32_t* layout, int32_t* device, int32_t,
                                                   int32_t*, int32_t* memory_format,
                                                   AtenTensorHandle* ret0) {
  return answer_random_like(__func__, self, {dtype, layout, device}, memory_format, generator, ret0,
                            fill_randn);
}

AOTITorchError aoti_torch_cpu_randint(int64_t high, const int64_t* size, int64_t size_len_,
                                      int32_t* dtype, int32_t* layout, int32_t* device, int32_t,
                                      int32_t*, AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Long,
                       nullptr, ret0,
                       [&](const Tensor& made) { return fill_integers_below(made, 0, high); });
}
AOTITorchError aoti_torch_cpu_randint_generator(int64_t high, const int64_t* size,
                                                int64_t size_len_, AtenGeneratorHandle* generator,
                                                int32_t* dtype, int32_t* layout, int32_t* device,
                                                int32_t, int32_t*, AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Long,
                       generator, ret0,
                       [&](const Tensor& made) { return fill_integers_below(made, 0, high); });
}
AOTITorchError aoti_torch_cpu_randint_low(int64_t low, int64_t high, const int64_t* size,
                                          int64_t size_len_, int32_t* dtype, int32_t* layout,
                                          int32_t* device, int32_t, int32_t*,
                                          AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Long,
                       nullptr, ret0,
                       [&](const Tensor& made) { return fill_integers_below(made, low, high); });
}
AOTITorchError aoti_torch_cpu_randint_like(AtenTensorHandle self, int64_t high, int32_t* dtype,
                                           int32_t* layout, int32_t* device, int32_t, int32_t*,
                                           int32_t* memory_format, AtenTensorHandle* ret0) {
  return answer_random_like(__func__, self, {dtype, layout, device}, memory_format, nullptr, ret0,
                            [&](const Tensor& made) { return fill_integers_below(made, 0, high); });
}
AOTITorchError aoti_torch_cpu_randint_like_low_dtype(AtenTensorHandle self, int64_t low,
                                                     int64_t high, int32_t* dtype, int32_t* layout,
                                                     int32_t* device, int32_t, int32_t*,
                                                     int32_t* memory_format,
                                                     AtenTensorHandle* ret0) {
  return answer_random_like(
      __func__, self, {dtype, layout, device}, memory_format, nullptr, ret0,
      [&](const Tensor& made) { return fill_integers_below(made, low, high); });
}
/// Fills an existing Long tensor, in which Inductor keeps its seeds.
AOTITorchError aoti_torch_cpu_randint_low_out(AtenTensorHandle out, int64_t low, int64_t high,
                                              const int64_t* size, int64_t size_len_) {
  return aoti_on(__func__, out, [&](const Tensor& filled) {
    TENON_TRY(check_defined(filled, "the tensor"));
    Dims sizes;
    TENON_TRY(read_dims("sizes", size, size_len_, sizes));
    if (filled.sizes() != sizes) {
      return fail(Error::InvalidArgument, "out has sizes ", filled.sizes(), ", expected ", sizes);
    }
    return fill_integers_below(filled, low, high);
  });
}
AOTITorchError aoti_torch_cpu_randperm(int64_t n, int32_t* dtype, int32_t* layout, int32_t* device,
                                       int32_t, int32_t*, AtenTensorHandle* ret0) {
  const auto fill = [&](const Tensor& made) {
    const ScalarType type = made.scalar_type();
    TENON_TRY(check_random_type(type, !isComplexType(type) && type != ScalarType::Bool,
                                "a real type, not Bool"));
    const NumberFormat format = number_format(type);
    if (format.digits < 63 && n > (int64_t{1} << format.digits)) {
      return fail(Error::InvalidArgument, type, " cannot hold all integers below ", n);
    }
    std::vector<int64_t> order = random_permutation(n);
    TENON_ASSIGN(const TensorPtr numbers, try_from_blob(order.data(), {n}, ScalarType::Long));
    return copy_(made, *numbers, CastMode::Truncate);
  };
  return answer_random(__func__, &n, 1, {dtype, layout, device}, ScalarType::Long, nullptr, ret0,
                       fill);
}

/// The window is periodic.
AOTITorchError aoti_torch_cpu_hann_window(int64_t window_length, int32_t* dtype, int32_t* layout,
                                          int32_t* device, int32_t, int32_t*,
                                          AtenTensorHandle* ret0) {
  const auto fill = [&](const Tensor& made) {
    const ScalarType type = made.scalar_type();
    TENON_TRY(check_random_type(type, isFloatingType(type), "a floating type"));
    std::vector<double> values(static_cast<size_t>(window_length), 1);
    for (size_t i = 0; i < values.size() && window_length > 1; ++i) {
      const double turn = 2 * 3.14159265358979323846 * static_cast<double>(i);
      values[i] = 0.5 - 0.5 * std::cos(turn / static_cast<double>(window_length));
    }
    TENON_ASSIGN(const TensorPtr all,
                 try_from_blob(values.data(), {window_length}, ScalarType::Double));
    return copy_(made, *all);
  };
  return answer_random(__func__, &window_length, 1, {dtype, layout, device}, ScalarType::Float,
                       nullptr, ret0, fill);
}
/// Unlike torch's, the zeros are in memory.
AOTITorchError aoti_torch_cpu__efficientzerotensor(const int64_t* size, int64_t size_len_,
                                                   int32_t* dtype, int32_t* layout, int32_t* device,
                                                   int32_t, int32_t*, AtenTensorHandle* ret0) {
  return answer_random(__func__, size, size_len_, {dtype, layout, device}, ScalarType::Float,
                       nullptr, ret0, [](const Tensor& made) { return zero_(made); });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
