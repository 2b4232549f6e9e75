// SPDX-License-Identifier: MIT
#include "tenon/kernels/element_plan.h"

#include <tuple>

#include "support/catch.h"

namespace element_plan_test {

using namespace tenon;
using detail::ElementPlan;

namespace {

// One each for sizes, bytes of the destination's stride and of the source's.
using List = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

// Two addresses. Planning touches no memory.
char memory[400];
char* const kDst = memory + 100;
char* const kSrc = memory + 200;

ElementPlan plan(ScalarType dst_type, const Dims& dst_strides, ScalarType src_type,
                 const Dims& src_strides, const Dims& sizes) {
  ElementPlan made;
  detail::plan_elements(made, TensorView{kDst, dst_type, {}, sizes, dst_strides},
                        TensorView{kSrc, src_type, {}, sizes, src_strides}, CastMode::Saturate);
  return made;
}

// The plan is of this kind and unit, has these dimensions, and a plane where the kind says so.
void check(const ElementPlan& plan, CopyKind kind, size_t unit, const List& dims,
           bool is_plane = false) {
  List list;
  for (size_t i = 0; i < plan.rank; ++i) {
    list.emplace_back(plan.dims[i].size, plan.dims[i].dst_stride, plan.dims[i].src_stride);
  }
  CHECK(plan.kind == kind);
  CHECK(plan.unit == unit);
  CHECK(list == dims);
  CHECK(plan.is_plane == (is_plane || kind == CopyKind::Transpose));
}

constexpr auto kByte = ScalarType::Byte;
constexpr auto kFloat = ScalarType::Float;

}  // namespace

TEST_CASE("copy plan: a plan says all that there is to do") {
  const ElementPlan p = plan(kFloat, {12, 4, 1}, kFloat, {12, 4, 1}, {2, 3, 4});
  check(p, CopyKind::Memcpy, 4, {{24, 4, 4}});
  CHECK(p.nbytes == 96);
  CHECK(p.dst == kDst);
  CHECK(p.src == kSrc);
  CHECK(p.mode == CastMode::Saturate);
  CHECK(p.temporary_nbytes == 0);
  const ElementPlan q = plan(kFloat, {8, 1}, kByte, {5, 1}, {3, 5});
  CHECK(q.dst_type == kFloat);
  CHECK(q.src_type == kByte);
}

TEST_CASE("copy plan: without elements there is nothing to do, whatever the strides") {
  const ElementPlan p = plan(ScalarType::Double, {INT64_MIN, 1, 1}, ScalarType::Double,
                             {INT64_MAX, 1, 1}, {INT64_MAX, INT64_MAX, 0});
  CHECK(p.kind == CopyKind::Alias);
  CHECK(p.nbytes == 0);
  ElementPlan null;
  const ViewWithLists nothing{nullptr, kFloat, {}, {2, 0}, {-5, 3}};
  detail::plan_elements(null, nothing, nothing, CastMode::Checked);
  CHECK(null.kind == CopyKind::Alias);
}

TEST_CASE("copy plan: the kind, the unit and the dimensions") {
  const auto same = [](ScalarType type, const Dims& dst, const Dims& src, const Dims& sizes) {
    return plan(type, dst, type, src, sizes);
  };
  using K = CopyKind;
  // Dense in any common order of dimensions; sizes of 1 and their strides do not count.
  check(same(kByte, {1, 6, 2}, {1, 6, 2}, {2, 4, 3}), K::Memcpy, 1, {{24, 1, 1}});
  // Dimensions are merged only when both sides allow it.
  check(same(kFloat, {20, 5, 1}, {30, 5, 1}, {2, 4, 5}), K::Rows, 4, {{2, 80, 120}, {20, 4, 4}});
  check(same(kFloat, {20, 5, 1}, {0, 0, 1}, {2, 4, 5}), K::Rows, 4, {{8, 20, 0}, {5, 4, 4}});
  // Rows with gaps on one side, and a source repeated along outer dimensions.
  check(same(kFloat, {30, 10, 1}, {15, 5, 1}, {2, 3, 5}), K::Rows, 4, {{6, 40, 20}, {5, 4, 4}});
  // A transposed matrix is a plane, its last dimension the destination's rows.
  check(same(ScalarType::Int, {7, 1}, {1, 5}, {5, 7}), K::Transpose, 4, {{5, 28, 4}, {7, 4, 20}});
  // Images of channels first and last (batch, channels, height, width): a plane each.
  const Dims image{2, 3, 1080, 1920};
  const Dims nchw{3 * 1080 * 1920, 1080 * 1920, 1920, 1};
  const Dims nhwc{3 * 1080 * 1920, 1, 3 * 1920, 3};
  check(same(kByte, nchw, nhwc, image), K::Transpose, 1,
        {{2, 6220800, 6220800}, {3, 2073600, 1}, {2073600, 1, 3}});
  check(same(kByte, nhwc, nchw, image), K::Transpose, 1,
        {{2, 6220800, 6220800}, {2073600, 3, 1}, {3, 1, 2073600}});
  // Converting them is a cast of planes.
  check(plan(kFloat, {600, 30, 1}, kByte, {1, 90, 3}, {3, 20, 30}), K::Cast, 4,
        {{3, 2400, 1}, {600, 4, 3}}, true);
  check(plan(kByte, {1, 90, 3}, kFloat, {600, 30, 1}, {3, 20, 30}), K::Cast, 1,
        {{600, 3, 4}, {3, 1, 2400}}, true);
  // The plane's dimensions come last, the others keep their order.
  check(same(kFloat, {600, 200, 50, 1}, {1, 100, 3, 1000}, {3, 3, 4, 50}), K::Transpose, 4,
        {{3, 800, 400}, {4, 200, 12}, {3, 2400, 4}, {50, 4, 4000}});
  // Not for a plane that is smaller than 64 elements.
  check(same(kFloat, {60, 20, 5, 1}, {1, 100, 3, 1000}, {3, 3, 4, 5}), K::General, 4,
        {{3, 240, 4}, {3, 80, 400}, {4, 20, 12}, {5, 4, 4000}});
  // A plane's channels may be in reverse.
  check(plan(kFloat, {600, 30, 1}, kByte, {-1, 90, 3}, {3, 20, 30}), K::Cast, 4,
        {{3, 2400, -1}, {600, 4, 3}}, true);
  // One channel of pixels, and anything else, goes element by element, converting too.
  check(same(kByte, {30, 1}, {90, 3}, {20, 30}), K::General, 1, {{600, 1, 3}});
  check(plan(kFloat, {1}, kByte, {3}, {10}), K::General, 4, {{10, 4, 3}});
  // Long rows of one value each are filled, short ones a plane.
  check(same(kFloat, {16, 1}, {1, 0}, {9, 16}), K::General, 4, {{9, 64, 4}, {16, 4, 0}});
  check(same(kFloat, {7, 1}, {1, 0}, {9, 7}), K::Transpose, 4, {{9, 28, 4}, {7, 4, 0}});
  check(plan(kFloat, {256, 1}, kByte, {1, 0}, {9, 256}), K::General, 4,
        {{9, 1024, 1}, {256, 4, 0}});
  // Short runs of one type are taken for one element: a rotated image's pixels of 4 bytes, pairs,
  // rows with gaps. Not runs of more than 16 bytes, or what is converted.
  check(same(kByte, {4 * 6, 4, 1}, {4, 4 * 5, 1}, {5, 6, 4}), K::Transpose, 4,
        {{5, 24, 4}, {6, 4, 20}});
  check(same(kByte, {18, 3, 1}, {3, 15, 1}, {5, 6, 3}), K::Transpose, 3, {{5, 18, 3}, {6, 3, 15}});
  check(plan(ScalarType::Char, {24, 4, 1}, kByte, {4, 20, 1}, {5, 6, 4}), K::Cast, 1,
        {{5, 24, 4}, {6, 4, 20}, {4, 1, 1}});
}

TEST_CASE("copy plan: small planes make a block of the nearest dimensions on either side") {
  if (!detail::kHasBlocks) return;
  const auto check_block = [](const ElementPlan& p, size_t block_rank, int64_t chunk) {
    CHECK(p.block_rank == block_rank);
    CHECK(p.block_chunk == chunk);
  };
  // Six dimensions reversed: three of the destination's last and the source's last.
  const ElementPlan reversed =
      plan(kFloat, {720, 120, 24, 6, 2, 1}, kFloat, {1, 7, 42, 210, 840, 2520}, {7, 6, 5, 4, 3, 2});
  check(reversed, CopyKind::General, 4,
        {{5, 96, 168}, {6, 480, 28}, {7, 2880, 4}, {4, 24, 840}, {3, 8, 3360}, {2, 4, 10080}});
  check_block(reversed, 4, 1);
  // Rows are units.
  const ElementPlan rows =
      plan(kFloat, {600, 60, 20, 1}, kFloat, {900, 200, 30, 1}, {4, 10, 3, 20});
  check(rows, CopyKind::Rows, 4, {{4, 2400, 3600}, {10, 240, 800}, {3, 80, 120}, {20, 4, 4}});
  check_block(rows, 4, 1);
  const ElementPlan cast = plan(kFloat, {600, 60, 20, 1}, kByte, {900, 200, 30, 1}, {5, 4, 3, 20});
  check_block(cast, 3, 4);
  // A plane is large enough, or there is one alone.
  check_block(plan(kFloat, {400, 20, 1}, kFloat, {400, 1, 20}, {9, 20, 20}), 0, 1);
  check_block(plan(kFloat, {5, 1}, kFloat, {1, 6}, {6, 5}), 0, 1);
}

TEST_CASE("copy plan: what the destination has reversed is turned on both sides") {
  const ElementPlan both = plan(kFloat, {-5, -1}, kFloat, {-5, -1}, {3, 5});
  check(both, CopyKind::Memcpy, 4, {{15, 4, 4}});
  CHECK(both.dst == kDst - 14 * 4);
  CHECK(both.src == kSrc - 14 * 4);
  const ElementPlan one = plan(kFloat, {-5, 1}, kFloat, {5, 1}, {3, 5});
  check(one, CopyKind::Rows, 4, {{3, 20, -20}, {5, 4, 4}});
  CHECK(one.dst == kDst - 10 * 4);
  CHECK(one.src == kSrc + 10 * 4);
  const ElementPlan cast = plan(kFloat, {-1}, kByte, {2}, {4});
  check(cast, CopyKind::General, 4, {{4, 4, -2}});
  CHECK(cast.dst == kDst - 12);
  CHECK(cast.src == kSrc + 6);
}

TEST_CASE("copy plan: kinds have names") {
  std::string names;
  for (int kind : {0, 1, 2, 3, 4, 5, 6, 99}) {
    names += std::string(toString(static_cast<CopyKind>(kind))) + " ";
  }
  CHECK(names == "alias memcpy rows transpose cast general staged unknown ");
}

}  // namespace element_plan_test
