// SPDX-License-Identifier: MIT
#include "tenon/backend/strided_copy.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/testing/trial.h"

namespace strided_copy_test {

using namespace tenon;

namespace {

struct Expected {
  Dims dst_strides, src_strides;
  size_t rank, nbytes;
  int64_t count;
};

}  // namespace

TEST_CASE("strided_copy: dimensions are dropped, turned, sorted and merged") {
  int32_t a[256] = {};
  int32_t b[256] = {};
  const Dims sizes{2, 1, 3, 4};
  const Expected cases[] = {
      {{12, 7, 4, 1}, {12, 9, 4, 1}, 0, 96, 1},        // a block
      {{12, 7, 4, 1}, {20, 9, 4, 1}, 1, 48, 2},        // two runs
      {{16, 0, 5, 1}, {12, 0, 4, 1}, 2, 16, 6},        // rows
      {{1, 0, 8, 2}, {12, 0, 4, 1}, 2, 4, 24},         // sorted and merged: {12, 2} elements
      {{12, 0, 4, 1}, {0, 0, 0, 0}, 1, 4, 24},         // a fill
      {{-12, 0, -4, -1}, {-12, 0, -4, -1}, 0, 96, 1},  // turned on both sides
      {{12, 0, 4, 1}, {12, 0, 4, -1}, 2, 4, 24},       // turned on one: rows of elements
  };
  for (const Expected& expected : cases) {
    INFO("dst strides " << expected.dst_strides[0] << ", src " << expected.src_strides[0]);
    const TensorView dst{a + 100, ScalarType::Int, Device(), sizes, expected.dst_strides};
    const TensorView src{b + 100, ScalarType::Int, Device(), sizes, expected.src_strides};
    const StridedCopy copy = strided_copy(dst, src);
    CHECK(copy.rank == expected.rank);
    CHECK(copy.nbytes == expected.nbytes);
    CHECK(copy.count == expected.count);
  }
  const ViewWithLists dst{a + 100, ScalarType::Int, Device(), sizes, {-12, 0, -4, -1}};
  const ViewWithLists src{b + 100, ScalarType::Int, Device(), sizes, {-12, 0, -4, -1}};
  CHECK(strided_copy(dst, src).dst == a + 77);
  CHECK(strided_copy(dst, src).src == b + 77);
}

TEST_CASE("strided_copy: without elements there are no runs, of another type they are elements") {
  const ViewWithLists nothing{nullptr, ScalarType::Int, Device(), {2, 0}, {0, 1}};
  CHECK(strided_copy(nothing, nothing).count == 0);
  int32_t a[4] = {};
  double b[4] = {};
  const ViewWithLists dst{a, ScalarType::Int, Device(), {4}, {1}};
  const ViewWithLists src{b, ScalarType::Double, Device(), {4}, {1}};
  const StridedCopy copy = strided_copy(dst, src);
  CHECK(copy.rank == 1);
  CHECK(copy.nbytes == 4);
  CHECK(copy.dims[0].dst_stride == 4);
  CHECK(copy.dims[0].src_stride == 8);
}

TEST_CASE("strided_copy: done run by run, it is copy_") {
  testing::Dice dice{5};
  for (int i = 0; i < 200; ++i) {
    const Dims sizes{dice.between(1, 3), dice.between(1, 3), dice.between(1, 4),
                     dice.between(1, 3)};
    const testing::RandomView to(dice, sizes, false);
    const testing::RandomView from(dice, sizes, true);
    const TensorPtr source = randint(0, 99, from.base_sizes(), ScalarType::Short);
    const TensorPtr expected = zeros(to.base_sizes(), ScalarType::Short);
    const TensorPtr found = zeros(to.base_sizes(), ScalarType::Short);
    REQUIRE(copy_(to.of(*expected), from.of(*source)) == Error::Ok);
    const StridedCopy copy = strided_copy(as_view(to.of(*found)), as_view(from.of(*source)));
    for (int64_t run = 0; run < copy.count; ++run) {
      auto* dst = static_cast<char*>(copy.dst);
      const auto* src = static_cast<const char*>(copy.src);
      for (int64_t d = static_cast<int64_t>(copy.rank) - 1, left = run; d >= 0; --d) {
        const StridedCopy::Dim& dim = copy.dims[d];
        dst += left % dim.size * dim.dst_stride;
        src += left % dim.size * dim.src_stride;
        left /= dim.size;
      }
      std::memcpy(dst, src, copy.nbytes);
    }
    CHECK(to_binary(found) == to_binary(expected));
  }
}

}  // namespace strided_copy_test
