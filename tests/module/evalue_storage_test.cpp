// SPDX-License-Identifier: MIT
#include "tenon/module/evalue_storage.h"

#include <type_traits>
#include <utility>

#include "support/catch.h"
#include "tenon/module/evalue.h"
#include "tenon/tensor/tensor_ptr_maker.h"

using namespace tenon;

TEST_CASE("ValueStorage: it is as large as a tensor's handle and a word") {
  STATIC_REQUIRE(sizeof(EValue) == (sizeof(Tensor) < 8 ? 8 : sizeof(Tensor)) + 8);
  STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<EValue>);
  STATIC_REQUIRE(std::is_nothrow_default_constructible_v<EValue>);
}

TEST_CASE("ValueStorage: what was there goes only after the new value is there") {
  // A deleter that looks at the EValue while it is being assigned to.
  float data[1] = {1};
  EValue value;
  bool was_int = false;
  value = tenon::from_blob(data, {1}, tenon::ScalarType::Float,
                           [&](void*) { was_int = value.isInt(); });
  const EValue five(5);
  value = five;
  CHECK(was_int);
  was_int = false;
  value = tenon::from_blob(data, {1}, tenon::ScalarType::Float,
                           [&](void*) { was_int = value.isInt(); });
  value = EValue(6);
  CHECK(was_int);
}
