// SPDX-License-Identifier: MIT
// Shows that a full stack ends the program with a message.
#include "board.h"

static int fill_stack(int depth) {
  char volatile frame[256];
  frame[0] = static_cast<char>(depth);
  const int below = depth == 0 ? 0 : fill_stack(depth - 1);
  return below + frame[0];  // after the call, so that the frame stays
}

int main() {
  fill_stack(32);  // 8 KiB, twice the stack
  board::print("the stack has no end\n");
}
