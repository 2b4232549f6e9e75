// SPDX-License-Identifier: MIT
#include "tenon/core/layout.h"

#include "support/catch.h"
#include "support/shapes.h"

namespace layout_test {

using namespace tenon;
using namespace tests;

namespace {

using Order = std::vector<DimOrderType>;

// The most elements that a shape can have, a half and a quarter of one more, and its root.
constexpr int64_t kMost = PTRDIFF_MAX;
constexpr int64_t kLeast = PTRDIFF_MIN;
constexpr int64_t kHalf = kMost / 2 + 1;
constexpr int64_t kQuarter = kMost / 4 + 1;
constexpr int64_t kRoot = int64_t{1} << 4 * sizeof(ptrdiff_t);

Order order_of(const Vector& sizes, const Vector& strides) {
  Order order(sizes.size());
  dim_order_from_strides(sizes, strides, Span<DimOrderType>(order));
  return order;
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

// Descending magnitudes in logical order; then each size-1 dimension before the first later one.
Order expected_order(const Shape& shape) {
  Order order;
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    if (shape.sizes[d] != 1) order.push_back(static_cast<DimOrderType>(d));
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(shape.strides[a]) > std::abs(shape.strides[b]);
  });
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    if (shape.sizes[d] != 1) continue;
    const auto at =
        std::find_if(order.begin(), order.end(), [&](DimOrderType other) { return other > d; });
    order.insert(at, static_cast<DimOrderType>(d));
  }
  return order;
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
  const struct {
    Vector sizes;
    int64_t numel;
  } rows[] = {{{}, 1},  {{7}, 7},       {{2, 3, 4}, 24},  {{2, 0, 4}, 0},
              {{0}, 0}, {{1, 1, 1}, 1}, {{kMost}, kMost}, {{kRoot / 2, kRoot / 2}, kHalf}};
  for (const auto& row : rows) {
    int64_t numel = -1;
    CHECK(compute_numel(row.sizes, 1, numel) == Error::Ok);
    CHECK(numel == row.numel);
  }
  int64_t numel = -1;
  CHECK(compute_numel(Dims{kQuarter - 1}, 4, numel) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("layout: a negative size or an overflowing count is an error that says which") {
  const struct {
    Vector sizes;
    size_t element_size;
    std::string words;
  } rows[] = {
      {{2, -1, 3}, 4, "size -1 of dimension 1 is negative in sizes {2, -1, 3}"},
      {{INT64_MIN}, 4, "size -9223372036854775808 of dimension 0"},
      // Neither an overflow nor a 0 hides it.
      {{kMost, -5}, 4, "size -5 of dimension 1"},
      {{0, -5}, 4, "size -5 of dimension 1"},
      {{-2, -3}, 4, "size -2 of dimension 0"},
      {{kRoot, kRoot}, 1, "the element count of sizes {" + std::to_string(kRoot) + ", "},
      {{kMost, 2}, 1, "overflows the address space"},
      // Its strides would be products of the other sizes.
      {{kRoot, 0, kRoot}, 1, "overflows the address space"},
      {{kQuarter}, 4, std::to_string(kQuarter) + " elements of 4 bytes overflow"},
      {{kMost}, 16, std::to_string(kMost) + " elements of 16 bytes overflow"},
  };
  for (const auto& row : rows) {
    int64_t numel = 77;
    RETURNS(InvalidArgument, row.words, compute_numel(row.sizes, row.element_size, numel));
    CHECK(numel == 77);
  }
}

TEST_CASE("layout: nbytes is the count times the element size, up to PTRDIFF_MAX") {
  size_t nbytes = 0;
  CHECK(compute_nbytes(6, 4, nbytes) == Error::Ok);
  CHECK(nbytes == 24);
  CHECK(compute_nbytes(PTRDIFF_MAX, 1, nbytes) == Error::Ok);
  CHECK(nbytes == static_cast<size_t>(PTRDIFF_MAX));
  RETURNS(InvalidArgument, std::to_string(kHalf) + " elements of 2 bytes overflow",
          compute_nbytes(kHalf, 2, nbytes));
  RETURNS(InvalidArgument, "overflow the address space", compute_nbytes(INT64_MAX, 8, nbytes));
  RETURNS(InvalidArgument, "overflow", compute_nbytes(INT64_MIN, 1, nbytes));
  RETURNS(InvalidArgument, "overflow", compute_nbytes(kLeast, 1, nbytes));
}

TEST_CASE("layout: what strides imply: dim order, extent, contiguity, density and overlap") {
  const struct {
    Vector sizes, strides;
    Order order;
    int64_t min, max;
    std::string is;  // c: contiguous, d: dense, o: may overlap
  } rows[] = {
      {{}, {}, {}, 0, 0, "cd"},
      {{5}, {1}, {0}, 0, 4, "cd"},
      {{3}, {2}, {0}, 0, 4, ""},
      {{5}, {0}, {0}, 0, 0, "o"},
      {{2, 3}, {3, 1}, {0, 1}, 0, 5, "cd"},
      {{2, 3}, {1, 2}, {1, 0}, 0, 5, "d"},
      {{2, 3}, {4, 1}, {0, 1}, 0, 6, ""},
      {{2, 3}, {0, 1}, {1, 0}, 0, 2, "o"},
      {{2, 3}, {2, 1}, {0, 1}, 0, 4, "o"},  // a sliding window
      {{2, 2}, {1, 1}, {0, 1}, 0, 2, "o"},
      {{2, 3, 4}, {12, 4, 1}, {0, 1, 2}, 0, 23, "cd"},
      {{4, 3, 2}, {1, 4, 12}, {2, 1, 0}, 0, 23, "d"},
      {{2, 3, 4, 5}, {60, 1, 15, 3}, {0, 2, 3, 1}, 0, 119, "d"},  // channels last
      // Negative ones count by magnitude.
      {{2, 3}, {-3, 1}, {0, 1}, -3, 2, ""},
      {{2, 3}, {1, -2}, {1, 0}, -4, 1, ""},
      {{2, 3}, {10, -2}, {0, 1}, -4, 10, ""},
      {{2, 3}, {-3, -1}, {0, 1}, -5, 0, ""},
      {{2, 2}, {1, -1}, {0, 1}, -1, 1, "o"},  // 0 and 1 - 1
      // A size-1 dimension's stride is ignored; it goes before what follows it.
      {{1, 128}, {1, 1}, {0, 1}, 0, 127, "cd"},
      {{1024, 1}, {1, -77}, {0, 1}, 0, 1023, "cd"},
      {{1, 3}, {INT64_MIN, 1}, {0, 1}, 0, 2, "cd"},
      {{1, 1, 1}, {5, 7, 6}, {0, 1, 2}, 0, 0, "cd"},
      {{1, 3, 4, 5}, {0, 1, 15, 3}, {0, 2, 3, 1}, 0, 59, "d"},
      {{1, 3, 4, 5}, {-99, 20, 5, 1}, {0, 1, 2, 3}, 0, 59, "cd"},
      {{2, 1, 4, 5}, {20, 1, 5, 1}, {0, 1, 2, 3}, 0, 39, "cd"},
      {{2, 1, 4, 5}, {20, 20, 5, 1}, {0, 1, 2, 3}, 0, 39, "cd"},
      {{2, 3, 1, 1}, {3, 1, 3, 3}, {0, 1, 2, 3}, 0, 5, "cd"},
      {{2, 1, 4, 5}, {20, 7, 1, 4}, {0, 1, 3, 2}, 0, 39, "d"},
      {{4, 5, 1}, {1, 4, 99}, {1, 0, 2}, 0, 19, "d"},
      // Nothing matters without elements, wherever the 0 is.
      {{0, 3}, {99, -5}, {0, 1}, 0, -1, "cd"},
      {{3, 0}, {INT64_MAX, 1}, {0, 1}, 0, -1, "cd"},
      {{3, 0}, {0, 0}, {0, 1}, 0, -1, "cd"},
      // The highest offset that there can be.
      {{2}, {kMost - 1}, {0}, 0, kMost - 1, ""},
  };
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.strides}));
    CHECK(order_of(row.sizes, row.strides) == row.order);
    CHECK(strides_agree_with(row.sizes, row.strides, row.order));
    Extent extent{123, 456};
    CHECK(compute_extent(row.sizes, row.strides, extent) == Error::Ok);
    CHECK(extent.min == row.min);
    CHECK(extent.max == row.max);
    CHECK(is_contiguous(row.sizes, row.strides) == contains(row.is, "c"));
    CHECK(is_dense(row.sizes, row.strides, row.order) == contains(row.is, "d"));
    CHECK(may_overlap(row.sizes, row.strides, row.order) == contains(row.is, "o"));
  }
  CHECK(order_of({2, 2, 2}, {INT64_MIN, INT64_MAX - 1, 1}) == Order{0, 1, 2});
}

