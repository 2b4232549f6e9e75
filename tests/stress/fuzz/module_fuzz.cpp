// SPDX-License-Identifier: MIT
// Values, specs and modules: EValues of every kind, specs that fit them, nearly fit, or can be met by nothing, and a
// FunctionModule that is given them and whose function does as the input says.
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/module/function_module.h>
#include <tenon/tenon.h>

#include "naive.h"

using namespace tenon;
using fuzz::Numbers;

namespace {

constexpr size_t kKinds = static_cast<size_t>(ValueKind::StringList) + 1;

std::string take_text(fuzz::Input& in) {
  std::string text(in.choose(4) == 0 ? in.choose(100) : in.choose(6), in.take<char>());
  if (!text.empty()) text[0] = in.take<char>();
  return text;
}

TensorPtr take_tensor(fuzz::Input& in) {
  const ScalarType type = in.choose(3) == 0 ? fuzz::take_type(in).type : ScalarType::Float;
  const auto dynamism = static_cast<TensorShapeDynamism>(in.choose(3));
  Dims sizes;
  for (size_t rank = in.choose(5); rank > 0; --rank)
    sizes.push_back(static_cast<int64_t>(in.choose(4)));
  const size_t kind = in.choose(16);
  if (kind == 0) return nullptr;
  if (kind == 1) return make_template(sizes, type);
  if (kind == 2) return from_blob(nullptr, sizes, type);
  TensorPtr tensor = full(sizes, 1, type, dynamism);
  if (kind == 3) return make_tensor_ptr(transpose(unsqueeze(*tensor, 0), 0, -1));
  return tensor;
}
Tensor take_handle(fuzz::Input& in) {
  const TensorPtr tensor = take_tensor(in);
  return tensor == nullptr ? Tensor() : *tensor;
}

/// A value, and its kind.
EValue take_value(fuzz::Input& in, ValueKind& kind) {
  kind = in.flip() ? ValueKind::Tensor : static_cast<ValueKind>(in.choose(kKinds));
  const size_t count = in.choose(4);
  std::vector<Tensor> tensors;
  switch (kind) {
    case ValueKind::None: return EValue();
    case ValueKind::Tensor: return take_tensor(in);
    case ValueKind::Int: return in.take<int64_t>();
    case ValueKind::Double: return in.take<double>();
    case ValueKind::Bool: return in.flip();
    case ValueKind::String: return take_text(in);
    case ValueKind::IntList: return fuzz::take_sizes(in);
    case ValueKind::DoubleList: return std::vector<double>(count, in.take<double>());
    case ValueKind::BoolList: return std::vector<bool>(count, in.flip());
    case ValueKind::StringList: return std::vector<std::string>(count, take_text(in));
    default:
      for (size_t i = 0; i < count; ++i) tensors.push_back(take_handle(in));
      return kind == ValueKind::TensorList ? EValue(tensors)
                                           : EValue::optional_tensor_list(tensors);
  }
}

/// A spec, like the value or not.
ValueSpec take_spec(fuzz::Input& in, const EValue& value) {
  ValueSpec spec(value.kind());
  if (in.choose(8) == 0) spec.kind = static_cast<ValueKind>(in.choose(kKinds));
  spec.is_optional = in.choose(4) == 0;
  if (in.choose(4) == 0) spec.tensor.name = take_text(in);
  spec.is_described = spec.kind == ValueKind::Tensor && in.choose(8) != 0;
  if (!spec.is_described) return spec;
  TensorSpec& tensor = spec.tensor;
  const Numbers odd = fuzz::take_sizes(in);
  const bool is_like = value.isTensor() && value.toTensor().defined() && in.choose(8) != 0;
  tensor.sizes = is_like ? Dims(value.toTensor().sizes()) : Dims(odd);
  tensor.type = is_like ? value.toTensor().scalar_type() : ScalarType::Float;
  if (in.choose(3) == 0) tensor.max_sizes = tensor.sizes;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    const size_t change = in.choose(8);
    if (change < 4) tensor.sizes[d] = -1;
    if (change == 7) tensor.sizes[d] = fuzz::take_number(in);
    if (!tensor.max_sizes.empty() && in.choose(4) == 0) tensor.max_sizes[d] = fuzz::take_number(in);
  }
  if (in.choose(16) == 0) tensor.max_sizes = odd;
  if (in.choose(8) == 0)
    tensor.type = in.flip() ? ScalarType::Undefined : static_cast<ScalarType>(in.take<int8_t>());
  if (in.choose(16) == 0) tensor.device = "cuda:1";
  if (in.choose(4) == 0) {
    std::vector<std::string> names(tensor.sizes.size() + (in.choose(8) == 0 ? 1 : 0));
    for (std::string& name : names) name = take_text(in);
    tensor.names = names;
  }
  return spec;
}

int64_t size_of(ScalarType type) {
  const fuzz::NaiveType* const known = fuzz::find_type(type);
  return known == nullptr ? 0 : known->size;
}

/// Whether any tensor can pass.
bool can_be_met(const TensorSpec& spec) {
  const size_t rank = spec.sizes.size();
  if (spec.sizes.error() != Error::Ok || spec.max_sizes.error() != Error::Ok) return false;
  if ((!spec.names.empty() && spec.names.size() != rank) ||
      (!spec.max_sizes.empty() && spec.max_sizes.size() != rank)) {
    return false;
  }
  fuzz::Wide product = 1;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t most = spec.max_sizes.empty() ? -1 : spec.max_sizes[d];
    if (spec.sizes[d] < -1 || most < -1 || (most >= 0 && spec.sizes[d] > most)) return false;
    if (spec.sizes[d] > 0 && product <= PTRDIFF_MAX) product *= spec.sizes[d];
  }
  return product <= PTRDIFF_MAX && product * size_of(spec.type) <= PTRDIFF_MAX;
}

