// SPDX-License-Identifier: MIT
#include "tenon/interop/onnxruntime.h"

#include <cmath>

#include "interop/files.h"
#include "interop/models.h"
#include "support/catch.h"
#include "tenon/interop/npy.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"
#include "threads/threads.h"

namespace onnxruntime_test {

using namespace tenon;
using tests::contains;

namespace {

const OrtApi& api() { return *detail::onnx_api(); }

std::string model(const std::string& name) { return tests::model_path(name + ".onnx"); }

const TensorPtr kA = make_tensor_ptr({1, 2}, {5.0f, 7.0f});
const TensorPtr kB = make_tensor_ptr({1, 2}, {1.0f, 2.0f});

/// What there must be.
template <class T>
T given(Result<T> result) {
  if (!result.ok()) FAIL(result.message());
  return std::move(*result);
}

tests::Texts texts_of(const EValue& value) {
  const ArrayRef<std::string_view> texts = value.toStringList();
  return {texts.begin(), texts.end()};
}

/// 0, 1, 2, ... in floats.
TensorPtr ramp(int64_t rows) {
  TensorPtr made = empty({rows, 8});
  for (int64_t i = 0; i < rows * 8; ++i) {
    made->mutable_data_ptr<float>()[i] = static_cast<float>(i);
  }
  return made;
}

/// Whether element i is 2 * i.
bool is_doubled(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (tensor.const_data_ptr<float>()[i] != 2 * static_cast<float>(i)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("OnnxModule: the model says its inputs and outputs, symbols as names of dimensions") {
  OnnxModule module(model("two"));
  CHECK(*module.method_names() == tests::Texts{"forward"});
  const auto meta = given(module.method_meta());
  REQUIRE((meta.knows_inputs && meta.inputs.size() == 2));
  REQUIRE((meta.knows_outputs && meta.outputs.size() == 2));
  CHECK(meta.inputs[1].name() == std::string("b"));
  CHECK(meta.outputs[1].name() == std::string("difference"));
  const TensorSpec& spec = meta.inputs[0].tensor;
  CHECK(spec.type == ScalarType::Float);
  CHECK(spec.sizes == Dims{-1, 2});
  CHECK(spec.names[0] == std::string("rows"));
  CHECK(spec.names[1] == std::string());
  const auto outputs = given(module.forward({kA, kB}));
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].toTensor().const_data_ptr<float>()[1] == 9.0f);
  CHECK(outputs[1].toTensor().const_data_ptr<float>()[1] == 5.0f);
}

TEST_CASE("OnnxModule: an input or output that does not fit is refused in the model's words") {
  OnnxModule module(model("double_batch"));
  const struct {
    EValue input;
    Error error;
    const char* words;
  } rows[] = {
      {zeros({1, 9}), Error::InvalidArgument, "dimension 1 is 9, expected 8"},
      {zeros({8}), Error::InvalidArgument, "it has sizes {8}, expected {-1, 8}"},
      {zeros({1, 8}, ScalarType::Double), Error::InvalidType, "it is Double, expected Float"},
      {3, Error::InvalidType, "it is an Int, 3, expected a Tensor"},
      {transpose(zeros({8, 2}), 0, 1), Error::NotSupported,
       "strides {1, 2} of sizes {2, 8} are not contiguous, but ONNX Runtime's have to be; "
       "contiguous() makes a copy"},
      {from_blob(nullptr, {1, 8}), Error::InvalidState, "the tensor is a placeholder without data"},
  };
  for (const auto& row : rows) {
    INFO(row.words);
    CHECK_RETURNS(row.error, std::string("run: input 0 (image): ") + row.words,
                  module.run("forward", row.input));
  }
  RETURNS(InvalidArgument, "set_output: output 0 (doubled): dimension 1 is 9, expected 8",
          module.set_output(zeros({1, 9})));
  CHECK(module.forward(zeros({1, 8})).ok());
}

// A promise of docs/guarantees.md.
TEST_CASE("OnnxModule: inputs are read where they are, read-only ones and slices too") {
  std::vector<float> memory(32);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i) - 8;
  OnnxModule module(model("double_batch"));
  const TensorPtr input = from_blob(static_cast<const float*>(memory.data()), {4, 8});
  REQUIRE(input->is_readonly());
  REQUIRE(module.set_input(slice(input, 0, 1, 3), 0) == Error::Ok);
  REQUIRE(module.run() == Error::Ok);
  CHECK(is_doubled(module.get_output()->toTensor()));
  for (float& value : memory) value += 1;  // which a copy would not see
  REQUIRE(module.run() == Error::Ok);
  CHECK(module.get_output()->toTensor().const_data_ptr<float>()[0] == 2.0f);
}

TEST_CASE("OnnxModule: an output with a symbol is written in place, or copied and resized") {
  float memory[32] = {};
  OnnxModule module(model("double_batch"));
  const TensorPtr target = from_blob(memory, {4, 8});
  REQUIRE(module.set_output(target) == Error::Ok);
  for (const int64_t rows : {4, 2, 2, 0, 3}) {
    std::fill(memory, memory + 32, -1.0f);
    REQUIRE(module.run("forward", ramp(rows)) == Error::Ok);
    CHECK(target->sizes() == Dims{rows, 8});
    CHECK(target->const_data_ptr() == memory);
    CHECK(is_doubled(*target));
  }
  RETURNS(InvalidArgument, "run: output 0", module.run("forward", ramp(5)));  // there is no room
  const TensorPtr columns = zeros({8, 2});
  REQUIRE(module.set_output(transpose(columns, 0, 1)) == Error::Ok);
  REQUIRE(module.run("forward", ramp(2)) == Error::Ok);
  CHECK(columns->accessor<float, 2>()[1][0] == 2.0f);
  CHECK(columns->accessor<float, 2>()[0][1] == 16.0f);
}

TEST_CASE("OnnxModule: an output that is an input or a constant has memory of its own") {
  Tensor same;
  Tensor table;
  {
    OnnxModule module(model("given"));
    const TensorPtr values = make_tensor_ptr({2}, {1.0f, 2.0f});
    for (int run = 0; run < 2; ++run) {  // a constant that was written to would be another
      const auto outputs = given(module.forward(values));
      same = outputs[0].toTensor();
      table = outputs[1].toTensor();
      CHECK(same.const_data_ptr() != values->const_data_ptr());
      CHECK(table.const_data_ptr<float>()[2] == 30.0f);
      table.mutable_data_ptr<float>()[2] = 0;
    }
  }
  CHECK(same.const_data_ptr<float>()[1] == 2.0f);
  CHECK(table.const_data_ptr<float>()[0] == 10.0f);
}

// A promise of docs/guarantees.md.
TEST_CASE("OnnxModule: a set output that is an input, a default or asked for twice is written") {
  const TensorPtr x = make_tensor_ptr({4.0f, 5.0f, 6.0f});
  const TensorPtr y = zeros({3});
  const TensorPtr z = zeros({3});
  const auto is_set = [](OnnxModule& module, const TensorPtr& tensor, size_t i, tests::Floats now) {
    return tests::values<float>(*tensor) == now &&
           module.get_output(i)->toTensor().const_data_ptr() == tensor->const_data_ptr();
  };
  SECTION("an input, and a constant of the model") {
    OnnxModule module(model("given"));
    REQUIRE(module.set_output(y, 0) == Error::Ok);
    REQUIRE(module.set_output(z, 1) == Error::Ok);
    for (const float first : {4.0f, 7.0f}) {
      x->mutable_data_ptr<float>()[0] = first;
      REQUIRE(module.run("forward", x) == Error::Ok);
      CHECK(is_set(module, y, 0, {first, 5, 6}));
      CHECK(is_set(module, z, 1, {10, 20, 30}));
    }
  }
  SECTION("an input with a default, given or left out") {
    OnnxModule module(model("given_default"));
    REQUIRE(module.set_output(y, 0) == Error::Ok);
    REQUIRE(module.set_output(z, 1) == Error::Ok);
    REQUIRE(module.run("forward", {x, full({3}, 9)}) == Error::Ok);
    CHECK(is_set(module, y, 0, {13, 14, 15}));
    CHECK(is_set(module, z, 1, {9, 9, 9}));
    REQUIRE(module.run("forward", x) == Error::Ok);
    CHECK(is_set(module, y, 0, {5, 7, 9}));
    CHECK(is_set(module, z, 1, {1, 2, 3}));
  }
  SECTION("an output that is selected twice, and set once or twice") {
    for (int set = 1; set < 4; ++set) {
      OnnxModule module(model("given_default"));
      REQUIRE(module.select_outputs({"y", "shift", "y"}) == Error::Ok);
      REQUIRE(zero_(*y) == Error::Ok);
      REQUIRE(zero_(*z) == Error::Ok);
      if ((set & 1) != 0) REQUIRE(module.set_output(y, 0) == Error::Ok);
      if ((set & 2) != 0) REQUIRE(module.set_output(z, 2) == Error::Ok);
      const auto outputs = given(module.forward(x));
      CHECK(tests::values<float>(outputs[0].toTensor()) == tests::Floats{5, 7, 9});
      CHECK(tests::values<float>(outputs[2].toTensor()) == tests::Floats{5, 7, 9});
      if ((set & 1) != 0) CHECK(is_set(module, y, 0, {5, 7, 9}));
      if ((set & 2) != 0) CHECK(is_set(module, z, 2, {5, 7, 9}));
    }
  }
  SECTION("an optional value that is there, or is not") {
    OnnxModule module(model("optional"));
    const TensorPtr pair = zeros({2});
    REQUIRE(module.set_output(pair, 1) == Error::Ok);
    REQUIRE(module.run("forward", full({2}, 5)) == Error::Ok);
    CHECK(is_set(module, pair, 1, {5, 5}));
    REQUIRE(module.set_output(zeros({2}), 2) == Error::Ok);
    RETURNS(InvalidType, "run: output 2: it is None, and a tensor of Float was set",
            module.run("forward", full({2}, 5)));
  }
}

TEST_CASE("OnnxModule: an output whose sizes only the run knows is taken as it comes") {
  OnnxModule module(model("positive"));
  const auto run = [&](tests::Floats values) {
    const auto count = static_cast<int64_t>(values.size());
    return module.forward(make_tensor_ptr({count}, std::move(values)));
  };
  const Tensor indices = run({0, 5, 0, 7})->at(0).toTensor();
  CHECK(indices.sizes() == Dims{1, 2});
  CHECK(indices.const_data_ptr<int64_t>()[1] == 3);
  CHECK(run({0, 0})->at(0).toTensor().sizes() == Dims{1, 0});
  const TensorPtr target = zeros({1, 4}, ScalarType::Long);
  REQUIRE(module.set_output(target) == Error::Ok);
  REQUIRE(run({0, 5, 8, 7}).ok());
  CHECK(target->sizes() == Dims{1, 3});
  CHECK(target->const_data_ptr<int64_t>()[2] == 3);
  OnnxModule scalar(model("scalar"));
  const TensorPtr number = scalar_tensor(0);
  CHECK(scalar.forward(ones({5}))->at(0).toTensor().item<float>() == 5.0f);
  REQUIRE(scalar.set_output(number) == Error::Ok);
  REQUIRE(scalar.run("forward", ones({7})) == Error::Ok);
  CHECK(number->item<float>() == 7.0f);
}

TEST_CASE("OnnxModule: a model that is wrong about an output's size never writes beyond a tensor") {
  OnnxModule module(model("wrong"));
  const TensorPtr values = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const auto outputs = given(module.forward(values));
  CHECK(outputs[0].toTensor().sizes() == Dims{4, 2});
  const TensorPtr target = zeros({2, 2});
  REQUIRE(module.set_output(target) == Error::Ok);
  const auto refused = module.forward(values);
  CHECK_FALSE(refused.ok());
  CHECK(contains(refused.message(), "forward: ONNX Runtime: "));
  const TensorPtr room = zeros({5, 2});
  REQUIRE(module.set_output(room) == Error::Ok);
  REQUIRE(module.run("forward", values) == Error::Ok);
  CHECK(room->sizes() == Dims{4, 2});
  CHECK(room->const_data_ptr<float>()[7] == 4.0f);
}

TEST_CASE("OnnxModule: every dtype that both have passes unchanged") {
  OnnxModule module(model("dtypes"));
  const auto meta = given(module.method_meta());
  std::vector<EValue> inputs;
  for (const ValueSpec& spec : meta.inputs) {
    const TensorPtr input = empty({4}, spec.tensor.type);
    auto* const bytes = static_cast<unsigned char*>(input->mutable_data_ptr());
    for (size_t i = 0; i < input->nbytes(); ++i) bytes[i] = static_cast<unsigned char>(i % 2);
    inputs.emplace_back(*input);
  }
  const auto outputs = given(module.forward(inputs));
  REQUIRE(outputs.size() == 17);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i].toTensor();
    INFO(meta.outputs[i].name());
    CHECK(output.scalar_type() == meta.inputs[i].tensor.type);
    CHECK(to_binary(output) == to_binary(inputs[i].toTensor()));
  }
}

