// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/runtimes/executorch/CMakeLists.txt.
#include "tenon/interop/runtimes/executorch_method.h"

#include <initializer_list>

#include "allocation/counting_malloc.h"
#include "interop/models.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/tracking.h"
#include "tenon/interop/executorch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace executorch_method_test {

using namespace tenon;
using executorch::runtime::Tag;
using tenon::detail::describe_value;
using tenon::detail::ExecutorchMemory;
using tenon::detail::is_same_order;
using tests::Floats;
using tests::model_path;
using tests::Vector;

namespace {

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

using Their = executorch::aten::TensorImpl;

// The programs whose inputs and outputs are planned, and those that leave them to the caller.
const char* const kAliasing[] = {"aliasing.pte", "aliasing_unplanned.pte"};
const char* const kState[] = {"state.pte", "state_unplanned.pte"};
const char* const kAdd[] = {"add.pte", "add_unplanned.pte"};

bool is_same(const Dims& sizes, std::initializer_list<uint8_t> a,
             std::initializer_list<uint8_t> b) {
  return is_same_order(sizes, ArrayRef<uint8_t>(a.begin(), a.size()),
                       ArrayRef<uint8_t>(b.begin(), b.size()));
}

std::vector<float> floats(const Tensor& tensor) { return tests::values<float>(tensor); }
std::vector<float> floats(Module& module, const char* method, size_t index = 0) {
  return floats(module.get_output(method, index)->toTensor());
}
const void* data(Module& module, const char* method, size_t index = 0) {
  const Tensor tensor = module.get_output(method, index)->toTensor();
  const void* at = tensor.const_data_ptr();  // not const: Clang would look where it comes from
  return at;                                 // the module keeps it
}

const Floats kSix = {1, 2, 3, 4, 5, 6};
TensorPtr six() { return make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Float); }

}  // namespace

TEST_CASE("ExecutorchMemory: hands out aligned memory that does not overlap") {
  ExecutorchMemory memory(host_backend());
  auto* const a = static_cast<unsigned char*>(memory.allocate(3, 1));
  auto* const b = static_cast<unsigned char*>(memory.allocate(100, 64));
  auto* const c = static_cast<unsigned char*>(memory.allocate(10000, 4096));
  auto* const d = static_cast<unsigned char*>(memory.allocate(8, 8));
  REQUIRE((a != nullptr && b != nullptr && c != nullptr && d != nullptr));
  CHECK(address(b) % 64 == 0);
  CHECK(address(c) % 4096 == 0);
  CHECK(address(d) % 8 == 0);
  std::memset(a, 1, 3);
  std::memset(b, 2, 100);
  std::memset(c, 3, 10000);
  std::memset(d, 4, 8);
  CHECK((a[2] == 1 && b[0] == 2 && b[99] == 2 && c[0] == 3 && c[9999] == 3 && d[7] == 4));
}

TEST_CASE("ExecutorchMemory: an alignment that is no power of 2, or too much, is refused") {
  ExecutorchMemory memory(host_backend());
  CHECK(memory.allocate(8, 3) == nullptr);
  CHECK(memory.allocate(8, 0) == nullptr);
  CHECK(memory.allocate(SIZE_MAX) == nullptr);
  CHECK(memory.allocate(PTRDIFF_MAX) == nullptr);
  CHECK(memory.allocate(8) != nullptr);
  CHECK(memory.allocate(0) != nullptr);
}

TEST_CASE("describe_value: what is no tensor by its kind, lists of tensors are refused") {
  const std::pair<Tag, ValueKind> rows[] = {{Tag::None, ValueKind::None},
                                            {Tag::Int, ValueKind::Int},
                                            {Tag::Double, ValueKind::Double},
                                            {Tag::Bool, ValueKind::Bool},
                                            {Tag::String, ValueKind::String},
                                            {Tag::ListInt, ValueKind::IntList},
                                            {Tag::ListDouble, ValueKind::DoubleList},
                                            {Tag::ListBool, ValueKind::BoolList}};
  executorch::runtime::EValue value;
  ValueSpec spec;
  for (const auto& [tag, kind] : rows) {
    CAPTURE(toString(kind));
    value.tag = tag;
    REQUIRE(describe_value(value, spec) == Error::Ok);
    CHECK(spec.kind == kind);
    CHECK_FALSE(spec.is_described);
  }
  for (const Tag tag : {Tag::ListTensor, Tag::ListOptionalTensor, Tag::ListScalar}) {
    value.tag = tag;
    RETURNS(NotSupported, "list of tensors", describe_value(value, spec));
  }
  value.tag = Tag::None;
}

