// SPDX-License-Identifier: MIT
// Views that keep all elements and change the dimensions: view, reshape, flatten, transpose,
// permute, movedim, squeeze, unsqueeze; and diagonal.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace view_dims_test {

using namespace tenon;
using namespace tests;

TEST_CASE("view: sizes that hold another number of elements are refused, with both") {
  const Tensor t = counted({2, 3, 4});
  const uint64_t n = 2;
  const struct {
    Dims sizes;
    const char* words;
  } rows[] = {
      {{4, 4}, "view: sizes {4, 4} hold 16 elements, the tensor has 24"},
      {{}, "sizes {} hold 1"},
      {{-1, 5}, "view: no size for the -1 in sizes {-1, 5} makes them hold the 24 elements"},
      {{0, -1}, "no size for the -1 in sizes {0, -1}"},
      {{-1, 2, -1}, "sizes {-1, 2, -1} have more than one"},
      {{-1, -2}, "size -2 of dimension 1 is negative"},
      {{int64_t{1} << 40, int64_t{1} << 40}, "overflow"},
      {Vector(65, 1), "sizes has more than 64"},
      {{n - 3, n}, "view: sizes has a value above int64_t's range"},
  };
  for (const auto& row : rows) RAISES(InvalidArgument, row.words, view(t, row.sizes));
  RAISES(InvalidArgument, "reshape: sizes {5} hold 5", reshape(t, {5}));
  RAISES(InvalidArgument, "expand: sizes has a value above int64_t's range", expand(t, {n, n - 3}));
  RAISES(InvalidArgument, "permute: dims has a value above int64_t's range",
         permute(t, {0, n - 3}));
}

// A promise of docs/guarantees.md.
TEST_CASE("view: sizes that would need a copy are refused, with the strides and the way out") {
  const Tensor t = transpose(counted({2, 3}), 0, 1);
  const std::string words =
      ": sizes {6} of a tensor of sizes {3, 2} and strides {1, 3} need a copy; reshape() makes "
      "one";
  RAISES(NotSupported, "view" + words, view(t, {6}));
  RAISES(NotSupported, "view" + words, view(t, {-1}));
  RETURNS(NotSupported, "try_view" + words, try_view(t, {6}).error());
  RAISES(NotSupported, "need a copy", view(t, {2, 3}));
}

TEST_CASE("permute: puts the i-th of the dimensions given at i") {
  const Tensor t = counted({2, 3, 4});
  RAISES(InvalidArgument, "permute: dims {0} is not a permutation of the 3 dimensions",
         permute(t, {0}));
  RAISES(InvalidArgument, "dimension -3 is twice in dims {0, -3, 1}", permute(t, {0, -3, 1}));
  RAISES(InvalidArgument, "dims has more than 64", permute(t, Vector(65, 0)));
}

TEST_CASE("movedim: dimensions go where they are to, the others keep their order") {
  const Tensor t = counted({2, 3, 4});
  check_tensor(movedim(t, 0, 2), {3, 4, 2}, {4, 1, 12});
  check_tensor(movedim(t, -1, 0), {4, 2, 3}, {1, 12, 4});
  check_tensor(movedim(t, {0, 1}, {2, 0}), {3, 4, 2}, {4, 1, 12});
  check_tensor(*try_movedim(t, {2, 0}, {1, -1}), {3, 4, 2}, {4, 1, 12});
  check_tensor(movedim(t, {}, {}), {2, 3, 4}, {12, 4, 1});
  CHECK(sizes(movedim(make_tensor(7), 0, -1)).empty());
  CHECK(dim_order(movedim(t, 0, 2)) == Vector{2, 0, 1});
  RAISES(InvalidArgument, "movedim: source {0, 1} and destination {0} differ in length",
         movedim(t, {0, 1}, {0}));
  RAISES(InvalidArgument, "movedim: dimension -3 is twice in source {0, -3}",
         movedim(t, {0, -3}, {0, 1}));
  RAISES(InvalidArgument, "movedim: dimension 1 is twice in destination {1, 1}",
         movedim(t, {0, 2}, {1, 1}));
  RAISES(OutOfBounds, "movedim: dimension 3 is out of range for a tensor of 3", movedim(t, 3, 0));
  RETURNS(OutOfBounds, "try_movedim: dimension -4", try_movedim(t, 0, -4).error());
  RAISES(InvalidArgument, "source has more than 64", movedim(t, Vector(65, 0), {0}));
  RAISES(InvalidArgument, "destination has more than 64", movedim(t, {0}, Vector(65, 0)));
  const Tensor deepest = view(counted({2}), [] {
    Vector shape(64, 1);
    shape.back() = 2;
    return shape;
  }());
  CHECK(movedim(deepest, 63, 0).size(0) == 2);
}

