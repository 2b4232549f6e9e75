// SPDX-License-Identifier: MIT
#include "tenon/module/outputs.h"

#include <cstdint>
#include <vector>

#include "backend/fault_backend.h"
#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

using Floats = std::vector<float>;

Floats values(const Tensor& tensor) {
  const TensorPtr dense = clone_tensor_ptr(contiguous(tensor));
  const float* const data = const_data_ptr<float>(dense);
  return {data, data + dense->numel()};
}

// Two outputs, of which the second is set to a tensor.
struct Fixture {
  Fixture() {
    CHECK(outputs.set(1, tensor) == Error::Ok);
    CHECK(outputs.begin({}, 2) == Error::Ok);
  }
  const EValue& at(size_t i) { return outputs.values()[i]; }
  Tensor tensor = *zeros({4});
  Outputs outputs;
};

// So many outputs, none of them set.
Outputs begun(size_t count, Backend* memory = nullptr) {
  Outputs outputs(memory);
  REQUIRE(outputs.begin({}, count) == Error::Ok);
  return outputs;
}

Tensor make(Outputs& outputs, size_t i, const ValueSpec& spec) {
  REQUIRE(outputs.make(i, spec) == Error::Ok);
  const EValue made = outputs.values()[i];
  outputs.values()[i] = EValue();
  return made.isTensor() ? made.toTensor() : Tensor();
}

TensorSpec up_to(const Dims& max_sizes) {
  TensorSpec spec{Dims(max_sizes), ScalarType::Int};
  for (int64_t& size : spec.sizes) size = -1;
  spec.max_sizes = max_sizes;
  return spec;
}

}  // namespace

TEST_CASE("Outputs: a target is the tensor that was set, null elsewhere") {
  Fixture f;
  CHECK(f.outputs.size() == 2);
  CHECK(f.outputs.target(0) == nullptr);
  REQUIRE(f.outputs.target(1) != nullptr);
  CHECK(f.outputs.target(1)->unsafeGetTensorImpl() == f.tensor.unsafeGetTensorImpl());
  CHECK(f.outputs.target(2) == nullptr);
}

TEST_CASE("Outputs: what was set is no target while an input or an earlier output shares it") {
  const TensorPtr memory = zeros({8});
  Outputs outputs;
  REQUIRE(outputs.set(0, slice(memory, 0, 0, 3)) == Error::Ok);
  REQUIRE(outputs.set(1, slice(memory, 0, 2, 5)) == Error::Ok);
  REQUIRE(outputs.set(2, slice(memory, 0, 5, 8)) == Error::Ok);
  REQUIRE(outputs.begin({}, 3) == Error::Ok);
  CHECK(outputs.target(0) != nullptr);
  CHECK(outputs.target(1) == nullptr);
  CHECK(outputs.target(2) != nullptr);
  const EValue inputs[] = {5, std::vector<Tensor>{*ones({2}), slice(memory, 0, 7, 8)}};
  REQUIRE(outputs.begin(inputs, 3) == Error::Ok);
  CHECK(outputs.target(0) != nullptr);
  CHECK(outputs.target(2) == nullptr);
}

TEST_CASE("Outputs: what is put where nothing was set is the output itself") {
  Fixture f;
  const Tensor made = *ones({3});
  CHECK(f.outputs.put(0, made) == Error::Ok);
  CHECK(f.outputs.deliver() == Error::Ok);
  CHECK(f.at(0).toTensor().unsafeGetTensorImpl() == made.unsafeGetTensorImpl());
  CHECK(f.outputs.put(0, 5) == Error::Ok);
  CHECK(f.at(0).toInt() == 5);
  CHECK_RETURNS(Error::OutOfBounds, "output 2 of 2", f.outputs.put(2, 5));
}

TEST_CASE("Outputs: what is put where a tensor was set is copied there, and gives it its shape") {
  Fixture f;
  const void* data = const_data_ptr(f.tensor);
  CHECK(f.outputs.put(1, make_tensor_ptr({1, 3}, {1.0f, 2.0f, 3.0f})) == Error::Ok);
  CHECK(f.outputs.deliver() == Error::Ok);
  CHECK(f.at(1).toTensor().unsafeGetTensorImpl() == f.tensor.unsafeGetTensorImpl());
  CHECK(const_data_ptr(f.tensor) == data);
  CHECK(f.tensor.dim() == 2);
  CHECK(const_data_ptr<float>(f.tensor)[2] == 3.0f);
}

TEST_CASE("Outputs: the tensor that was set, put itself, is not copied") {
  Fixture f;
  mutable_data_ptr<float>(f.tensor)[0] = 9;
  CHECK(f.outputs.put(1, f.tensor) == Error::Ok);
  CHECK(f.outputs.deliver() == Error::Ok);
  CHECK(const_data_ptr<float>(f.tensor)[0] == 9);
}

