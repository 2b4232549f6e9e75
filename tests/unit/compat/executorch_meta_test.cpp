// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_meta.h"

#include "captured_log.h"
#include "support/catch.h"

namespace executorch_meta_test {

using executorch::aten::ScalarType;
using executorch::runtime::Error, executorch::runtime::MethodMeta, executorch::runtime::Tag,
    executorch::runtime::TensorInfo;
using tenon::TensorSpec, tenon::ValueKind, tenon::ValueSpec;
using tests::contains, tests::log_of;

namespace {

std::unique_ptr<executorch::runtime::internal::MethodInfo> info_of(
    const char* name, const std::vector<ValueSpec>& inputs,
    const std::vector<ValueSpec>& outputs = {}) {
  tenon::MethodMeta meta;
  meta.name = name;
  meta.inputs = inputs;
  meta.outputs = outputs;
  return std::make_unique<executorch::runtime::internal::MethodInfo>(meta);
}
TensorSpec bounded(tenon::Dims sizes, tenon::Dims max_sizes) {
  TensorSpec spec{sizes};
  spec.max_sizes = max_sizes;
  return spec;
}

}  // namespace

TEST_CASE("executorch: MethodMeta describes values by their largest sizes") {
  TensorSpec channels_last{{1, 3, 8, 9}, ScalarType::Byte};
  channels_last.dim_order = {0, 2, 3, 1};
  struct Row {
    ValueSpec spec;
    Error error;
    tests::Longs sizes;
    size_t nbytes;
    ScalarType type = ScalarType::Float;
    std::vector<uint8_t> order = {0, 1};
  };
  constexpr int64_t kHuge = int64_t{1} << 40;
  const Row rows[] = {
      {TensorSpec{{2, 3}}, Error::Ok, {2, 3}, 24},
      {TensorSpec{{}, ScalarType::Double}, Error::Ok, {}, 8, ScalarType::Double, {}},
      {TensorSpec{{2, 0}}, Error::Ok, {2, 0}, 0},
      {channels_last, Error::Ok, {1, 3, 8, 9}, 216, ScalarType::Byte, {0, 2, 3, 1}},
      {bounded({-1, 3}, {7, 3}), Error::Ok, {7, 3}, 84},
      {bounded({-1, 3}, {7, -1}), Error::Ok, {7, 3}, 84},
      {bounded({0, -1}, {0, kHuge}), Error::Ok, {0, kHuge}, 0},
      {TensorSpec{{2, 3}, ScalarType::Undefined}, Error::Ok, {2, 3}, 6, ScalarType::Undefined},
      {TensorSpec{{-1, 3}}, Error::NotSupported, {}, 0},
      {bounded({-1, 3}, {-1, 3}), Error::NotSupported, {}, 0},
      {bounded({-1, -1}, {kHuge, kHuge}), Error::NotSupported, {}, 0},
      {ValueSpec(), Error::NotSupported, {}, 0},
      {ValueKind::Int, Error::InvalidArgument, {}, 0},
      {ValueKind::TensorList, Error::InvalidArgument, {}, 0},
  };
  for (const Row& row : rows) {
    INFO("row " << &row - rows);
    const auto info = info_of("forward", {row.spec}, {ValueKind::Int, row.spec});
    const MethodMeta meta(*info);
    log_of([&] {
      CHECK(meta.input_tensor_meta(0).error() == row.error);
      CHECK(meta.output_tensor_meta(1).error() == row.error);
    });
    if (row.error != Error::Ok) continue;
    const TensorInfo tensor = *meta.output_tensor_meta(1);
    CHECK(tests::Longs(tensor.sizes().begin(), tensor.sizes().end()) == row.sizes);
    CHECK(tensor.nbytes() == row.nbytes);
    CHECK(tensor.scalar_type() == row.type);
    CHECK(std::vector<uint8_t>(tensor.dim_order().begin(), tensor.dim_order().end()) == row.order);
    CHECK(!tensor.is_memory_planned());
  }
}

TEST_CASE("executorch: MethodMeta tells kinds, and refuses indices out of range") {
  const std::pair<ValueKind, Tag> kinds[] = {
      {ValueKind::None, Tag::None},
      {ValueKind::Tensor, Tag::Tensor},
      {ValueKind::Int, Tag::Int},
      {ValueKind::Double, Tag::Double},
      {ValueKind::Bool, Tag::Bool},
      {ValueKind::String, Tag::String},
      {ValueKind::TensorList, Tag::ListTensor},
      {ValueKind::OptionalTensorList, Tag::ListOptionalTensor},
      {ValueKind::IntList, Tag::ListInt},
      {ValueKind::DoubleList, Tag::ListDouble},
      {ValueKind::BoolList, Tag::ListBool},
      {ValueKind::StringList, Tag::None},  // which ExecuTorch does not have
  };
  std::vector<ValueSpec> specs;
  for (const auto& kind : kinds) specs.emplace_back(kind.first);
  const auto info = info_of("kinds", specs);
  const MethodMeta meta(*info);
  CHECK(meta.num_inputs() == specs.size());
  CHECK(meta.num_outputs() == 0);
  for (size_t i = 0; i < specs.size(); ++i) CHECK(*meta.input_tag(i) == kinds[i].second);
  const std::string log = log_of([&] {
    for (const size_t index : {specs.size(), SIZE_MAX}) {
      CHECK(meta.input_tag(index).error() == Error::InvalidArgument);
      CHECK(meta.input_tensor_meta(index).error() == Error::InvalidArgument);
    }
    CHECK(meta.output_tag(0).error() == Error::InvalidArgument);
    CHECK(meta.output_tensor_meta(0).error() == Error::InvalidArgument);
    CHECK(meta.input_tensor_meta(2).error() == Error::InvalidArgument);
  });
  CHECK(contains(log, "index 12 is out of range, expected below 12\n"));
  CHECK(contains(log, "index 0 is out of range, expected below 0\n"));
  CHECK(contains(log, "value 2 is Int, not a tensor\n"));

  CHECK(meta.num_memory_planned_buffers() == 0);
  CHECK(meta.memory_planned_buffer_size(0).error() == Error::InvalidArgument);
  CHECK(!meta.uses_backend("XnnpackBackend"));
  CHECK(meta.num_backends() == 0);
  CHECK(meta.get_backend_name(0).error() == Error::InvalidArgument);
}

TEST_CASE("executorch: MethodMeta has copies of names and sizes") {
  std::string name(100, 'n');
  std::vector<ValueSpec> inputs = {{tenon::detail::Text(name.c_str()), TensorSpec{{2, 3}}}};
  const auto info = info_of(name.c_str(), inputs);
  const std::string expected = name;
  name.assign(100, 'x');
  inputs.clear();
  const MethodMeta meta(*info);
  const MethodMeta copy = meta;
  CHECK(copy.name() == expected);
  const TensorInfo tensor = *copy.input_tensor_meta(0);
  CHECK(tensor.name() == expected);
  // Clients copy the sizes, or cast const away for from_blob().
  auto* const sizes = const_cast<executorch::aten::SizesType*>(tensor.sizes().data());
  CHECK(tests::Longs(sizes, sizes + tensor.sizes().size()) == tests::Longs{2, 3});
}

}  // namespace executorch_meta_test