TEST_CASE("OnnxModule: what goes wrong in a run is an error with the runtime's text") {
  OnnxModule module(model("pick"));
  const auto pick = [](int64_t index) { return make_tensor_ptr({1}, {index}); };
  REQUIRE(module.forward(pick(2)).ok());
  const auto refused = module.forward(pick(7));
  CHECK(refused.error() == Error::InvalidArgument);
  INFO(refused.message());
  CHECK(contains(refused.message(), "forward: ONNX Runtime: "));
  CHECK(contains(refused.message(), "idx=7 must be within the inclusive range [-3,2]"));
  CHECK(module.get_output().error() == Error::InvalidState);
  CHECK(module.forward(pick(0))->at(0).toTensor().item<float>() == 10.0f);

  OnnxModule two(model("two"));
  RETURNS(NotSupported,
          "forward: ONNX Runtime: ", two.forward({zeros({3, 2}), zeros({2, 2})}).error());
}

TEST_CASE("OnnxModule: a file that is missing or no model is an error, until it is there") {
  const tests::TempFolder folder;
  const std::string path = folder / "late.onnx";
  OnnxModule module(path);
  RETURNS(NotFound, "run: " + path + ": cannot open: No such file or directory",
          module.run("forward", ramp(1)));
  CHECK(module.method_meta().error() == Error::NotFound);
  tests::put_file(path, tests::file_bytes(tests::model_path("make_onnx.py")));
  RETURNS(InvalidArgument, "load_method: " + path + ": ONNX Runtime: ", module.load_method());
  tests::put_file(path, tests::file_bytes(model("double")));
  CHECK(module.forward(ramp(1)).ok());
  OnnxModule is_folder(folder / "");
  RETURNS(AccessFailed, "not a regular file", is_folder.load_method());
}