TEST_CASE("Outputs: what does not fit a tensor that was set is an error") {
  const auto check = [](Error error, const char* words, const EValue& value) {
    Fixture f;
    CHECK(f.outputs.put(1, value) == Error::Ok);
    CHECK_RETURNS(error, words, f.outputs.deliver());
  };
  check(Error::InvalidType, "output 1: it is an Int, 5, and a tensor was set for it", 5);
  check(Error::InvalidType, "output 1: it is Double, the tensor that was set for it is Float",
        zeros({4}, ScalarType::Double));
  check(Error::InvalidArgument, "output 1: resize_tensor: ", zeros({5}));
  check(Error::InvalidState, "output 1: the output is undefined", Tensor());
}

TEST_CASE("Outputs: one that does not fit is found before any other is delivered") {
  const TensorPtr first = zeros({1});
  Outputs outputs;
  REQUIRE(outputs.set(0, *first) == Error::Ok);
  REQUIRE(outputs.set(1, *zeros({1})) == Error::Ok);
  REQUIRE(outputs.begin({}, 2) == Error::Ok);
  REQUIRE(outputs.put(0, ones({1})) == Error::Ok);
  REQUIRE(outputs.put(1, 5) == Error::Ok);
  CHECK(outputs.deliver() == Error::InvalidType);
  CHECK(values(*first) == Floats{0});
}

TEST_CASE("Outputs: two that are each other's tensors are exchanged") {
  const TensorPtr a = make_tensor_ptr({1.0f, 2.0f});
  const TensorPtr b = make_tensor_ptr({1, 2}, {3.0f, 4.0f});
  Outputs outputs;
  for (int run = 0; run < 2; ++run) {
    REQUIRE(outputs.set(0, *a) == Error::Ok);
    REQUIRE(outputs.set(1, *b) == Error::Ok);
    REQUIRE(outputs.begin({}, 2) == Error::Ok);
    REQUIRE(outputs.put(0, b) == Error::Ok);
    REQUIRE(outputs.put(1, a) == Error::Ok);
    REQUIRE(outputs.deliver() == Error::Ok);
  }
  CHECK(values(*a) == Floats{1, 2});
  CHECK(values(*b) == Floats{3, 4});
  CHECK(a->dim() == 1);
  CHECK(b->dim() == 2);
}

TEST_CASE("Outputs: any order and any overlap of sources and targets gives what copies would") {
  // Three windows on six floats, as sources and as targets that do not touch one another; each
  // output is set or not.
  for (unsigned which = 0; which < 4 * 4 * 4 * 8; ++which) {
    INFO(which);
    TensorPtr memory = make_tensor_ptr({0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f});
    Outputs outputs;
    std::vector<Tensor> sources;
    std::vector<Floats> expected;
    for (unsigned i = 0; i < 3; ++i) {
      const int64_t from = which / (i == 0 ? 1 : i == 1 ? 4 : 16) % 4;
      sources.push_back(slice(memory, 0, from, from + 2));
      expected.push_back(values(sources[i]));
      const int64_t to = 2 * static_cast<int64_t>(i);
      if ((which / 64 >> i) % 2 == 0) {
        REQUIRE(outputs.set(i, slice(memory, 0, to, to + 2)) == Error::Ok);
      }
    }
    REQUIRE(outputs.begin({}, 3) == Error::Ok);
    for (size_t i = 0; i < 3; ++i) REQUIRE(outputs.put(i, sources[i]) == Error::Ok);
    REQUIRE(outputs.deliver() == Error::Ok);
    for (size_t i = 0; i < 3; ++i) {
      const Tensor& got = outputs.values()[i].toTensor();
      CHECK(values(got) == expected[i]);
      const auto* const place = const_data_ptr<float>(*memory) + 2 * i;
      if (outputs.is_set(i)) CHECK(const_data_ptr<float>(got) == place);
    }
  }
}

TEST_CASE("Outputs: a list of tensors is kept from what is delivered") {
  const TensorPtr state = make_tensor_ptr({1.0f, 2.0f});
  Outputs outputs;
  REQUIRE(outputs.set(0, *state) == Error::Ok);
  REQUIRE(outputs.begin({}, 3) == Error::Ok);
  REQUIRE(outputs.put(0, full({2}, 9)) == Error::Ok);
  REQUIRE(outputs.put(1, std::vector<Tensor>{*state, *ones({1})}) == Error::Ok);
  const Tensor some[] = {Tensor(), slice(state, 0, 1, 2)};
  REQUIRE(outputs.put(2, EValue::optional_tensor_list(some)) == Error::Ok);
  REQUIRE(outputs.deliver() == Error::Ok);
  CHECK(values(*state) == Floats{9, 9});
  CHECK(values(outputs.values()[1].toTensorList()[0]) == Floats{1, 2});
  CHECK(values(outputs.values()[1].toTensorList()[1]) == Floats{1});
  CHECK_FALSE(outputs.values()[2].toOptionalTensorList()[0].defined());
  CHECK(values(outputs.values()[2].toOptionalTensorList()[1]) == Floats{2});
}

