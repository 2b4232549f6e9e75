// SPDX-License-Identifier: MIT
// From reset to main() on a Cortex-M4F.
#include <cstdint>
#include <cstring>

#include "board.h"

namespace {

volatile uint32_t& at(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

}  // namespace

extern "C" {

int call_main() asm("main");  // C++ forbids to call it by its name

// From the linker script.
extern char __stack_guard__[], __stack_top__[], __data_start__[], __data_end__[], __data_load__[],
    __bss_start__[], __bss_end__[];
extern void (*const __init_array_start[])();
extern void (*const __init_array_end[])();

void* __dso_handle = nullptr;
/// Destructors of static objects: a program that never ends runs none.
int __aeabi_atexit(void*, void (*)(void*), void*) { return 0; }
void __cxa_pure_virtual() {
  board::print("a pure virtual function was called\n");
  board::stop(1);
}

/// newlib's brings signals and their state.
[[noreturn]] void abort() {
  board::print("abort was called\n");
  board::stop(1);
}

[[noreturn]] void reset() {
  // The floating-point unit is off at first: access to coprocessors 10 and 11 (CPACR).
  at(0xE000ED88) |= 0xFu << 20;
  // The memory protection unit: no access to the 2^8 bytes of the guard, all else as without it.
  at(0xE000ED9C) = reinterpret_cast<uintptr_t>(__stack_guard__) | 1u << 4;  // RBAR: region 0
  at(0xE000EDA0) = 1u << 28 | (8u - 1) << 1 | 1u;                           // RASR
  at(0xE000ED94) = 1u << 2 | 1u;                                            // CTRL
  asm volatile("dsb\n isb");
  std::memcpy(__data_start__, __data_load__, static_cast<size_t>(__data_end__ - __data_start__));
  std::memset(__bss_start__, 0, static_cast<size_t>(__bss_end__ - __bss_start__));
  board::start();
  for (auto constructor = __init_array_start; constructor != __init_array_end; ++constructor) {
    (*constructor)();
  }
  board::stop(call_main());
}

[[noreturn, gnu::used]] void report_fault() {  // by fault()
  board::print("a fault: a bad address or instruction, or the stack is full\n");
  board::stop(1);
}
/// With a fresh stack, since the old one may be full.
[[noreturn]] __attribute__((naked)) void fault() {
  asm("ldr r0, =__stack_top__\n msr msp, r0\n b report_fault");
  __builtin_unreachable();
}

}  // extern "C"

namespace {

struct Vectors {
  const char* stack;
  void (*reset)();
  void (*others[14])();  // faults, and interrupts, of which none is on
};
__attribute__((section(".vectors"), used))
const Vectors vectors = {__stack_top__,
                         reset,
                         {fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
                          fault, fault, fault, fault}};

}  // namespace