// A promise of docs/guarantees.md.
TEST_CASE("OnnxModule: bytes that are no model are an error") {
  const std::vector<uint8_t> whole = tests::file_bytes(model("digits"));
  OnnxModule garbage(make_tensor_ptr({1, 2, 3, 4, 5, 6, 7, 8}, ScalarType::Byte));
  CHECK(garbage.load_method() == Error::InvalidArgument);
  OnnxModule half(
      make_tensor_ptr(std::vector<uint8_t>(whole.data(), whole.data() + whole.size() / 2)));
  CHECK(half.load_method() == Error::InvalidArgument);
  OnnxModule nothing(empty({0}, ScalarType::Byte));
  CHECK(nothing.load_method() == Error::InvalidArgument);
  OnnxModule placeholder(from_blob(nullptr, {8}, ScalarType::Byte));
  RETURNS(InvalidState, "load_method: the tensor is a placeholder", placeholder.load_method());
  OnnxModule undefined{Tensor()};
  RETURNS(InvalidState, "load_method: the model is undefined", undefined.load_method());
}

// A promise of docs/guarantees.md.
TEST_CASE("OnnxModule: an output that no EValue can be is None, and the others are there") {
  const TensorPtr x = make_tensor_ptr({2, 2}, {2.0f, 0.0f, 0.0f, 3.0f});
  OnnxModule zipmap(model("zipmap"));
  const auto outputs = given(zipmap.forward(x));
  REQUIRE(outputs.size() == 2);
  CHECK(tests::values<int64_t>(outputs[0].toTensor()) == tests::Longs{0, 1});
  CHECK(outputs[1].isNone());
  CHECK(zipmap.get_outputs()->at(1).isNone());
  CHECK(zipmap.get_output(0).ok());
  RETURNS(NotSupported,
          "get_output: output 1 (prob): each element is of ONNX type 3, a map, which an "
          "EValue cannot be",
          zipmap.get_output(1).error());
  const auto meta = zipmap.method_meta();
  CHECK(meta->outputs[0].kind == ValueKind::Tensor);
  CHECK(meta->outputs[1].kind == ValueKind::None);
  CHECK(meta->outputs[1].name() == std::string("prob"));
  RETURNS(InvalidType, "output 1 (prob): it is a Tensor, Float {2}, expected None",
          zipmap.set_output(zeros({2}), 1));
  const TensorPtr label = zeros({2}, ScalarType::Long);  // and written in place beside it
  const void* const memory = label->const_data_ptr();
  REQUIRE(zipmap.set_output(label) == Error::Ok);
  REQUIRE(zipmap.run("forward", x) == Error::Ok);
  CHECK(tests::values<int64_t>(*label) == tests::Longs{0, 1});
  CHECK(label->const_data_ptr() == memory);

  OnnxModule texts(model("text_label"));
  const auto three = given(texts.forward(x));
  REQUIRE(three.size() == 3);
  CHECK(texts_of(three[0]) == tests::Texts{"cat", "dog"});
  CHECK(three[2].isNone());
  const auto prob = tests::values<float>(three[1].toTensor());
  REQUIRE(prob.size() == 4);
  CHECK(std::abs(prob[0] - 1 / (1 + std::exp(-4.0))) < 1e-6);  // of values 2 and -2
  CHECK(std::abs(prob[3] - 1 / (1 + std::exp(-6.0))) < 1e-6);
  RETURNS(NotSupported, "output 2 (prob): each element is of ONNX type 3, a map",
          texts.get_output(2).error());
}

