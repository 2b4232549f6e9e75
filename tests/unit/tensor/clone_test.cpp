// SPDX-License-Identifier: MIT
#include "tenon/tensor/clone.h"

#include "backend/calling_backend.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace clone_test {

using namespace tenon;
using namespace tests;

// A promise of docs/guarantees.md.
TEST_CASE("clone: is owned, equal and independent of its source") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const auto& t : {clone_tensor_ptr(source), clone_tensor_ptr(*source)}) {
    CHECK(ownership(t) == Ownership::Owned);
    CHECK(const_data_ptr(t) != const_data_ptr(source));
    CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
    mutable_data_ptr<int32_t>(t)[0] = 9;
  }
  CHECK(values<int32_t>(source) == Ints{1, 2, 3, 4, 5, 6});
}

TEST_CASE("clone: keeps dtype, dynamism, dim order and dense strides") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}, {}, ScalarType::Short,
                                TensorShapeDynamism::DYNAMIC);
  auto t = clone_tensor_ptr(source);
  CHECK(t->scalar_type() == ScalarType::Short);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
  CHECK(dim_order(t) == Vector{1, 0});
  CHECK(strides(t) == Vector{1, 2});
  CHECK(values<int16_t>(t) == values<int16_t>(source));
  CHECK(shape_dynamism(clone_tensor_ptr(make_tensor_ptr(1))) == TensorShapeDynamism::STATIC);
}

TEST_CASE("clone: an undefined source and device memory are refused") {
  RAISES(InvalidState, "clone_tensor_ptr: ", clone_tensor_ptr(Tensor()));
  RAISES(InvalidState, "clone_tensor_ptr: ", clone_tensor_ptr(TensorPtr(), ScalarType::Int));
  int32_t data[1] = {};
  auto device = for_blob(data, {1}).device("cuda:1").make_tensor_ptr();
  RAISES(NotSupported, "cuda:1", clone_tensor_ptr(device));
}

TEST_CASE("clone_tensor_ptr: the clone of a Meta tensor is one, with elements and without") {
  for (const int64_t size : {3, 0}) {
    auto shape = for_blob(nullptr, {size}).device("meta").make_tensor_ptr();
    auto clone = clone_tensor_ptr(shape);
    CHECK(device(clone).type() == DeviceType::Meta);
    CHECK(clone->size(0) == size);
    CHECK(const_data_ptr(clone) == nullptr);
  }
}

TEST_CASE("clone: of pinned or managed memory needs a backend that has some", "[plain]") {
  int32_t data[2] = {1, 2};
  const auto source = for_blob(data, {2}).device("cuda_managed:1").make_tensor_ptr();
  RAISES(NotSupported, "clone_tensor_ptr: the source tensor is on cuda_managed:1",
         clone_tensor_ptr(source));
  CHECK(try_clone_tensor_ptr(source, ScalarType::Float).error() == Error::NotSupported);
  const auto on_cpu = clone_tensor_ptr(source, host_backend());
  CHECK(device(on_cpu) == Device());
  CHECK(values<int32_t>(on_cpu) == Ints{1, 2});

  CallingBackend backend;
  backend.label = "cuda_managed:1";
  register_backend(backend);
  {
    const auto clone = clone_tensor_ptr(source);
    CHECK(device(clone) == Device("cuda_managed:1"));
    CHECK(&backend_of(clone) == &backend);
    CHECK(values<int32_t>(clone) == Ints{1, 2});
    CHECK(backend.blocks == 1);
  }
  unregister_backend(backend);
  CHECK(backend.blocks == 0);
}

TEST_CASE("clone: a backend may change the source while it allocates, but for its sizes") {
  CallingBackend backend;
  const auto dynamic = TensorShapeDynamism::DYNAMIC;
  auto source = full({400}, 7, ScalarType::Int, dynamic, host_backend());
  backend.use = [&] { CHECK(resize_tensor_ptr(source, {2}) == Error::Ok); };
  RAISES(InvalidState, "clone_tensor_ptr: the source tensor was changed meanwhile",
         clone_tensor_ptr(source, backend));
  CHECK(backend.live_blocks() == 0);

  backend.use = [&] { CHECK(reserve_tensor_ptr(source, 100000) == Error::Ok); };
  CHECK(values<int32_t>(clone_tensor_ptr(source, backend)) == Ints(2, 7));
  backend.use = [&] { CHECK(backend_deallocate(source) == Deallocation::Ok); };
  RAISES(InvalidState, "was deallocated", clone_tensor_ptr(source, backend));
  CHECK(backend.live_blocks() == 0);
}

}  // namespace clone_test
