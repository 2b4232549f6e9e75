// SPDX-License-Identifier: MIT
#include "tenon/core/layout.h"

#include "support/catch.h"
#include "support/shapes.h"

namespace layout_test {

using namespace tenon;
using tenon::detail::Layout;
using tenon::detail::make_layout;
using namespace tests;

namespace {

using Order = std::vector<DimOrderType>;

// The most elements that a shape can have, a half and a quarter of one more.
constexpr int64_t kMost = PTRDIFF_MAX;
constexpr int64_t kLeast = PTRDIFF_MIN;
constexpr int64_t kHalf = kMost / 2 + 1;
constexpr int64_t kQuarter = kMost / 4 + 1;

struct Shape {
  Vector sizes;
  Vector strides;
};

std::string text_of(const Shape& shape) {
  std::string text;
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    text += std::to_string(shape.sizes[d]) + " by " + std::to_string(shape.strides[d]) + ", ";
  }
  return text;
}

}  // namespace

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
      // Strides are kept as given.
      {{2, 3}, {}, {1, 10}, {1, 10}, {1, 0}, 6, 22},
      {{2, 3}, {}, {-3, 1}, {-3, 1}, {0, 1}, 6, 3},
      {{5, 0}, {}, {INT64_MAX, INT64_MIN}, {INT64_MAX, INT64_MIN}, {0, 1}, 0, 0},
      {{2}, {}, {kQuarter - 2}, {kQuarter - 2}, {0}, 2, kQuarter - 1},
      // Both, where they agree; where strides tie, the order given stays.
      {{2, 3}, {1, 0}, {1, 4}, {1, 4}, {1, 0}, 6, 10},
      {{2, 2}, {1, 0}, {0, 0}, {0, 0}, {1, 0}, 4, 1},
      {{2, 1, 3}, {1, 0, 2}, {3, 0, 1}, {3, 0, 1}, {1, 0, 2}, 6, 6},
      {{2, 3}, {0, 1}, {-100, 7}, {-100, 7}, {0, 1}, 6, 15},
  };
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.expected}));
    Layout layout;
    REQUIRE(make_layout(row.sizes, row.dim_order, row.strides, 4, layout) == Error::Ok);
    CHECK(layout.sizes() == ArrayRef<int64_t>(row.sizes));
    CHECK(layout.strides() == ArrayRef<int64_t>(row.expected));
    CHECK(Order(layout.dim_order().begin(), layout.dim_order().end()) == row.order);
    CHECK(layout.numel == row.numel);
    CHECK(layout.required_span_size() == row.reach);
    CHECK(layout.is_contiguous() == is_contiguous(row.sizes, row.expected));
    CHECK(layout.is_dense() == is_dense(row.sizes, row.expected, row.order));
    CHECK(layout.may_overlap() == may_overlap(row.sizes, row.expected, row.order));
  }
}

TEST_CASE("layout: set_sizes makes the layout that make_layout makes, of any valid sizes") {
  for (const Vector& sizes : {Vector{}, Vector{2, 3}, Vector{2, 0, 3}, Vector{0}, Vector{1, 1},
                              Vector(2 * TENON_INLINE_DIMS, 2)}) {
    Layout expected, made;
    ptrdiff_t numel = 0;
    REQUIRE(make_layout({sizes}, 4, expected) == Error::Ok);
    REQUIRE(compute_numel(sizes, 4, numel) == Error::Ok);
    REQUIRE(made.set_sizes(sizes, static_cast<ptrdiff_t>(numel)) == Error::Ok);
    CHECK(made.sizes() == expected.sizes());
    CHECK(made.strides() == expected.strides());
    CHECK(made.dim_order() == expected.dim_order());
    CHECK(made.numel == expected.numel);
    CHECK(made.required_span_size() == expected.required_span_size());
    CHECK(made.row_major);
  }
}

TEST_CASE("layout: a dim order that may be replaced is kept where it nests the strides") {
  const struct {
    Vector sizes, strides, wanted;
    Order order;
    bool row_major;
  } rows[] = {
      {{2, 3}, {1, 2}, {1, 0}, {1, 0}, false},   // dense in the order
      {{2, 2}, {5, 5}, {1, 0}, {1, 0}, false},   // a tie, which the strides alone would leave
      {{2, 1}, {1, 1}, {1, 0}, {1, 0}, false},   // row-major too, but for the order
      {{2, 3}, {3, 1}, {1, 0}, {0, 1}, true},    // does not nest
      {{2, 3}, {1, 10}, {0, 1}, {1, 0}, false},  // nor does this
      {{2, 3}, {-9, 2}, {1, 0}, {0, 1}, false},
      {{0, 3}, {7, 1}, {1, 0}, {1, 0}, false},  // nothing to nest
  };
  for (const auto& row : rows) {
    INFO(text_of({row.sizes, row.strides}));
    Layout layout;
    REQUIRE(make_layout({row.sizes, row.strides, row.wanted, true}, 4, layout) == Error::Ok);
    CHECK(Order(layout.dim_order().begin(), layout.dim_order().end()) == row.order);
    CHECK(layout.strides() == ArrayRef<int64_t>(row.strides));
    CHECK(layout.row_major == row.row_major);
    OffsetRange offsets;
    REQUIRE(compute_offset_range(row.sizes, row.strides, offsets) == Error::Ok);
    CHECK((layout.offsets.min == offsets.min && layout.offsets.max == offsets.max));
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
    CHECK(layout.strides() == ArrayRef<int64_t>(expected));
    Vector reversed(rank);
    for (size_t d = 0; d < rank; ++d) reversed[d] = static_cast<int64_t>(rank - 1 - d);
    CHECK(make_layout(sizes, reversed, {}, 4, layout) == Error::Ok);
    CHECK(layout.strides()[0] == 1);
    CHECK(layout.strides()[rank - 1] == 2);
    reversed[1] = reversed[0];
    RETURNS(InvalidArgument, "not a permutation", make_layout(sizes, reversed, {}, 4, layout));
  }
}

