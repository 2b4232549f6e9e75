// SPDX-License-Identifier: MIT
#include "tenon/core/layout.h"

#include "support/catch.h"
#include "support/shapes.h"

using namespace tenon;
using namespace tests;

namespace {

using Order = std::vector<DimOrderType>;

int64_t numel_of(const Dims& sizes) {
  int64_t numel = -1;
  CHECK(compute_numel(sizes, 1, numel) == Error::Ok);
  return numel;
}

Order order_of(const Vector& sizes, const Vector& strides) {
  Order order(sizes.size());
  dim_order_from_strides(sizes, strides, Span<DimOrderType>(order));
  return order;
}

Vector dense_strides_of(const Vector& sizes, const Order& order) {
  Dims dim_order = order;
  Layout layout;
  CHECK(make_layout(sizes, dim_order, {}, 1, layout) == Error::Ok);
  return Vector(layout.strides.begin(), layout.strides.end());
}

Order order_in(const Layout& layout) {
  return Order(layout.dim_order.begin(), layout.dim_order.end());
}

struct Shape {
  Vector sizes;
  Vector strides;
};

// Of up to four dimensions; half of them are dense in some order before one number is changed, so
// that both answers to every question are common.
Shape random_shape(Rng& random) {
  Shape shape;
  const auto rank = static_cast<size_t>(random.between(0, 4));
  for (size_t d = 0; d < rank; ++d) {
    shape.sizes.push_back(random.between(0, 9) == 0 ? 0 : random.between(1, 4));
    shape.strides.push_back(random.between(-6, 12));
  }
  if (rank > 0 && random.between(0, 1) == 0) {
    Order order(rank);
    for (size_t d = 0; d < rank; ++d) order[d] = static_cast<DimOrderType>(d);
    for (size_t d = rank; d-- > 1;) {
      std::swap(order[d], order[static_cast<size_t>(random.between(0, static_cast<int64_t>(d)))]);
    }
    int64_t stride = 1;
    for (size_t d : order) {
      shape.strides[d] = stride;
      stride *= shape.sizes[d] == 0 ? 1 : shape.sizes[d];
    }
    if (random.between(0, 1) == 0) {
      shape.strides[static_cast<size_t>(random.between(0, static_cast<int64_t>(rank) - 1))] +=
          random.between(-1, 1);
    }
  }
  return shape;
}

std::string text_of(const Shape& shape) {
  std::string text;
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    text += std::to_string(shape.sizes[d]) + " by " + std::to_string(shape.strides[d]) + ", ";
  }
  return text;
}

constexpr int kShapes = 8000;

// Calls `right` with thousands of shapes and all their offsets, in row-major order of the indices.
template <class F>
void check_shapes(uint64_t seed, F&& right) {
  Rng random{seed};
  int wrong = 0;
  std::string first;
  for (int i = 0; i < kShapes; ++i) {
    const Shape shape = random_shape(random);
    if (!right(shape, element_offsets(shape.sizes, shape.strides)) && wrong++ == 0) {
      first = text_of(shape);
    }
  }
  INFO("first wrong shape: " << first);
  CHECK(wrong == 0);
}

bool is_counting(const Vector& offsets) {
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (offsets[k] != static_cast<int64_t>(k)) return false;
  }
  return true;
}

bool collides(Vector offsets) {
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

}  // namespace

TEST_CASE("layout: numel is the product of the sizes, 1 for none and 0 with a 0 among them") {
  CHECK(numel_of({}) == 1);
  CHECK(numel_of({7}) == 7);
  CHECK(numel_of({2, 3, 4}) == 24);
  CHECK(numel_of({2, 0, 4}) == 0);
  CHECK(numel_of({0}) == 0);
  CHECK(numel_of({1, 1, 1}) == 1);
  CHECK(numel_of({INT64_MAX}) == INT64_MAX);
  CHECK(numel_of({int64_t{1} << 31, int64_t{1} << 31}) == int64_t{1} << 62);
}

