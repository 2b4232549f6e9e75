// SPDX-License-Identifier: MIT
// PyTorch's operators: registered by libraries for torch's stable ABI, or by C++ functions. They
// are called by name with tenon's values, also by such libraries and by AOTInductor's models.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/runtimes/torch_stable_schema.h"
#include "tenon/interop/runtimes/torch_stable_values.h"
#include "tenon/module/tensor_spec.h"

extern "C" {
class TorchLibraryOpaque;
using TorchLibraryHandle = TorchLibraryOpaque*;
}

TENON_BEGIN_NAMESPACE

/// The function of an operator. `inputs` has all arguments of the schema, defaults included, of the
/// kinds that register_torch_operator() lists. The function adds its results to `outputs`, which is
/// empty before.
using TorchOperator = std::function<Error(Span<const EValue> inputs, std::vector<EValue>& outputs)>;

namespace detail {

using StableKernel = void (*)(StableIValue* stack, uint64_t num_inputs, uint64_t num_outputs);

/// The devices that a kernel is for, by precedence.
enum class StableKey { Cpu, ExplicitFallback, ImplicitFallback, Other };

inline StableKey stable_key(std::string_view name) noexcept {
  if (name == "CPU") return StableKey::Cpu;
  if (name == "CompositeExplicitAutograd" || name == "CompositeExplicitAutogradNonFunctional") {
    return StableKey::ExplicitFallback;
  }
  if (name.empty() || name == "CatchAll" || name == "CompositeImplicitAutograd") {
    return StableKey::ImplicitFallback;
  }
  return StableKey::Other;
}

/// An implementation of an operator: a kernel or a function.
struct StableImplementation {
  StableKey key = StableKey::Other;
  const void* owner = nullptr;  // the library; unloading it removes this
  StableKernel kernel = nullptr;
  std::shared_ptr<const TorchOperator> function;
};
using SharedSchema = std::shared_ptr<const StableSchema>;

/// One operator, "ns::name" or "ns::name.overload".
struct StableOperator {
  SharedSchema schema;  // null before it is defined
  const void* definer = nullptr;
  std::vector<StableImplementation> implementations;  // the latest first
};

/// A callable operator.
struct StableCall {
  SharedSchema schema;
  StableImplementation implementation;
};

/// All operators. The mutex is locked for lookups, not while an operator runs.
struct StableOperators {
  std::mutex mutex;
  std::map<std::string, StableOperator, std::less<>> all;
  // tenon's own, for names that `all` lacks
  std::map<std::string, StableCall, std::less<>> built_in;
};
TENON_EXPORT inline StableOperators& stable_operators() {
  static StableOperators& operators = *new StableOperators;  // libraries may be unloaded at exit
  return operators;
}

/// Errors: InvalidState for an operator that is already defined.
inline Error define_stable_operator(const std::string& name, StableSchema schema,
                                    const void* definer,
                                    const StableImplementation* implementation = nullptr) {
  auto shared = std::make_shared<const StableSchema>(std::move(schema));
  StableOperators& operators = stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  StableOperator& made = operators.all[name];
  if (made.schema != nullptr) {
    return fail(Error::InvalidState, "the operator is defined twice: ", name);
  }
  if (implementation != nullptr) {
    made.implementations.insert(made.implementations.begin(), *implementation);
  }
  made.schema = std::move(shared);
  made.definer = definer;
  return Error::Ok;
}
inline void implement_stable_operator(const std::string& name,
                                      const StableImplementation& implementation) {
  StableOperators& operators = stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  auto& all = operators.all[name].implementations;
  all.insert(all.begin(), implementation);
}
/// Removes a library's registrations, for example when it is unloaded.
inline void remove_stable_operators(const void* owner) noexcept {
  StableOperators& operators = stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  for (auto entry = operators.all.begin(); entry != operators.all.end();) {
    StableOperator& each = entry->second;
    auto& all = each.implementations;
    all.erase(
        std::remove_if(all.begin(), all.end(), [&](const auto& one) { return one.owner == owner; }),
        all.end());
    if (each.definer == owner) each.schema = nullptr;
    const bool is_empty = each.schema == nullptr && all.empty();
    entry = is_empty ? operators.all.erase(entry) : std::next(entry);
  }
}

/// One of torch's operators that tenon implements.
struct AtenOperator {
  const char* schema;
  Error (*run)(Span<const EValue> inputs, std::vector<EValue>& outputs);
};
/// Provides the implementation of an operator for which none is registered. The first one for a
/// name stays until the program ends.
/// Errors: those of a schema; OutOfMemory.
inline Error provide_operator(std::string_view schema, TorchOperator run) {
  StableCall made;
  StableSchema read;
  TENON_TRY(read.read(schema));
  const std::string name = read.name;
  made.schema = std::make_shared<const StableSchema>(std::move(read));
  made.implementation.key = StableKey::Cpu;
  made.implementation.function = std::make_shared<const TorchOperator>(std::move(run));
  StableOperators& operators = stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  operators.built_in.emplace(name, std::move(made));
  return Error::Ok;
}
inline Error provide_operators(Span<const AtenOperator> all) {
  for (const AtenOperator& each : all) TENON_TRY(provide_operator(each.schema, each.run));
  return Error::Ok;
}

/// The schema is null if the operator is not defined; the implementation is empty if none is for
/// the CPU.
inline StableCall look_up_stable(std::string_view name) {
  StableCall found;
  StableOperators& operators = stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  const auto own = operators.built_in.find(name);
  if (own != operators.built_in.end()) found = own->second;
  const auto entry = operators.all.find(name);
  if (entry == operators.all.end()) return found;
  if (entry->second.schema != nullptr) found = {entry->second.schema, {}};
  const auto& all = entry->second.implementations;
  const auto best = std::min_element(all.begin(), all.end(),
                                     [](const auto& a, const auto& b) { return a.key < b.key; });
  if (best != all.end() && best->key <= found.implementation.key) found.implementation = *best;
  return found;
}
/// Errors: NotFound; NotSupported if no implementation is for the CPU.
inline Error find_stable_operator(std::string_view name, StableCall& found) {
  found = look_up_stable(name);
  if (found.schema == nullptr) return fail(Error::NotFound, "there is no operator ", name);
  const StableImplementation& made = found.implementation;
  if (made.kernel != nullptr || made.function != nullptr) return Error::Ok;
  return fail(Error::NotSupported, name, " has no kernel for the CPU");
}

/// Deletes the objects that slots own, unless they were passed on.
class OwnedSlots {
 public:
  OwnedSlots(const std::vector<StableArgument>& types, StableIValue* values) noexcept
      : slots_{types, values} {}
  OwnedSlots(const OwnedSlots&) = delete;
  OwnedSlots& operator=(const OwnedSlots&) = delete;
  ~OwnedSlots() {
    if (!is_handed_on_) slots_.drop();
  }
  void hand_on() noexcept { is_handed_on_ = true; }

