// SPDX-License-Identifier: MIT
#include "tenon/module/tensor_spec.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace tensor_spec_test {

using namespace tenon;

namespace {

TensorSpec images() { return {{-1, 8, 8}, ScalarType::Float, {"batch", "rows", "columns"}}; }

TensorSpec bounded(const Dims& sizes, const Dims& max_sizes) {
  TensorSpec spec{sizes};
  spec.max_sizes = max_sizes;
  return spec;
}

// What a runtime says of {at most 16, 3} floats.
ValueSpec batches() { return bounded({-1, 3}, {16, -1}); }

size_t count(const EValues& values) { return values.size(); }
const EValue* first(const EValues& values) { return values.data(); }
ValueKind kind(const EValues& values) { return values[0].kind(); }

}  // namespace

TEST_CASE("TensorSpec: strides or a dim order, if it has them") {
  TensorSpec spec{{-1, 3, 4}};
  spec.strides = {12, 1, 3};
  const TensorPtr rows = zeros({2, 4, 3});
  CHECK(spec.check(transpose(rows, 1, 2)) == Error::Ok);
  CHECK(spec.check(as_strided(zeros({12}), {1, 3, 4}, {7, 1, 3})) == Error::Ok);
  CHECK(spec.check(zeros({0, 3, 4})) == Error::Ok);
  RETURNS(InvalidArgument,
          "check: its strides are {12, 4, 1}, expected {12, 1, 3}; copy_() to an empty_strided() "
          "tensor",
          spec.check(zeros({2, 3, 4})));
  const Tensor gaps = narrow(zeros({2, 5, 3}), 1, 0, 4);
  RETURNS(InvalidArgument, "its strides are {15, 1, 3}", spec.check(transpose(gaps, 1, 2)));
  spec.strides[0] = -1;
  CHECK(spec.check(transpose(gaps, 1, 2)) == Error::Ok);
  spec.strides = {};
  spec.dim_order = {0, 2, 1};
  CHECK(spec.check(transpose(rows, 1, 2)) == Error::Ok);
  CHECK(spec.check(transpose(gaps, 1, 2)) == Error::InvalidArgument);
  RETURNS(InvalidArgument, "its strides are {12, 4, 1}, expected {12, 1, 3}",
          spec.check(zeros({2, 3, 4})));
  ValueSpec copied = spec;
  CHECK(copied.check(zeros({2, 3, 4})) == Error::InvalidArgument);
  copied.copies_strides = true;
  CHECK(copied.check(zeros({2, 3, 4})) == Error::Ok);
}

TEST_CASE("TensorSpec: a description takes over the module's layout, and does not contradict it") {
  ValueSpec own = TensorSpec{{-1, 4}};
  own.tensor.strides = {4, 1};
  own.copies_strides = true;
  ValueSpec open = TensorSpec{{2, 4}};
  REQUIRE(detail::narrow_spec(own, open) == Error::Ok);
  CHECK(open.tensor.strides == Dims{4, 1});
  CHECK(open.copies_strides);
  ValueSpec other = TensorSpec{{2, 4}};
  other.tensor.strides = {1, 2};
  RETURNS(InvalidArgument, "the spec has strides {1, 2} and dim_order {}, the module's are {4, 1}",
          detail::narrow_spec(own, other));
  other.tensor.strides = {};
  other.tensor.dim_order = {1, 0};
  CHECK(detail::narrow_spec(own, other) == Error::InvalidArgument);
  own.tensor.strides = {};
  REQUIRE(detail::narrow_spec(own, other) == Error::Ok);
  CHECK(other.tensor.dim_order == Dims{1, 0});
  // Strides that are open, or of size 1, contradict nothing.
  ValueSpec row = TensorSpec{{2, 1, 3}};
  row.tensor.strides = {3, 3, 1};
  for (const Dims& strides : {Dims{3, 1, 1}, Dims{-1, -1, 1}}) {
    ValueSpec same = TensorSpec{{2, 1, 3}};
    same.tensor.strides = strides;
    CHECK(detail::narrow_spec(row, same) == Error::Ok);
    CHECK(same.tensor.strides[0] == 3);
  }
}