TEST_CASE(
    "describe_value: the sizes of a fixed shape, the largest of a dynamic one; what is lacked") {
  using Dynamism = executorch::aten::TensorShapeDynamism;
  int32_t sizes[] = {2, 3};
  uint8_t order[] = {0, 1};
  int32_t strides[] = {3, 1};
  ValueSpec spec;
  const auto describe = [&](executorch::aten::ScalarType type, Dynamism dynamism,
                            executorch::aten::DeviceType device) {
    Their impl(type, 2, sizes, nullptr, order, strides, dynamism, device);
    return describe_value(executorch::aten::Tensor(&impl), spec);
  };
  const auto cpu = executorch::aten::DeviceType::CPU;
  const auto longs = executorch::aten::ScalarType::Long;
  REQUIRE(describe(longs, Dynamism::STATIC, cpu) == Error::Ok);
  CHECK((spec.kind == ValueKind::Tensor && spec.is_described));
  CHECK(spec.tensor.type == ScalarType::Long);
  CHECK(spec.tensor.sizes == Dims{2, 3});
  CHECK(spec.tensor.max_sizes.empty());
  REQUIRE(describe(longs, Dynamism::DYNAMIC_BOUND, cpu) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{-1, -1});
  CHECK(spec.tensor.max_sizes == Dims{2, 3});
  RETURNS(NotSupported, "tenon has no dtype for ExecuTorch's number 12",
          describe(executorch::aten::ScalarType::QInt8, Dynamism::STATIC, cpu));
  RETURNS(NotSupported, "not the host's",
          describe(longs, Dynamism::STATIC, executorch::aten::DeviceType::CUDA));
}

