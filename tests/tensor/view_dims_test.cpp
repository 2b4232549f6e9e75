// SPDX-License-Identifier: MIT
// Views that keep all elements and change the dimensions: view, reshape, flatten, transpose,
// permute, squeeze, unsqueeze.
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Ints = std::vector<int32_t>;

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
    CHECK(tenon::const_data_ptr(view) == tenon::const_data_ptr(t));
  }
  CHECK(strides(tenon::view(t, {2, 1, 3, 1, 4})) == Vector{12, 12, 4, 4, 1});
}

TEST_CASE("view: one size of -1 is what is left") {
  const Tensor t = counted({2, 3, 4});
  CHECK(sizes(tenon::view(t, {-1})) == Vector{24});
  CHECK(sizes(tenon::view(t, {6, -1})) == Vector{6, 4});
  CHECK(sizes(tenon::reshape(t, {-1, 8})) == Vector{3, 8});
  CHECK(sizes(tenon::view(t, {2, -1, 12})) == Vector{2, 1, 12});
  CHECK_ERROR(Error::InvalidArgument,
              "view: no size for the -1 in sizes {-1, 5} makes them hold the 24 elements",
              tenon::view(t, {-1, 5}));
  CHECK_ERROR(Error::InvalidArgument, "no size for the -1 in sizes {0, -1}",
              tenon::view(t, {0, -1}));
  CHECK_ERROR(Error::InvalidArgument, "sizes {-1, -1} have more than one",
              tenon::view(t, {-1, -1}));
  CHECK_ERROR(Error::InvalidArgument, "size -2 of dimension 1 is negative",
              tenon::view(t, {-1, -2}));
}

TEST_CASE("view: an unsigned size that wrapped below 0 is refused, not inferred") {
  const Tensor t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const size_t n = 2;
  CHECK_ERROR(Error::InvalidArgument, "view: sizes has an unsigned value above int64_t's largest",
              tenon::view(t, {n - 3, n}));
  CHECK(sizes(tenon::view(t, {-1, n})) == Vector{3, 2});
  CHECK_ERROR(Error::InvalidArgument, "expand: sizes has an unsigned value",
              tenon::expand(t, {n, n - 3}));
  CHECK_ERROR(Error::InvalidArgument, "permute: dims has an unsigned value",
              tenon::permute(t, {0, n - 3}));
}

TEST_CASE("view: another element count is refused, with both counts") {
  const Tensor t = counted({2, 3});
  CHECK_ERROR(Error::InvalidArgument, "view: sizes {4, 4} hold 16 elements, the tensor has 6",
              tenon::view(t, {4, 4}));
  CHECK_ERROR(Error::InvalidArgument, "reshape: sizes {5} hold 5", tenon::reshape(t, {5}));
  CHECK_ERROR(Error::InvalidArgument, "sizes {} hold 1", tenon::view(t, {}));
  CHECK_ERROR(Error::InvalidArgument, "overflow",
              tenon::view(t, {int64_t{1} << 40, int64_t{1} << 40}));
  CHECK_ERROR(Error::InvalidArgument, "sizes has more than 64", tenon::view(t, Vector(65, 1)));
}

TEST_CASE("view: sizes that would need a copy are refused, with the strides and the way out") {
  const Tensor t = tenon::transpose(counted({2, 3}), 0, 1);
  const char* const words =
      "sizes {6} of a tensor of sizes {3, 2} and strides {1, 3} need a copy; contiguous() makes "
      "one";
  CHECK_ERROR(Error::NotSupported, words, tenon::view(t, {6}));
  CHECK_ERROR(Error::NotSupported, "view: ", tenon::view(t, {6}));
  CHECK_ERROR(Error::NotSupported, words, tenon::reshape(t, {-1}));
  CHECK_ERROR(Error::NotSupported, "reshape: ", tenon::reshape(t, {6}));
  CHECK_ERROR(Error::NotSupported, words, tenon::flatten(t));
  CHECK_ERROR(Error::NotSupported, "flatten: ", tenon::flatten(t));
  CHECK_ERROR(Error::NotSupported, "need a copy", tenon::view(t, {2, 3}));
}

