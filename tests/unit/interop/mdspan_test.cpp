// SPDX-License-Identifier: MIT
// Built with an mdspan in the include path by interop/libraries/mdspan/CMakeLists.txt; without one there is
// nothing in it.
#include "tenon/interop/mdspan.h"

#if defined(TENON_MDSPAN_NAMESPACE)

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

namespace md = TENON_MDSPAN_NAMESPACE;
using md::dextents;
using md::extents;
using md::layout_left;
using md::layout_right;
using md::layout_stride;

// The operators differ: m[i, j] of C++23, m(i, j) before.
template <class M, class... Index>
auto& at(const M& m, Index... index) {
  return m.data_handle()[m.mapping()(index...)];
}

template <class M>
Vector extents_of(const M& m) {
  Vector out;
  for (size_t d = 0; d < M::rank(); ++d) out.push_back(static_cast<int64_t>(m.extent(d)));
  return out;
}
template <class M>
Vector strides_of(const M& m) {
  Vector out;
  for (size_t d = 0; d < M::rank(); ++d) out.push_back(static_cast<int64_t>(m.stride(d)));
  return out;
}

}  // namespace

static_assert(std::is_same_v<decltype(as_mdspan<float, 2>(std::declval<Tensor>())),
                             md::mdspan<float, dextents<int64_t, 2>, layout_stride>>);
static_assert(
    std::is_same_v<decltype(as_mdspan<const float, 1, layout_right>(std::declval<TensorPtr>())),
                   md::mdspan<const float, dextents<int64_t, 1>, layout_right>>);

TEST_CASE("as_mdspan: has the tensor's memory, sizes and strides") {
  auto t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5});
  auto m = as_mdspan<int32_t, 2>(t);
  CHECK(m.data_handle() == t->const_data_ptr());
  CHECK(extents_of(m) == Vector{2, 3});
  CHECK(strides_of(m) == Vector{3, 1});
  CHECK(at(m, 1, 2) == 5);
  at(m, 0, 1) = 10;
  CHECK(tests::values<int32_t>(t) == Ints{0, 10, 2, 3, 4, 5});
  CHECK(as_mdspan<int32_t, 2>(*t).data_handle() == m.data_handle());
}

TEST_CASE("as_mdspan: follows positive strides that nest, in any dim order and with gaps") {
  Ints data;
  for (int32_t i = 0; i < 64; ++i) data.push_back(i);
  const auto in_columns = from_blob(data.data(), {2, 3}, {1, 2});
  auto columns = as_mdspan<int32_t, 2>(in_columns);
  CHECK(at(columns, 1, 2) == 5);
  const auto with_gaps = from_blob(data.data(), {2, 2, 3}, {32, 8, 2});
  auto padded = as_mdspan<int32_t, 3>(with_gaps);
  CHECK(strides_of(padded) == Vector{32, 8, 2});
  CHECK(at(padded, 1, 1, 2) == 44);
  const auto in_another_order = from_blob(data.data(), {2, 3, 4}, {4, 8, 1});
  auto permuted = as_mdspan<int32_t, 3>(in_another_order);
  CHECK(at(permuted, 1, 2, 3) == 23);
}

TEST_CASE("as_mdspan: 0-d and eight dimensions") {
  CHECK(at(as_mdspan<int32_t, 0>(make_tensor_ptr(7))) == 7);
  CHECK(at(as_mdspan<int32_t, 0, layout_right>(make_tensor_ptr(8))) == 8);
  auto t = make_tensor_ptr(Vector{1, 2, 1, 2, 1, 2, 1, 2},
                           {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(at(as_mdspan<int32_t, 8>(t), 0, 1, 0, 0, 0, 1, 0, 1) == 11);
}

TEST_CASE("as_mdspan: the stride of a size-1 dimension may be anything") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  for (int64_t stride : {0, -5, 1, 100}) {
    auto t = from_blob(data, {2, 1, 3}, {3, stride, 1});
    auto m = as_mdspan<int32_t, 3>(t);
    CHECK(at(m, 1, 0, 2) == 5);
    CHECK(m.stride(1) > 0);
    CHECK(at(as_mdspan<int32_t, 3, layout_right>(t), 1, 0, 2) == 5);
  }
}

TEST_CASE("as_mdspan: a tensor without elements fits, whatever its strides") {
  float* const null = nullptr;
  auto t = from_blob(null, {2, 0, 3}, {0, -4, 0});
  auto m = as_mdspan<float, 3>(t);
  CHECK(extents_of(m) == Vector{2, 0, 3});
  for (int64_t stride : strides_of(m)) CHECK(stride > 0);
  CHECK(m.mapping().required_span_size() == 0);
  CHECK(extents_of(as_mdspan<float, 3, layout_right>(t)) == Vector{2, 0, 3});
}

TEST_CASE("as_mdspan: zero, negative and overlapping strides are refused and said so") {
  int32_t data[16] = {};
  const struct {
    int offset;
    Vector sizes;
    Vector strides;
    const char* words;
  } rows[] = {
      {0,
       {2, 3},
       {0, 1},
       "as_mdspan: stride 0 of dimension 0 in strides {0, 1}; an mdspan's layout_stride "
       "requires positive strides"},
      {5, {2, 3}, {3, -1}, "as_mdspan: stride -1 of dimension 1"},
      {0, {3, 2}, {1, 1}, "as_mdspan: strides {1, 1} of sizes {3, 2} interleave or overlap"},
      {0, {2, 3}, {3, 2}, "strides that nest"}};  // distinct elements, at offsets 0 2 4 3 5 7
  for (const auto& row : rows) {
    INFO(row.words);
    RAISES(NotSupported, row.words,
           (as_mdspan<int32_t, 2>(from_blob(data + row.offset, row.sizes, row.strides))));
  }
}

TEST_CASE("as_mdspan: layout_right takes contiguous tensors only, layout_left their mirror image") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto rows = from_blob(data, {2, 3});
  auto columns = from_blob(data, {2, 3}, {1, 2});
  CHECK(at(as_mdspan<int32_t, 2, layout_right>(rows), 1, 0) == 3);
  CHECK(at(as_mdspan<int32_t, 2, layout_left>(columns), 1, 0) == 1);
  RAISES(NotSupported,
         "as_mdspan: stride 1 of dimension 0 in strides {1, 2} of sizes {2, 3} differs from "
         "that of the mdspan's layout, 3",
         (as_mdspan<int32_t, 2, layout_right>(columns)));
  RAISES(NotSupported, "differs from that of the mdspan's layout, 1",
         (as_mdspan<int32_t, 2, layout_left>(rows)));
  RAISES(NotSupported, "stride -1",
         (as_mdspan<int32_t, 1, layout_right>(from_blob(data + 5, {6}, {-1}))));
}