TEST_CASE("Outputs: an empty state may grow, and what was the old one stays empty") {
  TensorPtr state = empty({0, 2}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  Outputs outputs;
  REQUIRE(outputs.set(0, *state) == Error::Ok);
  REQUIRE(outputs.begin({}, 2) == Error::Ok);
  REQUIRE(outputs.put(0, ones({1, 2})) == Error::Ok);
  REQUIRE(outputs.put(1, state) == Error::Ok);
  REQUIRE(outputs.deliver() == Error::Ok);
  CHECK(state->size(0) == 1);
  CHECK(outputs.values()[1].toTensor().size(0) == 0);
}

TEST_CASE("Outputs: what is copied aside is in the module's memory, the same in each run") {
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    const TensorPtr state = zeros({4});
    Outputs outputs(&arena);
    REQUIRE(outputs.set(0, *state) == Error::Ok);
    size_t used = 0;
    for (int run = 0; run < 20; ++run) {
      REQUIRE(outputs.begin({}, 2) == Error::Ok);
      REQUIRE(outputs.put(0, full({4}, run + 1)) == Error::Ok);
      REQUIRE(outputs.put(1, state) == Error::Ok);
      REQUIRE(outputs.deliver() == Error::Ok);
      const float* const data = const_data_ptr<float>(outputs.values()[1].toTensor());
      CHECK(data[3] == static_cast<float>(run));
      const auto* const at = reinterpret_cast<const unsigned char*>(data);
      CHECK((at >= buffer && at < buffer + sizeof buffer));
      if (run == 0) used = arena.used();
      CHECK(arena.used() == used);
    }
  }
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE("Outputs: what is copied aside is in the host's memory in any scope") {
  const TensorPtr state = make_tensor_ptr({1.0f, 2.0f});
  Outputs outputs;
  REQUIRE(outputs.set(0, *state) == Error::Ok);
  REQUIRE(outputs.begin({}, 2) == Error::Ok);
  REQUIRE(outputs.put(0, full({2}, 9)) == Error::Ok);
  REQUIRE(outputs.put(1, state) == Error::Ok);
  TemplateBackend nothing;
  const BackendScope scope(nothing);
  REQUIRE(outputs.deliver() == Error::Ok);
  CHECK(const_data_ptr<float>(outputs.values()[1].toTensor())[1] == 2.0f);
}

TEST_CASE("Outputs: what is on a device is copied aside there, a list's tensors too", "[plain]") {
  tests::FaultBackend device;
  const TensorPtr state = clone_tensor_ptr(make_tensor_ptr({1.0f, 2.0f}), device);
  Outputs outputs;
  REQUIRE(outputs.set(0, *state) == Error::Ok);
  REQUIRE(outputs.begin({}, 3) == Error::Ok);
  REQUIRE(outputs.put(0, full({2}, 9)) == Error::Ok);
  REQUIRE(outputs.put(1, state) == Error::Ok);
  REQUIRE(outputs.put(2, std::vector<Tensor>{*state}) == Error::Ok);
  REQUIRE(outputs.deliver() == Error::Ok);
  for (const Tensor& saved :
       {outputs.values()[1].toTensor(), outputs.values()[2].toTensorList()[0]}) {
    CHECK(saved.device() == state->device());
    CHECK(values(*clone_tensor_ptr(saved, host_backend())) == Floats{1, 2});
  }
  CHECK(values(*clone_tensor_ptr(state, host_backend())) == Floats{9, 9});
}

TEST_CASE("Outputs: no memory to copy aside is an error, and nothing is delivered") {
  alignas(64) static unsigned char buffer[1024];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    const TensorPtr state = zeros({1000});
    Outputs outputs(&arena);
    REQUIRE(outputs.set(0, *state) == Error::Ok);
    REQUIRE(outputs.begin({}, 2) == Error::Ok);
    REQUIRE(outputs.put(0, ones({1000})) == Error::Ok);
    REQUIRE(outputs.put(1, state) == Error::Ok);
    CHECK_RETURNS(Error::OutOfMemory, "output 1: ", outputs.deliver());
    CHECK(const_data_ptr<float>(*state)[0] == 0);
  }
}

TEST_CASE("Outputs: their number changes, but not below one that was set") {
  Fixture f;
  CHECK(f.outputs.resize(3) == Error::Ok);
  CHECK(f.outputs.size() == 3);
  CHECK_RETURNS(Error::InvalidArgument, "output 1 was set, but there are only 1",
                f.outputs.resize(1));
  CHECK_RETURNS(Error::InvalidArgument, "5000 outputs are too many", f.outputs.resize(5000));
  CHECK(f.outputs.values().size() == 3);
}

