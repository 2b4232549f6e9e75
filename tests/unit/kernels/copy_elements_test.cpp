// SPDX-License-Identifier: MIT
// Copies against a loop over all indices: of the shapes that have kernels, and of any.
#include "tenon/kernels/copy_elements.h"

#include "kernels/copy_reference.h"

namespace copy_elements_test {

using namespace tenon;
using namespace tests;

namespace {

const ScalarType kOneOfEachSize[] = {ScalarType::Byte, ScalarType::Half, ScalarType::Float,
                                     ScalarType::Double, ScalarType::ComplexDouble};

struct Choice {
  ScalarType to;
  ScalarType from;
  CastMode mode;
};

// Copies between images as (batch, channels, height, width) and with the channels last, both ways.
void check_image(Rng& random, const Choice& types, const Vector& sizes) {
  CAPTURE(toString(types.to), toString(types.from), sizes);
  const Vector orders[] = {{0, 1, 2, 3}, {0, 2, 3, 1}};
  for (const size_t to : {0u, 1u}) {
    Strided dst(types.to, sizes, dense_strides(sizes, orders[to]));
    Strided src(types.from, sizes, dense_strides(sizes, orders[1 - to]));
    CHECK(is_copied(random, dst, src, types.mode));
  }
}

// Copies either way.
void check_both(Rng& random, Strided& a, Strided& b) {
  CHECK(is_copied(random, a, b, CastMode::Checked));
  CHECK(is_copied(random, b, a, CastMode::Checked));
}

struct Outcome {
  int wrong = 0;
  int kinds[7] = {};

