// SPDX-License-Identifier: MIT
// Shows that a call for heap memory ends the program with a message.
#include <cstdlib>

#include "board.h"

int main() {
  void* volatile block = std::malloc(1);
  std::free(block);
  board::print("malloc gave memory\n");
}