TEST_CASE("Outputs: one made by its spec has sizes that cannot change if the spec's cannot") {
  Outputs outputs = begun(2);
  const Tensor tensor = make(outputs, 1, TensorSpec{{2, 3}, ScalarType::Long});
  CHECK(tensor.sizes() == Dims{2, 3});
  CHECK(tensor.scalar_type() == ScalarType::Long);
#if !TENON_ATEN_MODE
  CHECK(tensor.shape_dynamism() == TensorShapeDynamism::STATIC);
#endif
}

TEST_CASE("Outputs: the same tensor is made again once nobody else has it") {
  Outputs outputs = begun(1);
  const ValueSpec spec(TensorSpec{{4}});
  const Tensor first = make(outputs, 0, spec);
  Tensor second = make(outputs, 0, spec);
  CHECK(const_data_ptr(second) != const_data_ptr(first));
  const void* const other = const_data_ptr(second);
  second = Tensor();
  CHECK(const_data_ptr(make(outputs, 0, spec)) == other);
}

TEST_CASE("Outputs: a view of the last one made counts as somebody who has it") {
  Outputs outputs = begun(1);
  const ValueSpec spec(TensorSpec{{4}});
  Tensor tensor = make(outputs, 0, spec);
  const Tensor part = slice(tensor, 0, 1, 3);
  const void* const memory = const_data_ptr(tensor);
  tensor = Tensor();
  CHECK(const_data_ptr(make(outputs, 0, spec)) != memory);
}

TEST_CASE("Outputs: sizes that may vary are the largest, again in each run") {
  Outputs outputs = begun(1);
  const ValueSpec spec(up_to({4, 3}));
  Tensor tensor = make(outputs, 0, spec);
  CHECK(tensor.sizes() == Dims{4, 3});
  const void* const memory = const_data_ptr(tensor);
  REQUIRE(resize_tensor(tensor, {1, 3}) == Error::Ok);
  tensor = Tensor();
  tensor = make(outputs, 0, spec);
  CHECK(tensor.sizes() == Dims{4, 3});
  CHECK(const_data_ptr(tensor) == memory);
}

TEST_CASE("Outputs: elements lie in the dim order asked for, resized ones too") {
  Outputs outputs = begun(1);
  const uint8_t channels_last[] = {0, 2, 3, 1};
  REQUIRE(outputs.make(0, up_to({2, 3, 4, 5}), channels_last) == Error::Ok);
  Tensor tensor = outputs.values()[0].toTensor();
  CHECK(tensor.strides() == Dims{60, 1, 15, 3});
  REQUIRE(resize_tensor(tensor, {1, 3, 2, 2}) == Error::Ok);
  CHECK(tensor.strides() == Dims{12, 1, 6, 3});
}

TEST_CASE("Outputs: nothing is made where the spec does not say what") {
  Outputs outputs = begun(1);
  const TensorSpec any_type{{2}, ScalarType::Undefined};
  const TensorSpec any_size{{-1}};
  const TensorSpec elsewhere{{2}, ScalarType::Float, {}, Device("cuda:0")};
  for (const ValueSpec& spec : {ValueSpec(), ValueSpec(ValueKind::Int), ValueSpec(any_type),
                                ValueSpec(any_size), ValueSpec(elsewhere)}) {
    outputs.values()[0] = 5;
    REQUIRE(outputs.make(0, spec) == Error::Ok);
    CHECK(outputs.values()[0].isNone());
  }
}

TEST_CASE("Outputs: tensors are made in the memory that was given, and errors name the output") {
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    Outputs outputs = begun(2, &arena);
    const Tensor tensor = make(outputs, 0, TensorSpec{{4}});
    const auto* const at = static_cast<const unsigned char*>(const_data_ptr(tensor));
    CHECK((at >= buffer && at < buffer + sizeof buffer));
    CHECK_RETURNS(Error::OutOfMemory,
                  "output 1 (scores): ", outputs.make(1, ValueSpec("scores", TensorSpec{{4096}})));
  }
  CHECK(arena.reset() == Error::Ok);
}

#if !TENON_ATEN_MODE
TEST_CASE("Outputs: one that was deallocated since is made anew") {
  Outputs outputs = begun(1);
  const ValueSpec spec(TensorSpec{{4}});
  Tensor tensor = make(outputs, 0, spec);
  REQUIRE(backend_deallocate(tensor) == Deallocation::Ok);
  tensor = make(outputs, 0, spec);
  CHECK_NOTHROW(mutable_data_ptr<float>(tensor)[3] = 1);
}
#endif
