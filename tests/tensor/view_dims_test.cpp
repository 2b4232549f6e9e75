// SPDX-License-Identifier: MIT
// Views that keep all elements and change the dimensions: view, reshape, flatten, transpose,
// permute, squeeze, unsqueeze.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

// 0, 1, 2, … in row-major order.
Tensor counted(const Vector& shape) {
  int64_t numel = 1;
  for (int64_t size : shape) numel *= size;
  Ints elements(static_cast<size_t>(numel));
  std::iota(elements.begin(), elements.end(), 0);
  return make_tensor(shape, elements);
}

}  // namespace

TEST_CASE("view: of a contiguous tensor takes any sizes with as many elements") {
  const Tensor t = counted({2, 3, 4});
  for (const Vector& shape : {Vector{24}, Vector{6, 4}, Vector{2, 12}, Vector{4, 6}, Vector{1, 24},
                              Vector{24, 1}, Vector{2, 1, 3, 1, 4}, Vector{2, 2, 2, 3}}) {
    const Tensor view = tenon::view(t, shape);
    CHECK(sizes(view) == shape);
    CHECK(view.is_contiguous());
    CHECK(values<int32_t>(view) == values<int32_t>(t));
    CHECK(const_data_ptr(view) == const_data_ptr(t));
  }
  CHECK(strides(view(t, {2, 1, 3, 1, 4})) == Vector{12, 12, 4, 4, 1});
}

TEST_CASE("view: one size of -1 is what is left") {
  const Tensor t = counted({2, 3, 4});
  CHECK(sizes(view(t, {-1})) == Vector{24});
  CHECK(sizes(view(t, {6, -1})) == Vector{6, 4});
  CHECK(sizes(reshape(t, {-1, 8})) == Vector{3, 8});
  CHECK(sizes(view(t, {2, -1, 12})) == Vector{2, 1, 12});
  RAISES(InvalidArgument,
         "view: no size for the -1 in sizes {-1, 5} makes them hold the 24 elements",
         view(t, {-1, 5}));
  RAISES(InvalidArgument, "no size for the -1 in sizes {0, -1}", view(t, {0, -1}));
  RAISES(InvalidArgument, "sizes {-1, -1} have more than one", view(t, {-1, -1}));
  RAISES(InvalidArgument, "size -2 of dimension 1 is negative", view(t, {-1, -2}));
}

TEST_CASE("view: an unsigned size that wrapped below 0 is refused, not inferred") {
  const Tensor t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const size_t n = 2;
  RAISES(InvalidArgument, "view: sizes has an unsigned value above int64_t's largest",
         view(t, {n - 3, n}));
  CHECK(sizes(view(t, {-1, n})) == Vector{3, 2});
  RAISES(InvalidArgument, "expand: sizes has an unsigned value", expand(t, {n, n - 3}));
  RAISES(InvalidArgument, "permute: dims has an unsigned value", permute(t, {0, n - 3}));
}

TEST_CASE("view: another element count is refused, with both counts") {
  const Tensor t = counted({2, 3});
  RAISES(InvalidArgument, "view: sizes {4, 4} hold 16 elements, the tensor has 6", view(t, {4, 4}));
  RAISES(InvalidArgument, "reshape: sizes {5} hold 5", reshape(t, {5}));
  RAISES(InvalidArgument, "sizes {} hold 1", view(t, {}));
  RAISES(InvalidArgument, "overflow", view(t, {int64_t{1} << 40, int64_t{1} << 40}));
  RAISES(InvalidArgument, "sizes has more than 64", view(t, Vector(65, 1)));
}

TEST_CASE("view: sizes that would need a copy are refused, with the strides and the way out") {
  const Tensor t = transpose(counted({2, 3}), 0, 1);
  const char* const words =
      "sizes {6} of a tensor of sizes {3, 2} and strides {1, 3} need a copy; contiguous() makes "
      "one";
  RAISES(NotSupported, words, view(t, {6}));
  RAISES(NotSupported, "view: ", view(t, {6}));
  RAISES(NotSupported, words, reshape(t, {-1}));
  RAISES(NotSupported, "reshape: ", reshape(t, {6}));
  RAISES(NotSupported, words, flatten(t));
  RAISES(NotSupported, "flatten: ", flatten(t));
  RAISES(NotSupported, "need a copy", view(t, {2, 3}));
}