 private:
  StableSlots slots_;
  bool is_handed_on_ = false;
};

/// Calls a function with all its arguments, and checks its results.
inline Error call_stable_function(const StableCall& call, Span<const EValue> inputs,
                                  std::vector<EValue>& outputs) {
  TENON_TRY((*call.implementation.function)(inputs, outputs));
  const std::vector<StableArgument>& types = call.schema->outputs;
  if (outputs.size() != types.size()) {
    return fail(Error::InvalidState, "the operator returned ", outputs.size(),
                " outputs, but its schema has ", types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const EValue given = outputs[i];
    TENON_TRY(add_context_if("output", i, types[i].name.c_str(),
                             convert_value(types[i].type, given, outputs[i])));
  }
  return Error::Ok;
}
/// Calls a kernel with all its arguments.
inline Error call_stable_kernel(const StableCall& call, Span<const EValue> inputs,
                                std::vector<EValue>& outputs) {
  const StableSchema& schema = *call.schema;
  for (const StableArgument& output : schema.outputs) {  // before anything is made
    if (!is_stable_type(output.type)) return fail_stable_type(output.type);
  }
  outputs.resize(schema.outputs.size());
  std::vector<StableIValue> stack((std::max)(inputs.size(), outputs.size()));
  OwnedSlots given(schema.inputs, stack.data());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const StableArgument& input = schema.inputs[i];
    TENON_TRY(add_context_if("input", i, input.name.c_str(),
                             push_stable(input.type, inputs[i], stack[i])));
  }
  given.hand_on();
  call.implementation.kernel(stack.data(), inputs.size(), outputs.size());
  const OwnedSlots taken(schema.outputs, stack.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const StableArgument& output = schema.outputs[i];
    TENON_TRY(add_context_if("output", i, output.name.c_str(),
                             read_stable(output.type, stack[i], outputs[i])));
  }
  return Error::Ok;
}
/// Calls an operator. Trailing inputs that are missing get their defaults.
inline Error call_stable(const StableCall& call, Span<const EValue> given,
                         std::vector<EValue>& outputs) {
  const std::vector<StableArgument>& types = call.schema->inputs;
  if (given.size() > types.size() ||
      (given.size() < types.size() && !types[given.size()].has_default)) {
    return fail(Error::InvalidArgument, "it takes ", types.size(), " inputs, got ", given.size());
  }
  std::vector<EValue> inputs(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (i >= given.size()) {
      inputs[i] = types[i].default_value;
    } else {
      TENON_TRY(add_context_if("input", i, types[i].name.c_str(),
                               convert_value(types[i].type, given[i], inputs[i])));
    }
  }
  outputs.clear();
  return call.implementation.function != nullptr ? call_stable_function(call, inputs, outputs)
                                                 : call_stable_kernel(call, inputs, outputs);
}
/// Calls an operator with the arguments on a stack, and puts the results there. The operator takes
/// the arguments even if it fails.
inline Error call_on_stack(const StableCall& call, StableIValue* stack) {
  const StableSchema& schema = *call.schema;
  if (call.implementation.kernel != nullptr) {
    call.implementation.kernel(stack, schema.inputs.size(), schema.outputs.size());
    return Error::Ok;
  }
  std::vector<EValue> inputs;
  {
    const OwnedSlots given(schema.inputs, stack);
    if (call.implementation.function == nullptr) {
      return fail(Error::NotSupported, schema.name, " has no kernel for the CPU");
    }
    inputs.resize(schema.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const StableArgument& input = schema.inputs[i];
      TENON_TRY(add_context_if("input", i, input.name.c_str(),
                               read_stable(input.type, stack[i], inputs[i])));
    }
  }
  std::vector<EValue> outputs;
  TENON_TRY(call_stable_function(call, inputs, outputs));
  std::fill_n(stack, outputs.size(), StableIValue{0});
  OwnedSlots made(schema.outputs, stack);
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENON_TRY(push_stable(schema.outputs[i].type, outputs[i], stack[i]));
  }
  made.hand_on();
  return Error::Ok;
}

}  // namespace detail