TEST_CASE("as_mdspan: takes a whole mdspan type, with static extents and another index type") {
  auto t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5});
  using Fixed = md::mdspan<int32_t, extents<int, 2, 3>>;
  auto m = as_mdspan<Fixed>(t);
  static_assert(std::is_same_v<decltype(m), Fixed>);
  CHECK(at(m, 1, 2) == 5);
  auto mixed =
      as_mdspan<md::mdspan<const int32_t, extents<uint8_t, 2, md::dynamic_extent>, layout_stride>>(
          t);
  CHECK(at(mixed, 1, 1) == 4);
  RAISES(InvalidArgument, "as_mdspan: size 3 of dimension 1 is not the mdspan's static extent 4",
         (as_mdspan<md::mdspan<int32_t, extents<int, 2, 4>>>(t)));
}

TEST_CASE("as_mdspan: sizes, strides or indices beyond the index type are refused") {
  std::vector<uint8_t> data(300);
  using Small = md::mdspan<uint8_t, dextents<uint8_t, 2>, layout_stride>;
  using SmallRight = md::mdspan<uint8_t, dextents<uint8_t, 2>, layout_right>;
  CHECK(at(as_mdspan<Small>(from_blob(data.data(), {15, 17})), 14, 16) == 0);
  RAISES(InvalidArgument,
         "as_mdspan: sizes {16, 16} with strides {16, 1} do not fit the mdspan's index_type, "
         "whose largest value is 255",
         as_mdspan<Small>(from_blob(data.data(), {16, 16})));
  RAISES(InvalidArgument, "255", as_mdspan<SmallRight>(from_blob(data.data(), {16, 16})));
  RAISES(InvalidArgument, "255", as_mdspan<SmallRight>(from_blob(data.data(), {16, 16}, {0, 0})));
  RAISES(InvalidArgument, "255", as_mdspan<Small>(from_blob(data.data(), {0, 256})));
  CHECK(as_mdspan<Small>(from_blob(data.data(), {1, 2}, {10000, 1})).extent(1) == 2);
}

TEST_CASE("as_mdspan: tensors that M cannot describe are refused, by the name of each function") {
  const int32_t constant[2] = {1, 2};
  auto readonly = from_blob(constant, {2});
  CHECK(at(as_mdspan<const int32_t, 1>(readonly), 1) == 2);
  RAISES(InvalidState, "as_mdspan: the tensor is read-only", (as_mdspan<int32_t, 1>(readonly)));
  auto t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5});
  RAISES(InvalidType, "as_mdspan: asked for Float, but the tensor's dtype is Int",
         (as_mdspan<float, 2>(t)));
  RAISES(InvalidArgument, "as_mdspan: asked for 1 dimensions, the tensor has 2",
         (as_mdspan<int32_t, 1>(t)));
  RAISES(InvalidState, "as_mdspan: the tensor is undefined", (as_mdspan<float, 1>(TensorPtr())));
  static char buffer[4096];
  auto arena = std::make_unique<ArenaBackend>(buffer, sizeof buffer);
  const Reports told;
  const auto gone = zeros({2}, *arena);
  arena.reset();
  RAISES(InvalidState, "as_mdspan: the tensor is in memory of backend arena, which was destroyed",
         (as_mdspan<float, 1>(gone)));
  const auto made = try_as_mdspan<int32_t, 2>(t);
  REQUIRE(made.ok());
  CHECK(at(*made, 1, 2) == 5);
  FAILS(InvalidType, "try_as_mdspan: asked for Float", (try_as_mdspan<float, 2>(t)));
  FAILS(NotSupported, "try_as_mdspan: stride -1 of dimension 0",
        (try_as_mdspan<int32_t, 1>(flip(view(t, {6}), {0}))));
  FAILS(NotSupported, "differs from that of the mdspan's layout",
        (try_as_mdspan<int32_t, 2, layout_right>(transpose(t, 0, 1))));
}

#endif
