// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>
#include <vector>

#include "opencl_helpers.h"
#include "tenon/kernels/random_plan.h"

using namespace tests;
using namespace tenon;

namespace {

/// Shapes and strides that the functions below write to; the first ones are one block.
const std::vector<Layout> kLayouts = {
    rows({}),
    rows({1}),
    rows({1000}),
    rows({7, 11, 13}),
    {{5, 6}, {1, 5}, 3},           // columns
    {{4, 5}, {10, 2}, 1},          // gaps
    {{9}, {-1}, 8},                // backwards
    {{3, 4, 5}, {-40, 2, 8}, 85},  // all of it
    {{2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}, 0},
    {{1, 6, 1}, {1000, 1, 0}, 0},  // sizes of 1
};

/// The memory that holds it, in bytes, with room behind.
Bytes memory_for(const Layout& layout, ScalarType type) {
  int64_t most = 0;
  for (const int64_t at : offsets(layout)) most = at > most ? at : most;
  return pattern((static_cast<size_t>(most) + 3) * elementSize(type), 1);
}

/// The elements that a function wrote, in row-major order; CHECKs that nothing else changed.
template <class T, class Write>
std::vector<T> written(ScalarType type, const Layout& layout, const Write& write) {
  const Bytes before = memory_for(layout, type);
  const Memory memory(before);
  REQUIRE(write(view(memory, type, layout)) == Error::Ok);
  Bytes after = memory.bytes();
  std::vector<T> elements;
  for (const int64_t at : offsets(layout)) {
    const size_t byte = static_cast<size_t>(at) * sizeof(T);
    elements.emplace_back();
    std::memcpy(&elements.back(), &after[byte], sizeof(T));
    std::memcpy(&after[byte], &before[byte], sizeof(T));
  }
  CHECK(after == before);
  return elements;
}

}  // namespace

TEST_CASE("opencl constant: every element, and nothing between them, for elements of every size") {
  for (const ScalarType type : kTypeOfSize) {
    const size_t size = elementSize(type);
    const Bytes element = pattern(size, 77);
    for (const Layout& layout : kLayouts) {
      const Bytes before = memory_for(layout, type);
      const Memory memory(before);
      REQUIRE(opencl().constant(view(memory, type, layout), element.data()) == Error::Ok);
      Bytes expected = before;
      for (const int64_t at : offsets(layout)) {
        std::memcpy(&expected[static_cast<size_t>(at) * size], element.data(), size);
      }
      CHECK(memory.bytes() == expected);
    }
  }
}

TEST_CASE("opencl constant: elements at odd addresses") {
  const Bytes before = pattern(64, 3);
  const Memory memory(before);
  const float one = 1;
  const tenon::TensorView odd{memory.data() + 3, ScalarType::Float, opencl().device(), {5}, {1}};
  REQUIRE(opencl().constant(odd, &one) == Error::Ok);
  Bytes expected = before;
  for (size_t i = 0; i < 5; ++i) std::memcpy(&expected[3 + 4 * i], &one, 4);
  CHECK(memory.bytes() == expected);
}

TEST_CASE("opencl iota: the row-major index, in Int, Long and Float") {
  for (const Layout& layout : kLayouts) {
    const auto flat = [](const tenon::TensorView& out) { return opencl().iota(out, tenon::none); };
    const auto ints = written<int32_t>(ScalarType::Int, layout, flat);
    const auto longs = written<int64_t>(ScalarType::Long, layout, flat);
    const auto floats = written<float>(ScalarType::Float, layout, flat);
    for (size_t i = 0; i < ints.size(); ++i) {
      CHECK(ints[i] == static_cast<int32_t>(i));
      CHECK(longs[i] == static_cast<int64_t>(i));
      CHECK(floats[i] == static_cast<float>(i));
    }
  }
}

