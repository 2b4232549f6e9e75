// SPDX-License-Identifier: MIT
// Views of some of the elements, or of all in another direction: select, slice, narrow, flip.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

Tensor two_by_three() { return make_tensor({2, 3}, {0, 1, 2, 3, 4, 5}); }
Tensor ten() { return make_tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}); }

// Of eight dimensions of size 2 the last at 1, the first at 1 and the second at 0.
Tensor part_of_eight() {
  Ints elements(256);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int32_t>(i);
  const Tensor t = make_tensor(Vector(8, 2), elements);
  return narrow(slice(tenon::select(t, 7, 1), 0, 1, 2), 1, 0, 1);
}

}  // namespace

TEST_CASE("select: leaves out the dimension and takes what is at the index") {
  const Tensor t = two_by_three();
  CHECK(values<int32_t>(tenon::select(t, 0, 1)) == Ints{3, 4, 5});
  CHECK(values<int32_t>(tenon::select(t, 1, 1)) == Ints{1, 4});
  CHECK(strides(tenon::select(t, 1, 1)) == Vector{3});
  CHECK(values<int32_t>(tenon::select(t, -1, -1)) == Ints{2, 5});
  CHECK(item<int32_t>(tenon::select(tenon::select(t, 0, 1), 0, 2)) == 5);
}

TEST_CASE("select: an index or a dimension out of range is refused") {
  const Tensor t = two_by_three();
  RAISES(OutOfBounds, "select: index 3 is out of range for dimension 1 of size 3",
         tenon::select(t, 1, 3));
  RAISES(OutOfBounds, "index -4", tenon::select(t, -1, -4));
  RAISES(OutOfBounds, "index -9223372036854775808", tenon::select(t, 0, INT64_MIN));
  RAISES(OutOfBounds, "dimension 2 is out of range for a tensor of 2 dimensions",
         tenon::select(t, 2, 0));
  RAISES(OutOfBounds, "a tensor of 0 dimensions", tenon::select(make_tensor(7), 0, 0));
  RAISES(OutOfBounds, "of size 0", tenon::select(make_tensor({0, 2}, Ints()), 0, 0));
}

TEST_CASE("select: keeps the dim order of the other dimensions, those of size 1 too", "[plain]") {
  const Tensor t = make_tensor({2, 1, 3}, {0, 1, 2, 3, 4, 5}, {2, 1, 0});
  CHECK(dim_order(tenon::select(t, 0, 1)) == Vector{1, 0});
}

TEST_CASE("slice: takes every step-th element from start up to end") {
  const Tensor t = ten();
  CHECK(values<int32_t>(slice(t, 0, 2, 5)) == Ints{2, 3, 4});
  CHECK(values<int32_t>(slice(t, 0, 1, 8, 3)) == Ints{1, 4, 7});
  CHECK(values<int32_t>(slice(t, 0, 1, 7, 3)) == Ints{1, 4});
  CHECK(strides(slice(t, 0, 1, 8, 3)) == Vector{3});
  CHECK(values<int32_t>(slice(t, 0, 0, 10, 9)) == Ints{0, 9});
  CHECK(values<int32_t>(slice(two_by_three(), 1, 0, 3, 2)) == Ints{0, 2, 3, 5});
  CHECK(values<int32_t>(slice(two_by_three(), -2, 1, 2)) == Ints{3, 4, 5});
}

TEST_CASE("slice: negative ends count from the end, and what is out of range is cut off") {
  const Tensor t = ten();
  CHECK(values<int32_t>(slice(t, 0, -3, -1)) == Ints{7, 8});
  CHECK(values<int32_t>(slice(t, 0, -100, 2)) == Ints{0, 1});
  CHECK(values<int32_t>(slice(t, 0, 8, INT64_MAX)) == Ints{8, 9});
  CHECK(values<int32_t>(slice(t, 0, INT64_MIN, INT64_MAX, 5)) == Ints{0, 5});
  for (const auto& [start, end] : {std::pair<int64_t, int64_t>{5, 5},
                                   {7, 3},
                                   {10, 20},
                                   {INT64_MAX, INT64_MAX},
                                   {0, -10},
                                   {0, INT64_MIN}}) {
    const Tensor nothing = slice(t, 0, start, end);
    CHECK(sizes(nothing) == Vector{0});
    CHECK(const_data_ptr(nothing) == const_data_ptr(t));
  }
}

TEST_CASE("slice: a step beyond the end leaves one element, however large it is") {
  const Tensor t = two_by_three();
  const Tensor view = slice(t, 0, 1, 2, INT64_MAX);
  CHECK(sizes(view) == Vector{1, 3});
  CHECK(values<int32_t>(view) == Ints{3, 4, 5});
  CHECK(values<int32_t>(slice(ten(), 0, 3, 10, INT64_MAX)) == Ints{3});
}