TEST_CASE("OnnxModule: a model that gives nothing which an EValue can be is refused when it runs") {
  OnnxModule module(model("only_map"));
  CHECK(module.method_meta()->outputs[0].name() == std::string("prob"));
  REQUIRE(module.set_input(ones({1, 2})) == Error::Ok);
  RETURNS(NotSupported, "run: output 0 (prob): each element is of ONNX type 3, a map",
          module.run());
  CHECK(module.get_output().error() == Error::InvalidState);
}

TEST_CASE("OnnxModule: outputs are selected by name or index, in the order asked for") {
  OnnxModule two(model("two"));
  REQUIRE(two.select_outputs({"difference", "total"}) == Error::Ok);
  const auto swapped = given(two.forward({kA, kB}));
  CHECK(swapped[0].toTensor().const_data_ptr<float>()[1] == 5.0f);
  CHECK(swapped[1].toTensor().const_data_ptr<float>()[1] == 9.0f);
  RETURNS(InvalidState, "select_outputs: forward has been used already",
          two.select_outputs({"total"}));

  OnnxModule label(model("text_label"));
  RETURNS(InvalidArgument, "select_outputs: no output is named", label.select_outputs({}));
  REQUIRE(label.select_outputs({"prob_t"}) == Error::Ok);
  const auto only = given(label.forward(ones({3, 2})));
  REQUIRE(only.size() == 1);
  CHECK(only[0].toTensor().sizes() == Dims{3, 2});

  OnnxModule wrong(model("two"));
  REQUIRE(wrong.select_outputs({"sum"}) == Error::Ok);
  RETURNS(NotFound,
          "load_method: there is no output \"sum\"; the model's first output is \"total\"",
          wrong.load_method());
  REQUIRE(wrong.select_outputs({"total"}) == Error::Ok);  // nothing is lost
  CHECK(wrong.forward({kA, kB})->size() == 1);

  REQUIRE(OnnxModule(model("two")).select_outputs({0}) == Error::Ok);
  OnnxModule second(model("two"));
  REQUIRE(second.select_outputs({"sum"}) == Error::Ok);
  REQUIRE(second.select_outputs({1, 2}) == Error::Ok);  // instead
  RETURNS(OutOfBounds, "load_method: output 2 is out of range, expected below 2",
          second.load_method());
  REQUIRE(second.select_outputs({1, 0}) == Error::Ok);
  const auto by_index = given(second.forward({kA, kB}));
  REQUIRE(by_index.size() == 2);
  CHECK(by_index[0].toTensor().const_data_ptr<float>()[1] == 5.0f);
  CHECK(second.method_meta()->outputs[0].name() == std::string("difference"));

  OnnxModule map(model("zipmap"));
  REQUIRE(map.select_outputs({1}) == Error::Ok);
  RETURNS(NotSupported, "load_method: output 1 (prob): each element is of ONNX", map.load_method());
  REQUIRE(map.select_outputs({"label", "prob"}) == Error::Ok);
  RETURNS(NotSupported, "load_method: output 1 (prob): each element is of ONNX", map.load_method());
}

