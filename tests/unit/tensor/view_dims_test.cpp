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

TEST_CASE("view: its dim order is the tensor's for the same sizes, else what strides imply") {
  ATEN_LACKS(int32_t data[7] = {};
             CHECK(strides(view(from_blob(data + 6, {2, 3}, {-3, -1}), {2, 3})) == Vector{-3, -1});)
  const Tensor column = make_tensor({1, 3}, {0, 1, 2}, {1, 0});
  ATEN_LACKS(CHECK(dim_order(view(column, {1, 3})) == Vector{1, 0});)
  CHECK(dim_order(view(column, {3, 1})) == Vector{0, 1});
  const Tensor nothing = transpose(counted({2, 0}), 0, 1);
  ATEN_LACKS(CHECK(dim_order(nothing) == Vector{1, 0});)
  CHECK(dim_order(view(nothing, {0, 4})) == Vector{0, 1});
}

TEST_CASE("view: without elements it takes any sizes without elements, row-major") {
  const Tensor t = counted({2, 0, 3});
  CHECK(sizes(view(t, {0})) == Vector{0});
  CHECK(strides(view(t, {4, 0, 5})) == Vector{5, 5, 1});
  CHECK(sizes(view(t, {-1, 7})) == Vector{0, 7});
  RAISES(InvalidArgument, "any size for the -1 in sizes {0, -1}", view(t, {0, -1}));
  RAISES(InvalidArgument, "the tensor has 0", view(t, {1}));
  const Tensor strided = transpose(t, 0, 2);
  CHECK(strides(view(strided, {3, 0, 2})) == Vector{1, 3, 3});
  CHECK(strides(view(strided, {0, 2})) == Vector{2, 1});
}

TEST_CASE("flatten: joins dimensions that lie evenly, from start_dim on") {
  const Tensor turned = permute(counted({2, 3, 4}), {2, 0, 1});  // strides {1, 12, 4}
  CHECK(strides(flatten(turned, 1, 2)) == Vector{1, 4});
  RAISES(InvalidArgument, "flatten: start_dim 1 comes after end_dim 0", flatten(turned, 1, 0));
}