TEST_CASE("view: of a strided tensor joins and divides what lies evenly") {
  const Tensor t = counted({4, 6});
  const Tensor columns = tenon::slice(t, 1, 0, 6, 2);  // {4, 3}, strides {6, 2}: one run of 12
  CHECK(strides(tenon::view(columns, {12})) == Vector{2});
  CHECK(values<int32_t>(tenon::view(columns, {2, 6})) ==
        Ints{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22});
  const Tensor left = tenon::slice(t, 1, 0, 4);  // {4, 4}, strides {6, 1}: two runs
  CHECK(strides(tenon::view(left, {2, 2, 2, 2})) == Vector{12, 6, 2, 1});
  CHECK(strides(tenon::view(left, {4, 1, 4})) == Vector{6, 4, 1});
  CHECK_ERROR(Error::NotSupported, "strides {6, 1}", tenon::view(left, {16}));
  CHECK_ERROR(Error::NotSupported, "strides {6, 1}", tenon::view(left, {2, 8}));
  CHECK_ERROR(Error::NotSupported, "strides {6, 1}", tenon::view(left, {8, 1, 2}));
}

TEST_CASE("view: of reversed elements joins them too", "[plain]") {
  const Tensor t = counted({2, 3});
  const Tensor reversed = tenon::flip(t, {0, 1});
  CHECK(strides(tenon::view(reversed, {6})) == Vector{-1});
  CHECK(values<int32_t>(tenon::view(reversed, {3, 2})) == Ints{5, 4, 3, 2, 1, 0});
  CHECK_ERROR(Error::NotSupported, "strides {3, -1}", tenon::view(tenon::flip(t, {1}), {6}));
}

TEST_CASE("view: of repeated elements joins them too") {
  const Tensor repeated = tenon::expand(counted({1}), {2, 3});
  CHECK(strides(tenon::view(repeated, {6})) == Vector{0});
  const Tensor rows = tenon::expand(counted({3}), {2, 3});
  CHECK(strides(tenon::view(rows, {2, 3, 1})) == Vector{0, 1, 1});
  CHECK_ERROR(Error::NotSupported, "strides {0, 1}", tenon::view(rows, {6}));
}

TEST_CASE("view: the tensor's own sizes keep its strides and dim order") {
  int32_t data[12] = {};
  const auto t = from_blob(data, {2, 3}, {1, 5});
  CHECK(strides(tenon::view(t, {2, 3})) == Vector{1, 5});
  CHECK(dim_order(tenon::view(t, {2, 3})) == Vector{1, 0});
}

TEST_CASE("view: the tensor's own sizes keep its strides and dim order, whatever they are",
          "[plain]") {
  int32_t data[7] = {};
  const auto t = from_blob(data + 6, {2, 3}, {-3, -1});
  CHECK(strides(tenon::view(t, {2, 3})) == Vector{-3, -1});
  const Tensor ordered = make_tensor({2, 1}, {1, 2}, {1, 0});
  CHECK(strides(tenon::view(ordered, {2, 1})) == Vector{1, 2});
  CHECK(dim_order(tenon::view(ordered, {2, 1})) == Vector{1, 0});
}

TEST_CASE("view: other sizes have the dim order that their strides imply") {
  const Tensor repeated = tenon::expand(counted({1, 4}), {3, 4});
  CHECK(strides(tenon::view(repeated, {3, 2, 2})) == Vector{0, 2, 1});
  CHECK(dim_order(tenon::view(repeated, {3, 2, 2})) == Vector{1, 2, 0});
}

TEST_CASE("view: other sizes have the dim order that their strides imply, not the tensor's",
          "[plain]") {
  const Tensor column = make_tensor({1, 3}, {0, 1, 2}, {1, 0});
  REQUIRE(dim_order(column) == Vector{1, 0});
  CHECK(dim_order(tenon::view(column, {3, 1})) == Vector{0, 1});
  const Tensor none = tenon::transpose(counted({2, 0}), 0, 1);
  REQUIRE(dim_order(none) == Vector{1, 0});
  CHECK(dim_order(tenon::view(none, {0, 4})) == Vector{0, 1});
}

