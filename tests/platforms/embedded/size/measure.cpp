// SPDX-License-Identifier: MIT
// Runs a program of this folder on a painted stack, and prints how much of it main() has used, and
// what it left in `sink`. The linker puts it between the startup code and main() (--wrap=main).
#include <cstdio>

extern "C" {
int __real_main();
int __wrap_main();
}

extern volatile float sink __attribute__((weak));  // the empty program has none

namespace {

constexpr unsigned char kPaint = 0x55;
constexpr int kRoom = 64 * 1024;  // more than any program takes

/// Calls main() below `kRoom` painted bytes.
__attribute__((noinline)) int run_painted(int& used) {
  volatile unsigned char* const top =
      static_cast<volatile unsigned char*>(__builtin_frame_address(0)) - 64;  // below this frame
  for (int i = 0; i < kRoom; ++i) top[-i] = kPaint;
  const int status = __real_main();
  int depth = kRoom;
  while (top[1 - depth] == kPaint) --depth;
  used = (depth + 64 + 7) / 8 * 8;
  return status;
}

}  // namespace

int __wrap_main() {
  int used = 0;
  const int status = run_painted(used);
  std::printf("%d %d\n", used, &sink == nullptr ? 0 : static_cast<int>(sink));
  return status;
}
