// SPDX-License-Identifier: MIT
// All that the programs here need of a board.
#pragma once

#include <cstddef>
#include <cstdint>

namespace board {

/// Before constructors run.
void start();
void print(const char* text);
void print(uint32_t number);
[[noreturn]] void stop(int status);

/// Instructions so far, in steps of 5. It starts again after 84 million.
uint32_t instructions();

// Bytes, by the linker script; of the stack, those that were ever used.
size_t program_in_flash();
size_t digits_in_flash();
size_t data_in_ram();
size_t buffers_in_ram();
size_t stack_in_ram();
size_t stack_used();

}  // namespace board