TEST_CASE("view: without elements it takes any sizes without elements, row-major") {
  const Tensor t = counted({2, 0, 3});
  CHECK(sizes(tenon::view(t, {0})) == Vector{0});
  CHECK(strides(tenon::view(t, {4, 0, 5})) == Vector{5, 5, 1});
  CHECK(sizes(tenon::view(t, {-1, 7})) == Vector{0, 7});
  CHECK_ERROR(Error::InvalidArgument, "any size for the -1 in sizes {0, -1}",
              tenon::view(t, {0, -1}));
  CHECK_ERROR(Error::InvalidArgument, "the tensor has 0", tenon::view(t, {1}));
  const Tensor strided = tenon::transpose(t, 0, 2);
  CHECK(strides(tenon::view(strided, {3, 0, 2})) == Vector{1, 3, 3});
  CHECK(strides(tenon::view(strided, {0, 2})) == Vector{2, 1});
}

TEST_CASE("view: rank 0 becomes any rank of ones, and back") {
  const Tensor scalar = make_tensor(7);
  CHECK(sizes(tenon::view(scalar, {1, 1})) == Vector{1, 1});
  CHECK(sizes(tenon::view(scalar, {-1})) == Vector{1});
  CHECK(sizes(tenon::view(counted({1, 1}), {})) == Vector{});
  CHECK(tenon::item<int32_t>(tenon::view(counted({1, 1}), {})) == 0);
}

TEST_CASE("view: works with more dimensions than are held inline") {
  const Tensor t = counted({2, 3, 4});
  const Tensor view = tenon::view(t, {1, 2, 1, 3, 1, 2, 2, 1});
  CHECK(values<int32_t>(view) == values<int32_t>(t));
  CHECK(values<int32_t>(tenon::flatten(view)) == values<int32_t>(t));
}

TEST_CASE("flatten: joins the dimensions from start_dim to end_dim") {
  const Tensor t = counted({2, 3, 4, 5});
  CHECK(sizes(tenon::flatten(t)) == Vector{120});
  CHECK(sizes(tenon::flatten(t, 1)) == Vector{2, 60});
  CHECK(sizes(tenon::flatten(t, 1, 2)) == Vector{2, 12, 5});
  CHECK(sizes(tenon::flatten(t, -4, -3)) == Vector{6, 4, 5});
  CHECK(sizes(tenon::flatten(t, 2, 2)) == Vector{2, 3, 4, 5});
  CHECK(values<int32_t>(tenon::flatten(t, 1, 2)) == values<int32_t>(t));
}

TEST_CASE("flatten: rank 0 becomes rank 1, and zero sizes stay zero") {
  CHECK(sizes(tenon::flatten(make_tensor(7))) == Vector{1});
  CHECK(sizes(tenon::flatten(make_tensor(7), 0, 0)) == Vector{1});
  CHECK(sizes(tenon::flatten(counted({2, 0, 3}))) == Vector{0});
  CHECK(sizes(tenon::flatten(counted({2, 0, 3}), 0, 1)) == Vector{0, 3});
}

TEST_CASE("flatten: needs no more than the joined dimensions to lie evenly") {
  const Tensor t = tenon::permute(counted({2, 3, 4}), {2, 0, 1});  // strides {1, 12, 4}
  CHECK(strides(tenon::flatten(t, 1, 2)) == Vector{1, 4});
  CHECK_ERROR(Error::NotSupported, "strides {1, 12, 4}", tenon::flatten(t, 0, 1));
}

TEST_CASE("flatten: a range in the wrong order and dimensions out of range are refused") {
  const Tensor t = counted({2, 3});
  CHECK_ERROR(Error::InvalidArgument, "flatten: start_dim 1 comes after end_dim 0",
              tenon::flatten(t, 1, 0));
  CHECK_ERROR(Error::OutOfBounds, "dimension 2 is out of range for a tensor of 2 dimensions",
              tenon::flatten(t, 2));
  CHECK_ERROR(Error::OutOfBounds, "dimension -3", tenon::flatten(t, 0, -3));
  CHECK_ERROR(Error::OutOfBounds, "dimension 1 is out of range for a tensor of 0 dimensions",
              tenon::flatten(make_tensor(7), 1));
}

