// SPDX-License-Identifier: MIT
// Normalising copies against a loop over all indices: of the shapes that have kernels, and of any.
#include "tenon/kernels/normalize.h"

#include <array>
#include <list>
#include <vector>

#include "kernels/copy_reference.h"

namespace normalize_test {

using namespace tenon;
using namespace tests;
using tenon::detail::FloatList;
using tenon::detail::NormalizePlan;

namespace {

// The three operations, each rounded to float. Volatile keeps the compiler from fusing them.
float normalized(float value, float scale, float mean, float stddev) {
  volatile float result = value * scale;
  result = result - mean;
  result = result / stddev;
  return result;
}

float value_of(const FloatList& list, size_t channel, float otherwise) {
  return list.size() == 0 ? otherwise : list[list.size() == 1 ? 0 : channel];
}

// Where the channels' dimension is: of one value, along rows, from row to row, or outside of them.
enum class Way { Same, AlongRow, AlongRows, Outer };

Way way_of(const NormalizePlan& plan) {
  if (plan.channels == 1) return Way::Same;
  if (plan.channel_dim + 1 == plan.copy.rank) return Way::AlongRow;
  return plan.channel_dim + 2 == plan.copy.rank ? Way::AlongRows : Way::Outer;
}

// Whether run_normalized() writes the bytes that a loop writes and leaves the others, with every
// instruction set. Both memories get random contents.
bool is_right(Rng& random, Strided& dst, Strided& src, const Normalize& normalize, size_t dim,
              CastMode mode, int (&ways)[4]) {
  fill_both(random, dst, src);
  const Bytes before = dst.bytes;
  const Vector to = offsets_of(dst.sizes, dst.strides);
  const Vector from = offsets_of(dst.sizes, src.strides);
  Vector steps(dst.sizes.size(), 0);
  if (!steps.empty()) steps[dim] = 1;
  const Vector channels = offsets_of(dst.sizes, steps);
  for (size_t i = 0; i < to.size(); ++i) {
    unsigned char bytes[4];
    cast_by_hand(ScalarType::Float, bytes, src.type, src.at(from[i]), CastMode::Truncate);
    float value;
    std::memcpy(&value, bytes, sizeof value);
    const auto c = static_cast<size_t>(channels[i]);
    value = normalized(value, normalize.scale, value_of(normalize.mean, c, 0),
                       value_of(normalize.stddev, c, 1));
    std::memcpy(bytes, &value, sizeof value);
    cast_by_hand(dst.type, dst.at(to[i]), ScalarType::Float, bytes, mode);
  }
  const Bytes expected = dst.bytes;
  bool right = true;
  for_each_isa([&] {
    dst.bytes = before;
    NormalizePlan plan;
    tenon::detail::plan_normalized(plan, dst.view(), src.view(), normalize, dim, mode);
    run_normalized(plan);
    ++ways[static_cast<size_t>(way_of(plan))];
    right = right && dst.bytes == expected;
  });
  return right;
}

// Values for so many channels: 0, 1 or all of them, inexact, of both signs.
FloatList random_list(Rng& random, int64_t channels) {
  const int64_t lengths[] = {0, 1, channels, channels};
  std::vector<float> values;
  for (int64_t n = pick(random, lengths); n > 0; --n) {
    const auto value = static_cast<float>(random.between(1, 999)) / 700.0f;
    values.push_back(one_in(random, 2) ? -value : value);
  }
  return values;
}
Normalize random_normalize(Rng& random, int64_t channels) {
  Normalize normalize;
  normalize.scale = static_cast<float>(random.between(1, 99)) / 255.0f;
  normalize.mean = random_list(random, channels);
  normalize.stddev = random_list(random, channels);
  return normalize;
}

struct Types {
  ScalarType to;
  ScalarType from;
  CastMode mode;
};
constexpr Types kTypes[] = {
    {ScalarType::Float, ScalarType::Byte, CastMode::Checked},
    {ScalarType::Float, ScalarType::Float, CastMode::Checked},
    {ScalarType::Half, ScalarType::Byte, CastMode::Checked},
    {ScalarType::Byte, ScalarType::Float, CastMode::Saturate},
    {ScalarType::Byte, ScalarType::Byte, CastMode::Saturate},
    {ScalarType::BFloat16, ScalarType::Double, CastMode::Truncate},
    {ScalarType::Double, ScalarType::Long, CastMode::Checked},
    {ScalarType::Long, ScalarType::Half, CastMode::Saturate},
    {ScalarType::Float8_e5m2, ScalarType::UInt64, CastMode::Saturate},
    {ScalarType::Float, ScalarType::Bool, CastMode::Saturate},
};

}  // namespace

TEST_CASE("FloatList: takes braces and any range, and owns the values") {
  const float array[] = {1, 2, 3};
  std::vector<double> source{0.5, 1.5, 2.5, 3.5, 4.5};
  FloatList list = source;
  source.assign(5, 0);
  CHECK(list.error() == Error::Ok);
  CHECK(std::vector<float>(list.begin(), list.end()) ==
        std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f, 4.5f});
  list = array;
  CHECK(list[2] == 3);
  list = std::array<float, 4>{1, 2, 3, 9};
  CHECK(list[3] == 9);
  list = std::list<int>{5};
  CHECK(list.size() == 1);
  list = ArrayRef<float>(array);
  CHECK(list[0] == 1);
  list = {};
  CHECK(list.size() == 0);
  const Normalize normalize{1 / 255.0f, {0.5f, 0.25f}, {2}, -1};
  CHECK(normalize.mean[1] == 0.25f);
  CHECK(normalize.stddev.size() == 1);
}

