// SPDX-License-Identifier: MIT
// The bytes are a program: steps over a small table of tensors, views, blobs and DLPack structs, on
// all backends. After each step everything there is compared with a model.
#include "fuzz/copy_steps.h"
#include "fuzz/make_steps.h"
#include "fuzz/program.h"
#include "fuzz/resize_steps.h"
#include "fuzz/view_steps.h"

namespace {

using fuzz::Program;

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
