// SPDX-License-Identifier: MIT
// The bytes are a program: steps over a small table of tensors, views, blobs and DLPack structs, on
// all backends. After each step everything there is compared with a model.
#include "fuzz/copy_steps.h"
#include "fuzz/exchange_steps.h"
#include "fuzz/make_steps.h"
#include "fuzz/module_steps.h"
#include "fuzz/program.h"
#include "fuzz/resize_steps.h"
#include "fuzz/view_steps.h"

namespace {

/// Whether to print what is done, to read a crash by.
bool is_traced() {
  static const bool traced = std::getenv("FUZZ_TRACE") != nullptr;
  return traced;
}

}  // namespace

void fuzz::Program::interfere(size_t what, size_t which, bool may_change) {
  if (is_over || is_quiet) return;
  if (is_traced()) std::fprintf(stderr, "  interferes: %zu %zu\n", what % 8, which);
  Slot& slot = slots[which % slots.size()];
  switch (what % 8) {
    case 0: {
      // Tensors that come and go.
      const TensorPtr here = tenon::zeros({300}, ScalarType::Float, tenon::host_backend());
      FUZZ_CHECK(here->const_data_ptr<float>()[299] == 0);
      const auto there = tenon::try_empty({3}, ScalarType::Int, backends.device);  // may fail
      return;
    }
    case 1:
      for (const Slot& other : slots) {
        if (other.impl == nullptr) continue;
        FUZZ_CHECK(other.tensor->scalar_type() == other.impl->shape.type);
        FUZZ_CHECK(other.tensor->numel() >= 0);
      }
      return;
    case 2: {
      // A view, which stays.
      Slot& to = slots[(which / slots.size()) % slots.size()];
      if (to.impl != nullptr || check_defined(slot) != Error::Ok) return;
      if (!may_change) return;
      to.impl = view_of(slot.impl, slot.impl->shape);
      to.tensor = std::make_unique<Tensor>(tenon::make_tensor(*slot.tensor));
      learn_address(to);
      return;
    }
    case 3:
    case 4:
      if (may_change) drop(slot);
      return;
    case 5:
      if (may_change) resize(*this, slot, {static_cast<int64_t>(which % 7), 1});
      return learn_address(slot);
    case 6:
      if (may_change) resize(*this, slot, {static_cast<int64_t>(which)});
      return learn_address(slot);
    default:
      if (may_change) deallocate(slot);
  }
}

namespace {

using fuzz::Program;

/// From now on creators make tensors in the memory of that backend.
void scope_step(Program& p) {
  p.scope.reset();
  p.current = p.any_backend();
  if (p.current != nullptr) p.scope.emplace(*p.current);
}

/// Some call of a backend of ours that follows is to fail, or to use tensors.
void trouble_step(Program& p) {
  using Kind = fuzz::Trouble::Kind;
  fuzz::Trouble& trouble = p.backends.trouble;
  constexpr Kind kKinds[] = {Kind::Fails, Kind::Throws, Kind::CallsBack, Kind::CallsBack};
  trouble.kind = kKinds[p.in.choose(std::size(kKinds))];
  trouble.calls_before = static_cast<int>(p.in.choose(4));
  const auto what = p.in.take<uint8_t>();
  const auto which = p.in.take<uint8_t>();
  trouble.call_back = [&p, what, which](bool in_allocate) {
    p.interfere(what, which, in_allocate);
  };
}

struct Step {
  const char* name;
  void (*run)(Program&);
};
constexpr Step kSteps[] = {
    {"make", &fuzz::make_step},
    {"make", &fuzz::make_step},
    {"view", &fuzz::view_step},
    {"view", &fuzz::view_step},
    {"share", &fuzz::share_step},
    {"drop", &fuzz::drop_step},
    {"view", &fuzz::view_step},
    {"resize", &fuzz::resize_step},
    {"resize", &fuzz::resize_step},
    {"reserve", &fuzz::reserve_step},
    {"deallocate", &fuzz::deallocate_step},
    {"set_data", &fuzz::set_data_step},
    {"copy", &fuzz::copy_step},
    {"fill", &fuzz::fill_step},
    {"clone", &fuzz::clone_step},
    {"copy", &fuzz::copy_step},
    {"to_blob", &fuzz::to_blob_step},
    {"from_blob", &fuzz::from_blob_step},
    {"assign", &fuzz::assign_step},
    {"to_dlpack", &fuzz::to_dlpack_step},
    {"from_dlpack", &fuzz::from_dlpack_step},
    {"to_blob", &fuzz::to_blob_step},
    {"from_blob", &fuzz::from_blob_step},
    {"module", &fuzz::module_step},
    {"module", &fuzz::module_step},
    {"scope", &scope_step},
    {"trouble", &trouble_step},
};

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Program program(data, size);
  for (int step = 0; step < 200 && !program.in.empty(); ++step) {
    program.backends.trouble.happened = false;
    program.backends.trouble.called_back = false;
    const Step& chosen = kSteps[program.in.choose(std::size(kSteps))];
    if (is_traced()) std::fprintf(stderr, "%d: %s\n", step, chosen.name);
    chosen.run(program);
    program.check();
  }
  return 0;
}
