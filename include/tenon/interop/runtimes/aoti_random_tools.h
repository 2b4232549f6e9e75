// SPDX-License-Identifier: MIT
// What aoti_kernels_random.h and aoti_kernels_distributions.h share: torch's options of a new
// tensor, and random numbers.
//
// Numbers come from the calling thread's default_generator(), which manual_seed() seeds: rand,
// randn and randint give what tenon's functions of that name give. Models pass no generator: one
// is refused.
#pragma once

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

}  // namespace detail
TENON_END_NAMESPACE
