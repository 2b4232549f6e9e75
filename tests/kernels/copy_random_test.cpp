// SPDX-License-Identifier: MIT
// Copies between random shapes and strides.
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/copy_reference.h"

using namespace tenon;
using namespace tests;

namespace {

bool one_in(Rng& random, int64_t n) { return random.between(1, n) == 1; }

template <class C>
auto pick(Rng& random, const C& values) {
  const auto last = static_cast<int64_t>(std::size(values)) - 1;
  return values[static_cast<size_t>(random.between(0, last))];
}

void shuffle(Rng& random, Vector& values) {
  for (size_t i = values.size(); i-- > 1;) {
    std::swap(values[i], values[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
  }
}

// Up to 8 dimensions of at most `most` elements together, around the sizes of pixels and blocks.
Vector random_sizes(Rng& random, int64_t most) {
  static const int64_t lengths[] = {1, 2, 2, 3, 3, 4, 4, 16, 17, 64, 65};
  Vector sizes;
  int64_t numel = 1;
  for (int64_t rank = random.between(0, 8); rank > 0; --rank) {
    int64_t length = one_in(random, 3) ? random.between(1, 40) : pick(random, lengths);
    while (numel * length > most) length = (length + 1) / 2;
    numel *= length;
    sizes.push_back(one_in(random, 100) ? 0 : length);
    if (numel * 2 > most) break;
  }
  shuffle(random, sizes);
  return sizes;
}

// Strides of distinct elements: the dimensions nested in some order, perhaps with gaps, perhaps
// some of them reversed.
Vector random_strides(Rng& random, const Vector& sizes) {
  Vector order;
  for (size_t d = 0; d < sizes.size(); ++d) order.push_back(static_cast<int64_t>(d));
  if (one_in(random, 2)) shuffle(random, order);
  const bool has_gaps = one_in(random, 3);
  const bool has_reversed = one_in(random, 3);
  Vector strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    if (has_gaps && one_in(random, 2)) stride += random.between(1, 3);
    strides[d] = has_reversed && one_in(random, 2) ? -stride : stride;
    stride *= sizes[d] == 0 ? 1 : sizes[d];
  }
  return strides;
}

// The same, or with elements repeated, or overlapping.
Vector random_source_strides(Rng& random, const Vector& sizes) {
  Vector strides = random_strides(random, sizes);
  const bool repeats = one_in(random, 5);
  const bool overlaps = one_in(random, 20);
  for (int64_t& stride : strides) {
    if (repeats && one_in(random, 3)) stride = 0;
    if (overlaps) stride = random.between(-2, 2);
  }
  return strides;
}

struct Outcome {
  int wrong = 0;
  int kinds[7] = {};

  int count(CopyKind kind) const { return kinds[static_cast<size_t>(kind)]; }
};

// Copies `cases` times; choose(random) gives the types and the mode.
struct Choice {
  ScalarType to;
  ScalarType from;
  CastMode mode;
};
Outcome copy_random(uint64_t seed, int cases, int64_t most, Choice (*choose)(Rng&)) {
  Rng random{seed};
  Outcome outcome;
  for (int i = 0; i < cases; ++i) {
    const Choice choice = choose(random);
    const Vector sizes = random_sizes(random, most);
    const auto lead = [&] { return one_in(random, 3) ? size_t{1} : size_t{0}; };
    Strided dst(choice.to, sizes, random_strides(random, sizes), lead());
    Strided src(choice.from, sizes, random_source_strides(random, sizes), lead());
    CopyPlan plan;
    tenon::detail::plan_elements(plan, dst.view(), src.view(), choice.mode);
    ++outcome.kinds[static_cast<size_t>(plan.kind)];
    if (!is_copied(random, dst, src, choice.mode)) ++outcome.wrong;
  }
  return outcome;
}

}  // namespace

TEST_CASE("copy: elements of every size between any shapes and strides") {
  const int cases = tests::kThorough ? 4000 : 400;
  const Outcome outcome = copy_random(1, cases, 4000, [](Rng& random) {
    static const ScalarType types[] = {ScalarType::Byte, ScalarType::Half, ScalarType::Float,
                                       ScalarType::Double, ScalarType::ComplexDouble};
    const ScalarType type = pick(random, types);
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