TEST_CASE("transpose: without dimensions of a matrix; less than one stays, more is refused") {
  check_tensor(transpose(counted({2, 3})), {3, 2}, {1, 3}, {0, 3, 1, 4, 2, 5});
  check_tensor(*try_transpose(counted({3})), {3}, {1}, {0, 1, 2});
  CHECK(transpose(make_tensor(7)).dim() == 0);
  RAISES(InvalidArgument,
         "transpose: the tensor has 3 dimensions; two have to be named: transpose(t, dim0, dim1)",
         transpose(counted({1, 2, 3})));
}

TEST_CASE("view: dimensions out of range are refused, rank 0 passes for rank 1 in some") {
  const Tensor t = counted({2, 3});
  const Tensor scalar = make_tensor(7);
  const std::string two = ": dimension 2 is out of range for a tensor of 2 dimensions";
  RAISES(OutOfBounds, "flatten" + two, flatten(t, 2));
  RAISES(OutOfBounds, "transpose" + two, transpose(t, 0, 2));
  RAISES(InvalidArgument, "flatten: start_dim 1 comes after end_dim 0", flatten(t, 1, 0));
  RAISES(InvalidArgument,
         "diagonal: dim1 1 and dim2 -1 are the same dimension; a diagonal needs two",
         diagonal(t, 0, 1, -1));
  RAISES(OutOfBounds, "squeeze" + two, squeeze(t, 2));
  RAISES(OutOfBounds, "flip" + two, flip(t, {2}));
  RAISES(OutOfBounds, "select" + two, tenon::select(t, 2, 0));
  RAISES(OutOfBounds, "slice" + two, slice(t, 2, 0, 1));
  RAISES(OutOfBounds, "narrow" + two, narrow(t, 2, 0, 1));
  const std::string none_of = ": dimension 1 is out of range for a tensor of 0 dimensions";
  RAISES(OutOfBounds, "flatten" + none_of, flatten(scalar, 1));
  RAISES(OutOfBounds, "transpose" + none_of, transpose(scalar, 0, 1));
  RAISES(OutOfBounds, "squeeze" + none_of, squeeze(scalar, 1));
}

TEST_CASE("view: the dim order follows dimensions that leave, enter and move") {
  // One pixel of three channels, stored as channels-last images are.
  const Tensor pixel = permute(make_tensor({1, 3, 1, 1}, {1, 2, 3}, {0, 2, 3, 1}), {0, 2, 3, 1});
  CHECK(sizes(pixel) == Vector{1, 1, 1, 3});
  CHECK(dim_order(pixel) == Vector{0, 1, 2, 3});
  ATEN_LACKS(CHECK(dim_order(permute(pixel, {0, 3, 1, 2})) == Vector{0, 2, 3, 1});)
  const Tensor t = make_tensor({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5}, {2, 3, 0, 1});
  CHECK(strides(as_strided(t, {3, 2}, Strides{2, 1})) == Vector{2, 1});
#if !TENON_ATEN_MODE  // where a dimension of size 1 has no place in the order
  CHECK(strides(permute(t, tenon::dim_order(t))) == Vector{2, 2, 1, 1});
  CHECK(dim_order(squeeze(t, 1)) == Vector{1, 2, 0});
  CHECK(dim_order(tenon::select(t, 0, 1)) == Vector{1, 2, 0});
  CHECK(dim_order(unsqueeze(t, 1)) == Vector{1, 3, 4, 0, 2});
  CHECK(dim_order(unsqueeze(t, -1)) == Vector{2, 3, 0, 1, 4});
  CHECK(dim_order(transpose(t, 0, 3)) == Vector{2, 0, 3, 1});
  CHECK(dim_order(slice(make_tensor({2, 3}, {0, 1, 2, 3, 4, 5}, {1, 0}), 1, 0, 1)) == Vector{1, 0});
#endif
}

}  // namespace view_dims_test
