// SPDX-License-Identifier: MIT
// The rest of the core: runs two turns of the example, and exits with 0 if it printed all means, and no failure.
#include "Arduino.h"

#include <unistd.h>

static int means = 0;

SerialPort Serial;
void SerialPort::begin(unsigned long) {}
void SerialPort::flush() {}
void SerialPort::println(const char* text) {
  write(1, text, strlen(text));
  _exit(1);
}
void SerialPort::println(float value) {
  if (value == static_cast<float>(A0 + means % 4)) ++means;
}
int analogRead(int pin) { return pin; }
void delay(unsigned long) {}

int main() {
  setup();
  loop();
  loop();
  return means == 8 ? 0 : 1;
}
