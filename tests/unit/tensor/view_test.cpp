// SPDX-License-Identifier: MIT
// What all views have in common: whose memory it is, and what they take over from the source.
#include "tenon/tensor/view.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace view_test {

using namespace tenon;
using namespace tests;

namespace {

struct Function {
  const char* name;
  Tensor (*make)(TensorArg t);
  Result<Tensor> (*try_make)(TensorArg t);
};
#define LAMBDA(...) [](TensorArg t) { return tenon::__VA_ARGS__; }
#define FUNCTION(name, ...) \
  { #name, LAMBDA(name __VA_ARGS__), LAMBDA(try_##name __VA_ARGS__) }

// Every function, with arguments that suit a row-major tensor of sizes {2, 1, 3} and 4-byte
// elements.
const Function kFunctions[] = {
    FUNCTION(view, (t, {3, 2})),
    FUNCTION(view, (t)),
    FUNCTION(reshape, (t, {-1})),
    FUNCTION(flatten, (t)),
    FUNCTION(select, (t, 0, 1)),
    FUNCTION(slice, (t, 2, 0, 3, 2)),
    FUNCTION(narrow, (t, 2, 1, 2)),
    FUNCTION(transpose, (t, 0, 2)),
    FUNCTION(permute, (t, {2, 0, 1})),
    FUNCTION(movedim, (t, 0, 2)),
    FUNCTION(movedim, (t, {2, 0}, {0, 1})),
    FUNCTION(diagonal, (t, 1, 0, 2)),
    FUNCTION(squeeze, (t)),
    FUNCTION(squeeze, (t, 1)),
    FUNCTION(unsqueeze, (t, 0)),
    FUNCTION(expand, (t, {2, 4, 3})),
    FUNCTION(flip, (t, {1})),
    FUNCTION(as_strided, (t, {2}, {3}, 2)),
    FUNCTION(view_as_type, (t, ScalarType::Short)),
};

void check_copies_nothing(const Function& function) {
  Calls calls;
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  TensorPtr source = from_blob(data, {2, 1, 3}, ScalarType::Int, calls.deleter());
  {
    const Tensor view = function.make(source);
    CHECK(ownership(view) == Ownership::View);
    CHECK(view.use_count() == 1);
    CHECK(view.is_alias_of(*source));
    CHECK_FALSE(is_readonly(view));
    CHECK(view.device() == source->device());
    CHECK(shape_dynamism(view) == TensorShapeDynamism::DYNAMIC_BOUND);
    CHECK(sizes(source) == Vector{2, 1, 3});
    source.reset();
    CHECK(calls.count == 0);
    const auto* at = static_cast<const int32_t*>(const_data_ptr(view));
    CHECK((at >= data && at < data + 6));
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
}

void check_of_placeholder(const Function& function) {
  const Tensor view = function.make(make_tensor_ptr({2, 1, 3}, nullptr, ScalarType::Int));
  CHECK(const_data_ptr(view) == nullptr);
  CHECK(view.numel() > 0);
  CHECK(ownership(view) == Ownership::View);
}

void check_of_readonly(const Function& function) {
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  const Tensor view = function.make(from_blob(read_only(data), {2, 1, 3}));
  CHECK(is_readonly(view));
  RAISES(InvalidState, "read-only", mutable_data_ptr(view));
}

void check_keeps_device(const Function& function) {
  for (const Device device : {Device(DeviceType::CUDA, 3), Device(DeviceType::Meta)}) {
    // An address that faults on access.
    auto* const address = reinterpret_cast<int32_t*>(uintptr_t{0x100});
    const TensorPtr source = for_blob(address, {2, 1, 3}).device(device).make_tensor_ptr();
    CHECK(function.make(source).device() == device);
    CHECK(const_data_ptr(tenon::select(source, 0, 1)) == address + 3);
  }
}

void check_dynamism(const Function& function) {
  auto source =
      make_tensor_ptr({2, 1, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  {
    Tensor view = function.make(source);
    CHECK(shape_dynamism(view) == TensorShapeDynamism::DYNAMIC_UNBOUND);
    RETURNS(NotSupported, "a view", resize_tensor(view, {1000}));
    RETURNS(InUse, "a view or blob of the tensor is alive", resize_tensor_ptr(source, {1000}));
  }
  CHECK(resize_tensor_ptr(source, {1000}) == Error::Ok);
}

// The try_ form makes the same view; an undefined tensor is refused by each one's own name.
void check_forms(const Function& function) {
  const Tensor source = counted({2, 1, 3});
  const Tensor view = function.make(source);
  const Result<Tensor> same = function.try_make(source);
  REQUIRE(same.ok());
  CHECK(sizes(*same) == sizes(view));
  CHECK(strides(*same) == strides(view));
  CHECK(same->scalar_type() == view.scalar_type());
  CHECK(const_data_ptr(*same) == const_data_ptr(view));
  const std::string message = std::string(function.name) + ": the source tensor is undefined";
  RAISES(InvalidState, message, function.make(Tensor()));
  RAISES(InvalidState, message, function.make(TensorPtr()));
  RETURNS(InvalidState, "try_" + message, function.try_make(Tensor()).error());
}

}  // namespace

TEST_CASE("view: what all functions have in common") {
  for (const Function& function : kFunctions) {
    INFO(function.name);
    check_copies_nothing(function);
    check_of_placeholder(function);
    check_of_readonly(function);
    check_keeps_device(function);
    check_dynamism(function);
    check_forms(function);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("view: a refused one leaves no borrow behind") {
  auto source = make_tensor_ptr({2}, {1, 2}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  RAISES(OutOfBounds, "select: ", tenon::select(source, 0, 2));
  RAISES(OutOfBounds, "as_strided: ", as_strided(source, {3}, {1}));
  RAISES(InvalidArgument, "view: ", view(source, {3}));
  CHECK(source->use_count() == 1);
  CHECK(resize_tensor_ptr(source, {100}) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("view: writes show in the source, and in its other views") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor column = tenon::select(source, 1, 1);
  accessor<int32_t, 2>(transpose(source, 0, 1))[1][0] = 20;
  accessor<int32_t, 1>(column)[1] = 50;
  CHECK(values<int32_t>(column) == Ints{20, 50});
  CHECK(values<int32_t>(source) == Ints{1, 20, 3, 4, 50, 6});
}

// A promise of docs/guarantees.md.
TEST_CASE("view: a chain of temporaries holds together") {
  const Tensor view = slice(transpose(tenon::select(counted({2, 3, 4}), 0, 1), 0, 1), 1, 0, 3, 2);
  check_tensor(view, {4, 2}, {1, 8}, {12, 20, 13, 21, 14, 22, 15, 23});
}

}  // namespace view_test
