// SPDX-License-Identifier: MIT
// A FunctionModule in an arena whose function writes to the output that was set.
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
float xs[6] = {1, 2, 3, 4, 5, 6};
float ys[6];
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto x = tenon::from_blob(xs, {2, 3});
  const auto y = tenon::from_blob(ys, {2, 3});
  tenon::FunctionModule module(
      [](tenon::Span<const tenon::EValue> inputs, tenon::Span<tenon::EValue> outputs) {
        outputs[0].toTensor().mutable_data_ptr<float>()[0] =
            inputs[0].toTensor().const_data_ptr<float>()[0];
      },
      arena);
  if (module.set_input(x, 0) != tenon::Error::Ok) return 1;
  if (module.set_output(y, 0) != tenon::Error::Ok) return 1;
  if (module.run() != tenon::Error::Ok) return 1;
  sink = ys[0];
  return 0;
}
