// SPDX-License-Identifier: MIT
// ATen mode: the default generator of libtorch.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>
#include <mutex>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Seeds libtorch's default generator for the CPU, which all threads share.
/// Source: at::manual_seed, which seeds those of GPUs too.
inline void seed_aten(uint64_t seed) noexcept {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

/// 64 random bits of it.
inline uint64_t draw_from_aten() noexcept {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

}  // namespace detail
TENON_END_NAMESPACE