TEST_CASE("slice: a step of 0 or less is refused and says what reverses") {
  RAISES(InvalidArgument, "slice: step 0 is not positive; flip() reverses",
         slice(ten(), 0, 0, 10, 0));
  RAISES(InvalidArgument, "step -1", slice(ten(), 0, 9, 0, -1));
}

TEST_CASE("slice: a dimension out of range is refused, rank 0 has none") {
  RAISES(OutOfBounds, "slice: dimension 1 is out of range for a tensor of 1 dimensions",
         slice(ten(), 1, 0, 1));
  RAISES(OutOfBounds, "dimension -2", slice(ten(), -2, 0, 1));
  RAISES(OutOfBounds, "a tensor of 0 dimensions", slice(make_tensor(7), 0, 0, 1));
}

TEST_CASE("slice: keeps the dim order where a size becomes 1", "[plain]") {
  const Tensor t = make_tensor({2, 3}, {0, 1, 2, 3, 4, 5}, {1, 0});
  CHECK(dim_order(slice(t, 1, 0, 1)) == Vector{1, 0});
}

TEST_CASE("narrow: takes length elements from start") {
  const Tensor t = ten();
  CHECK(values<int32_t>(narrow(t, 0, 2, 3)) == Ints{2, 3, 4});
  CHECK(values<int32_t>(narrow(t, 0, -3, 3)) == Ints{7, 8, 9});
  CHECK(values<int32_t>(narrow(t, 0, 0, 10)) == values<int32_t>(t));
  CHECK(sizes(narrow(t, 0, 10, 0)) == Vector{0});
  CHECK(sizes(narrow(t, 0, 4, 0)) == Vector{0});
  CHECK(values<int32_t>(narrow(two_by_three(), -1, 1, 2)) == Ints{1, 2, 4, 5});
}

TEST_CASE("narrow: anything that is not there is refused") {
  const Tensor t = ten();
  RAISES(OutOfBounds, "narrow: 3 elements from 8 are out of range for dimension 0 of size 10",
         narrow(t, 0, 8, 3));
  RAISES(OutOfBounds, "0 elements from 11", narrow(t, 0, 11, 0));
  RAISES(OutOfBounds, "1 elements from -11", narrow(t, 0, -11, 1));
  RAISES(OutOfBounds, "9223372036854775807 elements", narrow(t, 0, 1, INT64_MAX));
  RAISES(OutOfBounds, "from -9223372036854775808", narrow(t, 0, INT64_MIN, 1));
  RAISES(InvalidArgument, "length -1 is negative", narrow(t, 0, 1, -1));
  RAISES(OutOfBounds, "dimension 1 is out of range", narrow(t, 1, 0, 1));
  RAISES(OutOfBounds, "a tensor of 0 dimensions", narrow(make_tensor(7), 0, 0, 1));
}

TEST_CASE("flip: reverses the given dimensions in place, by negative strides", "[plain]") {
  const Tensor t = two_by_three();
  const Tensor columns = flip(t, {1});
  CHECK(strides(columns) == Vector{3, -1});
  CHECK(const_data_ptr<int32_t>(columns) == const_data_ptr<int32_t>(t) + 2);
  CHECK(values<int32_t>(columns) == Ints{2, 1, 0, 5, 4, 3});
  CHECK(values<int32_t>(flip(t, {0})) == Ints{3, 4, 5, 0, 1, 2});
  CHECK(values<int32_t>(flip(t, {0, -1})) == Ints{5, 4, 3, 2, 1, 0});
}

TEST_CASE("flip: leaves dimensions of size 0 and 1 as they are, and rank 0 too") {
  CHECK(strides(flip(make_tensor({1, 2}, {1, 2}), {0})) == Vector{2, 1});
  CHECK(strides(flip(make_tensor({0, 2}, Ints()), {0, 1})) == Vector{2, 1});
  CHECK(item<int32_t>(flip(make_tensor(7), {0})) == 7);
}

TEST_CASE("flip: dimensions that are twice or out of range are refused") {
  const Tensor t = two_by_three();
  RAISES(InvalidArgument, "flip: dimension -1 is twice in dims {1, -1}", flip(t, {1, -1}));
  RAISES(InvalidArgument, "dimension 0 is twice", flip(make_tensor(7), {0, 0}));
  RAISES(OutOfBounds, "dimension 2 is out of range for a tensor of 2 dimensions", flip(t, {2}));
  RAISES(InvalidArgument, "dims has more than 64", flip(t, Vector(65, 0)));
}

TEST_CASE("parts: work with more dimensions than are held inline") {
  const Tensor view = part_of_eight();
  CHECK(sizes(view) == Vector{1, 1, 2, 2, 2, 2, 2});
  CHECK(view.dim() == 7);
  CHECK(values<int32_t>(view).front() == 128 + 1);
  CHECK(values<int32_t>(view).back() == 128 + 32 + 16 + 8 + 4 + 2 + 1);
}
