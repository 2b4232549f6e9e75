// SPDX-License-Identifier: MIT
// What a Cortex-M runs from reset to main(), and what it does about a fault: it prints which and
// ends the program as a failure, by semihosting.
#include <cstdint>

extern "C" {

extern char __stack[];   // of the linker script: the end of memory
void _mainCRTStartup();  // newlib's: clears memory, calls constructors, main() and exit()
void Reset_Handler();
void fault();
[[noreturn]] void report_fault(const uint32_t* frame);
}

/// A request to the debugger, here QEMU.
/// Source: Arm's "Semihosting for AArch32 and AArch64".
static int semihost(int operation, const void* argument) {
  register int r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void Reset_Handler() {
  // Coprocessors 10 and 11, the FPU; no effect where there is none.
  auto* const cpacr = reinterpret_cast<volatile uint32_t*>(0xe000ed88);
  *cpacr = *cpacr | (0xfu << 20);
  __asm volatile("dsb\n isb");
  _mainCRTStartup();
}

void report_fault(const uint32_t* frame) {
  constexpr int kWrite0 = 0x04;
  constexpr int kExitExtended = 0x20;
  static const char* const kNames[] = {"NMI", "HardFault", "MemManage", "BusFault", "UsageFault"};
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  semihost(kWrite0, number >= 2 && number <= 6 ? kNames[number - 2] : "unexpected interrupt");
  char place[] = " at 00000000\n";
  for (int i = 0; i < 8; ++i) place[4 + i] = "0123456789abcdef"[frame[6] >> (28 - 4 * i) & 15];
  semihost(kWrite0, place);
  const uint32_t exit_with_3[] = {0x20026, 3};  // ADP_Stopped_ApplicationExit
  for (;;) semihost(kExitExtended, exit_with_3);
}

// The stack may be what is broken: it starts anew.
__attribute__((naked)) void fault() {
  __asm volatile(
      "mov r0, sp\n"
      "ldr r1, =__stack\n"
      "mov sp, r1\n"
      "b report_fault\n");
}

/// The first entries of the vector table, which the processor reads at reset.
struct Vectors {
  const void* stack;
  void (*handlers[15])();
};
extern const Vectors vectors;
__attribute__((section(".vectors")))
const Vectors vectors = {__stack,
                         {Reset_Handler, fault, fault, fault, fault, fault, fault, fault, fault,
                          fault, fault, fault, fault, fault, fault}};
