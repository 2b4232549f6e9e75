// SPDX-License-Identifier: MIT
#include "tenon/kernels/read_elements.h"

#include <algorithm>

#include "kernels/helpers.h"

namespace read_elements_test {

using namespace tests;
using namespace tenon::detail;
using tenon::TensorView;

namespace {

struct Layout {
  size_t first;
  tenon::Dims sizes;
  tenon::Dims strides;
};

/// Numbers that are their places.
template <class T>
std::vector<T> numbers(size_t count) {
  std::vector<T> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<T>(i);
  return out;
}

TensorView view_of(std::vector<int32_t>& memory, const Layout& c) {
  return {&memory[c.first], tenon::ScalarType::Int, tenon::Device(), c.sizes, c.strides};
}

/// The places of the elements, in row-major order.
std::vector<int32_t> places(const Layout& c) {
  std::vector<int32_t> out;
  int64_t numel = 1;
  for (const int64_t size : c.sizes) numel *= size;
  for (int64_t i = 0; i < numel; ++i) {
    int64_t at = static_cast<int64_t>(c.first);
    int64_t rest = i;
    for (size_t d = c.sizes.size(); d-- > 0; rest /= c.sizes[d]) {
      at += rest % c.sizes[d] * c.strides[d];
    }
    out.push_back(static_cast<int32_t>(at));
  }
  return out;
}

/// A number for pairs of places, whatever their order is.
struct PairSum {
  uint64_t sum = 0;
  int64_t count = 0;

  void add(int32_t a, int32_t b) {
    uint64_t x = (static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b)) + 1;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;  // SplitMix64's
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    sum += x ^ x >> 31;
    ++count;
  }
};

const Layout kLayouts[] = {
    {0, {}, {}},
    {3, {5}, {1}},
    {0, {2, 3, 4}, {12, 4, 1}},        // contiguous
    {0, {2, 3, 4}, {40, 10, 1}},       // padded rows
    {0, {2, 3, 4}, {1, 2, 6}},         // Fortran's order
    {119, {2, 3, 4}, {-60, -20, -5}},  // turned
    {0, {4, 3}, {0, 0}},               // one element
    {0, {3, 5000}, {5000, 1}},         // longer than a piece
    {0, {3, 5000}, {5007, 1}},         // in rows
    {0, {3, 5000}, {1, 3}},            // in short columns
    {15000, {3, 5000}, {-5000, -1}},   // turned, and longer than a piece
    {0, {700, 3, 7}, {22, 7, 1}},      // many dimensions in a piece
};

}  // namespace

TEST_CASE("read: a walk visits the elements in row-major order, from any element on") {
  std::vector<int32_t> memory = numbers<int32_t>(20000);
  for (const Layout& c : kLayouts) {
    const std::vector<int32_t> expected = places(c);
    const auto numel = static_cast<int64_t>(expected.size());
    for (const int64_t first : {int64_t{0}, int64_t{1}, numel / 2, numel}) {
      for (const int64_t most : {1, 5, 100000}) {
        if (first > numel) continue;
        RowMajorWalk walk(view_of(memory, c), first);
        std::vector<int32_t> found;
        while (walk.left() != 0) {
          const RowMajorWalk::Run run = walk.next(most < walk.left() ? most : walk.left());
          for (int64_t i = 0; i < run.count; ++i) {
            found.push_back(load_element<int32_t>(run.data + i * run.stride, 0));
          }
        }
        CHECK(std::equal(found.begin(), found.end(), expected.begin() + first, expected.end()));
      }
    }
  }
}

TEST_CASE("read: the pieces of a row-major plan are the elements in row-major order") {
  std::vector<int32_t> memory = numbers<int32_t>(20000);
  for (const Layout& c : kLayouts) {
    ElementPlan plan;
    const std::vector<int32_t> expected = places(c);
    REQUIRE(plan_row_major(plan, view_of(memory, c)) == static_cast<int64_t>(expected.size()));
    std::vector<int32_t> found;
    CHECK(read_pieces(plan, false, [&](const char* const* sides, int64_t count) noexcept {
      for (int64_t i = 0; i < count; ++i) found.push_back(load_element<int32_t>(*sides, i));
      return true;
    }));
    CHECK(found == expected);
  }
}

