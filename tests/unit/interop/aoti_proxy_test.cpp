// SPDX-License-Identifier: MIT
// A model's calls of operators: fake_model_proxy calls what its input says, the package's JSON names the operators.
#include "tenon/interop/aoti_proxy.h"

#include <thread>

#include "interop/runtimes/aoti/models.h"
#include "support/catch.h"
#include "tenon/interop/aoti_shim.h"
#include "tensor/helpers.h"

namespace aoti_proxy_test {

using namespace tenon;
using tests::bytes_of;
using tests::Floats;
using tests::TempFolder;
using tests::Texts;

namespace {

/// Registers a function as long as this lives.
struct Registered {
  std::string name;
  Registered(const std::string& schema, TorchOperator function)
      : name(schema.substr(0, schema.find('('))) {
    const Error error = register_torch_operator(schema, std::move(function));
    INFO(last_error_message());
    REQUIRE(error == Error::Ok);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { static_cast<void>(unregister_torch_operator(name)); }
};

/// A node of the package's JSON. Arguments: "x:as_tensor:{\"name\": \"a\"}".
std::string node(const std::string& target, const std::vector<std::array<std::string, 3>>& inputs,
                 const std::string& outputs) {
  std::string text;
  for (const auto& [name, kind, value] : inputs) {
    text += (text.empty() ? "" : ", ") + std::string("{\"name\": \"") + name + "\", \"arg\": {\"" +
            kind + "\": " + value + "}, \"kind\": 1}";
  }
  return "{\"name\": \"buf0\", \"node\": {\"target\": \"" + target + "\", \"inputs\": [" + text +
         "], \"outputs\": [" + outputs + "], \"metadata\": {}}}";
}
std::string nodes(const Texts& all) {
  std::string text;
  for (const std::string& each : all) text += (text.empty() ? "" : ", ") + each;
  return "{\"nodes\": [" + text + "]}";
}
const std::string kTensor = "{\"name\": \"arg0_1\"}";
const std::string kTwoOutputs =
    R"({"as_tensor": {"name": "buf1"}}, {"as_tensor": {"name": "buf2"}})";

/// The fake model in a package with this JSON, and this source.
std::string write_model(const TempFolder& folder, const std::string& json,
                        const std::string& source = "") {
  const std::string in = "fake/data/aotinductor/model/";
  const std::string path = folder / "model.pt2";
  std::vector<tests::Entry> entries{
      {in + "a.wrapper_metadata.json", bytes_of("{\"tenon_inputs\": \"x float32 * 4\"}")},
      {in + "a.wrapper.cpp", bytes_of(source)},
      {in + "a.wrapper.so", tests::file_bytes(tests::model_path("fake_model_proxy"))}};
  if (!json.empty()) entries.push_back({in + "a.wrapper.json", bytes_of(json)});
  tests::write_package(path, entries);
  return path;
}
AotiModel load(const std::string& path, size_t num_models = 1) {
  AotiOptions options;
  options.assume_row_major = true;
  options.num_models = num_models;
  Result<AotiModel> made = AotiModel::load(path, options);
  INFO((made.ok() ? "" : last_error_message()));
  REQUIRE(made.ok());
  REQUIRE(made->set_constants({{"layer.bias", *zeros({4})}}) == Error::Ok);
  return *std::move(made);
}
/// An input by which the model calls an operator with these numbers of integers and tensors.
TensorPtr calls(float op, float ints, float tensors) {
  return make_tensor_ptr({2, 4}, {op, ints, tensors, 0.0f, 1.0f, 2.0f, 3.0f, 4.0f});
}
Result<std::vector<EValue>> run(AotiModel model, const TensorPtr& x) {
  AotiModule module(std::move(model));
  return module.forward(*x);
}
Error run_error(const AotiModel& model, const TensorPtr& x) { return run(model, x).error(); }
Error load_error(const std::string& path) { return AotiModel::load(path).error(); }

Error give_twice(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  const Tensor& x = inputs[0].toTensor();
  const TensorPtr made = clone_tensor_ptr(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    made->mutable_data_ptr<float>()[i] *= static_cast<float>(inputs[1].toInt());
  }
  outputs = {EValue(*made), inputs[0]};
  return Error::Ok;
}
const char* const kTwice =
    "tests::twice(Tensor x, int n, float f=1.5, *, str mode='a') -> "
    "(Tensor, Tensor)";
std::string twice_node() {
  return node("tests::twice", {{"x", "as_tensor", kTensor}, {"n", "as_int", "3"}}, kTwoOutputs);
}

}  // namespace

TEST_CASE("aoti_proxy: a model calls an operator that the program registered") {
  const Registered registered(kTwice, give_twice);
  const TempFolder folder;
  const AotiModel model = load(write_model(folder, nodes({twice_node()})));
  const std::vector<EValue> out = run(model, calls(0, 1, 3)).value();
  REQUIRE(out.size() == 2);
  CHECK(tests::values<float>(out[0].toTensor()) == Floats{0, 3, 9, 0, 3, 6, 9, 12});
  CHECK(tests::values<float>(out[1].toTensor()) == Floats{0, 1, 3, 0, 1, 2, 3, 4});
#if TENON_IS_CHECKED
  AotiModule module(model);
  for (int i = 0; i < 100; ++i) REQUIRE(module.forward(*calls(0, 1, 3)).ok());
  CHECK(detail::aoti_handles().count(nullptr) == 0);
#endif
}

TEST_CASE("aoti_proxy: arguments of all kinds") {
  std::vector<EValue> seen;
  const Registered registered(
      "tests::kinds(Tensor[] xs, Tensor?[] ys, SymInt[] n, float[] f, bool[] b, ScalarType t, "
      "Device d, MemoryFormat m, Layout? l, Tensor? none, float g, Scalar s, Scalar s2, int[] e, "
      "Tensor[] no_tensors, bool flag, str text, int? i, int[2]? k=7, Generator? r=None) "
      "-> Tensor[]",
      [&](Span<const EValue> inputs, std::vector<EValue>& outputs) {
        seen.assign(inputs.begin(), inputs.end());
        const Tensor& x = inputs[0].toTensorList()[0];
        outputs.emplace_back(std::vector<Tensor>{x, x});
        return Error::Ok;
      });
  const std::string json = nodes({node(
      "tests::kinds",
      {{"xs", "as_tensors", "[" + kTensor + "]"},
       {"ys", "as_optional_tensors", "[{\"as_none\": true}, {\"as_tensor\": " + kTensor + "}]"},
       {"n", "as_sym_ints", "[{\"as_int\": 1}, {\"as_name\": \"s0\"}]"},
       {"f", "as_floats", "[1.5, \"-Infinity\", 2]"},
       {"b", "as_bools", "[true, false]"},
       {"t", "as_scalar_type", "8"},
       {"d", "as_device", "{\"type\": \"cpu\", \"index\": null}"},
       {"m", "as_memory_format", "2"},
       {"l", "as_layout", "7"},
       {"none", "as_none", "true"},
       {"g", "as_int", "2"},
       {"s", "as_int", "9"},
       {"s2", "as_float", "\"NaN\""},
       {"e", "as_ints", "[]"},
       {"no_tensors", "as_tensors", "[]"},
       {"flag", "as_bool", "true"},
       {"text", "as_string", "\"a text\""},
       {"i", "as_sym_int", "{\"as_name\": \"s0\"}"}},
      R"({"as_tensors": [{"name": "buf1"}, {"name": "buf2"}]})")});
  const TempFolder folder;
  const AotiModel model = load(write_model(folder, json));
  const TensorPtr x = calls(0, 4, 4);
  const Result<std::vector<EValue>> out = run(model, x);
  INFO((out.ok() ? "" : last_error_message()));
  REQUIRE(out.ok());
  REQUIRE(seen.size() == 20);
  const void* const data = x->const_data_ptr();
  CHECK(seen[0].toTensorList()[0].const_data_ptr() == data);
  CHECK_FALSE(seen[1].toOptionalTensorList()[0].defined());
  CHECK(seen[1].toOptionalTensorList()[1].const_data_ptr() == data);
  CHECK(seen[2].toIntList() == ArrayRef<int64_t>({3, 4}));
  CHECK(seen[3].toDoubleList()[0] == 1.5);
  CHECK(seen[3].toDoubleList()[1] == -std::numeric_limits<double>::infinity());
  CHECK(seen[4].toBoolList() == ArrayRef<bool>({true, false}));
  CHECK(seen[5].toInt() == static_cast<int64_t>(ScalarType::Double));
  CHECK(seen[6].toString() == "cpu");
  CHECK(seen[7].toInt() == 2);  // channels_last
  CHECK(seen[8].toInt() == 0);
  CHECK(seen[9].isNone());
  CHECK(seen[10].toDouble() == 2);
  CHECK(seen[11].toInt() == 5);
  CHECK(std::isnan(seen[12].toDouble()));
  CHECK(seen[13].toIntList().empty());
  CHECK(seen[14].toTensorList().empty());
  CHECK(seen[15].toBool());
  CHECK(seen[16].toString() == "a text");
  CHECK(seen[17].toInt() == 6);
  CHECK(seen[18].toIntList() == ArrayRef<int64_t>({7, 7}));
  CHECK(seen[19].isNone());
}

// A promise of docs/guarantees.md.
TEST_CASE("aoti_proxy: operators that are not registered are all named before anything runs") {
  const Registered registered(kTwice, give_twice);
  const std::string json = nodes({node("tests::zz", {}, ""), twice_node(),
                                  node("aten::median.dim", {}, ""), node("tests::zz", {}, "")});
  const TempFolder folder;
  const std::string path = write_model(folder, json);
  RETURNS(NotSupported,
          "nobody registered 2 operators that the model calls: aten::median.dim, tests::zz; see "
          "\"Operators without a C function\" in docs/aoti.md",
          load_error(path));
  CHECK(AotiModel::missing_functions(path).value() == Texts{"aten::median.dim", "tests::zz"});
}

TEST_CASE("aoti_proxy: a library has its JSON beside it") {
  const Registered registered(kTwice, give_twice);
  const TempFolder folder;
  tests::put_file(folder / "a.wrapper.so",
                  tests::file_bytes(tests::model_path("fake_model_proxy")));
  const AotiModel without = load(folder / "a.wrapper.so");
  RETURNS(InvalidState, "the JSON that names it was not beside its library",
          run_error(without, calls(0, 1, 3)));
  tests::put_file(folder / "a.wrapper.json", bytes_of(nodes({twice_node()})));
  CHECK(run(load(folder / "a.wrapper.so"), calls(0, 1, 3)).ok());
}

TEST_CASE("aoti_proxy: JSON that does not fit is refused") {
  const Registered registered(kTwice, give_twice);
  const TempFolder folder;
  const auto loading = [&](const std::string& json) {
    INFO(json);
    return load_error(write_model(folder, json));
  };
  for (const char* const json :
       {"{", "[]", "{\"nodes\": 3}", "{\"nodes\": [3]}", "{\"nodes\": [{\"node\": {}}]}",
        "{\"nodes\": [{\"node\": {\"target\": 3}}]}",
        "{\"nodes\": [{\"node\": {\"target\": \"tests::twice\"}}]}",
        "{\"nodes\": [{\"node\": {\"target\": \"tests::twice\", \"inputs\": [3], "
        "\"outputs\": []}}]}",
        "{\"nodes\": [{\"node\": {\"target\": \"tests::twice\", \"inputs\": [{\"name\": \"x\", "
        "\"arg\": {}}], \"outputs\": []}}]}"}) {
    CHECK(loading(json) == Error::InvalidArgument);
  }
  const auto with = [&](const std::vector<std::array<std::string, 3>>& inputs,
                        const std::string& outputs = kTwoOutputs) {
    return loading(nodes({node("tests::twice", inputs, outputs)}));
  };
  const std::array<std::string, 3> x{"x", "as_tensor", kTensor};
  const std::array<std::string, 3> n{"n", "as_int", "3"};
  RETURNS(InvalidArgument, "tests::twice: the model passes an argument y",
          with({x, n, {"y", "as_int", "3"}}));
  RETURNS(InvalidArgument, "passes an argument x", with({x, x, n}));
  RETURNS(InvalidArgument, "passes no n, for which", with({x}));
  RETURNS(NotSupported, "input 0 (x): the model passes as_custom_obj for a Tensor",
          with({{"x", "as_custom_obj", "{\"name\": \"a\", \"class_fqn\": \"b\"}"}, n}));
  RETURNS(InvalidType, "input 0 (x): expected a value of type Tensor, not None",
          with({{"x", "as_none", "true"}, n}));
  RETURNS(InvalidType, "input 1 (n): expected a value of type int",
          with({x, {"n", "as_float", "1.5"}}));
  RETURNS(NotSupported, "input 1 (n): the model passes as_tensor for a int",
          with({x, {"n", "as_tensor", kTensor}}));
  RETURNS(InvalidArgument, "the model takes 1 outputs, but the registered schema has 2",
          with({x, n}, R"({"as_tensor": {"name": "a"}})"));
  RETURNS(NotSupported, "output 1: the model takes as_int of a Tensor",
          with({x, n}, R"({"as_tensor": {"name": "a"}}, {"as_int": 3})"));
  RETURNS(InvalidArgument, "output 0: the package's JSON does not describe it",
          with({x, n}, R"(3, {"as_int": 3})"));
}

TEST_CASE("aoti_proxy: a call that the JSON does not have is an error") {
  const Registered registered(kTwice, give_twice);
  const TempFolder folder;
  const AotiModel model = load(write_model(folder, nodes({twice_node()})));
  RETURNS(InvalidArgument, "the model calls operator 1, but its package has 1",
          run_error(model, calls(1, 1, 3)));
  RETURNS(InvalidArgument, "the model calls operator -1", run_error(model, calls(-1, 1, 3)));
  RETURNS(InvalidArgument,
          "tests::twice: the model passes 2 tensors and 1 integers, but its package says 3 and 1",
          run_error(model, calls(0, 1, 2)));
  RETURNS(InvalidArgument, "the model passes 3 tensors and 0 integers",
          run_error(model, calls(0, 0, 3)));
  RETURNS(InvalidArgument, "passes 3 tensors and 2 integers", run_error(model, calls(0, 2, 3)));
  CHECK(run(model, calls(0, 1, 3)).ok());
}

// A promise of docs/guarantees.md.
TEST_CASE("aoti_proxy: what an operator gives is checked before the model reads it") {
  std::vector<EValue> gives;
  const Registered registered("tests::gives(Tensor x) -> (Tensor, Tensor)",
                              [&](Span<const EValue> inputs, std::vector<EValue>& outputs) {
                                if (gives.empty()) {
                                  return detail::fail(Error::OutOfBounds, "index 7 of 4");
                                }
                                outputs = gives;
                                return inputs.size() == 1 ? Error::Ok : Error::Internal;
                              });
  const std::string source =
      "static void run() {\n"
      "    if (check()) { assert_size_stride(buf1, {2L, 3L}, {1L, 2L}, \"torch.ops.tests.gives\", "
      "cached_torch_dtype_float32, \"torch.float32\"); }\n"
      "    if (check()) { assert_size_stride(buf2, {u0, }, {1L, }, \"torch.ops.tests.gives\"); }\n"
      "}\n";
  const TempFolder folder;
  const AotiModel model = load(write_model(
      folder, nodes({node("tests::gives", {{"x", "as_tensor", kTensor}}, kTwoOutputs)}), source));
  const TensorPtr x = calls(0, 0, 3);
  const Tensor list = *make_tensor_ptr({3}, {1.0f, 2.0f, 3.0f});
  const Tensor rows = *make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  gives = {rows, list};
  {
    const std::vector<EValue> out = run(model, x).value();
    const Tensor& y = out[0].toTensor();
    CHECK(y.strides() == Dims{1, 2});  // a copy, in the strides by which the code reads it
    CHECK(tests::values<float>(y) == Floats{1, 2, 3, 4, 5, 6});
    CHECK(out[1].toTensor().const_data_ptr() == list.const_data_ptr());
  }
  const Tensor columns = *empty_strided({2, 3}, {1, 2});
  gives = {columns, list};
  CHECK(run(model, x).value()[0].toTensor().const_data_ptr() == columns.const_data_ptr());
  gives = {*zeros({2, 4}), list};
  RETURNS(InvalidArgument, "tests::gives: output 0: dimension 1 is 4, expected 3",
          run_error(model, x));
  gives = {*zeros({2, 3}, ScalarType::Double), list};
  RETURNS(InvalidType, "tests::gives: output 0: it is Double, expected Float", run_error(model, x));
  gives = {rows, rows};
  RETURNS(InvalidArgument, "tests::gives: output 1: it has sizes {2, 3}, expected {-1}",
          run_error(model, x));
  gives = {rows, Tensor()};
  CHECK(run_error(model, x) == Error::InvalidState);
  gives = {rows};
  RETURNS(InvalidState, "the operator returned 1 outputs, but its schema has 2",
          run_error(model, x));
  gives = {};
  RETURNS(OutOfBounds, "tests::gives: index 7 of 4", run_error(model, x));
}

TEST_CASE("aoti_proxy: an operator that went, or has another schema, is an error") {
  const TempFolder folder;
  const std::string path = write_model(folder, nodes({twice_node()}));
  AotiModel model;
  {
    const Registered registered(kTwice, give_twice);
    model = load(path);
  }
  RETURNS(NotFound, "there is no operator tests::twice", run_error(model, calls(0, 1, 3)));
  {
    const Registered other("tests::twice(Tensor x, int n, float f, str mode) -> Tensor",
                           [](Span<const EValue> inputs, std::vector<EValue>& outputs) {
                             outputs.push_back(inputs[0]);
                             return Error::Ok;
                           });
    RETURNS(InvalidState, "its registered schema has changed since the model was loaded",
            run_error(model, calls(0, 1, 3)));
  }
  const Registered again(kTwice, give_twice);
  CHECK(run(model, calls(0, 1, 3)).ok());
}

TEST_CASE("aoti_proxy: results that are integers or None") {
  int64_t gives = 3;
  const Registered registered("tests::count(Tensor x) -> (int, Tensor?, Tensor?, Tensor)",
                              [&](Span<const EValue> inputs, std::vector<EValue>& outputs) {
                                outputs = {gives, none, inputs[0], inputs[0]};
                                return Error::Ok;
                              });
  const TempFolder folder;
  const AotiModel model = load(
      write_model(folder, nodes({node("tests::count", {{"x", "as_tensor", kTensor}},
                                      R"({"as_int": 3}, {"as_optional_tensor": {"as_none": true}},
                             {"as_optional_tensor": {"as_tensor": {"name": "buf1"}}},
                             {"as_tensor": {"name": "buf2"}})")})));
  CHECK(run(model, calls(0, 1, 3)).ok());
  gives = 4;
  RETURNS(InvalidArgument, "output 0 is an Int, 4, but the model was compiled for 3",
          run_error(model, calls(0, 1, 3)));
}

}  // namespace aoti_proxy_test
