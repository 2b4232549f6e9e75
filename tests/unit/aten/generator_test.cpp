// SPDX-License-Identifier: MIT
#include "tenon/aten/types.h"

#include <ATen/ops/rand.h>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace generator_test {

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

}  // namespace generator_test
