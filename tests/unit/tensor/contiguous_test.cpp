// SPDX-License-Identifier: MIT
// contiguous and to; reshape_test.cpp has reshape and flatten.
#include "tenon/tensor/contiguous.h"

#include "backend/calling_backend.h"
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace contiguous_test {

using namespace tenon;
using namespace tests;

namespace {

Tensor on_device(const Dims& shape, const Dims& steps) {
  void* const address = reinterpret_cast<void*>(uintptr_t{4096});  // faults when it is touched
  return for_blob(address, shape).strides(steps).device("cuda:0").make_tensor();
}

void check_same(const Tensor& made, const Tensor& source) {
  CHECK(made.unsafeGetTensorImpl() == source.unsafeGetTensorImpl());
}

}  // namespace

TEST_CASE("contiguous: a contiguous tensor is given back itself, whatever it is over") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  check_same(contiguous(t), *t);
  int32_t data[2] = {1, 2};
  for (const Tensor& same :
       {*t, tenon::select(t, 0, 1), make_tensor(7), *from_blob(data, {1, 2}, {99, 1}),
        *from_blob(data, {0, 2}, {1, 9}), make_tensor({2}, nullptr), on_device({2, 2}, {})}) {
    check_same(contiguous(same), same);
    check_same(*try_contiguous(same), same);
  }
}

TEST_CASE("contiguous: any other becomes a row-major copy that owns its memory") {
  const TensorPtr source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor t = contiguous(transpose(source, 0, 1));
  CHECK(sizes(t) == Vector{3, 2});
  CHECK(strides(t) == Vector{2, 1});
  CHECK(dim_order(t) == Vector{0, 1});
  CHECK(t.is_contiguous());
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(is_aligned(t, 64));
  CHECK(values<int32_t>(t) == Ints{1, 4, 2, 5, 3, 6});
#if !TENON_ATEN_MODE
  int32_t data[] = {0, 1, 2};
  CHECK(values<int32_t>(contiguous(flip(from_blob(data, {3}), {0}))) == Ints{2, 1, 0});
#endif
}

TEST_CASE(
    "contiguous, to: undefined tensors, what needs unreachable data, and no types are refused") {
  const char* const undefined = "the source tensor is undefined";
  for (const TensorPtr& none_there : {TensorPtr(), std::make_unique<Tensor>()}) {
    RAISES(InvalidState, std::string("contiguous: ") + undefined, contiguous(none_there));
    RAISES(InvalidState, std::string("to: ") + undefined, to(none_there, ScalarType::Int));
  }
  RAISES(InvalidState, "contiguous: the source tensor is a placeholder without data",
         contiguous(for_blob(nullptr, {2, 2}).strides({1, 2}).make_tensor()));
  const char* const unreachable = ": the source tensor is on cuda:0, which the host cannot reach";
  RAISES(NotSupported, std::string("contiguous") + unreachable,
         contiguous(on_device({2, 2}, {1, 2})));
  RAISES(NotSupported, std::string("to") + unreachable, to(on_device({2}, {}), ScalarType::Half));
  RAISES(InvalidType, "to: Undefined is not an element type",
         to(make_tensor(1), ScalarType::Undefined));
}

TEST_CASE("to: another type is a converted copy, dense in the source's dim order and dynamism") {
  const TensorPtr source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}, {},
                                           ScalarType::Short, TensorShapeDynamism::DYNAMIC);
  const Tensor t = to(source, ScalarType::Int);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(dim_order(t) == Vector{1, 0});
  CHECK(strides(t) == Vector{1, 2});
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
  CHECK(values<int32_t>(t) == values<int32_t>(*try_to(source, ScalarType::Int)));
  const auto* const memory = const_data_ptr<int32_t>(t);
  CHECK(Ints(memory, memory + 6) == Ints{1, 2, 3, 4, 5, 6});
}

TEST_CASE("to: a tensor on the device, and of the type, is given back itself") {
  MinimalBackend backend;
  const TensorPtr there = backend_copy(make_tensor_ptr({1.0f, 2.0f}), backend);
  check_same(to(there, backend.device()), *there);  // though no backend is registered
  check_same(to(there, backend.device(), ScalarType::Float), *there);
  const TensorPtr here = make_tensor_ptr({1.0f, 2.0f});
  check_same(to(here, "cpu"), *here);
  check_same(*try_to(*here, DeviceType::CPU), *here);
  const Tensor far = on_device({2}, {});
  check_same(to(far, "cuda:0"), far);
}

TEST_CASE("to: another device's tensor is a copy by the backend registered for it, cast or not") {
  MinimalBackend backend;
  const TensorPtr source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}, {}, ScalarType::Int,
                                           TensorShapeDynamism::DYNAMIC);
  const std::string missing = "no backend is registered for " + backend.device().to_string();
  RAISES(NotFound, "to: " + missing, to(source, backend.device()));
  register_backend(backend);
  const Tensor there = to(source, backend.device());
  CHECK(&backend_of(there) == &backend);
  CHECK(ownership(there) == Ownership::Owned);
  CHECK(shape_dynamism(there) == TensorShapeDynamism::DYNAMIC);
  CHECK(there.scalar_type() == ScalarType::Int);
  CHECK(dim_order(there) == Vector{1, 0});
  const Tensor back = to(there, "cpu");
  CHECK(back.device() == Device());
  CHECK(values<int32_t>(back) == values<int32_t>(source));
  const Tensor cast = to(source, backend.device(), ScalarType::Short);
  CHECK(values<float>(to(cast, "cpu", ScalarType::Float)) == Floats{1, 3, 5, 2, 4, 6});
  const Tensor here = *try_to(there, backend.device(), ScalarType::Double);
  CHECK(&backend_of(here) == &backend);
  CHECK(values<double>(to(here, "cpu")) == std::vector<double>{1, 3, 5, 2, 4, 6});
}

}  // namespace contiguous_test