TEST_CASE("OnnxModule: sequences of tensors are lists of tensors, as inputs and as outputs") {
  OnnxModule sequence(model("sequence"));
  const auto images = given(sequence.forward(make_tensor_ptr({3.0f, 4.0f})));
  REQUIRE(images[0].toTensorList().size() == 1);
  CHECK(tests::values<float>(images[0].toTensorList()[0]) == tests::Floats{3, 4});

  OnnxModule pieces(model("pieces"));
  const auto meta = pieces.method_meta();
  CHECK(meta->inputs[0].kind == ValueKind::TensorList);
  CHECK(meta->outputs[1].kind == ValueKind::TensorList);
  const auto outputs = given(pieces.forward(EValue(std::vector<Tensor>{*kA, *ones({2, 2})})));
  CHECK(tests::values<float>(outputs[0].toTensor()) == tests::Floats{5, 7, 1, 1, 1, 1});
  const ArrayRef<Tensor> rows = outputs[1].toTensorList();
  REQUIRE(rows.size() == 3);
  CHECK(tests::values<float>(rows[0]) == tests::Floats{5, 7});
  CHECK(outputs[2].toTensorList().empty());
  const TensorPtr whole = zeros({3, 2});
  REQUIRE(pieces.set_output(whole) == Error::Ok);
  REQUIRE(pieces.run("forward", EValue(std::vector<Tensor>{*kA, *kB, *kB})) == Error::Ok);
  CHECK(tests::values<float>(*whole) == tests::Floats{5, 7, 1, 2, 1, 2});
  RETURNS(NotSupported, "run: input 0 (pieces): element 1: strides {1, 2}",
          pieces.run("forward", EValue(std::vector<Tensor>{*kA, transpose(ones({2, 2}), 0, 1)})));
  RETURNS(InvalidType, "input 0 (pieces): it is a Tensor", pieces.run("forward", kA));
  RETURNS(NotSupported, "input 0 (pieces): ONNX Runtime takes no empty list of tensors",
          pieces.run("forward", EValue(std::vector<Tensor>{})));
}