TEST_CASE("layout: a negative size is an error that names it and its dimension") {
  int64_t numel = 77;
  RETURNS(InvalidArgument, "size -1 of dimension 1 is negative in sizes {2, -1, 3}",
          compute_numel(Dims{2, -1, 3}, 4, numel));
  RETURNS(InvalidArgument, "size -9223372036854775808 of dimension 0",
          compute_numel(Dims{INT64_MIN}, 4, numel));
  // Neither an overflow nor a 0 hides it.
  RETURNS(InvalidArgument, "size -5 of dimension 1", compute_numel(Dims{INT64_MAX, -5}, 4, numel));
  RETURNS(InvalidArgument, "size -5 of dimension 1", compute_numel(Dims{0, -5}, 4, numel));
  RETURNS(InvalidArgument, "size -2 of dimension 0", compute_numel(Dims{-2, -3}, 4, numel));
  CHECK(numel == 77);
}

TEST_CASE("layout: an overflowing element or byte count is an error, zero-size shapes included") {
  int64_t numel = 77;
  const int64_t two32 = int64_t{1} << 32;
  RETURNS(InvalidArgument, "the element count of sizes {4294967296, 4294967296}",
          compute_numel(Dims{two32, two32}, 1, numel));
  RETURNS(InvalidArgument, "overflows 64 bits", compute_numel(Dims{INT64_MAX, 2}, 1, numel));
  // Its strides would be products of the other sizes.
  RETURNS(InvalidArgument, "overflows 64 bits", compute_numel(Dims{two32, 0, two32}, 1, numel));
  RETURNS(InvalidArgument, "2305843009213693952 elements of 4 bytes overflow",
          compute_numel(Dims{int64_t{1} << 61}, 4, numel));
  RETURNS(InvalidArgument, "9223372036854775807 elements of 16 bytes overflow",
          compute_numel(Dims{INT64_MAX}, 16, numel));
  CHECK(numel == 77);
  CHECK(compute_numel(Dims{(int64_t{1} << 61) - 1}, 4, numel) == Error::Ok);
  CHECK(numel == (int64_t{1} << 61) - 1);
}

TEST_CASE("layout: nbytes is the count times the element size, up to PTRDIFF_MAX") {
  size_t nbytes = 0;
  CHECK(compute_nbytes(6, 4, nbytes) == Error::Ok);
  CHECK(nbytes == 24);
  CHECK(compute_nbytes(0, 16, nbytes) == Error::Ok);
  CHECK(nbytes == 0);
  CHECK(compute_nbytes(PTRDIFF_MAX, 1, nbytes) == Error::Ok);
  CHECK(nbytes == static_cast<size_t>(PTRDIFF_MAX));
  RETURNS(InvalidArgument, "4611686018427387904 elements of 2 bytes overflow",
          compute_nbytes(int64_t{1} << 62, 2, nbytes));
  RETURNS(InvalidArgument, "overflow the address space", compute_nbytes(INT64_MAX, 8, nbytes));
  RETURNS(InvalidArgument, "overflow", compute_nbytes(INT64_MIN, 1, nbytes));
}

TEST_CASE("layout: the extent is the lowest and highest offset that the strides reach") {
  Extent extent;
  CHECK(compute_extent(Dims{2, 3}, Dims{3, 1}, extent) == Error::Ok);
  CHECK(extent.min == 0);
  CHECK(extent.max == 5);
  CHECK(compute_extent(Dims{2, 3}, Dims{10, -2}, extent) == Error::Ok);
  CHECK(extent.min == -4);
  CHECK(extent.max == 10);
  CHECK(compute_extent(Dims{5}, Dims{0}, extent) == Error::Ok);
  CHECK(extent.min == 0);
  CHECK(extent.max == 0);
  CHECK(compute_extent(Dims{}, Dims{}, extent) == Error::Ok);
  CHECK(extent.min == 0);
  CHECK(extent.max == 0);
  CHECK(compute_extent(Dims{3, 0}, Dims{-1, 5}, extent) == Error::Ok);
  CHECK(extent.min == 0);
  CHECK(extent.max == -1);
}

TEST_CASE("layout: the extent is that of all offsets enumerated, for thousands of random shapes") {
  int empty_one = 0;
  check_shapes(1, [&](const Shape& shape, const Vector& offsets) {
    Extent extent{123, 456};
    if (compute_extent(shape.sizes, shape.strides, extent) != Error::Ok) return false;
    empty_one += offsets.empty() ? 1 : 0;
    if (offsets.empty()) return extent.min == 0 && extent.max == -1;
    const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
    return extent.min == *low && extent.max == *high;
  });
  CHECK(empty_one > 100);
}

