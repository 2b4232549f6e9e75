// SPDX-License-Identifier: MIT
// plan_copy and the text of its answers. What it refuses is in copy_errors_test.cpp.
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;

namespace {

std::string text(const Tensor& dst, const Tensor& src, CastMode mode = CastMode::Checked) {
  return to_string(plan_copy(dst, src, mode));
}

}  // namespace

TEST_CASE("plan_copy: says what copy_ will do, and does nothing") {
  auto dst = zeros({4, 6});
  auto src = tenon::ones({4, 6});
  const CopyPlan plan = plan_copy(dst, src);
  CHECK(plan.kind == CopyKind::Memcpy);
  CHECK(plan.dst_type == ScalarType::Float);
  CHECK(plan.src_type == ScalarType::Float);
  CHECK(plan.unit == 4);
  CHECK(plan.nbytes == 96);
  CHECK(plan.temporary_nbytes == 0);
  CHECK(plan.dst == tenon::const_data_ptr(dst));
  CHECK(plan.src == tenon::const_data_ptr(src));
  CHECK(plan.rank == 1);
  CHECK(plan.dims[0].size == 24);
  CHECK(tests::values<float>(dst) == std::vector<float>(24, 0.0f));
}

TEST_CASE("plan_copy: one block, rows, a transposed plane, single elements, a conversion") {
  auto dst = zeros({32, 64});
  auto square = zeros({64, 32});
  CHECK(text(*dst, *tenon::ones({32, 64})) == "memcpy {2048} of 4 bytes, Float, 8192 bytes in all");
  CHECK(text(*dst, tenon::slice(zeros({32, 70}), 1, 3, 67)) ==
        "rows {32, 64} of 4 bytes, Float, 8192 bytes in all");
  CHECK(text(*dst, tenon::transpose(square, 0, 1)) ==
        "transpose {32, 64} of 4 bytes, Float, 8192 bytes in all");
  CHECK(text(*dst, tenon::slice(tenon::ones({32, 130}), 1, 0, 128, 2)) ==
        "general {32, 64} of 4 bytes, Float, 8192 bytes in all");
  CHECK(text(*dst, *zeros({32, 64}, ScalarType::Half)) ==
        "cast {2048} of 4 bytes, Half to Float, 8192 bytes in all");
  CHECK(text(*dst, *zeros({64}, ScalarType::Byte)) ==
        "cast {32, 64} of 4 bytes, Byte to Float, 8192 bytes in all");
}

TEST_CASE("plan_copy: reversed rows are copied by single elements", "[plain]") {
  CHECK(text(*zeros({32, 64}), tenon::flip(tenon::ones({32, 64}), {1})) ==
        "general {32, 64} of 4 bytes, Float, 8192 bytes in all");
}

TEST_CASE("plan_copy: a broadcast row is copied to every row as one block") {
  auto dst = zeros({32, 64}, ScalarType::Short);
  CHECK(text(*dst, *zeros({64}, ScalarType::Short)) ==
        "rows {32, 64} of 2 bytes, Short, 4096 bytes in all");
}

TEST_CASE("plan_copy: the same elements, and none, are nothing to do") {
  auto t = zeros({2, 3});
  CHECK(plan_copy(t, t).kind == CopyKind::Alias);
  CHECK(text(*t, *t) == "alias {6} of 4 bytes, Float, 24 bytes in all");
  CHECK(text(*zeros({0, 3}), *zeros({3})) == "alias {} of 0 bytes, Float, 0 bytes in all");
}

TEST_CASE("plan_copy: a scalar has no dimensions left") {
  CHECK(text(tenon::make_tensor(1), tenon::make_tensor(2)) ==
        "memcpy {} of 4 bytes, Int, 4 bytes in all");
}

TEST_CASE("plan_copy: an overlap that needs a temporary is staged, with the source's bytes") {
  auto t = zeros({4, 4}, ScalarType::Int);
  const CopyPlan plan = plan_copy(t, tenon::transpose(t, 0, 1));
  CHECK(plan.kind == CopyKind::Staged);
  CHECK(plan.temporary_nbytes == 64);
  CHECK(to_string(plan) ==
        "staged {4, 4} of 4 bytes, Int, 64 bytes in all, by way of a temporary of 64");
  // A broadcast source is staged as it is, and in its own type.
  CHECK(plan_copy(t, tenon::select(t, 0, 1)).temporary_nbytes == 16);
  auto bytes = tenon::slice(tenon::view_as_type(t, ScalarType::Byte), 1, 0, 4);
  CHECK(text(*t, bytes) ==
        "staged {4, 4} of 4 bytes, Byte to Int, 64 bytes in all, by way of a temporary of 16");
}

TEST_CASE("plan_copy: keeps the mode") {
  auto bytes = zeros({4}, ScalarType::Byte);
  CHECK(plan_copy(bytes, zeros({4}), CastMode::Saturate).mode == CastMode::Saturate);
}

TEST_CASE("to_string: of a plan of no copy at all") {
  CHECK(to_string(CopyPlan()) == "alias {} of 0 bytes, Undefined, 0 bytes in all");
}
