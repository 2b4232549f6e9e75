// SPDX-License-Identifier: MIT
#include "tenon/kernels/copy_plan.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "support/catch.h"

using namespace tenon;

namespace {

// One each for sizes, bytes of the destination's stride and of the source's.
using Dim = std::tuple<int64_t, int64_t, int64_t>;
using List = std::vector<Dim>;

// Two addresses. Planning touches no memory.
char memory[400];
char* const kDst = memory + 100;
char* const kSrc = memory + 200;

CopyPlan plan(ScalarType dst_type, const Dims& dst_strides, ScalarType src_type,
              const Dims& src_strides, const Dims& sizes) {
  CopyPlan made;
  tenon::detail::plan_elements(made, TensorView{kDst, dst_type, {}, sizes, dst_strides},
                               TensorView{kSrc, src_type, {}, sizes, src_strides},
                               CastMode::Saturate);
  return made;
}
CopyPlan plan(ScalarType type, const Dims& dst_strides, const Dims& src_strides,
              const Dims& sizes) {
  return plan(type, dst_strides, type, src_strides, sizes);
}

List dims(const CopyPlan& plan) {
  List list;
  for (size_t i = 0; i < plan.rank; ++i) {
    list.emplace_back(plan.dims[i].size, plan.dims[i].dst_stride, plan.dims[i].src_stride);
  }
  return list;
}

}  // namespace

TEST_CASE("copy plan: dense tensors of the same strides are one block") {
  const CopyPlan p = plan(ScalarType::Float, {12, 4, 1}, {12, 4, 1}, {2, 3, 4});
  CHECK(p.kind == CopyKind::Memcpy);
  CHECK(dims(p) == List{{24, 4, 4}});
  CHECK(p.unit == 4);
  CHECK(p.nbytes == 96);
  CHECK(p.dst == kDst);
  CHECK(p.src == kSrc);
  CHECK(p.dst_type == ScalarType::Float);
  CHECK(p.src_type == ScalarType::Float);
  CHECK(p.mode == CastMode::Saturate);
  CHECK(p.temporary_nbytes == 0);
  CHECK(!p.is_plane);
}

TEST_CASE("copy plan: dense tensors are one block in any common order of dimensions") {
  const CopyPlan p = plan(ScalarType::Byte, {1, 6, 2}, {1, 6, 2}, {2, 4, 3});
  CHECK(p.kind == CopyKind::Memcpy);
  CHECK(dims(p) == List{{24, 1, 1}});
}

TEST_CASE("copy plan: a scalar, and sizes of 1 only, are one block") {
  for (const Dims& sizes : {Dims(), Dims{1}, Dims{1, 1, 1}}) {
    const Dims strides(std::vector<int64_t>(sizes.size(), INT64_MAX));
    const CopyPlan p = plan(ScalarType::Double, strides, strides, sizes);
    CHECK(p.kind == CopyKind::Memcpy);
    CHECK(p.rank == 0);
    CHECK(p.unit == 8);
    CHECK(p.nbytes == 8);
    CHECK(plan(ScalarType::Double, strides, ScalarType::Int, strides, sizes).kind ==
          CopyKind::Cast);
  }
}

TEST_CASE("copy plan: without elements there is nothing to do, whatever the strides") {
  const CopyPlan p =
      plan(ScalarType::Double, {INT64_MIN, 1, 1}, {INT64_MAX, 1, 1}, {INT64_MAX, INT64_MAX, 0});
  CHECK(p.kind == CopyKind::Alias);
  CHECK(p.nbytes == 0);
  CopyPlan null;
  const TensorView nothing{nullptr, ScalarType::Float, {}, {2, 0}, {-5, 3}};
  tenon::detail::plan_elements(null, nothing, nothing, CastMode::Checked);
  CHECK(null.kind == CopyKind::Alias);
}

TEST_CASE("copy plan: rows with gaps on one side are copied row by row") {
  const CopyPlan padded_source = plan(ScalarType::Float, {12, 4, 1}, {100, 6, 1}, {2, 3, 5});
  CHECK(padded_source.kind == CopyKind::Rows);
  const CopyPlan padded = plan(ScalarType::Float, {30, 10, 1}, {15, 5, 1}, {2, 3, 5});
  CHECK(padded.kind == CopyKind::Rows);
  CHECK(dims(padded) == List{{6, 40, 20}, {5, 4, 4}});
  CHECK(padded.nbytes == 120);
}

TEST_CASE("copy plan: a source repeated along outer dimensions is copied row by row") {
  const CopyPlan p = plan(ScalarType::Short, {15, 5, 1}, {0, 5, 1}, {4, 3, 5});
  CHECK(p.kind == CopyKind::Rows);
  CHECK(dims(p) == List{{4, 30, 0}, {15, 2, 2}});
}

TEST_CASE("copy plan: a transposed matrix is a plane, its last dimension the destination's rows") {
  const CopyPlan p = plan(ScalarType::Int, {7, 1}, {1, 5}, {5, 7});
  CHECK(p.kind == CopyKind::Transpose);
  CHECK(p.is_plane);
  CHECK(dims(p) == List{{5, 28, 4}, {7, 4, 20}});
}