TEST_CASE("TensorSpec: layouts that no tensor has are refused") {
  const struct {
    Dims strides;
    Dims dim_order;
  } rows[] = {{{1}, {}},    {{1, 1, 1}, {}}, {{1, -2}, {}},    {{}, {0}},      {{}, {0, 0}},
              {{}, {0, 2}}, {{}, {-1, 0}},   {{4, 1}, {0, 1}}, {{}, {0, 1, 2}}};
  for (const auto& row : rows) {
    TensorSpec spec{{2, 4}};
    spec.strides = row.strides;
    spec.dim_order = row.dim_order;
    RETURNS(InvalidArgument, "check: the spec has strides ", spec.check(zeros({2, 4})));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("TensorSpec: what passes, and what is wrong with the rest") {
  CHECK(images().check(zeros({1, 8, 8})) == Error::Ok);
  CHECK(images().check(zeros({0, 8, 8})) == Error::Ok);
  CHECK(images().check(transpose(zeros({5, 8, 8}), 1, 2)) == Error::Ok);
  CHECK(TensorSpec{}.check(scalar_tensor(1)) == Error::Ok);
  TensorSpec any = images();
  any.type = ScalarType::Undefined;
  CHECK(any.check(zeros({1, 8, 8}, ScalarType::Byte)) == Error::Ok);
  TensorSpec most = images();
  most.max_sizes = {64, -1, -1};
  CHECK(most.check(zeros({64, 8, 8})) == Error::Ok);
  TensorSpec gpu = images();
  gpu.device = Device(DeviceType::CUDA, 1);
  const struct {
    TensorSpec spec;
    TensorPtr tensor;
    Error error;
    const char* words;
  } rows[] = {
      {images(), zeros({1, 9, 8}), Error::InvalidArgument, "dimension 1 (rows) is 9, expected 8"},
      {images(), zeros({1, 8, 7}), Error::InvalidArgument,
       "dimension 2 (columns) is 7, expected 8"},
      {TensorSpec{{2}}, zeros({3}), Error::InvalidArgument, "dimension 0 is 3, expected 2"},
      {images(), zeros({8, 8}), Error::InvalidArgument, "it has sizes {8, 8}, expected {-1, 8, 8}"},
      {images(), zeros({1, 8, 8}, ScalarType::Double), Error::InvalidType,
       "it is Double, expected Float"},
      {most, zeros({65, 8, 8}), Error::InvalidArgument,
       "dimension 0 (batch) is 65, expected at most 64"},
      {most, zeros({64, 9, 8}), Error::InvalidArgument, "dimension 1 (rows) is 9, expected 8"},
      {gpu, zeros({1, 8, 8}), Error::InvalidArgument,
       TENON_BARE_METAL ? "it is on cpu, expected device 2:1" : "it is on cpu, expected cuda:1"},
      {images(), make_template({1, 8, 8}, ScalarType::Float), Error::InvalidArgument,
       "expected cpu"},
      {images(), TensorPtr(), Error::InvalidState, "the tensor is undefined"},
  };
  for (const auto& row : rows) {
    INFO(row.words);
    CHECK_RETURNS(row.error, row.words, row.spec.check(row.tensor));
  }
  RETURNS(InvalidState, "check: the tensor is undefined", images().check(Tensor()));
}

TEST_CASE("TensorSpec: one that cannot be met says so") {
  const int64_t huge = int64_t{1} << 40;
  const std::pair<TensorSpec, const char*> rows[] = {
      {{{2, 3}, ScalarType::Float, {"rows"}},
       "check: the spec has 1 names and max_sizes {} for sizes {2, 3}"},
      {bounded({2, 3}, {4}), "the spec has 0 names and max_sizes {4} for sizes {2, 3}"},
      {{std::vector<int>(65, 1)}, "the spec's sizes has more than 64 entries"},
      {{{uint64_t{2} - 3, 3}},
       "the spec's sizes has a value above int64_t's range"},  // not -1, any size
      {{{-1, -7}}, "the spec's dimension 1 has size -7"},
      {bounded({-1, -1}, {-2, -1}), "the spec's dimension 0 has size -1 and max_size -2"},
      {bounded({8, -1}, {4, -1}), "the spec's dimension 0 has size 8 and max_size 4"},
      {{{huge, -1, huge}}, "sizes {1099511627776, -1, 1099511627776} of Float overflow"},
  };
  for (const auto& [spec, words] : rows) {
    INFO(words);
    RETURNS(InvalidArgument, words, spec.check(zeros({8, 1})));
  }
  CHECK(bounded({8, -1}, {8, 1}).check(zeros({8, 1})) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("ValueSpec: it tells kinds of values, and describes tensors if it was given a spec") {
  const ValueSpec image("image", images());
  CHECK(std::string(image.name()) == "image");
  CHECK(image.check(zeros({1, 8, 8})) == Error::Ok);
  RETURNS(InvalidArgument, "dimension 1 (rows) is 9", image.check(zeros({1, 9, 8})));
  RETURNS(InvalidType, "check: it is an Int, 5, expected a Tensor", image.check(5));
  const ValueSpec tensor = ValueKind::Tensor;
  CHECK(tensor.check(zeros({1, 9, 8})) == Error::Ok);
  RETURNS(InvalidState, "undefined", tensor.check(Tensor()));
  const ValueSpec number("count", ValueKind::Int);
  CHECK(number.check(5) == Error::Ok);
  RETURNS(InvalidType, "check: it is None, expected an Int", number.check(none));
  const ValueSpec texts("words", ValueKind::StringList);
  CHECK(texts.check(tests::Texts{"a", "b"}) == Error::Ok);
  CHECK(texts.check("a") == Error::Ok);  // as a list of one
  RETURNS(InvalidType, "check: it is an IntList of 1", texts.check(std::vector<int>{1}));
  RETURNS(InvalidType, "check: it is a StringList of 1, expected a String",
          ValueSpec(ValueKind::String).check(tests::Texts{"a"}));
  ValueSpec mask("mask", TensorSpec{{2}});
  CHECK(mask.check(none) == Error::InvalidType);
  mask.is_optional = true;
  CHECK(mask.check(none) == Error::Ok);
  CHECK(mask.check(zeros({3})) == Error::InvalidArgument);
}

TEST_CASE("narrow_spec: what a user adds, and what is left out and stays as it was") {
  ValueSpec named("image", TensorSpec{{-1, -1}, ScalarType::Undefined, {"batch", "pixels"}});
  REQUIRE(detail::narrow_spec(batches(), named) == Error::Ok);
  CHECK(named.name() == std::string("image"));
  CHECK(named.tensor.names[1] == std::string("pixels"));
  CHECK(named.tensor.type == ScalarType::Float);
  ValueSpec kind_alone("image", ValueKind::Tensor);
  REQUIRE(detail::narrow_spec(batches(), kind_alone) == Error::Ok);
  CHECK(kind_alone.name() == std::string("image"));
  CHECK(kind_alone.is_described);
  CHECK(kind_alone.tensor.sizes == Dims{-1, 3});
  ValueSpec own("scale", ValueKind::Double);
  own.is_optional = true;
  ValueSpec unnamed(ValueKind::Double);
  REQUIRE(detail::narrow_spec(own, unnamed) == Error::Ok);
  CHECK(unnamed.name() == std::string("scale"));
  CHECK(unnamed.is_optional);
  const struct {
    ValueSpec own;
    TensorSpec given;
    Dims sizes;
    int64_t most;  // of dimension 0
  } rows[] = {
      {batches(), TensorSpec{{-1, -1}}, {-1, 3}, 16},
      {batches(), TensorSpec{{8, 3}}, {8, 3}, 16},
      {batches(), bounded({-1, -1}, {4, -1}), {-1, 3}, 4},
      {batches(), bounded({-1, -1}, {40, -1}), {-1, 3}, 16},
      {TensorSpec{{8}}, bounded({-1}, {16}), {8}, 16},
  };
  for (const auto& row : rows) {
    ValueSpec spec = row.given;
    CAPTURE(row.most);
    REQUIRE(detail::narrow_spec(row.own, spec) == Error::Ok);
    CHECK(spec.tensor.sizes == row.sizes);
    CHECK(spec.tensor.max_sizes[0] == row.most);
  }
}

TEST_CASE("narrow_spec: the sizes of a tensor of texts") {
  ValueSpec own("words", ValueKind::StringList);
  own.tensor.sizes = {-1, 3};
  own.tensor.type = ScalarType::Undefined;
  own.is_described = true;
  ValueSpec spec("cells", ValueKind::StringList);
  REQUIRE(detail::narrow_spec(own, spec) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{-1, 3});
  CHECK(spec.name() == std::string("cells"));
  ValueSpec rows(ValueKind::StringList);
  rows.tensor.sizes = {2, -1};
  REQUIRE(detail::narrow_spec(own, rows) == Error::Ok);
  CHECK(rows.tensor.sizes == Dims{2, 3});
  ValueSpec wrong(ValueKind::StringList);
  wrong.tensor.sizes = {-1, 2};
  RETURNS(InvalidArgument, "dimension 1 is 2, the module's is 3", detail::narrow_spec(own, wrong));
}

TEST_CASE("narrow_spec: what can never pass both is refused") {
  TensorSpec device{{-1, 3}};
  device.device = Device("cuda:0");
  const struct {
    ValueSpec own;
    ValueSpec given;
    Error error;
    const char* words;
  } rows[] = {
      {batches(), TensorSpec{{-1, 4}}, Error::InvalidArgument,
       "the spec's dimension 1 is 4, the module's is 3"},
      {batches(), TensorSpec{{17, 3}, ScalarType::Float, {"batch", ""}}, Error::InvalidArgument,
       "the spec's dimension 0 (batch) has size 17 and max_size 16"},
      {batches(), bounded({17, 3}, {20, 3}), Error::InvalidArgument,
       "the spec's dimension 0 is 17, the module's is at most 16"},
      {batches(), TensorSpec{{3}}, Error::InvalidArgument,
       "the spec has sizes {3}, the module's are {-1, 3}"},
      {batches(), TensorSpec{{-1, 3}, ScalarType::Int}, Error::InvalidType,
       "the spec is for Int, the module takes Float"},
      {batches(), ValueSpec(ValueKind::Int), Error::InvalidType,
       "the spec is for an Int, the module takes a Tensor"},
      {batches(), TensorSpec{{-1, 3}, ScalarType::Float, {"batch"}}, Error::InvalidArgument,
       "the spec has 1 names"},
      {batches(), device, Error::InvalidArgument,
       TENON_BARE_METAL ? "the spec is for device 2:0, the module takes cpu"
                        : "the spec is for cuda:0, the module takes cpu"},
      {TensorSpec{{8}}, bounded({-1}, {4}), Error::InvalidArgument,
       "the spec's dimension 0 has size 8 and max_size 4"},
  };
  for (const auto& row : rows) {
    ValueSpec spec = row.given;
    INFO(row.words);
    CHECK_RETURNS(row.error, row.words, detail::narrow_spec(row.own, spec));
  }
}

TEST_CASE("EValues: one value, braces, containers and nothing at all are all arguments") {
  TensorPtr x = make_tensor_ptr({1.0f});
  const std::vector<EValue> vector{1, 2, 3};
  CHECK(count({}) == 0);
  CHECK(count(x) == 1);
  CHECK(count(*x) == 1);
  CHECK(count({x}) == 1);
  CHECK(count({x, 5, 0.5, "text", none}) == 5);
  CHECK(count(vector) == 3);
  CHECK(count({vector[0], vector[1]}) == 2);
  CHECK(count(std::array<EValue, 2>{1, 2}) == 2);
  CHECK(count(Span<const EValue>(vector.data(), 2)) == 2);
  CHECK(count(5) == 1);
  CHECK(count(EValue()) == 1);
  CHECK(count(std::vector<int>{1, 2}) == 1);
  CHECK(kind(std::vector<int>{1, 2}) == ValueKind::IntList);
  CHECK(kind(std::vector<Tensor>(2)) == ValueKind::TensorList);
  CHECK(first(vector) == vector.data());  // referred to, not copied
  CHECK(first(vector[1]) == &vector[1]);
  CHECK(kind(std::move(x)) == ValueKind::Tensor);
  CHECK(x == nullptr);
}

}  // namespace tensor_spec_test