TEST_CASE("layout: the same for thousands of random shapes, by enumerating their elements") {
  constexpr int kShapes = 8000;
  Rng random{1};
  int wrong = 0, zero_size = 0, contiguous = 0, dense = 0, collisions = 0, distinct = 0;
  std::string first;
  for (int i = 0; i < kShapes; ++i) {
    const Shape shape = random_shape(random);
    const Vector offsets = element_offsets(shape.sizes, shape.strides);
    Vector sorted = offsets;
    std::sort(sorted.begin(), sorted.end());
    const Order order = expected_order(shape);
    const bool collide = collides(offsets);
    const bool answer = may_overlap(shape.sizes, shape.strides, order);
    Extent extent{123, 456};
    Layout layout;
    const bool is_made =
        make_layout(Dims(shape.sizes), {}, Dims(shape.strides), 1, layout) == Error::Ok &&
        std::equal(shape.sizes.begin(), shape.sizes.end(), layout.sizes.begin()) &&
        std::equal(shape.strides.begin(), shape.strides.end(), layout.strides.begin()) &&
        std::equal(order.begin(), order.end(), layout.dim_order.begin()) &&
        layout.numel == static_cast<ptrdiff_t>(offsets.size()) &&
        layout.extent.min == (sorted.empty() ? 0 : sorted.front()) &&
        layout.extent.max == (sorted.empty() ? -1 : sorted.back());
    const bool right = is_made && compute_extent(shape.sizes, shape.strides, extent) == Error::Ok &&
                       extent.min == (sorted.empty() ? 0 : sorted.front()) &&
                       extent.max == (sorted.empty() ? -1 : sorted.back()) &&
                       order_of(shape.sizes, shape.strides) == order &&
                       strides_agree_with(shape.sizes, shape.strides, order) &&
                       is_contiguous(shape.sizes, shape.strides) == is_counting(offsets) &&
                       is_dense(shape.sizes, shape.strides, order) == is_counting(sorted) &&
                       (answer || !collide);
    if (!right && wrong++ == 0) first = text_of(shape);
    zero_size += offsets.empty() ? 1 : 0;
    contiguous += is_counting(offsets) ? 1 : 0;
    dense += is_counting(sorted) ? 1 : 0;
    collisions += collide ? 1 : 0;
    distinct += !answer && !collide ? 1 : 0;
  }
  INFO("first wrong shape: " << first);
  CHECK(wrong == 0);
  // Both answers to every question occur.
  CHECK((zero_size > 100 && collisions > 1000 && distinct > 1000));
  CHECK((contiguous > 500 && dense > contiguous && dense < kShapes - 500));
}

