// SPDX-License-Identifier: MIT
// One of torch's own operators beside libtorch's: both get copies of the same arguments by their dispatchers.
#pragma once

#include "interop/runtimes/aoti_kernels/peer.h"
#include "tenon/interop/runtimes/torch_stable_dispatcher.h"

namespace dispatch_tests {

using namespace tenon;
using detail::from_stack;
using detail::to_stack;
using tests::Arguments;
using tests::ask_torch;
using tests::difference;

/// A value on the stack of libtorch.
inline StableIValue push_torch(std::string_view type, const EValue& value, Arguments& side) {
  if (detail::take_optional(type)) {
    if (value.isNone()) return 0;
    StableIValue* made = nullptr;
    ask_torch("torch_new_stable_ivalue", &made);
    *made = push_torch(type, value, side);
    return to_stack(made);
  }
  if (detail::take_list(type)) {
    StableListHandle list = nullptr;
    ask_torch("torch_new_list_reserve_size", size_t{0}, &list);
    const auto add = [&](const EValue& each) {
      ask_torch("torch_list_push_back", list, push_torch(type, each, side));
    };
    if (value.isIntList()) {
      for (const int64_t each : value.toIntList()) add(each);
    } else {
      for (const Tensor& each : value.toTensorList()) add(each);
    }
    return to_stack(list);
  }
  if (type == "Tensor") {
    AtenTensorHandle handle = nullptr;
    ask_torch("aoti_torch_new_tensor_handle", side.pass<AtenTensorHandle>(value.toTensor()),
              &handle);
    return to_stack(handle);
  }
  if (type == "str") {
    StringHandle handle = nullptr;
    const std::string text(value.toString());
    ask_torch("torch_new_string_handle", text.data(), text.size(), &handle);
    return to_stack(handle);
  }
  if (type == "Device") return 0xffffffff;  // cpu
  if (type == "bool") return to_stack(value.toBool());
  return type == "int" ? to_stack(value.toInt()) : to_stack(static_cast<int32_t>(value.toInt()));
}
/// A value on ours, with tensors from the side's memory.
inline StableIValue push_ours(std::string_view type, const EValue& value, Arguments& side) {
  StableIValue made = 0;
  const auto own = [&](const Tensor& tensor) {
    Tensor* found = nullptr;
    REQUIRE(detail::find_aoti_tensor(side.pass<AtenTensorHandle>(tensor), found) == Error::Ok);
    return *found;
  };
  EValue given = value;
  if (value.isTensor()) given = EValue(own(value.toTensor()));
  if (value.isTensorList()) {
    std::vector<Tensor> list;
    for (const Tensor& each : value.toTensorList()) list.push_back(own(each));
    given = EValue(list);
  }
  REQUIRE(detail::push_stable(std::string(type), given, made) == Error::Ok);
  return made;
}

/// Bytes from the first argument's element 0 to a result's; -1 if it has other memory.
inline int64_t offset_in(const Tensor& result, const Tensor& from) {
  const auto begin = reinterpret_cast<uintptr_t>(from.const_data_ptr());
  const auto at = reinterpret_cast<uintptr_t>(result.const_data_ptr());
  const auto size =
      static_cast<uintptr_t>(detail::fields(TensorArg(from)).layout.required_span_size() *
                             static_cast<ptrdiff_t>(elementSize(from.scalar_type())));
  return at >= begin && at < begin + size ? static_cast<int64_t>(at - begin) : -1;
}

/// How torch's operator differs here: "" if not. Results may be views of the first argument.
inline std::string dispatch_differs(const char* name, double tolerance,
                                    std::vector<EValue> values) {
  if (!tests::has_torch()) return "";
  REQUIRE(detail::provide_operators(detail::kAtenOperators) == Error::Ok);
  const detail::StableCall own = detail::look_up_stable(std::string("aten::") + name);
  if (own.schema == nullptr) return "tenon has none";
  const detail::StableSchema& schema = *own.schema;
  Arguments sides[] = {Arguments(false), Arguments(true)};
  const std::string full = schema.name;
  const size_t dot = full.find('.');
  const std::string overload = dot == std::string::npos ? "" : full.substr(dot + 1);
  const std::string base = full.substr(0, dot);
  AOTITorchError codes[2] = {};
  std::string ours_says;
  std::vector<StableIValue> stacks[2];
  for (const size_t side : {size_t{0}, size_t{1}}) {
    std::vector<StableIValue>& stack = stacks[side];
    stack.resize((std::max)(schema.inputs.size(), schema.outputs.size()));
    for (size_t i = 0; i < schema.inputs.size(); ++i) {
      const EValue& value = i < values.size() ? values[i] : schema.inputs[i].default_value;
      stack[i] = (side == 0 ? push_ours : push_torch)(schema.inputs[i].type, value, sides[side]);
    }
    if (side == 0) {
      codes[0] = detail::dispatch_stable(base.c_str(), overload.c_str(), stack.data());
      ours_says = last_error_message();
    } else {
      const auto call =
          reinterpret_cast<AOTITorchError (*)(const char*, const char*, StableIValue*, uint64_t)>(
              tests::find_in_torch("torch_call_dispatcher"));
      codes[1] = call(base.c_str(), overload.c_str(), stack.data(),
                      uint64_t{2} << 56 | uint64_t{15} << 48);
    }
  }
  if (codes[0] != codes[1]) {
    return codes[0] != 0 ? "refused: " + ours_says : std::string("torch refuses it");
  }
  if (codes[0] != 0) return "";
  std::string text;
  for (size_t i = 0; i < schema.outputs.size(); ++i) {
    if (schema.outputs[i].type != "Tensor") {
      if (stacks[0][i] != stacks[1][i]) text = "another value";
      continue;
    }
    Tensor made[2];
    int64_t offset[2] = {};
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto handle = from_stack<AtenTensorHandle>(stacks[side][i]);
      made[side] = sides[side].read(handle);
      if (!sides[side].made().empty() && made[side].numel() != 0) {
        offset[side] = offset_in(made[side], sides[side].read(sides[side].made()[0]));
      }
    }
    if (text.empty()) text = difference(made[0], made[1], tolerance);
    if (text.empty() && offset[0] != offset[1]) {
      text = "the view begins at byte " + std::to_string(offset[0]) + ", torch's at " +
             std::to_string(offset[1]);
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      sides[side].drop(from_stack<AtenTensorHandle>(stacks[side][i]));
    }
  }
  for (size_t i = 0; i < sides[0].made().size() && text.empty(); ++i) {
    text =
        difference(sides[0].read(sides[0].made()[i]), sides[1].read(sides[1].made()[i]), tolerance);
    if (!text.empty()) text = "argument " + std::to_string(i) + ": " + text;
  }
  return text;
}

using Ints = std::vector<int64_t>;
inline constexpr double kAny = std::numeric_limits<double>::infinity();

/// {2, 3, 4}: row-major, permuted, padded, beginning late, expanded, flat.
inline std::vector<Tensor> layouts(ScalarType type = ScalarType::Float) {
  const auto numbers = [&](const Dims& sizes) {
    return to(*randint(-9, 9, sizes, ScalarType::Double), type, CastMode::Truncate);
  };
  return {numbers({2, 3, 4}),
          permute(numbers({4, 2, 3}), {1, 2, 0}),
          narrow(numbers({2, 3, 6}), 2, 0, 4),
          slice(numbers({4, 3, 4}), 0, 1, 4, 2),
          expand(numbers({2, 1, 4}), {2, 3, 4}),
          expand(numbers({1, 1, 1}), {2, 3, 4}),
          transpose(narrow(numbers({2, 6, 3}), 1, 1, 4), 1, 2)};
}

}  // namespace dispatch_tests