TEST_CASE("OnnxModule: an input with a default may be given or left out, and comes after others") {
  OnnxModule module(model("defaults"));
  const auto meta = given(module.method_meta());
  REQUIRE(meta.inputs.size() == 4);
  CHECK(meta.inputs[0].name() == std::string("x"));
  CHECK_FALSE(meta.inputs[0].is_optional);
  size_t scale = 0;
  size_t shift = 0;
  size_t words = 0;
  for (size_t i = 1; i < 4; ++i) {
    CHECK(meta.inputs[i].is_optional);
    const std::string name = meta.inputs[i].name();
    (name == "scale" ? scale : name == "shift" ? shift : words) = i;
  }
  REQUIRE((scale != 0 && shift != 0 && words != 0));
  CHECK(meta.inputs[words].kind == ValueKind::StringList);
  const TensorPtr x = make_tensor_ptr({1.0f, 2.0f});
  const auto run = [&] { return tests::values<float>(module.forward(x)->at(0).toTensor()); };
  CHECK(run() == tests::Floats{3, 5});
  REQUIRE(module.set_input(make_tensor_ptr({7.0f}), shift) == Error::Ok);
  CHECK(run() == tests::Floats{9, 11});
  REQUIRE(module.set_input(scalar_tensor(10), scale) == Error::Ok);
  CHECK(run() == tests::Floats{17, 27});
  REQUIRE(module.set_input(none, shift) == Error::Ok);
  CHECK(run() == tests::Floats{11, 21});
  REQUIRE(module.set_input(EValue("a"), words) == Error::Ok);
  RETURNS(InvalidArgument,
          "(words): the number of texts is 1, expected 2 for a tensor of sizes {2}",
          module.run("forward", x));
  REQUIRE(module.set_input(tests::Texts{"a", "b"}, words) == Error::Ok);
  CHECK(run() == tests::Floats{11, 21});
  REQUIRE(module.set_input(none, words) == Error::Ok);
  CHECK(run() == tests::Floats{11, 21});  // nothing is lost
  RETURNS(InvalidState, "run: input 0 (x): it is not given", module.run());
}

