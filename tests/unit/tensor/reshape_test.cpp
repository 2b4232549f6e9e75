// SPDX-License-Identifier: MIT
// reshape and flatten: views where there are strides for the sizes, else row-major copies.
#include "backend/calling_backend.h"
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"
#include "tensor/helpers.h"

namespace reshape_test {

using namespace tenon;
using namespace tests;

namespace {

bool is_view_of(const Tensor& made, const Tensor& source) {
  return ownership(made) == Ownership::View && const_data_ptr(made) == const_data_ptr(source);
}

// A row-major copy of the elements that plain loops find, whose type is the source's.
void check_copied(const Tensor& made, const Tensor& source, const Vector& wanted) {
  CHECK(sizes(made) == wanted);
  CHECK(strides(made) == strides(empty(wanted)));
  CHECK(dim_order(made) == dim_order(empty(wanted)));
  CHECK(made.is_contiguous());
  CHECK(ownership(made) == Ownership::Owned);
  CHECK_FALSE(is_readonly(made));
  CHECK(made.scalar_type() == source.scalar_type());
  CHECK(made.device() == source.device());
  CHECK(values<int32_t>(made) == values<int32_t>(source));
  CHECK(is_aligned(made, 64));
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("reshape: a view where the elements lie evenly, else a row-major copy") {
  const Tensor t = counted({4, 3, 2});
  int32_t data[24];
  std::iota(data, data + 24, 0);
  const struct {
    Tensor source;
    Vector wanted;
    bool is_view;
  } rows[] = {
      {t, {24}, true},
      {t, {4, 3, 2}, true},
      {transpose(t, 0, 2), {2, 3, 4}, true},  // the sizes that it has
      {transpose(t, 0, 2), {24}, false},
      {transpose(t, 0, 2), {2, 3, 2, 2}, true},
      {transpose(t, 0, 2), {4, 6}, false},
      {permute(t, {1, 0, 2}), {3, 2, 2, 2}, true},
      {slice(t, 1, 0, 2), {4, 4}, true},
      {slice(t, 1, 0, 2), {16}, false},
      {slice(t, 2, 0, 1), {12}, true},
      {tenon::select(t, 1, 1), {8}, false},
      {expand(counted({2, 1}), {2, 3}), {6}, false},
      {*from_blob(data, {3, 3}, {1, 1}), {9}, false},
      {diagonal(counted({3, 3})), {3, 1}, true},
      {counted({}), {1, 1}, true},
      {counted({1}), {}, true},
      {slice(t, 1, 0, 0), {0, 7}, true},
      {transpose(slice(t, 1, 0, 0), 0, 2), {4, 0}, true},
  };
  for (const auto& row : rows) {
    CAPTURE(sizes(row.source), strides(row.source), row.wanted);
    const Tensor made = reshape(row.source, row.wanted);
    CHECK(sizes(made) == row.wanted);
    CHECK(values<int32_t>(made) == values<int32_t>(row.source));
    if (row.is_view) {
      CHECK(is_view_of(made, row.source));
      CHECK(try_view(row.source, row.wanted).ok());
    } else {
      check_copied(made, row.source, row.wanted);
      CHECK(try_view(row.source, row.wanted).error() == Error::NotSupported);
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("flatten: a view of dimensions that lie evenly, else a row-major copy") {
  const Tensor turned = permute(counted({2, 3, 4}), {2, 0, 1});  // strides {1, 12, 4}
  CHECK(is_view_of(flatten(turned, 1, 2), turned));
  check_copied(flatten(turned), turned, {24});
  check_copied(*try_flatten(turned, 0, -2), turned, {8, 3});
}

TEST_CASE("reshape: a -1 is computed for a copy too; other element counts are refused") {
  const Tensor t = transpose(counted({2, 3}));
  check_copied(reshape(t, {-1}), t, {6});
  check_copied(*try_reshape(t, {1, -1, 3}), t, {1, 2, 3});
  RAISES(InvalidArgument, "reshape: sizes {5} hold 5 elements, the tensor has 6", reshape(t, {5}));
  RAISES(InvalidArgument, "size -2 of dimension 0 is negative", reshape(t, {-2, -3}));
  RETURNS(InvalidState, "try_reshape: the source tensor is undefined",
          try_reshape(TensorPtr(), {1}).error());
  Vector deep(64, 1);
  deep[40] = 6;
  check_copied(reshape(t, deep), t, deep);
  RAISES(InvalidArgument, "sizes has more than 64", reshape(t, Vector(65, 1)));
}

// A promise of docs/guarantees.md.
TEST_CASE("reshape: the copy keeps dtype and dynamism, keeps nothing alive and may grow") {
  Calls calls;
  int16_t data[6] = {1, 2, 3, 4, 5, 6};
  Tensor source = for_blob(data, {3, 2})
                      .strides({1, 3})
                      .dynamism(TensorShapeDynamism::DYNAMIC)
                      .deleter(calls.deleter())
                      .make_tensor();
  const Tensor t = reshape(source, {6});
  CHECK(resize_tensor(source, {2, 2}) == Error::Ok);
  source = Tensor();
  CHECK(calls.count == 1);
  CHECK(t.scalar_type() == ScalarType::Short);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
  CHECK(values<int16_t>(t) == std::vector<int16_t>{1, 4, 2, 5, 3, 6});
  CHECK(resize_tensor(t, {100}) == Error::Ok);
  CHECK(tenon::data<int16_t>(t)[5] == 6);
  RETURNS(InvalidArgument, "room for 6",
          resize_tensor(reshape(transpose(counted({2, 3})), {6}), {7}));
}

// A promise of docs/guarantees.md.
TEST_CASE("reshape: a backend's tensor is copied by the backend, in its memory") {
  MinimalBackend device;
  TrackingBackend tracked(device);
  CpuBackend heap;
  TrackingBackend tracked_heap(heap);
  alignas(64) char memory[4096];
  ArenaBackend arena(memory, sizeof memory);
  for (Backend* const backend :
       {static_cast<Backend*>(&device), static_cast<Backend*>(&tracked),
        static_cast<Backend*>(&tracked_heap), static_cast<Backend*>(&arena)}) {
    INFO(backend->name());
    const TensorPtr there = backend_copy(counted({2, 3}), *backend);
    const Tensor turned = transpose(there);
    CHECK(is_view_of(reshape(there, {6}), *there));
    const Tensor made = reshape(turned, {6});
    CHECK(&backend_of(made) == backend);
    CHECK(made.device() == backend->device());
    CHECK(ownership(made) == Ownership::Owned);
    CHECK(sizes(made) == Vector{6});
    CHECK(values<int32_t>(backend_copy(made, host_backend())) == Ints{0, 3, 1, 4, 2, 5});
  }
  CHECK(device.faults == 0);
  CHECK(tracked_heap.live_count() == 0);
}

TEST_CASE("reshape: of a Meta tensor it is one, of a placeholder where a copy is needed refused") {
  const Tensor meta = for_blob(nullptr, {2, 3}).device(DeviceType::Meta).make_tensor();
  const Tensor flat = reshape(transpose(meta), {6});
  CHECK(flat.device() == Device(DeviceType::Meta));
  CHECK(sizes(flat) == Vector{6});
  CHECK(strides(flat) == Vector{1});
  MetaBackend backend;
  const Tensor turned = transpose(zeros({2, 3}, backend));
  for (const Tensor& made : {reshape(turned, {6}), contiguous(turned)}) {
    CHECK(&backend_of(made) == &backend);
    CHECK(ownership(made) == Ownership::Owned);
    CHECK(made.is_contiguous());
    CHECK(made.numel() == 6);
  }
  const Tensor placeholder = make_tensor({2, 3}, nullptr);
  CHECK(const_data_ptr(reshape(placeholder, {6})) == nullptr);
  RAISES(InvalidState, "reshape: the source tensor is a placeholder without data",
         reshape(transpose(placeholder), {6}));
}

}  // namespace reshape_test
