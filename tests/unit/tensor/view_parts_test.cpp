// SPDX-License-Identifier: MIT
// Views of some of the elements, or of all in another direction: select, slice, narrow, flip.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace view_parts_test {

using namespace tenon;
using namespace tests;

// A promise of docs/guarantees.md.
TEST_CASE("select: leaves out the dimension and takes what is at the index") {
  const Tensor t = counted({2, 3});
  check_tensor(tenon::select(t, 0, 1), {3}, {1}, {3, 4, 5});
  check_tensor(tenon::select(t, -1, -1), {2}, {3}, {2, 5});
  RAISES(OutOfBounds, "select: index 3 is out of range for dimension 1 of size 3",
         tenon::select(t, 1, 3));
  RAISES(OutOfBounds, "of size 0", tenon::select(counted({0, 2}), 0, 0));
}

TEST_CASE("slice: takes every step-th element from start up to end, and cuts off the rest") {
  const struct {
    int64_t start, end, step;
    Ints elements;
  } rows[] = {
      {8, INT64_MAX, 1, {8, 9}}, {INT64_MIN, INT64_MAX, 5, {0, 5}},
      {3, 10, INT64_MAX, {3}},   {INT64_MAX, INT64_MAX, 1, {}},
      {0, INT64_MIN, 1, {}},
  };
  const Tensor t = counted({10});
  for (const auto& row : rows) {
    CAPTURE(row.start, row.end, row.step);
    const Tensor view = slice(t, 0, row.start, row.end, row.step);
    CHECK(values<int32_t>(view) == row.elements);
    if (row.elements.empty()) CHECK(const_data_ptr(view) == const_data_ptr(t));
  }
  CHECK(values<int32_t>(slice(counted({2, 3}), 0, 1, 2, INT64_MAX)) == Ints{3, 4, 5});
  RAISES(InvalidArgument, "slice: step 0 is not positive; flip() reverses", slice(t, 0, 0, 10, 0));
  RAISES(InvalidArgument, "step -1", slice(t, 0, 9, 0, -1));
}

// A promise of docs/guarantees.md.
TEST_CASE("narrow: takes length elements from start, and refuses what is not there") {
  const Tensor t = counted({10});
  check_tensor(narrow(t, 0, 2, 3), {3}, {1}, {2, 3, 4});
  RAISES(OutOfBounds, "narrow: 3 elements from 8 are out of range for dimension 0 of size 10",
         narrow(t, 0, 8, 3));
  RAISES(OutOfBounds, "9223372036854775807 elements", narrow(t, 0, 1, INT64_MAX));
  RAISES(OutOfBounds, "from -9223372036854775808", narrow(t, 0, INT64_MIN, 1));
  RAISES(InvalidArgument, "length -1 is negative", narrow(t, 0, 1, -1));
}

TEST_CASE("flip: leaves dimensions of size 0 and 1 and rank 0, and takes none twice") {
  check_tensor(flip(counted({1, 2}), {0}), {1, 2}, {2, 1});
  check_tensor(flip(counted({0, 2}), {0, 1}), {0, 2}, {2, 1});
  check_tensor(flip(make_tensor(7), {0}), {}, {}, {7});
  RAISES(InvalidArgument, "flip: dimension -1 is twice in dims {1, -1}",
         flip(counted({2, 3}), {1, -1}));
  RAISES(InvalidArgument, "dimension 0 is twice", flip(make_tensor(7), {0, 0}));
  RAISES(InvalidArgument, "dims has more than 64", flip(counted({2, 3}), Vector(65, 0)));
}

}  // namespace view_parts_test
