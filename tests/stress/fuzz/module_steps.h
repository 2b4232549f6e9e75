// SPDX-License-Identifier: MIT
// Steps that run a module: plain functions on the table's tensors, which return their inputs or
// write outputs that were set, at will ones that share memory.
#pragma once

#include "fuzz/copy_steps.h"
#include "fuzz/program.h"
#include "fuzz/resize_steps.h"
#include "tenon/module/function_module.h"

namespace fuzz {

/// An output as it is to be, before anything is written.
struct Output {
  Vector sizes;
  Elements elements;
};

/// What the tensors that were set become, one after the other.
inline Error deliver(Program& p, const std::vector<Slot*>& set, const std::vector<Slot*>& sources,
                     const std::vector<Output>& outputs) {
  for (size_t k = 0; k < set.size(); ++k) {
    const Impl& impl = *set[k]->impl;
    if (sources[k]->impl == set[k]->impl || outputs[k].sizes == impl.shape.sizes) {
      if (impl.shape.type != outputs[k].elements.type) return Error::InvalidType;
      continue;
    }
    if (impl.shape.type != outputs[k].elements.type) return Error::InvalidType;
    bool grows = false;
    const Error error = expect_resize(*set[k], outputs[k].sizes, grows);
    if (error != Error::Ok && (!grows || impl.dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND)) {
      return error;
    }
  }
  for (size_t k = 0; k < set.size(); ++k) {
    if (outputs[k].sizes != set[k]->impl->shape.sizes) {
      const Error error = resize_model(p, *set[k], outputs[k].sizes);
      if (error != Error::Ok) return error;
    }
    write(*set[k]->impl, outputs[k].elements);
  }
  return Error::Ok;
}

inline void module_step(Program& p) {
  using tenon::EValue;
  using tenon::Span;
  const bool writes = p.in.flip();
  std::vector<Slot*> inputs(1 + p.in.choose(2));
  std::vector<Slot*> set(writes ? 1 + p.in.choose(2) : p.in.choose(inputs.size() + 1));
  Backend* const memory = p.any_backend();
  for (Slot*& slot : inputs) {
    slot = &p.any_slot();
    if (p.check_source(*slot) != Error::Ok) return;
  }
  bool is_unsure = false;
  for (Slot*& slot : set) {
    slot = &p.any_slot();
    if (p.check_destination(*slot, is_unsure) != Error::Ok || is_unsure) return;
    // The model asks the tensor for its dim order, which two resizes in one run may change.
    if (Program::order_of(*slot) != row_major(slot->impl->shape.sizes.size())) return;
  }
  p.backends.trouble.kind = Trouble::Kind::None;
  std::vector<Output> outputs;
  std::vector<Slot*> sources;
  const size_t count = writes ? set.size() : inputs.size();
  for (size_t k = 0; k < count; ++k) {
    Slot* const source = inputs[k % inputs.size()];
    const Impl& from = *source->impl;
    Output output{from.shape.sizes, read(from)};
    if (writes) {
      const Shape& to = set[k]->impl->shape;
      Elements repeated;
      if (!broadcast(output.elements, from.shape.sizes, to.sizes, repeated)) return;
      output = {to.sizes, cast(repeated, to.type, CastMode::Truncate)};
      sources.push_back(set[k]);
    } else {
      sources.push_back(source);
    }
    outputs.push_back(std::move(output));
  }

  p.is_quiet = true;
  const auto copy_all = [](Span<const EValue> in, Span<EValue> out) -> Error {
    for (size_t k = 0; k < out.size(); ++k) {
      const Error error =
          tenon::copy_(out[k].toTensor(), in[k % in.size()].toTensor(), CastMode::Truncate);
      if (error != Error::Ok) return error;
    }
    return Error::Ok;
  };
  const auto return_all = [](Span<const EValue> in) { return in.vec(); };
  std::optional<tenon::FunctionModule> module;
  if (memory == nullptr) {
    module.emplace();
  } else {
    module.emplace(*memory);
  }
  FUZZ_CHECK((writes ? module->add_method("forward", copy_all)
                     : module->add_method("forward", return_all)) == Error::Ok);
  std::vector<EValue> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (p.in.flip()) {
      FUZZ_CHECK(module->set_input(*inputs[i]->tensor, i) == Error::Ok);
      values.emplace_back();
    } else {
      values.emplace_back(*inputs[i]->tensor);
    }
  }
  for (size_t k = 0; k < set.size(); ++k) {
    FUZZ_CHECK(module->set_output(*set[k]->tensor, k) == Error::Ok);
  }
  const Error expected = deliver(p, set, sources, outputs);
  auto made = module->forward(values);
  if (p.settle(expected, made.error())) {
    FUZZ_CHECK((*made).size() == count);
    for (size_t k = 0; k < count; ++k) {
      const Tensor& out = (*made)[k].toTensor();
      const Slot& is = k < set.size() ? *set[k] : *inputs[k];
      if (out.unsafeGetTensorImpl() == is.tensor->unsafeGetTensorImpl()) continue;
      // An input that was returned, and whose memory a tensor that was set shares, is a copy.
      FUZZ_CHECK(k >= set.size() && !set.empty());
      FUZZ_CHECK(Program::list(out.sizes()) == outputs[k].sizes && out.is_contiguous());
      if (!is.impl->host || out.numel() == 0) continue;
      const auto* const bytes = static_cast<const unsigned char*>(out.const_data_ptr());
      const Elements& elements = outputs[k].elements;
      for (size_t i = 0; i < elements.bytes.size(); ++i) {
        FUZZ_CHECK(elements.known[i] == 0 || elements.bytes[i] == bytes[i]);
      }
    }
    for (const Slot* slot : set) Program::learn_address(*slot);
  }
  p.is_quiet = false;
}

}  // namespace fuzz