TEST_CASE("copy plan: images of channels first and last are a plane each") {
  // Batch, channels, height, width; height and width lie like one dimension.
  const Dims sizes{2, 3, 1080, 1920};
  const Dims nchw{3 * 1080 * 1920, 1080 * 1920, 1920, 1};
  const Dims nhwc{3 * 1080 * 1920, 1, 3 * 1920, 3};
  const CopyPlan to_planes = plan(ScalarType::Byte, nchw, nhwc, sizes);
  CHECK(to_planes.kind == CopyKind::Transpose);
  CHECK(dims(to_planes) == List{{2, 6220800, 6220800}, {3, 2073600, 1}, {2073600, 1, 3}});
  const CopyPlan to_pixels = plan(ScalarType::Byte, nhwc, nchw, sizes);
  CHECK(to_pixels.kind == CopyKind::Transpose);
  CHECK(dims(to_pixels) == List{{2, 6220800, 6220800}, {2073600, 3, 1}, {3, 1, 2073600}});
}

TEST_CASE("copy plan: converting images is a cast of planes") {
  const Dims sizes{3, 20, 30};
  const CopyPlan to_planes =
      plan(ScalarType::Float, {600, 30, 1}, ScalarType::Byte, {1, 90, 3}, sizes);
  CHECK(to_planes.kind == CopyKind::Cast);
  CHECK(to_planes.is_plane);
  CHECK(dims(to_planes) == List{{3, 2400, 1}, {600, 4, 3}});
  CHECK(to_planes.nbytes == 7200);
  CHECK(to_planes.unit == 4);
  const CopyPlan to_pixels =
      plan(ScalarType::Byte, {1, 90, 3}, ScalarType::Float, {600, 30, 1}, sizes);
  CHECK(to_pixels.kind == CopyKind::Cast);
  CHECK(to_pixels.is_plane);
  CHECK(dims(to_pixels) == List{{600, 3, 4}, {3, 1, 2400}});
}

TEST_CASE("copy plan: the plane's dimensions come last, the others keep their order") {
  // The source is consecutive along the outermost dimension of the destination.
  const CopyPlan p = plan(ScalarType::Float, {60, 20, 5, 1}, {1, 100, 3, 1000}, {3, 3, 4, 5});
  CHECK(p.kind == CopyKind::Transpose);
  CHECK(dims(p) == List{{3, 80, 400}, {4, 20, 12}, {3, 240, 4}, {5, 4, 4000}});
}

TEST_CASE("copy plan: one channel of pixels, and anything else, goes element by element") {
  const CopyPlan channel = plan(ScalarType::Byte, {30, 1}, {90, 3}, {20, 30});
  CHECK(channel.kind == CopyKind::General);
  CHECK(dims(channel) == List{{600, 1, 3}});
  CHECK(plan(ScalarType::Byte, {2}, {1}, {10}).kind == CopyKind::General);
  CHECK(plan(ScalarType::Byte, {1}, {0}, {10}).kind == CopyKind::General);
  CHECK(plan(ScalarType::Byte, {1}, {-1}, {10}).kind == CopyKind::General);
  CHECK(plan(ScalarType::Float, {20, 2}, {2, 20}, {10, 10}).kind == CopyKind::General);
  // Converting too.
  CHECK(plan(ScalarType::Float, {1}, ScalarType::Byte, {3}, {10}).kind == CopyKind::General);
  CHECK(plan(ScalarType::Float, {2}, ScalarType::Byte, {1}, {10}).kind == CopyKind::General);
}

TEST_CASE("copy plan: long rows of one value each are filled, short ones a plane") {
  const CopyPlan rows = plan(ScalarType::Float, {256, 1}, {1, 0}, {9, 256});
  CHECK(rows.kind == CopyKind::General);
  CHECK(dims(rows) == List{{9, 1024, 4}, {256, 4, 0}});
  CHECK(plan(ScalarType::Float, {255, 1}, {1, 0}, {9, 255}).kind == CopyKind::Transpose);
  CHECK(plan(ScalarType::Float, {256, 1}, ScalarType::Byte, {1, 0}, {9, 256}).kind ==
        CopyKind::General);
}

TEST_CASE("copy plan: conversions of rows are a cast") {
  const CopyPlan p = plan(ScalarType::Float, {8, 1}, ScalarType::Byte, {5, 1}, {3, 5});
  CHECK(p.kind == CopyKind::Cast);
  CHECK(!p.is_plane);
  CHECK(dims(p) == List{{3, 32, 5}, {5, 4, 1}});
  CHECK(p.dst_type == ScalarType::Float);
  CHECK(p.src_type == ScalarType::Byte);
}