TEST_CASE("layout: whether two dimensions overlap, and others nest around them, is exact") {
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

TEST_CASE("layout: make_layout of sizes, dim order and strides") {
  const struct {
    Vector sizes, dim_order, strides;
    Vector expected;
    Order order;
    int64_t numel, reach;
  } rows[] = {
      {{}, {}, {}, {}, {}, 1, 1},
      {{2, 3, 4}, {}, {}, {12, 4, 1}, {0, 1, 2}, 24, 24},
      {{2, 3, 4, 5}, {0, 2, 3, 1}, {}, {60, 1, 15, 3}, {0, 2, 3, 1}, 120, 120},
      {{2, 0, 3}, {}, {}, {3, 3, 1}, {0, 1, 2}, 0, 0},  // 0 counts as 1
      {{0}, {0}, {}, {1}, {0}, 0, 0},
      // Strides are kept as given.
      {{2, 3}, {}, {1, 10}, {1, 10}, {1, 0}, 6, 22},
      {{2, 1}, {}, {1, -99}, {1, -99}, {0, 1}, 2, 2},
      {{2, 3}, {}, {-3, 1}, {-3, 1}, {0, 1}, 6, 3},
      {{5, 0}, {}, {INT64_MAX, INT64_MIN}, {INT64_MAX, INT64_MIN}, {0, 1}, 0, 0},
      {{1}, {}, {INT64_MAX}, {INT64_MAX}, {0}, 1, 1},
      {{2}, {}, {kQuarter - 2}, {kQuarter - 2}, {0}, 2, kQuarter - 1},
      // Both, where they agree; where strides tie, the order given stays.
      {{2, 3}, {1, 0}, {1, 4}, {1, 4}, {1, 0}, 6, 10},
      {{2, 2}, {1, 0}, {0, 0}, {0, 0}, {1, 0}, 4, 1},
      {{0, 3}, {0, 1}, {1, 7}, {1, 7}, {0, 1}, 0, 0},
      {{2, 1, 3}, {1, 0, 2}, {3, 0, 1}, {3, 0, 1}, {1, 0, 2}, 6, 6},
      {{2, 3}, {0, 1}, {-100, 7}, {-100, 7}, {0, 1}, 6, 15},
  };
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.expected}));
    Layout layout;
    REQUIRE(make_layout(row.sizes, row.dim_order, row.strides, 4, layout) == Error::Ok);
    CHECK(layout.sizes == Dims(row.sizes));
    CHECK(layout.strides == Dims(row.expected));
    CHECK(Order(layout.dim_order.begin(), layout.dim_order.end()) == row.order);
    CHECK(layout.numel == row.numel);
    CHECK(layout.reach() == row.reach);
    CHECK(layout.is_contiguous() == is_contiguous(row.sizes, row.expected));
    CHECK(layout.is_dense() == is_dense(row.sizes, row.expected, row.order));
    CHECK(layout.may_overlap() == may_overlap(row.sizes, row.expected, row.order));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("layout: strides as far as the address space go up and down without an overflow") {
  const int64_t big = kHalf + 1;
  const struct {
    Vector sizes, strides;
    bool overlap;
  } rows[] = {{{2, 2}, {big, -big}, true},              // 0 and big - big
              {{2, 2, 3}, {big, -(big - 2), 1}, true},  // 2 and big - (big - 2)
              {{2, 2, 3}, {big, -(big - 4), 1}, false},
              {{2, 3}, {big, -1}, false}};
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.strides}));
    Layout layout;
    CHECK(make_layout(row.sizes, {}, row.strides, 1, layout) == Error::Ok);
    CHECK(layout.may_overlap() == row.overlap);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("layout: up to 64 dimensions work, beyond the inline ones too, in any order") {
  for (size_t rank : {size_t{6}, size_t{7}, size_t{8}, size_t{9}, size_t{64}}) {
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
    Vector reversed(rank);
    for (size_t d = 0; d < rank; ++d) reversed[d] = static_cast<int64_t>(rank - 1 - d);
    CHECK(make_layout(sizes, reversed, {}, 4, layout) == Error::Ok);
    CHECK(layout.strides[0] == 1);
    CHECK(layout.strides[rank - 1] == 2);
    reversed[1] = reversed[0];
    RETURNS(InvalidArgument, "not a permutation", make_layout(sizes, reversed, {}, 4, layout));
  }
}