bool passes(const TensorSpec& spec, const Tensor& tensor) {
  if (!can_be_met(spec) || !tensor.defined() || spec.device != Device() ||
      tensor.device() != Device()) {
    return false;
  }
  if (spec.type != ScalarType::Undefined && spec.type != tensor.scalar_type()) return false;
  if (spec.sizes.size() != tensor.sizes().size()) return false;
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    const int64_t most = spec.max_sizes.empty() ? -1 : spec.max_sizes[d];
    const int64_t size = tensor.sizes()[d];
    if (spec.sizes[d] >= 0 ? size != spec.sizes[d] : most >= 0 && size > most) return false;
  }
  return true;
}

bool passes(const ValueSpec& spec, const EValue& value) {
  if (value.isNone() && spec.is_optional) return true;
  if (value.isString() && spec.kind == ValueKind::StringList) return true;  // a list of one
  if (value.kind() != spec.kind) return false;
  if (spec.kind != ValueKind::Tensor) return true;
  return spec.is_described ? passes(spec.tensor, value.toTensor()) : value.toTensor().defined();
}

/// Whether a module takes the tensors of a value.
bool has_data(const Tensor& tensor) {
  return tensor.device() == Device() && (tensor.numel() == 0 || tensor.const_data_ptr() != nullptr);
}
bool has_data(const EValue& value) {
  const auto all = [&](ArrayRef<Tensor> tensors) {
    for (const Tensor& tensor : tensors) {
      if (tensor.defined() ? !has_data(tensor) : !value.isOptionalTensorList()) return false;
    }
    return true;
  };
  if (value.isTensor()) return value.toTensor().defined() && has_data(value.toTensor());
  if (value.isTensorList()) return all(value.toTensorList());
  return !value.isOptionalTensorList() || all(value.toOptionalTensorList());
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  ValueKind kind{};
  std::vector<EValue> inputs;
  std::vector<ValueSpec> specs;
  const bool throws = in.flip();
  bool valid = true;
  for (size_t n = in.choose(4); n > 0; --n) {
    inputs.push_back(take_value(in, kind));
    FUZZ_CHECK(inputs.back().kind() == kind);
    specs.push_back(take_spec(in, inputs.back()));
    valid &= can_be_met(specs.back().tensor);
    FUZZ_CHECK((specs.back().check(inputs.back()) == Error::Ok) ==
               passes(specs.back(), inputs.back()));
  }
  int calls = 0;
  const auto returns = [&](Span<const EValue> values) {
    ++calls;
    FUZZ_CHECK(values.size() >= inputs.size());
    if (throws) throw fuzz::Thrown();
    return values.vec();
  };
  FunctionModule module;
  FUZZ_CHECK((module.add_method("forward", returns, specs) == Error::Ok) == valid);
  if (!valid) return 0;

  const std::vector<ValueSpec> first_specs = specs;
  for (size_t turn = 0; turn < 4; ++turn) {
    const size_t index = in.choose(4) == 0 ? in.take<size_t>() : in.choose(3);
    switch (in.choose(5)) {
      case 0: {
        const EValue value = take_value(in, kind);
        const Error error = module.set_input(value, index);
        FUZZ_CHECK(index < inputs.size() || error == Error::OutOfBounds);
        if (index >= inputs.size()) break;
        FUZZ_CHECK((error == Error::Ok) ==
                   (value.isNone() || (passes(specs[index], value) && has_data(value))));
        // The checks of a run below look at what it is given; None stands for what was set.
        FUZZ_CHECK(module.set_input(none, index) == Error::Ok);
        break;
      }
      case 1: {
        std::vector<ValueSpec> others = specs;
        if (in.choose(4) == 0) others.push_back(ValueSpec());
        for (ValueSpec& spec : others) {
          if (in.flip()) spec = take_spec(in, inputs.empty() ? EValue() : inputs[0]);
        }
        if (module.describe_inputs(others) == Error::Ok) {
          FUZZ_CHECK(others.size() == inputs.size());
          const ArrayRef<ValueSpec> known = module.method_meta()->inputs;
          specs.assign(known.begin(), known.end());
        }
        break;
      }
      case 2: {
        FUZZ_CHECK(module.unload_method() == Error::Ok && !module.is_method_loaded());
        FUZZ_CHECK(module.method_meta()->inputs.size() == first_specs.size());
        specs = first_specs;
        break;
      }
      default: {
        bool accepted = true;
        for (size_t i = 0; i < inputs.size(); ++i) {
          accepted &= passes(specs[i], inputs[i]) && has_data(inputs[i]);
        }
        const int before = calls;
        const auto outputs = module.forward(inputs);
        FUZZ_CHECK(calls == before + (accepted ? 1 : 0));
        FUZZ_CHECK(outputs.ok() == (accepted && !throws));
        FUZZ_CHECK(outputs.ok() || *outputs.message() != '\0');
        FUZZ_CHECK(!outputs.ok() || outputs->size() == inputs.size());
      }
    }
  }
  return 0;
}
