// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_names.h"

#include <cstdint>
#include <type_traits>

#include "support/catch.h"

TEST_CASE("executorch: its vocabulary is tenon's") {
  namespace aten = executorch::aten;
  namespace runtime = executorch::runtime;
  CHECK(std::is_same_v<aten::Tensor, tenon::Tensor>);
  CHECK(std::is_same_v<aten::SizesType, int64_t>);
  CHECK(aten::IntArrayRef().empty());
  CHECK(aten::elementSize(aten::ScalarType::Half) == 2);
  CHECK(aten::canCast(aten::ScalarType::Int, aten::ScalarType::Float));
  CHECK(runtime::CppTypeToScalarType<double>::value == aten::ScalarType::Double);
}

TEST_CASE("executorch: a Result gives what it has by get() too") {
  executorch::runtime::Result<int> five(5);
  CHECK(five.get() == 5);
  five.get() = 6;
  const auto& six = five;
  CHECK(six.get() == 6);
  CHECK(*six == 6);
  const executorch::runtime::Result<int> failed(executorch::runtime::Error::NotFound);
  CHECK(failed.error() == tenon::Error::NotFound);
}