TEST_CASE("layout: make_layout refuses what is no shape, and says what it is") {
  const Vector many(65, 1);
  const struct {
    Vector sizes, dim_order, strides;
    size_t element_size;
    std::string words;
  } rows[] = {
      {many, {}, {}, 4, "sizes has more than 64 entries"},
      {{1}, many, {}, 4, "dim_order has more than 64 entries"},
      {{1}, {}, many, 4, "strides has more than 64 entries"},
      {{-1, 2}, {}, {}, 4, "size -1 of dimension 0 is negative in sizes {-1, 2}"},
      {{-1, 2}, {0, 1}, {2, 1}, 4, "size -1 of dimension 0"},
      {{kMost, 2}, {}, {}, 1, "overflows the address space"},
      {{kMost}, {}, {}, 4, "elements of 4 bytes overflow the address space"},
      {{2, 3}, {}, {1}, 4, "strides {1} and sizes {2, 3} differ in length"},
      {{}, {}, {1}, 4, "strides {1} and sizes {} differ in length"},
      {{2, 3}, {0}, {}, 4, "dim_order {0} and sizes {2, 3} differ in length"},
      {{2, 3}, {0, 0}, {}, 4, "dim_order {0, 0} is not a permutation of the 2 dimensions"},
      {{2, 3}, {0, 2}, {}, 4, "is not a permutation of the 2 dimensions"},
      {{2, 3}, {0, -1}, {}, 4, "is not a permutation of the 2 dimensions"},
      {{2, 3}, {0, 257}, {}, 4, "is not a permutation of the 2 dimensions"},
      {{2, 3}, {0, INT64_MIN}, {}, 4, "is not a permutation of the 2 dimensions"},
      {{2, 3}, {0, INT64_MAX}, {}, 4, "is not a permutation of the 2 dimensions"},
      {{2, 3},
       {1, 0},
       {3, 1},
       4,
       "strides {3, 1} do not nest in the order of dim_order {1, 0} for sizes {2, 3}"},
      {{2, 3}, {0, 1}, {7, -100}, 4, "do not nest"},
      // Strides that reach beyond the address space, in either direction.
      {{3},
       {},
       {kHalf},
       1,
       "strides {" + std::to_string(kHalf) + "} with sizes {3} overflow the address space"},
      {{2, 2}, {}, {kHalf, kHalf}, 1, "overflow the address space"},
      {{3}, {}, {INT64_MIN}, 1, "overflow the address space"},
      {{2}, {}, {kMost}, 1, "overflow the address space"},  // the offset fits, the count does not
      {{2}, {}, {kQuarter}, 4, "elements of 4 bytes overflow the address space"},
      {{2}, {}, {-kQuarter}, 4, "elements of 4 bytes overflow the address space"},
      {{2}, {}, {kLeast}, 1, "overflow the address space"},
  };
  for (const auto& row : rows) {
    Layout layout;
    INFO(row.words);
    RETURNS(InvalidArgument, row.words,
            make_layout(row.sizes, row.dim_order, row.strides, row.element_size, layout));
  }
}