TEST_CASE("layout: an extent that overflows is an error, unless there are no elements") {
  Extent extent;
  RETURNS(InvalidArgument, "strides {4611686018427387904} with sizes {3} overflow 64 bits",
          compute_extent(Dims{3}, Dims{int64_t{1} << 62}, extent));
  RETURNS(InvalidArgument, "overflow 64 bits",
          compute_extent(Dims{2, 2}, Dims{int64_t{1} << 62, int64_t{1} << 62}, extent));
  RETURNS(InvalidArgument, "overflow 64 bits", compute_extent(Dims{3}, Dims{INT64_MIN}, extent));
  // The highest offset fits, the number of elements up to it does not.
  RETURNS(InvalidArgument, "overflow 64 bits", compute_extent(Dims{2}, Dims{INT64_MAX}, extent));
  CHECK(compute_extent(Dims{2}, Dims{INT64_MAX - 1}, extent) == Error::Ok);
  CHECK(extent.max == INT64_MAX - 1);
  CHECK(compute_extent(Dims{1}, Dims{INT64_MIN}, extent) == Error::Ok);
  CHECK(extent.min == 0);
  // Wherever the 0 is.
  CHECK(compute_extent(Dims{0, 3}, Dims{1, INT64_MAX}, extent) == Error::Ok);
  CHECK(compute_extent(Dims{3, 0}, Dims{INT64_MAX, 1}, extent) == Error::Ok);
  CHECK(extent.max == -1);
}

TEST_CASE("layout: a permutation holds every dimension once") {
  const auto is_permutation = [](const Order& order) { return tenon::is_permutation(order); };
  CHECK(is_permutation({}));
  CHECK(is_permutation({0}));
  CHECK(is_permutation({2, 0, 1}));
  CHECK_FALSE(is_permutation({1}));
  CHECK_FALSE(is_permutation({0, 0}));
  CHECK_FALSE(is_permutation({0, 2}));
  CHECK_FALSE(is_permutation({1, 2, 1}));
  CHECK_FALSE(is_permutation({0, 255}));
  Order all(64);
  for (size_t i = 0; i < 64; ++i) all[i] = static_cast<DimOrderType>(63 - i);
  CHECK(is_permutation(all));
  all[10] = all[11];
  CHECK_FALSE(is_permutation(all));
}

TEST_CASE("layout: dense strides nest the dimensions in the dim order, a size of 0 counting as 1") {
  CHECK(dense_strides_of({2, 3, 4}, {0, 1, 2}) == Vector{12, 4, 1});
  CHECK(dense_strides_of({2, 3, 4, 5}, {0, 2, 3, 1}) == Vector{60, 1, 15, 3});
  CHECK(dense_strides_of({2, 3}, {1, 0}) == Vector{1, 2});
  CHECK(dense_strides_of({2, 0, 3}, {0, 1, 2}) == Vector{3, 3, 1});
  CHECK(dense_strides_of({0}, {0}) == Vector{1});
  CHECK(dense_strides_of({1, 1}, {0, 1}) == Vector{1, 1});
}

TEST_CASE("layout: the dim order sorts dimensions by descending strides") {
  CHECK(order_of({}, {}) == Order{});
  CHECK(order_of({5}, {1}) == Order{0});
  CHECK(order_of({2, 3, 4}, {12, 4, 1}) == Order{0, 1, 2});
  CHECK(order_of({2, 3}, {1, 2}) == Order{1, 0});
  CHECK(order_of({2, 3, 4, 5}, {60, 1, 15, 3}) == Order{0, 2, 3, 1});  // channels last
  CHECK(order_of({4, 3, 2}, {1, 4, 12}) == Order{2, 1, 0});
}

TEST_CASE("layout: the dim order sorts negative strides by magnitude") {
  CHECK(order_of({2, 3}, {-3, 1}) == Order{0, 1});
  CHECK(order_of({2, 3}, {1, -2}) == Order{1, 0});
  CHECK(order_of({2, 2, 2}, {INT64_MIN, INT64_MAX - 1, 1}) == Order{0, 1, 2});
}

