// SPDX-License-Identifier: MIT
#include "tenon/module/made_outputs.h"

#include <cstdint>

#include "support/catch.h"
#include "tenon/tenon.h"

using tenon::Dims;
using tenon::Error;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::TensorSpec;
using tenon::ValueKind;
using tenon::ValueSpec;
using tenon::detail::MadeOutputs;

namespace {

MadeOutputs outputs(size_t count, tenon::Backend* memory = nullptr) {
  MadeOutputs made(nullptr, memory);
  REQUIRE(made.resize(count) == Error::Ok);
  return made;
}

TensorSpec up_to(const Dims& max_sizes) {
  TensorSpec spec{Dims(max_sizes), ScalarType::Int};
  for (int64_t& size : spec.sizes) size = -1;
  spec.max_sizes = max_sizes;
  return spec;
}

}  // namespace

TEST_CASE("MadeOutputs: a tensor by the spec, of sizes that cannot change if the spec's cannot") {
  MadeOutputs made = outputs(2);
  Tensor tensor;
  REQUIRE(made.provide(1, TensorSpec{{2, 3}, ScalarType::Long}, tensor) == Error::Ok);
  CHECK(tensor.sizes() == Dims{2, 3});
  CHECK(tensor.scalar_type() == ScalarType::Long);
#if !TENON_ATEN_MODE
  CHECK(tensor.shape_dynamism() == tenon::TensorShapeDynamism::STATIC);
#endif
}

TEST_CASE("MadeOutputs: the same tensor again once nobody else has it") {
  MadeOutputs made = outputs(1);
  const ValueSpec spec(TensorSpec{{4}});
  Tensor first;
  REQUIRE(made.provide(0, spec, first) == Error::Ok);
  const void* const memory = tenon::const_data_ptr(first);
  Tensor second;
  REQUIRE(made.provide(0, spec, second) == Error::Ok);
  CHECK(tenon::const_data_ptr(second) != memory);
  const void* const other = tenon::const_data_ptr(second);
  second = Tensor();
  REQUIRE(made.provide(0, spec, second) == Error::Ok);
  CHECK(tenon::const_data_ptr(second) == other);
}

TEST_CASE("MadeOutputs: a view of the last one counts as somebody who has it") {
  MadeOutputs made = outputs(1);
  const ValueSpec spec(TensorSpec{{4}});
  Tensor tensor;
  REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
  const Tensor part = tenon::slice(tensor, 0, 1, 3);
  const void* const memory = tenon::const_data_ptr(tensor);
  tensor = Tensor();
  REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
  CHECK(tenon::const_data_ptr(tensor) != memory);
}

TEST_CASE("MadeOutputs: sizes that may vary are the largest, again in each run") {
  MadeOutputs made = outputs(1);
  const ValueSpec spec(up_to({4, 3}));
  Tensor tensor;
  REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
  CHECK(tensor.sizes() == Dims{4, 3});
  const void* const memory = tenon::const_data_ptr(tensor);
  REQUIRE(tenon::resize_tensor(tensor, {1, 3}) == Error::Ok);
  tensor = Tensor();
  REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
  CHECK(tensor.sizes() == Dims{4, 3});
  CHECK(tenon::const_data_ptr(tensor) == memory);
}

TEST_CASE("MadeOutputs: elements lie in the dim order asked for, resized ones too") {
  MadeOutputs made = outputs(1);
  const uint8_t channels_last[] = {0, 2, 3, 1};
  Tensor tensor;
  REQUIRE(made.provide(0, up_to({2, 3, 4, 5}), tensor, channels_last) == Error::Ok);
  CHECK(tensor.strides() == Dims{60, 1, 15, 3});
  REQUIRE(tenon::resize_tensor(tensor, {1, 3, 2, 2}) == Error::Ok);
  CHECK(tensor.strides() == Dims{12, 1, 6, 3});
}

TEST_CASE("MadeOutputs: nothing is made where the spec does not say what") {
  MadeOutputs made = outputs(1);
  const TensorSpec any_type{{2}, ScalarType::Undefined};
  const TensorSpec any_size{{-1}};
  const TensorSpec elsewhere{{2}, ScalarType::Float, {}, tenon::Device("cuda:0")};
  for (const ValueSpec& spec : {ValueSpec(), ValueSpec(ValueKind::Int), ValueSpec(any_type),
                                ValueSpec(any_size), ValueSpec(elsewhere)}) {
    Tensor tensor = *tenon::zeros({1});
    REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
    CHECK_FALSE(tensor.defined());
  }
}

TEST_CASE("MadeOutputs: tensors are in the memory that was given, and its errors name the output") {
  alignas(64) static unsigned char buffer[4096];
  tenon::ArenaBackend arena(buffer, sizeof buffer);
  {
    MadeOutputs made = outputs(2, &arena);
    Tensor tensor;
    REQUIRE(made.provide(0, TensorSpec{{4}}, tensor) == Error::Ok);
    const auto* const at = static_cast<const unsigned char*>(tenon::const_data_ptr(tensor));
    CHECK((at >= buffer && at < buffer + sizeof buffer));
    CHECK_RETURNS(Error::OutOfMemory, "output 1 (scores): ",
                  made.provide(1, ValueSpec("scores", TensorSpec{{4096}}), tensor));
  }
  CHECK(arena.reset() == Error::Ok);
}

#if !TENON_ATEN_MODE
TEST_CASE("MadeOutputs: one that was deallocated since is made anew") {
  MadeOutputs made = outputs(1);
  const ValueSpec spec(TensorSpec{{4}});
  Tensor tensor;
  REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
  REQUIRE(tenon::backend_deallocate(tensor) == tenon::Deallocation::Ok);
  tensor = Tensor();
  REQUIRE(made.provide(0, spec, tensor) == Error::Ok);
  CHECK_NOTHROW(tenon::mutable_data_ptr<float>(tensor)[3] = 1);
}
#endif