TEST_CASE("layout: what 32 bits cannot hold is refused where addresses have 32") {
  const int64_t two32 = int64_t{1} << 32;
  // Cut to 32 bits these would be 0, 1 or small.
  const struct {
    Vector sizes, strides;
  } rows[] = {{{two32}, {}},      {{two32 + 1}, {}},     {{65536, 65536}, {}},
              {{two32, 0}, {}},   {{2}, {two32}},        {{2}, {two32 + 1}},
              {{2}, {-two32}},    {{2}, {1 - two32}},    {{65537, 2}, {65536, 1}},
              {{two32 + 1}, {1}}, {{two32 + 2}, {two32}}};
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.strides.empty() ? row.sizes : row.strides}));
    Layout layout;
    if (sizeof(ptrdiff_t) == 4) {
      RETURNS(InvalidArgument, "address space", make_layout(row.sizes, {}, row.strides, 1, layout));
    } else {
      CHECK((make_layout(row.sizes, {}, row.strides, 1, layout) == Error::Ok) ==
            (row.sizes[0] != two32 + 2));  // beyond 64 bits
    }
  }
  // A stride that no element follows means nothing.
  Layout layout;
  CHECK(make_layout({1, 3}, {}, {two32, 1}, 4, layout) == Error::Ok);
  CHECK(layout.strides == Dims{two32, 1});
  CHECK(layout.reach() == 3);
  CHECK(make_layout({0, 3}, {}, {two32, two32}, 4, layout) == Error::Ok);
}

}  // namespace layout_test
