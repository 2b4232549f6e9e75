// SPDX-License-Identifier: MIT
// Reads the handwritten digits of ../digits on a microcontroller. Images and weights stay in flash,
// under read-only tensors; everything else that a tensor or the module needs is in one arena.
#include "board.h"
#include "digits.h"
#include "tally.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

alignas(64) __attribute__((section(".buffers"))) unsigned char memory[4096];

}  // namespace

int main() {
  set_failure_handler(print_failure);
  ArenaBackend arena(memory, sizeof memory);
  const BackendScope scope(arena);

  const Network network{
      {tensor_from_blob(w1[0], {kHidden, kPixels}), tensor_from_blob(b1, {kHidden})},
      {tensor_from_blob(w2[0], {kDigits, kHidden}), tensor_from_blob(b2, {kDigits})},
      *empty({kPixels}),
      *empty({kHidden})};
  const TensorPtr image = empty({1, kSide, kSide});
  const TensorPtr scores = empty({1, kDigits});
  // A method that writes its output, to the tensor that was set for it.
  FunctionModule module(
      [&network](Span<const EValue> inputs, Span<EValue> outputs) {
        network.run(inputs[0].toTensor(), outputs[0].toTensor());
      },
      TensorSpec{{1, kSide, kSide}}, TensorSpec{{1, kDigits}}, arena);
  check(module.set_input(*image, 0));
  check(module.set_output(*scores, 0));

  Tally tally;
  for (const int32_t i : test_index) {
    tally.begin();
    float* to = image->mutable_data_ptr<float>();
    for (const auto& row : images[i]) {
      for (const uint8_t pixel : row) *to++ = pixel;
    }
    check(module.run());
    tally.end(i, scores->const_data_ptr<float>());
  }
  const int status = tally.report();
  board::print("  arena: ");
  board::print(static_cast<uint32_t>(sizeof memory - arena.capacity() + arena.high_water()));
  board::print(" bytes at most, its own state included\n\n");
  return status;
}