TEST_CASE("layout: a size-1 dimension's stride is ignored, it stays before what follows it") {
  CHECK(order_of({1, 128}, {1, 1}) == Order{0, 1});
  CHECK(order_of({1024, 1}, {1, 1}) == Order{0, 1});
  CHECK(order_of({1, 3, 4, 5}, {0, 1, 15, 3}) == Order{0, 2, 3, 1});
  CHECK(order_of({1, 3, 4, 5}, {-99, 20, 5, 1}) == Order{0, 1, 2, 3});
  // One channel: NCHW and NHWC are the same memory, whatever stride the channel has.
  CHECK(order_of({2, 1, 4, 5}, {20, 1, 5, 1}) == Order{0, 1, 2, 3});
  CHECK(order_of({2, 1, 4, 5}, {20, 20, 5, 1}) == Order{0, 1, 2, 3});
  CHECK(order_of({2, 1, 4, 5}, {20, 0, 5, 1}) == Order{0, 1, 2, 3});
  // One pixel: the same.
  CHECK(order_of({2, 3, 1, 1}, {3, 1, 3, 3}) == Order{0, 1, 2, 3});
  CHECK(order_of({2, 3, 1, 1}, {3, 1, 1, 1}) == Order{0, 1, 2, 3});
  // Columns of one: width 5 lies outside height 4; the size-1 dimension goes before dimension 3.
  CHECK(order_of({2, 1, 4, 5}, {20, 7, 1, 4}) == Order{0, 1, 3, 2});
  CHECK(order_of({4, 5, 1}, {1, 4, 99}) == Order{1, 0, 2});
  CHECK(order_of({1, 1, 1}, {5, 7, 6}) == Order{0, 1, 2});
}

TEST_CASE("layout: the dim order is a stable sort, for thousands of random shapes") {
  check_shapes(2, [](const Shape& shape, const Vector&) {
    Order expected;
    for (size_t d = 0; d < shape.sizes.size(); ++d) {
      if (shape.sizes[d] != 1) expected.push_back(static_cast<DimOrderType>(d));
    }
    std::sort(expected.begin(), expected.end(), [&](size_t a, size_t b) {
      const int64_t stride_a = std::abs(shape.strides[a]);
      const int64_t stride_b = std::abs(shape.strides[b]);
      return stride_a != stride_b ? stride_a > stride_b : a < b;
    });
    for (size_t d = 0; d < shape.sizes.size(); ++d) {
      if (shape.sizes[d] != 1) continue;
      const auto at = std::find_if(expected.begin(), expected.end(),
                                   [&](DimOrderType other) { return other > d; });
      expected.insert(at, static_cast<DimOrderType>(d));
    }
    const Order order = order_of(shape.sizes, shape.strides);
    return order == expected && strides_agree_with(shape.sizes, shape.strides, order);
  });
}

TEST_CASE("layout: strides agree with an order along which they do not grow") {
  const auto agree = [](const Vector& sizes, const Vector& strides, const Order& order) {
    return strides_agree_with(sizes, strides, order);
  };
  CHECK(agree({2, 3}, {3, 1}, {0, 1}));
  CHECK_FALSE(agree({2, 3}, {3, 1}, {1, 0}));
  CHECK(agree({2, 3}, {100, 7}, {0, 1}));   // gaps
  CHECK(agree({2, 3}, {-100, 7}, {0, 1}));  // magnitudes
  CHECK_FALSE(agree({2, 3}, {7, -100}, {0, 1}));
  CHECK(agree({2, 2}, {1, 1}, {0, 1}));  // ties, either way
  CHECK(agree({2, 2}, {1, 1}, {1, 0}));
  CHECK(agree({2, 1, 3}, {3, 99, 1}, {0, 1, 2}));  // size 1 is free
  CHECK(agree({2, 1, 3}, {3, 0, 1}, {1, 0, 2}));
  CHECK(agree({3, 0}, {1, 5}, {0, 1}));  // and so is all without elements
  CHECK(agree({0, 3}, {1, 5}, {0, 1}));
  CHECK(agree({}, {}, {}));
}