TEST_CASE("view: of a strided tensor joins and divides what lies evenly") {
  const Tensor t = counted({4, 6});
  const Tensor columns = slice(t, 1, 0, 6, 2);  // {4, 3}, strides {6, 2}: one run of 12
  CHECK(strides(view(columns, {12})) == Vector{2});
  CHECK(values<int32_t>(view(columns, {2, 6})) == Ints{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22});
  const Tensor left = slice(t, 1, 0, 4);  // {4, 4}, strides {6, 1}: two runs
  CHECK(strides(view(left, {2, 2, 2, 2})) == Vector{12, 6, 2, 1});
  CHECK(strides(view(left, {4, 1, 4})) == Vector{6, 4, 1});
  RAISES(NotSupported, "strides {6, 1}", view(left, {16}));
  RAISES(NotSupported, "strides {6, 1}", view(left, {2, 8}));
  RAISES(NotSupported, "strides {6, 1}", view(left, {8, 1, 2}));
}

TEST_CASE("view: the tensor's own sizes keep its strides and dim order") {
  int32_t data[12] = {};
  const auto t = from_blob(data, {2, 3}, {1, 5});
  CHECK(strides(view(t, {2, 3})) == Vector{1, 5});
  CHECK(dim_order(view(t, {2, 3})) == Vector{1, 0});
}

TEST_CASE("view: the tensor's own sizes keep its strides and dim order, whatever they are",
          "[plain]") {
  int32_t data[7] = {};
  const auto t = from_blob(data + 6, {2, 3}, {-3, -1});
  CHECK(strides(view(t, {2, 3})) == Vector{-3, -1});
  const Tensor ordered = make_tensor({2, 1}, {1, 2}, {1, 0});
  CHECK(strides(view(ordered, {2, 1})) == Vector{1, 2});
  CHECK(dim_order(view(ordered, {2, 1})) == Vector{1, 0});
}

