// SPDX-License-Identifier: MIT
#include "tenon/tensor/fields.h"

#include "support/catch.h"

namespace fields_test {

using namespace tenon;
using tenon::detail::make_layout;

TEST_CASE("fields: the capacity is what lies from element 0 upward, at most one place an element") {
  const struct {
    Dims sizes, strides;
    int64_t capacity;
  } rows[] = {{{2, 3}, {}, 6},      {{2, 3}, {6, 1}, 6},  // gaps
              {{2, 3}, {0, 1}, 3},                        // two rows in one
              {{2, 3}, {-3, 1}, 3},                       // half of it below
              {{0, 3}, {}, 0},      {{}, {}, 1}};
  for (const auto& row : rows) {
    INFO("row " << &row - rows);
    detail::TensorFields fields;
    REQUIRE(make_layout(row.sizes, {}, row.strides, sizeof(float), fields.layout) == Error::Ok);
    fields.finalize(TensorShapeDynamism::DYNAMIC_BOUND);
    CHECK(fields.capacity == row.capacity);
    CHECK((fields.dynamism == TensorShapeDynamism::STATIC) == row.sizes.empty());
    CHECK(fields.has_data() == (fields.layout.numel == 0));
    CHECK(fields.nbytes() == static_cast<size_t>(fields.layout.numel) * 4);
  }
}

}  // namespace fields_test
