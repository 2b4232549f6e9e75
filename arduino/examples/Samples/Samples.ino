// SPDX-License-Identifier: MIT
// Readings of four analog inputs as a tensor over a static array: the mean of each input, without a heap.
#include <tenon.h>

const int kInputs = 4;
const int kReadings = 16;

int16_t readings[kReadings][kInputs];
alignas(16) unsigned char memory[768];
tenon::ArenaBackend arena(memory, sizeof memory);

// What a failure ends in, such as an arena that is too small.
void report(tenon::Error, const char* message) noexcept {
  Serial.println(message);
  Serial.flush();
}

void setup() {
  Serial.begin(115200);
  tenon::set_failure_handler(report);
}

void loop() {
  for (int i = 0; i < kReadings; ++i) {
    for (int j = 0; j < kInputs; ++j) readings[i][j] = static_cast<int16_t>(analogRead(A0 + j));
    delay(10);
  }

  const tenon::BackendScope scope(arena);  // handles and shapes lie in the arena too
  const auto samples = tenon::from_blob(&readings[0][0], {kReadings, kInputs});
  const auto means = tenon::zeros({kInputs});
  const auto in = samples->accessor<const int16_t, 2>();
  const auto out = means->accessor<float, 1>();
  for (int j = 0; j < kInputs; ++j) {
    for (int i = 0; i < kReadings; ++i) out[j] += static_cast<float>(in[i][j]) / kReadings;
    Serial.println(out[j]);
  }
}  // the next turn uses the same memory
