// SPDX-License-Identifier: MIT
// Bounds are checked here, whatever the build.
#ifndef TENON_CHECKED
#define TENON_CHECKED
#endif
#include "tenon/tensor/accessor.h"

#include <algorithm>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace accessor_test {

using namespace tenon;
using namespace tests;

static_assert(std::is_same_v<decltype(std::declval<TensorAccessor<float, 1>>()[0]), float&>);
static_assert(
    std::is_same_v<decltype(std::declval<TensorAccessor<const float, 1>>()[0]), const float&>);
static_assert(std::is_same_v<decltype(std::declval<TensorAccessor<float, 3>>()[0]),
                             TensorAccessor<float, 2>>);
static_assert(std::is_trivially_copyable_v<TensorAccessor<float, 2>>);

TEST_CASE("accessor: index by index and a(i, j) reach the same elements, for reading and writing") {
  const Tensor t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto a = accessor<int32_t, 2>(t);
  CHECK(a[1][2] == 6);
  CHECK(a(1, 2) == 6);
  a[0][1] = 20;
  a(1, 0) = 40;
  CHECK(values<int32_t>(t) == Ints{1, 20, 3, 40, 5, 6});
  CHECK(a.data() == const_data_ptr(t));
  CHECK(a.size(0) == 2);
  CHECK(a.stride(0) == 3);
  CHECK(list(a.sizes()) == Vector{2, 3});
  CHECK(list(a.strides()) == Vector{3, 1});
  RAISES(OutOfBounds, "accessor: dimension 2", a.size(2));
  RAISES(OutOfBounds, "accessor: dimension 7", a.stride(7));
}

TEST_CASE("accessor: a loop goes over rows, whose loops go over elements, for writing too") {
  const Tensor t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor turned = transpose(t, 0, 1);
  Ints seen;
  for (auto row : accessor<const int32_t, 2>(turned)) {
    STATIC_REQUIRE(std::is_same_v<decltype(row), TensorAccessor<const int32_t, 1>>);
    for (const int32_t& x : row) seen.push_back(x);
  }
  CHECK(seen == Ints{1, 4, 2, 5, 3, 6});
  for (auto row : accessor<int32_t, 2>(turned)) {
    for (auto& x : row) x *= 10;
  }
  CHECK(values<int32_t>(t) == Ints{10, 20, 30, 40, 50, 60});
  for (int32_t& x : accessor<int32_t, 2>(t)[1]) x = 0;  // of a temporary row
  CHECK(values<int32_t>(t) == Ints{10, 20, 30, 0, 0, 0});
  const auto first = accessor<int32_t, 2>(turned)[0];
  CHECK(std::max_element(first.begin(), first.end()) == first.begin());
  CHECK(Ints(first.begin(), first.end()) == Ints{10, 0});
  CHECK(std::count(first.begin(), first.end(), 0) == 1);
  auto i = first.begin();
  CHECK(*i++ == 10);
  CHECK(*i == 0);
  CHECK(++i == first.end());
  RAISES(OutOfBounds, "accessor: index 2 of dimension 0", *first.end());
  int rows = 0;
  const Tensor no_rows = make_tensor({0, 3}, {});
  const Tensor no_columns = make_tensor({2, 0, 3}, {});
  for (auto row : accessor<float, 2>(no_rows)) rows += static_cast<int>(row.size(0));
  for (auto row : accessor<float, 3>(no_columns)) {
    for (auto inner : row) rows += static_cast<int>(inner.size(0));
  }
  CHECK(rows == 0);
}

TEST_CASE("accessor: extent and rank are mdspan's names for size and the number of dimensions") {
  const auto t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto a = accessor<int32_t, 2>(t);
  STATIC_REQUIRE(decltype(a)::rank() == 2);
  CHECK(a.rank() == 2);
  CHECK(a.extent(0) == 2);
  CHECK(a.extent(1) == 3);
  CHECK(a[1].rank() == 1);
  CHECK(a[1].extent(0) == 3);
  RAISES(OutOfBounds, "accessor: dimension 2", a.extent(2));
}

TEST_CASE("try_accessor: of a view, the accessor or the error by its own name") {
  float numbers[] = {0, 1, 2, 3};
  const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
  TensorView memory{numbers, ScalarType::Float, Device(), sizes, strides};
  CHECK((*try_accessor<float, 2>(memory))[1][0] == 2);
  FAILS(InvalidType, "try_accessor: asked for Int, but the view's dtype is Float",
        (try_accessor<int32_t, 2>(memory)));
  FAILS(InvalidArgument, "try_accessor: asked for 1 dimensions, the view has 2",
        (try_accessor<float, 1>(memory)));
  ViewWithLists kept;
  REQUIRE(detail::copy_lists(memory, kept) == Error::Ok);
  CHECK((*try_accessor<const float, 2>(kept))[1][1] == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("accessor: every index is checked, the error names it, its dimension and the size") {
  const auto t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto a = accessor<int32_t, 2>(t);
  RAISES(OutOfBounds, "accessor: index 2 of dimension 0 is out of range for size 2", a[2]);
  RAISES(OutOfBounds, "index 3", a[0][3]);
  RAISES(OutOfBounds, "index 2 of dimension 0", a(2, 0));
  RAISES(OutOfBounds, "index 3 of dimension 1", a(0, 3));
  RAISES(OutOfBounds, "index -1 of dimension 1", a(0, -1));
  const auto empty = make_tensor({0}, {});
  const auto nothing = accessor<float, 1>(empty);
  RAISES(OutOfBounds, "index 0", nothing[0]);
}

TEST_CASE("accessor: of a view checks dtype, rank, device and data") {
  int32_t data[6] = {};
  const auto ints = [](void* p, const Dims& sizes, const Dims& strides, Device device = {}) {
    return ViewWithLists{p, ScalarType::Int, device, sizes, strides};
  };
  const ViewWithLists view = ints(data, {2, 3}, {3, 1});
  RAISES(InvalidType, "accessor: asked for Float, but the view's dtype is Int",
         (accessor<float, 2>(view)));
  RAISES(InvalidArgument, "accessor: asked for 3 dimensions, the view has 2",
         (accessor<int32_t, 3>(view)));
  RAISES(InvalidArgument, "accessor: strides {1} and sizes {2, 3} differ in length",
         (accessor<int32_t, 2>(ints(data, {2, 3}, {1}))));
  RAISES(InvalidArgument, "accessor: sizes has more than 64 entries",
         (accessor<int32_t, 2>(ints(data, Vector(65, 1), {1}))));
  RAISES(NotSupported, "accessor: the view is on cuda:0, which the host cannot reach",
         (accessor<int32_t, 1>(ints(data, {2}, {1}, "cuda"))));
  RAISES(InvalidState, "accessor: the view of sizes {2} has no data",
         (accessor<int32_t, 1>(ints(nullptr, {2}, {1}))));
  CHECK(accessor<int32_t, 2>(ints(nullptr, {2, 0}, {1, 1})).size(0) == 2);
}

}  // namespace accessor_test