/// Registers a C++ function as an operator of PyTorch or a model, by its schema there:
/// "aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor". It is called by
/// call_torch_operator(), by libraries for torch's stable ABI, and by models that AOTInductor
/// compiled (interop/aoti_proxy.h).
///
/// Types: Tensor; int, SymInt, ScalarType, Layout, MemoryFormat (an Int; for the last three torch's
/// number); float (Double); Scalar (Int, Double or Bool); bool; str and Device (String, "cpu");
/// lists of Tensor, Tensor?, int, float and bool; each with "?" for None too; Generator? (None).
///
/// The function has precedence over an operator that tenon provides (by interop/aoti_kernels.h and
/// interop/torch_stable_shim.h, before main()), which is used again after
/// unregister_torch_operator(). Operators and CPU kernels of libraries have that precedence too.
///
/// Errors: InvalidArgument (a schema without "ns::" or that cannot be read, an empty function);
/// InvalidType (a default); InvalidState for an operator that is registered; NotSupported for other
/// types; OutOfMemory.
/// Ownership: the function is kept until unregister_torch_operator(), or the program's end.
/// Threads: any; several threads may call the function at once.
/// Source: torch.library.
[[nodiscard]] inline Error register_torch_operator(std::string_view schema,
                                                   TorchOperator function) noexcept {
  const Error error = detail::call_safely([&] {
    detail::StableSchema read;
    TENON_TRY(read.read(schema));
    if (read.name.find("::") == std::string::npos) {
      return detail::fail(Error::InvalidArgument, "the schema \"", schema,
                          "\" has no namespace, as in \"aten::bincount(...)\"");
    }
    for (size_t i = 0; i < read.inputs.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (read.inputs[i].name != read.inputs[k].name) continue;
        return detail::fail(Error::InvalidArgument, "the schema \"", schema, "\": inputs ", k,
                            " and ", i, " have the same name, ", read.inputs[i].name);
      }
    }
    for (const auto* const list : {&read.inputs, &read.outputs}) {
      for (const detail::StableArgument& each : *list) {
        if (detail::is_value_type(each.type)) continue;
        return detail::fail(Error::NotSupported, "the schema \"", schema,
                            "\": tenon has no values of type ", each.type);
      }
    }
    if (!function) return detail::fail(Error::InvalidArgument, "the function is empty");
    detail::StableImplementation made;
    made.key = detail::StableKey::Cpu;
    made.function = std::make_shared<const TorchOperator>(std::move(function));
    const std::string name = read.name;
    return detail::define_stable_operator(name, std::move(read), nullptr, &made);
  });
  return detail::add_context_if("register_torch_operator", error);
}
/// Removes the operator that register_torch_operator() registered as "ns::name" or
/// "ns::name.overload". Running calls keep the function until they end.
/// Errors: NotFound.
/// Threads: any.
inline Error unregister_torch_operator(std::string_view name) noexcept {
  std::shared_ptr<const TorchOperator> removed;  // destroyed after the lock is released
  detail::StableOperators& operators = detail::stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  const auto entry = operators.all.find(name);
  if (entry != operators.all.end()) {
    auto& all = entry->second.implementations;
    for (auto each = all.begin(); each != all.end(); ++each) {
      if (each->function == nullptr) continue;
      removed.swap(each->function);
      all.erase(each);
      entry->second.schema = nullptr;
      if (all.empty()) operators.all.erase(entry);
      return Error::Ok;
    }
  }
  return detail::add_context("unregister_torch_operator",
                             detail::fail(Error::NotFound, "no function is registered as ", name));
}