  int count(CopyKind kind) const { return kinds[static_cast<size_t>(kind)]; }
};

// Copies `cases` times; choose(random) gives the types and the mode.
Outcome copy_random(uint64_t seed, int cases, int64_t most, Choice (*choose)(Rng&)) {
  Rng random{seed};
  Outcome outcome;
  for (int i = 0; i < cases; ++i) {
    const Choice choice = choose(random);
    const Vector sizes = random_sizes(random, most);
    const auto lead = [&] { return one_in(random, 3) ? size_t{1} : size_t{0}; };
    Strided dst(choice.to, sizes, random_strides(random, sizes), lead());
    Strided src(choice.from, sizes, random_source_strides(random, sizes), lead());
    tenon::detail::ElementPlan plan;
    tenon::detail::plan_elements(plan, dst.view(), src.view(), choice.mode);
    ++outcome.kinds[static_cast<size_t>(plan.kind)];
    if (!is_copied(random, dst, src, choice.mode)) ++outcome.wrong;
  }
  return outcome;
}

}  // namespace

TEST_CASE("copy: images between channels first and last, of every number of channels") {
  Rng random{1};
  for (ScalarType type : kOneOfEachSize) {
    for (int64_t channels = 1; channels <= 5; ++channels) {
      for (const Vector& sizes : {Vector{2, channels, 17, 23}, Vector{1, channels, 1, 15},
                                  Vector{1, channels, 2, 16}, Vector{3, channels, 3, 5}}) {
        check_image(random, {type, type, CastMode::Checked}, sizes);
      }
    }
  }
  check_image(random, {ScalarType::Byte, ScalarType::Byte, CastMode::Checked},
              {1, 3, kThorough ? 54 : 5, 1920});
}

TEST_CASE("copy: some of the channels of pixels, into planes or fewer channels, and back") {
  Rng random{3};
  for (ScalarType type : kOneOfEachSize) {
    for (int64_t of = 2; of <= 5; ++of) {
      for (int64_t channels = 1; channels < of; ++channels) {
        INFO(toString(type) << ", " << channels << " of " << of);
        const Vector sizes{channels, 7, 19};
        Strided planes(type, sizes, {7 * 19, 19, 1});
        Strided pixels(type, sizes, {1, channels * 19, channels});
        Strided source(type, sizes, {1, of * 19, of});   // ends after the last wanted channel
        Strided turned(type, sizes, {-1, of * 19, of});  // red, green, blue to blue, green, red
        check_both(random, planes, source);
        check_both(random, pixels, source);
        check_both(random, planes, turned);
        CHECK(is_copied(random, pixels, turned, CastMode::Checked));
      }
    }
  }
}

TEST_CASE("copy: a row at every stride, of every length") {
  Rng random{6};
  for (ScalarType type : kOneOfEachSize) {
    int wrong = 0;
    for (int64_t count = 0; count < 40; count += kThorough ? 1 : 3) {
      for (int64_t from = -5; from <= 5; ++from) {
        for (int64_t to : {1, 2, 5, -1, -3}) {
          Strided dst(type, {count}, {to});
          Strided src(type, {count}, {from});
          if (!is_copied(random, dst, src, CastMode::Checked)) ++wrong;
        }
      }
    }
    INFO(toString(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("copy: elements of every size between any shapes and strides") {
  const int cases = tests::kThorough ? 4000 : 400;
  const Outcome outcome = copy_random(1, cases, 4000, [](Rng& random) {
    const ScalarType type = pick(random, kOneOfEachSize);
    return Choice{type, type, CastMode::Checked};
  });
  CHECK(outcome.wrong == 0);
  // The cases reach all that there is.
  CHECK(outcome.count(CopyKind::Alias) > cases / 50);
  CHECK(outcome.count(CopyKind::Memcpy) > cases / 20);
  CHECK(outcome.count(CopyKind::Rows) > cases / 20);
  CHECK(outcome.count(CopyKind::Transpose) > cases / 20);
  CHECK(outcome.count(CopyKind::General) > cases / 20);
}

TEST_CASE("copy: conversions between all types, shapes and strides") {
  const int cases = tests::kThorough ? 3000 : 300;
  const Outcome outcome = copy_random(2, cases, 1500, [](Rng& random) {
    static const CastMode modes[] = {CastMode::Checked, CastMode::Truncate, CastMode::Saturate};
    Choice choice{pick(random, tests::kAllTypes), pick(random, tests::kAllTypes),
                  pick(random, modes)};
    if (!canCast(choice.from, choice.to)) choice.mode = CastMode::Saturate;
    return choice;
  });
  CHECK(outcome.wrong == 0);
  CHECK(outcome.count(CopyKind::Cast) > cases / 4);
  CHECK(outcome.count(CopyKind::General) > cases / 4);
}

// Planes of few elements are copied in blocks, of which the last may be shorter.
TEST_CASE("copy: many short dimensions, in any order, some of them longer than a block") {
  Rng random{12};
  int blocks = 0;
  for (int i = 0; i < (tests::kThorough ? 3000 : 400); ++i) {
    Choice choice{pick(random, kOneOfEachSize), ScalarType::Byte, CastMode::Truncate};
    choice.from = one_in(random, 2) ? choice.to : pick(random, tests::kAllTypes);
    Vector sizes;
    int64_t numel = 1;
    for (int64_t rank = random.between(3, 9); rank > 0 && numel < 1500; --rank) {
      sizes.push_back(one_in(random, 6) ? random.between(1, 70) : random.between(2, 5));
      numel *= sizes.back();
    }
    Strided dst(choice.to, sizes, random_strides(random, sizes));
    Strided src(choice.from, sizes, random_source_strides(random, sizes));
    tenon::detail::ElementPlan plan;
    tenon::detail::plan_elements(plan, dst.view(), src.view(), choice.mode);
    blocks += plan.block_rank != 0;
    CAPTURE(i, toString(choice.to), toString(choice.from), sizes);
    CHECK(is_copied(random, dst, src, choice.mode));
  }
  if (detail::kHasBlocks) CHECK(blocks > 100);
}

TEST_CASE("copy: a scalar is one element, and without elements nothing is touched") {
  Rng random{10};
  Strided dst(ScalarType::Double, {}, {});
  Strided src(ScalarType::Double, {}, {});
  CHECK(is_copied(random, dst, src, CastMode::Checked));
  const ViewWithLists nothing{nullptr, ScalarType::Double, {}, {3, 0, 2}, {9, -9, INT64_MIN}};
  detail::copy_elements(nothing, nothing, CastMode::Checked, nullptr);
}

TEST_CASE("copy: a block moves to where it overlaps itself, forwards and backwards") {
  const struct {
    size_t to, from, count;
    Ints expected;
  } rows[] = {
      {1, 0, 4, {1, 1, 2, 3, 4, 6}}, {1, 2, 4, {1, 3, 4, 5, 6, 6}}, {0, 3, 3, {4, 5, 6, 4, 5, 6}}};
  for (const auto& row : rows) {
    CAPTURE(row.to, row.from);
    Ints memory{1, 2, 3, 4, 5, 6};
    detail::move_dense(&memory[row.to], &memory[row.from], row.count * sizeof(int));
    CHECK(memory == row.expected);
  }
}

}  // namespace copy_elements_test