TEST_CASE("read: consecutive elements are not copied, and none are touched if there are none") {
  std::vector<int32_t> memory = numbers<int32_t>(20000);
  for (const Layout& c : {Layout{0, {2, 3}, {3, 1}}, Layout{0, {3, 5000}, {5007, 1}}}) {
    ElementPlan plan;
    plan_row_major(plan, view_of(memory, c));
    const char* next = reinterpret_cast<const char*>(memory.data());
    read_pieces(plan, false, [&](const char* const* sides, int64_t) noexcept {
      CHECK(*sides == next);
      next += 4 * c.strides[0];
      return true;
    });
  }
  const tenon::ViewWithLists nothing{
      nullptr, tenon::ScalarType::Int, tenon::Device(), {3, 0, 2}, {INT64_MAX, INT64_MAX, 1}};
  ElementPlan plan;
  CHECK(plan_row_major(plan, nothing) == 0);
  CHECK(RowMajorWalk(nothing).left() == 0);
}

TEST_CASE("read: tiles of two memories have each pair of elements once") {
  std::vector<int32_t> memory = numbers<int32_t>(40000);
  std::vector<int32_t> other = numbers<int32_t>(40000);
  int64_t wrong = 0;
  const auto check = [&](const Layout& a, const std::vector<int32_t>& left, const Layout& b,
                         const std::vector<int32_t>& right) {
    PairSum expected;
    for (size_t i = 0; i < left.size(); ++i) expected.add(left[i], right[i]);
    ElementPlan plan;
    begin_plan(plan, view_of(memory, a), view_of(other, b), tenon::CastMode::Checked);
    merge_dims(plan, -1);
    PairSum found;
    CHECK(read_tiles(plan, [&](const char* const* sides, int64_t count) noexcept {
      for (int64_t i = 0; i < count; ++i) {
        found.add(load_element<int32_t>(sides[0], i), load_element<int32_t>(sides[1], i));
      }
      return true;
    }));
    wrong += found.count != expected.count || found.sum != expected.sum;
  };
  for (const Layout& c : kLayouts) check(c, places(c), c, places(c));
  for (const int64_t h : {1, 3, 63, 64, 65, 128, 150}) {
    for (const int64_t w : {1, 2, 64, 129, 200}) {
      const Layout all[] = {
          {0, {h, w}, {w, 1}},                                 // rows
          {0, {h, w}, {1, h}},                                 // columns
          {5, {h, w}, {w + 3, 1}},                             // padded
          {static_cast<size_t>(h * w - 1), {h, w}, {-1, -h}},  // turned
          {0, {h, w}, {0, 1}},                                 // repeated
          {7, {h, w}, {0, 0}},                                 // one element
          {0, {h, w}, {h % 2 == 0 ? w : 1, 1}},                // overlapping
      };
      std::vector<std::vector<int32_t>> at;
      for (const Layout& c : all) at.push_back(places(c));
      for (size_t i = 0; i < at.size(); ++i) {
        for (size_t k = 0; k < at.size(); ++k) check(all[i], at[i], all[k], at[k]);
      }
    }
  }
  const Layout rows{0, {5, 70, 90}, {6300, 90, 1}};
  for (const Layout& c : {Layout{0, {5, 70, 90}, {1, 450, 5}}, {0, {5, 70, 90}, {6300, 1, 70}}}) {
    check(rows, places(rows), c, places(c));
  }
  CHECK(wrong == 0);
}

TEST_CASE("read: of other types than each other, and no further than the caller wants") {
  std::vector<int32_t> memory = numbers<int32_t>(20000);
  std::vector<int64_t> other = numbers<int64_t>(20000);
  const tenon::Dims sizes{100, 200};
  const tenon::Dims rows{200, 1};
  const tenon::Dims columns{1, 100};
  for (const bool stops : {false, true}) {
    ElementPlan plan;
    begin_plan(plan, {memory.data(), tenon::ScalarType::Int, tenon::Device(), sizes, rows},
               {other.data(), tenon::ScalarType::Long, tenon::Device(), sizes, columns},
               tenon::CastMode::Checked);
    merge_dims(plan, -1);
    int64_t seen = 0;
    int64_t pieces = 0;
    int64_t wrong = 0;
    const bool result = read_tiles(plan, [&](const char* const* sides, int64_t count) noexcept {
      for (int64_t i = 0; i < count; ++i) {
        const auto at = load_element<int32_t>(sides[0], i);
        wrong += load_element<int64_t>(sides[1], i) != at % 200 * 100 + at / 200;
      }
      seen += count;
      return !stops || ++pieces != 2;
    });
    CHECK(result == !stops);
    CHECK(wrong == 0);
    CHECK((seen == 20000) == !stops);
    CHECK((pieces == 2) == stops);
  }
}

}  // namespace read_elements_test