TEST_CASE("layout: contiguity ignores size-1 strides, and all strides without elements") {
  const auto is_contiguous = [](const Vector& sizes, const Vector& strides) {
    return tenon::is_contiguous(sizes, strides);
  };
  CHECK(is_contiguous({}, {}));
  CHECK(is_contiguous({2, 3, 4}, {12, 4, 1}));
  CHECK(is_contiguous({1, 128}, {1, 1}));
  CHECK(is_contiguous({1024, 1}, {1, 1}));
  CHECK(is_contiguous({1024, 1}, {1, -77}));
  CHECK(is_contiguous({1, 1}, {0, 0}));
  CHECK(is_contiguous({0, 3}, {99, -5}));
  CHECK(is_contiguous({3, 0}, {99, -5}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK_FALSE(is_contiguous({2, 3}, {4, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {0, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {-3, 1}));
  CHECK_FALSE(is_contiguous({3}, {2}));
  CHECK_FALSE(is_contiguous({3}, {0}));
}

TEST_CASE("layout: contiguous means that element k is at offset k, for random shapes") {
  int contiguous = 0;
  check_shapes(3, [&](const Shape& shape, const Vector& offsets) {
    const bool expected = is_counting(offsets);
    contiguous += expected ? 1 : 0;
    return is_contiguous(shape.sizes, shape.strides) == expected;
  });
  CHECK((contiguous > 500 && contiguous < kShapes - 500));
}

TEST_CASE("layout: dense means that the offsets are 0 to numel - 1, each once, for random shapes") {
  int dense = 0;
  check_shapes(4, [&](const Shape& shape, Vector offsets) {
    std::sort(offsets.begin(), offsets.end());
    const bool expected = is_counting(offsets);
    dense += expected ? 1 : 0;
    const Order order = order_of(shape.sizes, shape.strides);
    return is_dense(shape.sizes, shape.strides, order) == expected;
  });
  CHECK((dense > 500 && dense < kShapes - 500));
}

TEST_CASE("layout: nested strides do not overlap, repeated and interleaved ones may") {
  const auto may_overlap = [](const Vector& sizes, const Vector& strides) {
    return tenon::may_overlap(sizes, strides, order_of(sizes, strides));
  };
  CHECK_FALSE(may_overlap({}, {}));
  CHECK_FALSE(may_overlap({2, 3}, {3, 1}));
  CHECK_FALSE(may_overlap({2, 3}, {1, 2}));
  CHECK_FALSE(may_overlap({2, 3}, {10, 2}));   // gaps
  CHECK_FALSE(may_overlap({2, 3}, {-3, -1}));  // reversed
  CHECK_FALSE(may_overlap({1, 3}, {0, 1}));    // size 1 is free
  CHECK_FALSE(may_overlap({0, 3}, {0, 0}));    // no elements
  CHECK_FALSE(may_overlap({3, 0}, {0, 0}));
  CHECK(may_overlap({2}, {0}));
  CHECK(may_overlap({2, 3}, {0, 1}));
  CHECK(may_overlap({2, 3}, {2, 1}));   // a sliding window
  CHECK(may_overlap({2, 2}, {1, -1}));  // 0 and 1 - 1
}

TEST_CASE("layout: of two dimensions, and others that nest around them, the answer is exact") {
  int wrong = 0;
  int distinct_but_interleaved = 0;
  std::string first;
  for (int64_t m = 1; m <= 5; ++m) {
    for (int64_t n = 1; n <= 5; ++n) {
      for (int64_t a = -13; a <= 13; ++a) {
        for (int64_t b = -13; b <= 13; ++b) {
          for (const bool nested : {false, true}) {
            const Vector sizes = nested ? Vector{m, 2, n} : Vector{m, n};
            const Vector strides = nested ? Vector{a, 200, b} : Vector{a, b};
            const bool collide = collides(element_offsets(sizes, strides));
            const auto order = order_of(sizes, strides);
            if (may_overlap(sizes, strides, order) != collide && wrong++ == 0) {
              first = text_of(Shape{sizes, strides});
            }
            const int64_t reach = (n - 1) * std::abs(b);
            distinct_but_interleaved +=
                !collide && m > 1 && std::abs(a) > std::abs(b) && std::abs(a) <= reach ? 1 : 0;
          }
        }
      }
    }
  }
  INFO("first wrong shape: " << first);
  CHECK(wrong == 0);
  CHECK(distinct_but_interleaved > 1000);
}

TEST_CASE("layout: may_overlap is never false when two elements collide, for random shapes") {
  int collisions = 0;
  int false_for_distinct = 0;
  check_shapes(5, [&](const Shape& shape, const Vector& offsets) {
    const bool collide = collides(offsets);
    const Order order = order_of(shape.sizes, shape.strides);
    const bool answer = may_overlap(shape.sizes, shape.strides, order);
    collisions += collide ? 1 : 0;
    false_for_distinct += !answer && !collide ? 1 : 0;
    return answer || !collide;
  });
  CHECK(collisions > 1000);
  CHECK(false_for_distinct > 1000);  // it does not just always say yes
}

TEST_CASE("layout: strides as far as the address space go up and down without an overflow") {
  const int64_t big = (int64_t{1} << 62) + 1;
  Layout layout;
  CHECK(make_layout({2, 2}, {}, {big, -big}, 1, layout) == Error::Ok);
  CHECK(layout.extent.min == -big);
  CHECK(layout.extent.max == big);
  CHECK(layout.may_overlap());  // 0 and big - big
  CHECK(make_layout({2, 2, 3}, {}, {big, -(big - 2), 1}, 1, layout) == Error::Ok);
  CHECK(layout.may_overlap());  // 2 and big - (big - 2)
  CHECK(make_layout({2, 2, 3}, {}, {big, -(big - 4), 1}, 1, layout) == Error::Ok);
  CHECK_FALSE(layout.may_overlap());
  CHECK(make_layout({2, 3}, {}, {big, -1}, 1, layout) == Error::Ok);
  CHECK_FALSE(layout.may_overlap());
}

TEST_CASE("layout: sizes alone are row-major") {
  Layout layout;
  CHECK(make_layout({2, 3, 4}, {}, {}, 4, layout) == Error::Ok);
  CHECK(layout.sizes == Dims{2, 3, 4});
  CHECK(layout.strides == Dims{12, 4, 1});
  CHECK(order_in(layout) == Order{0, 1, 2});
  CHECK(layout.numel == 24);
  CHECK(layout.extent.min == 0);
  CHECK(layout.extent.max == 23);
  CHECK(layout.reach() == 24);
  CHECK(layout.is_contiguous());
  CHECK(layout.is_dense());
  CHECK_FALSE(layout.may_overlap());
}

TEST_CASE("layout: no sizes are a scalar") {
  Layout layout;
  CHECK(make_layout({}, {}, {}, 8, layout) == Error::Ok);
  CHECK(layout.sizes.empty());
  CHECK(layout.strides.empty());
  CHECK(layout.numel == 1);
  CHECK(layout.reach() == 1);
  CHECK(layout.is_contiguous());
}

TEST_CASE("layout: a dim order gives the dense strides nested in it") {
  Layout layout;
  CHECK(make_layout({2, 3, 4, 5}, {0, 2, 3, 1}, {}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{60, 1, 15, 3});
  CHECK(order_in(layout) == Order{0, 2, 3, 1});
  CHECK_FALSE(layout.is_contiguous());
  CHECK(layout.is_dense());
  CHECK(layout.reach() == 120);
}

TEST_CASE("layout: strides imply the dim order and are kept as given") {
  Layout layout;
  CHECK(make_layout({2, 3}, {}, {1, 10}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{1, 10});
  CHECK(order_in(layout) == Order{1, 0});
  CHECK(layout.numel == 6);
  CHECK(layout.reach() == 22);
  CHECK_FALSE(layout.is_dense());
  CHECK(make_layout({2, 1}, {}, {1, -99}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{1, -99});
  CHECK(layout.is_contiguous());
  CHECK(make_layout({2, 3}, {}, {-3, 1}, 4, layout) == Error::Ok);
  CHECK(layout.extent.min == -3);
  CHECK(layout.extent.max == 2);
  CHECK(layout.reach() == 3);
  CHECK(make_layout({4, 5}, {}, {0, 1}, 4, layout) == Error::Ok);
  CHECK(layout.may_overlap());
}

TEST_CASE("layout: a dim order and strides that agree are both kept") {
  Layout layout;
  CHECK(make_layout({2, 3}, {1, 0}, {1, 4}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{1, 4});
  CHECK(order_in(layout) == Order{1, 0});
  // Where strides tie, either order agrees, and the one given stays.
  CHECK(make_layout({2, 2}, {1, 0}, {0, 0}, 4, layout) == Error::Ok);
  CHECK(order_in(layout) == Order{1, 0});
}

TEST_CASE("layout: a shape without elements takes any strides") {
  Layout layout;
  CHECK(make_layout({2, 0, 3}, {}, {}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{3, 3, 1});
  CHECK(layout.numel == 0);
  CHECK(layout.reach() == 0);
  CHECK(make_layout({5, 0}, {}, {INT64_MAX, INT64_MIN}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{INT64_MAX, INT64_MIN});
  CHECK(layout.extent.max == -1);
  CHECK(layout.is_contiguous());
  CHECK(layout.is_dense());
  CHECK_FALSE(layout.may_overlap());
  CHECK(make_layout({0, 3}, {0, 1}, {1, 7}, 4, layout) == Error::Ok);
}

TEST_CASE("layout: up to 64 dimensions work, beyond the inline ones too") {
  for (size_t rank : std::initializer_list<size_t>{6, 7, 8, 9, 64}) {
    INFO("rank " << rank);
    Vector sizes(rank, 1);
    sizes.front() = 2;
    sizes.back() = 3;
    Vector expected(rank, 3);
    expected.back() = 1;
    Layout layout;
    CHECK(make_layout(sizes, {}, {}, 4, layout) == Error::Ok);
    CHECK(layout.numel == 6);
    CHECK(layout.strides == Dims(expected));
    REQUIRE(layout.dim_order.size() == rank);
    CHECK(layout.dim_order[rank - 1] == rank - 1);
  }
}

TEST_CASE("layout: more than 64 entries are an error that names the list") {
  const Vector many(65, 1);
  Layout layout;
  RETURNS(InvalidArgument, "sizes has more than 64 entries", make_layout(many, {}, {}, 4, layout));
  RETURNS(InvalidArgument, "dim_order has more than 64 entries",
          make_layout({1}, many, {}, 4, layout));
  RETURNS(InvalidArgument, "strides has more than 64 entries",
          make_layout({1}, {}, many, 4, layout));
}

TEST_CASE("layout: make_layout refuses what is no shape, and says what it is") {
  Layout layout;
  RETURNS(InvalidArgument, "size -1 of dimension 0 is negative in sizes {-1, 2}",
          make_layout({-1, 2}, {}, {}, 4, layout));
  RETURNS(InvalidArgument, "size -1 of dimension 0",
          make_layout({-1, 2}, {0, 1}, {2, 1}, 4, layout));
  RETURNS(InvalidArgument, "overflows 64 bits", make_layout({INT64_MAX, 2}, {}, {}, 1, layout));
  RETURNS(InvalidArgument, "elements of 4 bytes overflow the address space",
          make_layout({INT64_MAX}, {}, {}, 4, layout));
  RETURNS(InvalidArgument, "strides {1} and sizes {2, 3} differ in length",
          make_layout({2, 3}, {}, {1}, 4, layout));
  RETURNS(InvalidArgument, "strides {1} and sizes {} differ in length",
          make_layout({}, {}, {1}, 4, layout));
  RETURNS(InvalidArgument, "dim_order {0} and sizes {2, 3} differ in length",
          make_layout({2, 3}, {0}, {}, 4, layout));
  RETURNS(InvalidArgument, "dim_order {0, 0} is not a permutation of the 2 dimensions",
          make_layout({2, 3}, {0, 0}, {}, 4, layout));
  for (int64_t bad : {int64_t{2}, int64_t{-1}, int64_t{256}, int64_t{257}, INT64_MIN, INT64_MAX}) {
    RETURNS(InvalidArgument, "is not a permutation of the 2 dimensions",
            make_layout({2, 3}, {0, bad}, {}, 4, layout));
  }
  RETURNS(InvalidArgument,
          "strides {3, 1} do not nest in the order of dim_order {1, 0} for sizes {2, 3}",
          make_layout({2, 3}, {1, 0}, {3, 1}, 4, layout));
}

TEST_CASE("layout: strides that reach beyond the address space are an error, in either direction") {
  Layout layout;
  const int64_t two61 = int64_t{1} << 61;
  RETURNS(InvalidArgument, "overflow 64 bits", make_layout({3}, {}, {int64_t{1} << 62}, 1, layout));
  RETURNS(InvalidArgument, "overflow 64 bits", make_layout({2}, {}, {INT64_MAX}, 1, layout));
  RETURNS(InvalidArgument, "elements of 4 bytes overflow the address space",
          make_layout({2}, {}, {two61}, 4, layout));
  RETURNS(InvalidArgument, "elements of 4 bytes overflow the address space",
          make_layout({2}, {}, {-two61}, 4, layout));
  RETURNS(InvalidArgument, "overflow the address space",
          make_layout({2}, {}, {INT64_MIN}, 1, layout));
  CHECK(make_layout({2}, {}, {two61 - 2}, 4, layout) == Error::Ok);
  CHECK(make_layout({1}, {}, {INT64_MAX}, 4, layout) == Error::Ok);
}
