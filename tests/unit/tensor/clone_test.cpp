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

TEST_CASE("clone: by ATen's name, with the options of clone_tensor_ptr") {
  const TensorPtr source = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  CpuBackend backend;
  const TensorPtr copies[] = {clone(source), clone(*source), *try_clone(transpose(source)),
                              clone(source, backend)};
  for (const TensorPtr& copy : copies) {
    CHECK(ownership(copy) == Ownership::Owned);
    CHECK_FALSE(copy->is_alias_of(*source));
  }
  CHECK(values<int32_t>(copies[0]) == Ints{1, 2, 3, 4});
  CHECK(values<int32_t>(copies[2]) == Ints{1, 3, 2, 4});
  CHECK(values<float>(clone(source, ScalarType::Float, backend)) == Floats{1, 2, 3, 4});
  RAISES(InvalidType, "clone: values of Float cannot be cast to Int",
         clone(make_tensor({1.0f}), ScalarType::Int));
  RETURNS(InvalidState, "try_clone: the source tensor is undefined",
          try_clone(Tensor(), ScalarType::Int).error());
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

TEST_CASE("clone: gaps and broadcast strides become dense in the same dim order") {
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  auto gaps = clone_tensor_ptr(from_blob(data, {2, 3}, {4, 1}));
  CHECK(strides(gaps) == Vector{3, 1});
  CHECK(values<int32_t>(gaps) == Ints{0, 1, 2, 4, 5, 6});
  auto columns = clone_tensor_ptr(from_blob(data, {2, 2}, {1, 4}));
  CHECK(strides(columns) == Vector{1, 2});
  CHECK(values<int32_t>(columns) == Ints{0, 4, 1, 5});
  auto broadcast = clone_tensor_ptr(from_blob(data, {2, 3}, {0, 1}));
  CHECK(values<int32_t>(broadcast) == Ints{0, 1, 2, 0, 1, 2});
  CHECK_FALSE(broadcast->stride(0) == 0);
}

TEST_CASE("clone: reversed strides become dense in the same dim order", "[plain]") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto reversed = clone_tensor_ptr(from_blob(data + 5, {2, 3}, {-3, -1}));
  CHECK(strides(reversed) == Vector{3, 1});
  CHECK(values<int32_t>(reversed) == Ints{5, 4, 3, 2, 1, 0});
}

TEST_CASE("clone: with a type it casts, strided or not") {
  auto t = clone_tensor_ptr(make_tensor_ptr({2, 2}, {1, 2, 3, 4}), ScalarType::Double);
  CHECK(values<double>(t) == Doubles{1, 2, 3, 4});
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(values<double>(clone_tensor_ptr(*from_blob(data, {2, 2}, {3, 1}), ScalarType::Double)) ==
        Doubles{0, 1, 3, 4});
  CHECK(values<int32_t>(clone_tensor_ptr(from_blob(data, {6}), ScalarType::Int)) ==
        Ints{0, 1, 2, 3, 4, 5});
  CHECK(values<uint8_t>(clone_tensor_ptr(make_tensor_ptr({300, -1}), ScalarType::Byte)) ==
        std::vector<uint8_t>{44, 255});
}

TEST_CASE("clone: casts that canCast forbids are refused by name") {
  auto floats = make_tensor_ptr({1.5f});
  RAISES(InvalidType, "clone_tensor_ptr: values of Float cannot be cast to Int",
         clone_tensor_ptr(floats, ScalarType::Int));
  RAISES(InvalidType, "Bool", clone_tensor_ptr(make_tensor_ptr({1}), ScalarType::Bool));
  RAISES(InvalidType, "ComplexFloat",
         clone_tensor_ptr(make_tensor_ptr({complex<float>(1, 2)}), ScalarType::Float));
  RAISES(InvalidType, "Undefined", clone_tensor_ptr(floats, ScalarType::Undefined));
  RAISES(InvalidType, "99", clone_tensor_ptr(floats, static_cast<ScalarType>(99)));
  auto result = try_clone_tensor_ptr(floats, ScalarType::Int);
  CHECK(tests::contains(result.message(), "try_clone_tensor_ptr: "));
  CHECK(try_clone_tensor_ptr(floats).ok());
}

TEST_CASE("clone: of a read-only tensor is writable", "[readonly]") {
  const int32_t data[2] = {1, 2};
  auto t = clone_tensor_ptr(from_blob(tests::read_only(data), {2}));
  CHECK_FALSE(is_readonly(t));
  CHECK(values<int32_t>(t) == Ints{1, 2});
}

TEST_CASE("clone: of a view, without elements, of rank 0 and of many dimensions") {
  auto source = make_tensor_ptr({1, 2, 3});
  auto of_view = clone_tensor_ptr(*make_tensor_ptr(*source, {2}, {}, {}, 1));
  CHECK(ownership(of_view) == Ownership::Owned);
  CHECK(values<int32_t>(of_view) == Ints{2, 3});
  CHECK(sizes(clone_tensor_ptr(make_tensor_ptr({2, 0, 3}, {}))) == Vector{2, 0, 3});
  CHECK(item<int>(clone_tensor_ptr(make_tensor_ptr(7))) == 7);
  CHECK(item<float>(clone_tensor_ptr(make_tensor_ptr(7), ScalarType::Float)) == 7);
  CHECK(values<int32_t>(clone_tensor_ptr(make_tensor_ptr({1, 1, 1, 1, 1, 1, 2}, {1, 2}))) ==
        Ints{1, 2});
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
  // What is made like it, but does not promise its device, is on the heap.
  CHECK(device(zeros_like(source)) == Device());
  CHECK(values<double>(to(source, ScalarType::Double)) == Doubles{1, 2});

  CallingBackend backend;
  backend.label = "cuda_managed:1";
  register_backend(backend);
  {
    const auto clone = clone_tensor_ptr(source);
    CHECK(device(clone) == Device("cuda_managed:1"));
    CHECK(&backend_of(clone) == &backend);
    CHECK(values<int32_t>(clone) == Ints{1, 2});
    const auto again = clone_tensor_ptr(clone, ScalarType::Double);
    CHECK(device(again) == Device("cuda_managed:1"));
    CHECK(values<double>(again) == Doubles{1, 2});
    CHECK(device(zeros_like(source)) == Device("cuda_managed:1"));
    CHECK(backend.blocks == 2);
  }
  unregister_backend(backend);
  CHECK(backend.blocks == 0);
}

namespace {

/// Over `elements`, which are overwritten when nobody uses them anymore.
TensorPtr until_released(Ints& elements) {
  return from_blob(elements.data(), {static_cast<int64_t>(elements.size())}, ScalarType::Int,
                   [&](void*) noexcept { std::fill(elements.begin(), elements.end(), -1); });
}

}  // namespace

TEST_CASE("clone: a backend may drop the source while it allocates") {
  CallingBackend backend;
  Ints elements = {1, 2, 3};
  auto source = until_released(elements);
  backend.use = [&] { source.reset(); };
  const auto t = clone_tensor_ptr(source, backend);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3});
  CHECK(elements == Ints{-1, -1, -1});

  Ints more = {4, 5, 6};
  auto base = until_released(more);
  auto view = slice(base, 0, 1, 3);
  base.reset();
  backend.use = [&] { view = Tensor(); };
  CHECK(values<int32_t>(backend_copy(view, backend)) == Ints{5, 6});
  CHECK(more == Ints{-1, -1, -1});
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
