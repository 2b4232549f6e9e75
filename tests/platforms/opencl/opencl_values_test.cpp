// SPDX-License-Identifier: MIT
#include <cmath>

#include "opencl_helpers.h"
#include "tenon/kernels/random_plan.h"

namespace opencl_values_test {

using namespace tests;
using namespace tenon;

namespace {

/// The elements that a function wrote to a row of floats.
template <class Write>
Floats written(size_t count, const Write& write) {
  const Memory memory(Bytes(count * sizeof(float)));
  const auto sizes = static_cast<int64_t>(count);
  const ViewWithLists out = view(memory, ScalarType::Float, rows({sizes}));
  REQUIRE(write(out) == Error::Ok);
  Floats elements(count);
  std::memcpy(elements.data(), memory.bytes().data(), count * sizeof(float));
  return elements;
}

}  // namespace

TEST_CASE("opencl constant: elements at odd addresses") {
  const Bytes before = pattern(64, 3);
  const Memory memory(before);
  const float one = 1;
  const tenon::ViewWithLists odd{memory.data() + 3, ScalarType::Float, opencl().device(), {5}, {1}};
  REQUIRE(opencl().constant(odd, &one) == Error::Ok);
  Bytes expected = before;
  for (size_t i = 0; i < 5; ++i) std::memcpy(&expected[3 + 4 * i], &one, 4);
  CHECK(memory.bytes() == expected);
}

TEST_CASE("opencl iota: other types are left to the host") {
  const Memory memory(pattern(64, 1));
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Half, ScalarType::Double}) {
    const ViewWithLists out = view(memory, type, rows({4}));
    CHECK(opencl().iota(out, tenon::none) == Error::NotSupported);
  }
}

namespace {

/// Checks `count` numbers, made by the backend and by the host: uniform ones in [a, b), or normal
/// ones with a mean and a standard deviation.
void check_numbers(bool is_normal, double a, double b, const Generator::State& start,
                   size_t count) {
  if (!(is_normal ? opencl().makes_normal() : opencl().makes_uniform())) return;
  const Floats found = written(count, [&](const TensorView& out) {
    return is_normal ? opencl().random_normal(out, a, b, start)
                     : opencl().random_uniform(out, a, b, start);
  });
  tenon::detail::RandomPlan plan;
  const auto type = tenon::detail::ScalarType::Float;
  REQUIRE((is_normal ? tenon::detail::plan_normal(plan, type, a, b)
                     : tenon::detail::plan_uniform(plan, type, a, b)) == Error::Ok);
  Floats expected(count);
  tenon::detail::random_elements(plan, start.seed, start.offset, static_cast<int64_t>(count),
                                 expected.data());
  INFO(is_normal << ' ' << a << ' ' << b << ", seed " << start.seed << ", offset " << start.offset);
  CHECK(std::memcmp(found.data(), expected.data(), count * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("opencl random: the host's numbers to the bit, over seeds, offsets, ranges and scales") {
  const Generator::State states[] = {{0, 0},
                                     {1, 1},
                                     {42, 2},
                                     {0x123456789abcdef0u, 3},
                                     {UINT64_MAX, 5},
                                     {7, uint64_t{1} << 34},
                                     {9, (uint64_t{1} << 34) - 3},
                                     {3, UINT64_MAX - 6}};
  const std::pair<double, double> ranges[] = {
      {0, 1},         {-1, 3},         {0.1, 0.3},           {-1e30, 1e38},
      {1e-30, 2e-30}, {-1e-30, 1e-30}, {16777216, 16777220}, {-5, -0.0}};
  const std::pair<double, double> scales[] = {{0, 1},       {2, 0.5},   {-1e-3, 1e-3},
                                              {1e30, 1e37}, {0, 1e-40}, {3, 0}};
  for (const Generator::State& start : states) {
    for (const auto& [min, max] : ranges) check_numbers(false, min, max, start, 1001);
    for (const auto& [mean, stddev] : scales) check_numbers(true, mean, stddev, start, 1001);
  }
  check_numbers(false, 0, 1, {2024, 1}, 4 << 20);
  check_numbers(true, 0, 1, {2024, 1}, 4 << 20);
}

TEST_CASE("opencl random: what it leaves to the host is NotSupported, and nothing changes") {
  const Bytes before = pattern(256, 1);
  const Memory memory(before);
  const Generator::State start{1, 0};
  const auto floats = view(memory, ScalarType::Float, rows({8}));
  const auto doubles = view(memory, ScalarType::Double, rows({8}));
  CHECK(opencl().random_uniform(doubles, 0, 1, start) == Error::NotSupported);
  CHECK(opencl().random_normal(doubles, 0, 1, start) == Error::NotSupported);
  const double nan = std::nan("");
  for (const auto& [min, max] : std::vector<std::pair<double, double>>{
           {1, 1}, {0, nan}, {0, 1e39}, {-3e38, 3e38}, {0, 1e-35}, {1.00000001, 1.00000002}}) {
    CHECK(opencl().random_uniform(floats, min, max, start) == Error::NotSupported);
  }
  CHECK(opencl().random_normal(floats, 0, -1, start) == Error::NotSupported);
  CHECK(opencl().random_normal(floats, nan, 1, start) == Error::NotSupported);
  Generator::State later = start;
  later.version = 2;
  CHECK(opencl().random_uniform(floats, 0, 1, later) == Error::NotSupported);
  CHECK(opencl().random_normal(floats, 0, 1, later) == Error::NotSupported);
  CHECK(memory.bytes() == before);
}

}  // namespace opencl_values_test
