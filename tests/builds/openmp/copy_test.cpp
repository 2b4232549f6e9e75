// SPDX-License-Identifier: MIT
// Large copies give the bytes that they give in one thread, which tests/unit/kernels checks.
#include <algorithm>

#include "kernels/copy_reference.h"
#include "openmp/helpers.h"
#include "tenon/tenon.h"

namespace copy_test {

using namespace tenon;
using tenon::detail::kParallelBytes;
using namespace tests;

namespace {

const ScalarType kOneOfEachSize[] = {ScalarType::Byte, ScalarType::Half, ScalarType::Float,
                                     ScalarType::Double, ScalarType::ComplexDouble};

// Checks a large copy between memories of any contents, which are the source's elements and the
// noise around the destination's.
void check_copy(CopyKind kind, Strided dst, Strided src, CastMode mode = CastMode::Checked) {
  Rng random{1};
  const size_t lead = src.bytes.size() % elementSize(src.type);
  // Some ten thousand random elements, repeated: making all would take longer than the copies.
  const size_t count = std::min<size_t>(src.bytes.size() / elementSize(src.type), 10007);
  const Bytes elements = tests::random_elements(random, src.type, count);
  for (size_t at = lead; at < src.bytes.size(); at += elements.size()) {
    const size_t n = std::min(elements.size(), src.bytes.size() - at);
    std::memcpy(src.bytes.data() + at, elements.data(), n);
  }
  tests::fill_with_noise(random, dst.bytes);
  tenon::detail::ElementPlan plan;
  detail::plan_elements(plan, dst.view(), src.view(), mode);
  CHECK(plan.kind == kind);
  CHECK(plan.nbytes >= kParallelBytes);

  const Bytes before = dst.bytes;
  {
    const ThreadsScope scope(1);
    detail::run_plan(plan, &detail::cast_elements<>);
  }
  const Bytes expected = dst.bytes;
  CHECK(count_wrong(dst.bytes, before, expected,
                    [&] { detail::run_plan(plan, &detail::cast_elements<>); }) == 0);
}

// Both dense, with their dimensions in these orders, outermost first.
void check_permuted(CopyKind kind, ScalarType to, ScalarType from, const Vector& sizes,
                    const Vector& dst_order, const Vector& src_order) {
  check_copy(kind, Strided(to, sizes, dense_strides(sizes, dst_order)),
             Strided(from, sizes, dense_strides(sizes, src_order)), CastMode::Saturate);
}

Bytes bytes_of(const TensorPtr& t) {
  const auto* data = static_cast<const unsigned char*>(t->const_data_ptr());
  return Bytes(data, data + t->nbytes());
}

}  // namespace

TEST_CASE("copy: one block") {
  const Vector sizes{kParallelBytes + 4097};
  check_copy(CopyKind::Memcpy, Strided(ScalarType::Byte, sizes, {1}, 1),
             Strided(ScalarType::Byte, sizes, {1}));
  check_copy(CopyKind::Memcpy, Strided(ScalarType::Float, {600, 500}, {500, 1}),
             Strided(ScalarType::Float, {600, 500}, {500, 1}, 1));
}

TEST_CASE("copy: padded rows, many and few") {
  for (const Vector& sizes : {Vector{701, 400}, Vector{3, 100003}}) {
    const Strided dense(ScalarType::Float, sizes, {sizes[1], 1});
    const Strided padded(ScalarType::Float, sizes, {sizes[1] + 7, 1});
    check_copy(CopyKind::Rows, dense, padded);
    check_copy(CopyKind::Rows, padded, dense);
  }
}

TEST_CASE("copy: transposed matrices of elements of every size, wide, narrow, and in a batch") {
  for (ScalarType type : kOneOfEachSize) {
    INFO(toString(type));
    const auto numel = static_cast<int64_t>(kParallelBytes / elementSize(type));
    for (int64_t rows : {17, 259, 2051}) {
      const Vector sizes{rows, numel / rows + 1};
      check_permuted(CopyKind::Transpose, type, type, sizes, {0, 1}, {1, 0});
    }
    const Vector batch{5, 131, numel / (5 * 131) + 1};
    check_permuted(CopyKind::Transpose, type, type, batch, {0, 1, 2}, {0, 2, 1});
  }
}

TEST_CASE("copy: broadcast rows, columns and scalars") {
  const Vector sizes{801, 400};
  for (ScalarType type : {ScalarType::Int, ScalarType::Float}) {
    const Strided dense(type, sizes, {400, 1});
    const bool cast = type != ScalarType::Int;
    const auto source = [&](const Vector& strides) {
      return Strided(ScalarType::Int, sizes, strides);
    };
    INFO(toString(type));
    check_copy(cast ? CopyKind::Cast : CopyKind::Rows, dense, source({0, 1}));
    check_copy(CopyKind::General, dense, source({1, 0}));
    check_copy(CopyKind::General, dense, source({0, 0}));
    check_copy(CopyKind::General, Strided(type, sizes, {800, 2}), source({0, 0}));
    check_copy(CopyKind::General, Strided(type, sizes, {410, 1}), source({0, 0}));
  }
}

TEST_CASE("copy: conversions of blocks, rows, planes and strided elements") {
  const struct {
    ScalarType to;
    ScalarType from;
  } pairs[] = {{ScalarType::Half, ScalarType::Float},
               {ScalarType::Float, ScalarType::Byte},
               {ScalarType::Int, ScalarType::Double}};  // the last one goes the exact way
  for (const auto& pair : pairs) {
    INFO(toString(pair.from) << " to " << toString(pair.to));
    const auto numel = static_cast<int64_t>(kParallelBytes / elementSize(pair.to)) + 1001;
    const Vector line{numel};
    const Strided dense(pair.to, line, {1});
    check_copy(CopyKind::Cast, dense, Strided(pair.from, line, {1}), CastMode::Saturate);
    check_copy(CopyKind::General, dense, Strided(pair.from, line, {-2}), CastMode::Saturate);
    check_copy(CopyKind::General, dense, Strided(pair.from, line, {0}), CastMode::Saturate);
    const Vector rows{numel / 300, 301};
    check_copy(CopyKind::Cast, Strided(pair.to, rows, {301, 1}), Strided(pair.from, rows, {310, 1}),
               CastMode::Saturate);
    const Vector image{numel / 300, 301};
    check_permuted(CopyKind::Cast, pair.to, pair.from, image, {0, 1}, {1, 0});
    const Vector pixels{3, numel / 3 + 1};
    check_permuted(CopyKind::Cast, pair.to, pair.from, pixels, {0, 1}, {1, 0});
    check_permuted(CopyKind::Cast, pair.to, pair.from, pixels, {1, 0}, {0, 1});
  }
}

TEST_CASE("copy: normalised rows, planes, pixels and channels") {
  constexpr int64_t kPixels = 90001;
  const struct {
    Vector sizes, dst_strides, src_strides;
    size_t dim;
  } layouts[] = {{{4, kPixels}, {kPixels, 1}, {1, 4}, 0},         // planes of pixels
                 {{kPixels, 4}, {4, 1}, {1, kPixels}, 1},         // and back
                 {{kPixels, 4}, {4, 1}, {-4, -1}, 1},             // pixels
                 {{4, kPixels}, {-kPixels, 1}, {kPixels, 1}, 0},  // rows
                 {{3, 4, 50001}, {200004, 50001, 1}, {200004, 1, 4}, 1},
                 {{400, 1001}, {1001, 1}, {1001, 1}, 0},  // many channels
                 {{2048, 256}, {256, 1}, {1, 2048}, 0},
                 {{400001}, {1}, {2}, 0}};
  for (const auto& layout : layouts) {
    std::vector<float> mean(static_cast<size_t>(layout.sizes[layout.dim]));
    for (size_t c = 0; c < mean.size(); ++c) mean[c] = static_cast<float>(c);
    const Normalize normalize{0.5f, mean, {3}, 0};
    Strided dst(ScalarType::Float, layout.sizes, layout.dst_strides);
    Strided src(ScalarType::Byte, layout.sizes, layout.src_strides);
    Rng random{3};
    tests::fill_with_noise(random, src.bytes);
    detail::NormalizePlan plan;
    detail::plan_normalized(plan, dst.view(), src.view(), normalize, layout.dim, CastMode::Checked);
    CHECK(plan.copy.nbytes >= kParallelBytes);
    const Bytes before = dst.bytes;
    {
      const ThreadsScope scope(1);
      detail::run_normalized(plan);
    }
    const Bytes expected = dst.bytes;
    CAPTURE(layout.sizes);
    CHECK(count_wrong(dst.bytes, before, expected, [&] { detail::run_normalized(plan); }) == 0);
  }
}

TEST_CASE("copy: cat and stack of pieces that only together are large, or are large") {
  for (const int64_t height : {30, 31, 700}) {
    std::vector<TensorPtr> pieces;
    for (int64_t i = 0; i < 29; ++i) {
      pieces.push_back(uniform(0, 100, {height, 409, 3}, ScalarType::Byte));
    }
    for (const int64_t dim : {0, 1, 2}) {
      for (const bool is_stack : {false, true}) {
        CAPTURE(height, dim, is_stack);
        const TensorPtr out = is_stack ? stack(pieces, dim) : cat(pieces, dim);
        CHECK(out->nbytes() >= kParallelBytes);
        const Bytes expected = [&] {
          const ThreadsScope scope(1);
          return bytes_of(is_stack ? stack(pieces, dim) : cat(pieces, dim));
        }();
        CHECK(bytes_of(out) == expected);
        for (int threads : {2, 3, 7}) {
          const ThreadsScope scope(threads);
          CHECK(zero_(out) == Error::Ok);
          CHECK((is_stack ? stack_out(out, pieces, dim) : cat_out(out, pieces, dim)) == Error::Ok);
          CHECK(bytes_of(out) == expected);
        }
      }
    }
  }
}

TEST_CASE("copy: a block moves to where it overlaps itself, or does not") {
  constexpr size_t kBytes = kParallelBytes + 4097;
  Rng random{2};
  Bytes memory(2 * kBytes);
  tests::fill_with_noise(random, memory);
  const Bytes before = memory;
  const struct {
    size_t to;
    size_t from;
  } moves[] = {{0, 1},      {1, 0},          {0, 5000},   {5000, 0}, {kBytes - 1, 0},
               {0, kBytes}, {0, kBytes - 1}, {kBytes, 0}, {777, 777}};
  for (const auto& move : moves) {
    INFO("to " << move.to << " from " << move.from);
    Bytes expected = before;
    for (size_t i = 0; i < kBytes; ++i) expected[move.to + i] = before[move.from + i];
    CHECK(count_wrong(memory, before, expected, [&] {
            detail::move_dense(memory.data() + move.to, memory.data() + move.from, kBytes);
          }) == 0);
  }
}

}  // namespace copy_test