TEST_CASE("view: other sizes have the dim order that their strides imply, not the tensor's",
          "[plain]") {
  const Tensor column = make_tensor({1, 3}, {0, 1, 2}, {1, 0});
  REQUIRE(dim_order(column) == Vector{1, 0});
  CHECK(dim_order(view(column, {3, 1})) == Vector{0, 1});
  const Tensor nothing = transpose(counted({2, 0}), 0, 1);
  REQUIRE(dim_order(nothing) == Vector{1, 0});
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

TEST_CASE("view: rank 0 becomes any rank of ones, and back") {
  const Tensor scalar = make_tensor(7);
  CHECK(sizes(view(scalar, {1, 1})) == Vector{1, 1});
  CHECK(sizes(view(scalar, {-1})) == Vector{1});
  CHECK(sizes(view(counted({1, 1}), {})) == Vector{});
  CHECK(item<int32_t>(view(counted({1, 1}), {})) == 0);
}

TEST_CASE("view: works with more dimensions than are held inline") {
  const Tensor t = counted({2, 3, 4});
  const Tensor view = tenon::view(t, {1, 2, 1, 3, 1, 2, 2, 1});
  CHECK(values<int32_t>(view) == values<int32_t>(t));
  CHECK(values<int32_t>(flatten(view)) == values<int32_t>(t));
}

TEST_CASE("flatten: joins the dimensions from start_dim to end_dim") {
  const Tensor t = counted({2, 3, 4, 5});
  CHECK(sizes(flatten(t)) == Vector{120});
  CHECK(sizes(flatten(t, 1)) == Vector{2, 60});
  CHECK(sizes(flatten(t, 1, 2)) == Vector{2, 12, 5});
  CHECK(sizes(flatten(t, -4, -3)) == Vector{6, 4, 5});
  CHECK(sizes(flatten(t, 2, 2)) == Vector{2, 3, 4, 5});
  CHECK(values<int32_t>(flatten(t, 1, 2)) == values<int32_t>(t));
}

TEST_CASE("flatten: rank 0 becomes rank 1, and zero sizes stay zero") {
  CHECK(sizes(flatten(make_tensor(7))) == Vector{1});
  CHECK(sizes(flatten(make_tensor(7), 0, 0)) == Vector{1});
  CHECK(sizes(flatten(counted({2, 0, 3}))) == Vector{0});
  CHECK(sizes(flatten(counted({2, 0, 3}), 0, 1)) == Vector{0, 3});
}

TEST_CASE("flatten: needs no more than the joined dimensions to lie evenly") {
  const Tensor t = permute(counted({2, 3, 4}), {2, 0, 1});  // strides {1, 12, 4}
  CHECK(strides(flatten(t, 1, 2)) == Vector{1, 4});
  RAISES(NotSupported, "strides {1, 12, 4}", flatten(t, 0, 1));
}

TEST_CASE("flatten: a range in the wrong order and dimensions out of range are refused") {
  const Tensor t = counted({2, 3});
  RAISES(InvalidArgument, "flatten: start_dim 1 comes after end_dim 0", flatten(t, 1, 0));
  RAISES(OutOfBounds, "dimension 2 is out of range for a tensor of 2 dimensions", flatten(t, 2));
  RAISES(OutOfBounds, "dimension -3", flatten(t, 0, -3));
  RAISES(OutOfBounds, "dimension 1 is out of range for a tensor of 0 dimensions",
         flatten(make_tensor(7), 1));
}

TEST_CASE("transpose: exchanges two dimensions, negative ones from the end") {
  const Tensor t = counted({2, 3});
  const Tensor view = transpose(t, 0, 1);
  CHECK(sizes(view) == Vector{3, 2});
  CHECK(strides(view) == Vector{1, 3});
  CHECK(dim_order(view) == Vector{1, 0});
  CHECK(values<int32_t>(view) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(values<int32_t>(transpose(t, -1, -2)) == values<int32_t>(view));
  CHECK(values<int32_t>(transpose(t, 1, -1)) == values<int32_t>(t));
  CHECK(transpose(view, 0, 1).is_contiguous());
}

TEST_CASE("transpose: dimensions out of range are refused, rank 0 passes for rank 1") {
  const Tensor t = counted({2, 3});
  RAISES(OutOfBounds, "transpose: dimension 2 is out of range for a tensor of 2 dimensions",
         transpose(t, 0, 2));
  RAISES(OutOfBounds, "dimension -3", transpose(t, -3, 0));
  CHECK(sizes(transpose(make_tensor(7), 0, -1)) == Vector{});
  RAISES(OutOfBounds, "a tensor of 0 dimensions", transpose(make_tensor(7), 0, 1));
}

TEST_CASE("permute: puts the i-th of the dimensions given at i") {
  const Tensor t = counted({2, 3, 4});
  const Tensor view = permute(t, {2, 0, 1});
  CHECK(sizes(view) == Vector{4, 2, 3});
  CHECK(strides(view) == Vector{1, 12, 4});
  CHECK(dim_order(view) == Vector{1, 2, 0});
  CHECK(accessor<int32_t, 3>(view)(3, 1, 2) == 23);
  CHECK(accessor<int32_t, 3>(view)(1, 0, 2) == 9);
  CHECK(strides(permute(t, {-1, -3, -2})) == Vector{1, 12, 4});
  CHECK(sizes(permute(make_tensor(7), {})) == Vector{});
  CHECK(sizes(permute(counted({2, 0}), {1, 0})) == Vector{0, 2});
}

TEST_CASE("permute: renumbers the dim order, that of dimensions of size 1 too", "[plain]") {
  // One pixel of three channels, stored as channels-last images are.
  const Tensor pixel = make_tensor({1, 3, 1, 1}, {1, 2, 3}, {0, 2, 3, 1});
  const Tensor view = permute(pixel, {0, 2, 3, 1});
  CHECK(sizes(view) == Vector{1, 1, 1, 3});
  CHECK(dim_order(view) == Vector{0, 1, 2, 3});
  CHECK(dim_order(permute(view, {0, 3, 1, 2})) == Vector{0, 2, 3, 1});
}

TEST_CASE("permute: dims that are no permutation are refused") {
  const Tensor t = counted({2, 3});
  RAISES(InvalidArgument, "permute: dims {0} are not the 2 dimensions", permute(t, {0}));
  RAISES(InvalidArgument, "dims {0, 1, 2}", permute(t, {0, 1, 2}));
  RAISES(InvalidArgument, "dimension -2 is twice in dims {0, -2}", permute(t, {0, -2}));
  RAISES(OutOfBounds, "dimension 2 is out of range for a tensor of 2 dimensions",
         permute(t, {0, 2}));
  RAISES(InvalidArgument, "dims has more than 64", permute(t, Vector(65, 0)));
}

TEST_CASE("squeeze: drops the dimensions of size 1, all of them or the one given") {
  const Tensor t = counted({1, 2, 1, 3, 1});
  CHECK(sizes(squeeze(t)) == Vector{2, 3});
  CHECK(strides(squeeze(t)) == Vector{3, 1});
  CHECK(values<int32_t>(squeeze(t)) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(sizes(squeeze(t, 2)) == Vector{1, 2, 3, 1});
  CHECK(sizes(squeeze(t, -1)) == Vector{1, 2, 1, 3});
  CHECK(sizes(squeeze(t, 1)) == Vector{1, 2, 1, 3, 1});
  CHECK(sizes(squeeze(counted({1, 1}))) == Vector{});
  CHECK(sizes(squeeze(counted({1, 0}))) == Vector{0});
}

TEST_CASE("squeeze: dimensions out of range are refused, rank 0 passes for rank 1") {
  RAISES(OutOfBounds, "squeeze: dimension 2 is out of range for a tensor of 2 dimensions",
         squeeze(counted({1, 2}), 2));
  CHECK(sizes(squeeze(make_tensor(7))) == Vector{});
  CHECK(sizes(squeeze(make_tensor(7), -1)) == Vector{});
  RAISES(OutOfBounds, "a tensor of 0 dimensions", squeeze(make_tensor(7), 1));
}

TEST_CASE("squeeze: keeps the dim order of the others, those of size 1 too", "[plain]") {
  const Tensor t = make_tensor({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5}, {2, 3, 0, 1});
  CHECK(dim_order(squeeze(t, 1)) == Vector{1, 2, 0});
}

TEST_CASE("unsqueeze: inserts a dimension of size 1 anywhere, with ATen's strides") {
  const Tensor t = counted({2, 3});
  CHECK(sizes(unsqueeze(t, 0)) == Vector{1, 2, 3});
  CHECK(strides(unsqueeze(t, 0)) == Vector{6, 3, 1});
  CHECK(strides(unsqueeze(t, 1)) == Vector{3, 3, 1});
  CHECK(strides(unsqueeze(t, 2)) == Vector{3, 1, 1});
  CHECK(sizes(unsqueeze(t, -1)) == Vector{2, 3, 1});
  CHECK(sizes(unsqueeze(t, -3)) == Vector{1, 2, 3});
  CHECK(sizes(unsqueeze(make_tensor(7), -1)) == Vector{1});
  CHECK(sizes(unsqueeze(counted({0}), 1)) == Vector{0, 1});
  CHECK(values<int32_t>(unsqueeze(t, 1)) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(dim_order(unsqueeze(transpose(t, 0, 1), 1)) == Vector{1, 2, 0});
}

TEST_CASE("unsqueeze: without elements the strides are those of a dense tensor") {
  const Tensor t = unsqueeze(counted({0, 4}), 0);
  CHECK(sizes(t) == Vector{1, 0, 4});
  CHECK(strides(t) == Vector{4, 4, 1});
}

TEST_CASE("unsqueeze: a place out of range is refused, and so is a dimension too many") {
  const Tensor t = counted({2, 3});
  RAISES(OutOfBounds, "unsqueeze: dimension 3 is out of range for a view of 3 dimensions",
         unsqueeze(t, 3));
  RAISES(OutOfBounds, "dimension -4", unsqueeze(t, -4));
  const Tensor deepest = view(counted({1}), Vector(64, 1));
  RAISES(InvalidArgument, "unsqueeze: sizes has more than 64 entries", unsqueeze(deepest, 0));
}