TEST_CASE("is_same_order: dimensions of size 1 may stand anywhere") {
  CHECK(is_same({2, 3}, {0, 1}, {0, 1}));
  CHECK_FALSE(is_same({2, 3}, {0, 1}, {1, 0}));
  CHECK(is_same({1, 3}, {0, 1}, {1, 0}));
  CHECK(is_same({2, 1, 4, 5}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  CHECK_FALSE(is_same({2, 3, 4, 5}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  CHECK_FALSE(is_same({2, 3, 1, 5}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  CHECK(is_same({1, 1}, {0, 1}, {1, 0}));
  CHECK(is_same({}, {}, {}));
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "ExecuTorch inputs: one that is not planned is the caller's memory, a planned one a copy") {
  ExecuTorchModule unplanned(model_path("aliasing_unplanned.pte"));
  ExecuTorchModule planned(model_path("aliasing.pte"));
  TensorPtr x = six();
  REQUIRE(unplanned.run("add_in_place", *x) == Error::Ok);
  CHECK(floats(*x) == Floats{2, 3, 4, 5, 6, 7});
  REQUIRE(planned.run("add_in_place", *x) == Error::Ok);
  CHECK(floats(*x) == Floats{2, 3, 4, 5, 6, 7});
  CHECK(floats(planned, "add_in_place") == Floats{3, 4, 5, 6, 7, 8});
}

TEST_CASE("ExecuTorch inputs: a read-only tensor passes") {
  static const float memory[6] = {1, 2, 3, 4, 5, 6};
  for (const char* const name : kAdd) {
    CAPTURE(name);
    ExecuTorchModule module(model_path(name));
    REQUIRE(module.run("forward", {from_blob(memory, {2, 3}), six()}) == Error::Ok);
    CHECK(floats(module, "forward") == Floats{2, 4, 6, 8, 10, 12});
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("ExecuTorch outputs: one that is not planned is written right into the tensor set") {
  TrackingBackend memory(host_backend());
  {
    ExecuTorchModule module(model_path("add_unplanned.pte"), memory);
    auto room = std::make_unique<float[]>(48);
    room[6] = -1.0f;
    TensorPtr out = from_blob(room.get(), {16, 3});
    REQUIRE(module.set_output(out) == Error::Ok);
    REQUIRE(module.run("forward", {six(), six()}) == Error::Ok);
    CHECK(data(module, "forward") == room.get());
    CHECK(tests::sizes(out) == Vector{2, 3});
    CHECK(floats(*out) == Floats{2, 4, 6, 8, 10, 12});
    CHECK(room[6] == -1.0f);
    const auto count = memory.total_count();
    REQUIRE(module.run("forward", {full({16, 3}, 1), full({16, 3}, 2)}) == Error::Ok);
    CHECK(tests::sizes(out) == Vector{16, 3});
    CHECK(room[47] == 3.0f);
    CHECK(memory.total_count() == count);
    // It had nothing else to write to: that is made only now. What is gone, the runtime forgets.
    REQUIRE(module.set_output(none) == Error::Ok);
    room.reset();
    REQUIRE(module.run("forward", {six(), six()}) == Error::Ok);
    CHECK(floats(module, "forward") == Floats{2, 4, 6, 8, 10, 12});
    CHECK(memory.total_count() > count);
  }
  CHECK(memory.live_bytes() == 0);
}

TEST_CASE("ExecuTorch outputs: a set tensor without room, or of another layout, gets a copy") {
  ExecuTorchModule module(model_path("add_unplanned.pte"));
  Floats room(48, -1.0f);
  TensorPtr out = from_blob(room.data(), {2, 3});
  REQUIRE(module.set_output(out) == Error::Ok);
  REQUIRE(module.run("forward", {six(), six()}) == Error::Ok);
  CHECK(Floats(room.begin(), room.begin() + 7) == Floats{2, 4, 6, 8, 10, 12, -1});
  RETURNS(InvalidArgument, "output 0: resize_tensor: sizes {3, 3} hold 9",
          module.run("forward", {full({3, 3}, 1), full({3, 3}, 1)}));
  REQUIRE(module.run("forward", {full({1, 3}, 1), full({1, 3}, 1)}) == Error::Ok);
  CHECK(tests::sizes(out) == Vector{1, 3});
  CHECK(Floats(room.begin(), room.begin() + 4) == Floats{2, 2, 2, 8});
  const std::pair<Dims, Dims> rows[] = {{{2, 3}, {5, 1}}, {{16, 3}, {1, 16}}};
  for (const auto& [sizes, strides] : rows) {
    CAPTURE(strides[0]);
    out = from_blob(room.data(), sizes, strides);
    REQUIRE(module.set_output(out) == Error::Ok);
    REQUIRE(module.run("forward", {six(), six()}) == Error::Ok);
    CHECK(floats(*out) == Floats{2, 4, 6, 8, 10, 12});
  }
}

TEST_CASE("ExecuTorch outputs: one value that is two outputs goes to both tensors") {
  const Floats expected = {2, 3, 4, 5, 6, 7};
  for (const char* const name : kAliasing) {
    CAPTURE(name);
    ExecuTorchModule module(model_path(name));
    float first[6] = {};
    float second[6] = {};
    REQUIRE(module.set_output("twice", from_blob(first, {2, 3}), 0) == Error::Ok);
    REQUIRE(module.run("twice", six()) == Error::Ok);
    CHECK(Floats(first, first + 6) == expected);
    CHECK(floats(module, "twice", 1) == expected);
    CHECK(data(module, "twice", 1) != first);
    REQUIRE(module.set_output("twice", from_blob(second, {2, 3}), 1) == Error::Ok);
    REQUIRE(module.run("twice", full({2, 3}, 1)) == Error::Ok);
    CHECK(Floats(first, first + 6) == Floats(6, 2.0f));
    CHECK(Floats(second, second + 6) == Floats(6, 2.0f));
  }
}

TEST_CASE("ExecuTorch outputs: an input that is an output is copied, and may go before that") {
  for (const char* const name : kAliasing) {
    CAPTURE(name);
    ExecuTorchModule module(model_path(name));
    auto memory = std::make_unique<float[]>(6);
    for (size_t i = 0; i < 6; ++i) memory[i] = kSix[i];
    REQUIRE(module.run("same", from_blob(memory.get(), {2, 3})) == Error::Ok);
    CHECK(data(module, "same") != memory.get());
    memory.reset();
    CHECK(floats(module, "same") == kSix);
    float target[6] = {};
    REQUIRE(module.set_output("same", from_blob(target, {2, 3})) == Error::Ok);
    REQUIRE(module.run("same", six()) == Error::Ok);
    CHECK(Floats(target, target + 6) == kSix);
    // Its own output: nothing to be done.
    REQUIRE(module.run("same", from_blob(target, {2, 3})) == Error::Ok);
    CHECK(Floats(target, target + 6) == kSix);
  }
}

TEST_CASE("ExecuTorch shapes: of another dim order than row-major") {
  ExecuTorchModule module(model_path("layouts.pte"));
  TensorPtr image = empty({2, 3, 4, 5});
  for (int64_t i = 0; i < 120; ++i) image->mutable_data_ptr<float>()[i] = static_cast<float>(i);
  RETURNS(InvalidArgument, "input 0: its strides are {60, 20, 5, 1}, expected {60, 1, 15, 3}",
          module.run("channels_last", *image));
  RETURNS(
      InvalidArgument, "input 0: its dim order is {1, 0}, the program was exported for {0, 1}",
      ExecuTorchModule(model_path("methods.pte")).run("forward", full_strided({2, 3}, {1, 2}, 1)));
  TensorPtr channels_last = empty_strided({2, 3, 4, 5}, {60, 1, 15, 3});
  REQUIRE(copy_(channels_last, image) == Error::Ok);
  REQUIRE(module.run("channels_last", *channels_last) == Error::Ok);
  const Tensor made = module.get_output("channels_last")->toTensor();
  CHECK(tests::strides(made) == Vector{60, 1, 15, 3});
  TensorPtr target = empty({2, 3, 4, 5});
  REQUIRE(module.set_output("channels_last", target) == Error::Ok);
  REQUIRE(module.run("channels_last", *channels_last) == Error::Ok);
  CHECK(tests::strides(target) == Vector{60, 20, 5, 1});
  for (int64_t i = 0; i < 120; ++i) {
    CHECK(target->const_data_ptr<float>()[i] == 2.0f * static_cast<float>(i));
  }
  CHECK(floats(made) == floats(*target));
}

TEST_CASE("ExecuTorch memory: a run allocates nothing once inputs and outputs are set") {
  if (!tests::heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  const auto count = [](Module& module) {
    for (int i = 0; i < 3; ++i) REQUIRE(module.run() == Error::Ok);
    tests::start_counting();
    Error error = Error::Ok;
    for (int i = 0; i < 10 && error == Error::Ok; ++i) error = module.run();
    tests::stop_counting();
    CHECK(error == Error::Ok);
    return tests::allocations();
  };
  for (const char* const name : kAdd) {
    INFO(name);
    ExecuTorchModule module(model_path(name));
    REQUIRE(module.set_inputs({six(), six()}) == Error::Ok);
    CHECK(count(module) == 0);  // into memory made once
    REQUIRE(module.set_output(zeros({16, 3})) ==
            (module.method_meta()->outputs[0].tensor.max_sizes.empty() ? Error::InvalidArgument
                                                                       : Error::Ok));
    REQUIRE(module.set_output(zeros({2, 3})) == Error::Ok);
    CHECK(count(module) == 0);
  }
  for (const char* const name : kState) {
    INFO(name);
    ExecuTorchModule module(model_path(name));
    const TensorPtr state = six();
    REQUIRE(module.set_inputs({six(), state}) == Error::Ok);
    REQUIRE(module.set_output(state) == Error::Ok);
    CHECK(count(module) == 0);  // what is copied aside, too
  }
}

TEST_CASE("ExecuTorch outputs: one of a branch is where it was set, else memory of its own") {
  ExecuTorchModule module(model_path("branch.pte"));
  const Tensor first = module.forward(six())->at(0).toTensor();
  const Tensor second = module.forward(full({2, 3}, -1))->at(0).toTensor();
  const TensorPtr to = zeros({2, 3});
  const void* const memory = to->const_data_ptr();
  REQUIRE(module.set_output(to) == Error::Ok);
  REQUIRE(module.run("forward", full({2, 3}, 5)) == Error::Ok);
  CHECK(floats(*to) == Floats(6, 6));
  REQUIRE(module.run("forward", full({2, 3}, -2)) == Error::Ok);
  CHECK(floats(*to) == Floats(6, -3));
  REQUIRE(module.run("forward", full({2, 3}, 5)) == Error::Ok);
  CHECK(floats(*to) == Floats(6, 6));
  CHECK(to->const_data_ptr() == memory);
  CHECK(floats(first) == Floats{2, 3, 4, 5, 6, 7});
  CHECK(floats(second) == Floats(6, -2));
}

TEST_CASE(
    "ExecuTorch method: an operator that is not linked is an error with the runtime's name for "
    "it") {
  ExecuTorchModule module(model_path("missing.pte"));
  RETURNS(NotSupported, "forward: method forward cannot be loaded: ExecuTorch says OperatorMissing",
          module.forward(six()).error());
}

}  // namespace executorch_method_test
