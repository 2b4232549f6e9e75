// SPDX-License-Identifier: MIT
#include "tenon/module/outputs.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace outputs_test {

using namespace tenon;
using tenon::detail::overlap;
using tests::Floats;

namespace {

Floats values(const Tensor& tensor) {
  const TensorPtr dense = clone_tensor_ptr(contiguous(tensor));
  const float* const data = const_data_ptr<float>(dense);
  return {data, data + dense->numel()};
}

// A run on those inputs, with those set (undefined: none) and as many outputs.
void begin(Outputs& outputs, const std::vector<Tensor>& set, Span<const EValue> inputs = {}) {
  for (size_t i = 0; i < set.size(); ++i) REQUIRE(outputs.set(i, set[i]) == Error::Ok);
  REQUIRE(outputs.begin(inputs, set.size()) == Error::Ok);
}

// The whole run.
Error deliver(Outputs& outputs, const std::vector<Tensor>& set, const std::vector<EValue>& put) {
  begin(outputs, set);
  for (size_t i = 0; i < put.size(); ++i) REQUIRE(outputs.put(i, put[i]) == Error::Ok);
  return outputs.deliver();
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

TEST_CASE("overlap: tensors share memory by their elements and the room they may be resized to") {
  float memory[12] = {};
  TensorPtr low = from_blob(memory, {4});
  const TensorPtr high = from_blob(memory + 4, {4});
  CHECK_FALSE(overlap(*low, *high));
  CHECK(overlap(*low, *from_blob(memory + 3, {1})));
  REQUIRE(resize_tensor_ptr(low, {1}) == Error::Ok);
  CHECK(overlap(*low, *from_blob(memory + 3, {1})));
  const Tensor last = slice(high, 0, 3, 4);
  CHECK_FALSE(overlap(last, slice(high, 0, 0, 3)));
  CHECK_FALSE(overlap(Tensor(), *low));
  CHECK_FALSE(overlap(EValue("text"), *low));
  const TensorPtr nothing = empty({0});
  CHECK(overlap(EValue(nothing), *nothing));  // would be resized with it
#if !TENON_ATEN_MODE
  const TensorPtr line = zeros({8});
  const Tensor backward = flip(slice(line, 0, 4, 8), {0});
  CHECK(overlap(backward, slice(line, 0, 4, 5)));
  CHECK_FALSE(overlap(backward, slice(line, 0, 0, 4)));
#endif
}

TEST_CASE("Outputs: a target is the tensor that was set, unless it shares memory") {
  const TensorPtr memory = zeros({8});
  const Tensor first = slice(memory, 0, 0, 3);
  Outputs outputs;
  begin(outputs, {first, slice(memory, 0, 2, 5), slice(memory, 0, 5, 8), Tensor()});
  REQUIRE(outputs.target(0) != nullptr);
  CHECK(outputs.target(0)->unsafeGetTensorImpl() == first.unsafeGetTensorImpl());
  CHECK(outputs.target(1) == nullptr);
  CHECK(outputs.target(2) != nullptr);
  CHECK(outputs.target(3) == nullptr);
  CHECK(outputs.target(4) == nullptr);
  const EValue inputs[] = {5, std::vector<Tensor>{*ones({2}), slice(memory, 0, 7, 8)}};
  REQUIRE(outputs.begin(inputs, 3) == Error::Ok);
  CHECK(outputs.target(0) != nullptr);
  CHECK(outputs.target(2) == nullptr);
}

TEST_CASE("Outputs: what is put is the output itself, or copied to what was set, with its shape") {
  Outputs outputs;
  const Tensor made = *ones({3});
  const TensorPtr tensor = zeros({4});
  const void* const data = const_data_ptr(tensor);
  REQUIRE(deliver(outputs, {Tensor(), *tensor},
                  {made, make_tensor_ptr({1, 3}, {1.0f, 2.0f, 3.0f})}) == Error::Ok);
  const EValue& first = outputs.values()[0];
  const EValue& second = outputs.values()[1];
  CHECK(first.toTensor().unsafeGetTensorImpl() == made.unsafeGetTensorImpl());
  CHECK(second.toTensor().unsafeGetTensorImpl() == tensor->unsafeGetTensorImpl());
  CHECK(const_data_ptr(tensor) == data);
  CHECK(tensor->dim() == 2);
  CHECK(values(*tensor) == Floats{1, 2, 3});
  REQUIRE(deliver(outputs, {Tensor(), *tensor}, {5, tensor}) == Error::Ok);
  CHECK(first.toInt() == 5);
  CHECK(values(*tensor) == Floats{1, 2, 3});
  RETURNS(OutOfBounds, "output 2 is out of range, expected below 2", outputs.put(2, 5));
}

TEST_CASE("Outputs: one that does not fit is an error, found before any other is delivered") {
  const struct {
    EValue value;
    Error error;
    const char* words;
  } rows[] = {
      {5, Error::InvalidType, "output 1: it is an Int, 5, and a tensor of Float was set"},
      {zeros({4}, ScalarType::Double), Error::InvalidType,
       "output 1: it is a Tensor, Double {4}, and a tensor of Float was set"},
      {zeros({5}), Error::InvalidArgument, "output 1: resize_tensor: "},
      {Tensor(), Error::InvalidState, "output 1: the output is undefined"},
  };
  for (const auto& row : rows) {
    INFO(row.words);
    const TensorPtr first = zeros({1});
    Outputs outputs;
    CHECK_RETURNS(row.error, row.words,
                  deliver(outputs, {*first, *zeros({4})}, {ones({1}), row.value}));
    CHECK(values(*first) == Floats{0});
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("Outputs: any order and any overlap of sources and targets gives what copies would") {
  // Three windows on six floats, as sources and as targets that do not touch one another; each
  // output is set or not.
  for (unsigned which = 0; which < 4 * 4 * 4 * 8; ++which) {
    INFO(which);
    TensorPtr memory = make_tensor_ptr({0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f});
    Outputs outputs;
    std::vector<EValue> sources;
    std::vector<Tensor> set(3);
    std::vector<Floats> expected;
    for (unsigned i = 0; i < 3; ++i) {
      const int64_t from = which / (i == 0 ? 1 : i == 1 ? 4 : 16) % 4;
      sources.push_back(slice(memory, 0, from, from + 2));
      expected.push_back(values(sources[i].toTensor()));
      const int64_t to = 2 * static_cast<int64_t>(i);
      if ((which / 64 >> i) % 2 == 0) set[i] = slice(memory, 0, to, to + 2);
    }
    REQUIRE(deliver(outputs, set, sources) == Error::Ok);
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
  const Tensor some[] = {Tensor(), slice(state, 0, 1, 2)};
  Outputs outputs;
  REQUIRE(deliver(outputs, {*state, Tensor(), Tensor()},
                  {full({2}, 9), std::vector<Tensor>{*state, *ones({1})},
                   EValue::optional_tensor_list(some)}) == Error::Ok);
  CHECK(values(*state) == Floats{9, 9});
  CHECK(values(outputs.values()[1].toTensorList()[0]) == Floats{1, 2});
  CHECK(values(outputs.values()[1].toTensorList()[1]) == Floats{1});
  CHECK_FALSE(outputs.values()[2].toOptionalTensorList()[0].defined());
  CHECK(values(outputs.values()[2].toOptionalTensorList()[1]) == Floats{2});
}

TEST_CASE("Outputs: an empty state may grow, and what was the old one stays empty") {
  TensorPtr state = empty({0, 2}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  Outputs outputs;
  REQUIRE(deliver(outputs, {*state, Tensor()}, {ones({1, 2}), state}) == Error::Ok);
  CHECK(state->size(0) == 1);
  CHECK(outputs.values()[1].toTensor().size(0) == 0);
}

TEST_CASE("Outputs: what is copied aside is in the module's memory, the same in each run") {
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  {
    const TensorPtr state = zeros({4});
    Outputs outputs(&arena);
    size_t used = 0;
    for (int run = 0; run < 20; ++run) {
      REQUIRE(deliver(outputs, {*state, Tensor()}, {full({4}, run + 1), state}) == Error::Ok);
      const float* const data = const_data_ptr<float>(outputs.values()[1].toTensor());
      CHECK(data[3] == static_cast<float>(run));
      const auto* const at = reinterpret_cast<const unsigned char*>(data);
      CHECK((at >= buffer && at < buffer + sizeof buffer));
      if (run == 0) used = arena.used();
      CHECK(arena.used() == used);
    }
    const TensorPtr large = zeros({1000});
    RETURNS(OutOfMemory, "output 1: ", deliver(outputs, {*large, Tensor()}, {ones({1000}), large}));
    CHECK(const_data_ptr<float>(*large)[0] == 0);  // nothing was delivered
  }
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE("Outputs: what is on a device is copied aside there, a list's tensors too") {
  tests::MinimalBackend device;
  const TensorPtr state = clone_tensor_ptr(make_tensor_ptr({1.0f, 2.0f}), device);
  Outputs outputs;
  REQUIRE(deliver(outputs, {*state, Tensor(), Tensor()},
                  {full({2}, 9), state, std::vector<Tensor>{*state}}) == Error::Ok);
  for (const Tensor& saved :
       {outputs.values()[1].toTensor(), outputs.values()[2].toTensorList()[0]}) {
    CHECK(saved.device() == state->device());
    CHECK(values(*clone_tensor_ptr(saved, host_backend())) == Floats{1, 2});
  }
  CHECK(values(*clone_tensor_ptr(state, host_backend())) == Floats{9, 9});
}

TEST_CASE("Outputs: their number changes, but not below one that was set") {
  Outputs outputs;
  begin(outputs, {Tensor(), *zeros({4})});
  CHECK(outputs.resize(3) == Error::Ok);
  CHECK(outputs.size() == 3);
  RETURNS(InvalidArgument, "output 1 was set, but there are only 1", outputs.resize(1));
  CHECK(outputs.resize(SIZE_MAX) == Error::OutOfMemory);
  CHECK(outputs.values().size() == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("Outputs: the same tensor is made again once nobody else has it, nor a view of it") {
  Outputs outputs;
  begin(outputs, {Tensor()});
  const ValueSpec spec(TensorSpec{{4}});
  const Tensor first = make(outputs, 0, spec);
  Tensor second = make(outputs, 0, spec);
  const void* const memory = const_data_ptr(second);
  CHECK(memory != const_data_ptr(first));
  second = Tensor();
  second = make(outputs, 0, spec);
  CHECK(const_data_ptr(second) == memory);
  const Tensor part = slice(second, 0, 1, 3);
  second = Tensor();
  CHECK(const_data_ptr(make(outputs, 0, spec)) != memory);
  CHECK(make(outputs, 0, TensorSpec{{4}, ScalarType::Int}).scalar_type() == ScalarType::Int);
#if !TENON_ATEN_MODE
  second = make(outputs, 0, spec);
  REQUIRE(backend_deallocate(second) == Deallocation::Ok);
  second = make(outputs, 0, spec);
  CHECK_NOTHROW(mutable_data_ptr<float>(second)[3] = 1);
#endif
}

TEST_CASE("Outputs: one made by its spec has the sizes that cannot change, or the largest") {
  Outputs outputs;
  begin(outputs, {Tensor(), Tensor()});
  const Tensor fixed = make(outputs, 1, TensorSpec{{2, 3}, ScalarType::Long});
  CHECK(fixed.sizes() == Dims{2, 3});
  CHECK(fixed.scalar_type() == ScalarType::Long);
#if !TENON_ATEN_MODE
  CHECK(fixed.shape_dynamism() == TensorShapeDynamism::STATIC);
#endif
  const ValueSpec spec(up_to({4, 3}));
  Tensor tensor = make(outputs, 0, spec);
  CHECK(tensor.sizes() == Dims{4, 3});
  const void* const memory = const_data_ptr(tensor);
  REQUIRE(resize_tensor(tensor, {1, 3}) == Error::Ok);
  tensor = Tensor();
  tensor = make(outputs, 0, spec);
  CHECK(tensor.sizes() == Dims{4, 3});
  CHECK(const_data_ptr(tensor) == memory);
  const uint8_t channels_last[] = {0, 2, 3, 1};
  REQUIRE(outputs.make(0, up_to({2, 3, 4, 5}), channels_last) == Error::Ok);
  tensor = outputs.values()[0].toTensor();
  CHECK(tensor.strides() == Dims{60, 1, 15, 3});
  REQUIRE(resize_tensor(tensor, {1, 3, 2, 2}) == Error::Ok);
  CHECK(tensor.strides() == Dims{12, 1, 6, 3});
}

TEST_CASE("Outputs: nothing is made where the spec does not say what") {
  Outputs outputs;
  begin(outputs, {Tensor()});
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

}  // namespace outputs_test
