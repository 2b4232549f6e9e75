// SPDX-License-Identifier: MIT
// Bounds are checked here, whatever the build.
#ifndef TENON_CHECKED
#define TENON_CHECKED
#endif
#include "tenon/tensor/accessor.h"

#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

using tenon::Error;
using tenon::make_tensor;
using tenon::TensorAccessor;

static_assert(std::is_same_v<decltype(std::declval<TensorAccessor<float, 1>>()[0]), float&>);
static_assert(
    std::is_same_v<decltype(std::declval<TensorAccessor<const float, 1>>()[0]), const float&>);
static_assert(std::is_same_v<decltype(std::declval<TensorAccessor<float, 3>>()[0]),
                             TensorAccessor<float, 2>>);
static_assert(std::is_trivially_copyable_v<TensorAccessor<float, 2>>);

TEST_CASE("accessor: a[i][j] and a(i, j) reach the same elements, for reading and writing") {
  auto t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  auto a = t.accessor<int32_t, 2>();
  CHECK(a[1][2] == 6);
  CHECK(a(1, 2) == 6);
  a[0][1] = 20;
  a(1, 0) = 40;
  CHECK(tests::values<int32_t>(t) == std::vector<int32_t>{1, 20, 3, 40, 5, 6});
  auto row = a[1];
  CHECK(row[0] == 40);
  CHECK(row.size(0) == 3);
}

TEST_CASE("accessor: follows any strides") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto columns = tenon::from_blob(data, {2, 3}, {1, 2})->accessor<int32_t, 2>();
  CHECK(columns[1][2] == 5);
  CHECK(columns(0, 1) == 2);
  auto reversed = tenon::from_blob(data + 5, {6}, {-1})->accessor<int32_t, 1>();
  CHECK(reversed[0] == 5);
  CHECK(reversed[5] == 0);
  auto broadcast = tenon::from_blob(data, {100, 2}, {0, 1})->accessor<int32_t, 2>();
  CHECK(broadcast[99][1] == 1);
}

TEST_CASE("accessor: sizes and strides are its own") {
  auto t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  auto a = t.accessor<int32_t, 2>();
  CHECK(a.data() == t.const_data_ptr());
  CHECK(a.size(0) == 2);
  CHECK(a.stride(0) == 3);
  CHECK(tests::list(a.sizes()) == tests::Vector{2, 3});
  CHECK(tests::list(a.strides()) == tests::Vector{3, 1});
  CHECK_ERROR(Error::OutOfBounds, "accessor: dimension 2", a.size(2));
  CHECK_ERROR(Error::OutOfBounds, "accessor: dimension 7", a.stride(7));
}

TEST_CASE("accessor: every index is checked, the error names it, its dimension and the size") {
  auto a = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6}).accessor<int32_t, 2>();
  CHECK_ERROR(Error::OutOfBounds, "accessor: index 2 of dimension 0 is out of range for size 2",
              a[2]);
  CHECK_ERROR(Error::OutOfBounds, "index -1", a[-1]);
  CHECK_ERROR(Error::OutOfBounds, "index 3", a[0][3]);
  CHECK_ERROR(Error::OutOfBounds, "index 2 of dimension 0", a(2, 0));
  CHECK_ERROR(Error::OutOfBounds, "index 3 of dimension 1", a(0, 3));
  CHECK_ERROR(Error::OutOfBounds, "index -1 of dimension 1", a(0, -1));
  auto none = make_tensor({0}, {}).accessor<float, 1>();
  CHECK_ERROR(Error::OutOfBounds, "index 0", none[0]);
}

TEST_CASE("accessor: another rank than the tensor's is refused") {
  auto t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_ERROR(Error::InvalidArgument, "accessor: asked for 1 dimensions, the tensor has 2",
              (t.accessor<int32_t, 1>()));
  CHECK_ERROR(Error::InvalidArgument, "accessor: asked for 3", (t.accessor<int32_t, 3>()));
  CHECK_ERROR(Error::InvalidArgument, "has 0", (make_tensor(1).accessor<int32_t, 1>()));
}
