// SPDX-License-Identifier: MIT
// QEMU's mps2-an386: output and the end of the program by semihosting, the timer.
#include "board.h"

extern "C" {
extern char stack_guard[], stack[], stack_top[], data[], bss_end[], buffers[], buffers_end[],
    digits[], digits_end[], program_end[];
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
  for (char* p = stack; p < here; ++p) *const_cast<volatile char*>(p) = kUnused;
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

size_t program_in_flash() { return reinterpret_cast<size_t>(program_end); }
size_t digits_in_flash() { return distance(digits, digits_end); }
size_t data_in_ram() { return distance(data, bss_end); }
size_t buffers_in_ram() { return distance(buffers, buffers_end); }
size_t stack_in_ram() { return distance(stack_guard, stack_top); }
size_t stack_used() {
  const char* p = stack;
  while (*p == kUnused) ++p;
  return distance(p, stack_top);
}

}  // namespace board