TEST_CASE("normalize: rows, columns and channels that are longer than what is done at once") {
  Rng random{1};
  int ways[4] = {};
  for (const Vector& sizes : {Vector{3, 5000}, Vector{4, 1030}, Vector{7, 2048}, Vector{1, 3000}}) {
    const Vector turned{1, sizes[0]};
    const Vector straight{sizes[1], 1};
    for (const Types& types : kTypes) {
      for (const Vector& dst_strides : {straight, turned}) {
        for (const Vector& src_strides : {straight, turned}) {
          for (size_t dim : {0u, 1u}) {
            Strided dst(types.to, sizes, dst_strides);
            Strided src(types.from, sizes, src_strides);
            CAPTURE(toString(types.to), toString(types.from), sizes, dst_strides, src_strides, dim);
            CHECK(is_right(random, dst, src, random_normalize(random, sizes[dim]), dim, types.mode,
                           ways));
          }
        }
      }
    }
  }
}

TEST_CASE("normalize: random shapes, strides, broadcasts, channels and types") {
  Rng random{3};
  int ways[4] = {};
  int wrong = 0;
  for (int i = 0; i < (kThorough ? 20000 : 500); ++i) {
    Types types = pick(random, kTypes);
    if (one_in(random, 3)) types.from = pick(random, kAllTypes);
    if (isComplexType(types.from)) types.from = ScalarType::Short;
    const Vector sizes = random_sizes(random, 3000);
    Strided dst(types.to, sizes, random_strides(random, sizes), one_in(random, 3) ? 1 : 0);
    Strided src(types.from, sizes, random_source_strides(random, sizes), one_in(random, 3) ? 1 : 0);
    const auto last = static_cast<int64_t>(sizes.size()) - 1;
    const auto dim = static_cast<size_t>(sizes.empty() ? 0 : random.between(0, last));
    const Normalize normalize = random_normalize(random, sizes.empty() ? 1 : sizes[dim]);
    wrong += !is_right(random, dst, src, normalize, dim, types.mode, ways);
  }
  CHECK(wrong == 0);
  for (int count : ways) CHECK(count > 25);
}

}  // namespace normalize_test
