// SPDX-License-Identifier: MIT
#include "tenon/tensor/copy_plan.h"

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace copy_plan_test {

using namespace tenon;
using namespace tests;

namespace {

std::string plan_text(const Tensor& dst, const Tensor& src) {
  return to_string(plan_copy(dst, src));
}

}  // namespace

TEST_CASE("plan_copy: its text") {
  const Tensor dst = *zeros({32, 64});
  const Tensor shorts = *zeros({32, 64}, ScalarType::Short);
  const Tensor square = *zeros({4, 4}, ScalarType::Int);
  const Tensor bytes = slice(view_as_type(square, ScalarType::Byte), 1, 0, 4);
  const struct {
    Tensor dst, src;
    const char* expected;
  } cases[] = {
      {dst, *ones({32, 64}), "memcpy {2048} of 4 bytes, Float, 8192 bytes in all"},
      {dst, slice(zeros({32, 70}), 1, 3, 67), "rows {32, 64} of 4 bytes, Float, 8192 bytes in all"},
      {dst, transpose(zeros({64, 32}), 0, 1),
       "transpose {32, 64} of 4 bytes, Float, 8192 bytes in all"},
      {dst, slice(ones({32, 130}), 1, 0, 128, 2),
       "general {32, 64} of 4 bytes, Float, 8192 bytes in all"},
      {dst, *zeros({32, 64}, ScalarType::Half),
       "cast {2048} of 4 bytes, Half to Float, 8192 bytes in all"},
      {dst, *zeros({64}, ScalarType::Byte),
       "cast {32, 64} of 4 bytes, Byte to Float, 8192 bytes in all"},
      {shorts, *zeros({64}, ScalarType::Short),
       "rows {32, 64} of 2 bytes, Short, 4096 bytes in all"},
      {dst, dst, "alias {2048} of 4 bytes, Float, 8192 bytes in all"},
      {*zeros({0, 3}), *zeros({3}), "alias {} of 0 bytes, Float, 0 bytes in all"},
      {make_tensor(1), make_tensor(2), "memcpy {} of 4 bytes, Int, 4 bytes in all"},
      {square, transpose(square, 0, 1),
       "staged {4, 4} of 4 bytes, Int, 64 bytes in all, by way of a temporary of 64"},
      // A broadcast source is staged as it is, and in its own type.
      {square, tenon::select(square, 0, 1),
       "staged {4} of 16 bytes, Int, 64 bytes in all, by way of a temporary of 16"},
      {square, bytes,
       "staged {4, 4} of 4 bytes, Byte to Int, 64 bytes in all, by way of a temporary of 16"},
  };
  for (const auto& c : cases) CHECK(plan_text(c.dst, c.src) == c.expected);
  CHECK(to_string(CopyPlan()) == "alias {} of 0 bytes, Undefined, 0 bytes in all");
  ATEN_LACKS(CHECK(plan_text(dst, flip(ones({32, 64}), {1})) ==
                   "general {32, 64} of 4 bytes, Float, 8192 bytes in all");)
}

}  // namespace copy_plan_test