TEST_CASE("transpose: exchanges two dimensions, negative ones from the end") {
  const Tensor t = counted({2, 3});
  const Tensor view = tenon::transpose(t, 0, 1);
  CHECK(sizes(view) == Vector{3, 2});
  CHECK(strides(view) == Vector{1, 3});
  CHECK(dim_order(view) == Vector{1, 0});
  CHECK(values<int32_t>(view) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(values<int32_t>(tenon::transpose(t, -1, -2)) == values<int32_t>(view));
  CHECK(values<int32_t>(tenon::transpose(t, 1, -1)) == values<int32_t>(t));
  CHECK(tenon::transpose(view, 0, 1).is_contiguous());
}

TEST_CASE("transpose: dimensions out of range are refused, rank 0 passes for rank 1") {
  const Tensor t = counted({2, 3});
  CHECK_ERROR(Error::OutOfBounds,
              "transpose: dimension 2 is out of range for a tensor of 2 dimensions",
              tenon::transpose(t, 0, 2));
  CHECK_ERROR(Error::OutOfBounds, "dimension -3", tenon::transpose(t, -3, 0));
  CHECK(sizes(tenon::transpose(make_tensor(7), 0, -1)) == Vector{});
  CHECK_ERROR(Error::OutOfBounds, "a tensor of 0 dimensions",
              tenon::transpose(make_tensor(7), 0, 1));
}

TEST_CASE("permute: puts the i-th of the dimensions given at i") {
  const Tensor t = counted({2, 3, 4});
  const Tensor view = tenon::permute(t, {2, 0, 1});
  CHECK(sizes(view) == Vector{4, 2, 3});
  CHECK(strides(view) == Vector{1, 12, 4});
  CHECK(dim_order(view) == Vector{1, 2, 0});
  CHECK(tenon::accessor<int32_t, 3>(view)(3, 1, 2) == 23);
  CHECK(tenon::accessor<int32_t, 3>(view)(1, 0, 2) == 9);
  CHECK(strides(tenon::permute(t, {-1, -3, -2})) == Vector{1, 12, 4});
  CHECK(sizes(tenon::permute(make_tensor(7), {})) == Vector{});
  CHECK(sizes(tenon::permute(counted({2, 0}), {1, 0})) == Vector{0, 2});
}

TEST_CASE("permute: renumbers the dim order") {
  const Tensor image = make_tensor({1, 2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},  //
                                   {0, 2, 3, 1});
  const Tensor view = tenon::permute(image, {0, 2, 3, 1});
  CHECK(sizes(view) == Vector{1, 3, 2, 2});
  CHECK(dim_order(view) == Vector{0, 1, 2, 3});
  CHECK(dim_order(tenon::permute(view, {0, 3, 1, 2})) == Vector{0, 2, 3, 1});
}

TEST_CASE("permute: renumbers the dim order, that of dimensions of size 1 too", "[plain]") {
  // One pixel of three channels, stored as channels-last images are.
  const Tensor pixel = make_tensor({1, 3, 1, 1}, {1, 2, 3}, {0, 2, 3, 1});
  const Tensor view = tenon::permute(pixel, {0, 2, 3, 1});
  CHECK(sizes(view) == Vector{1, 1, 1, 3});
  CHECK(dim_order(view) == Vector{0, 1, 2, 3});
  CHECK(dim_order(tenon::permute(view, {0, 3, 1, 2})) == Vector{0, 2, 3, 1});
}

TEST_CASE("permute: dims that are no permutation are refused") {
  const Tensor t = counted({2, 3});
  CHECK_ERROR(Error::InvalidArgument, "permute: dims {0} are not the 2 dimensions",
              tenon::permute(t, {0}));
  CHECK_ERROR(Error::InvalidArgument, "dims {0, 1, 2}", tenon::permute(t, {0, 1, 2}));
  CHECK_ERROR(Error::InvalidArgument, "dimension -2 is twice in dims {0, -2}",
              tenon::permute(t, {0, -2}));
  CHECK_ERROR(Error::OutOfBounds, "dimension 2 is out of range for a tensor of 2 dimensions",
              tenon::permute(t, {0, 2}));
  CHECK_ERROR(Error::InvalidArgument, "dims has more than 64", tenon::permute(t, Vector(65, 0)));
}

TEST_CASE("permute: works with more dimensions than are held inline") {
  const Tensor t = counted({1, 2, 1, 3, 1, 1, 2, 1, 2});
  const Tensor view = tenon::permute(t, {8, 7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(sizes(view) == Vector{2, 1, 2, 1, 1, 3, 1, 2, 1});
  CHECK(strides(view) == Vector{1, 2, 2, 4, 4, 4, 12, 12, 24});
  CHECK(values<int32_t>(tenon::permute(view, {8, 7, 6, 5, 4, 3, 2, 1, 0})) == values<int32_t>(t));
}

TEST_CASE("squeeze: drops the dimensions of size 1, all of them or the one given") {
  const Tensor t = counted({1, 2, 1, 3, 1});
  CHECK(sizes(tenon::squeeze(t)) == Vector{2, 3});
  CHECK(strides(tenon::squeeze(t)) == Vector{3, 1});
  CHECK(values<int32_t>(tenon::squeeze(t)) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(sizes(tenon::squeeze(t, 2)) == Vector{1, 2, 3, 1});
  CHECK(sizes(tenon::squeeze(t, -1)) == Vector{1, 2, 1, 3});
  CHECK(sizes(tenon::squeeze(t, 1)) == Vector{1, 2, 1, 3, 1});
  CHECK(sizes(tenon::squeeze(counted({1, 1}))) == Vector{});
  CHECK(sizes(tenon::squeeze(counted({1, 0}))) == Vector{0});
}

TEST_CASE("squeeze: dimensions out of range are refused, rank 0 passes for rank 1") {
  CHECK_ERROR(Error::OutOfBounds,
              "squeeze: dimension 2 is out of range for a tensor of 2 dimensions",
              tenon::squeeze(counted({1, 2}), 2));
  CHECK(sizes(tenon::squeeze(make_tensor(7))) == Vector{});
  CHECK(sizes(tenon::squeeze(make_tensor(7), -1)) == Vector{});
  CHECK_ERROR(Error::OutOfBounds, "a tensor of 0 dimensions", tenon::squeeze(make_tensor(7), 1));
}

TEST_CASE("squeeze: keeps the dim order of the others") {
  const Tensor t = make_tensor({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5}, {2, 3, 0, 1});
  CHECK(strides(tenon::squeeze(t)) == Vector{1, 2});
  CHECK(dim_order(tenon::squeeze(t)) == Vector{1, 0});
}

TEST_CASE("squeeze: keeps the dim order of the others, those of size 1 too", "[plain]") {
  const Tensor t = make_tensor({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5}, {2, 3, 0, 1});
  CHECK(dim_order(tenon::squeeze(t, 1)) == Vector{1, 2, 0});
}

TEST_CASE("unsqueeze: inserts a dimension of size 1 anywhere, with ATen's strides") {
  const Tensor t = counted({2, 3});
  CHECK(sizes(tenon::unsqueeze(t, 0)) == Vector{1, 2, 3});
  CHECK(strides(tenon::unsqueeze(t, 0)) == Vector{6, 3, 1});
  CHECK(strides(tenon::unsqueeze(t, 1)) == Vector{3, 3, 1});
  CHECK(strides(tenon::unsqueeze(t, 2)) == Vector{3, 1, 1});
  CHECK(sizes(tenon::unsqueeze(t, -1)) == Vector{2, 3, 1});
  CHECK(sizes(tenon::unsqueeze(t, -3)) == Vector{1, 2, 3});
  CHECK(sizes(tenon::unsqueeze(make_tensor(7), -1)) == Vector{1});
  CHECK(sizes(tenon::unsqueeze(counted({0}), 1)) == Vector{0, 1});
  CHECK(values<int32_t>(tenon::unsqueeze(t, 1)) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(dim_order(tenon::unsqueeze(tenon::transpose(t, 0, 1), 1)) == Vector{1, 2, 0});
}

TEST_CASE("unsqueeze: without elements the strides are those of a dense tensor") {
  const Tensor t = tenon::unsqueeze(counted({0, 4}), 0);
  CHECK(sizes(t) == Vector{1, 0, 4});
  CHECK(strides(t) == Vector{4, 4, 1});
}

TEST_CASE("unsqueeze: a place out of range is refused, and so is a dimension too many") {
  const Tensor t = counted({2, 3});
  CHECK_ERROR(Error::OutOfBounds,
              "unsqueeze: dimension 3 is out of range for a view of 3 dimensions",
              tenon::unsqueeze(t, 3));
  CHECK_ERROR(Error::OutOfBounds, "dimension -4", tenon::unsqueeze(t, -4));
  const Tensor deepest = tenon::view(counted({1}), Vector(64, 1));
  CHECK_ERROR(Error::InvalidArgument, "unsqueeze: sizes has more than 64 entries",
              tenon::unsqueeze(deepest, 0));
}