TEST_CASE("opencl iota: the index along each axis") {
  for (const Layout& layout : kLayouts) {
    for (size_t axis = 0; axis < layout.sizes.size(); ++axis) {
      const auto made = written<int64_t>(ScalarType::Long, layout, [&](const auto& out) {
        return opencl().iota(out, static_cast<int64_t>(axis));
      });
      int64_t inner = 1;
      for (size_t d = axis + 1; d < layout.sizes.size(); ++d) inner *= layout.sizes[d];
      bool equal = true;
      for (size_t i = 0; i < made.size(); ++i) {
        equal = equal && made[i] == static_cast<int64_t>(i) / inner % layout.sizes[axis];
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("opencl iota: other types are left to the host") {
  const Memory memory(pattern(64, 1));
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Half, ScalarType::Double}) {
    CHECK(opencl().iota(view(memory, type, rows({4})), tenon::none) == Error::NotSupported);
  }
}

namespace {

/// The host's numbers [first, first + count).
std::vector<float> host_numbers(const tenon::detail::RandomPlan& plan,
                                const Generator::State& start, size_t count) {
  std::vector<float> numbers(count);
  tenon::detail::random_elements(plan, start.seed, start.offset, static_cast<int64_t>(count),
                                 numbers.data());
  return numbers;
}
std::vector<float> host_uniform(double min, double max, const Generator::State& start,
                                size_t count) {
  tenon::detail::RandomPlan plan;
  REQUIRE(tenon::detail::plan_uniform(plan, tenon::detail::ScalarType::Float, min, max) ==
          Error::Ok);
  return host_numbers(plan, start, count);
}
std::vector<float> host_normal(double mean, double stddev, const Generator::State& start,
                               size_t count) {
  tenon::detail::RandomPlan plan;
  REQUIRE(tenon::detail::plan_normal(plan, tenon::detail::ScalarType::Float, mean, stddev) ==
          Error::Ok);
  return host_numbers(plan, start, count);
}

/// How many differ in any bit.
size_t count_differing(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  size_t n = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    n += std::memcmp(&a[i], &b[i], sizeof(float)) != 0 ? size_t{1} : size_t{0};
  }
  return n;
}

const Generator::State kStates[] = {
    {0, 0},
    {1, 1},
    {42, 2},
    {0x123456789abcdef0u, 3},
    {UINT64_MAX, 5},
    {7, uint64_t{1} << 34},
    {9, (uint64_t{1} << 34) - 3},
    {3, UINT64_MAX - 6},
};

}  // namespace

TEST_CASE("opencl random_uniform: the host's numbers to the bit, over seeds, offsets and ranges") {
  if (!opencl().makes_uniform()) return;
  struct Range {
    double min, max;
  };
  const Range ranges[] = {{0, 1},         {-1, 3},         {0.1, 0.3},           {-1e30, 1e38},
                          {1e-30, 2e-30}, {-1e-30, 1e-30}, {16777216, 16777220}, {-5, -0.0}};
  for (const Generator::State& start : kStates) {
    for (const Range& range : ranges) {
      const auto made = written<float>(ScalarType::Float, rows({1001}), [&](const auto& out) {
        return opencl().random_uniform(out, range.min, range.max, start);
      });
      CHECK(count_differing(made, host_uniform(range.min, range.max, start, 1001)) == 0);
    }
  }
}

TEST_CASE("opencl random_normal: the host's numbers to the bit, over seeds, offsets and scales") {
  if (!opencl().makes_normal()) return;
  struct Scale {
    double mean, stddev;
  };
  const Scale scales[] = {{0, 1}, {2, 0.5}, {-1e-3, 1e-3}, {1e30, 1e37}, {0, 1e-40}, {3, 0}};
  for (const Generator::State& start : kStates) {
    for (const Scale& scale : scales) {
      const auto made = written<float>(ScalarType::Float, rows({1001}), [&](const auto& out) {
        return opencl().random_normal(out, scale.mean, scale.stddev, start);
      });
      CHECK(count_differing(made, host_normal(scale.mean, scale.stddev, start, 1001)) == 0);
    }
  }
}

TEST_CASE("opencl random: four million numbers of either kind, to the bit") {
  const Generator::State start{2024, 1};
  constexpr size_t kCount = 4 << 20;
  if (opencl().makes_uniform()) {
    const auto made = written<float>(ScalarType::Float, rows({kCount}), [&](const auto& out) {
      return opencl().random_uniform(out, 0, 1, start);
    });
    CHECK(count_differing(made, host_uniform(0, 1, start, kCount)) == 0);
  }
  if (opencl().makes_normal()) {
    const auto made = written<float>(ScalarType::Float, rows({kCount}), [&](const auto& out) {
      return opencl().random_normal(out, 0, 1, start);
    });
    CHECK(count_differing(made, host_normal(0, 1, start, kCount)) == 0);
  }
}

TEST_CASE("opencl random: element i is the row-major one, at any strides") {
  const Generator::State start{5, 6};
  for (const Layout& layout : kLayouts) {
    if (opencl().makes_uniform()) {
      const auto made = written<float>(ScalarType::Float, layout, [&](const auto& out) {
        return opencl().random_uniform(out, 0, 1, start);
      });
      CHECK(count_differing(made, host_uniform(0, 1, start, made.size())) == 0);
    }
    if (opencl().makes_normal()) {
      const auto made = written<float>(ScalarType::Float, layout, [&](const auto& out) {
        return opencl().random_normal(out, 0, 1, start);
      });
      CHECK(count_differing(made, host_normal(0, 1, start, made.size())) == 0);
    }
  }
}

TEST_CASE("opencl random: what it leaves to the host is NotSupported, and nothing changes") {
  const Bytes before = pattern(256, 1);
  const Memory memory(before);
  const Generator::State start{1, 0};
  const auto floats = view(memory, ScalarType::Float, rows({8}));
  const auto doubles = view(memory, ScalarType::Double, rows({8}));
  CHECK(opencl().random_uniform(doubles, 0, 1, start) == Error::NotSupported);
  CHECK(opencl().random_normal(doubles, 0, 1, start) == Error::NotSupported);
  CHECK(opencl().random_uniform(floats, 1, 1, start) == Error::NotSupported);
  CHECK(opencl().random_uniform(floats, 0, std::nan(""), start) == Error::NotSupported);
  CHECK(opencl().random_uniform(floats, 0, 1e39, start) == Error::NotSupported);
  CHECK(opencl().random_uniform(floats, -3e38, 3e38, start) == Error::NotSupported);
  CHECK(opencl().random_uniform(floats, 0, 1e-35, start) == Error::NotSupported);
  CHECK(opencl().random_uniform(floats, 1.00000001, 1.00000002, start) == Error::NotSupported);
  CHECK(opencl().random_normal(floats, 0, -1, start) == Error::NotSupported);
  CHECK(opencl().random_normal(floats, std::nan(""), 1, start) == Error::NotSupported);
  Generator::State later = start;
  later.version = 2;
  CHECK(opencl().random_uniform(floats, 0, 1, later) == Error::NotSupported);
  CHECK(opencl().random_normal(floats, 0, 1, later) == Error::NotSupported);
  CHECK(memory.bytes() == before);
}
