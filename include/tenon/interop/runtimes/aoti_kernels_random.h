// SPDX-License-Identifier: MIT
// Kernels that make tensors of random numbers: rand, randn, randint and randperm; hann_window and
// _efficientzerotensor, which take the same options.
//
// Numbers come from the calling thread's default_generator(), which manual_seed() seeds: rand,
// randn and randint give what tenon's functions of that name give. Models pass no generator: one
// is refused.
#pragma once

#include <cmath>
#include <numeric>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/tensor/random.h"

// As in torch/csrc/inductor/aoti_torch/c/macros.h.
extern "C" {
struct AtenGeneratorOpaque;
using AtenGeneratorHandle = AtenGeneratorOpaque*;
}

TENON_BEGIN_NAMESPACE
namespace detail {

/// Nothing makes such handles, so that one which is given cannot be tenon's.
inline Error check_generator(const AtenGeneratorHandle* generator) noexcept {
  if (generator == nullptr || *generator == nullptr) return Error::Ok;
  return fail(Error::NotSupported, "a generator; numbers come from tenon's default_generator()");
}

/// torch's TensorOptions, each null where it is not given.
struct AotiTensorOptions {
  const int32_t* dtype;
  const int32_t* layout;
  const int32_t* device;

  /// Errors: NotSupported.
  Error read(ScalarType by_default, ScalarType& type) const noexcept {
    if (layout != nullptr && *layout != 0) {
      return fail(Error::NotSupported, "torch's layout ", *layout, ", expected 0, strided");
    }
    if (device != nullptr && *device != 0) {
      return fail(Error::NotSupported, "torch's device type ", *device, ", expected 0, the CPU");
    }
    type = dtype == nullptr ? by_default : type_of_torch_number(*dtype);
    if (type != ScalarType::Undefined) return Error::Ok;
    return fail(Error::NotSupported, "torch's dtype ", *dtype, " is not one of tenon's");
  }
};

inline Error read_sizes(const int64_t* given, int64_t rank, Dims& sizes) noexcept {
  if (rank < 0 || (rank > 0 && given == nullptr)) {
    return fail(Error::InvalidArgument, "a shape of ", rank, " dimensions");
  }
  sizes = ArrayRef<int64_t>(given, static_cast<size_t>(rank));
  return check_dims("sizes", sizes);
}
/// A row-major tensor.
inline Error make_sized(const int64_t* sizes, int64_t rank, ScalarType type, Tensor& made) {
  AotiShape shape;
  TENON_TRY(read_sizes(sizes, rank, shape.sizes));
  shape.type = type;
  shape.strides = row_major_strides(shape.sizes);
  return aoti_empty(shape, made);
}
/// A tensor of the sizes of `self`, in its strides or in torch's memory format.
inline Error make_sized_like(const Tensor& self, ScalarType type, const int32_t* memory_format,
                             Tensor& made) {
  const Layout& like = fields(TensorArg(self)).layout;
  AotiShape shape;
  shape.sizes = like.sizes();
  shape.type = type;
  TENON_TRY(check_dims("sizes", shape.sizes));
  const size_t rank = like.rank();
  const int32_t format = memory_format == nullptr ? 1 : *memory_format;
  std::vector<size_t> order = iteration_order(shape.sizes, {});
  switch (format) {
    case 0: shape.strides = row_major_strides(shape.sizes); break;
    case 1: shape.strides = preserved_strides(like); break;
    case 2:
    case 3:
      if (rank != static_cast<size_t>(format) + 2) {
        return fail(Error::InvalidArgument, "channels last for a tensor of rank ", rank,
                    ", expected ", format + 2);
      }
      // The channels, dimension 1, go from the last place but one to the first.
      order.erase(order.end() - 2);
      order.insert(order.begin(), 1);
      shape.strides = strides_in_order(shape.sizes, order);
      break;
    default: return fail(Error::NotSupported, "torch's memory format ", format);
  }
  return aoti_empty(shape, made);
}

inline Error check_random_type(ScalarType type, bool is_expected, const char* expected) noexcept {
  if (is_expected) return Error::Ok;
  return fail(Error::InvalidType, "elements of type ", type, ", expected ", expected);
}
/// `high` may be `low`, which all elements are then.
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

/// rand, randn and randint of sizes: makes a tensor and calls fill(tensor).
template <class Fill>
AOTITorchError answer_random(const char* function, const int64_t* sizes, int64_t rank,
                             const AotiTensorOptions& options, ScalarType by_default,
                             const AtenGeneratorHandle* generator, AtenTensorHandle* ret,
                             const Fill& fill) noexcept {
  return aoti_answer(function, [&] {
    ScalarType type = ScalarType::Undefined;
    TENON_TRY(check_generator(generator));
    TENON_TRY(options.read(by_default, type));
    Tensor made;
    TENON_TRY(make_sized(sizes, rank, type, made));
    TENON_TRY(fill(made));
    return make_aoti_handle(made, *ret);
  });
}
/// The same of another tensor's sizes.
template <class Fill>
AOTITorchError answer_random_like(const char* function, AtenTensorHandle self,
                                  const AotiTensorOptions& options, const int32_t* memory_format,
                                  const AtenGeneratorHandle* generator, AtenTensorHandle* ret,
                                  const Fill& fill) noexcept {
  return aoti_on(function, self, [&](const Tensor& given) {
    TENON_TRY(check_defined(given, "the tensor"));
    ScalarType type = ScalarType::Undefined;
    TENON_TRY(check_generator(generator));
    TENON_TRY(options.read(given.scalar_type(), type));
    Tensor made;
    TENON_TRY(make_sized_like(given, type, memory_format, made));
    TENON_TRY(fill(made));
    return make_aoti_handle(made, *ret);
  });
}
/// The integers from 0 to n - 1 in random order, by Fisher's and Yates's shuffle: each order has
/// the same probability. The generator advances by n.
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

#pragma GCC visibility push(default)
extern "C" {

// The parameters without a name are torch's: a device's number, and pinned memory.
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
/// Inductor's seeds: a tensor of Long that is there already.
AOTITorchError aoti_torch_cpu_randint_low_out(AtenTensorHandle out, int64_t low, int64_t high,
                                              const int64_t* size, int64_t size_len_) {
  return aoti_on(__func__, out, [&](const Tensor& filled) {
    TENON_TRY(check_defined(filled, "the tensor"));
    Dims sizes;
    TENON_TRY(read_sizes(size, size_len_, sizes));
    if (filled.sizes() != sizes) {
      return fail(Error::InvalidArgument, "a tensor of sizes ", filled.sizes(), ", expected ",
                  sizes);
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
      return fail(Error::InvalidArgument, n, " numbers are not all of ", type);
    }
    std::vector<int64_t> order = random_permutation(n);
    TENON_ASSIGN(const TensorPtr numbers, try_from_blob(order.data(), {n}, ScalarType::Long));
    return copy_(made, *numbers, CastMode::Truncate);
  };
  return answer_random(__func__, &n, 1, {dtype, layout, device}, ScalarType::Long, nullptr, ret0,
                       fill);
}

/// A periodic window.
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
/// Zeros in memory: torch's has none.
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
