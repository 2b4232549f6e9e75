// SPDX-License-Identifier: MIT
// QEMU's mps2-an386: output and the end of the program by semihosting, the timer.
#include "board.h"

extern "C" {
// From the linker script.
extern char __stack_guard__[], __stack_limit__[], __stack_top__[], __data_start__[], __bss_end__[],
    __buffers_start__[], __buffers_end__[], __digits_start__[], __digits_end__[], __program_end__[];
}

namespace board {
namespace {

constexpr char kUnused = 0x55;

/// A request to the debugger or emulator: see Arm's "Semihosting for AArch32 and AArch64".
void semihost(uint32_t operation, const void* argument) {
  asm volatile("mov r0, %0\n mov r1, %1\n bkpt 0xAB"
               :
               : "r"(operation), "r"(argument)
               : "r0", "r1", "memory");
}

/// The processor's timer, SysTick. It counts down 24 bits.
struct Timer {
  uint32_t control, reload, value;
};
volatile Timer& timer = *reinterpret_cast<volatile Timer*>(0xE000E010);
constexpr uint32_t kTimerMask = 0xFFFFFF;

size_t distance(const char* from, const char* to) { return static_cast<size_t>(to - from); }

}  // namespace

void start() {
  const char* const here = static_cast<char*>(__builtin_frame_address(0)) - 64;
  for (char* p = __stack_limit__; p < here; ++p) *const_cast<volatile char*>(p) = kUnused;
  timer.reload = kTimerMask;
  timer.value = 0;
  timer.control = 5;  // on, at the processor's clock, without interrupts
}

void print(const char* text) {
  constexpr uint32_t kWriteText = 0x04;
  semihost(kWriteText, text);
}

void print(uint32_t number) {
  char text[11];
  char* p = text + sizeof text;
  *--p = '\0';
  do {
    *--p = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  print(p);
}

void stop(int status) {
  constexpr uint32_t kExitExtended = 0x20;
  const uintptr_t reason_and_status[] = {0x20026, static_cast<uintptr_t>(status)};
  semihost(kExitExtended, reason_and_status);
  for (;;) {
  }
}

// The machine's clock has 25 MHz, 40 ns; -icount shift=3 makes an instruction 8 ns.
uint32_t instructions() { return (kTimerMask - timer.value) * 5; }

size_t program_in_flash() { return reinterpret_cast<size_t>(__program_end__); }
size_t digits_in_flash() { return distance(__digits_start__, __digits_end__); }
size_t data_in_ram() { return distance(__data_start__, __bss_end__); }
size_t buffers_in_ram() { return distance(__buffers_start__, __buffers_end__); }
size_t stack_in_ram() { return distance(__stack_guard__, __stack_top__); }
size_t stack_used() {
  const char* p = __stack_limit__;
  while (*p == kUnused) ++p;
  return distance(p, __stack_top__);
}

}  // namespace board