/// Calls a registered operator: one of register_torch_operator(), or a CPU operator of a loaded
/// library for torch's stable ABI, such as "extension::scale". A kernel for the CPU has precedence
/// over one for all devices; among kernels of the same kind, the one that was registered last.
/// Trailing inputs that are missing get the schema's defaults.
///
/// Ownership: the operator reads and writes the tensors in place, and may keep them. It makes its
/// outputs.
/// Errors: NotFound; NotSupported (no kernel for the CPU; a type that EValue cannot hold, or a
/// Scalar for a library's kernel; a device other than the CPU); InvalidArgument (the number of
/// inputs); InvalidType; InvalidState (outputs that do not match the schema); errors that the
/// operator returns or throws, with its text; OutOfMemory.
/// Threads: any that the operator allows.
/// Source: torch.ops.
inline Result<std::vector<EValue>> call_torch_operator(std::string_view name,
                                                       Span<const EValue> inputs) noexcept {
  std::vector<EValue> outputs;
  const Error error = detail::call_safely([&] {
    detail::StableCall call;
    TENON_TRY(detail::find_stable_operator(name, call));
    return detail::call_stable(call, inputs, outputs);
  });
  if (error != Error::Ok) return detail::add_context("call_torch_operator", error);
  return outputs;
}
inline Result<std::vector<EValue>> call_torch_operator(
    std::string_view name, std::initializer_list<EValue> inputs) noexcept {
  return call_torch_operator(name, Span<const EValue>(inputs.begin(), inputs.size()));
}

TENON_END_NAMESPACE
