// SPDX-License-Identifier: MIT
// The bytes are a program: steps over a small table of tensors, views, blobs and DLPack structs, on
// all backends. After each step everything there is compared with a model.
#include "fuzz/batch_steps.h"
#include "fuzz/copy_steps.h"
#include "fuzz/exchange_steps.h"
#include "fuzz/make_steps.h"
#include "fuzz/program.h"
#include "fuzz/resize_steps.h"
#include "fuzz/view_steps.h"

namespace {

using fuzz::Program;

/// From now on creators make tensors in the memory of that backend.
void scope_step(Program& p) {
  p.scope.reset();
  p.current = p.any_backend();
  if (p.current != nullptr) p.scope.emplace(*p.current);
}

/// Some call of a backend of ours that follows is to fail.
void trouble_step(Program& p) {
  fuzz::Trouble& trouble = p.backends.trouble;
  trouble.kind = p.in.flip() ? fuzz::Trouble::Kind::Fails : fuzz::Trouble::Kind::Throws;
  trouble.calls_before = static_cast<int>(p.in.choose(4));
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
    {"split", &fuzz::split_step},
    {"resize", &fuzz::resize_step},
    {"resize", &fuzz::resize_step},
    {"reserve", &fuzz::reserve_step},
    {"deallocate", &fuzz::deallocate_step},
    {"set_data", &fuzz::set_data_step},
    {"copy", &fuzz::copy_step},
    {"fill", &fuzz::fill_step},
    {"clone", &fuzz::clone_step},
    {"join", &fuzz::join_step},
    {"to_blob", &fuzz::to_blob_step},
    {"from_blob", &fuzz::from_blob_step},
    {"assign", &fuzz::assign_step},
    {"to_dlpack", &fuzz::to_dlpack_step},
    {"from_dlpack", &fuzz::from_dlpack_step},
    {"binary", &fuzz::binary_step},
    {"to_string", &fuzz::to_string_step},
    {"scope", &scope_step},
    {"trouble", &trouble_step},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_traced = std::getenv("FUZZ_TRACE") != nullptr;  // to read a crash by
  Program program(data, size);
  for (int step = 0; step < 200 && !program.in.empty(); ++step) {
    program.backends.trouble.happened = false;
    program.backends.trouble.called_back = false;
    const Step& chosen = kSteps[program.in.choose(std::size(kSteps))];
    if (is_traced) std::fprintf(stderr, "%d: %s\n", step, chosen.name);
    chosen.run(program);
    program.check();
  }
  return 0;
}