TEST_CASE("OnnxModule: an input that no EValue can be is described, and named when it is missed") {
  OnnxModule lists(model("word_lists"));
  const auto meta = given(lists.method_meta());
  CHECK(meta.inputs[0].name() == std::string("lists"));
  CHECK(meta.inputs[0].kind == ValueKind::None);
  CHECK(meta.outputs[1].kind == ValueKind::None);
  for (const EValue& value : {EValue(), EValue(tests::Texts{"a"}), EValue(kA)}) {
    RETURNS(NotSupported,
            "run: input 0 (lists): each element is a tensor of texts, which an EValue cannot be",
            lists.run("forward", value));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("OnnxModule: texts are inputs and outputs, one as a String, more as a StringList") {
  OnnxModule encoder(model("encoder"));
  const auto numbers = [&](const EValue& words) {
    return tests::values<int64_t>(given(encoder.forward(words))[0].toTensor());
  };
  CHECK(numbers("b") == tests::Longs{2});
  CHECK(numbers(tests::Texts{"b", "a", "z", ""}) == tests::Longs{2, 1, -1, -1});
  CHECK(numbers(tests::Texts{"b"}) == tests::Longs{2});
  CHECK(numbers(tests::Texts()).empty());
  OnnxModule decoder(model("decoder"));
  const auto outputs = given(decoder.forward(make_tensor_ptr(tests::Longs{2, 1, 7})));
  CHECK(outputs[0].isStringList());
  CHECK(texts_of(outputs[0]) == tests::Texts{"b", "a", "?"});
  const EValue one = given(decoder.forward(make_tensor_ptr(tests::Longs{2})))[0];
  CHECK(one.toString() == "b");
  CHECK(texts_of(one) == tests::Texts{"b"});
  CHECK(texts_of(given(decoder.forward(zeros({0}, ScalarType::Long)))[0]).empty());
  OnnxModule counter(model("counter"));
  const auto counts = given(counter.forward(tests::Texts{"c", "a", "x", "c"}));
  CHECK(tests::values<float>(counts[0].toTensor()) == tests::Floats{1, 0, 2});
  EValue kept;
  {
    OnnxModule gone(model("decoder"));
    kept = given(gone.forward(make_tensor_ptr(tests::Longs{1, 2})))[0];
  }
  CHECK(texts_of(kept) == tests::Texts{"a", "b"});
}

// A promise of docs/guarantees.md.
TEST_CASE("OnnxModule: texts keep their bytes, zeros and what is not UTF-8 too, of any length") {
  OnnxModule row(model("words_row"));
  const tests::Texts words{"", std::string("a\0b", 3), "\xff\xfe", "\xc3\xa4",
                           std::string(1 << 20, 'x')};
  const auto outputs = given(row.forward(words));
  CHECK(texts_of(outputs[0]) == words);
  for (const std::string& word : words) CHECK(given(row.forward(word))[0].toString() == word);
  CHECK(texts_of(given(row.forward(tests::Texts()))[0]).empty());
}

TEST_CASE("OnnxModule: a list of texts takes the sizes that the model says") {
  const tests::Texts two{"a", "b"};
  const tests::Texts six{"a", "b", "c", "d", "e", "f"};
  const struct {
    const char* name;
    EValue words;
    tests::Longs sizes;
    const char* refusal;
  } rows[] = {
      {"scalar", "a", {}, nullptr},
      {"one", "a", {1}, nullptr},
      {"one", tests::Texts{"a"}, {1}, nullptr},
      {"one", two, {}, "the number of texts is 2, expected 1 for a tensor of sizes {1}"},
      {"one", tests::Texts(), {}, "the number of texts is 0, expected 1 for a tensor of sizes {1}"},
      {"row", "a", {1}, nullptr},
      {"row", six, {6}, nullptr},
      {"row", tests::Texts(), {0}, nullptr},
      {"column", "a", {1, 1}, nullptr},
      {"column", two, {2, 1}, nullptr},
      {"column", tests::Texts(), {0, 1}, nullptr},
      {"pairs", two, {1, 2}, nullptr},
      {"pairs", six, {3, 2}, nullptr},
      {"pairs",
       "a",
       {},
       "the number of texts is 1, expected a multiple of 2 for a tensor of sizes {-1, 2}"},
      {"six", six, {2, 3}, nullptr},
      {"six", two, {}, "the number of texts is 2, expected 6 for a tensor of sizes {2, 3}"},
      {"grid", "a", {1, 1}, nullptr},
      {"grid", tests::Texts(), {0, 0}, nullptr},
      {"grid",
       six,
       {},
       "6 texts can be a tensor of sizes {-1, -1} in several ways; describe_inputs()"},
  };
  for (const auto& row : rows) {
    INFO(row.name << ' ' << row.words.toStringList().size());
    OnnxModule module(model(std::string("words_") + row.name));
    CHECK(module.method_meta()->inputs[0].kind == ValueKind::StringList);
    const auto outputs = module.forward(row.words);
    if (row.refusal != nullptr) {
      RETURNS(InvalidArgument, std::string("input 0 (words): ") + row.refusal, outputs.error());
      RETURNS(InvalidArgument, row.refusal, module.run("forward", row.words));
      CHECK(module.text_sizes().error() == Error::InvalidState);
      continue;
    }
    REQUIRE(outputs.ok());
    CHECK(texts_of(outputs->at(0)) == texts_of(row.words));
    CHECK(tests::values<int64_t>(outputs->at(1).toTensor()) == row.sizes);
    CHECK(*module.text_sizes() == Dims(row.sizes));
  }
}

TEST_CASE("OnnxModule: describe_inputs() says the open sizes of a tensor of texts") {
  OnnxModule grid(model("words_grid"));
  ValueSpec spec("cells", ValueKind::StringList);
  spec.tensor.sizes = {-1, 3};
  REQUIRE(grid.describe_inputs(spec) == Error::Ok);
  REQUIRE(grid.run("forward", tests::Texts{"a", "b", "c", "d", "e", "f"}) == Error::Ok);
  CHECK(*grid.text_sizes() == Dims{2, 3});
  RETURNS(InvalidArgument,
          "run: input 0 (words): the number of texts is 2, expected a multiple of 3",
          grid.run("forward", tests::Texts{"a", "b"}));
  spec.tensor.max_sizes = {1, -1};
  REQUIRE(grid.describe_inputs(spec) == Error::Ok);
  RETURNS(InvalidArgument, "run: input 0 (words): dimension 0 (y) is 2, expected at most 1",
          grid.run("forward", tests::Texts{"a", "b", "c", "d", "e", "f"}));
  CHECK(grid.describe_inputs(ValueSpec("cells", ValueKind::Tensor)) == Error::InvalidType);
  OnnxModule pairs(model("words_pairs"));
  RETURNS(InvalidArgument, "dimension 1 is 3, the module's is 2", pairs.describe_inputs(spec));
  REQUIRE(pairs.describe_inputs(ValueSpec("words", ValueKind::StringList)) == Error::Ok);
  CHECK(pairs.method_meta()->inputs[0].tensor.sizes == Dims{-1, 2});
  REQUIRE(pairs.run("forward", tests::Texts{"a", "b"}) == Error::Ok);
  CHECK(*pairs.text_sizes() == Dims{1, 2});
}

TEST_CASE("OnnxModule: a text for a tensor, a tensor for texts and a tensor set are refused") {
  OnnxModule decoder(model("decoder"));
  RETURNS(InvalidType, "run: input 0 (number): it is a String, \"b\", expected a Tensor",
          decoder.run("forward", "b"));
  RETURNS(InvalidType, "run: input 0 (number): it is a StringList of 2, expected a Tensor",
          decoder.run("forward", tests::Texts{"a", "b"}));
  RETURNS(InvalidType,
          "set_output: output 0 (word): it is a Tensor, Byte {3}, expected a StringList",
          decoder.set_output(zeros({3}, ScalarType::Byte)));
  RETURNS(InvalidType, "the output of forward is a StringList, run(tensor) returns a tensor",
          decoder.run(zeros({1}, ScalarType::Long)).error());
  OnnxModule encoder(model("encoder"));
  RETURNS(InvalidType, "run: input 0 (word): it is a Tensor, Byte {1}, expected a StringList",
          encoder.run("forward", zeros({1}, ScalarType::Byte)));
  RETURNS(InvalidType, "run: input 0 (word): it is an Int, 1, expected a StringList",
          encoder.run("forward", 1));
  RETURNS(InvalidState, "text_sizes: get_output: forward has not run yet",
          encoder.text_sizes().error());
  const TensorPtr numbers = zeros({2}, ScalarType::Long);  // as many as texts: in place
  const void* const memory = numbers->const_data_ptr();
  REQUIRE(encoder.set_output(numbers) == Error::Ok);
  REQUIRE(encoder.run("forward", tests::Texts{"a", "b"}) == Error::Ok);
  CHECK(numbers->const_data_ptr() == memory);
  CHECK(tests::values<int64_t>(*numbers) == tests::Longs{1, 2});
  RETURNS(InvalidType, "text_sizes: output 0 (number): it is a Tensor, Long {2}, expected texts",
          encoder.text_sizes().error());
  CHECK(encoder.text_sizes(1).error() == Error::OutOfBounds);
}

TEST_CASE("OnnxModule: a model in memory is shared until it is open, options are the caller's") {
  OrtSessionOptions* options = nullptr;
  REQUIRE(api().CreateSessionOptions(&options) == nullptr);
  REQUIRE(api().SetIntraOpNumThreads(options, 1) == nullptr);
  OnnxModule file(model("double"), options);
  REQUIRE(file.load_method() == Error::Ok);
  api().ReleaseSessionOptions(options);
  CHECK(file.forward(ramp(1)).ok());
  TensorPtr bytes = make_tensor_ptr(tests::file_bytes(model("double")));
  const Tensor kept = *bytes;
  OnnxModule module(bytes);
  bytes.reset();
  CHECK(kept.use_count() == 2);
  CHECK(is_doubled(module.forward(ramp(1))->at(0).toTensor()));
  CHECK(kept.use_count() == 1);
}

TEST_CASE("OnnxModule: the digits' network reads 440 of the 450 held-out images") {
  OnnxModule network(model("digits"));
  const TensorPtr images = read_npy(tests::digits_path("images.npy"));
  const TensorPtr labels = read_npy(tests::digits_path("labels.npy"));
  const TensorPtr index = read_npy(tests::digits_path("test_index.npy"));
  const auto outputs = given(network.forward(images));
  const Tensor& scores = outputs[0].toTensor();
  REQUIRE(scores.sizes() == Dims{images->size(0), 10});
  int right = 0;
  for (int64_t n = 0; n < 450; ++n) {
    const int32_t image = index->const_data_ptr<int32_t>()[n];
    const float* const of = scores.const_data_ptr<float>() + 10 * image;
    const auto answer = std::max_element(of, of + 10) - of;
    if (answer == labels->const_data_ptr<uint8_t>()[image]) ++right;
  }
  CHECK(right == 440);
}

TEST_CASE("OnnxModule: several at once, each on its thread", "[threads][OnnxModule]") {
  std::vector<int> right(2);
  tests::on_threads(2, [&](int i) {
    OnnxModule module(model("double_batch"));
    for (int n = 0; n < 20; ++n) {
      const auto outputs = module.forward(ramp(i + 1));
      right[static_cast<size_t>(i)] += outputs && is_doubled(outputs->at(0).toTensor());
    }
  });
  CHECK(right == std::vector<int>{20, 20});
}

}  // namespace onnxruntime_test
