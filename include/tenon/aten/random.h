// SPDX-License-Identifier: MIT
// ATen mode: random numbers of libtorch's default generator.
#pragma once

#include <ATen/core/Tensor.h>

#include "tenon/aten/c10.h"
#include "tenon/core/generator.h"
#include "tenon/kernels/random_plan.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Calls at::rand_ etc. if ATen gives tenon's guarantees for this plan (values in bounds, integers
/// equally probable). `done` says whether it did.
inline Error fill_from_aten(const at::Tensor& tensor, const RandomPlan& plan, bool& done) noexcept {
  const bool is_float = plan.type == ScalarType::Float || plan.type == ScalarType::Double ||
                        plan.type == ScalarType::Half || plan.type == ScalarType::BFloat16;
  const bool is_standard = plan.offset == 0 && plan.scale == 1;
  // For larger ranges libtorch's modulo of 32 random bits is noticeably biased.
  constexpr uint64_t kMost = uint64_t{1} << 16;
  return call_libtorch([&]() -> Error {
    if (plan.distribution == Distribution::Uniform && is_float && is_standard) {
      tensor.uniform_(0, 1);
    } else if (plan.distribution == Distribution::Normal && is_float && is_standard) {
      tensor.normal_(0, 1);
    } else if (plan.distribution == Distribution::Integers && plan.type <= ScalarType::Long &&
               plan.range - 1 < kMost) {
      tensor.random_(plan.low, plan.low + static_cast<int64_t>(plan.range));
    } else {
      return Error::Ok;
    }
    done = true;
    return Error::Ok;
  });
}

/// Fills a tensor. The thread's default generator stands for libtorch's default generator: the
/// tensor gets its numbers or, if ATen has no equivalent, tenon's numbers from a seed drawn from
/// it.
template <class Arg>  // TensorArg: fill_random_fields() is defined later
Error fill_random_in_aten(const Arg& tensor, const RandomPlan& plan,
                          Generator& generator) noexcept {
  if (&generator != &default_generator()) {
    return fill_random_fields(fields(tensor), plan, generator);
  }
  if (fields(tensor).layout.numel == 0) return Error::Ok;  // no elements: draws no numbers
  bool done = false;
  const TensorFields& memory = fields(tensor);
  if (memory.data_backend == nullptr || memory.is_host_accessible()) {
    TENON_TRY(fill_from_aten(tensor.tensor(), plan, done));
  }
  if (done) return Error::Ok;
  Generator seeded(draw_from_aten());
  return fill_random_fields(fields(tensor), plan, seeded);
}

}  // namespace detail
TENON_END_NAMESPACE
