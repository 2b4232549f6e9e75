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

template <class F>
bool succeeds(const F& f) {
  try {
    static_cast<void>(f());
    return true;
  } catch (const Exception& e) {
    FUZZ_CHECK(e.error() == Error::InvalidType && *e.what() != '\0');
    return false;
  }
}

std::vector<std::string> texts_of(const EValue& value) {
  const ArrayRef<std::string_view> texts = value.toStringList();
  return {texts.begin(), texts.end()};
}

/// What may be asked of a value is what its kind has.
void check_value(const EValue& value, ValueKind kind) {
  FUZZ_CHECK(value.kind() == kind);
  const auto is = [&](ValueKind asked, bool member, bool gives, bool tries) {
    FUZZ_CHECK(member == (kind == asked) && gives == member && tries == member);
  };
  is(ValueKind::Tensor, value.isTensor(), succeeds([&] { return value.toTensor(); }),
     value.tryToTensor().ok());
  is(ValueKind::Int, value.isInt(), succeeds([&] { return value.toInt(); }), value.tryToInt().ok());
  is(ValueKind::Double, value.isDouble(), succeeds([&] { return value.toDouble(); }),
     value.tryToDouble().ok());
  is(ValueKind::Bool, value.isBool(), succeeds([&] { return value.toBool(); }),
     value.tryToBool().ok());
  is(ValueKind::String, value.isString(), succeeds([&] { return value.toString(); }),
     value.tryToString().ok());
  is(ValueKind::IntList, value.isIntList(), succeeds([&] { return value.toIntList(); }),
     value.tryToIntList().ok());
  is(ValueKind::TensorList, value.isTensorList(), succeeds([&] { return value.toTensorList(); }),
     value.tryToTensorList().ok());
  is(ValueKind::OptionalTensorList, value.isOptionalTensorList(),
     succeeds([&] { return value.toOptionalTensorList(); }), value.tryToOptionalTensorList().ok());
  is(ValueKind::DoubleList, value.isDoubleList(), succeeds([&] { return value.toDoubleList(); }),
     value.tryToDoubleList().ok());
  is(ValueKind::BoolList, value.isBoolList(), succeeds([&] { return value.toBoolList(); }),
     value.tryToBoolList().ok());
  const bool is_texts = kind == ValueKind::StringList || kind == ValueKind::String;
  FUZZ_CHECK(value.isStringList() == (kind == ValueKind::StringList));
  FUZZ_CHECK(value.tryToStringList().ok() == is_texts);
  FUZZ_CHECK(succeeds([&] { return value.toStringList(); }) == is_texts);
  if (is_texts) FUZZ_CHECK(texts_of(EValue(value.toStringList())) == texts_of(value));
  FUZZ_CHECK(value.isScalar() == succeeds([&] { return value.toScalar(); }));
  EValue copy(value);
  EValue moved(std::move(copy));
  copy = moved;
  moved = *&moved;
  FUZZ_CHECK(copy.kind() == kind && moved.kind() == kind);
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

void run_module(fuzz::Input& in) {
  ValueKind kind{};
  std::vector<EValue> inputs;
  std::vector<ValueSpec> input_specs;
  std::vector<EValue> planned;
  std::vector<ValueSpec> output_specs;
  const uint8_t odd = in.take<uint8_t>();
  bool valid = true;
  const auto add = [&](std::vector<EValue>& values, std::vector<ValueSpec>& specs) {
    values.push_back(take_value(in, kind));
    check_value(values.back(), kind);
    specs.push_back(take_spec(in, values.back()));
    valid &= can_be_met(specs.back().tensor);
    FUZZ_CHECK((specs.back().check(values.back()) == Error::Ok) ==
               passes(specs.back(), values.back()));
  };
  for (size_t n = in.choose(4); n > 0; --n) add(inputs, input_specs);
  for (size_t n = in.choose(4); n > 0; --n) add(planned, output_specs);

  int calls = 0;
  bool has_run = false;  // whether there are outputs of a run
  const auto returns = [&](Span<const EValue> values) {
    ++calls;
    FUZZ_CHECK(values.size() >= inputs.size());
    if ((odd & 1) != 0) throw fuzz::Thrown();
    return planned;
  };
  // Writes to what there is, or assigns, or leaves it.
  const auto writes = [&](Span<const EValue> values, Span<EValue> outputs) -> Error {
    ++calls;
    FUZZ_CHECK(values.size() >= inputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const size_t what = in.choose(4);
      if (what == 0 && i < planned.size()) outputs[i] = planned[i];
      if (what == 1 && outputs[i].isTensor()) {
        Tensor& tensor = outputs[i].toTensor();
        if (tensor.numel() < 10000 &&
            resize_tensor(tensor, Dims(Numbers(tensor.sizes().size(), 1))) == Error::Ok) {
          FUZZ_CHECK(fill_(tensor, 1) == Error::Ok);
        }
      }
      if (what == 2 && !values.empty()) outputs[i] = values[0];
    }
    return (odd & 1) != 0 ? Error::Internal : Error::Ok;
  };
  const bool knows_outputs = (odd & 2) != 0;
  const bool is_writing = (odd & 4) != 0;
  FunctionModule module;
  const auto make = [&](const auto& f) {
    if (knows_outputs) return module.add_method("forward", f, input_specs, output_specs);
    return module.add_method("forward", f, input_specs);
  };
  if (!knows_outputs) {
    valid = true;
    for (const ValueSpec& spec : input_specs) valid &= can_be_met(spec.tensor);
  }
  // The module makes a writing function's outputs as large as their specs say: not huge ones.
  for (const ValueSpec& spec : output_specs) {
    fuzz::Wide product = 16;
    for (size_t d = 0; d < spec.tensor.sizes.size(); ++d) {
      const int64_t most = spec.tensor.max_sizes.size() <= d ? 0 : spec.tensor.max_sizes[d];
      const int64_t size = std::max(spec.tensor.sizes[d], most);
      if (size > 0 && product < 1000000) product *= size;
    }
    if (is_writing && product > 1000000) return;
  }
  const Error made = is_writing ? make(writes) : make(returns);
  FUZZ_CHECK((made == Error::Ok) == valid);
  if (!valid) return;

  const std::vector<ValueSpec> first_specs = input_specs;
  for (size_t turn = 0; turn < 4; ++turn) {
    const size_t index = in.choose(4) == 0 ? in.take<size_t>() : in.choose(3);
    switch (in.choose(6)) {
      case 0: {
        const EValue value = take_value(in, kind);
        const Error error = module.set_input(value, index);
        FUZZ_CHECK(index < inputs.size() || error == Error::OutOfBounds);
        if (index >= inputs.size()) break;
        FUZZ_CHECK((error == Error::Ok) ==
                   (value.isNone() || (passes(input_specs[index], value) && has_data(value))));
        // The checks of a run below look at what it is given; None stands for what was set.
        FUZZ_CHECK(module.set_input(none, index) == Error::Ok);
        break;
      }
      case 1: {
        const TensorPtr tensor = take_tensor(in);
        const Error error = module.set_output(tensor, index);
        if (error == Error::Ok) {
          FUZZ_CHECK(tensor != nullptr && has_data(*tensor));
          FUZZ_CHECK(!knows_outputs ||
                     (index < planned.size() && passes(output_specs[index], EValue(tensor))));
          if (in.flip()) FUZZ_CHECK(module.set_output(none, index) == Error::Ok);
        }
        break;
      }
      case 2: {
        std::vector<ValueSpec> specs = input_specs;
        if (in.choose(4) == 0) specs.push_back(ValueSpec());
        for (ValueSpec& spec : specs) {
          if (in.flip()) spec = take_spec(in, inputs.empty() ? EValue() : inputs[0]);
        }
        if (module.describe_inputs(specs) == Error::Ok) {
          FUZZ_CHECK(specs.size() == inputs.size());
          const ArrayRef<ValueSpec> known = module.method_meta()->inputs;
          input_specs.assign(known.begin(), known.end());
        }
        break;
      }
      case 3: {
        FUZZ_CHECK(module.unload_method() == Error::Ok && !module.is_method_loaded());
        FUZZ_CHECK(module.method_meta()->inputs.size() == first_specs.size());
        input_specs = first_specs;
        has_run = false;
        break;
      }
      default: {
        bool accepted = true;
        for (size_t i = 0; i < inputs.size(); ++i) {
          accepted &= passes(input_specs[i], inputs[i]) && has_data(inputs[i]);
        }
        const int before = calls;
        const auto outputs = module.forward(inputs);
        // What comes before the call may fail as well where there are outputs to make.
        FUZZ_CHECK(calls == before || (accepted && calls == before + 1));
        FUZZ_CHECK(!accepted || is_writing || calls == before + 1);
        // Inputs that are refused leave the outputs of the run before.
        if (accepted) has_run = outputs.ok();
        FUZZ_CHECK(outputs.ok() || *outputs.message() != '\0');
        FUZZ_CHECK(accepted || !outputs.ok());
        FUZZ_CHECK(module.get_outputs().error() == (has_run ? Error::Ok : Error::InvalidState));
        if (!outputs.ok()) break;
        FUZZ_CHECK(calls == before + 1 && (odd & 1) == 0);
        FUZZ_CHECK(module.get_outputs()->size() == outputs->size());
        for (size_t i = 0; i < outputs->size(); ++i) {
          const EValue& output = outputs->at(i);
          FUZZ_CHECK(!knows_outputs || passes(output_specs[i], output));
          FUZZ_CHECK(!output.isTensor() || output.toTensor().defined());
          FUZZ_CHECK(module.get_output(i)->kind() == output.kind());
        }
        FUZZ_CHECK(!knows_outputs || outputs->size() == planned.size());
      }
    }
  }
}

/// Outputs that share memory with inputs and each other get the values that they would get in memory of their own;
/// where two overlap, the last one's.
void run_shared(fuzz::Input& in) {
  constexpr int64_t kSize = 12;
  std::vector<float> memory(kSize);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  struct Part {
    int64_t begin;
    int64_t step;
  };
  const auto take_part = [&](int64_t count) {
    Part part{static_cast<int64_t>(in.choose(4)), static_cast<int64_t>(1 + in.choose(2))};
    if (in.choose(4) == 0) part = {part.begin + part.step * (count - 1), -part.step};
    return part;
  };
  const auto count = static_cast<int64_t>(1 + in.choose(4));
  const auto tensor_of = [&](const Part& part) {
    return from_blob(memory.data() + part.begin, {count}, {part.step}, ScalarType::Float);
  };
  const Part source = take_part(count);
  const size_t outputs = 1 + in.choose(3);
  std::vector<Part> targets;
  // Writes each output twice, reading the input between.
  FunctionModule module(
      [](Span<const EValue> values, Span<EValue> results) {
        for (const int round : {1, 2}) {
          for (size_t k = 0; k < results.size(); ++k) {
            const Tensor& from = values[0].toTensor();
            Tensor& to = results[k].toTensor();
            for (int64_t i = 0; i < from.numel(); ++i) {
              const auto* const read =
                  static_cast<const float*>(from.const_data_ptr()) + i * from.stride(0);
              auto* const written = static_cast<float*>(to.mutable_data_ptr()) + i * to.stride(0);
              *written = *read * static_cast<float>(round) + 100 * static_cast<float>(k + 1);
            }
          }
        }
      },
      none, ValueSpecs(std::vector<ValueSpec>(outputs, TensorSpec{{count}, ScalarType::Float})));
  for (size_t k = 0; k < outputs; ++k) {
    targets.push_back(take_part(count));
    if (in.choose(4) != 0) {
      FUZZ_CHECK(module.set_output(tensor_of(targets[k]), k) == Error::Ok);
    } else {
      targets[k].step = 0;  // none is set
    }
  }
  std::vector<float> expected = memory;
  for (size_t k = 0; k < outputs; ++k) {
    for (int64_t i = 0; i < count && targets[k].step != 0; ++i) {
      const float read = memory[static_cast<size_t>(source.begin + i * source.step)];
      expected[static_cast<size_t>(targets[k].begin + i * targets[k].step)] =
          read * 2 + 100 * static_cast<float>(k + 1);
    }
  }
  FUZZ_CHECK(module.run("forward", tensor_of(source)) == Error::Ok);
  FUZZ_CHECK(memory == expected);
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  if (in.choose(8) == 0) {
    run_shared(in);
  } else {
    run_module(in);
  }
  return 0;
}