TEST_CASE("copy plan: short runs of the same type are taken for one element") {
  // Rotating an image of 4-byte pixels moves words.
  const CopyPlan pixels = plan(ScalarType::Byte, {4 * 6, 4, 1}, {4, 4 * 5, 1}, {5, 6, 4});
  CHECK(pixels.kind == CopyKind::Transpose);
  CHECK(pixels.unit == 4);
  CHECK(dims(pixels) == List{{5, 24, 4}, {6, 4, 20}});
  CHECK(pixels.nbytes == 120);
  const CopyPlan pairs = plan(ScalarType::Double, {12, 2, 1}, {2, 10, 1}, {5, 6, 2});
  CHECK(pairs.unit == 16);
  CHECK(dims(pairs) == List{{5, 96, 16}, {6, 16, 80}});
  // Rows of pixels with gaps between.
  CHECK(plan(ScalarType::Byte, {8, 1}, {6, 1}, {7, 4}).unit == 4);
}

TEST_CASE("copy plan: runs of three, or of more than 16 bytes, stay runs") {
  const CopyPlan three = plan(ScalarType::Byte, {18, 3, 1}, {3, 15, 1}, {5, 6, 3});
  CHECK(three.unit == 1);
  CHECK(three.kind == CopyKind::Rows);
  const CopyPlan long_runs = plan(ScalarType::Float, {48, 8, 1}, {8, 40, 1}, {5, 6, 8});
  CHECK(long_runs.unit == 4);
  CHECK(long_runs.kind == CopyKind::Rows);
  // Nor is a conversion of pixels one of words.
  const CopyPlan cast = plan(ScalarType::Char, {24, 4, 1}, ScalarType::Byte, {4, 20, 1}, {5, 6, 4});
  CHECK(cast.unit == 1);
  CHECK(cast.kind == CopyKind::Cast);
}

TEST_CASE("copy plan: what the destination has reversed is turned on both sides") {
  const CopyPlan both = plan(ScalarType::Float, {-5, -1}, {-5, -1}, {3, 5});
  CHECK(both.kind == CopyKind::Memcpy);
  CHECK(both.dst == kDst - 14 * 4);
  CHECK(both.src == kSrc - 14 * 4);
  const CopyPlan one = plan(ScalarType::Float, {-5, 1}, {5, 1}, {3, 5});
  CHECK(one.kind == CopyKind::Rows);
  CHECK(one.dst == kDst - 10 * 4);
  CHECK(one.src == kSrc + 10 * 4);
  CHECK(dims(one) == List{{3, 20, -20}, {5, 4, 4}});
  const CopyPlan cast = plan(ScalarType::Float, {-1}, ScalarType::Byte, {2}, {4});
  CHECK(cast.dst == kDst - 12);
  CHECK(cast.src == kSrc + 6);
  CHECK(dims(cast) == List{{4, 4, -2}});
}

TEST_CASE("copy plan: sizes of 1 do not count, and neither do their strides") {
  const CopyPlan p = plan(ScalarType::Float, {INT64_MIN, 5, INT64_MAX, 1},
                          {INT64_MAX, 5, INT64_MIN, 1}, {1, 3, 1, 5});
  CHECK(p.kind == CopyKind::Memcpy);
  CHECK(dims(p) == List{{15, 4, 4}});
}

TEST_CASE("copy plan: dimensions are merged only when both sides allow it") {
  const CopyPlan p = plan(ScalarType::Float, {20, 5, 1}, {20, 5, 1}, {2, 4, 5});
  CHECK(dims(p) == List{{40, 4, 4}});
  const CopyPlan q = plan(ScalarType::Float, {20, 5, 1}, {30, 5, 1}, {2, 4, 5});
  CHECK(dims(q) == List{{2, 80, 120}, {20, 4, 4}});
  // Repeated along two dimensions that merge.
  const CopyPlan r = plan(ScalarType::Float, {20, 5, 1}, {0, 0, 1}, {2, 4, 5});
  CHECK(dims(r) == List{{8, 20, 0}, {5, 4, 4}});
}

TEST_CASE("copy plan: 64 dimensions are sorted by the destination's strides") {
  std::vector<int64_t> sizes(64, 1);
  std::vector<int64_t> strides(64, 0);
  sizes[0] = sizes[31] = sizes[63] = 3;
  std::vector<int64_t> src_strides = strides;
  strides[0] = 2;
  strides[31] = 100;
  strides[63] = 10;
  src_strides[0] = 1;
  src_strides[31] = 7;
  src_strides[63] = 50;
  const CopyPlan p = plan(ScalarType::Byte, Dims(strides), Dims(src_strides), Dims(sizes));
  CHECK(p.kind == CopyKind::General);
  CHECK(dims(p) == List{{3, 100, 7}, {3, 10, 50}, {3, 2, 1}});
}

TEST_CASE("copy plan: kinds have names") {
  std::string names;
  for (CopyKind kind :
       {CopyKind::Alias, CopyKind::Memcpy, CopyKind::Rows, CopyKind::Transpose, CopyKind::Cast,
        CopyKind::General, CopyKind::Staged, static_cast<CopyKind>(99)}) {
    names += std::string(toString(kind)) + " ";
  }
  CHECK(names == "alias memcpy rows transpose cast general staged unknown ");
}
