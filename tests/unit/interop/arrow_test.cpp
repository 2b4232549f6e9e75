// SPDX-License-Identifier: MIT
// Both directions. Built by interop/libraries/arrow/CMakeLists.txt.
#include "tenon/interop/arrow.h"

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace arrow_test {

using namespace tenon;
using namespace tests;

namespace {

TensorPtr round_trip(const Tensor& t, ArrowForm form,
                     ArrowPermutation meaning = ArrowPermutation::Unambiguous) {
  ArrowArray array;
  ArrowSchema schema;
  to_arrow(t, &array, &schema, form, meaning);
  return from_arrow(&array, &schema, meaning);
}

}  // namespace

TEST_CASE("arrow: every type") {
  for (const ScalarType type :
       {ScalarType::Byte, ScalarType::Char, ScalarType::UInt16, ScalarType::Short,
        ScalarType::UInt32, ScalarType::Int, ScalarType::UInt64, ScalarType::Long, ScalarType::Half,
        ScalarType::Float, ScalarType::Double}) {
    CHECK(round_trip(*zeros({2, 2}, type), ArrowForm::Tensors)->scalar_type() == type);
  }
}

TEST_CASE("arrow: 64 dimensions") {
  const TensorPtr deep = ones(Vector(64, 1), ScalarType::Float);
  CHECK(round_trip(*deep, ArrowForm::Lists)->dim() == 64);
  CHECK(round_trip(*deep, ArrowForm::Tensors)->dim() == 64);
}

TEST_CASE("arrow: two allocations to export and to import, and what happens without memory") {
  if (!heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  const TensorPtr t = zeros({2, 3, 4}, ScalarType::Float);
  const TensorPtr deep = zeros(Vector(9, 1), ScalarType::Float);
  const TensorPtr turned = make_tensor_ptr(permute(zeros({2, 3, 4, 5}), {0, 2, 3, 1}));
  for (const TensorPtr* source : {&t, &deep, &turned}) {
    for (int64_t n = 1;; ++n) {
      ArrowArray array{};
      ArrowSchema schema{};
      start_counting(n);
      const Error error = try_to_arrow(*source, &array, &schema);
      stop_counting();
      if (error == Error::Ok) {
        if (source == &t) CHECK(n == 3);
        array.release(&array);
        schema.release(&schema);
        break;
      }
      CHECK(error == Error::OutOfMemory);
      CHECK(live_blocks() == 0);
      CHECK(array.release == nullptr);
    }
    for (int64_t n = 1;; ++n) {
      ArrowArray array{};
      ArrowSchema schema{};
      to_arrow(*source, &array, &schema);
      start_counting(n);
      const Result<TensorPtr> made = try_from_arrow(&array, &schema);
      stop_counting();
      CHECK(array.release == nullptr);
      CHECK(schema.release == nullptr);
      if (made.ok()) {
        if (source == &t) CHECK(n == 3);
        break;
      }
      CHECK(made.error() == Error::OutOfMemory);
      CHECK_FALSE(detail::fields(*source).borrows.any());
    }
  }
}

}  // namespace arrow_test