TEST_CASE("layout: copies and moves have all lists, whatever the target had, and share nothing") {
  for (size_t rank : {size_t{0}, size_t{2}, size_t{6}, size_t{7}, size_t{64}}) {
    INFO("rank " << rank);
    const Vector sizes(rank, 1);
    Vector strides(rank);
    for (size_t d = 0; d < rank; ++d) strides[d] = static_cast<int64_t>(d) - 1;
    for (size_t old_rank : {size_t{0}, size_t{6}, size_t{7}, size_t{64}}) {
      Layout layout;
      Layout target;
      REQUIRE(make_layout(sizes, {}, strides, 4, layout) == Error::Ok);
      REQUIRE(make_layout(Vector(old_rank, 2), {}, {}, 1, target) ==
              (old_rank == 64 ? Error::InvalidArgument : Error::Ok));
      target = layout;
      const Layout copy = layout;
      REQUIRE(make_layout(Vector(1, 3), {}, {}, 4, layout) == Error::Ok);
      const Layout moved = std::move(target);
      for (const Layout* made : {&copy, &moved}) {
        CHECK(made->sizes() == ArrayRef<int64_t>(sizes));
        CHECK(made->strides() == ArrayRef<int64_t>(strides));
        CHECK(made->rank() == rank);
        CHECK(made->dim_order().size() == rank);
        CHECK((rank == 0 || made->dim_order()[rank - 1] == rank - 1));
        CHECK(made->row_major == (rank == 0));
        CHECK(made->numel == 1);
        CHECK(made->check() == Error::Ok);
      }
      target = Layout(moved);
      CHECK(target.sizes() == moved.sizes());
      Layout& self = target;
      target = self;
      target = std::move(self);
      CHECK(target.strides() == moved.strides());
    }
  }
}

TEST_CASE("layout: row-major sizes are replaced in place within the room, or nothing changes") {
  Layout layout;
  REQUIRE(make_layout({2, 3}, {}, {}, 4, layout) == Error::Ok);
  CHECK(layout.resize_in_place(Dims{4, 2}, 8));
  CHECK(layout.sizes() == ArrayRef<int64_t>(Dims{4, 2}));
  CHECK(layout.strides() == ArrayRef<int64_t>(Dims{2, 1}));
  CHECK((layout.numel == 8 && layout.required_span_size() == 8 && layout.row_major));
  for (const Dims& sizes : {Dims{3, 3}, Dims{8}, Dims{0, 2}, Dims{-1, -2}, Dims{INT64_MAX, 3}}) {
    CHECK_FALSE(layout.resize_in_place(sizes, 8));
    CHECK(layout.sizes() == ArrayRef<int64_t>(Dims{4, 2}));
    CHECK(layout.numel == 8);
  }
  REQUIRE(make_layout({2, 3}, {1, 0}, {}, 4, layout) == Error::Ok);
  CHECK_FALSE(layout.resize_in_place(Dims{2, 2}, 8));
  REQUIRE(make_layout(Vector(7, 2), {}, {}, 4, layout) == Error::Ok);
  CHECK_FALSE(layout.resize_in_place(Vector(7, 1), 128));
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
      {{kMost, 2}, {}, {}, 1, "overflows the address space"},
      {{kMost}, {}, {}, 4, "elements of 4 bytes overflow the address space"},
      {{2, 3}, {}, {1}, 4, "strides {1} and sizes {2, 3} differ in length"},
      {{2, 3}, {0}, {}, 4, "dim_order {0} and sizes {2, 3} differ in length"},
      {{2, 3}, {0, 0}, {}, 4, "dim_order {0, 0} is not a permutation of the 2 dimensions"},
      {{2, 3}, {0, -1}, {}, 4, "is not a permutation of the 2 dimensions"},
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
      {{3}, {}, {INT64_MIN}, 1, "overflow the address space"},
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
  } rows[] = {{{two32}, {}}, {{65536, 65536}, {}}, {{2}, {two32 + 1}}, {{two32 + 2}, {two32}}};
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
}

}  // namespace layout_test
