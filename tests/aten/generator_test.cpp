// SPDX-License-Identifier: MIT
#include "tenon/aten/generator.h"

#include <ATen/ops/rand.h>
#include <thread>

#include "support/catch.h"
#include "tenon/tenon.h"

using tenon::detail::draw_from_aten;
using tenon::detail::seed_aten;

TEST_CASE("ATen generator: seed_aten starts libtorch's default sequence") {
  seed_aten(7);
  CHECK(at::detail::getDefaultCPUGenerator().current_seed() == 7);
  const at::Tensor first = at::rand({20});
  const at::Tensor second = at::rand({20});
  CHECK_FALSE(first.equal(second));
  seed_aten(7);
  CHECK(first.equal(at::rand({20})));
  CHECK(second.equal(at::rand({20})));
}

TEST_CASE("ATen generator: manual_seed seeds libtorch's default one and the thread's own") {
  tenon::manual_seed(11);
  CHECK(at::detail::getDefaultCPUGenerator().current_seed() == 11);
  CHECK(tenon::default_generator().seed() == 11);
  CHECK(tenon::default_generator().offset() == 0);
  tenon::manual_seed(UINT64_MAX);
  CHECK(at::detail::getDefaultCPUGenerator().current_seed() == UINT64_MAX);
}

TEST_CASE("ATen generator: draws come from libtorch's sequence and move it on") {
  seed_aten(7);
  const uint64_t first = draw_from_aten();
  const uint64_t second = draw_from_aten();
  CHECK(first != second);
  const at::Tensor after = at::rand({20});
  seed_aten(7);
  CHECK(draw_from_aten() == first);
  CHECK_FALSE(at::rand({20}).equal(after));
  seed_aten(7);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  CHECK(at::check_generator<at::CPUGeneratorImpl>(generator)->random64() == first);
}

TEST_CASE("ATen generator: all threads share it") {
  seed_aten(7);
  const uint64_t first = draw_from_aten();
  const uint64_t second = draw_from_aten();
  seed_aten(7);
  uint64_t of_thread = 0;
  std::thread([&] { of_thread = draw_from_aten(); }).join();
  CHECK(of_thread == first);
  CHECK(draw_from_aten() == second);
}
