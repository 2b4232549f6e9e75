// SPDX-License-Identifier: MIT
#include "tenon/core/strides.h"

#include "tenon/core/layout.h"

#include "support/catch.h"
#include "support/shapes.h"

namespace strides_test {

using namespace tenon;
using tenon::detail::Layout;
using tenon::detail::make_layout;
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

TEST_CASE("strides: numel is the product of the sizes, 1 for none and 0 with a 0 among them") {
  const struct {
    Vector sizes;
    int64_t numel;
  } rows[] = {{{}, 1},  {{7}, 7},       {{2, 3, 4}, 24},  {{2, 0, 4}, 0},
              {{0}, 0}, {{1, 1, 1}, 1}, {{kMost}, kMost}, {{kRoot / 2, kRoot / 2}, kHalf}};
  for (const auto& row : rows) {
    ptrdiff_t numel = -1;
    CHECK(compute_numel(row.sizes, 1, numel) == Error::Ok);
    CHECK(numel == row.numel);
  }
  ptrdiff_t numel = -1;
  CHECK(compute_numel(Dims{kQuarter - 1}, 4, numel) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("strides: a negative size or an overflowing count is an error that says which") {
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
      {{kRoot, kRoot}, 1, "the element count of sizes {" + std::to_string(kRoot) + ", "},
      // Its strides would be products of the other sizes.
      {{kRoot, 0, kRoot}, 1, "overflows the address space"},
      {{kQuarter}, 4, std::to_string(kQuarter) + " elements of 4 bytes overflow"},
      {{kMost}, 16, std::to_string(kMost) + " elements of 16 bytes overflow"},
  };
  for (const auto& row : rows) {
    ptrdiff_t numel = 77;
    RETURNS(InvalidArgument, row.words, compute_numel(row.sizes, row.element_size, numel));
    CHECK(numel == 77);
  }
}

TEST_CASE("strides: nbytes is the count times the element size, up to PTRDIFF_MAX") {
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

TEST_CASE("strides: what strides imply: dim order, offsets, contiguity, density and overlap") {
  const struct {
    Vector sizes, strides;
    Order order;
    int64_t min, max;
    std::string is;  // c: contiguous, d: dense, o: may overlap
  } rows[] = {
      {{}, {}, {}, 0, 0, "cd"},
      {{2, 3, 4, 5}, {60, 1, 15, 3}, {0, 2, 3, 1}, 0, 119, "d"},  // channels last
      // Negative ones count by magnitude.
      {{2, 2}, {1, -1}, {0, 1}, -1, 1, "o"},  // 0 and 1 - 1
      // A size-1 dimension's stride is ignored; it goes before what follows it.
      // Nothing matters without elements, wherever the 0 is.
      {{0, 3}, {99, -5}, {0, 1}, 0, -1, "cd"},
      {{0, 2, int64_t{1} << 32 | 1}, {0, 0, int64_t{1} << 32}, {2, 0, 1}, 0, -1, "cd"},
      // The highest offset that there can be.
      {{2}, {kMost - 1}, {0}, 0, kMost - 1, ""},
  };
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.strides}));
    CHECK(order_of(row.sizes, row.strides) == row.order);
    OffsetRange offsets{123, 456};
    CHECK(compute_offset_range(row.sizes, row.strides, offsets) == Error::Ok);
    CHECK(offsets.min == row.min);
    CHECK(offsets.max == row.max);
    CHECK(is_contiguous(row.sizes, row.strides) == contains(row.is, "c"));
    CHECK(is_dense(row.sizes, row.strides, row.order) == contains(row.is, "d"));
    CHECK(may_overlap(row.sizes, row.strides, row.order) == contains(row.is, "o"));
  }
  CHECK(order_of({2, 2, 2}, {INT64_MIN, INT64_MAX - 1, 1}) == Order{0, 1, 2});
}

TEST_CASE("strides: the same for thousands of random shapes, by enumerating their elements") {
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
    OffsetRange range{123, 456};
    Layout layout;
    const bool is_made =
        make_layout(Dims(shape.sizes), {}, Dims(shape.strides), 1, layout) == Error::Ok &&
        std::equal(shape.sizes.begin(), shape.sizes.end(), layout.sizes().begin()) &&
        std::equal(shape.strides.begin(), shape.strides.end(), layout.strides().begin()) &&
        std::equal(order.begin(), order.end(), layout.dim_order().begin()) &&
        layout.numel == static_cast<ptrdiff_t>(offsets.size()) &&
        layout.offsets.min == (sorted.empty() ? 0 : sorted.front()) &&
        layout.offsets.max == (sorted.empty() ? -1 : sorted.back());
    const bool right =
        is_made && compute_offset_range(shape.sizes, shape.strides, range) == Error::Ok &&
        range.min == (sorted.empty() ? 0 : sorted.front()) &&
        range.max == (sorted.empty() ? -1 : sorted.back()) &&
        order_of(shape.sizes, shape.strides) == order &&
        make_layout(Dims(shape.sizes), Dims(order), Dims(shape.strides), 1, layout) == Error::Ok &&
        is_contiguous(shape.sizes, shape.strides) == is_counting(offsets) &&
        is_dense(shape.sizes, shape.strides, order) == is_counting(sorted) && (answer || !collide);
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

TEST_CASE("strides: whether two dimensions overlap, and others nest around them, is exact") {
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

}  // namespace strides_test
