// SPDX-License-Identifier: MIT
// The models that ExecuTorch's own tests read from files, as functions of this program: each does
// what the exported one does. They are found by the end of a file's name.

#include <memory>
#include <vector>

#include "tenon/module/function_module.h"
#include "tenon/module/runtimes.h"

namespace {

using tenon::EValue, tenon::FunctionModule, tenon::ModelFile, tenon::ScalarType, tenon::Span,
    tenon::TensorSpec, tenon::ValueKind;

using Shared = std::shared_ptr<tenon::Module>;

const TensorSpec kSquare = {{2, 2}};

/// x + alpha * y.
Shared make_add(const ModelFile&) {
  const auto add = [](Span<const EValue> in, Span<EValue> out) {
    const auto alpha = static_cast<float>(in[2].toDouble());
    const float* x = in[0].toTensor().const_data_ptr<float>();
    const float* y = in[1].toTensor().const_data_ptr<float>();
    float* sum = out[0].toTensor().mutable_data_ptr<float>();
    for (int i = 0; i < 4; ++i) sum[i] = x[i] + alpha * y[i];
  };
  return std::make_shared<FunctionModule>(
      add, tenon::ValueSpecs{kSquare, kSquare, ValueKind::Double}, tenon::ValueSpecs{kSquare});
}
/// A file of weights must be given, as the exported models' is; theirs are known here.
Shared with_weights(const ModelFile& file, Shared model) {
  if (!file.data_files.empty()) return model;
  static_cast<void>(tenon::set_error(tenon::Error::NotFound, "the file of weights is not given"));
  return nullptr;
}
/// 3 x + 2.
Shared make_add_mul(const ModelFile& file) {
  const auto add_mul = [](Span<const EValue> in, Span<EValue> out) {
    const float* x = in[0].toTensor().const_data_ptr<float>();
    float* y = out[0].toTensor().mutable_data_ptr<float>();
    for (int i = 0; i < 4; ++i) y[i] = 3 * x[i] + 2;
  };
  return with_weights(file, std::make_shared<FunctionModule>(add_mul, tenon::ValueSpecs{kSquare},
                                                             tenon::ValueSpecs{kSquare}));
}
/// The sum of three features, thrice.
Shared make_linear(const ModelFile& file) {
  const TensorSpec features = {{3}};
  const auto linear = [](Span<const EValue> in, Span<EValue> out) {
    const float* x = in[0].toTensor().const_data_ptr<float>();
    float* y = out[0].toTensor().mutable_data_ptr<float>();
    for (int i = 0; i < 3; ++i) y[i] = x[0] + x[1] + x[2];
  };
  return with_weights(file, std::make_shared<FunctionModule>(linear, tenon::ValueSpecs{features},
                                                             tenon::ValueSpecs{features}));
}
/// A counter, which its methods share.
Shared make_shared_state(const ModelFile&) {
  const TensorSpec one = {{1}};
  const auto state = std::make_shared<float>(0.0f);
  const auto forward = [state](Span<const EValue> in, Span<EValue> out) {
    *state += 1;
    *out[0].toTensor().mutable_data_ptr<float>() =
        *state + *in[0].toTensor().const_data_ptr<float>();
  };
  auto model =
      std::make_shared<FunctionModule>(forward, tenon::ValueSpecs{one}, tenon::ValueSpecs{one});
  const auto get = [state](Span<const EValue>, Span<EValue> out) {
    *out[0].toTensor().mutable_data_ptr<float>() = *state;
  };
  const auto set = [state](Span<const EValue> in, Span<EValue>) {
    *state = *in[0].toTensor().const_data_ptr<float>();
  };
  tenon::Error error = model->add_method("get_state", get, {}, tenon::ValueSpecs{one});
  if (error == tenon::Error::Ok) error = model->add_method("set_state", set, {one}, {});
  return error == tenon::Error::Ok ? model : nullptr;
}

constexpr int64_t kVocabulary = 64;
constexpr int64_t kContext = 128;

/// Logits that are largest at the token's number, modulo the vocabulary.
void decode(Span<const EValue> in, Span<EValue> out) {
  const tenon::Tensor& tokens = in[0].toTensor();
  const tenon::Tensor& logits = out[0].toTensor();
  tenon::detail::raise_if("decode", tenon::resize_tensor(logits, {1, tokens.numel(), kVocabulary}));
  float* at = logits.mutable_data_ptr<float>();
  for (int64_t i = 0; i < tokens.numel(); ++i) {
    const int64_t token = tokens.const_data_ptr<int64_t>()[i];
    for (int64_t v = 0; v < kVocabulary; ++v) *at++ = v == token % kVocabulary ? 1.0f : 0.0f;
  }
}
/// A decoder; `positions` describes its second input, if it has one.
Shared make_decoder(std::vector<tenon::ValueSpec> positions) {
  TensorSpec tokens = {{1, -1}, ScalarType::Long};
  tokens.max_sizes = {1, kContext};
  TensorSpec logits = {{1, -1, kVocabulary}};
  logits.max_sizes = {1, kContext, kVocabulary};
  positions.insert(positions.begin(), tokens);
  return std::make_shared<FunctionModule>(decode, positions, tenon::ValueSpecs{logits});
}
Shared make_cache_pos(const ModelFile&) {
  TensorSpec positions = {{-1}, ScalarType::Long};
  positions.max_sizes = {kContext};
  return make_decoder({positions});
}
Shared make_input_pos(const ModelFile&) {
  return make_decoder({TensorSpec{{1}, ScalarType::Long}});
}
Shared make_no_kvcache(const ModelFile&) { return make_decoder({}); }

const bool registered = tenon::register_runtime("ModuleAdd.pte", make_add) &&
                        tenon::register_runtime("ModuleAddMulProgram.pte", make_add_mul) &&
                        tenon::register_runtime("ModuleLinearProgram.pte", make_linear) &&
                        tenon::register_runtime("ModuleSharedState.pte", make_shared_state) &&
                        tenon::register_runtime("kvcache_cache_pos.pte", make_cache_pos) &&
                        tenon::register_runtime("kvcache_input_pos.pte", make_input_pos) &&
                        tenon::register_runtime("no_kvcache.pte", make_no_kvcache);

}  // namespace