TEST_CASE("permute: puts the i-th of the dimensions given at i") {
  const Tensor t = counted({2, 3, 4});
  RAISES(InvalidArgument, "permute: dims {0} are not the 3 dimensions", permute(t, {0}));
  RAISES(InvalidArgument, "dims {0, 1, 2, 3}", permute(t, {0, 1, 2, 3}));
  RAISES(InvalidArgument, "dimension -3 is twice in dims {0, -3, 1}", permute(t, {0, -3, 1}));
  RAISES(OutOfBounds, "dimension 3 is out of range", permute(t, {0, 1, 3}));
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

TEST_CASE("diagonal: the elements at a distance from the main one, as the last dimension") {
  const Tensor t = counted({3, 4});
  check_tensor(diagonal(t), {3}, {5}, {0, 5, 10});
  check_tensor(diagonal(t, 1), {3}, {5}, {1, 6, 11});
  check_tensor(diagonal(t, 3), {1}, {5}, {3});
  check_tensor(*try_diagonal(t, -1), {2}, {5}, {4, 9});
  check_tensor(diagonal(t, 1, 1, 0), {2}, {5}, {4, 9});
  for (const int64_t far : {int64_t{4}, int64_t{-3}, INT64_MAX, INT64_MIN}) {
    CHECK(sizes(diagonal(t, far)) == Vector{0});
    CHECK(const_data_ptr(diagonal(t, far)) == const_data_ptr(t));
  }
  const Tensor cube = counted({2, 3, 2});
  check_tensor(diagonal(cube, 0, 0, 2), {3, 2}, {2, 7}, {0, 7, 2, 9, 4, 11});
  check_tensor(diagonal(cube, 1, -1, -2), {2, 2}, {6, 3}, {2, 5, 8, 11});
  CHECK(sizes(diagonal(counted({0, 3}))) == Vector{0});
  CHECK(sizes(diagonal(counted({2, 2, 0}))) == Vector{0, 2});
  ATEN_LACKS(check_tensor(diagonal(flip(t, {0})), {3}, {-3}, {8, 5, 2});)
  check_tensor(diagonal(expand(counted({1, 3}), {3, 3})), {3}, {1}, {0, 1, 2});
  int32_t data[3] = {1, 2, 3};
  check_tensor(diagonal(from_blob(data, {2, 2}, {1, 1})), {2}, {2}, {1, 3});
  RAISES(InvalidArgument, "diagonal: dim1 1 and dim2 -1 are one dimension, a diagonal has two",
         diagonal(t, 0, 1, -1));
  RAISES(OutOfBounds, "diagonal: dimension 1 is out of range for a tensor of 1 dimensions",
         diagonal(counted({3})));
  RETURNS(OutOfBounds, "try_diagonal: dimension 2", try_diagonal(t, 0, 0, 2).error());
  RAISES(OutOfBounds, "dimension 1 is out of range", diagonal(make_tensor(7)));
  CHECK(fill_(diagonal(t), 9) == Error::Ok);  // a view: what is written is in the tensor
  CHECK(values<int32_t>(t) == Ints{9, 1, 2, 3, 4, 9, 6, 7, 8, 9, 9, 11});
}

TEST_CASE("slice: `none` and what is left out are the first, and all to the end") {
  const Tensor t = counted({5});
  const auto elements = [](const Tensor& part) { return values<int32_t>(part); };
  CHECK(elements(slice(t, 0)) == Ints{0, 1, 2, 3, 4});
  CHECK(elements(slice(t, 0, 3)) == Ints{3, 4});
  CHECK(elements(slice(t, 0, -2)) == Ints{3, 4});
  CHECK(elements(slice(t, 0, none, 2)) == Ints{0, 1});
  CHECK(elements(slice(t, 0, none, none, 2)) == Ints{0, 2, 4});
  CHECK(elements(slice(t, 0, 1, none, 2)) == Ints{1, 3});
  CHECK(elements(*try_slice(t, 0, 4)) == Ints{4});
  CHECK(elements(slice(t, 0, 1, INT64_MAX, INT64_MAX)) == Ints{1});
}

TEST_CASE("unsqueeze: inserts a dimension of size 1 anywhere, with ATen's strides") {
  const Tensor t = counted({2, 3});
  check_tensor(unsqueeze(t, 1), {2, 1, 3}, {3, 3, 1}, {0, 1, 2, 3, 4, 5});
  check_tensor(unsqueeze(t, -1), {2, 3, 1}, {3, 1, 1});
  CHECK(sizes(unsqueeze(counted({0}), 1)) == Vector{0, 1});
  CHECK(dim_order(unsqueeze(transpose(t, 0, 1), 1)) == Vector{1, 2, 0});
  check_tensor(unsqueeze(counted({0, 4}), 0), {1, 0, 4}, {4, 4, 1});
  RAISES(OutOfBounds, "unsqueeze: dimension 3 is out of range for a view of 3 dimensions",
         unsqueeze(t, 3));
  RAISES(OutOfBounds, "dimension -4", unsqueeze(t, -4));
  const Tensor deepest = view(counted({1}), Vector(64, 1));
  RAISES(InvalidArgument, "unsqueeze: sizes has more than 64 entries", unsqueeze(deepest, 3));
}

TEST_CASE("view: dimensions out of range are refused, rank 0 passes for rank 1 in some") {
  const Tensor t = counted({2, 3});
  const Tensor scalar = make_tensor(7);
  const std::string two = ": dimension 2 is out of range for a tensor of 2 dimensions";
  RAISES(OutOfBounds, "flatten" + two, flatten(t, 2));
  RAISES(OutOfBounds, "transpose" + two, transpose(t, 0, 2));
  RAISES(OutOfBounds, "squeeze" + two, squeeze(t, 2));
  RAISES(OutOfBounds, "flip" + two, flip(t, {2}));
  RAISES(OutOfBounds, "select" + two, tenon::select(t, 2, 0));
  RAISES(OutOfBounds, "slice" + two, slice(t, 2, 0, 1));
  RAISES(OutOfBounds, "narrow" + two, narrow(t, 2, 0, 1));
  RAISES(OutOfBounds, "dimension -3", flatten(t, 0, -3));
  RAISES(OutOfBounds, "dimension -3", transpose(t, -3, 0));
  RAISES(OutOfBounds, "dimension -3", slice(t, -3, 0, 1));
  const std::string none_of = ": dimension 1 is out of range for a tensor of 0 dimensions";
  RAISES(OutOfBounds, "flatten" + none_of, flatten(scalar, 1));
  RAISES(OutOfBounds, "transpose" + none_of, transpose(scalar, 0, 1));
  RAISES(OutOfBounds, "squeeze" + none_of, squeeze(scalar, 1));
  RAISES(OutOfBounds, "a tensor of 0 dimensions", tenon::select(scalar, 0, 0));
  RAISES(OutOfBounds, "a tensor of 0 dimensions", slice(scalar, 0, 0, 1));
  RAISES(OutOfBounds, "a tensor of 0 dimensions", narrow(scalar, 0, 0, 1));
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
